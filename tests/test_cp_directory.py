"""`haul cp FOLDER az://container/` and back."""

from __future__ import annotations

from pathlib import Path

import pytest

import trees
from command import Haul
from endpoints import Container


def test_cp_directory_up_and_down_leaves_identical_trees(
    haul: Haul, container: Container, tree: Path
) -> None:
    expected = trees.contents(tree)
    up = haul("cp", tree, container.az("run/"), "--json").summary
    assert (up["objects_done"], up["objects_failed"]) == (len(expected), 0)
    assert up["bytes_done"] == sum(map(len, expected.values()))

    haul("cp", container.az("run/"), "back")
    trees.assert_same(trees.contents(haul.folder / "back"), expected)


def test_cp_directory_writes_what_azures_own_client_reads(
    haul: Haul, container: Container, tree: Path
) -> None:
    haul("cp", tree, container.az())
    trees.assert_same(container.contents(), trees.contents(tree))


def test_cp_directory_again_moves_nothing(haul: Haul, container: Container, tree: Path) -> None:
    first = haul("cp", tree, container.az(), "--json").summary
    again = haul("cp", tree, container.az(), "--json").summary
    assert again["objects_skipped"] == first["objects_done"]
    assert (again["objects_done"], again["bytes_done"]) == (0, 0)

    changed = tree / "plain.txt"
    changed.write_bytes(b"new")
    third = haul("cp", tree, container.az(), "--json").summary
    assert (third["objects_done"], third["bytes_done"]) == (1, 3)


# Azurite is JavaScript: a tenth of the files takes it as long.
@pytest.mark.parametrize(
    ("where", "files"),
    [("azurite", 500), ("emulator", 2000), pytest.param("emulator", 5000, marks=pytest.mark.long)],
)
def test_cp_directory_of_thousands_of_small_files(
    where: str, files: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    endpoint = request.getfixturevalue(where)
    haul = Haul(tmp_path, endpoint.env)
    container = endpoint.container()
    many = trees.make(tmp_path / "many", files=files)
    expected = trees.contents(many)

    assert haul("cp", many, container.az("many/"), "--json").summary["objects_done"] == len(expected)
    haul("cp", container.az("many/"), "back")
    trees.assert_same(trees.contents(tmp_path / "back"), expected)


def test_cp_directory_takes_only_what_is_included(haul: Haul, container: Container, tree: Path) -> None:
    haul("cp", tree, container.az(), "--include", "*.txt", "--exclude", "deep/**")
    names = set(container.contents())
    assert "plain.txt" in names
    assert "same-prefix.txt" in names
    assert not [name for name in names if not name.endswith(".txt") or name.startswith("deep/")]


def test_cp_prefix_does_not_take_names_that_only_begin_alike(haul: Haul, container: Container) -> None:
    for name in ("run/a", "run-2/b", "run.txt"):
        container.client.upload_blob(name, name.encode())
    haul("cp", container.az("run/"), "back")
    assert trees.contents(haul.folder / "back") == {"a": b"run/a"}


@pytest.mark.parametrize("verb", ["cp", "mv"])
def test_a_copy_opens_nothing_that_its_source_keeps_closed(haul: Haul, tmp_path: Path, verb: str) -> None:
    """0600 became 0644, and folders of 0700 became 0755."""
    source = tmp_path / "source"
    modes = {"private": 0o600, "read-only": 0o444, "run": 0o755, "in/large": 0o640}
    (source / "in").mkdir(parents=True, mode=0o700)
    for name, mode in modes.items():
        (source / name).write_bytes(bytes(2_000_000 if "large" in name else 10))
        (source / name).chmod(mode)
    haul(verb, f"{source}/", f"{tmp_path}/there/")
    for name, mode in modes.items():
        assert (tmp_path / "there" / name).stat().st_mode & 0o777 & ~mode == 0, name
    assert (tmp_path / "there/in").stat().st_mode & 0o777 == 0o700


def test_cp_empty_directory_is_no_failure(haul: Haul, container: Container, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    assert haul("cp", "nothing", container.az(), "--json").summary["objects_total"] == 0
