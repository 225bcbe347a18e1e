"""Where what may be deleted at any time is kept."""

from __future__ import annotations

import os
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
