"""`haul mv` deletes a source when its copy is proven, and never else."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.storage.blob import BlobBlock

import endpoints
import trees
from careless_store import Store, careless_store
from command import Haul
from endpoints import Container, Endpoint
from gateway import gateway, relay
from sentences import Sentence
from sides import STORES, contents, fill, place


@pytest.fixture
def haul(emulator: Endpoint, tmp_path: Path) -> Haul:
    """The command, with the keys of both interfaces of the emulator."""
    return Haul(tmp_path, emulator.env | endpoints.by_s3(emulator).env, [endpoints.KEY])


def test_a_move_between_two_names_of_one_place_deletes_nothing(haul: Haul, emulator: Endpoint) -> None:
    container, sas = emulator.container(), emulator.sas()
    haul("cp", fill(haul.folder / "made", {"a": b"1", "b/c": b"22"}), container.az())
    with gateway(emulator) as (_, url):
        said = haul("mv", container.url("", sas), f"{url}/{container.name}/?{sas}", code=2)
        assert said.hints
        # Nor where one is inside the other.
        haul("sync", container.url("b/", sas), f"{url}/{container.name}/?{sas}", "--delete", code=2)
        haul("mv", container.url("", sas), f"{url}/{container.name}/b/?{sas}", code=2)
    assert container.contents() == {"a": b"1", "b/c": b"22"}


@STORES
def test_two_moves_of_the_same_content_in_opposite_directions_leave_one(
    haul: Haul, emulator: Endpoint, store: str
) -> None:
    """Each counted on what the other deleted, and both ended with 0."""
    files = {f"{number}": b"%d" % number * 100 for number in range(20)}
    container = emulator.container()
    one, other = (place(store, container, haul.folder, name) for name in ("one", "other"))
    for there in (one, other):
        haul("cp", fill(haul.folder / "made", files), there)
    movers = [haul.start("mv", *ways) for ways in ((one, other), (other, one))]
    codes = {mover.wait() for mover in movers if mover.communicate()}
    left = trees.contents(haul.folder) if store == "local" else container.contents()
    assert {name for name in files if f"one/{name}" in left or f"other/{name}" in left} == {*files}
    # What one could not count on any more, the other has said, or what was gone before it was listed or read.
    assert codes <= {0, 1, 4, 6}
    if any(name.startswith("one/") for name in left):
        # Run again with nobody beside it, it comes to its end.
        haul("mv", one, other)
    assert contents(haul, other) == files


@STORES
@pytest.mark.parametrize("to", ["local", "azure", "s3"])
def test_a_move_deletes_what_is_proven_and_nothing_else(
    haul: Haul, emulator: Endpoint, store: str, to: str
) -> None:
    container = emulator.container()
    files = {"a": b"1", "b/c": b"22", "b/large": b"x" * 9_000_000}
    here, there = (
        place(kind, container, haul.folder, name) for kind, name in ((store, "here"), (to, "there"))
    )
    made = fill(haul.folder / "made", files)
    for path in (path for path in made.rglob("*") if path.is_file()):
        # A copy within the second in which it was made may be the file itself, which a gateway shows.
        os.utime(path, (1_700_000_000, 1_700_000_000))
    haul("cp", made, here)
    plan = haul("mv", here, there, "--dry-run", "--json")
    assert (plan.summary["objects_done"], plan.summary["objects_deleted"]) == (3, 3)
    assert contents(haul, here) == files
    # One that is there already, and one whose destination is a folder or something else.
    if {store, to} == {"azure", "s3"}:
        # The same between two interfaces.
        time.sleep(1.1)
    haul("cp", f"{here}a", f"{there}a")
    went = haul("mv", here, there, "--json")
    assert (went.summary["objects_deleted"], went.summary["objects_failed"]) == (3, 0)
    assert contents(haul, there) == files
    if store == "local":
        assert not trees.contents(Path(here))
        assert not (Path(here) / "b").exists()
    else:
        haul("ls", "-r", here, code=4)
    if store == to == "azure":
        assert went.summary["bytes_by_service"] >= 9_000_000


def copied_within_its_second(haul: Haul, container: Container, here: Path, there: str) -> bool:
    """Copy files, as a move does that is interrupted; whether one was written in the second of its copy."""
    for path in here.iterdir():
        os.utime(path)
    haul("cp", here, there)
    seconds = {Path(blob.name).name: blob.last_modified.timestamp() for blob in container.client.list_blobs()}
    return any(int(path.stat().st_mtime) == int(seconds[path.name]) for path in here.iterdir())


@pytest.mark.parametrize("to", ["azure", "s3"])
def test_a_move_of_files_that_are_a_moment_old_is_resumed(haul: Haul, emulator: Endpoint, to: str) -> None:
    """Those that were copied within the second in which they were written stayed, with exit code 0."""
    files = {f"{n}": b"%d" % n * 2_000 for n in range(40)} | {"empty": b""}
    container = emulator.container()
    here, there = fill(haul.folder / "here", files), place(to, container, haul.folder, "there")
    assert any(copied_within_its_second(haul, container, here, there) for _ in range(9))
    went = haul("mv", here, there, "--json")
    assert (went.summary["objects_deleted"], went.summary["objects_skipped"]) == (41, 41)
    assert (trees.contents(here), contents(haul, there)) == ({}, files)


def test_what_is_as_large_and_as_old_is_not_taken_for_the_source(haul: Haul, emulator: Endpoint) -> None:
    container = emulator.container()
    container.client.upload_blob("a", b"old")
    here = fill(haul.folder / "here", {"a": b"new"})
    changed = container.client.get_blob_client("a").get_blob_properties().last_modified.timestamp()
    os.utime(here / "a", (changed, changed))
    haul("mv", here, container.az())
    assert (trees.contents(here), container.contents()) == ({}, {"a": b"new"})


def test_an_object_that_is_replaced_as_it_is_deleted_stays(
    haul: Haul, emulator: Endpoint, sentence: Sentence
) -> None:
    """Between the look at its version and its deletion lay a round trip."""
    container = emulator.container()
    container.client.upload_blob("f", b"old")

    def replace(head: bytes) -> None:
        if head.startswith(b"DELETE ") and b"/f " in head.partition(b"\r\n")[0]:
            container.client.upload_blob("f", b"newest", overwrite=True)

    with relay(endpoints.by_s3(emulator).url, replace) as url:
        went = haul("mv", f"s3://{container.name}/f", "back/", "--endpoint", url, "--json", code=6)
    sentence(went.hints)
    assert container.contents() == {"f": b"newest"}
    assert trees.contents(haul.folder / "back") == {"f": b"old"}


def test_a_move_onto_itself_is_refused_and_what_fails_stays(
    haul: Haul, emulator: Endpoint, sentence: Sentence
) -> None:
    container = emulator.container()
    folder = fill(haul.folder / "here", {"a": b"1", "b": b"2"})
    for there in (folder / "a", f"{folder}/"):
        assert haul("mv", folder / "a", there, code=2).hints == {"name another destination"}
    fill(haul.folder / "there", {"a/in-the-way": b"3"})
    went = haul("mv", "here", "there/", "--json", code=1)
    assert (went.summary["objects_failed"], went.summary["objects_deleted"]) == (1, 1)
    assert trees.contents(folder) == {"a": b"1"}
    sentence(haul("mv", "-", container.az("x"), code=2).hints)


def test_a_source_that_reads_differently_each_time_stays(
    haul: Haul, emulator: Endpoint, sentence: Sentence
) -> None:
    """Without checksums only a second read can prove a copy."""
    container, sas = emulator.container(), emulator.sas()
    # In blocks, so that no checksum of the whole is stored.
    blob = container.client.get_blob_client("a")
    blob.stage_block("1", bytes(100_000))
    blob.commit_block_list([BlobBlock("1")])
    with gateway(emulator) as (state, url):
        state.flip = 1
        source = f"{url}/{container.name}/a?{sas}"
        went = haul("mv", source, "back/", "--checksum", "none", "--json", code=5)
        sentence(went.hints)
        assert [blob.name for blob in container.client.list_blobs()] == ["a"]
        # What is known to be wrong keeps no name.
        assert not (haul.folder / "back/a").exists()
        haul("mv", source, "back/", "--checksum", "none")
    assert (haul.folder / "back/a").read_bytes() == bytes(100_000)
    assert not list(container.client.list_blobs())


@pytest.fixture
def careless() -> Iterator[Store]:
    with careless_store() as state:
        yield state


@pytest.fixture
def to_careless(careless: Store, tmp_path: Path) -> Haul:
    keys = {"AWS_ACCESS_KEY_ID": "one", "AWS_SECRET_ACCESS_KEY": "two", "AWS_REGION": "us-east-1"}
    return Haul(tmp_path, keys | {"AWS_ENDPOINT_URL": careless.url})


@pytest.mark.parametrize("words", [[], ["--checksum", "none"]], ids=["checked", "unchecked"])
def test_a_copy_of_which_the_destination_states_nothing_is_read_back(
    careless: Store, to_careless: Haul, words: list[str], sentence: Sentence
) -> None:
    files = {f"{n}": b"the only copy of %d" % n for n in range(5)} | {"empty": b""}
    here = fill(to_careless.folder / "here", files)
    line: list[str | Path] = ["mv", here, "s3://b/to/", *words]
    careless.how = "damages"
    went = to_careless(*line, "--json", code=5)
    assert (went.summary["objects_deleted"], went.summary["objects_failed"]) == (1, 5)
    sentence(went.hints)
    assert all("and was removed" in failure["cause"] for failure in went.summary["failures"])
    # What is empty cannot be damaged.
    del files["empty"]
    assert trees.contents(here) == files
    assert careless.objects.keys() == {"to/empty"}
    careless.how = "clings"
    went = to_careless(*line, "--json", code=5)
    sentence(went.hints)
    assert trees.contents(here) == files
    careless.how = "loses"
    assert to_careless(*line, "--json", code=4).summary["objects_deleted"] == 0
    assert trees.contents(here) == files
    careless.how = "keeps"
    went = to_careless(*line, "--json")
    assert (went.summary["objects_deleted"], went.summary["proofs"]["crc64"]) == (5, 5)
    assert {key: body for key, (body, _) in careless.objects.items() if body} == {
        f"to/{name}": body for name, body in files.items()
    }
    assert not trees.contents(here)


def test_what_moves_between_two_places_of_a_careless_store_is_read_back(
    careless: Store, to_careless: Haul
) -> None:
    careless.take("from/a", b"the only copy")
    line = ("mv", "s3://b/from/", "s3://b/to/", "--server-side", "never", "--json")
    careless.how = "damages"
    assert to_careless(*line, code=5).summary["objects_deleted"] == 0
    assert careless.objects.keys() == {"from/a"}
    careless.how = "keeps"
    assert to_careless(*line).summary["objects_deleted"] == 1
    assert {key: body for key, (body, _) in careless.objects.items()} == {"to/a": b"the only copy"}


def test_what_is_damaged_on_the_way_to_azure_is_not_moved(haul: Haul, emulator: Endpoint) -> None:
    container, sas = emulator.container(), emulator.sas()
    files = {"small": b"1", "in-blocks": os.urandom(9_000_000)}
    here = fill(haul.folder / "here", files)
    with gateway(emulator) as (state, url):
        state.damages = True
        there = f"{url}/{container.name}/?{sas}"
        assert haul("mv", here, there, "--json", code=5).summary["objects_deleted"] == 0
        assert trees.contents(here) == files
        assert not container.contents()
        state.damages = False
        assert haul("mv", here, there, "--json").summary["objects_deleted"] == 2
    assert container.contents() == files


def test_names_of_a_list_move(haul: Haul, emulator: Endpoint, sentence: Sentence) -> None:
    there = emulator.container()
    here = fill(haul.folder / "here", {"a": b"1", "in/b": b"2", "c": b"3"})
    (haul.folder / "names").write_text("a\nin/b\n")
    haul("mv", here, there.az(), "--files-from", "names")
    assert trees.contents(here) == {"c": b"3"}
    assert there.contents() == {"a": b"1", "in/b": b"2"}
    sentence(haul("mv", here, f"{here}/in/", "--files-from", "names", code=2).hints)


def test_a_blob_with_snapshots_stays(azurite: Endpoint, tmp_path: Path, sentence: Sentence) -> None:
    """They would be deleted with it, and no copy has them."""
    haul, container = Haul(tmp_path, azurite.env, [endpoints.KEY]), azurite.container()
    container.client.upload_blob("a", b"old").create_snapshot()
    container.client.upload_blob("a", b"new", overwrite=True)
    went = haul("mv", container.az(), "back/", "--json", code=1)
    sentence(went.hints)
    assert [blob.name for blob in container.client.list_blobs(include=["snapshots"])] == ["a", "a"]
    assert (tmp_path / "back/a").read_bytes() == b"new"


def test_a_source_stays_where_a_file_system_keeps_no_time_of_a_change(
    haul: Haul, emulator: Endpoint, tmp_path: Path, sentence: Sentence
) -> None:
    container = emulator.container()
    (tmp_path / "a").write_bytes(b"content")
    haul("cp", "a", container.az("a"))
    # What vfat does of it: nothing.
    wrap = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=fchmod:retval=0"]
    sentence(haul("mv", container.az("a"), "a", wrap=wrap, code=1).hints)
    assert container.contents() == {"a": b"content"}
