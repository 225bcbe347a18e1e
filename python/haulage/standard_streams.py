"""Standard streams of the commands in Python that are closed, full or no longer read."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from haulage.errors import LocalIOError

if TYPE_CHECKING:
    from typing import TextIO

    from _typeshed import ReadableBuffer


class _Stdout(io.FileIO):
    """The file behind ``sys.stdout``; it keeps the error of the first write that failed."""

    failed: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failed = self.failed or error
            raise


def _open_all() -> None:
    """Put the null device where a standard stream is closed, so that no other file takes its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    # A print to none would go to the other.
    sys.stdout = sys.stdout or _null(1)
    sys.stderr = sys.stderr or _null(2)


def _null(number: int) -> TextIO:
    return open(number, "w", encoding="utf-8", closefd=False)


def watched(command: Callable[[], int]) -> int:
    """Run a command and return its exit code, or what it ends with if its output cannot be written.

    That is 0 if nobody reads any more (``haul watch ... | head``), and otherwise 1 with a line that says why.
    """
    _open_all()
    text = sys.stdout
    if text is not sys.__stdout__ or not isinstance(text, io.TextIOWrapper):
        # Somebody in this process wants to have it.
        return command()
    text.flush()
    raw = _Stdout(text.fileno(), "wb", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=text.encoding,
        errors=text.errors,
        line_buffering=text.line_buffering,
    )
    try:
        code = command()
        sys.stdout.flush()
    except (Exception, SystemExit):
        if raw.failed is None:
            raise
        code = 1
    if raw.failed is None:
        return code
    # What it still holds would fail again at the end of the process.
    sys.stdout = None
    if raw.failed.errno == errno.EPIPE:
        return 0
    cause = raw.failed.strerror or str(raw.failed)
    hint = "free some space, then run the same command again" if raw.failed.errno == errno.ENOSPC else None
    error = LocalIOError("write", "standard output", cause[:1].lower() + cause[1:], hint)
    print(f"haul: {error}", file=sys.stderr)  # noqa: T201
    return error.exit_code
