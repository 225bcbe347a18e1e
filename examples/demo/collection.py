"""The files that the demo moves, and an independent look at what came back."""

from __future__ import annotations

import filecmp
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from stage import DemoError


@dataclass(frozen=True)
class Collection:
    """A folder of files."""

    root: Path
    title: str
    files: int
    size_bytes: int


def find_collection() -> Collection:
    """Return the folder of the environment variable SRC, or else the climate files of a small package.

    Raises:
        DemoError: There is no such folder, or nothing in it.
    """
    given = os.environ.get("SRC")
    if given:
        root, title = Path(given).expanduser(), given
    else:
        root, title = _sample_data(), "climate model output and observations (iris-sample-data)"
    if not root.is_dir():
        raise DemoError(f"SRC={root} is not a folder: name one with files, such as SRC=~/data make demo")
    sizes = [path.stat().st_size for path in _files(root)]
    if not sum(sizes):
        raise DemoError(f"SRC={root} holds nothing to move: name a folder with files")
    return Collection(root, title, len(sizes), sum(sizes))


def differing(ours: Path, theirs: Path) -> list[str]:
    """Name the files that are not, byte for byte, in both trees. Reads all of both."""
    names = {path.relative_to(ours) for path in _files(ours)}
    others = {path.relative_to(theirs) for path in _files(theirs)}
    differ = [name for name in names & others if not filecmp.cmp(ours / name, theirs / name, shallow=False)]
    return sorted(str(name) for name in [*differ, *(names ^ others)])


def _files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def _sample_data() -> Path:
    found = importlib.util.find_spec("iris_sample_data")
    if found is None or found.origin is None:
        raise DemoError("the package iris-sample-data is not installed: run `make demo`, or give SRC=folder")
    return Path(found.origin).parent / "sample_data"
