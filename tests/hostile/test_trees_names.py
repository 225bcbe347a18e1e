"""Names that terminals obey, that no service holds, that are too long; and how they are shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import trees
from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_ground import NOT_UTF8, ODD_NAMES
from hostile.trees_runs import run, unseen

#: A service refuses names of more characters, and a file system parts of more bytes.
LONGEST_KEY, LONGEST_PART = 1024, 255


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    return emulator.container()


@pytest.fixture
def odd_tree(tmp_path: Path) -> Path:
    """A file of each odd name, and a folder of each."""
    tree = tmp_path / "tree"
    for name in ODD_NAMES:
        (tree / f"folder {name}").mkdir(parents=True)
        (tree / f"folder {name}" / "file").write_bytes(name.encode())
        (tree / name).write_bytes(name.encode())
    return tree


def test_odd_names_go_up_and_come_down_as_they_are(haul: Haul, container: Container, odd_tree: Path) -> None:
    """Names with newlines, ESC, U+202E, zero-width and other unseen characters: the same up and down."""
    run(haul, "cp", "tree", container.az("x/"))
    assert container.contents() == {
        f"x/{name}": content for name, content in trees.contents(odd_tree).items()
    }
    run(haul, "cp", container.az("x/"), "back")
    trees.assert_same(trees.contents(haul.folder / "back"), trees.contents(odd_tree))
    run(haul, "verify", "tree", container.az("x/"))


def test_odd_names_are_shown_as_text(haul: Haul, container: Container, odd_tree: Path) -> None:
    """Odd names in lists, warnings, errors and differences: escaped, so that a terminal neither obeys nor
    hides them.
    """
    for name in ODD_NAMES:
        (odd_tree / f"link {name}").symlink_to("nowhere")
        container.client.upload_blob(f"extra {name}", b"")
        # A name that no folder holds, so that it fails on the way down.
        container.client.upload_blob(f"bad//{name}", b"")
    runs = [
        run(haul, "cp", "tree", container.az("x/")),
        run(haul, "cp", "tree", container.az("x/"), "--symlinks", "follow", codes=(0, 1)),
        run(haul, "ls", "-r", container.az("")),
        run(haul, "ls", container.az("")),
        run(haul, "ls", "-r", "tree", codes=(0, 1)),
        run(haul, "ls", "tree", codes=(0, 1)),
        run(haul, "verify", "tree", container.az(""), codes=(1, 5)),
        run(haul, "verify", container.az(""), "tree", codes=(1, 5)),
        run(haul, "cp", container.az(""), "back", codes=(0, 1)),
        run(haul, "plan", "tree", container.az("y/")),
        run(haul, "du", *(container.az(f"folder {name}/") for name in ODD_NAMES), codes=(0, 4)),
    ]
    all_odd = " ".join(ODD_NAMES)
    (odd_tree / all_odd).write_bytes(b"")
    container.client.upload_blob(all_odd, b"")
    runs += [
        run(haul, "stat", f"tree/{all_odd}"),
        run(haul, "stat", container.az(all_odd)),
        run(haul, "rm", container.az(f"none {all_odd}"), codes=(4,)),
        run(haul, "rm", container.az(all_odd)),
        run(haul, "cp", f"none {all_odd}", container.az("x"), codes=(4,)),
        run(haul, "cp", f"{all_odd}://x", container.az("x"), codes=(2, 4)),
        run(haul, "cp", container.az("x"), "y", f"--no-{all_odd}", codes=(2,)),
        run(haul, "cp", "tree", container.az("x"), "--cap", all_odd, codes=(2,)),
        run(haul, "cp", "tree", container.az("x"), "--include", f"[{all_odd}", codes=(2,)),
        run(haul, f"verb {all_odd}", codes=(2,)),
    ]
    for ran in runs:
        assert unseen(ran.said) == [], f"{ran.args[1:]}: {ran.said!r}"


def test_clean_shows_odd_names_as_text(haul: Haul, tmp_path: Path) -> None:
    """`clean --dry-run` in folders of odd names: escaped too."""
    for name in ODD_NAMES:
        (tmp_path / "back" / name).mkdir(parents=True)
        (tmp_path / "back" / name / ".haul-0123456789abcdef.partial").write_bytes(b"")
    ran = run(haul, "clean", "--dry-run", "back")
    assert ran.text.count("\n") == len(ODD_NAMES)
    assert unseen(ran.said) == []


def test_programs_get_odd_names_as_they_are(haul: Haul, container: Container, odd_tree: Path) -> None:
    """Odd names with `--json`: exactly what they are, a line each."""
    went = run(haul, "cp", "tree", container.az("x/"), "--json")
    names = {record["name"] for record in went.of("object")}
    assert names == set(trees.contents(odd_tree))
    listed = run(haul, "ls", "-r", "--json", container.az("x/"))
    assert {line["key"].removeprefix("x/") for line in listed.events} == names


@pytest.mark.parametrize("verb", ["cp", "verify", "ls", "du"])
def test_names_that_are_not_utf8_fail_one_by_one(verb: str, haul: Haul, container: Container) -> None:
    """Names that are not UTF-8 in a tree: named as failed, files and folders; the others are copied."""
    tree = haul.folder / "tree"
    (tree / NOT_UTF8).mkdir(parents=True)
    (tree / NOT_UTF8 / "below").write_bytes(b"")
    (tree / f"file {NOT_UTF8}").write_bytes(b"")
    (tree / "good").write_bytes(b"good")
    if verb == "cp":
        run(haul, "cp", "tree", container.az(""), codes=(1,)).says("UTF-8", "file not ")
        assert container.contents() == {"good": b"good"}
    elif verb == "verify":
        container.client.upload_blob("good", b"good")
        run(haul, "verify", "tree", container.az(""), codes=(1,)).says("UTF-8")
    else:
        run(haul, verb, "tree", codes=(1,)).says("UTF-8")


@pytest.mark.parametrize(
    "line",
    [
        ("cp", b"\xff\xfe", "az://data/x"),
        ("cp", "az://data/x", b"\xff\xfe"),
        ("ls", b"az://data/\xff"),
        ("rm", b"az://data/\xff"),
        ("rb", "--force", b"\xff"),
        ("cp", "x", "y", "--include", b"\xff"),
        ("cp", "x", "y", "--record", b"\xff"),
        (b"\xff",),
        ("--json", b"--\xff"),
    ],
)
def test_arguments_that_are_not_utf8_are_refused(line: tuple[str | bytes, ...], haul: Haul) -> None:
    """Arguments that are not UTF-8: refused in a line, with nothing done."""
    run(haul, *line, codes=(2, 4))


def test_the_longest_names_go_up_and_come_down(haul: Haul, container: Container, tmp_path: Path) -> None:
    """Parts of 255 bytes, names of 1,024 characters: the same after a round trip."""
    tree = tmp_path / "tree"
    names = ["a" * LONGEST_PART, "ü" * (LONGEST_PART // 2), "/".join(["deep"] * 200) + "/file"]
    names.append("/".join(["b" * LONGEST_PART] * 4)[:LONGEST_KEY])
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(name.encode())
    run(haul, "cp", "tree", container.az(""))
    assert sorted(container.contents()) == sorted(names)
    # In blocks too: their partial files must not need longer names.
    run(haul, "cp", container.az(""), "back", "--block-size", "64KiB", "--method", "ranges")
    trees.assert_same(trees.contents(tmp_path / "back"), trees.contents(tree))


def test_a_name_that_the_service_cannot_hold_fails_alone(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A local name of more than 1,024 characters: named as failed; the others are copied."""
    tree = tmp_path / "tree"
    long = tree / "/".join(["c" * LONGEST_PART] * 5)
    long.parent.mkdir(parents=True)
    long.write_bytes(b"")
    (tree / "good").write_bytes(b"good")
    run(haul, "cp", "tree", container.az(""), codes=(0, 1))
    found = container.contents()
    assert found.pop("good") == b"good"
    # The emulator may take what Azure refuses.
    assert set(found) <= {str(long.relative_to(tree))}


