"""`haul verify SRC DST`."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Haul
from endpoints import Container


@pytest.fixture
def copied(haul: Haul, container: Container, tree: Path) -> Container:
    haul("cp", tree, container.az("run/"))
    return container


@pytest.mark.parametrize("how", [(), ("--stored",)])
def test_verify_equal_trees(haul: Haul, copied: Container, tree: Path, how: tuple[str, ...]) -> None:
    summary = haul("verify", tree, copied.az("run/"), "--json", *how).summary
    assert summary["operation"] == "verify"
    assert summary["objects_done"] == summary["objects_total"] > 0
    assert summary["objects_failed"] == 0


@pytest.mark.parametrize("name", ["large.bin", "ünïcödé"])
def test_verify_names_the_file_with_a_flipped_bit(
    haul: Haul, copied: Container, tree: Path, name: str
) -> None:
    data = bytearray((tree / name).read_bytes())
    data[len(data) // 2] ^= 1
    (tree / name).write_bytes(data)
    said = haul("verify", tree, copied.az("run/"), code=5)
    assert name in said.text + said.stderr
    assert "plain.txt" not in said.text + said.stderr


def test_verify_reads_what_is_there_now(haul: Haul, copied: Container, tree: Path) -> None:
    blob = copied.client.get_blob_client("run/plain.txt")
    kept = blob.get_blob_properties().metadata
    data = bytearray((tree / "plain.txt").read_bytes())
    data[0] ^= 1
    blob.upload_blob(bytes(data), overwrite=True, metadata=kept)
    said = haul("verify", tree, copied.az("run/"), code=5)
    assert "plain.txt" in said.text + said.stderr


def test_verify_finds_what_is_missing(haul: Haul, copied: Container, tree: Path) -> None:
    copied.client.delete_blob("run/plain.txt")
    said = haul("verify", tree, copied.az("run/"), code=5)
    assert "plain.txt" in said.text + said.stderr


def test_verify_counts_what_is_only_at_the_destination(haul: Haul, copied: Container, tree: Path) -> None:
    copied.client.upload_blob("run/extra", b"x")
    assert haul("verify", tree, copied.az("run/"), "--json").summary["objects_extra"] == 1
