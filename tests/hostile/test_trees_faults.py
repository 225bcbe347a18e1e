"""A disk that fails in the middle, and somebody who acts exactly between two steps of the command."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import trees
from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_faults import FLUSHING, NUMBERS, OPENING, READING, RENAMING, WRITING, Call, Decide, between
from hostile.trees_ground import everything, exchange
from hostile.trees_runs import DOCUMENTED, each_with_one, failed_kinds, outcomes, run

#: What a disk, or a folder on the network, may say to anything.
ERRORS = ("EIO", "ESTALE", "ETIMEDOUT", "EACCES", "ENOMEM")
#: More names than the system gives at once, so that a folder is read in several steps.
MANY = 1000


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    return emulator.container()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of 31 files in ten folders."""
    return trees.make(tmp_path / "tree", files=30, awkward=False)


def failing(calls: tuple[str, ...], place: str, error: str, nth: int = 1, once: bool = False) -> Decide:
    """Fail these calls on paths with `place` in them, from the n-th on."""

    def decide(call: Call) -> int | None:
        due = call.nth == nth if once else call.nth >= nth
        return getattr(errno, error) if call.name in calls and place in call.path and due else None

    return decide


def once_for_each(lines: Sequence[str]) -> list[Any]:
    """Return all lines and errors for the first step of a list, and the lines alone for its second one; the
    errors that differ in their number only for `make long`.
    """
    return [
        pytest.param(line, error, nth, marks=pytest.mark.long if nth == 2 and error != ERRORS[0] else ())
        for nth in (1, 2)
        for line, error in each_with_one(lines, ERRORS)
    ]


LISTING = ("verify tree @", "cp tree @", "du tree", "ls -r tree", "clean tree")


@pytest.mark.parametrize(("line", "error", "nth"), once_for_each(LISTING))
def test_a_folder_that_fails_in_the_middle_is_named(
    line: str, error: str, nth: int, haul: Haul, container: Container, tree: Path
) -> None:
    """A folder whose list breaks off (EIO, ESTALE, ETIMEDOUT): named as failed (1); the rest counts."""
    if nth == 2:
        for number in range(MANY):
            (tree / "run-5" / f"more-{number:06}").touch()
    if line.startswith("verify"):
        run(haul, "cp", "tree", container.az(""))
    words = [word.replace("@", container.az("")) for word in line.split()]
    with between(["getdents64"], failing(("getdents64",), "/tree/run-5", error, nth)) as faulty:
        ran = run(haul, *words, *(["--json"] if line.startswith("verify") else []), codes=(1,), wrap=faulty)
    assert "run-5" in ran.stderr
    if line.startswith("verify"):
        said = outcomes(ran)
        assert ("extra" in said, "missing" in said, "failed" in said) == (False, False, True)
        assert said.count("equal") >= 28
    if line.startswith("cp"):
        assert {name for name in trees.contents(tree) if "run-5" not in name} <= set(container.contents())


@pytest.mark.parametrize(("line", "error", "nth"), once_for_each([*LISTING, "ls tree"]))
def test_a_root_that_fails_is_no_empty_one(
    line: str, nth: int, error: str, haul: Haul, container: Container, tree: Path
) -> None:
    """A named folder whose list breaks off: an error (1 or 3), never 0 objects."""
    for number in range(MANY if nth == 2 else 0):
        (tree / f"more-{number:06}").touch()
    container.client.upload_blob("empty file", b"")
    words = [word.replace("@", container.az("")) for word in line.split()]

    def decide(call: Call) -> int | None:
        due = call.path.endswith("/tree") and call.nth >= nth
        return getattr(errno, error) if due else None

    with between(["getdents64"], decide) as faulty:
        ran = run(haul, *words, codes=(1, 3), wrap=faulty)
    assert "tree" in ran.stderr
    assert "extra" not in ran.text
    assert "missing" not in ran.text


