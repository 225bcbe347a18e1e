"""Pipes and devices that rows come from. They can be read once, and files of rows are read several times."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from haulage.errors import LocalIOError, StorageFullError
from haulage.tables.unreadable import unreadable


def is_stream(path: Path) -> bool:
    """Return whether this is a pipe or a device; ``False`` if there is nothing of this name.

    A file that is ``/dev/stdin`` counts too: nothing can be kept beside a name in ``/dev``.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISDIR(mode) and (not stat.S_ISREG(mode) or _is_in_dev(path))


@contextmanager
def kept(path: Path) -> Iterator[Path]:
    """Yield a file with what a pipe or a device delivers, removed in the end; any other path as it is.

    Raises:
        StorageFullError: The folder for temporary files is full.
        LocalIOError: It cannot be read.
    """
    if not is_stream(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="haul-table-") as folder:
        yield copied(path, Path(folder))


def copied(path: Path, folder: Path) -> Path:
    """Copy what a pipe or a device delivers to a file of its name in this folder, and return that."""
    file = folder / path.name
    try:
        source = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    with source:
        try:
            with file.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        except OSError as error:
            cause = (error.strerror or str(error)).lower()
            if error.errno == errno.ENOSPC:
                hint = f"free some space in {folder.parent}, or name another folder in TMPDIR"
                raise StorageFullError("read", str(path), cause, hint) from None
            raise LocalIOError("read", str(path), cause, "check what writes to it") from None
    return file


def beside(path: Path) -> Path:
    """Return the folder for files that belong to a source: its own, and for one in /dev the current one."""
    return Path() if _is_in_dev(path) else path.parent


def _is_in_dev(path: Path) -> bool:
    """Return whether a name stands where nobody keeps files, as ``/dev/shm`` does."""
    name = os.path.abspath(path)  # noqa: PTH100
    return name.startswith(("/dev/", "/proc/")) and not name.startswith("/dev/shm/")
