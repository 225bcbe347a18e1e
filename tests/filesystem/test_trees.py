"""Copies of trees and lists: no object is lost without a word, and nothing is written through a link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient

import haulage
from filesystem.places import Counted, Place
from haulage.filesystem.targets import LocalTargets, refuse_links
from sentences import Sentence


def files_of(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_two_objects_with_one_file_are_refused(
    counted_places: Counted, tmp_path: Path, sentence: Sentence
) -> None:
    """One of the two was lost, and nothing said so."""
    place = counted_places.az
    fs = place.fs
    fs.pipe({place.path("a/b"): b"ONE", place.path("a//b"): b"TWO"})
    with pytest.raises(haulage.UsageError, match="another source goes to") as caught:
        fs.get(place.path("a"), str(tmp_path / "out"), recursive=True)
    sentence(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["az", "s3"])
def test_an_object_with_the_name_of_a_folder_is_refused(
    kind: str, counted_places: Counted, tmp_path: Path, sentence: Sentence
) -> None:
    """The object was left out, and nothing said so."""
    place: Place = getattr(counted_places, kind)
    fs = place.fs
    fs.pipe({place.path("z/f"): b"FILE", place.path("z/f/g"): b"G", place.path("z/h"): b"H"})
    for how in ({}, {"maxdepth": 2}):
        for source in ("z/", "z", "z/*"):
            with pytest.raises(haulage.UnsupportedError) as caught:
                fs.get(place.path(source), f"{tmp_path}/out/", recursive=True, **how)
            sentence(caught.value)
            assert not (tmp_path / "out").exists()
    fs.get(place.path("z/f"), f"{tmp_path}/alone", recursive=False)
    fs.get(place.path("z/f/"), f"{tmp_path}/below", recursive=True)
    assert (tmp_path / "alone").read_bytes() == b"FILE"
    assert files_of(tmp_path / "below") == {"g": b"G"}
    # In a store both can be.
    fs.cp(place.path("z"), place.path("y"), recursive=True)
    assert fs.cat_file(place.path("y/f/g")) == b"G"
    assert fs.cat_file(place.path("y/f")) == b"FILE"
    (tmp_path / "folder").mkdir()
    with pytest.raises(haulage.UnsupportedError, match="a folder is there"):
        fs.get_file(place.path("z/h"), f"{tmp_path}/folder")


def test_nothing_is_written_through_a_link_below_the_destination(
    place: Place, tmp_path: Path, sentence: Sentence
) -> None:
    """It was written where the link points."""
    fs = place.fs
    fs.pipe({place.path("l/sub/f"): b"X", place.path("l/f"): b"Y"})
    (tmp_path / "outside").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/sub").symlink_to("../outside")
    for source, how in (("l/", {"recursive": True}), ("l/**", {}), ("l", {"recursive": True, "maxdepth": 2})):
        (tmp_path / "out/l").unlink(missing_ok=True)
        (tmp_path / "out/l").symlink_to("../outside")
        with pytest.raises(haulage.UnsupportedError) as caught:
            fs.get(place.path(source), f"{tmp_path}/out/", **how)
        sentence(caught.value)
        assert files_of(tmp_path / "outside") == files_of(tmp_path / "out") == {}
    # The destination itself may be one: it was named.
    fs.get(place.path("l/sub/"), f"{tmp_path}/out/sub", recursive=True)
    assert files_of(tmp_path / "outside") == {"f": b"X"}
    fs.get([place.path("l/f")], [f"{tmp_path}/out/sub/named"])
    assert files_of(tmp_path / "outside") == {"f": b"X", "named": b"Y"}


def test_folders_without_objects_are_made(counted_places: Counted, tmp_path: Path) -> None:
    """A marker of a folder ended the copy: no such blob."""
    place = counted_places.az
    fs = place.fs
    fs.pipe(place.path("m/x"), b"x")
    service = BlobServiceClient.from_connection_string(counted_places.emulator.connection_string)
    service.get_container_client(place.container).upload_blob("m/sub/", b"")
    fs.mkdir(place.path("m/made"))
    fs.get(place.path("m/made"), f"{tmp_path}/made", recursive=True)
    assert (tmp_path / "made").is_dir()
    fs.get(place.path("m/"), f"{tmp_path}/out/", recursive=True)
    assert files_of(tmp_path / "out") == {"x": b"x"}
    assert (tmp_path / "out/sub").is_dir()


@pytest.mark.parametrize("how", ["names", "folder"])
def test_a_target_that_is_named_twice_is_refused(
    how: str, place: Place, tmp_path: Path, sentence: Sentence
) -> None:
    """Which of the two was kept was a matter of luck."""
    fs = place.fs
    sources = [place.path("q/x"), place.path("r/x")]
    fs.pipe({sources[0]: b"1", sources[1]: b"2"})
    local = [tmp_path / "s1/x", tmp_path / "s2/x"]
    for path in local:
        path.parent.mkdir()
        path.write_bytes(b"x")
    files = [str(path) for path in local]
    there: Any = f"{place.path('t')}/" if how == "folder" else [place.path("t/x"), place.url("t/x")]
    here: Any = f"{tmp_path}/t/" if how == "folder" else [f"{tmp_path}/t/x", f"{tmp_path}/t/y/../x"]
    calls: list[Callable[[], object]] = [
        lambda: fs.put(files, there),
        lambda: fs.cp(sources, there),
        lambda: fs.cp(sources, there, on_error="ignore"),
        lambda: fs.get(sources, here),
    ]
    for call in calls:
        with pytest.raises(haulage.UsageError, match="another source goes to") as caught:
            call()
        sentence(caught.value)
    assert not fs.exists(place.path("t"))
    assert not (tmp_path / "t").exists()


def test_one_target_by_two_names_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    place = LocalTargets().place
    assert place(tmp_path / "link/a") == place(f"{tmp_path}/./link//a") == place(tmp_path / "real/a")
    assert place("/a") == "/a"


def test_a_target_outside_of_the_destination_is_refused(tmp_path: Path, sentence: Sentence) -> None:
    with pytest.raises(haulage.UsageError, match="outside of the destination") as caught:
        refuse_links(str(tmp_path / "out"), [f"{tmp_path}/out/../b"])
    sentence(caught.value)
    refuse_links("/", ["/a"])


def test_errors_of_a_copy_are_ignored_as_before(place: Place) -> None:
    fs = place.fs
    fs.pipe(place.path("a/1"), b"1")
    pairs = [place.path("a/1"), place.path("a/none")], [place.path("b/1"), place.path("b/2")]
    fs.cp(*pairs, on_error="ignore")
    assert fs.find(place.path("b")) == [place.path("b/1")]
    with pytest.raises(FileNotFoundError):
        fs.cp(*pairs)


def test_lists_of_names_are_paired_and_of_one_length(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    """Relative targets were not found, and of lists of two lengths the rest was left out without a word."""
    fs = place.fs
    fs.pipe({place.path("a/1"): b"1", place.path("a/2"): b"2"})
    monkeypatch.chdir(tmp_path)
    fs.get([place.path("a/1"), place.path("a/2")], ["one", "in/two"])
    assert files_of(tmp_path) == {"one": b"1", "in/two": b"2"}
    calls: list[Callable[[], object]] = [
        lambda: fs.get([place.path("a/1"), place.path("a/2")], ["three"]),
        lambda: fs.put(["one"], [place.path("b/1"), place.path("b/2")]),
        lambda: fs.cp([place.path("a/1"), place.path("a/2")], [place.path("b/1")]),
    ]
    for call in calls:
        with pytest.raises(haulage.UsageError, match=r"\d sources?, \d targets?") as caught:
            call()
        sentence(caught.value)
    assert not fs.exists(place.path("b"))
    assert not (tmp_path / "three").exists()


def test_a_folder_in_a_list_is_copied_without_what_is_in_it(place: Place, tmp_path: Path) -> None:
    """It ended the copy midway: no such object."""
    fs = place.fs
    fs.pipe({place.path("src/a"): b"1", place.path("src/sub/x"): b"2"})
    sources = [place.path("src/a"), place.path("src/sub")]
    for how in ({}, {"maxdepth": 1}):
        to = tmp_path / f"new{len(how)}"
        fs.get(sources, str(to), **how)
        assert files_of(to) == {"a": b"1"}
        assert [path.name for path in to.iterdir() if path.is_dir()] == ["sub"]
        fs.cp(sources, place.path(f"cp{len(how)}"), **how)
        assert fs.find(place.path(f"cp{len(how)}")) == [place.path(f"cp{len(how)}/a")]
        fs.put([str(to / "a"), str(to / "sub")], place.path(f"put{len(how)}"), **how)
        assert fs.find(place.path(f"put{len(how)}")) == [place.path(f"put{len(how)}/a")]
    with pytest.raises(haulage.NotFoundError):
        fs.get([place.path("src/none")], str(tmp_path / "none"))