@pytest.mark.parametrize("place", ["/tree", "/tree/run-5"])
@pytest.mark.parametrize("error", ["EIO", "EACCES"])
def test_a_destination_that_fails_to_list_misses_nothing(
    error: str, place: str, haul: Haul, container: Container, tree: Path
) -> None:
    """`verify` with a destination folder whose list breaks off: `equal` or `failed`, never `missing`."""
    run(haul, "cp", tree, container.az(""))
    with between(["getdents64"], failing(("getdents64",), place, error)) as faulty:
        ran = run(haul, "verify", container.az(""), "tree", "--json", codes=(0, 1, 3), wrap=faulty)
    assert set(outcomes(ran)) <= {"equal", "failed"}


@pytest.mark.parametrize("error", ["EIO", "ESTALE"])
@pytest.mark.parametrize("size", [4096, 3_000_000])
def test_a_file_that_cannot_be_read_to_its_end_fails_alone(
    size: int, error: str, haul: Haul, container: Container, tree: Path
) -> None:
    """A file that fails to be read (EIO): named as failed, and no object; the others are copied."""
    trees.random_file(tree / "bad.bin", size)
    with between(READING, failing(READING, "/tree/bad.bin", error)) as faulty:
        ran = run(haul, "cp", "tree", container.az(""), "--json", codes=(1,), wrap=faulty)
    assert failed_kinds(ran) == {"io"}
    assert set(container.contents()) == set(trees.contents(tree)) - {"bad.bin"}


@pytest.mark.parametrize(
    ("calls", "errors"),
    [
        (WRITING, ("EIO", "ENOSPC", "EDQUOT", "EFBIG")),
        (RENAMING, ("EIO", "EXDEV", "EACCES")),
        (OPENING, ("EIO", "ENOSPC", "EMFILE")),
        (("fallocate",), ("EIO", "ENOSPC")),
    ],
    ids=["write", "rename", "open", "fallocate"],
)
@pytest.mark.parametrize("size", [4096, 3_000_000])
def test_a_destination_that_fails_leaves_nothing(
    size: int,
    calls: tuple[str, ...],
    errors: tuple[str, ...],
    haul: Haul,
    container: Container,
    tmp_path: Path,
) -> None:
    """A write, rename or new file that fails at the destination: named, and no file of that name."""
    container.client.upload_blob("x", os.urandom(size))
    if size == 4096 and calls == ("fallocate",):
        size = 3_000_000
        container.client.upload_blob("x", os.urandom(size), overwrite=True)
    for error in errors:
        with between(calls, failing(calls, "/back/", error)) as faulty:
            ran = run(haul, "cp", container.az("x"), "back/x", "--json", codes=(1, 3), wrap=faulty)
        assert failed_kinds(ran) <= {"io", "no_space", "permission"}
        # The folder may be marked as in doubt. Of an object in several ranges those that were whole may
        # stay, for the next run.
        left = set(everything(tmp_path / "back")) if (tmp_path / "back").exists() else set()
        partial = {name for name in left if name.startswith(".haul-") and name.endswith(".partial")}
        assert left <= {trees.MARK} | (partial if size > 4096 else set())
    run(haul, "cp", container.az("x"), "back/x")
    assert everything(tmp_path / "back") == ["x"]


@pytest.mark.parametrize("how", [(), ("--no-flush",)])
@pytest.mark.parametrize("tree_or_file", ["p/", "p/x"])
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_a_flush_that_fails_is_no_success(
    error: str, tree_or_file: str, how: tuple[str, ...], haul: Haul, container: Container
) -> None:
    """A disk that fails to flush (EIO) after a download: exit code 1; with `--no-flush` nobody asks it."""
    container.client.upload_blob("p/x", b"content")
    with between(FLUSHING, failing(FLUSHING, "", error)) as faulty:
        run(haul, "cp", container.az(tree_or_file), "back", *how, codes=(0,) if how else (1,), wrap=faulty)


