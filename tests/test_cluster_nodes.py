"""Nodes that are not alike: what one lacks is said, with its name, and what is not there does not count."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import haulage
import workers
from command import Haul, in_own_mounts
from workers import Cluster

#: More than a shard holds, so that no node is left out.
FILES = 900


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with haulage.Emulator() as emulator:
        yield {"AZURE_STORAGE_CONNECTION_STRING": emulator.connection_string}


@pytest.fixture
def haul(tmp_path: Path, environment: dict[str, str]) -> Haul:
    return Haul(tmp_path, environment)


@pytest.fixture
def container(haul: Haul) -> str:
    return workers.new_container(haul)


@pytest.fixture
def one(tmp_path: Path, environment: dict[str, str]) -> Iterator[Cluster]:
    """A scheduler with one worker; others are to come."""
    with workers.cluster(tmp_path / "dask", 1, environment) as own:
        yield own


def files(folder: Path) -> Path:
    folder.mkdir()
    for number in range(FILES):
        (folder / f"f{number:03}").write_bytes(b"x" * (number % 100))
    return folder


def test_what_a_node_writes_to_a_disk_of_its_own_is_not_copied(
    haul: Haul, container: str, one: Cluster
) -> None:
    files(haul.folder / "tree")
    haul("cp", "tree", f"{container}/t/")
    (back := haul.folder / "back").mkdir()
    one.start_worker("node-own", in_own_mounts(f"mount -t tmpfs tmpfs {back}"))
    one.wait()
    words = ["--scheduler", one.address, "--receipt", "receipt.jsonl", "--json"]
    went = haul("cp", f"{container}/t/", "back/", *words, code=1)
    ended = {event["name"]: event for event in went.of("object")}
    here = {path.name for path in back.iterdir()}
    assert {name for name, event in ended.items() if event["outcome"] == "copied"} == here
    failed = [event["failure"] for event in ended.values() if event["outcome"] == "failed"]
    assert len(failed) == FILES - len(here) > 0
    assert failed[0]["cause"].startswith("node node-own has written it to a disk of its own")
    hint = "mount the same file system on all nodes, or leave out those that lack it"
    assert {failure["hint"] for failure in failed} == {hint}
    listed = [json.loads(line) for line in (haul.folder / "receipt.jsonl").read_text().splitlines()]
    assert {line["name"] for line in listed if "name" in line} == here
    # The rest comes as soon as that one is left out.
    one.kill_worker("node-own")
    haul("cp", f"{container}/t/", "back/", "--scheduler", one.address)
    assert len(list(back.iterdir())) == FILES


def test_a_node_without_credentials_is_named(haul: Haul, container: str, one: Cluster) -> None:
    files(haul.folder / "tree")
    one.start_worker("node-poor", ["env", "--unset=AZURE_STORAGE_CONNECTION_STRING"])
    one.wait()
    went = haul("cp", "tree", f"{container}/t/", "--scheduler", one.address, "--json", code=1)
    causes = {event["failure"]["cause"] for event in went.of("object") if event["outcome"] == "failed"}
    assert causes
    assert all(cause.endswith("(on node node-poor)") for cause in causes), causes


def test_events_and_receipts_say_what_was_there_before(haul: Haul, container: str, one: Cluster) -> None:
    tree = files(haul.folder / "tree")
    words = ["tree", f"{container}/t/", "--scheduler", one.address]
    haul("cp", *words)
    (tree / "f007").write_bytes(b"longer than before")
    (tree / "new").write_bytes(b"x")
    went = haul("cp", *words, "--json", "--receipt", "receipt.jsonl")
    reasons = {event["name"]: event["reason"] for event in went.of("object") if event["outcome"] == "copied"}
    assert reasons == {"f007": "size differs", "new": "new"}
    lines = [json.loads(line) for line in (haul.folder / "receipt.jsonl").read_text().splitlines()]
    objects = [line for line in lines if "name" in line]
    assert len(objects) == FILES + 1
    assert all(line["source_etag"] for line in objects)
