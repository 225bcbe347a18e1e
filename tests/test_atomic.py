"""`--atomic`: readers see all of the new version, or nothing of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import haulage
import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Container, Endpoint
from sentences import Sentence

MIB = 1 << 20


def make_tree(folder: Path) -> dict[str, bytes]:
    trees.make(folder, files=40)
    trees.random_file(folder / "large.bin", 9 * MIB)
    return trees.contents(folder)


def test_all_objects_of_all_sizes_are_committed(haul: Haul, container: Container) -> None:
    expected = make_tree(haul.folder / "tree")
    went = haul("cp", "tree", container.az(""), "--atomic", "--json")
    trees.assert_same(container.contents(), expected)
    ended = [a["ended_ns"] for a in went.of("attempt") if a["api"] == "PutBlock" and a["fate"] == "ok"]
    commits = [a["slot_ns"] for a in went.of("attempt") if a["api"] == "PutBlockList"]
    assert len(commits) == len(expected)
    assert max(ended) <= min(commits), "no commit before the last block"
    assert haul("cp", "tree", container.az(""), "--atomic", "--json").summary["objects_skipped"] == len(
        expected
    )


def test_nothing_is_seen_of_an_aborted_copy_and_nothing_is_sent_twice(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul]
) -> None:
    endpoint = start_emulator(link="rtt=5ms,total=40mbit")
    haul, container = haul_at(endpoint), endpoint.container()
    expected = make_tree(haul.folder / "tree")
    haul.kill_after_blocks(30, "cp", "tree", container.az(""), "--atomic", "--json")
    assert container.contents() == {}
    again = haul("cp", "tree", container.az(""), "--atomic", "--json")
    trees.assert_same(container.contents(), expected)
    assert again.summary["bytes_resumed"] >= 20 * 4096


def test_one_that_fails_keeps_all_back(haul: Haul, container: Container) -> None:
    """A file that cannot be read is the failure; the others say why they are not there."""
    expected = make_tree(haul.folder / "tree")
    with open(os.fsencode(haul.folder / "tree") + b"/not-utf-8-\xff", "wb"):  # noqa: PTH123
        pass
    went = haul("cp", "tree", container.az(""), "--atomic", "--json", code=1)
    assert container.contents() == {}
    causes = [failure["cause"] for failure in went.summary["failures"]]
    assert sum("not committed, because 1 of its collection failed" in cause for cause in causes) >= len(
        expected
    )


def test_only_an_object_store_can(haul: Haul, container: Container, sentence: Sentence) -> None:
    (haul.folder / "file").write_bytes(b"x")
    said = haul("cp", "file", "copy", "--atomic", code=2)
    sentence(said.stderr)
    said = haul("cp", "-", container.az("x"), "--atomic", code=2, stdin=b"x")
    sentence(said.stderr)


def test_python_commits_together(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in endpoint.env.items():
        monkeypatch.setenv(name, value)
    container = endpoint.container()
    expected = make_tree(tmp_path / "tree")
    summary = haulage.copy(tmp_path / "tree", container.az(""), atomic=True)
    assert summary.objects_done == len(expected)
    trees.assert_same(container.contents(), expected)
