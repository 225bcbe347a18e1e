"""The files of a file system: a reader pinned to one version, and a writer that commits all or nothing."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from haulage.errors import UnsupportedError, UsageError
from haulage.filesystem.steps import Steps
from haulage.filesystem.window import Window
from haulage.filesystem.wrapped import is_given_up, is_wrapped_as_text
from haulage.reader import VersionReader
from haulage.words.numbers import counted
from haulage.writer import WholeWriter

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from haulage.filesystem.base import HaulageFileSystem
    from haulage.objects import ObjectWriter


class BlockCacheError(UnsupportedError, AttributeError):
    """What ``blockcache::`` asks of a file is not there."""


class SeekError(UnsupportedError, io.UnsupportedOperation):
    """An object is written from its beginning to its end."""


class ReadFile(VersionReader):
    """One version of an object, opened for reading by a file system.

    Every read is of the version that existed when the file was opened: if the object is replaced meanwhile,
    reading a range that is not cached raises :class:`~haulage.errors.SourceChangedError`. Threads can share
    it, and a forked child can continue to use it. It is pickled as a name and a version, and opened again
    where it is unpickled.
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

    @property
    def blocksize(self) -> int:
        """Not there; ``blockcache::`` asks for it first.

        Raises:
            BlockCacheError: Always.
        """
        raise BlockCacheError(
            "open",
            self.full_name,
            "blockcache:: keeps blocks without their version, and would mix versions of a changed object",
            "write filecache:: or simplecache::, which keep whole files, or leave it out: blocks are kept in "
            "memory, up to cache_bytes",
        )

    def info(self) -> dict[str, Any]:
        """Return the result of ``fs.info`` for the version that is read."""
        return self.details

    def _length(self) -> int:
        return self.size

    def _fetch(self, begin: int, size: int) -> bytes:
        return self._window.read(begin, size, self._steps)

    def read_at(self, begin: int, size: int) -> bytes:
        """Return ``size`` bytes from ``begin``, fewer only at the end; ignores the current position."""
        self._check()
        return self._window.read(begin, size)

    def at_hand(self, begin: int, size: int) -> bool:
        """Return whether :meth:`read_at` would send no request."""
        return self._window.at_hand(begin, size)

    def readuntil(self, char: bytes = b"\n", blocks: int | None = None) -> bytes:
        """Return the bytes up to and including ``char``, or to the end; reads ``blocks`` bytes at a time."""
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
        """Close the file. Its bytes stay cached, within ``cache_bytes``, for the next open of the version."""
        super().close()

    def __reduce__(self) -> tuple[Callable[..., ReadFile], tuple[Any, ...]]:
        return _reopened, (self.fs, self.path, self.details, self._at)

    def __repr__(self) -> str:
        return f"<file {self.full_name}, {counted(self.size, 'byte')}{', closed' if self.closed else ''}>"


def _reopened(fs: HaulageFileSystem, path: str, details: dict[str, Any], at: int) -> ReadFile:
    file = ReadFile(fs, path, fs._window(path, details), details)
    file.seek(at)
    return file


class WriteFile(WholeWriter):
    """An object opened by a file system for writing sequentially.

    The object appears when the file is closed; in a transaction, when the transaction ends. If the ``with``
    block raises an exception, nothing is written and the previous object stays; also if the block is that of
    ``fsspec.open``, or if pandas fails while it writes.
    """

    mode = "wb"  #: also if it was opened with ``"xb"``

    def __init__(self, fs: HaulageFileSystem, path: str, writer: ObjectWriter, *, autocommit: bool) -> None:
        self.fs = fs
        self.path = path
        self.autocommit = autocommit
        self._writer = writer
        self._handled = id(sys.exception())  #: what was being handled already
        self._given_up = False

    @property
    def name(self) -> str:
        """The path, without the protocol."""
        return self.path

    @property
    def full_name(self) -> str:
        """The path with the protocol."""
        return f"{self.fs.protocol[0]}://{self.path}"

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self._writer.tell()

    def seekable(self) -> bool:
        """Return ``False``, but to those that write text."""
        return is_wrapped_as_text()

    def seek(self, offset: int, whence: int = 0, /) -> int:  # noqa: ARG002
        """Not possible; HDF5 tries it first.

        Raises:
            SeekError: Always.
        """
        raise SeekError(
            "seek in",
            self.full_name,
            "an object is written from beginning to end",
            'write to memory first, such as file.write(data.to_netcdf(engine="h5netcdf")), or to a file '
            "on this machine, and copy that with fs.put",
        )

    def write(self, data: ReadableBuffer, /) -> int:
        """Write ``data`` and return its number of bytes; waits while too much data is in flight."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return memoryview(data).nbytes if self._given_up else self._writer.write(data)

    def flush(self) -> None:
        """Pass buffered data to the engine. The object does not appear before :meth:`close`."""
        if not self.closed:
            self._writer.flush()

    def close(self) -> None:
        """Send the remaining data and commit, unless a transaction does. Safe to call more than once."""
        if self.closed:
            return
        if self._given_up or is_given_up(self._handled):
            self.discard()
            return
        try:
            if self.autocommit:
                self.commit()
        finally:
            super().close()

    def commit(self) -> None:
        """Commit the object now."""
        try:
            self._writer.close()
        finally:
            self.fs.invalidate_cache(self.path)

    def give_up(self) -> None:
        """Take what is still written, as the end of a compressed file, but keep none of it, nor commit."""
        self._given_up = True

    def discard(self) -> None:
        """Close without committing: the destination stays unchanged."""
        self._writer.discard()
        super().close()

    def __enter__(self) -> Self:
        return self

    def __del__(self) -> None:
        # What the base class does here would give a name to half of an object.
        if not self.closed:
            message = f"{self.path} was not closed, so it was not written"
            warnings.warn(message, ResourceWarning, 2, source=self)
            self.discard()

    def __repr__(self) -> str:
        return f"<file {self.full_name}, being written{', closed' if self.closed else ''}>"


def refuse_mode(mode: str) -> UsageError:
    """Return the error for a mode that objects do not have."""
    if "a" in mode or "+" in mode:
        hint = "read the object and write it again as a whole, or write a new one"
        return UsageError("open", mode, "objects cannot be changed in place", hint)
    return UsageError("open", mode, "no such mode", 'use "rb", "wb" or "xb"; or "r", "w" or "x" for text')
