"""The base class of files that read one version of an object, wherever its bytes come from."""

from __future__ import annotations

import io
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: What :meth:`VersionReader.read1` returns at most where no size is given, in bytes.
_READ1 = 1 << 18


class VersionReader(io.BufferedIOBase):
    """A file of a fixed number of bytes. Threads can share it like any file."""

    mode = "rb"  #: the mode it was opened with

    def __init__(self) -> None:
        self._at = 0
        self._lock = threading.Lock()

    def _length(self) -> int:
        """Return the number of bytes."""
        raise NotImplementedError

    def _fetch(self, begin: int, size: int) -> bytes:
        """Return ``size`` bytes from ``begin`` on, at least one of them, none beyond the end."""
        raise NotImplementedError

    def readable(self) -> bool:
        """Return ``True``."""
        return True

    def seekable(self) -> bool:
        """Return ``True``."""
        return True

    def tell(self) -> int:
        """Return the position of the next read."""
        self._check()
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to ``offset`` from the start, the current position or the end; sends nothing."""
        self._check()
        with self._lock:
            base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length()}
            if whence not in base:
                raise ValueError(f"whence is {whence}, not 0, 1 or 2")
            if base[whence] + offset < 0:
                raise ValueError(f"negative position: {base[whence] + offset}")
            self._at = base[whence] + offset
            return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        """Return ``size`` bytes, fewer only at the end; with ``-1``, everything up to the end."""
        self._check()
        with self._lock:
            left = max(self._length() - self._at, 0)
            wanted = left if size is None or size < 0 else min(size, left)
            found = self._fetch(self._at, wanted) if wanted else b""
            self._at += len(found)
            return found

    def read1(self, size: int = -1, /) -> bytes:
        """Like :meth:`read`, but at most 256 KiB if no size is given."""
        return self.read(_READ1 if size < 0 else size)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill ``buffer``, up to the end of the object; return the number of bytes."""
        view = memoryview(buffer).cast("B")
        found = self.read(len(view))
        view[: len(found)] = found
        return len(found)

    def readinto1(self, buffer: WriteableBuffer, /) -> int:
        """Like :meth:`readinto`."""
        return self.readinto(buffer)

    def _check(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")