def test_a_path_that_the_system_cannot_open_fails_alone(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    """Folders nested deeper than a path may be long (4,096 bytes): named as failed; the others are copied."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "good").write_bytes(b"good")
    folder = os.open(tree, os.O_DIRECTORY)
    for _ in range(20):
        os.mkdir("d" * LONGEST_PART, dir_fd=folder)
        below = os.open("d" * LONGEST_PART, os.O_DIRECTORY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    ran = run(haul, "cp", "tree", container.az(""), codes=(1,))
    assert container.contents() == {"good": b"good"}
    ran.says("dddd")
    run(haul, "du", "tree", codes=(0, 1))


def test_a_blob_whose_name_no_file_can_have_fails_alone(haul: Haul, container: Container) -> None:
    """Blobs with a part of more than 255 bytes: named as failed on the way down; the others come."""
    container.client.upload_blob("e" * (LONGEST_PART + 1), b"")
    container.client.upload_blob("f/" + "ü" * LONGEST_PART + "/x", b"")
    container.client.upload_blob("good", b"good")
    ran = run(haul, "cp", container.az(""), "back", "--json", codes=(1,))
    assert {record["outcome"] for record in ran.of("object") if record["name"] != "good"} == {"failed"}
    assert trees.contents(haul.folder / "back") == {"good": b"good"}
