"""Verbs that delete: what they remove, say, and never touch. Against Azurite too, which others wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_ground import closed, everything
from hostile.trees_runs import AS_A_USER, Ran, run

NAMES = ("p/a.tmp", "p/b.tmp", "p/deep/c.tmp", "p/d.nc", "p2/e.nc", "q")


@pytest.fixture
def filled(container: Container) -> Container:
    """Six blobs of 1,000 bytes."""
    for name in NAMES:
        container.client.upload_blob(name, bytes(1000))
    return container


def names(container: Container) -> set[str]:
    return set(container.client.list_blob_names())


def objects_said(ran: Ran) -> int:
    """Return how many objects it says, over all that it was told to remove."""
    return sum(int(number) for number in re.findall(r"(\d+) objects?\b", ran.stderr))


@pytest.mark.parametrize(
    ("line", "removed"),
    [
        ("rm @q", {"q"}),
        ("rm -r @p/", {"p/a.tmp", "p/b.tmp", "p/deep/c.tmp", "p/d.nc"}),
        # A name without its slash is that object, or all below it, and no other name that begins like it.
        ("rm -r @p", {"p/a.tmp", "p/b.tmp", "p/deep/c.tmp", "p/d.nc"}),
        ("rm -r @q", {"q"}),
        ("rm -r @", set(NAMES)),
        ("rm -r @p/ --include *.tmp", {"p/a.tmp", "p/b.tmp", "p/deep/c.tmp"}),
        ("rm -r @p/ --include *.tmp --exclude deep/*", {"p/a.tmp", "p/b.tmp"}),
        ("rm -r @ --exclude p/*", {"p2/e.nc", "q"}),
        ("rm -r @p/ --max-delete 4", {"p/a.tmp", "p/b.tmp", "p/deep/c.tmp", "p/d.nc"}),
        ("rm -r @p/ @q --max-delete 5", {"p/a.tmp", "p/b.tmp", "p/deep/c.tmp", "p/d.nc", "q"}),
        ("rm -r @ --include *.nc --max-delete 2", {"p/d.nc", "p2/e.nc"}),
        # Patterns hold for an object that is named, too.
        ("rm @q --exclude q", set()),
        ("rm -r @q --exclude q", set()),
        ("rm -r @q --include *.tmp", set()),
        ("rm @q @q --max-delete 1", {"q"}),
        ("rm -r @p/ @p/ --max-delete 4", {"p/a.tmp", "p/b.tmp", "p/deep/c.tmp", "p/d.nc"}),
    ],
)
def test_rm_removes_what_was_named_and_says_how_much(
    line: str, removed: set[str], haul: Haul, filled: Container
) -> None:
    """`rm` with `--include`, `--exclude`, `--max-delete`, `--dry-run`: exactly these; says how many, and how
    many bytes.
    """
    words = [word.replace("@", filled.az("")) if "@" in word else word for word in line.split()]
    dry = run(haul, *words, "--dry-run")
    dry.says("would remove", " B" if len(removed) < 2 else " KiB")
    assert objects_said(dry) == len(removed)
    assert names(filled) == set(NAMES)
    wet = run(haul, *words)
    wet.says("removed", " B" if len(removed) < 2 else " KiB")
    assert objects_said(wet) == len(removed)
    assert names(filled) == set(NAMES) - removed


@pytest.mark.parametrize(
    "line",
    [
        "rm -r @p/ --max-delete 3",
        "rm -r @ --max-delete 0",
        # The bound is on all of them together, and looked at before the first is removed.
        "rm -r @q @p/ --max-delete 4",
        "rm @q @p/d.nc --max-delete 1",
        "rb --force @ --max-delete 5",
        "rb --force @ --max-delete 0",
        "rm -r @p/ --max-delete -1",
        "rm -r @p/ --max-delete many",
        "rm -r @p/ --max-delete",
        "rm -r @p/ --include [",
        "rm @p/",
        "rm @",
        "rm @q @p/",
        "rb @",
        "rb --force @p/",
        "rb --force @q",
        "mb @p/",
    ],
)
def test_what_is_too_much_is_refused_before_the_first(line: str, haul: Haul, filled: Container) -> None:
    """More than `--max-delete`, a prefix without `-r`, a container that is not empty: refused (2), nothing is
    removed.
    """
    words = [word.replace("@", filled.az("")) if "@" in word else word for word in line.split()]
    assert run(haul, *words, codes=(2,)).has_hint
    assert names(filled) == set(NAMES)


@pytest.mark.parametrize("line", ["rm -r @none/", "rm @none", "rm -r @p/ --include *.none", "rm -r @q/"])
def test_rm_of_nothing_is_not_found(line: str, haul: Haul, filled: Container) -> None:
    """`rm` of a name or prefix that nothing has: not found (4); a pattern without a match may be fine."""
    words = [word.replace("@", filled.az("")) if "@" in word else word for word in line.split()]
    run(haul, *words, codes=(0, 4) if "--include" in line else (4,))
    assert names(filled) == set(NAMES)


def test_rb_says_what_went(haul: Haul, filled: Container) -> None:
    """`rb --force`: says how many objects and bytes; `--dry-run` removes none."""
    run(haul, "rb", "--force", "--dry-run", filled.az("")).says("would remove", "6 objects", "5.9 KiB")
    assert names(filled) == set(NAMES)
    run(haul, "rb", "--force", "--max-delete", "6", filled.az("")).says("removed", "6 objects", "5.9 KiB")
    assert not filled.client.exists()


def test_a_container_is_not_removed_by_another_name(haul: Haul, filled: Container) -> None:
    """`rm -r` and `rb` of a container whose name only begins alike: not found (4), the other stays."""
    for name in (filled.name[:-1], filled.name + "0", filled.name + "-0"):
        if not filled.endpoint.service.get_container_client(name).exists():
            run(haul, "rm", "-r", f"az://{name}", codes=(4,))
            run(haul, "rb", "--force", f"az://{name}", codes=(4,))
    assert names(filled) == set(NAMES)


CLEANED = (".haul-0123456789abcdef.partial", "folder/.haul-0000000000000001.partial")


@pytest.mark.parametrize(
    ("options", "code", "left"),
    [
        ((), 0, ()),
        (("--dry-run",), 0, CLEANED),
        (("--include", "folder/*"), 0, CLEANED[:1]),
        (("--exclude", "folder/*"), 0, CLEANED[1:]),
        (("--max-delete", "2"), 0, ()),
        (("--max-delete", "1"), 2, CLEANED),
        (("--max-delete", "0"), 2, CLEANED),
        (("--include", ""), 2, CLEANED),
    ],
)
def test_clean_has_the_same_bounds(
    options: tuple[str, ...], code: int, left: tuple[str, ...], haul: Haul, tmp_path: Path
) -> None:
    """`clean` with `--include`, `--exclude`, `--max-delete`, `--dry-run`: exactly these."""
    (tmp_path / "back" / "folder").mkdir(parents=True)
    for name in (*CLEANED, "folder/kept"):
        (tmp_path / "back" / name).write_bytes(bytes(1000))
    run(haul, "clean", "back", *options, codes=(code,))
    assert everything(tmp_path / "back") == sorted(["folder", "folder/kept", *left])


@pytest.mark.parametrize("ending", ["", "/"])
def test_clean_of_a_prefix_stays_below_it(ending: str, haul: Haul, emulator: Endpoint) -> None:
    """`clean` of a prefix, with and without `/` at its end: no blocks of names that only begin like it, and
    none that `--exclude` keeps.
    """
    container = emulator.container()
    for name in ("data/a", "data/keep1", "data2/x"):
        container.client.get_blob_client(name).stage_block("AAAA", b"block")
    run(haul, "clean", container.az("data") + ending, "--exclude", "keep*")
    staged = container.client.list_blobs(include=["uncommittedblobs"])
    assert [blob.name for blob in staged] == ["data/keep1", "data2/x"]


@pytest.mark.parametrize("root", ["/", "//", "/tmp/.."])
def test_clean_of_the_machine_is_refused(root: str, haul: Haul) -> None:
    """`clean /`: refused (2), also as a dry run."""
    run(haul, "clean", root, "--dry-run", codes=(2,)).says(
        "the whole machine", "give the folder that was copied to"
    )


def test_clean_names_what_it_could_not_look_into(haul: Haul, tmp_path: Path) -> None:
    """`clean` of a tree with a folder that may not be read: that is named, and the exit code says so."""
    (tmp_path / "back" / "locked").mkdir(parents=True)
    (tmp_path / "back" / CLEANED[0]).write_bytes(b"")
    with closed(tmp_path / "back" / "locked"):
        run(haul, "clean", "back", codes=(1, 3), wrap=AS_A_USER).says("locked")
