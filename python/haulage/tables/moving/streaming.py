"""Rows on standard output: where they are written, and what happens if nobody reads them any more."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from haulage.errors import LocalIOError

_STDOUT = 1


def opened(path: Path) -> BinaryIO:
    """Return a file to write to; for ``-`` standard output as it is, which may be appended to a file."""
    return path.open("wb") if str(path) != "-" else os.fdopen(os.dup(_STDOUT), "wb")


@contextmanager
def ends_if_unread(path: str) -> Iterator[None]:
    """End without an error where ``head`` and the like have read enough of what goes to standard output."""
    try:
        yield
    except LocalIOError as error:
        if path != "-" or (error.operation, error.object) != ("write", "-") or not _is_unread():
            raise


def _is_unread() -> bool:
    """Whether standard output is a pipe whose other end is closed."""
    if not hasattr(select, "poll"):
        return False
    found = select.poll()
    found.register(_STDOUT, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in found.poll(0))
