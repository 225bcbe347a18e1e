"""A second process swaps folders for links, or makes files, while the command runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Endpoint
from hostile.trees_ground import everything
from hostile.trees_runs import run
from hostile.trees_swap import swapping

#: In each of the tests: enough that the moments between two steps of the engine are hit.
TRIES = 1000
FILES = 400
SECRET = b"what lies outside is nobody's business"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that nobody named, with files of the names that are copied."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


def names() -> list[str]:
    return [f"deep/er/{number:04}" for number in range(FILES)]


@pytest.mark.parametrize("swapped", ["deep/er", pytest.param("deep", marks=pytest.mark.long)])
def test_a_destination_folder_swapped_for_a_link_takes_nothing_outside(
    swapped: str, emulator: Endpoint, haul: Haul, tmp_path: Path, outside: Path
) -> None:
    """A folder of the destination that is swapped for a link 1,000 times: no file outside."""
    container, back = emulator.container(), tmp_path / "back"
    for name in names():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_bytes(name.encode())
    haul("cp", "tree", container.az(""))
    (back / swapped).mkdir(parents=True)
    (tmp_path / "link").symlink_to(outside)
    tries = 0
    while tries < TRIES:
        with swapping(back / swapped, tmp_path / "link") as swapper:
            run(haul, "cp", container.az(""), "back", "--overwrite", "always", codes=(0, 1, 2))
            tries += swapper.stop()
        assert everything(outside) == []
    haul("cp", container.az(""), "back", "--overwrite", "always")
    assert trees.contents(back) == {name: name.encode() for name in names()}


@pytest.mark.long
def test_a_source_folder_swapped_for_a_link_gives_nothing_from_outside(
    emulator: Endpoint, haul: Haul, tmp_path: Path, outside: Path
) -> None:
    """A folder of the source that is swapped for a link 1,000 times: nothing from outside at the service."""
    tree = tmp_path / "tree"
    for name in names():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(name.encode())
        (outside / Path(name).name).write_bytes(SECRET)
    (outside / "more").write_bytes(SECRET)
    (tmp_path / "link").symlink_to(outside)
    tries = 0
    while tries < TRIES:
        container = emulator.container()
        with swapping(tree / "deep/er", tmp_path / "link") as swapper:
            run(haul, "cp", "tree", container.az(""), codes=(0, 1, 2, 4, 6))
            tries += swapper.stop()
        taken = [name for name, content in container.contents().items() if content == SECRET]
        assert taken == []


def test_clean_removes_nothing_through_a_swapped_folder(haul: Haul, tmp_path: Path, outside: Path) -> None:
    """A folder swapped for a link 1,000 times while `clean` runs: what lies outside stays."""
    leftovers = [f".haul-{number:016x}.partial" for number in range(FILES)]
    folder = tmp_path / "back" / "deep"
    folder.mkdir(parents=True)
    for name in leftovers:
        (outside / name).write_bytes(SECRET)
    (tmp_path / "link").symlink_to(outside)
    tries = 0
    while tries < TRIES:
        for name in leftovers:
            (folder / name).write_bytes(b"")
        with swapping(folder, tmp_path / "link") as swapper:
            run(haul, "clean", "back", codes=(0, 1, 2))
            tries += swapper.stop()
        assert everything(outside) == leftovers


def test_a_file_that_others_make_meanwhile_is_kept_and_leaves_no_partial(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    """A file made by others while it is fetched with `--overwrite never`: theirs stays, and nothing lies
    beside it.
    """
    endpoint = start_emulator(link="rtt=5ms,total=80mbit")
    container, haul = endpoint.container(), haul_at(endpoint)
    haul("cp", trees.random_file(tmp_path / "file.bin", 4 << 20), container.az("file.bin"))
    theirs = tmp_path / "back" / "file.bin"
    theirs.parent.mkdir()
    how = ("--json", "--overwrite", "never", "--block-size", "256KiB", "--concurrency", "2")
    code, said = haul.after_requests(
        4,
        "GetBlob",
        lambda _: theirs.write_bytes(b"theirs"),
        "cp",
        container.az("file.bin"),
        "back/file.bin",
        *how,
    )
    assert code in (0, 1), said[-2000:]
    assert theirs.read_bytes() == b"theirs"
    assert everything(tmp_path / "back") == ["file.bin"]
