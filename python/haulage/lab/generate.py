"""Files to measure with: seeded, so that everyone gets the same bytes, and incompressible."""

from __future__ import annotations

import random
import shutil
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from haulage import _engine
from haulage.errors import ExistsError, StorageFullError, UsageError
from haulage.words.numbers import format_size

#: The sizes of 2010 (E1), in bytes and as they are written.
TABLE_2010 = (
    "2KB",
    "32KB",
    "64KB",
    "128KB",
    "512KB",
    "1MB",
    "5MB",
    "10MB",
    "25MB",
    "50MB",
    "100MB",
    "250MB",
    "500MB",
    "750MB",
    "1GB",
)
#: Of each size (E1).
COUNT_2010 = 50


@dataclass(frozen=True)
class Spec:
    """A file to make: its name below the folder, its size, and the seed of its bytes."""

    name: str
    size_bytes: int
    seed: int
    netcdf: bool = False


def generate(name: str | Path, size_bytes: int, seed: int) -> None:
    """Write a file, or an object ``mem://name/path``, of random bytes.

    The byte at an offset depends on the offset and the seed only: a longer file begins with a shorter
    one, and the same call gives the same bytes on every machine.

    Args:
        name: Path or ``mem://`` URL; what is there is replaced.
        size_bytes: How much.
        seed: From 0 to 2**64 - 1.
    """
    _engine.generate(name, size_bytes=size_bytes, seed=seed)


def sizes(table: Sequence[tuple[str, int]], count: int, seed: int) -> list[Spec]:
    """Return ``count`` files of each size.

    Args:
        table: Pairs of a folder's name and the size of the files in it.
        count: How many of each.
        seed: Of all of them; each file gets its own from it.
    """
    seeds = _seeds(seed)
    return [
        Spec(f"{label}/{number:06}.bin", size, next(seeds))
        for label, size in table
        for number in range(count)
    ]


def tree(files: int, mean_bytes: int, seed: int) -> list[Spec]:
    """Return a tree of many small files in nested folders, of sizes such as people keep.

    Sizes spread log-normally around a median below the mean: most files are small, a few are large.
    """
    chosen, seeds = random.Random(seed), _seeds(seed)
    specs = []
    for number in range(files):
        # A spread of one: the mean is e**0.5 times the median.
        size = int(chosen.lognormvariate(0.0, 1.0) * mean_bytes / 1.6487)
        folder = "/".join(f"{letter}{chosen.randrange(8)}" for letter in "abc"[: chosen.randrange(1, 4)])
        specs.append(Spec(f"{folder}/{number:06}.bin", size, next(seeds)))
    return specs


def netcdf(count: int, large: tuple[int, int], small_bytes: int, seed: int) -> list[Spec]:
    """Return a set like that of a climate model: a few large files among many small ones, mixed (E6).

    Args:
        count: Of all files.
        large: How many of them are large, and how large.
        small_bytes: Of each of the others.
        seed: Of the order and the bytes.
    """
    order = [large[1]] * large[0] + [small_bytes] * (count - large[0])
    random.Random(seed).shuffle(order)
    seeds = _seeds(seed)
    return [
        Spec(f"model_{number:04}.nc", size, next(seeds), netcdf=True) for number, size in enumerate(order)
    ]


