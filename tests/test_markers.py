"""Markers: empty objects that stand for a folder are no data, and one that is named is the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import haulage
import s3_clients
import trees
from command import Haul
from endpoints import ACCOUNT, KEY, Container, Endpoint, S3Endpoint
from filesystem.places import azure_place, s3_place
from sentences import Sentence

#: Beside a folder with markers are one that begins alike, and an empty file that is named like one.
DATA = {"dir/f": b"F", "dir/sub/g": b"G", "dir2/f": b"2", "plain": b"", "plain/f": b"P"}
FOLDERS = ["dir", "dir/sub", "dir/empty", "dir/empty/deep", "dir2"]


@dataclass(frozen=True)
class Marked:
    """A container with markers."""

    root: str  #: its URL, without a slash
    haul: Haul
    marker: Callable[[str], str]  #: the key of the marker of a folder
    names: Callable[[], set[str]]  #: all keys that there are, as another client lists them
    write: Callable[[str, bytes], None]  #: for a marker that has bytes
    fs: Any  #: a file system

    def url(self, key: str) -> str:
        return f"{self.root}/{key}"

    def markers(self, *folders: str) -> set[str]:
        return {self.marker(folder) for folder in folders}


def azure(container: Container, folder: Path, metadata: Mapping[str, str]) -> Marked:
    client: Any = container.client
    for key, content in DATA.items():
        client.upload_blob(key, content)
    for name in FOLDERS:
        client.upload_blob(name, b"", metadata=metadata)
    return Marked(
        container.az().rstrip("/"),
        Haul(folder, container.endpoint.env),
        lambda name: name,
        lambda: {blob.name for blob in client.list_blobs()},
        lambda key, content: client.upload_blob(key, content, overwrite=True, metadata=metadata),
        azure_place(container.endpoint).fs,
    )


def s3(service: S3Endpoint, folder: Path, ending: str) -> Marked:
    bucket, client = service.new_name(), s3_clients.connect(service)
    client.create_bucket(Bucket=bucket)
    contents = DATA | {f"{name}{ending}": b"" for name in FOLDERS}
    for key, content in contents.items():
        client.put_object(Bucket=bucket, Key=key, Body=content)
    return Marked(
        f"s3://{bucket}",
        Haul(folder, service.env),
        lambda name: f"{name}{ending}",
        lambda: {entry["Key"] for entry in client.list_objects_v2(Bucket=bucket).get("Contents", ())},
        lambda key, content: client.put_object(Bucket=bucket, Key=key, Body=content),
        s3_place(service).fs,
    )


@contextmanager
def emulated(*, hierarchical: bool = False) -> Iterator[tuple[Endpoint, S3Endpoint]]:
    with haulage.Emulator(hierarchical=hierarchical) as own:
        yield (
            Endpoint("in process", own.endpoint, own.connection_string),
            S3Endpoint("in process", own.s3["endpoint_url"], (ACCOUNT, KEY)),
        )


@pytest.fixture(params=["azurite", "hierarchical", "s3 slash", "s3 beside"])
def marked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Marked]:
    """A container of each kind."""
    kind: str = request.param
    if kind == "azurite":
        yield azure(request.getfixturevalue("azurite").container(), tmp_path, {"Hdi_isfolder": "True"})
        return
    with emulated(hierarchical=kind == "hierarchical") as (blobs, service):
        if kind.startswith("s3"):
            yield s3(service, tmp_path, "/" if kind == "s3 slash" else "_$folder$")
        else:
            yield azure(blobs.container(), tmp_path, {"hdi_isfolder": "true"})


def test_a_folder_that_is_named_is_copied_and_its_markers_are_not(marked: Marked) -> None:
    """Its marker became an empty file, of which every byte was said to be checked."""
    haul, here = marked.haul, marked.haul.folder
    went = haul("cp", "--json", marked.url("dir"), "out")
    assert sorted(done["name"] for done in went.of("object")) == ["f", "sub/g"]
    assert trees.contents(here / "out") == {"f": b"F", "sub/g": b"G"}
    went = haul("cp", "--json", "--exclude", "plain/*", marked.url(""), "all")
    assert went.summary["objects_done"] == len(DATA) - 1
    assert haul("verify", "--json", marked.url("dir"), "out").summary["objects_done"] == 2
    assert haul("verify", "--json", "out", marked.url("dir")).summary["objects_extra"] == 0
    assert haul("plan", "--json", marked.url("dir"), "elsewhere").events[0]["objects"] == 2
    # An empty folder is there, and there is nothing in it.
    for empty in ("dir/empty", "dir/empty/", "dir/empty/deep"):
        assert haul("cp", "--json", marked.url(empty), "nothing").summary["objects_total"] == 0
    assert not (here / "nothing").exists()
    haul("cp", marked.url("none"), "nothing", code=4)
    haul("cat", marked.url("dir"), code=4)


def test_a_folder_is_listed_once_and_counted_as_nothing(marked: Marked) -> None:
    haul = marked.haul

    def listed(*args: str) -> tuple[list[str], list[str]]:
        lines = haul("ls", "--json", *args).events
        folders = [line["prefix"] for line in lines if "prefix" in line]
        return sorted(folders), sorted(line["key"] for line in lines if "key" in line)

    assert listed(marked.url("")) == (["dir/", "dir2/", "plain/"], ["plain"])
    assert listed(marked.url("dir")) == (["dir/empty/", "dir/sub/"], ["dir/f"])
    assert listed("-r", marked.url("dir")) == (
        ["dir/empty/", "dir/empty/deep/", "dir/sub/"],
        ["dir/f", "dir/sub/g"],
    )
    assert listed(marked.url("dir/empty/deep")) == ([], [])
    for name, objects in (("dir", 2), ("dir/empty", 0), ("", len(DATA))):
        assert haul("du", "--json", marked.url(name)).events[0]["objects"] == objects
    haul("ls", marked.url("dir/none"), code=4)
    haul("stat", marked.url("dir"), code=4)


def test_a_folder_goes_with_its_markers(marked: Marked, sentence: Sentence) -> None:
    """The marker was removed, and what was in the folder stayed."""
    haul, before = marked.haul, marked.names()
    refused = haul("rm", marked.url("dir"), code=4)
    if marked.root.startswith("az:"):
        sentence(refused.error_lines[0].replace(marked.root, "az://box"))
    haul("rm", "-r", "--dry-run", marked.url("dir"))
    assert marked.names() == before
    haul("rm", "-r", "--exclude", "sub/**", marked.url("dir"))
    assert before - marked.names() == {"dir/f", *marked.markers("dir/empty", "dir/empty/deep")}
    sentence(haul("rm", "-r", marked.url("dir")).stderr)
    assert before - marked.names() == {"dir/f", "dir/sub/g", *marked.markers(*FOLDERS[:-1])}
    haul("rm", "-r", "--include", "f", marked.url("dir2/"))
    assert marked.names() == {"plain", "plain/f"}


def test_a_move_leaves_no_marker_behind(marked: Marked) -> None:
    haul, before = marked.haul, marked.names()
    haul("mv", "--exclude", "*g", marked.url("dir"), "out")
    assert before - marked.names() == {"dir/f", *marked.markers("dir/empty", "dir/empty/deep")}
    haul("mv", marked.url("dir"), marked.url("new"))
    assert trees.contents(haul.folder / "out") == {"f": b"F"}
    left = {"plain", "plain/f", "dir2/f", *marked.markers("dir2")}
    assert marked.names() == left | {"new/sub/g"}
    # One object that is named leaves its folder.
    haul("mv", marked.url("dir2/f"), "out/")
    assert marked.names() == (left | {"new/sub/g"}) - {"dir2/f"}
    haul("mv", marked.url("dir2"), "out/")
    assert marked.names() == {"plain", "plain/f", "new/sub/g"}


def test_a_sync_leaves_markers_alone_and_settles(marked: Marked) -> None:
    haul = marked.haul
    (haul.folder / "src").mkdir()
    (haul.folder / "src/f").write_bytes(b"F")
    (haul.folder / "src/new").write_bytes(b"N")
    for deleted in (1, 0):
        went = haul("sync", "--json", "--delete", "src", marked.url("dir"))
        assert went.summary["objects_deleted"] == deleted
    assert {*marked.markers(*FOLDERS), "dir/f", "dir/new"} < marked.names()
    for deleted in (1, 0):
        if deleted:
            (haul.folder / "src/old").write_bytes(b"O")
        went = haul("sync", "--json", "--delete", marked.url("dir"), "src")
        assert went.summary["objects_deleted"] == deleted
    assert trees.contents(haul.folder / "src") == {"f": b"F", "new": b"N"}


def test_no_file_takes_the_place_of_a_folder(marked: Marked, sentence: Sentence) -> None:
    """Its marker was replaced, and Hadoop saw a file."""
    haul, before = marked.haul, marked.names()
    (haul.folder / "src").mkdir()
    for name in ("dir", "new"):
        (haul.folder / "src" / name).write_bytes(b"file")
    if marked.root.startswith("s3:"):
        # Its marker has another name.
        haul("cp", "src/dir", marked.url("dir"))
        assert marked.names() == {*before, "dir"}
        return
    refused = haul("cp", "src/dir", marked.url("dir"), code=1)
    sentence(refused.error_lines[0].replace(marked.root, "az://box"))
    haul("cp", "src", marked.url(""), code=1)
    haul("sync", "--dry-run", "src", marked.url(""), code=1)
    plan = haul("plan", "--json", "src", marked.url(""), code=1).events[0]
    assert [problem["object"] for problem in plan["problems"]] == [marked.url("dir")]
    assert marked.names() == {*before, "new"}
    assert marked.fs.isdir(f"{marked.root.partition('://')[2]}/dir")


def test_a_marker_with_bytes_is_data(marked: Marked) -> None:
    haul = marked.haul
    if marked.marker("dir").endswith("/"):
        marked.write("dir/", b"data")
        # No file has such a name.
        went = haul("cp", "--json", "--exclude", "plain/*", marked.url(""), "out", code=1)
        assert [failure["object"] for failure in went.summary["failures"]] == ["out/dir/"]
    else:
        marked.write(marked.marker("dir"), b"data")
        haul("cp", marked.url(marked.marker("dir")), "out/")
        assert list(trees.contents(haul.folder / "out").values()) == [b"data"]
    assert haul("du", "--json", marked.url("")).events[0]["objects"] == len(DATA) + 1


def test_file_systems_see_folders(marked: Marked) -> None:
    """A folder was a file, and removing it left what is in it."""
    fs, box = marked.fs, marked.root.partition("://")[2]
    for name in ("dir", "dir/sub", "dir/empty", "dir/empty/deep"):
        assert (fs.isdir(f"{box}/{name}"), fs.isfile(f"{box}/{name}"), fs.exists(f"{box}/{name}")) == (
            True,
            False,
            True,
        )
    assert fs.isfile(f"{box}/plain")
    assert sorted(fs.ls(f"{box}/dir", detail=False)) == [
        f"{box}/dir/{name}" for name in ("empty", "f", "sub")
    ]
    assert fs.ls(f"{box}/dir/empty/deep") == []
    assert fs.find(f"{box}/dir") == [f"{box}/dir/f", f"{box}/dir/sub/g"]
    walked = {folder: (sorted(dirs), sorted(names)) for folder, dirs, names in fs.walk(f"{box}/dir")}
    assert walked == {
        f"{box}/dir": (["empty", "sub"], ["f"]),
        f"{box}/dir/sub": ([], ["g"]),
        f"{box}/dir/empty": (["deep"], []),
        f"{box}/dir/empty/deep": ([], []),
    }
    with pytest.raises(FileNotFoundError):
        fs.cat_file(f"{box}/dir")
    with pytest.raises(FileNotFoundError):
        fs.open(f"{box}/dir")
    with pytest.raises(haulage.UsageError):
        fs.rm(f"{box}/dir")
    fs.mv(f"{box}/dir/sub", f"{box}/to", recursive=True)
    assert not fs.exists(f"{box}/dir/sub")
    fs.rm(f"{box}/dir", recursive=True)
    assert not fs.exists(f"{box}/dir")
    assert marked.names() == {"plain", "plain/f", "to/g", "dir2/f", *marked.markers("dir2")}
