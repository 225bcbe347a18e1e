"""An interrupted download goes on from what has arrived, whatever happened in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

import trees
from command import Haul, Result
from conftest import StartEmulator
from endpoints import Container, Endpoint
from sentences import Sentence

KIB, MIB = 1 << 10, 1 << 20
SIZE = 16 * MIB
BLOCK = 256 * KIB
#: Ranges that were there when the first run was killed.
KILLED_AFTER = 20


@dataclass(frozen=True)
class Download:
    """A download that was killed on its way, and all that it takes to go on."""

    haul: Haul
    container: Container
    content: bytes

    @property
    def back(self) -> Path:
        return self.haul.folder / "back.bin"

    @property
    def leftovers(self) -> dict[str, Path]:
        """What is there beside the destination: the partial file and its list of ranges."""
        found = [path for path in self.haul.folder.glob(".haul-*") if path.name != trees.MARK]
        return {path.name.split(".", 2)[2]: path for path in found}

    def again(self, *how: str, code: int = 0) -> Result:
        return self.haul("cp", self.container.az("file.bin"), "back.bin", "--json", *how, code=code)


@pytest.fixture
def killed(start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path) -> Download:
    """A download of 64 ranges, killed when 20 had arrived."""
    endpoint = start_emulator(link="rtt=5ms,total=160mbit")
    container = endpoint.container()
    haul = haul_at(endpoint)
    file = trees.random_file(tmp_path / "file.bin", SIZE)
    haul("cp", file, container.az("file.bin"))
    how = ("--json", "--block-size", "256KiB", "--concurrency", "4")
    haul.kill_after_blocks(KILLED_AFTER, "cp", container.az("file.bin"), "back.bin", *how, api="GetBlob")
    download = Download(haul, container, file.read_bytes())
    assert not download.back.exists(), "no final name before the end"
    assert set(download.leftovers) == {"partial", "ranges.partial"}
    return download


def fetched(went: Result) -> int:
    """Bytes that `went` asked the service for, once: what was late may have been asked for twice."""
    asked = sum(a["size_bytes"] for a in went.of("attempt") if a["api"] == "GetBlob")
    return int(asked - went.summary["bytes_duplicated"])


@pytest.mark.parametrize("block_size", ["256KiB", "1MiB", "100KiB", "auto"])
def test_cp_fetches_only_the_rest_whatever_the_block_size(killed: Download, block_size: str) -> None:
    again = killed.again("--block-size", block_size)
    assert killed.back.read_bytes() == killed.content
    assert again.summary["bytes_resumed"] >= (KILLED_AFTER - 4) * BLOCK
    assert fetched(again) == SIZE - again.summary["bytes_resumed"]
    assert again.of("object")[0]["proof"] == "crc64"
    assert killed.leftovers == {}


def test_cp_fetches_again_what_changed_on_the_disk(killed: Download) -> None:
    with killed.leftovers["partial"].open("r+b") as partial:
        partial.write(b"not what was there")
    again = killed.again()
    assert killed.back.read_bytes() == killed.content
    first = [a for a in again.of("attempt") if a["api"] == "GetBlob" and a["offset_bytes"] == 0]
    assert len(first) == 1, "the first range was fetched again"
    assert 0 < again.summary["bytes_resumed"] == SIZE - fetched(again)


@pytest.mark.parametrize("spoil", ["torn", "empty", "foreign", "gone"])
def test_cp_minds_no_list_that_is_not_whole(killed: Download, spoil: str) -> None:
    ranges = killed.leftovers["ranges.partial"]
    text = ranges.read_bytes()
    match spoil:
        case "torn":
            ranges.write_bytes(text[: len(text) - 30])
        case "empty":
            ranges.write_bytes(b"")
        case "foreign":
            ranges.write_bytes(b"\xff\x00 another program's file\n" + text)
        case "gone":
            ranges.unlink()
    again = killed.again()
    assert killed.back.read_bytes() == killed.content
    assert (again.summary["bytes_resumed"] > 0) == (spoil == "torn")
    assert killed.leftovers == {}


def test_cp_begins_anew_where_the_source_is_another(killed: Download) -> None:
    content = bytes(SIZE)
    (killed.haul.folder / "other.bin").write_bytes(content)
    killed.haul("cp", "other.bin", killed.container.az("file.bin"), "--overwrite", "always")
    again = killed.again()
    assert killed.back.read_bytes() == content
    assert again.summary["bytes_resumed"] == 0


def test_cp_leaves_what_has_arrived_when_it_is_interrupted(killed: Download) -> None:
    """Ctrl-C like kill: the third run goes on from what both have left."""
    how = ("cp", killed.container.az("file.bin"), "back.bin", "--json", "--block-size", "256KiB")
    killed.haul.after_requests(10, "GetBlob", lambda process: process.terminate(), *how)
    assert not killed.back.exists()
    again = killed.again()
    assert again.summary["bytes_resumed"] >= (KILLED_AFTER + 5) * BLOCK
    assert killed.back.read_bytes() == killed.content


def test_two_movers_on_one_destination_do_not_mix(killed: Download) -> None:
    movers = [killed.haul.start("cp", killed.container.az("file.bin"), "back.bin") for _ in range(2)]
    for mover in movers:
        _, said = mover.communicate(timeout=60)
        assert mover.returncode == 0, said
    assert killed.back.read_bytes() == killed.content
    assert killed.leftovers == {}


def test_cp_follows_no_link_below_the_destination(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path, sentence: Sentence
) -> None:
    endpoint = start_emulator()
    container = endpoint.container()
    haul = haul_at(endpoint)
    (tmp_path / "file").write_bytes(b"from far away")
    for name in ("good", "out/evil", "in/good"):
        haul("cp", tmp_path / "file", container.az(name))
    outside, back = tmp_path / "outside", haul.folder / "back"
    outside.mkdir()
    (back / "real").mkdir(parents=True)
    (back / "out").symlink_to(outside)
    (back / "in").symlink_to("real")
    went = haul("cp", container.az(""), "back", "--json", code=1)
    assert list(outside.iterdir()) == []
    assert list((back / "real").iterdir()) == []
    assert (back / "good").is_file()
    failed = [record for record in went.of("object") if record["outcome"] == "failed"]
    assert {record["name"] for record in failed} == {"out/evil", "in/good"}
    for record in failed:
        assert record["failure"]["kind"] == "unsupported"
        sentence(record["failure"]["cause"])


@pytest.mark.slow("a SAS ends at a whole second, and the link has to be too slow for the time until then")
@pytest.mark.parametrize("way", ["up", pytest.param("down", marks=pytest.mark.long)])
def test_a_sas_that_expires_on_the_way_is_named_and_nothing_is_moved_twice(
    way: str, start_emulator: StartEmulator, tmp_path: Path, sentence: Sentence
) -> None:
    endpoint = start_emulator(link="rtt=2ms,total=20mbit")
    container = endpoint.container()
    file = trees.random_file(tmp_path / "file.bin", SIZE)
    if way == "down":
        container.client.upload_blob("file.bin", file.read_bytes())
    # A signature says its end in whole seconds.
    sas = endpoint.sas(lasts=timedelta(seconds=4))
    haul = Haul(tmp_path, secrets=[sas.split("sig=")[1]])

    def copy(sas: str, code: int) -> Result:
        there = container.url("file.bin", sas)
        names = (file, there) if way == "up" else (there, "back.bin")
        return haul("cp", *names, "--json", "--block-size", "256KiB", "--concurrency", "4", code=code)

    def moved(went: Result) -> int:
        carried = [a for a in went.of("attempt") if a["api"] in ("PutBlock", "GetBlob") and a["fate"] == "ok"]
        return sum(a["size_bytes"] for a in carried)

    first = copy(sas, 3)
    assert 0 < moved(first) < SIZE
    (failure,) = first.summary["failures"]
    assert "the SAS expired on" in failure["cause"]
    sentence(failure["hint"])
    again = copy(endpoint.sas(), 0)
    assert moved(first) + moved(again) == SIZE
    arrived = container.contents()["file.bin"] if way == "up" else (tmp_path / "back.bin").read_bytes()
    assert arrived == file.read_bytes()
