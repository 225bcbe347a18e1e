"""Files that are there whole or not at all, and their hashes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    # Whatever a stopped process, or somebody's link, has left there is not written through.
    partial.unlink(missing_ok=True)
    with partial.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
