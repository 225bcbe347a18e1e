"""`make must-show`: what takes gibibytes or minutes to show."""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Container, Endpoint

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def flip_a_byte(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(bytes([byte[0] ^ 1]))


def test_cp_file_of_1_gib(haul: Haul, container: Container, tmp_path: Path) -> None:
    file = trees.random_file(tmp_path / "file.bin", 1 << 30)
    haul("cp", file, container.az("file.bin"), timeout=1000)
    haul("cp", container.az("file.bin"), "back.bin", timeout=1000)
    assert filecmp.cmp(file, tmp_path / "back.bin", shallow=False)
    haul("verify", file, container.az("file.bin"), timeout=1000)

    flip_a_byte(file, 777_777_777)
    found = haul("verify", file, container.az("file.bin"), code=5, timeout=1000)
    assert "file.bin" in found.text


def test_cp_5000_files_with_awkward_names(haul: Haul, container: Container, tmp_path: Path) -> None:
    many = trees.make(tmp_path / "many", files=5000)
    expected = trees.contents(many)
    haul("cp", many, container.az("many/"), timeout=1000)
    haul("cp", container.az("many/"), "back", timeout=1000)
    trees.assert_same(trees.contents(tmp_path / "back"), expected)
    haul("verify", many, container.az("many/"), timeout=1000)

    victim = next(path for path in sorted(many.rglob("*")) if path.is_file() and path.stat().st_size > 100)
    flip_a_byte(victim, 50)
    found = haul("verify", many, container.az("many/"), code=5, timeout=1000)
    assert [line for line in found.text.splitlines() if victim.name in line]
    assert len(found.text.splitlines()) == 1


def test_cp_1_gib_through_faults(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    endpoint = start_emulator(faults="busy=5%,cut=5%,flip=1%,seed=11")
    container = endpoint.container()
    haul = haul_at(endpoint)
    file = trees.random_file(tmp_path / "file.bin", 1 << 30)
    for source, target in ((file, container.az("file.bin")), (container.az("file.bin"), "back.bin")):
        went = haul("cp", source, target, "--json", "--block-size", "1MiB", timeout=1000)
        fates = Counter(attempt["fate"] for attempt in went.of("attempt"))
        print(fates, went.summary["elapsed_ns"] / 1e9, "s")
        assert {"ok", "busy", "connection", "integrity"} <= set(fates)
        assert went.summary["objects_failed"] == 0
    assert filecmp.cmp(file, haul.folder / "back.bin", shallow=False)
