"""Names with a slash at the end, and objects beside folders of the same name: what is named, and no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient

import haulage
from filesystem.places import Counted, Place
from haulage.filesystem import HaulageFileSystem
from sentences import Sentence

#: An object beside a folder of the same name, and one that is alone.
NAMES = {"f": b"F", "f/x": b"X", "f/y/z": b"Z", "g": b"G"}
BELOW = {"f/x": b"X", "f/y/z": b"Z"}


@pytest.fixture(params=["az", "s3"])
def both(request: pytest.FixtureRequest, counted_places: Counted) -> Place:
    place: Place = getattr(counted_places, request.param)
    place.fs.pipe({place.path(name): content for name, content in NAMES.items()})
    return place


def held(place: Place) -> dict[str, bytes]:
    """Return what is there, asked by another file system."""
    fs = place.fs
    return {name.removeprefix(place.path("")): fs.cat_file(name) for name in fs.find(place.container)}


def without(*names: str) -> dict[str, bytes]:
    return {name: content for name, content in NAMES.items() if name not in names}


def listed(place: Place) -> HaulageFileSystem:
    """Return a file system that has looked at everything."""
    fs = place.fs
    for folder in ("", "f", "f/y"):
        fs.ls(place.path(folder))
    return fs


LOOKS: list[Callable[[Place], HaulageFileSystem]] = [lambda place: place.fs, listed]
looked = pytest.mark.parametrize("look", LOOKS, ids=["unlisted", "listed"])


@looked
@pytest.mark.parametrize(
    ("named", "how", "removed"),
    [
        ("f/", {}, [*BELOW]),
        ("*/", {}, [*BELOW]),
        (["f/", "g"], {}, [*BELOW, "g"]),
        ("f/", {"maxdepth": 1}, ["f/x"]),
        ("f", {"maxdepth": 1}, ["f", "f/x"]),
        ("", {}, [*NAMES]),
    ],
)
def test_only_what_is_below_a_prefix_is_removed(
    look: Callable[[Place], HaulageFileSystem],
    named: Any,
    how: dict[str, Any],
    removed: list[str],
    both: Place,
) -> None:
    """The object `f`, which was not named, was removed, and all below `f/` stayed."""
    paths = [both.path(one) for one in named] if isinstance(named, list) else both.path(named)
    look(both).rm(paths, recursive=True, **how)
    assert held(both) == without(*removed)


def test_a_prefix_is_no_object_to_remove(both: Place, sentence: Sentence) -> None:
    fs = both.fs
    for refused in (fs.rm, fs.rm_file, fs.delete):
        for name in ("f/", "g/", ""):
            with pytest.raises(haulage.UsageError, match="this is a prefix") as caught:
                refused(both.path(name))
            sentence(caught.value)
    with pytest.raises(haulage.UsageError, match="this is a prefix"):
        fs.rm(both.path("*/"))
    with pytest.raises(haulage.UsageError, match="this is a container") as caught:
        fs.rm(both.container)
    sentence(caught.value)
    for nothing in ("g/", "n*/"):
        with pytest.raises(FileNotFoundError):
            fs.rm(both.path(nothing), recursive=True)
    assert held(both) == NAMES
    # A folder that was made, and holds nothing, can be named either way.
    fs.mkdir(both.path("made"))
    fs.rm(both.path("made/"))
    assert not fs.exists(both.path("made"))


@looked
@pytest.mark.parametrize(
    ("named", "how", "left", "moved"),
    [
        ("f", {"recursive": True}, {"g": b"G"}, {"": b"F", "/x": b"X", "/y/z": b"Z"}),
        ("f/", {"recursive": True}, {"f": b"F", "g": b"G"}, {"/x": b"X", "/y/z": b"Z"}),
        ("f", {}, {**BELOW, "g": b"G"}, {"": b"F"}),
        ("f", {"recursive": True, "maxdepth": 1}, without("f", "f/x"), {"": b"F", "/x": b"X"}),
        ("*/", {"recursive": True}, {"f": b"F", "g": b"G"}, {"/f/x": b"X", "/f/y/z": b"Z"}),
    ],
)
def test_what_is_moved_is_what_is_named(
    look: Callable[[Place], HaulageFileSystem],
    named: str,
    how: dict[str, Any],
    left: dict[str, bytes],
    moved: dict[str, bytes],
    both: Place,
) -> None:
    """Object and folder were copied, and only the object was removed; a slash took the object along."""
    look(both).mv(both.path(named), both.path("new"), **how)
    assert held(both) == left | {f"new{name}": content for name, content in moved.items()}


def test_a_move_of_nothing_is_refused(both: Place, sentence: Sentence) -> None:
    fs, at = both.fs, both.path
    with pytest.raises(haulage.UsageError, match="this is a prefix") as prefix:
        fs.mv(at("f/"), at("new"))
    sentence(prefix.value)
    with pytest.raises(haulage.NotFoundError, match="nothing is below") as nothing:
        fs.mv(at("g/"), at("new"), recursive=True)
    sentence(nothing.value)
    # With a target for each source, the folder was removed, and nothing of it copied.
    moves: list[tuple[Any, Any, bool]] = [
        ([at("g"), at("f/y")], [at("h"), at("new")], True),
        ([at("g"), at("f/")], [at("h"), at("new")], True),
        ([at("g"), at("f/y")], f"{at('new')}/", False),
    ]
    for sources, targets, recursive in moves:
        with pytest.raises(haulage.UsageError, match="this is a folder") as folder:
            fs.mv(sources, targets, recursive=recursive)
        sentence(folder.value)
    assert held(both) == NAMES


def test_no_source_is_written_over(both: Place, sentence: Sentence) -> None:
    """What had been copied over another source was removed with it."""
    fs, at = both.fs, both.path
    fs.pipe(at("f/f/x"), b"deeper")
    before = held(both)
    calls: list[Callable[[], object]] = [
        lambda: fs.mv(at("f/"), f"{both.container}/", recursive=True),
        lambda: fs.cp(at("f/"), f"{both.container}/", recursive=True),
        lambda: fs.cp([at("g"), at("f")], [at("f"), at("h")]),
    ]
    for call in calls:
        with pytest.raises(haulage.UsageError) as caught:
            call()
        sentence(caught.value)
    assert held(both) == before


def test_what_comes_during_a_move_is_kept(both: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was removed with the folder, and never copied."""
    fs, copied = both.fs, both.fs._copy_pairs

    async def joined(*args: Any, **kwargs: Any) -> None:
        await copied(*args, **kwargs)
        await both.fs._pipe_file(both.path("f/late"), b"L")

    monkeypatch.setattr(fs, "_copy_pairs", joined)
    fs.mv(both.path("f/"), both.path("new"), recursive=True)
    assert held(both) == {"f": b"F", "f/late": b"L", "g": b"G", "new/x": b"X", "new/y/z": b"Z"}


