"""Files of a file system: one to read, of a pinned version, and one that is written whole or not at all."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from haulage.errors import UsageError
from haulage.filesystem.steps import Steps
from haulage.filesystem.window import Window
from haulage.reader import VersionReader

if TYPE_CHECKING:
    from types import TracebackType

    from _typeshed import ReadableBuffer

    from haulage.filesystem.base import HaulageFileSystem
    from haulage.objects import ObjectWriter


class ReadFile(VersionReader):
    """One version of an object, as a file: made by ``open`` of a file system.

    All that is read is of the version that was there when it was opened: where the object is replaced
    meanwhile, a read of what is not at hand raises :class:`~haulage.errors.SourceChangedError`. Threads may
    share it. It is pickled as the name and the version, and opened again where it is unpickled; a forked
    child goes on with it.
    """

    def __init__(self, fs: HaulageFileSystem, path: str, window: Window, details: dict[str, Any]) -> None:
        super().__init__()
        self.fs = fs
        self.path = path
        self.details = details
        self.size: int = details["size"]
        self._window = window
        self._steps = Steps()

    @property
    def name(self) -> str:
        """The path, without the protocol."""
        return self.path

    @property
    def full_name(self) -> str:
        """The path with the protocol."""
        return f"{self.fs.protocol[0]}://{self.path}"

    def info(self) -> dict[str, Any]:
        """Return what `fs.info` said of the version that is read."""
        return self.details

    def _length(self) -> int:
        return self.size

    def _fetch(self, begin: int, size: int) -> bytes:
        return self._window.read(begin, size, self._steps)

    def read_at(self, begin: int, size: int) -> bytes:
        """Return ``size`` bytes from ``begin`` on, fewer only at the end, wherever the file stands."""
        self._check()
        return self._window.read(begin, size)

    def at_hand(self, begin: int, size: int) -> bool:
        """Return whether :meth:`read_at` would send no request."""
        return self._window.at_hand(begin, size)

    def readuntil(self, char: bytes = b"\n", blocks: int | None = None) -> bytes:
        """Return what comes up to and with ``char``, or to the end; read in ``blocks`` bytes at a time."""
        begin, found = self.tell(), b""
        while part := self.read(blocks or 1 << 16):
            at = (found + part).find(char, max(len(found) - len(char) + 1, 0))
            found += part
            if at >= 0:
                found = found[: at + len(char)]
                break
        self.seek(begin + len(found))
        return found

    def close(self) -> None:
        """Close it. What was read stays within ``cache_bytes`` for who opens the same version again."""
        super().close()

    def __reduce__(self) -> tuple[Callable[..., ReadFile], tuple[Any, ...]]:
        return _reopened, (self.fs, self.path, self.details, self._at)

    def __repr__(self) -> str:
        return f"<file {self.full_name}, {self.size} bytes{', closed' if self.closed else ''}>"


def _reopened(fs: HaulageFileSystem, path: str, details: dict[str, Any], at: int) -> ReadFile:
    file = ReadFile(fs, path, fs._window(path, details), details)
    file.seek(at)
    return file


class WriteFile(io.BufferedIOBase):
    """An object that is written from its beginning to its end, as a file: made by ``open`` of a file system.

    It has its name when it is closed; in a transaction, when that ends. If an exception leaves its ``with``
    block, nothing is written, and what was there before stays.
    """

    mode = "wb"  #: also where the object had to be new

    def __init__(self, fs: HaulageFileSystem, path: str, writer: ObjectWriter, *, autocommit: bool) -> None:
        self.fs = fs
        self.path = path
        self.autocommit = autocommit
        self._writer = writer

    @property
    def name(self) -> str:
        """The path, without the protocol."""
        return self.path

    @property
    def full_name(self) -> str:
        """The path with the protocol."""
        return f"{self.fs.protocol[0]}://{self.path}"

    def writable(self) -> bool:
        """Return ``True``."""
        return True

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._writer.tell()

    def write(self, data: ReadableBuffer, /) -> int:
        """Take ``data``, waiting while as much is in flight as may be; return the number of bytes."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return self._writer.write(data)

    def flush(self) -> None:
        """Hand over what was gathered. Nothing has its name before :meth:`close`."""
        if not self.closed:
            self._writer.flush()

    def close(self) -> None:
        """Send what is left and give the object its name, unless a transaction will. May be called again."""
        if not self.closed:
            try:
                if self.autocommit:
                    self.commit()
            finally:
                super().close()

    def commit(self) -> None:
        """Give the object its name now."""
        try:
            self._writer.close()
        finally:
            self.fs.invalidate_cache(self.path)

    def discard(self) -> None:
        """Close without writing: nothing new is under the name."""
        self._writer.discard()
        super().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        # What the base class does here would give a name to half of an object.
        if not self.closed:
            message = f"{self.path} was not closed, so it is not written"
            warnings.warn(message, ResourceWarning, 2, source=self)
            self.discard()

    def __repr__(self) -> str:
        return f"<file {self.full_name}, being written{', closed' if self.closed else ''}>"


def refuse_mode(mode: str) -> UsageError:
    """Return the error for a mode that objects do not have."""
    if "a" in mode or "+" in mode:
        hint = "read the object and write it again as a whole, or write a new one beside it"
        return UsageError("open", mode, "objects are not changed in place", hint)
    return UsageError("open", mode, "no such mode", 'write "rb", "wb" or "xb"; or "r", "w" or "x" for text')
