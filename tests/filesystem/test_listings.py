"""Listings: few requests, believed for a while, forgotten where something is written; and what removes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import haulage
from filesystem.places import Counted, Place
from sentences import Sentence


def fill(place: Place) -> None:
    place.fs.pipe({place.path(name): name.encode() for name in ("a/b/1", "a/b/2", "a/3", "4", "a/é #%?.nc")})


def test_every_way_to_look(place: Place) -> None:
    fill(place)
    fs = place.fs
    assert fs.ls(place.container, detail=False) == [place.path("4"), place.path("a")]
    assert fs.find(place.container) == [
        place.path(name) for name in ("4", "a/3", "a/b/1", "a/b/2", "a/é #%?.nc")
    ]
    assert fs.find(place.path("a/3")) == [place.path("a/3")]
    assert fs.find(place.path("nothing")) == []
    assert fs.glob(place.path("**/[12]")) == [place.path("a/b/1"), place.path("a/b/2")]
    assert fs.glob(f"{place.container}/*/3") == [place.path("a/3")]
    assert [(root, sorted(files)) for root, _, files in fs.walk(place.path("a/b"))] == [
        (place.path("a/b"), ["1", "2"])
    ]
    assert sorted(fs.find(place.container, withdirs=True)) == sorted(
        [
            place.container,
            *(place.path(name) for name in ("a", "a/b", "4", "a/3", "a/b/1", "a/b/2", "a/é #%?.nc")),
        ]
    )
    assert fs.du(place.path("a/b")) == len("a/b/1a/b/2")
    assert (fs.isdir(place.path("a")), fs.isfile(place.path("a")), fs.isfile(place.path("4"))) == (
        True,
        False,
        True,
    )
    assert (fs.exists(place.container), fs.exists(place.path("b")), fs.exists("no-such-one")) == (
        True,
        False,
        False,
    )
    assert place.container in fs.ls("", detail=False)
    entry = fs.info(place.path("a/é #%?.nc"))
    assert (entry["type"], entry["size"]) == ("file", len("a/é #%?.nc".encode()))
    assert datetime.now(UTC) - fs.modified(place.path("4")) < timedelta(hours=1)
    for look in (fs.ls, fs.info, fs.size):
        with pytest.raises(FileNotFoundError):
            look(place.path("nothing"))


def test_a_tree_is_one_list_and_a_listing_is_believed_for_a_while(counted_places: Counted) -> None:
    for place in (counted_places.az, counted_places.s3):
        fill(place)
        fs, before = place.fs, counted_places.requests()
        assert len(fs.find(place.container)) == 5
        assert counted_places.requests() - before == 1
        fs.ls(place.path("a"))
        before = counted_places.requests()
        assert fs.info(place.path("a/3"))["size"] == 3
        assert fs.isdir(place.path("a/b"))
        fs.ls(place.path("a"))
        assert counted_places.requests() == before


def test_what_is_written_or_removed_is_seen_at_once(place: Place) -> None:
    fill(place)
    fs = place.fs
    assert len(fs.ls(place.path("a/b"))) == 2
    assert len(fs.ls(place.container)) == 2
    fs.pipe(place.path("a/b/5"), b"new")
    assert len(fs.ls(place.path("a/b"))) == 3
    fs.rm(place.path("a/b"), recursive=True)
    assert not fs.exists(place.path("a/b/1"))
    assert fs.ls(place.path("a"), detail=False) == [place.path("a/3"), place.path("a/é #%?.nc")]
    # What others write shows when it is asked for anew.
    place.fs.pipe(place.path("a/6"), b"by others")
    assert place.path("a/6") in fs.ls(place.path("a"), detail=False, refresh=True)


def test_removing_follows_the_guards_of_haul_rm(place: Place) -> None:
    fill(place)
    fs = place.fs
    for refused in ("", place.container, place.path("a")):
        with pytest.raises((haulage.UsageError, FileNotFoundError)):
            fs.rm(refused)
    with pytest.raises(haulage.UsageError, match="at most 2"):
        fs.rm(place.path("a"), recursive=True, max_delete=2)
    with pytest.raises(haulage.UsageError):
        fs.rmdir(place.container)
    with pytest.raises(FileNotFoundError):
        fs.rm(place.path("nothing"))
    assert len(fs.find(place.container)) == 5
    fs.rm(place.path("a/b/*"))
    fs.rm([place.path("4"), place.path("a/3")])
    assert fs.find(place.container) == [place.path("a/é #%?.nc")]
    fs.rm(place.container, recursive=True)
    assert fs.exists(place.container)
    fs.rmdir(place.container)
    assert not place.fs.exists(place.container)


def test_containers_are_made_and_moved_within(place: Place) -> None:
    fs = place.fs
    with pytest.raises(FileExistsError):
        fs.mkdir(place.container)
    fs.makedirs(place.container, exist_ok=True)
    fs.makedirs(place.path("a/b"), exist_ok=True)
    fs.pipe(place.path("a/1"), b"x")
    fs.mv(place.path("a/1"), place.path("b/1"))
    fs.cp(place.path("b"), place.path("c"), recursive=True)
    assert fs.find(place.container) == [place.path("b/1"), place.path("c/1")]
    fs.touch(place.path("b/1"))
    assert fs.size(place.path("b/1")) == 0


def test_a_name_that_looks_like_a_pattern_is_that_object_and_no_other(place: Place) -> None:
    fs, at = place.fs, place.path
    names = ["a1.nc", "a[1].nc", "d1/x", "d[1]/x", "q1", "q?", "s1", "s*", "m1", "m[1]"]
    fs.pipe({at(name): name.encode() for name in names})
    fs.rm_file(at("a[1].nc"))
    fs.rm(at("d[1]"), recursive=True)
    fs.rm([at("q?")])
    fs.rm(at("s*"))
    fs.mv(at("m[1]"), at("n[1]"))
    assert fs.cat_file(at("n[1]")) == b"m[1]"
    assert fs.find(place.container) == [at(name) for name in ("a1.nc", "d1/x", "m1", "n[1]", "q1", "s1")]
    with pytest.raises(FileNotFoundError):
        fs.rm_file(at("?1"))
    # Without an object of that name it is a pattern.
    fs.rm(at("[qs]1"))
    assert fs.find(place.container) == [at(name) for name in ("a1.nc", "d1/x", "m1", "n[1]")]


def test_a_folder_is_moved_with_all_that_is_in_it(place: Place) -> None:
    fill(place)
    fs = place.fs
    below = {name.removeprefix(place.path("a")): fs.cat_file(name) for name in fs.find(place.path("a"))}
    fs.mv(place.path("a"), place.path("moved/here"), recursive=True)
    assert not fs.exists(place.path("a"))
    found = {name: fs.cat_file(name) for name in fs.find(place.path("moved"))}
    assert found == {place.path("moved/here") + name: content for name, content in below.items()}
    with pytest.raises(FileNotFoundError):
        fs.mv(place.path("nothing"), place.path("moved"), recursive=True)


def test_a_listing_that_began_before_a_removal_is_not_kept(
    counted_places: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (counted_places.az, counted_places.s3):
        fill(place)
        fs = place.fs
        listed = fs._list

        def overtaken(
            path: str, *, recursive: bool, fs: Any = fs, listed: Any = listed, at: Any = place.path
        ) -> Any:
            found = listed(path, recursive=recursive)
            if fs.exists(at("a/b/1")):
                fs.rm(at("a/b/1"))
            return found

        monkeypatch.setattr(fs, "_list", overtaken)
        fs.ls(place.path("a/b"))
        assert not fs.exists(place.path("a/b/1"))
        assert fs.ls(place.path("a/b"), detail=False) == [place.path("a/b/2")]


def test_what_is_moved_onto_or_into_itself_is_not_lost(place: Place, sentence: Sentence) -> None:
    fill(place)
    fs, at = place.fs, place.path
    before = {name: fs.cat_file(name) for name in fs.find(place.container)}
    fs.mv(at("a/"), at("a"), recursive=True)
    fs.mv(at("4"), place.url("4"))
    for source, target in [("a", "a/b/c"), ("a/b", "a"), ("a/3", "a"), ("a/3", "a/"), ("a/*", "a/b")]:
        with pytest.raises((haulage.UsageError, FileNotFoundError)):
            fs.mv(at(source), at(target), recursive=True)
        held = {fs.cat_file(name) for name in fs.find(place.container)}
        assert held >= set(before.values()), (source, target)
    with pytest.raises(haulage.UsageError) as inside:
        fs.mv(at("a"), at("a/b/c"), recursive=True)
    sentence(inside.value)
    with pytest.raises(haulage.UsageError) as same:
        fs.cp_file(at("4"), at("4"))
    assert same.value.hint == "choose another destination"
    # What a pattern matches only after the copy stays.
    fs.mv(at("a/*"), at("a/new/"))
    assert at("a/new/3") in fs.find(place.container)
    assert not fs.exists(at("a/3"))


def test_an_object_of_the_name_of_a_folder_is_the_object_whatever_was_listed(
    counted_places: Counted,
) -> None:
    for place in (counted_places.az, counted_places.s3):
        fs, both, folder = place.fs, place.path("both"), place.path("both/d")
        fs.pipe({f"{folder}/b": b"12345", f"{folder}/b/c": b"22", f"{folder}/a": b"1"})
        for listed in ((), (both,), (folder,), (f"{folder}/b",), (folder, f"{folder}/b")):
            fs.invalidate_cache()
            for path in listed:
                fs.ls(path)
            assert (fs.info(f"{folder}/b")["type"], fs.size(f"{folder}/b"), fs.du(folder)) == ("file", 5, 8)
            assert fs.isfile(f"{folder}/b")
            assert fs.isdir(folder)


def test_an_object_of_the_name_of_a_folder_hides_nothing_in_it(counted_places: Counted) -> None:
    for place in (counted_places.az, counted_places.s3):
        fs, at = place.fs, place.path
        fs.pipe({at("a"): b"", at("a/x"): b"2"})
        for _ in range(2):
            assert [files for top, _, files in fs.walk(place.container) if top == at("a")] == [["x"]]
            assert fs.ls(at("a"), detail=False) == [at("a/x")]
