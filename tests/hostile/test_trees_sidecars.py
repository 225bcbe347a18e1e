"""What others plant where a download keeps its partial file and its list of ranges; and what `clean` may
remove.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import endpoints
import trees
from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_ground import NODES, everything, snapshot
from hostile.trees_runs import MIB, run

SIZE = 2 * MIB
#: Small ranges, so that the download keeps a list of them.
HOW = ("--block-size", "256KiB")
VICTIM = b"a file of somebody else" * 100


@pytest.fixture(scope="module")
def sidecars(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The names of the two files beside a download to `back.bin`: those that a killed one leaves."""
    folder = tmp_path_factory.mktemp("killed")
    with endpoints.emulator(folder, link="rtt=5ms,total=40mbit") as endpoint:
        container, haul = endpoint.container(), Haul(folder, endpoint.env)
        haul("cp", trees.random_file(folder / "file.bin", SIZE), container.az("x"))
        line = ("cp", container.az("x"), "back.bin", "--json", "--concurrency", "2", *HOW)
        haul.kill_after_blocks(3, *line, api="GetBlob")
    names = {path.name.split(".", 2)[2]: path.name for path in folder.glob(".haul-*")}
    assert set(names) == {"partial", "ranges.partial"}
    return names


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    """A container with a blob that is fetched in ranges."""
    container = emulator.container()
    container.client.upload_blob("x", os.urandom(SIZE))
    return container


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file outside of the destination, which must stay as it is."""
    victim = tmp_path / "outside" / "victim"
    victim.parent.mkdir()
    victim.write_bytes(VICTIM)
    return victim


def assert_untouched(victim: Path) -> None:
    assert everything(victim.parent) == [victim.name]
    assert victim.read_bytes() == VICTIM


def link_to(victim: Path, planted: Path) -> None:
    planted.symlink_to(victim)


def link_to_what_is_not_there(victim: Path, planted: Path) -> None:
    planted.symlink_to(victim.with_name("new"))


def link_to_the_folder(victim: Path, planted: Path) -> None:
    planted.symlink_to(victim.parent)


def second_name(victim: Path, planted: Path) -> None:
    planted.hardlink_to(victim)


def folder(_: Path, planted: Path) -> None:
    planted.mkdir()
    (planted / "kept").write_bytes(b"kept")


def unreadable(_: Path, planted: Path) -> None:
    planted.write_bytes(b"")
    planted.chmod(0)


def huge(_: Path, planted: Path) -> None:
    with planted.open("wb") as file:
        file.write(b'{"haulage":"ranges 1","file":"back.bin",')
        file.truncate(300 * MIB)


def huge_lines(_: Path, planted: Path) -> None:
    line = b"- 0000000000000000-0000000000000010-0000000000000000\n"
    planted.write_bytes(line * (40 * MIB // len(line)))


def garbage(_: Path, planted: Path) -> None:
    planted.write_bytes(os.urandom(SIZE))


def node(kind: str) -> Callable[[Path, Path], None]:
    def make(_: Path, planted: Path) -> None:
        NODES[kind](planted)

    make.__name__ = kind
    return make


PLANTS = (
    link_to,
    link_to_what_is_not_there,
    link_to_the_folder,
    second_name,
    folder,
    unreadable,
    huge,
    huge_lines,
    garbage,
    *(node(kind) for kind in NODES),
)


@pytest.mark.parametrize(
    ("plant", "place"),
    [
        # Both at once differ little from each alone.
        pytest.param(plant, place, marks=pytest.mark.long if place == "both" and number else ())
        for number, plant in enumerate(PLANTS)
        for place in ("partial", "ranges.partial", "both")
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_is_planted_beside_a_download_is_not_written_through(
    plant: Callable[[Path, Path], None],
    place: str,
    sidecars: dict[str, str],
    haul: Haul,
    container: Container,
    victim: Path,
    tmp_path: Path,
) -> None:
    """The partial file and its list of ranges planted as a link, a second name, a FIFO, socket, device or
    folder, as 300 MB, or as garbage: nothing is written through it; the right content arrives, or an error
    with a name, within seconds and 256 MiB.
    """
    kinds = ("partial", "ranges.partial") if place == "both" else (place,)
    for kind in kinds:
        plant(victim, tmp_path / sidecars[kind])
    ran = run(haul, "cp", container.az("x"), "back.bin", "--json", *HOW, codes=(0, 1, 2))
    assert_untouched(victim)
    if ran.code == 0:
        assert (tmp_path / "back.bin").read_bytes() == container.contents()["x"]
    else:
        assert not (tmp_path / "back.bin").exists()
        assert ran.events[-1]["exit_code"] == ran.code
        assert ran.summary["failures"][0]["object"], ran.summary
    if plant is folder:
        assert all((tmp_path / sidecars[kind] / "kept").read_bytes() == b"kept" for kind in kinds)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_what_is_planted_as_a_mark_is_not_written_through(
    plant: Callable[[Path, Path], None], haul: Haul, container: Container, victim: Path, tmp_path: Path
) -> None:
    """The mark of a folder that is being written to, planted as any of these: no harm, no hindrance."""
    back = tmp_path / "back"
    back.mkdir()
    plant(victim, back / trees.MARK)
    for _ in range(2):
        run(haul, "cp", container.az(""), "back", codes=(0, 1, 2))
        assert_untouched(victim)
        assert (back / "x").read_bytes() == container.contents()["x"]
    if plant is folder:
        assert (back / trees.MARK / "kept").read_bytes() == b"kept"


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_clean_of_what_is_planted_touches_nothing_else(
    plant: Callable[[Path, Path], None], sidecars: dict[str, str], haul: Haul, victim: Path, tmp_path: Path
) -> None:
    """`clean` over the same: it ends at once, and what they lead to stays."""
    for name in sidecars.values():
        plant(victim, tmp_path / name)
    run(haul, "clean", ".", codes=(0, 1))
    assert_untouched(victim)
    if plant is folder:
        assert (tmp_path / sidecars["partial"] / "kept").read_bytes() == b"kept"


#: What a person may have called a file, with a name much like those of leftovers.
MUCH_LIKE = (
    ".haul-notes.partial",
    ".haul-.partial",
    ".haul-partial",
    ".haul.partial",
    ".haul-0123456789abcdef.partial.bak",
    ".haul-0123456789abcdefg.partial",
    ".haul-0123456789abcde.partial",
    ".haul-0123456789abcdef.Partial",
    ".haul-0123456789abcdef.ranges",
    ".haul-0123456789abcdef.my.partial",
    "haul-0123456789abcdef.partial",
    "my.haul-0123456789abcdef.partial",
    ".haul-0123456789abcdef.partial.ranges.partial",
    ".haul-results.ranges.partial",
)


def test_files_that_only_look_like_leftovers_are_files(
    haul: Haul, emulator: Endpoint, tmp_path: Path
) -> None:
    """Files of users with names much like those of leftovers: `clean` leaves them, `cp` copies them."""
    tree, container = tmp_path / "tree", emulator.container()
    for name in MUCH_LIKE:
        (tree / f"{name}-folder.partial").mkdir(parents=True)
        (tree / f"{name}-folder.partial" / name).write_bytes(b"mine")
    before = snapshot(tree)
    run(haul, "clean", "tree")
    assert snapshot(tree) == before
    run(haul, "cp", "tree", container.az(""))
    trees.assert_same(container.contents(), trees.contents(tree))


@pytest.mark.parametrize(
    "name",
    [
        *MUCH_LIKE,
        ".haul-0123456789ABCDEF.partial",
        ".haul-0123456789abcdef.partial",
        ".haul-0123456789abcdef.ranges.partial",
        trees.MARK,
    ],
)
def test_what_came_down_is_not_taken_for_a_leftover(
    name: str, haul: Haul, emulator: Endpoint, tmp_path: Path
) -> None:
    """Blobs called like leftovers: refused on the way down, or copied, verified and left alone by `clean`."""
    container = emulator.container()
    container.client.upload_blob(f"p/{name}", b"content")
    container.client.upload_blob("p/good", b"good")
    ran = run(haul, "cp", container.az("p/"), "back", "--json", codes=(0, 1))
    came = (tmp_path / "back" / name).exists()
    assert came == (ran.code == 0)
    if came:
        run(haul, "verify", container.az("p/"), "back")
    else:
        assert ran.summary["failures"][0]["kind"] == "unsupported"
    run(haul, "clean", "back")
    assert everything(tmp_path / "back") == sorted([name, "good"] if came else ["good"])


@pytest.mark.parametrize("name", ["mine", ".haul-notes.partial"])
def test_clean_of_a_file_is_refused(name: str, haul: Haul, tmp_path: Path) -> None:
    """`clean` of a file: no folder, so nothing is removed."""
    (tmp_path / name).write_bytes(b"mine")
    run(haul, "clean", name, codes=(1, 2, 4))
    assert (tmp_path / name).read_bytes() == b"mine"


def test_clean_follows_no_links(haul: Haul, tmp_path: Path) -> None:
    """`clean` of a folder with links to other folders: leftovers there stay."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".haul-0123456789abcdef.partial").write_bytes(b"")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(outside)
    run(haul, "clean", "tree", codes=(0, 1))
    assert everything(outside) == [".haul-0123456789abcdef.partial"]
