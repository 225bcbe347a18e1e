"""Refuses files to write that something else is in: a page replaces a page, and nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from haulage.errors import LocalIOError, UsageError

#: What every page of ours begins with.
_PAGE = b"<!doctype html>"
_ANOTHER_PAGE = "name another file for the page"


def check_page(file: str, sources: Iterable[str] = ()) -> None:
    """Raise unless a page may be written to this file; changes nothing.

    An empty file is fine, and so is a device or a pipe.

    Args:
        file: Where the page is to go.
        sources: What is read. Names of other things are no files.

    Raises:
        UsageError: The file is read, or holds something else.
        LocalIOError: It cannot be read, so what is in it is unknown.
    """
    path = Path(file)
    if any(same(path, Path(source)) and path.is_file() for source in sources):
        raise UsageError("write", file, "this is what is read", _ANOTHER_PAGE)
    refuse_other(path, _is_page, "a page", _ANOTHER_PAGE)


def same(one: Path, other: Path) -> bool:
    """Return whether two names are of one file, whether it is there or not."""
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def refuse_other(
    path: Path, is_one: Callable[[Path], bool], kind: str, hint: str, *, replaced: bool = False
) -> None:
    """Raise if a file is there that is not empty, and not one of a kind.

    Args:
        path: Of the file.
        is_one: Returns whether it is one of the kind.
        kind: In words.
        hint: What to do instead.
        replaced: Another file takes its place, so that it can be no device or pipe.

    Raises:
        UsageError: It is something else.
        LocalIOError: It cannot be read.
    """
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode):
            refused = found.st_size > 0 and not is_one(path)
        else:
            # A folder cannot be written, which shows soon.
            refused = replaced and not stat.S_ISDIR(found.st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise LocalIOError("write", str(path), error.strerror or str(error), hint) from None
    if refused:
        raise UsageError("write", str(path), f"what is there is not {kind}", hint)


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(256).lstrip().lower().startswith(_PAGE)
