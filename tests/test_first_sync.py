"""The first copy over what a peer has moved moves nothing.

Its times are read, whatever their form, their zone and their resolution.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import endpoints
import trees
from command import Haul, Result
from endpoints import Container, Endpoint
from test_clients import azcopy, rclone

CLOUDS = pytest.mark.parametrize("cloud", ["azure", "s3"])
#: One with half an hour and summer time here, the others in `make long`.
ZONES = pytest.mark.parametrize(
    "zone",
    [*(pytest.param(zone, marks=pytest.mark.long) for zone in ("UTC", "Asia/Kolkata")), "America/St_Johns"],
)
#: With nanoseconds, with a whole second, before 1970, at the turn to summer time, and beyond 32 bits.
TIMES = (
    1_700_000_000_123_456_789,
    1_600_000_000_000_000_000,
    -1_500_000_000,
    1_711_846_800_000_000_001,
    4_300_000_000_500_000_000,
)


@pytest.fixture
def haul(emulator: Endpoint, tmp_path: Path) -> Haul:
    """The command, with the keys of both interfaces of the emulator."""
    return Haul(tmp_path, emulator.env | endpoints.by_s3(emulator).env, [endpoints.KEY])


@pytest.fixture
def dated(tree: Path) -> Path:
    """A tree whose files have times of every kind, one of them so large that it would be begun early."""
    trees.random_file(tree / "larger.bin", 5_000_001)
    for number, path in enumerate(sorted(path for path in tree.rglob("*") if path.is_file())):
        time = TIMES[number % len(TIMES)]
        os.utime(path, ns=(time, time))
    return tree


def at(container: Container, cloud: str) -> Callable[[str], str]:
    return container.az if cloud == "azure" else lambda path: f"s3://{container.name}/{path}"


def assert_nothing_moves(haul: Haul, source: str | Path, destination: str | Path, objects: int) -> None:
    """Copy and sync, and fail where anything is written or read but what is known of objects."""
    delete = ["--delete"] if objects > 1 else []
    for line in (["cp", source, destination], ["sync", source, destination, *delete]):
        assert_went_without(haul(*line, "--json"), objects)
    equal = haul("verify", source, destination, "--json").summary
    assert (equal["objects_done"], equal["objects_differ"]) == (objects, 0)


def assert_went_without(went: Result, objects: int) -> None:
    """Fail where a run has moved or deleted anything."""
    skipped, deleted = went.summary["objects_skipped"], went.summary["objects_deleted"]
    assert (skipped, went.summary["bytes_done"], deleted) == (objects, 0, 0)
    moved = {
        "Begin",
        "PutBlob",
        "PutBlock",
        "PutBlobFromURL",
        "PutObject",
        "UploadPart",
        "CopyObject",
        "GetBlob",
    }
    sent = {attempt["api"] for attempt in went.of("attempt")}
    assert not sent & (moved | {"GetObject", "CreateMultipartUpload"}), sent


@CLOUDS
@ZONES
@pytest.mark.parametrize("how", [(), ("-M",)], ids=["plain", "with metadata"])
def test_after_rclone_has_copied_up(
    emulator: Endpoint, haul: Haul, dated: Path, cloud: str, zone: str, how: tuple[str, ...]
) -> None:
    container = emulator.container()
    rclone(haul.folder, emulator, "copy", dated, f"test:{container.name}/t", *how, cloud=cloud, zone=zone)
    objects = len(trees.contents(dated))
    assert_nothing_moves(haul, dated, at(container, cloud)("t/"), objects)
    file = dated / "large.bin"
    assert_nothing_moves(haul, file, at(container, cloud)("t/large.bin"), 1)


@CLOUDS
@ZONES
def test_after_rclone_has_copied_down(
    emulator: Endpoint, haul: Haul, dated: Path, cloud: str, zone: str
) -> None:
    container = emulator.container()
    url = at(container, cloud)("t/")
    rclone(haul.folder, emulator, "copy", dated, f"test:{container.name}/t", cloud=cloud)
    rclone(haul.folder, emulator, "copy", f"test:{container.name}/t", "back", cloud=cloud, zone=zone)
    assert_nothing_moves(haul, url, "back", len(trees.contents(dated)))


@CLOUDS
def test_after_haul_has_copied_up_and_rclone_down_and_the_reverse(
    emulator: Endpoint, haul: Haul, dated: Path, cloud: str
) -> None:
    container = emulator.container()
    url, objects = at(container, cloud)("t/"), len(trees.contents(dated))
    haul("cp", dated, url)
    rclone(haul.folder, emulator, "copy", f"test:{container.name}/t", "by-rclone", cloud=cloud)
    assert_nothing_moves(haul, url, "by-rclone", objects)
    haul("cp", url, "by-haul")
    before = {path: path.stat().st_mtime_ns for path in dated.rglob("*") if path.is_file()}
    for path, time in before.items():
        assert (haul.folder / "by-haul" / path.relative_to(dated)).stat().st_mtime_ns == time, path
    assert_nothing_moves(haul, url, "by-haul", objects)
    assert_nothing_moves(haul, dated, url, objects)


@pytest.mark.parametrize("way", [("azure", "s3"), ("s3", "azure"), ("azure", "azure"), ("s3", "s3")])
def test_after_rclone_has_copied_between_clouds(
    emulator: Endpoint, haul: Haul, dated: Path, way: tuple[str, str]
) -> None:
    source, destination = emulator.container(), emulator.container()
    haul("cp", dated, at(source, way[0])(""))
    # Else it would give S3 the names of Azure's tiers.
    how = ("--s3-storage-class", "STANDARD")
    rclone(haul.folder, emulator, "copy", f"{way[0]}:{source.name}", f"{way[1]}:{destination.name}", *how)
    objects = len(trees.contents(dated))
    assert_nothing_moves(haul, at(source, way[0])(""), at(destination, way[1])(""), objects)


@ZONES
def test_after_azcopy_has_copied_up(emulator: Endpoint, haul: Haul, dated: Path, zone: str) -> None:
    container, sas = emulator.container(), emulator.sas()
    how = ["--recursive", "--from-to=LocalBlob", "--preserve-posix-properties"]
    azcopy(haul.folder, "copy", f"{dated}/*", container.url("", sas), *how, zone=zone)
    assert_nothing_moves(haul, dated, container.az(), len(trees.contents(dated)))


@ZONES
def test_after_azcopy_has_copied_down(emulator: Endpoint, haul: Haul, dated: Path, zone: str) -> None:
    """Without times of the source it gives files the time of the blob, which has whole seconds."""
    container, sas = emulator.container(), emulator.sas()
    azcopy(haul.folder, "copy", f"{dated}/*", container.url("", sas), "--recursive", "--from-to=LocalBlob")
    how = ["--recursive", "--from-to=BlobLocal", "--preserve-last-modified-time=true"]
    azcopy(haul.folder, "copy", container.url("*", sas), "back", *how, zone=zone)
    assert_nothing_moves(haul, container.az(), "back", len(trees.contents(dated)))


def test_after_azcopy_has_copied_between_containers(emulator: Endpoint, haul: Haul, dated: Path) -> None:
    source, destination, sas = emulator.container(), emulator.container(), emulator.sas()
    haul("cp", dated, source.az())
    azcopy(
        haul.folder,
        "copy",
        source.url("*", sas),
        destination.url("", sas),
        "--from-to=BlobBlob",
        "--recursive",
    )
    assert_nothing_moves(haul, source.az(), destination.az(), len(trees.contents(dated)))


@CLOUDS
def test_after_haul_has_copied_down_what_others_wrote(emulator: Endpoint, haul: Haul, cloud: str) -> None:
    """An object without a time of a source has that of its write, in whole seconds."""
    container = emulator.container()
    url = at(container, cloud)("t/")
    for name in "abc":
        container.client.upload_blob(f"t/{name}", name.encode())
    haul("sync", url, "back")
    assert_nothing_moves(haul, "back", url, 3)
    assert_nothing_moves(haul, url, "back", 3)
    assert_nothing_moves(haul, "back/a", f"{url}a", 1)
    # Changed within that second, with the same size.
    file = haul.folder / "back/b"
    time = file.stat().st_mtime_ns + 1
    file.write_bytes(b"B")
    os.utime(file, ns=(time, time))
    assert haul("sync", "back", url, "--json").summary["bytes_done"] == 1


@CLOUDS
def test_a_file_that_has_changed_moves(emulator: Endpoint, haul: Haul, dated: Path, cloud: str) -> None:
    container = emulator.container()
    url = at(container, cloud)("t/")
    rclone(haul.folder, emulator, "copy", dated, f"test:{container.name}/t", cloud=cloud)
    file = dated / "large.bin"
    size = file.stat().st_size
    file.write_bytes(b"y" * size)
    assert haul("cp", dated, url, "--json").summary["bytes_done"] == size
    # On the way down too, where the list of S3 says nothing of the time.
    haul("cp", url, "back")
    (haul.folder / "back/large.bin").write_bytes(b"z" * size)
    assert haul("cp", url, "back", "--json").summary["bytes_done"] == size
    assert (haul.folder / "back/large.bin").read_bytes() == b"y" * size
