"""`haul cp` against an endpoint that answers 503, cuts connections and flips bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Endpoint

#: The codes of `haulage.errors`, and `ok`.
FATES = {
    "ok",
    "permission",
    "not_found",
    "exists",
    "integrity",
    "source_changed",
    "busy",
    "connection",
    "stalled",
    "service",
    "cancelled",
}
SMALL_BLOCKS = ("--block-size", "128KiB", "--single-put-max", "128KiB")


def test_cp_through_faults_arrives_intact_both_ways(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tree: Path
) -> None:
    endpoint = start_emulator(faults="busy=5%,cut=5%,flip=1%,seed=7")
    # Azure's client creates the container; it tries again as often as it needs.
    container = endpoint.container()
    haul = haul_at(endpoint)
    trees.random_file(tree / "larger.bin", 64 << 20)
    expected = trees.contents(tree)

    for source, target in ((str(tree), container.az("t/")), (container.az("t/"), "back")):
        # In ranges, so that there are enough requests for every fault to strike.
        went = haul("cp", source, target, "--json", *SMALL_BLOCKS, "--method", "ranges")
        fates = [attempt["fate"] for attempt in went.of("attempt")]
        assert set(fates) <= FATES
        assert {"busy", "connection"} <= set(fates), "the faults did not happen"
        failed = [attempt for attempt in went.of("attempt") if attempt["fate"] != "ok"]
        assert all(attempt["cause"] for attempt in failed)
        assert went.summary["retries"] == len([a for a in failed if a["backoff_ns"] is not None]) > 0
        assert went.summary["objects_failed"] == 0
    trees.assert_same(trees.contents(haul.folder / "back"), expected)


def test_cp_through_flipped_bits_is_caught_by_checksums(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tree: Path
) -> None:
    endpoint = start_emulator(faults="flip=10%,seed=7")
    container = endpoint.container()
    haul = haul_at(endpoint)
    expected = trees.contents(tree)
    up = haul("cp", tree, container.az("t/"), "--json", *SMALL_BLOCKS).summary
    down = haul("cp", container.az("t/"), "back", "--json", *SMALL_BLOCKS).summary
    assert up["integrity_retries"] > 0
    assert down["integrity_retries"] > 0
    trees.assert_same(trees.contents(haul.folder / "back"), expected)


def test_cp_over_a_wide_area_link_arrives_intact(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tree: Path
) -> None:
    endpoint = start_emulator(link="rtt=20ms,conn=40mbit,total=400mbit")
    container = endpoint.container()
    haul = haul_at(endpoint)
    haul("cp", tree, container.az("t/"))
    haul("cp", container.az("t/"), "back")
    trees.assert_same(trees.contents(haul.folder / "back"), trees.contents(tree))


def test_cp_killed_and_run_again_sends_only_the_rest(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    endpoint = start_emulator(link="rtt=5ms,total=80mbit")
    container = endpoint.container()
    haul = haul_at(endpoint)
    file = trees.random_file(tmp_path / "file.bin", 16 << 20)
    how = ("--block-size", "256KiB", "--concurrency", "4", "--json")

    haul.kill_after_blocks(20, "cp", file, container.az("file.bin"), *how)
    assert container.contents() == {}

    again = haul("cp", file, container.az("file.bin"), *how)
    sent = sum(a["size_bytes"] for a in again.of("attempt") if a["api"] == "PutBlock")
    assert sent <= (16 << 20) - 20 * (256 << 10)
    assert container.contents() == {"file.bin": file.read_bytes()}


def test_blocks_that_nobody_vouched_for_are_sent_again_by_who_wants_proof(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    endpoint = start_emulator(link="rtt=5ms,total=80mbit")
    haul, container = haul_at(endpoint), endpoint.container()
    file = trees.random_file(tmp_path / "file.bin", 4 << 20)
    line = ("cp", file, container.az("file.bin"), "--block-size", "256KiB", "--concurrency", "4", "--json")
    haul.kill_after_blocks(4, *line, "--checksum", "none")
    proven = haul(*line).summary
    assert (proven["bytes_resumed"], proven["objects_unproven"]) == (0, 0)
    haul.kill_after_blocks(4, *line, "--overwrite", "always", "--checksum", "none")
    assert haul(*line, "--overwrite", "always", "--checksum", "none").summary["bytes_resumed"] > 0
