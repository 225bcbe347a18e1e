"""A source that changes while it is read is reported and never becomes a mixture at the destination."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Endpoint
from sentences import Sentence

MIB = 1 << 20
HOW = ("--json", "--block-size", "256KiB", "--concurrency", "4")


@pytest.fixture
def slow(start_emulator: StartEmulator) -> Endpoint:
    return start_emulator(link="rtt=5ms,total=40mbit")


def grow(file: Path) -> None:
    with file.open("ab") as out:
        out.write(b"more")


def shrink(file: Path) -> None:
    os.truncate(file, 5 * MIB)


def replace(file: Path) -> None:
    other = file.with_suffix(".new")
    trees.random_file(other, 8 * MIB, seed=9)
    other.replace(file)


def overwrite(file: Path) -> None:
    with file.open("r+b") as out:
        out.seek(6 * MIB)
        out.write(b"something else")


@pytest.mark.parametrize("change", [grow, shrink, replace, overwrite])
def test_a_file_that_changes_while_it_is_sent_is_not_committed(
    change: Callable[[Path], None],
    slow: Endpoint,
    haul_at: Callable[[Endpoint], Haul],
    tmp_path: Path,
    sentence: Sentence,
) -> None:
    haul, container = haul_at(slow), slow.container()
    file = trees.random_file(tmp_path / "file.bin", 8 * MIB)
    code, said = haul.after_requests(
        3, "PutBlock", lambda _: change(file), "cp", file, container.az("file.bin"), *HOW
    )
    assert code == 6, said[-2000:]
    (failure,) = json.loads(said.splitlines()[-1])["failures"]
    assert failure["kind"] == "source_changed"
    sentence(failure["hint"])
    assert container.contents() == {}
    haul("cp", file, container.az("file.bin"))
    assert container.contents() == {"file.bin": file.read_bytes()}


def test_a_blob_that_changes_while_it_is_fetched_gives_no_file(
    slow: Endpoint, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    haul, container = haul_at(slow), slow.container()
    haul("cp", trees.random_file(tmp_path / "old", 8 * MIB), container.az("blob"))

    def change(_: object) -> None:
        # Short, for it goes over the same link.
        container.client.upload_blob("blob", b"new", overwrite=True)

    code, said = haul.after_requests(3, "GetBlob", change, "cp", container.az("blob"), "back", *HOW)
    assert code == 6, said[-2000:]
    assert list(haul.folder.glob("back*")) + list(haul.folder.glob(".haul-*")) == []
    haul("cp", container.az("blob"), "back")
    assert (haul.folder / "back").read_bytes() == b"new"
