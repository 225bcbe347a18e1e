"""Files that somebody named and that cannot be read: why, in the words of the engine."""

from __future__ import annotations

import stat
from pathlib import Path

from haulage.errors import CredentialError, HaulageError, LocalIOError, NotFoundError, UsageError


def check_readable(path: Path) -> None:
    """Raise if there is no file of this name that can be read; a pipe is not opened.

    Raises:
        NotFoundError: There is none.
        CredentialError: It may not be read.
        UsageError: It is a folder.
        LocalIOError: It cannot be read for another reason.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError
        if stat.S_ISREG(mode):
            path.open("rb").close()
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> HaulageError:
    """Return what is said of a file that cannot be read."""
    match error:
        case FileNotFoundError():
            return NotFoundError("open", str(path), "no such file or directory", "check the path")
        case PermissionError():
            hint = "check the permissions of the file and its folder"
            return CredentialError("open", str(path), "permission denied", hint)
        case IsADirectoryError():
            return UsageError("open", str(path), "this is a folder", "name a file")
    cause = (error.strerror or str(error)).lower()
    return LocalIOError("open", str(path), cause, "check the path and the disk it is on")