def test_a_folder_goes_with_the_markers_of_it(counted_places: Counted) -> None:
    place = counted_places.az
    service = BlobServiceClient.from_connection_string(counted_places.emulator.connection_string)
    blobs = service.get_container_client(place.container)
    place.fs.pipe({place.path("m/x"): b"X", place.path("n/x"): b"X"})
    for name, content in (("m/", b""), ("m/sub/", b""), ("n/", b"not empty")):
        blobs.upload_blob(name, content)
    for name in ("m", "n"):
        place.fs.mv(place.path(name), place.path(f"to/{name}"), recursive=True)
    # What was not copied is not removed.
    assert [blob.name for blob in blobs.list_blobs()] == ["n/", "to/m/x", "to/n/x"]
    fs = place.fs
    fs.mkdir(place.path("made"))
    fs.mv(place.path("made"), place.path("elsewhere"), recursive=True)
    assert not fs.exists(place.path("made"))


@looked
def test_a_copy_of_a_prefix_leaves_the_object_out(
    look: Callable[[Place], HaulageFileSystem], both: Place, tmp_path: Path
) -> None:
    """The object `g`, which was not named, was overwritten with the object `f`."""
    fs, at = look(both), both.path
    fs.cp(at("f/"), at("g"), recursive=True)
    fs.cp(at("f/"), at("g"))
    assert held(both) == {**NAMES, "g/x": b"X", "g/y/z": b"Z"}
    fs.cp(at("*/"), at("h"), recursive=True)
    assert {*held(both)} == {*NAMES, "g/x", "g/y/z", "h/f/x", "h/f/y/z", "h/g/x", "h/g/y/z"}
    fs.get(at("f/"), f"{tmp_path}/below/", recursive=True)
    assert sorted(path.name for path in (tmp_path / "below").iterdir()) == ["x", "y"]


def test_what_ends_in_a_slash_is_not_written(both: Place, tmp_path: Path, sentence: Sentence) -> None:
    """It was written to the object whose name has no slash."""
    fs, name = both.fs, both.path("f/")
    (tmp_path / "file").write_bytes(b"new")
    calls: list[Callable[[], object]] = [
        lambda: fs.pipe(name, b"new"),
        lambda: fs.open(name, "wb"),
        lambda: fs.open(f"{fs.protocol[0]}://{name}", "w"),
        lambda: fs.touch(name),
        lambda: fs.put_file(str(tmp_path / "file"), name),
        lambda: fs.cp_file(both.path("g"), name),
    ]
    for call in calls:
        with pytest.raises(haulage.UsageError, match="this is a prefix") as caught:
            call()
        sentence(caught.value)
    assert held(both) == NAMES
