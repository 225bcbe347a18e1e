"""`haul clean` removes what interrupted copies have left, and nothing else."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Container, Endpoint
from sentences import Sentence

MIB = 1 << 20
HOW = ("--json", "--block-size", "256KiB", "--concurrency", "4")


def stage(container: Container, name: str) -> None:
    """Leave a block of a blob that is never committed."""
    container.client.get_blob_client(name).stage_block(base64.b64encode(b"block").decode(), b"left over")


def test_clean_removes_blocks_that_never_became_a_blob(
    haul: Haul, container: Container, sentence: Sentence
) -> None:
    container.client.upload_blob("data/empty", b"")
    container.client.upload_blob("data/whole", b"whole")
    for name in ("data/a", "data/b/c", "other"):
        stage(container, name)
    # A blob that is being written anew keeps what it has.
    stage(container, "data/whole")

    dry = haul("clean", "--dry-run", container.az("data/"))
    assert dry.text.split() == [container.az("data/a"), container.az("data/b/c")]
    # Azurite takes such blocks for a blob where a condition asks for none.
    (report,) = haul("clean", container.az("data/"), "--json").events
    assert (report["event"], report["leftovers"], report["failures"]) == ("cleaned", 2, [])
    assert report["size_bytes"] is None
    sentence(haul("clean", "--dry-run", container.az("")).stderr)
    assert haul("clean", container.az("")).stderr.startswith("removed 1 leftover")
    assert "removed 0 leftovers" in haul("clean", container.az("")).stderr
    assert container.contents() == {"data/empty": b"", "data/whole": b"whole"}


def test_leftovers_below_several_names_are_removed_and_counted_once(haul: Haul, emulator: Endpoint) -> None:
    """They were counted for each name; in a folder the second look took them for somebody's."""
    container = emulator.container()
    for name in ("a/x", "a/b/y"):
        stage(container, name)
    back = haul.folder / "back"
    (back / "sub").mkdir(parents=True)
    for folder in (back, back / "sub"):
        (folder / ".haul-0123456789abcdef.ranges.partial").write_bytes(b"left")
    for names, found in (
        ((container.az("a/b/"), container.az("a/")), [1, 1]),
        (("back", str(back / "sub"), "./back"), [2, 0, 0]),
    ):
        for how in (("--dry-run",), ()):
            reports = haul("clean", *names, "--json", "--max-delete", "2", *how).events
            assert [(report["leftovers"], report["in_use"]) for report in reports] == [(n, 0) for n in found]


def test_clean_removes_partial_files_that_nobody_writes(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    endpoint = start_emulator(link="rtt=5ms,total=40mbit")
    container, haul = endpoint.container(), haul_at(endpoint)
    back = haul.folder / "back"
    haul("cp", trees.random_file(tmp_path / "file.bin", 8 * MIB), container.az("file.bin"))
    haul.kill_after_blocks(5, "cp", container.az("file.bin"), back / "killed", *HOW, api="GetBlob")
    (back / "kept").write_bytes(b"kept")
    (back / ".haul-0123456789abcdef.ranges.partial").write_bytes(b"a list of nothing")
    leftovers = {path.name for path in back.glob(".haul-*")} - {trees.MARK}
    assert len(leftovers) == 3

    haul("clean", "no-such-folder", code=4)
    copying = haul.start("cp", container.az("file.bin"), back / "running", *HOW)
    assert copying.stdout is not None
    while b'"GetBlob"' not in copying.stdout.readline():
        pass
    # What is being written does not count, neither for a look nor for what may be removed at most.
    for how in (["--dry-run"], ["--max-delete", "2"]):
        (report,) = haul("clean", back, "--json", *how).events
        assert (report["leftovers"], report["in_use"], report["failures"]) == (2, 1, []), report
    copying.communicate()
    assert copying.returncode == 0
    assert sorted(path.name for path in back.iterdir()) == ["kept", "running"]
    assert (back / "running").read_bytes() == (tmp_path / "file.bin").read_bytes()
