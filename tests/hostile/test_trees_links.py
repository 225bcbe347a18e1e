"""Links of every kind in a source, and folders and files that may not be read."""

from __future__ import annotations

from pathlib import Path

import pytest

import trees
from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_ground import NODES, closed
from hostile.trees_runs import AS_A_USER, outcomes, run


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    return emulator.container()


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A tree of links: round, dangling, to files and folders, inside and outside."""
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    (tree / "folder").mkdir(parents=True)
    (outside / "folder").mkdir(parents=True)
    (tree / "folder" / "file").write_bytes(b"inside")
    (outside / "folder" / "far").write_bytes(b"outside")
    for name, target in {
        "to-itself": "to-itself",
        "ping": "pong",
        "pong": "ping",
        "folder/up": "..",
        "folder/round": "../folder",
        "dangling": "nowhere",
        "through-a-file": "folder/file/below",
        "too-long": "x" * 4000,
        "file-inside": "folder/file",
        "folder-inside": "folder",
        "file-outside": "../outside/folder/far",
        "folder-outside": "../outside/folder",
        "absolute": str(outside / "folder" / "far"),
        "root": "/proc/self/root",
        "device": "/dev/zero",
    }.items():
        (tree / name).symlink_to(target)
    return tree


LINKS = (
    "to-itself",
    "ping",
    "pong",
    "up",
    "round",
    "dangling",
    "through-a-file",
    "too-long",
    "device",
    "root",
)


@pytest.mark.parametrize("verb", ["cp", "verify"])
def test_links_in_a_tree_are_left_out_and_named(
    verb: str, haul: Haul, container: Container, linked: Path
) -> None:
    """Links in a tree: left out and named, wherever they lead."""
    container.client.upload_blob("folder/file", b"inside")
    names = [path.name for path in linked.rglob("*") if path.is_symlink()]
    run(haul, verb, "tree", container.az("")).says(*names)
    assert container.contents() == {"folder/file": b"inside"}


def test_followed_links_end_where_they_lead_round(haul: Haul, container: Container, linked: Path) -> None:
    """Links that are followed: those that lead round or nowhere, and to devices, are named; the rest is
    copied.
    """
    (linked / "root").unlink()
    run(haul, "cp", "tree", container.az(""), "--symlinks", "follow", codes=(0, 1)).says(*LINKS[:-1])
    found = container.contents()
    assert found["file-inside"] == found["folder-inside/file"] == found["folder/file"] == b"inside"
    assert found["file-outside"] == found["folder-outside/far"] == found["absolute"] == b"outside"
    assert {name.split("/")[0] for name in found} <= {
        "folder",
        "file-inside",
        "folder-inside",
        "file-outside",
        "folder-outside",
        "absolute",
    }


@pytest.mark.parametrize("name", ["to-itself", "ping", "dangling", "through-a-file", "too-long"])
def test_a_link_that_leads_nowhere_is_refused_where_it_is_named(
    name: str, haul: Haul, container: Container, linked: Path
) -> None:
    """A link round or to nowhere, named as source: an error with its name."""
    run(haul, "cp", linked / name, container.az("x"), codes=(1, 2, 4)).says(name)
    assert container.contents() == {}


@pytest.mark.parametrize(
    ("name", "content"), [("file-inside", {"x": b"inside"}), ("folder-outside", {"x/far": b"outside"})]
)
def test_a_link_that_is_named_is_followed(
    name: str, content: dict[str, bytes], haul: Haul, container: Container, linked: Path
) -> None:
    """A link that is named itself: followed, for it was meant."""
    run(haul, "cp", linked / name, container.az("x"))
    assert container.contents() == content


@pytest.mark.parametrize("how", ["file", "folder", "search", "list"])
def test_what_may_not_be_read_is_named_and_the_rest_is_copied(
    how: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A file or folder in a tree that may not be read or searched: named as failed; the rest is copied."""
    tree = tmp_path / "tree"
    (tree / "locked").mkdir(parents=True)
    (tree / "locked" / "file").write_bytes(b"closed")
    (tree / "open").write_bytes(b"open")
    place, mode = {
        "file": (tree / "locked" / "file", 0),
        "folder": (tree / "locked", 0),
        "search": (tree / "locked", 0o100),
        "list": (tree / "locked", 0o400),
    }[how]
    with closed(place, mode=mode):
        ran = run(haul, "cp", "tree", container.az(""), codes=(1,), wrap=AS_A_USER)
        ran.says("locked", "permission denied")
        run(haul, "du", "tree", codes=(0 if how == "file" else 1,), wrap=AS_A_USER)
    assert container.contents() == {"open": b"open"}


def test_nothing_is_extra_where_a_folder_could_not_be_read(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    """`verify` of a tree with a folder that may not be read: it is `failed`, and what it holds is not
    `extra`.
    """
    tree = trees.make(tmp_path / "tree", files=20, awkward=False)
    run(haul, "cp", "tree", container.az(""))
    with closed(tree / "run-3"):
        ran = run(haul, "verify", "tree", container.az(""), "--json", codes=(1,), wrap=AS_A_USER)
    assert "extra" not in outcomes(ran)
    assert ran.summary["objects_extra"] == 0
    assert ran.summary["objects_failed"] >= 1


def test_nothing_is_missing_where_a_folder_could_not_be_read(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    """`verify` with a destination folder that may not be read: its objects are `failed`, not `missing`."""
    tree = trees.make(tmp_path / "tree", files=20, awkward=False)
    run(haul, "cp", "tree", container.az(""))
    with closed(tree / "run-3"):
        ran = run(haul, "verify", container.az(""), "tree", "--json", codes=(1,), wrap=AS_A_USER)
    assert set(outcomes(ran)) == {"equal", "failed"}
    assert ran.summary["objects_failed"] == 2


@pytest.mark.parametrize("verb", ["cp", "verify", "ls", "du", "clean", "plan"])
def test_a_folder_that_may_not_be_read_is_no_empty_one(
    verb: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A named folder that may not be read: permission denied (3), never an empty list."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(b"")
    names = ["tree", container.az("")] if verb in ("cp", "verify", "plan") else ["tree"]
    with closed(tree):
        ran = run(haul, verb, *names, codes=(3,), wrap=AS_A_USER)
    assert ran.has_hint


def test_a_folder_that_is_a_node_is_refused(haul: Haul, container: Container, tmp_path: Path) -> None:
    """Nodes named as if they were folders (`socket/`): an error, at once."""
    for name, make in NODES.items():
        make(tmp_path / name)
        run(haul, "cp", f"{name}/", container.az(""), codes=(1, 2, 4))
        run(haul, "cp", f"{name}/x", container.az(""), codes=(1, 2, 4))
        run(haul, "ls", f"{name}/", codes=(1, 2, 4))
        run(haul, "clean", name, codes=(1, 2, 4))
    assert container.contents() == {}
