"""Destinations without room, or that may not be written."""

from __future__ import annotations

from pathlib import Path

import pytest

import trees
from command import Haul, in_own_mounts
from endpoints import Container, Endpoint
from hostile.trees_ground import closed, everything, snapshot
from hostile.trees_runs import AS_A_USER, failed_kinds, only, run

MIB = 1 << 20

#: The partial file of `large` and the list of what is in it: named by the CRC64 of its name.
LEFT_OF_LARGE = {".haul-7676a08e6bc1c723.partial", ".haul-7676a08e6bc1c723.ranges.partial"}


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    """Small blobs, and one that is too large for a small disk."""
    container = emulator.container()
    for number in range(40):
        container.client.upload_blob(f"p/{number:02}", bytes([number]) * 1000)
    container.client.upload_blob("p/large", bytes(8 * MIB))
    return container


def on_a_small_disk(options: str) -> list[str]:
    """Return what runs a command with a small disk at `disk`, and copies what lies there to `kept`
    afterwards.
    """
    mount = f"mkdir -p disk && mount -t tmpfs -o {options} tmpfs disk"
    return [*in_own_mounts(mount), "sh", "-c", '"$@"; code=$?; cp -r disk kept; exit $code', "sh"]


@pytest.mark.parametrize("how", [(), ("--block-size", "256KiB"), ("--method", "whole")])
def test_a_full_disk_is_named_and_what_came_is_whole(
    how: tuple[str, ...], haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A disk without room for one of many: that fails by name, without a part of it; those that came are
    whole.
    """
    ran = run(
        haul, "cp", container.az("p/"), "disk", "--json", *how, codes=(1,), wrap=on_a_small_disk("size=2m")
    )
    assert "no_space" in failed_kinds(ran)
    found = trees.contents(tmp_path / "kept")
    expected = container.contents()
    assert {name: expected[f"p/{name}"] for name in found} == found


def test_a_disk_without_inodes_is_named(haul: Haul, container: Container, tmp_path: Path) -> None:
    """A disk with room and without inodes: those that do not fit fail by name; the others are whole. What the
    large one had fetched when the job stopped stays for the next run, under no name of the source.
    """
    wrap = on_a_small_disk("size=30m,nr_inodes=20")
    ran = run(haul, "cp", container.az("p/"), "disk", "--json", codes=(1,), wrap=wrap)
    assert "no_space" in failed_kinds(ran)
    found, expected = trees.contents(tmp_path / "kept"), container.contents()
    assert 10 <= len(found) < 20
    whole = {name: content for name, content in found.items() if name not in LEFT_OF_LARGE}
    assert {name: expected[f"p/{name}"] for name in whole} == whole


@pytest.mark.parametrize("inodes", [1, 2, 3])
def test_a_disk_without_an_inode_for_what_goes_with_a_file(
    inodes: int, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A disk whose last inodes a large file, or its list of what came, would take: whole or not at all."""
    wrap = on_a_small_disk(f"size=30m,nr_inodes={inodes}")
    fits = inodes > 1
    run(haul, "cp", container.az("p/large"), "disk", "--json", codes=(0 if fits else 1,), wrap=wrap)
    expected = {"large": container.contents()["p/large"]} if fits else {}
    assert trees.contents(tmp_path / "kept") == expected


@pytest.mark.parametrize("name", ["back", "back/", "back/new/folder/", "back/00"])
def test_a_read_only_destination_is_named(
    name: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A destination that is mounted read-only: permission denied (3), nothing changes."""
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "00").write_bytes(b"before")
    (tmp_path / "elsewhere").mkdir()
    before = snapshot(tmp_path / "back")
    source = container.az("p/00") if name.endswith("00") else container.az("p/")
    run(haul, "cp", source, tmp_path / name, codes=(3,), wrap=only(tmp_path / "elsewhere")).says("read-only")
    assert snapshot(tmp_path / "back") == before


@pytest.mark.parametrize("mode", [0, 0o500, 0o400])
def test_a_destination_folder_that_may_not_be_written_is_named(
    mode: int, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A folder of the destination that may not be written: its files fail by name; the others come."""
    (tmp_path / "back" / "p").mkdir(parents=True)
    container.client.upload_blob("good", b"good")
    with closed(tmp_path / "back" / "p", mode=mode):
        ran = run(haul, "cp", container.az(""), "back", "--json", codes=(1, 3), wrap=AS_A_USER)
    assert failed_kinds(ran) == {"permission"}
    assert everything(tmp_path / "back") == ["good", "p"]


def test_a_file_that_may_not_be_written_is_replaced_only_by_its_folder(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A read-only file in a folder that may be written: replaced whole, or refused; never half."""
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "00").write_bytes(b"before")
    with closed(tmp_path / "back" / "00", mode=0o400):
        run(haul, "cp", container.az("p/00"), "back/", codes=(0, 1, 3), wrap=AS_A_USER)
        assert (tmp_path / "back" / "00").read_bytes() in (b"before", bytes(1000))
    assert everything(tmp_path / "back") == ["00"]
