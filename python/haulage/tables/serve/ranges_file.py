"""Objects and files as what a reader of Parquet wants: ranges of one version, counted."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path
from typing import Protocol

import haulage
from haulage.errors import SourceChangedError
from haulage.places import without_signature
from haulage.tables.source import Meter
from haulage.tables.unreadable import check_readable, unreadable
from haulage.transfer import StoreOptions


class Ranges(Protocol):
    """One version of some bytes."""

    name: str  #: without secrets
    size: int
    version: str

    def read(self, start: int, length: int) -> bytes:
        """Return the bytes of a range.

        Raises:
            SourceChangedError: They are no longer those of the version.
        """
        ...


class LocalRanges:
    """A file of this machine, as it is now."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        check_readable(path)
        self.size, self.version = self._state()

    def read(self, start: int, length: int) -> bytes:
        """Return the bytes of a range."""
        try:
            with self._path.open("rb") as file:
                found = os.pread(file.fileno(), length, start)
        except OSError as error:
            raise unreadable(self._path, error) from None
        if self._state() != (self.size, self.version):
            hint = "ask again from the first page"
            raise SourceChangedError("read", self.name, "the file was replaced meanwhile", hint)
        return found

    def _state(self) -> tuple[int, str]:
        try:
            state = self._path.stat()
        except OSError as error:
            raise unreadable(self._path, error) from None
        return state.st_size, f"{state.st_ino:x}-{state.st_mtime_ns:x}-{state.st_size:x}"


class ObjectRanges:
    """An object of a store, as it is now; every range is pinned to its ETag."""

    def __init__(self, url: str, options: StoreOptions) -> None:
        self.name = without_signature(url)
        self._url, self._options = url, options
        meta = haulage.stat(url, **options)
        self.size, self.version = meta.size_bytes, meta.etag

    def read(self, start: int, length: int) -> bytes:
        """Return the bytes of a range."""
        return haulage.get_range(self._url, start, length, version=self.version, **self._options)


def ranges_of(url: str, options: StoreOptions) -> Ranges:
    """Return the bytes of a path or URL, as they are now.

    Raises:
        NotFoundError: Nothing is there.
    """
    return ObjectRanges(url, options) if "://" in url else LocalRanges(Path(url))


class RangesFile(io.RawIOBase):
    """Ranges as a file; each read is a request, which is metered."""

    def __init__(self, ranges: Ranges, meter: Meter) -> None:
        self._ranges, self._meter = ranges, meter
        self._at = 0

    def readable(self) -> bool:
        """Return ``True``."""
        return True

    def seekable(self) -> bool:
        """Return ``True``."""
        return True

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to ``offset`` from the beginning, from here, or from the end."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._ranges.size}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        """Return ``size`` bytes, fewer only at the end."""
        left = max(self._ranges.size - self._at, 0)
        wanted = left if size < 0 else min(size, left)
        if not wanted:
            return b""
        began = time.monotonic()
        found = self._ranges.read(self._at, wanted)
        self._meter.seconds += time.monotonic() - began
        self._meter.requests += 1
        self._meter.bytes_read += len(found)
        self._at += len(found)
        return found
