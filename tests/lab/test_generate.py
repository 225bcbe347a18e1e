"""Files to measure with: the same everywhere, incompressible, and NetCDF that a NetCDF reader reads."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from scipy.io import netcdf_file

import haulage
from haulage.errors import StorageFullError, UsageError
from haulage.lab import generate as made

DIGEST = "c68ca3a468b90c99e52b038aac356adb8eacd99d2f4fb30e0f8b08daae37c282"


def test_the_same_seed_gives_the_same_bytes_everywhere(tmp_path: Path) -> None:
    for name in ("a", "b"):
        made.generate(tmp_path / name, 3_000_001, 7)
    made.generate("mem://lab-test/generated", 3_000_001, 7)
    haulage.copy("mem://lab-test/generated", tmp_path / "c")
    made.generate(tmp_path / "other", 3_000_001, 8)
    made.generate(tmp_path / "longer", 4_000_000, 7)
    first = (tmp_path / "a").read_bytes()
    assert (tmp_path / "b").read_bytes() == first
    assert (tmp_path / "c").read_bytes() == first
    assert (tmp_path / "longer").read_bytes()[: len(first)] == first
    assert (tmp_path / "other").read_bytes() != first
    # Written down, for other machines and later versions.
    assert hashlib.sha256(first).hexdigest() == DIGEST


def test_the_bytes_cannot_be_compressed(tmp_path: Path) -> None:
    made.generate(tmp_path / "a", 1_000_000, 1)
    data = (tmp_path / "a").read_bytes()
    assert len(zlib.compress(data, 9)) > len(data)


def test_the_table_of_2010_has_fifteen_sizes_of_fifty_files() -> None:
    assert len(made.TABLE_2010) == 15
    specs = made.sizes([("1KiB", 1024), ("2KiB", 2048)], 3, seed=1)
    assert [(spec.name, spec.size_bytes) for spec in specs][:4] == [
        ("1KiB/000000.bin", 1024),
        ("1KiB/000001.bin", 1024),
        ("1KiB/000002.bin", 1024),
        ("2KiB/000000.bin", 2048),
    ]
    assert len({spec.seed for spec in specs}) == 6


def test_a_tree_is_nested_and_near_its_mean(tmp_path: Path) -> None:
    specs = made.tree(2000, 10_000, seed=5)
    assert specs == made.tree(2000, 10_000, seed=5)
    assert sum(spec.size_bytes for spec in specs) / 2000 == pytest.approx(10_000, rel=0.15)
    paths = list(made.write(tmp_path, specs[:50]))
    assert [path.stat().st_size for path in paths] == [spec.size_bytes for spec in specs[:50]]
    assert max(len(path.relative_to(tmp_path).parts) for path in paths) == 4


def test_a_set_is_like_that_of_a_climate_model(tmp_path: Path) -> None:
    specs = made.netcdf(144, (32, 1_500_000), 92_500, seed=1)
    assert sorted(spec.size_bytes for spec in specs) == [92_500] * 112 + [1_500_000] * 32
    assert [spec.size_bytes for spec in specs] != sorted(spec.size_bytes for spec in specs)
    for path in made.write(tmp_path, specs[:4]):
        with netcdf_file(path, "r", mmap=False) as file:
            assert file.variables["tas"].shape[1:] == (32, 64)
            assert file.variables["tas"].units == b"K"


@given(st.integers(17_000, 200_000))
def test_a_netcdf_file_has_just_the_size_asked_for(size: int) -> None:
    header = made.netcdf_header(size)
    steps = int.from_bytes(header[header.index(b"time") + 4 :][:4], "big")
    rest = int.from_bytes(header[header.index(b"rest") + 4 :][:4], "big")
    assert len(header) + steps * 32 * 64 * 4 + rest == size
    assert rest > 0


def test_too_much_and_too_little_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageFullError, match="--scale"):
        next(made.write(tmp_path, [made.Spec("a", 1 << 60, 1)]))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="too small"):
        made.netcdf_header(1000)
