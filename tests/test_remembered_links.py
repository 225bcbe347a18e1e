"""What one job finds of a far link, the next one begins with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import haulage
import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Endpoint
from haulage.transfer import Options

MIB = 1 << 20
#: Each connection gives so little that many are needed.
LINK = "rtt=30ms,conn=4mbit,total=100mbit"


def begun(haul: Haul, file: Path, destination: str) -> int:
    """How many requests a job has in flight once the first object is known, after the first answer."""
    said = haul("cp", file, destination, "-vv").stderr
    return int(re.findall(r"(\d+) requests in flight from now on", said)[1])


@pytest.mark.slow("what a link gives is found while it is used for some seconds")
def test_a_short_job_begins_with_what_a_long_one_has_found(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    endpoint = start_emulator(link=LINK)
    container = endpoint.container()
    haul = haul_at(endpoint)
    links = haul.folder / ".cache/haulage/links"
    short = trees.random_file(tmp_path / "short.bin", 4 * MIB)
    before = begun(haul, short, container.az("a.bin"))
    assert not links.exists(), "it was too short to have found anything"

    haul("cp", trees.random_file(tmp_path / "long.bin", 50 * MIB), container.az("long.bin"))
    (kept,) = links.iterdir()
    found = json.loads(kept.read_text())
    assert found["concurrency"] >= 16
    assert found["trip_us"] >= 30_000
    assert container.name not in kept.name + kept.read_text(), "only a hash of where it leads"

    # On a busy machine the first answers may come so late that this looks like another link.
    again = (begun(haul, short, container.az(f"{turn}.bin")) for turn in range(3))
    assert any(number >= 2 * before for number in again)
    haul("cp", container.az("0.bin"), "back.bin")
    assert (haul.folder / "back.bin").read_bytes() == short.read_bytes()


@pytest.mark.long
def test_nothing_is_left_of_a_link_that_was_held_back_nor_of_one_within_the_machine(
    start_emulator: StartEmulator, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = trees.random_file(tmp_path / "file.bin", 12 * MIB)
    far, near = start_emulator(link=LINK), start_emulator()
    before = set(cache.rglob("*"))
    held_back: list[Options] = [{"cap": "24mbit"}, {"concurrency": 8}, {"remember_link": False}]
    for options in held_back:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", far.connection_string)
        haulage.copy(file, far.container().az("file.bin"), **options)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", near.connection_string)
    haulage.copy(file, near.container().az("file.bin"), cap="24mbit")
    assert set(cache.rglob("*")) == before
