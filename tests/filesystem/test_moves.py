"""Moves: what somebody writes meanwhile is never removed, whether the object was copied already or not."""

from __future__ import annotations

from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient

import haulage
from filesystem.places import Counted, Place
from sentences import Sentence


def held(place: Place) -> dict[str, bytes]:
    fs = place.fs
    return {name.partition("/")[2]: fs.cat_file(name) for name in fs.find(place.container)}


def replaced_after_its_copy(monkeypatch: pytest.MonkeyPatch, fs: Any, place: Place, name: str) -> None:
    copied, source = fs._cp_file, place.path(name)

    async def then_replaced(path1: str, path2: str, **how: Any) -> None:
        await copied(path1, path2, **how)
        if path1 == source:
            haulage.put(fs.url(source), b"NEW", **fs._reach)

    monkeypatch.setattr(fs, "_cp_file", then_replaced)


def test_what_replaces_a_source_after_its_copy_is_not_removed(
    place: Place, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    """The newest content was removed by its name, and was nowhere."""
    fs, at = place.fs, place.path
    # As long as the new version, and written within the same second.
    fs.pipe({at("s/a"): b"old", at("s/b"): b"b", at("s/sub/c"): b"c"})
    replaced_after_its_copy(monkeypatch, fs, place, "s/a")
    with pytest.raises(haulage.SourceChangedError, match="/s/a") as caught:
        fs.mv(at("s"), at("d"), recursive=True)
    sentence(caught.value)
    assert held(place) == {"s/a": b"NEW", "d/a": b"old", "d/b": b"b", "d/sub/c": b"c"}
    assert fs.cat_file(at("s/a")) == b"NEW"


@pytest.mark.parametrize("how", [{}, {"recursive": True}, {"recursive": True, "maxdepth": 1}])
def test_one_object_is_as_safe(how: Any, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    fs, at = place.fs, place.path
    fs.pipe(at("a"), b"old")
    replaced_after_its_copy(monkeypatch, fs, place, "a")
    with pytest.raises(haulage.SourceChangedError):
        fs.mv(at("a"), at("b"), **how)
    assert held(place) == {"a": b"NEW", "b": b"old"}


def test_a_source_that_is_gone_by_then_is_moved(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    fs, at = place.fs, place.path
    fs.pipe({at("s/a"): b"A", at("s/b"): b"B"})
    copied = fs._copy_pairs

    async def then_removed(*args: Any, **how: Any) -> None:
        await copied(*args, **how)
        haulage.remove(fs.url(at("s/a")), **fs._reach)

    monkeypatch.setattr(fs, "_copy_pairs", then_removed)
    fs.mv(at("s"), at("d"), recursive=True)
    assert held(place) == {"d/a": b"A", "d/b": b"B"}


def test_between_containers_and_onto_what_is_there(place: Place) -> None:
    other = f"{place.container}-other"
    fs, at = place.fs, place.path
    fs.mkdir(other)
    fs.pipe({at("s/a"): b"A", at("s/b"): b"", f"{other}/d/s/a": b"was there"})
    fs.mv(at("s"), f"{other}/d", recursive=True)
    assert {name: fs.cat_file(name) for name in fs.find(other)} == {
        f"{other}/d/s/a": b"A",
        f"{other}/d/s/b": b"",
    }
    assert held(place) == {}


def test_none_is_removed_unless_all_were_copied(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    fs, at = place.fs, place.path
    fs.pipe({at("s/a"): b"A", at("s/b"): b"B"})
    copied = fs._cp_file

    async def fails(path1: str, path2: str, **how: Any) -> None:
        if path1 == at("s/b"):
            raise OSError("no")
        await copied(path1, path2, **how)

    monkeypatch.setattr(fs, "_cp_file", fails)
    with pytest.raises(OSError, match="no"):
        fs.mv(at("s"), at("d"), recursive=True)
    assert held(place) == {"s/a": b"A", "s/b": b"B", "d/a": b"A"}


def test_an_object_that_comes_beside_markers_stays(
    counted_places: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where markers were removed with all below them, it went along."""
    place = counted_places.az
    fs, at = place.fs, place.path
    fs.pipe(at("m/x"), b"X")
    service = BlobServiceClient.from_connection_string(counted_places.emulator.connection_string)
    blobs = service.get_container_client(place.container)
    for name in ("m/", "m/sub/"):
        blobs.upload_blob(name, b"")
    listed: Any = haulage.list

    def overtaken(*args: Any, **how: Any) -> Any:
        found = [*listed(*args, **how)]
        blobs.upload_blob("m/late", b"late")
        return found

    monkeypatch.setattr("haulage.filesystem.moves.list_objects", overtaken)
    fs.mv(at("m"), at("to"), recursive=True)
    assert [blob.name for blob in blobs.list_blobs()] == ["m/", "m/late", "to/x"]


def test_requests_of_a_move(counted_places: Counted) -> None:
    """Two for the copy; to remove what was copied one for each look, some to claim it and one to delete."""
    for place, each in ((counted_places.az, 8), (counted_places.s3, 11)):
        fs, at = place.fs, place.path
        fs.pipe({at(f"s/{number}"): b"x" for number in range(20)})
        before = counted_places.requests()
        fs.mv(at("s"), at("d"), recursive=True)
        assert counted_places.requests() - before <= 20 * each + 19
