"""Where what may be deleted at any time is kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return ``$XDG_CACHE_HOME/haulage/NAME``, or that below ``~/.cache``; a relative path there is ignored.

    Nothing can be kept in it where nobody has a home.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        try:
            base = Path.home() / ".cache"
        except RuntimeError:
            base = Path(os.devnull)
    return base / "haulage" / name


def keep(path: Path, body: bytes) -> None:
    """Write a file there, whole or not at all, that nobody else may read.

    Raises:
        OSError: It cannot be written; nothing is left of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    number, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(body)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
