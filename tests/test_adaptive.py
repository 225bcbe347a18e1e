"""`haul cp` finds its own way: over slow links, past what stalls and what refuses."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trees
from command import Haul, Result
from conftest import StartEmulator
from endpoints import Endpoint

MIB = 1 << 20


def blocks(went: Result) -> list[dict[str, Any]]:
    """Attempts of `went` that carried a block up."""
    return [attempt for attempt in went.of("attempt") if attempt["api"] == "PutBlock"]


@pytest.mark.parametrize("link", ["none", "rtt=20ms,conn=40mbit,total=400mbit"])
def test_cp_sends_what_stalls_a_second_time_and_does_not_wait(
    link: str, start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    endpoint = start_emulator(link=link, faults="stall=3%,seed=3")
    container = endpoint.container()
    haul = haul_at(endpoint)
    file = trees.random_file(tmp_path / "file.bin", 48 * MIB)
    how = ("--json", "--block-size", "512KiB", "--stall-timeout", "20s")

    up = haul("cp", file, container.az("file.bin"), *how)
    down = haul("cp", container.az("file.bin"), "back.bin", *how)
    assert (haul.folder / "back.bin").read_bytes() == file.read_bytes()
    for went in (up, down):
        summary = went.summary
        assert summary["duplicates"] > 0, "nothing stalled"
        assert summary["bytes_duplicated"] <= 32 * (MIB // 2)
        overtaken = [attempt for attempt in went.of("attempt") if attempt["fate"] == "cancelled"]
        assert 0 < len(overtaken) <= summary["duplicates"]
        assert all(attempt["cause"] == "another attempt was quicker" for attempt in overtaken)
        assert summary["requests"] == len(went.of("attempt"))


@pytest.mark.slow("waits until requests stall")
def test_cp_cuts_what_stalls_in_halves(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    endpoint = start_emulator(faults="stall=10%,seed=5")
    container = endpoint.container()
    haul = haul_at(endpoint)
    file = trees.random_file(tmp_path / "file.bin", 16 * MIB)
    # One at a time, so that nothing is duplicated.
    how = ("--json", "--block-size", "1MiB", "--concurrency", "1", "--stall-timeout", "200ms")
    went = haul("cp", file, container.az("file.bin"), *how)
    stalled = [attempt for attempt in blocks(went) if attempt["fate"] == "stalled"]
    assert went.summary["splits"] == len([a for a in stalled if a["size_bytes"] >= 2 * 64 << 10]) > 0
    assert {MIB, MIB // 2} <= {attempt["size_bytes"] for attempt in blocks(went)}
    assert container.contents() == {"file.bin": file.read_bytes()}


def test_cp_over_a_slow_link_does_not_time_out(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    endpoint = start_emulator(link="rtt=100ms,total=2mbit")
    container = endpoint.container()
    haul = haul_at(endpoint)
    file = trees.random_file(tmp_path / "file.bin", MIB)
    went = haul("cp", file, container.az("file.bin"), "--json")
    assert {attempt["fate"] for attempt in went.of("attempt")} == {"ok"}
    assert all(attempt["size_bytes"] <= 512 << 10 for attempt in blocks(went))
    assert went.summary["bytes_wire"] < 1.1 * MIB
    assert "far" in went.summary["chosen"]


def test_cp_asks_a_service_that_refuses_hardly_more_than_needed(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    endpoint = start_emulator(faults="busy=20%,seed=7")
    container = endpoint.container()
    haul = haul_at(endpoint)
    file = trees.random_file(tmp_path / "file.bin", 16 * MIB)
    went = haul("cp", file, container.az("file.bin"), "--json", "--block-size", "64KiB")
    needed = len([attempt for attempt in went.of("attempt") if attempt["fate"] == "ok"])
    assert went.summary["requests"] <= 1.4 * needed
    assert container.contents() == {"file.bin": file.read_bytes()}


def test_cp_goes_on_from_blocks_of_another_size(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    endpoint = start_emulator(link="rtt=5ms,total=80mbit")
    container = endpoint.container()
    haul = haul_at(endpoint)
    file = trees.random_file(tmp_path / "file.bin", 16 * MIB)
    small = ("--json", "--block-size", "256KiB", "--concurrency", "4")
    haul.kill_after_blocks(20, "cp", file, container.az("file.bin"), *small)

    again = haul("cp", file, container.az("file.bin"), "--json", "--block-size", "1MiB")
    assert again.summary["bytes_resumed"] >= 20 * (256 << 10)
    # What is sent twice at the end, because the machine is busy, counts once.
    sent = {attempt["offset_bytes"]: attempt["size_bytes"] for attempt in blocks(again)}
    assert sum(sent.values()) == 16 * MIB - again.summary["bytes_resumed"]
    assert container.contents() == {"file.bin": file.read_bytes()}


@pytest.mark.long
@pytest.mark.parametrize("api", ["PutBlock", "GetBlob"])
def test_a_kill_under_a_cap_costs_half_a_second_of_it(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path, api: str
) -> None:
    """13 blocks were in flight under a cap that let two pass in a second: nearly all was sent again."""
    endpoint = start_emulator(link="rtt=60ms,total=1gbit")
    container = endpoint.container()
    haul = haul_at(endpoint)
    file = trees.random_file(tmp_path / "file.bin", 6 * MIB)
    line: tuple[str | Path, ...] = (file, container.az("file.bin"))
    if api == "GetBlob":
        haul("cp", *line)
        line = (container.az("file.bin"), tmp_path / "back")
    # 2 MB a second.
    how = ("cp", *line, "--json", "--cap", "16mbit", "--overwrite", "always")
    process = haul.start(*how)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    said = [json.loads(text) for text in process.communicate(timeout=30)[0].splitlines()]
    assert process.returncode == 130
    sent = said[-1]["bytes_wire"]
    assert sent > 2_000_000
    again = haul(*how)
    # Half a second is 1 MB; the rest is for headers, and for what the machine makes wait.
    assert again.summary["bytes_resumed"] > sent - 1_500_000
    assert again.summary["elapsed_ns"] < (6 * MIB - again.summary["bytes_resumed"]) / 2e6 * 1e9 * 1.3 + 1e9
    # What was there already is in no rate: 80 Mbit/s were said, and 2.7 Gbit/s while it ran.
    rates = [event["rate_bits_per_second"] for event in again.events if event["event"] == "progress"]
    assert max(rates) < 32e6
    assert again.summary["goodput_bits_per_second"] < 24e6


def test_cp_from_afar_asks_at_once_whether_it_is_a_folder_and_what_is_in_it(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tree: Path, tmp_path: Path
) -> None:
    """Each question took a round trip of its own before the first byte."""
    endpoint = start_emulator(link="rtt=100ms")
    container = endpoint.container()
    haul = haul_at(endpoint)
    assert haul("cp", tree, container.az("there")).code == 0
    went = haul("cp", container.az("there"), tmp_path / "back", "--json")
    assert trees.contents(tmp_path / "back") == trees.contents(tree)
    asked = {attempt["api"]: attempt for attempt in went.of("attempt") if attempt["object_id"] is None}
    assert asked["ListBlobs"]["slot_ns"] < asked["GetBlobProperties"]["ended_ns"]

    # For an object nobody waits for the list.
    name = next(path for path in tree.rglob("*") if path.is_file() and path.stat().st_size > 0)
    one = haul("cp", container.az(f"there/{name.relative_to(tree)}"), tmp_path / "one", "--json")
    assert one.code == 0
    assert (tmp_path / "one").read_bytes() == name.read_bytes()
