"""Writers within writers, as text and compressed files are: what one gives up, all do."""

from __future__ import annotations

import io
import opcode
import sys
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from haulage.writer import WholeWriter

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from haulage.filesystem.files import WriteFile

#: Those that close files which others write, and do not say that this failed: modules and functions.
_CLOSERS = {
    "fsspec.core": ("__exit__",),  # OpenFile
    "pandas.io.common": ("__exit__", "close"),  # IOHandles
    "pyarrow.parquet.core": ("__exit__",),  # ParquetWriter
}
#: What CPython executes where an exception leaves a ``with`` block. An ``__exit__`` that is not written in
#: Python, as those of pyarrow, is called right there, and has no frame of its own.
_LEAVES_WITH = opcode.opmap.get("WITH_EXCEPT_START")
#: Those that write text into files, and ask whether one is seekable for that alone.
_WRITERS_OF_TEXT = ("fsspec.core", "haulage.filesystem.base", "pandas.io.common")
#: Those that close what they are wrapped around.
_OURS = ("haulage.filesystem.files", "haulage.filesystem.wrapped")
#: Calls between one that closes and the file.
_DEEPEST = 12


def is_given_up(handled: int) -> bool:
    """Return whether somebody closes a file because of an exception that was raised while it was written.

    Args:
        handled: The identity of the exception that was being handled when the file was opened.
    """
    error = sys.exception()
    if error is None:
        return False
    frame = sys._getframe(1)
    closer: FrameType | None = frame
    while closer is not None and closer.f_globals.get("__name__") in _OURS:
        closer = closer.f_back
    if closer is not None and _leaves_with(closer):
        return True
    if id(error) == handled:
        return False
    for _ in range(_DEEPEST):
        if frame.f_back is None:
            return False
        frame = frame.f_back
        if frame.f_code.co_name in _CLOSERS.get(frame.f_globals.get("__name__", ""), ()):
            return True
    return False


def _leaves_with(frame: FrameType) -> bool:
    """Return whether a function is at the point where an exception leaves a ``with`` block of its own."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _LEAVES_WITH


def is_wrapped_as_text() -> bool:
    """Return whether somebody asks a file that is written if it is seekable, to write text into it.

    Only where a file says so does CPython look whether it is at its beginning, and write the byte order mark
    of UTF-16 and UTF-32. Seeking in the text asks the file, whose error says what to do.
    """
    return sys._getframe(2).f_globals.get("__name__") in _WRITERS_OF_TEXT


class PackedFile(WholeWriter):
    """A compressed object that is being written.

    Closing it closes, and so commits, the object. If an exception leaves the ``with`` block, nothing is
    written.
    """

    def __init__(self, packed: Any, file: WriteFile) -> None:
        self._packed, self._file = packed, file
        self._ended = False
        self._written = 0

    def write(self, data: ReadableBuffer, /) -> int:
        """Compress ``data`` and write it; return its number of bytes."""
        if self._ended:
            raise ValueError("I/O operation on closed file")
        written: int = self._packed.write(data)
        self._written += memoryview(data).nbytes
        return written

    def tell(self) -> int:
        """Return the number of bytes written so far, before compression."""
        return self._written

    def seekable(self) -> bool:
        """Return ``False``, but to those that write text."""
        return is_wrapped_as_text()

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Not possible, as in an object that is not compressed."""
        return self._file.seek(offset, whence)

    def flush(self) -> None:
        """Pass compressed data on."""
        if not self._ended:
            self._packed.flush()

    def close(self) -> None:
        """Write the end of the compressed data, and commit."""
        if not self._ended:
            self._ended = True
            try:
                self._packed.close()
                self._file.close()
            finally:
                super().close()

    def discard(self) -> None:
        """Close without committing: the destination stays unchanged."""
        self._ended = True
        self._file.give_up()
        try:
            self._packed.close()
        finally:
            self._file.discard()
            super().close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._packed, name)


class TextFile(io.TextIOWrapper):
    """An object that is written as text; if an exception leaves the ``with`` block, nothing is written."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.buffer.discard()  # type: ignore[attr-defined]
        self.close()
