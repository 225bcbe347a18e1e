"""Trees of files: made from a seed, compared byte by byte."""

from __future__ import annotations

import filecmp
import random
from pathlib import Path

#: The engine's mark of a folder that is being written to; it goes when all is on the disk.
MARK = ".haul-6d61726b6d61726b.partial"

#: Names that clients get wrong.
AWKWARD = (
    "plain.txt",
    "spaces in the name.txt",
    "two  spaces",
    "hash#mark",
    "what?",
    "100%",
    "%41 is not A",
    "a+b=c&d",
    "colon:name",
    "quote'and\"quote",
    "[brackets]{braces}",
    "semi;colon,comma",
    "tilde~at@dollar$",
    "ünïcödé",
    "日本語.nc",
    "e\N{COMBINING ACUTE ACCENT} is two characters",
    "🌊 wave.nc",
    ".hidden",
    ".hidden-folder/.file",
    "deep/er/and/deeper/still.txt",
    "sp ace/ha#sh/per%cent/plus+",
    "same-prefix",
    "same-prefix.txt",
    "same-prefix-folder/file",
    "-starts-with-a-dash",
)


def make(folder: Path, *, files: int = 0, size: int = 4096, awkward: bool = True, seed: int = 7) -> Path:
    """Make `files` files of `size` bytes in nested folders, an empty one, and those of awkward names."""
    rng = random.Random(seed)
    names = [f"run-{n % 10}/member-{n % 7}/field-{n:05d}.bin" for n in range(files)]
    for name in [*(AWKWARD if awkward else ()), *names]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(size))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "empty file").write_bytes(b"")
    return folder


def random_file(path: Path, size: int, seed: int = 7) -> Path:
    """Write a file that no compression or shortcut makes smaller."""
    rng = random.Random(seed)
    with path.open("wb") as file:
        for offset in range(0, size, 1 << 20):
            file.write(rng.randbytes(min(1 << 20, size - offset)))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder by their path within it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def assert_same(found: dict[str, bytes], expected: dict[str, bytes]) -> None:
    """Compare trees; names first, because megabytes of bytes make no message."""
    assert sorted(found) == sorted(expected)
    different = [name for name in expected if found[name] != expected[name]]
    assert not different


def assert_same_files(found: Path, expected: Path) -> None:
    """Compare trees that are too large for memory."""
    names = [
        sorted(path.relative_to(top) for path in top.rglob("*") if path.is_file())
        for top in (found, expected)
    ]
    assert names[0] == names[1]
    different = [name for name in names[1] if not filecmp.cmp(found / name, expected / name, shallow=False)]
    assert not different