@pytest.mark.parametrize("calls", [READING, WRITING, FLUSHING], ids=lambda calls: str(calls[0]))
def test_a_call_that_is_interrupted_is_made_again(
    calls: tuple[str, ...], haul: Haul, container: Container, tree: Path, tmp_path: Path
) -> None:
    """Calls that the system breaks off (EINTR): made again; everything arrives."""

    def decide(call: Call) -> int | None:
        return errno.EINTR if str(tmp_path) in call.path and call.nth == 1 else None

    with between(calls, decide) as faulty:
        run(haul, "cp", "tree", container.az(""), wrap=faulty)
        trees.assert_same(container.contents(), trees.contents(tree))
    with between(calls, decide) as faulty:
        run(haul, "cp", container.az(""), "back", wrap=faulty)
    trees.assert_same(trees.contents(tmp_path / "back"), trees.contents(tree))


class SwapBefore:
    """Swaps two names right before the call of this number on something below a folder."""

    def __init__(self, below: Path, other: Path, number: int) -> None:
        self.below, self.other, self.number = below, other, number
        self.calls: list[Call] = []

    def __call__(self, call: Call) -> int | None:
        if call.path == str(self.below) or call.path.startswith(f"{self.below}/"):
            if len(self.calls) == self.number:
                exchange(self.below, self.other)
            self.calls.append(call)
        return None

    def was_the_last(self) -> bool:
        """Whether there was no call of this number any more; if there was, put the names back."""
        if len(self.calls) <= self.number:
            return True
        exchange(self.below, self.other)
        return False


#: Whatever may touch a name, or what it stands for.
NAMING = sorted(set(NUMBERS) - {*READING, *WRITING, *FLUSHING})


@pytest.mark.parametrize(
    "how", [("--block-size", "1MiB"), pytest.param(("--method", "whole"), marks=pytest.mark.long)]
)
def test_a_folder_that_is_swapped_right_before_a_call_takes_nothing_outside(
    how: tuple[str, ...], haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A folder of the destination swapped for a link right before each system call: nothing outside."""
    outside, folder = tmp_path / "outside", tmp_path / "back" / "deep" / "er"
    outside.mkdir()
    folder.mkdir(parents=True)
    (outside / "victim").write_bytes(b"victim")
    (tmp_path / "link").symlink_to(outside)
    for name, size in (("victim", 1000), ("large", 1_500_000)):
        container.client.upload_blob(f"deep/er/{name}", os.urandom(size))
    line = ("cp", container.az(""), "back", "--overwrite", "always", *how)
    for number in range(200):
        swap = SwapBefore(folder, tmp_path / "link", number)
        with between(NAMING, swap) as watched:
            run(haul, *line, codes=tuple(DOCUMENTED), wrap=watched)
        assert trees.contents(outside) == {"victim": b"victim"}, swap.calls[number]
        if swap.was_the_last():
            break
    assert number > 3


@pytest.mark.parametrize("name", ["deep/er", pytest.param("deep", marks=pytest.mark.long)])
def test_a_source_that_is_swapped_right_before_a_call_gives_nothing_from_outside(
    name: str, haul: Haul, emulator: Endpoint, tmp_path: Path
) -> None:
    """A folder of the source swapped for a link right before each system call: nothing from outside."""
    outside, tree = tmp_path / "outside" / "er", tmp_path / "tree"
    (tree / "deep" / "er").mkdir(parents=True)
    outside.mkdir(parents=True)
    for file in ("x", "y"):
        (tree / "deep" / "er" / file).write_bytes(b"inside")
        (outside / file).write_bytes(b"secret")
    (tmp_path / "link").symlink_to(outside.parent if name == "deep" else outside)
    for number in range(200):
        container = emulator.container()
        swap = SwapBefore(tree / name, tmp_path / "link", number)
        with between([*NAMING, *READING], swap) as watched:
            run(haul, "cp", "tree", container.az(""), codes=tuple(DOCUMENTED), wrap=watched)
        assert b"secret" not in container.contents().values(), swap.calls[number]
        if swap.was_the_last():
            break
    assert number > 3
