"""Times of files at and beyond the ends of what file systems and 64 bits of nanoseconds hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_runs import each_and_rest, run

#: ext4 holds 1901 to 2446, 64 bits of nanoseconds 1677 to 2262, tmpfs whatever it is told.
YEARS = (1, 1677, 1901, 1960, 2038, 2261, 2263, 2446, 9999)


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    return emulator.container()


@pytest.fixture(params=["disk", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder on the disk, or in memory, where times have no ends."""
    if request.param == "disk":
        yield tmp_path
        return
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def set_time(path: Path, ns: int) -> int:
    """Set the time of change; return what the file system has kept, which may be nearer to now."""
    path.write_bytes(b"content")
    os.utime(path, ns=(0, ns))
    return path.stat().st_mtime_ns


def nanoseconds(year: int) -> int:
    return int((datetime(year, 6, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 10**9


@pytest.mark.parametrize("year", YEARS)
def test_the_time_of_a_file_survives_the_way_up_and_down(
    year: int, haul: Haul, container: Container, place: Path
) -> None:
    """Times of change from year 1 to 9999, as far as the file system holds them: the same after a round trip,
    and nothing to copy the second time.
    """
    # Nanoseconds that no rounding hits.
    kept = set_time(place / "file", nanoseconds(year) + 123_456_789)
    run(haul, "cp", place / "file", container.az("x"))
    run(haul, "cp", container.az("x"), place / "back")
    assert (place / "back").stat().st_mtime_ns == kept
    for names in ((place / "file", container.az("x")), (container.az("x"), place / "back")):
        again = run(haul, "cp", *names, "--json").summary
        assert (again["objects_skipped"], again["objects_done"]) == (1, 0)


@pytest.mark.parametrize("ns", [-1, 0, -999_999_999, -1_000_000_001])
def test_moments_around_1970_survive(ns: int, haul: Haul, container: Container, place: Path) -> None:
    """Times a nanosecond before and after 1970: the same after a round trip."""
    kept = set_time(place / "file", ns)
    run(haul, "cp", place / "file", container.az("x"))
    run(haul, "cp", container.az("x"), place / "back")
    assert (place / "back").stat().st_mtime_ns == kept


def test_the_time_of_a_local_copy_survives(haul: Haul, tmp_path: Path) -> None:
    """A file of 2446 from one folder to another: of 2446."""
    kept = set_time(tmp_path / "file", nanoseconds(2446) - 10**16)
    run(haul, "cp", "file", "copy")
    assert (tmp_path / "copy").stat().st_mtime_ns == kept
    for line in (("stat", "file"), ("ls", "."), ("ls", "-r", "--json", ".")):
        run(haul, *line).says("2446")


@pytest.mark.parametrize(
    ("name", "claim"),
    each_and_rest(
        ["mtime", "modtime", "haulage_mtime_ns"],
        [
            "9" * 40,
            "-" + "9" * 40,
            "",
            "now",
            "1e9",
            "0x10",
            str(2**63),
            str(-(2**63)),
            str(2**64 - 1),
            "9999-12-31T23:59:59.999999999Z",
        ],
    ),
)
def test_a_time_that_is_none_does_no_harm(
    claim: str, name: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A blob that claims a time that no file can have: the content comes; the time is near, or now."""
    metadata = {name: claim} if claim else {}
    container.client.upload_blob("x", b"content", metadata=metadata)
    run(haul, "cp", container.az("x"), "back")
    assert (tmp_path / "back").read_bytes() == b"content"
    run(haul, "cp", container.az(""), "tree")
    assert (tmp_path / "tree" / "x").read_bytes() == b"content"
    run(haul, "stat", container.az("x"))
    run(haul, "ls", container.az(""))