def write(folder: Path, specs: Sequence[Spec]) -> Iterator[Path]:
    """Write files below a folder and yield the path of each.

    Raises:
        StorageFullError: They would not fit; nothing is written then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    total, free = sum(spec.size_bytes for spec in specs), shutil.disk_usage(folder).free
    if total > free:
        raise StorageFullError(
            "generate",
            str(folder),
            f"needs {format_size(total)}, {format_size(free)} are free",
            "give a smaller --scale or --count, or another folder",
        )
    for spec in specs:
        path = folder / spec.name
        path.parent.mkdir(parents=True, exist_ok=True)
        generate(path, spec.size_bytes, spec.seed)
        if spec.netcdf:
            with path.open("r+b") as file:
                file.write(netcdf_header(spec.size_bytes))
        yield path


def require_free(folder: Path, specs: Sequence[Spec]) -> None:
    """Refuse to write over what is there and was not made by the same call.

    Raises:
        ExistsError: The folder is a file, or a name in it is taken by something else.
    """
    if folder.exists() and not folder.is_dir():
        raise ExistsError("generate", str(folder), "not a folder", "name a folder")
    for spec in specs:
        path = folder / spec.name
        if path.is_symlink() or (
            path.exists() and not (path.is_file() and path.stat().st_size == spec.size_bytes)
        ):
            raise ExistsError("generate", str(path), "there is something else already", "name another folder")


def netcdf_header(size_bytes: int) -> bytes:
    """Return the header of a NetCDF-3 classic file of exactly this size.

    A field over time, latitude and longitude fills it; what is left over is a variable of bytes. What
    follows the header may be anything: all bytes are valid values.

    Raises:
        UsageError: Too small to be one.
    """
    # Its length depends on no value in it.
    header = _header(1, 1)
    steps, rest = divmod(size_bytes - len(header), _STEP_BYTES)
    if steps < 2:
        raise UsageError(
            "generate",
            f"{size_bytes} B",
            "too small for a NetCDF file",
            f"from {len(header) + 2 * _STEP_BYTES} B on",
        )
    # The variable that takes the rest cannot be empty.
    return _header(steps, rest) if rest else _header(steps - 1, _STEP_BYTES)


_LAT, _LON = 32, 64
_STEP_BYTES = _LAT * _LON * 4
_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
_BYTE, _CHAR, _FLOAT = 1, 2, 5


def _header(steps: int, rest: int) -> bytes:
    # Variables of no records lie one after another, each padded to four bytes; the last need not be.
    dimensions = [("time", steps), ("lat", _LAT), ("lon", _LON), ("rest", rest)]
    body = struct.pack(">2i", _DIMENSION, len(dimensions))
    body += b"".join(_name(name) + struct.pack(">i", length) for name, length in dimensions)
    body += struct.pack(">2i", _ATTRIBUTE, 2) + _text("Conventions", "CF-1.8") + _text("source", "haul lab")
    body += struct.pack(">2i", _VARIABLE, 2)
    fields = [
        ("tas", [0, 1, 2], _FLOAT, steps * _STEP_BYTES, [("units", "K"), ("long_name", "air temperature")]),
        ("rest", [3], _BYTE, -(-rest // 4) * 4, [("units", "1"), ("long_name", "what is left")]),
    ]
    heads = [
        _name(name)
        + struct.pack(f">{len(over) + 1}i", len(over), *over)
        + struct.pack(">2i", _ATTRIBUTE, len(attributes))
        + b"".join(_text(key, value) for key, value in attributes)
        + struct.pack(">iI", kind, min(length, 0xFFFFFFFF))
        for name, over, kind, length, attributes in fields
    ]
    # 64-bit offsets (CDF-2), for files above 2 GiB.
    start = 8 + len(body) + sum(len(head) + 8 for head in heads)
    for head, (*_, length, _) in zip(heads, fields, strict=True):
        body += head + struct.pack(">q", start)
        start += length
    return b"CDF\x02" + struct.pack(">i", 0) + body


def _name(name: str) -> bytes:
    encoded = name.encode()
    return struct.pack(">i", len(encoded)) + encoded + bytes(-len(encoded) % 4)


def _text(name: str, value: str) -> bytes:
    encoded = value.encode()
    return _name(name) + struct.pack(">2i", _CHAR, len(encoded)) + encoded + bytes(-len(encoded) % 4)


def _seeds(seed: int) -> Iterator[int]:
    source = random.Random(seed)
    while True:
        yield source.getrandbits(63)
