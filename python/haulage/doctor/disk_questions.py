"""Questions to file systems, each of which may hang where one lies on a network."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: What is written to find out how quick a disk is, at most, and for how long.
PROBE_BYTES = 32 << 20
PROBE_S = 1.0
#: What must stay free beside it.
SPARE_BYTES = 256 << 20
_PIECE = bytes(1 << 20)


def disk(_: Callable[[Any], None], *, path: str, measure: bool) -> dict[str, Any]:
    """Look at the file system that holds a path, or will; measure how quickly it takes bytes.

    Nothing stays on it: the file that is written has no name, or loses it at once.
    """
    wanted = Path(path).absolute()
    folder = wanted
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    is_file = folder.is_file()
    folder = folder.parent if is_file else folder
    room = os.statvfs(folder)
    found: dict[str, Any] = {
        "path": str(wanted),
        "folder": str(folder),
        "exists": wanted.exists(),
        "kind": kind_of(folder),
        "free_bytes": room.f_bavail * room.f_frsize,
        "size_bytes": room.f_blocks * room.f_frsize,
        # Some file systems make inodes as they need them, and count none.
        "free_inodes": room.f_favail if room.f_files else None,
        "inodes": room.f_files or None,
        "read_only": bool(room.f_flag & os.ST_RDONLY),
        "readable": os.access(wanted if wanted.exists() else folder, os.R_OK),
        "why_not": None,
        "write_bytes_per_second": None,
    }
    try:
        found["write_bytes_per_second"] = _write(folder, found["free_bytes"] if measure else 0)
    except OSError as error:
        found["why_not"] = error.strerror or str(error)
        found["errno"] = error.errno
    return found


def _write(folder: Path, free: int) -> float | None:
    """Make a file, and fill it as far as there is room for that; return bytes a second, to the disk."""
    with tempfile.TemporaryFile(dir=folder) as file:
        if free < SPARE_BYTES:
            # Whether there is room for anything at all.
            file.write(b"haulage")
            file.flush()
            return None
        began = time.monotonic()
        written = 0
        while written < PROBE_BYTES and time.monotonic() - began < PROBE_S:
            written += file.write(_PIECE)
        file.flush()
        os.fsync(file.fileno())
        return written / max(time.monotonic() - began, 1e-6)


def kind_of(folder: Path) -> str | None:
    """Return the type of the file system, such as ``"ext4"``; ``None`` where nothing says."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    best, kind = "", None
    for line in lines:
        before, _, after = line.partition(" - ")
        place = before.split()[4].encode().decode("unicode_escape")
        if folder.is_relative_to(place) and len(place) >= len(best):
            best, kind = place, after.split()[0]
    return kind


def count_local(tell: Callable[[Any], None], *, path: str) -> dict[str, Any]:
    """Count files and bytes at and below a path; tell what is known every second."""
    counted = {"objects": 0, "bytes": 0, "largest_bytes": 0, "unreadable": 0}
    told = time.monotonic()
    root = Path(path)
    for file in _files(root, counted):
        with contextlib.suppress(OSError):
            known = file.stat(follow_symlinks=False) if file is not root else file.stat()
            if not stat.S_ISREG(known.st_mode):
                continue
            counted["objects"] += 1
            counted["bytes"] += known.st_size
            counted["largest_bytes"] = max(counted["largest_bytes"], known.st_size)
            counted["unreadable"] += not os.access(file, os.R_OK)
        if time.monotonic() - told > 0.5:
            told = time.monotonic()
            tell(dict(counted))
    return counted


def _files(root: Path, counted: dict[str, int]) -> Any:
    if not root.is_dir():
        root.stat()
        yield root
        return

    def refused(_: OSError) -> None:
        counted["unreadable"] += 1

    for folder, _, names in os.walk(root, onerror=refused):
        yield from (Path(folder, name) for name in names)


QUESTIONS: dict[str, Callable[..., Any]] = {"disk": disk, "count_local": count_local}
