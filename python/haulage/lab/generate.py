"""Files to measure with: seeded, so that everyone gets the same bytes, and incompressible."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import haulage

_PIECE = 8 << 20


def generate(name: str | Path, size_bytes: int, seed: int) -> None:
    """Write a file, or an object ``mem://name/path``; the bytes depend on seed and offset only."""
    if str(name).startswith("mem://"):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bytes"
            generate(path, size_bytes, seed)
            haulage.copy(path, str(name), overwrite="always")
        return
    source = np.random.Generator(np.random.SFC64(seed))
    with Path(name).open("wb") as file:
        for offset in range(0, size_bytes, _PIECE):
            file.write(source.bytes(min(_PIECE, size_bytes - offset)))


def netcdf_set(folder: Path, *, large: tuple[int, int], small: tuple[int, int], seed: int) -> list[Path]:
    """Write a set of NetCDF-like files: ``(count, bytes)`` of large and of small ones."""
    raise NotImplementedError
