"""What `verify`, `cp` and `plan` say where things differ, where nothing is left, and where bounds make no
sense.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import trees
from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_ground import everything, fifo
from hostile.trees_runs import each_with_one, failed_kinds, outcomes, run

FILES, MANY = 600, 100_000


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    return emulator.container()


@pytest.fixture
def copied(haul: Haul, container: Container, tmp_path: Path) -> Path:
    """A tree of twelve files that lies at the service too."""
    tree = trees.make(tmp_path / "tree", files=11, awkward=False)
    run(haul, "cp", "tree", container.az("run/"))
    return tree


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def small_files(folder: Path, count: int) -> None:
    """Make many small files, as `trees.make` does, but quickly."""
    for number in range(count):
        place = folder / f"{number // 1000:03}"
        if number % 1000 == 0:
            place.mkdir(parents=True)
        (place / f"{number % 1000:03}").write_bytes(b"%08d" % number)


@pytest.mark.parametrize("way", ["there", "back"])
@pytest.mark.parametrize(
    "count", [FILES, pytest.param(MANY, marks=[pytest.mark.long, pytest.mark.timeout(900)])]
)
def test_files_that_all_differ_take_about_as_long_as_equal_ones(
    count: int, way: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """`verify` of 600 (100,000) files that all differ: within twice the time of equal ones, without a storm
    of retries.
    """
    small_files(tmp_path / "tree", count)
    run(haul, "cp", "tree", container.az(""), timeout=200)
    names = ["tree", container.az("")] if way == "there" else [container.az(""), "tree"]
    equal = run(haul, "verify", *names, "--json", timeout=200)
    assert equal.summary["objects_done"] == count
    for file in (tmp_path / "tree").rglob("*"):
        if file.is_file():
            flip(file)
    differ = run(haul, "verify", *names, "--json", codes=(5,), timeout=200)
    assert differ.summary["objects_differ"] == count
    assert differ.summary["objects_failed"] == differ.summary["objects_missing"] == 0
    assert differ.summary["retries"] <= count // 100
    # It reads each twice, at most.
    assert differ.cpu_s <= 2 * equal.cpu_s + 0.5


@pytest.mark.parametrize("how", [(), ("--stored",)])
def test_verify_counts_each_outcome(
    how: tuple[str, ...], haul: Haul, copied: Path, container: Container
) -> None:
    """`verify` of trees where one differs, one is missing, one is extra: each is said and counted; exit code
    5.
    """
    flip(copied / "run-1/member-1/field-00001.bin")
    container.client.delete_blob("run/run-2/member-2/field-00002.bin")
    container.client.upload_blob("run/extra", b"x")
    ran = run(haul, "verify", "tree", container.az("run/"), "--json", *how, codes=(5,))
    said = {name: outcomes(ran).count(name) for name in ("equal", "differs", "missing", "extra", "failed")}
    assert said == {"equal": 10, "differs": 1, "missing": 1, "extra": 1, "failed": 0}
    for name in ("differ", "missing", "extra"):
        assert ran.summary[f"objects_{name}"] == 1
    assert ran.summary["objects_failed"] == 0
    text = run(haul, "verify", "tree", container.az("run/"), *how, codes=(5,)).text
    assert sorted(line.split(":")[0] for line in text.splitlines()) == ["differs", "extra", "missing"]


@pytest.mark.parametrize("size", [0, 1, 4096, 3_000_000])
def test_a_difference_in_one_file_is_a_difference(
    size: int, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """One bit, one byte less, one byte more in a file of any size: exit code 5, `differs`."""
    (tmp_path / "file").write_bytes(bytes(size))
    run(haul, "cp", "file", container.az("x"))
    contents = [bytes(size + 1)]
    if size:
        contents += [bytes(size - 1), b"\x01" + bytes(size - 1), bytes(size - 1) + b"\x80"]
    for content in contents:
        (tmp_path / "file").write_bytes(content)
        for names in (("file", container.az("x")), (container.az("x"), "file")):
            ran = run(haul, "verify", *names, "--json", codes=(5,))
            assert outcomes(ran) == ["differs"]


PATTERNS = ("--include=*.none", "--exclude=*", "--include=RUN-1/*")


@pytest.mark.parametrize(
    ("names", "pattern"),
    each_with_one(["tree @run/", "@run/ tree", "@ tree", "tree tree", "tree @none/"], PATTERNS),
)
def test_a_comparison_of_nothing_is_no_success(
    pattern: str, names: str, haul: Haul, copied: Path, container: Container
) -> None:
    """`verify` with patterns that leave nothing: not found (4), and it says so."""
    assert copied.is_dir()
    line = [name.replace("@", container.az("")) for name in names.split()]
    ran = run(haul, "verify", *line, pattern, "--json", codes=(4,))
    assert failed_kinds(ran) == {"not_found"}
    run(haul, "verify", *line, pattern, codes=(4,))


@pytest.mark.parametrize(
    ("source", "destination"),
    [
        ("empty", "{}run/"),
        ("empty", "{}none/"),
        ("{}none/", "empty"),
        ("nodes", "{}run/"),
        ("nodes", "empty"),
    ],
)
def test_a_comparison_with_nothing_there_is_no_success(
    source: str, destination: str, haul: Haul, copied: Path, container: Container
) -> None:
    """`verify` of a folder or prefix that is empty: not found (4); of one with nothing but links and nodes: a
    failure (1).
    """
    (copied.parent / "empty").mkdir()
    (copied.parent / "nodes").mkdir()
    fifo(copied.parent / "nodes" / "pipe")
    (copied.parent / "nodes" / "link").symlink_to("nowhere")
    az = container.az("")
    ran = run(
        haul, "verify", source.format(az), destination.format(az), codes=(1 if source == "nodes" else 4,)
    )
    ran.says("nothing was compared" if source == "nodes" else "hint")


@pytest.mark.parametrize(
    ("line", "pattern"),
    each_with_one(
        ["cp tree @new/", "cp @run/ back", "cp tree back/", "plan tree @new/", "plan @run/ back"], PATTERNS
    ),
)
def test_a_copy_of_nothing_is_no_success(
    line: str, pattern: str, haul: Haul, copied: Path, container: Container
) -> None:
    """`cp` and `plan` with patterns that leave nothing of a source that has names: not found (4), and it says
    so.
    """
    words = [word.replace("@", container.az("")) for word in line.split()]
    ran = run(haul, *words, pattern, "--json", codes=(4,))
    assert failed_kinds(ran) == {"not_found"}
    assert not (copied.parent / "back").exists()


def test_a_pattern_for_one_of_several_sources_is_enough(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    """`cp` of several sources where the patterns leave something of one: that is copied."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.nc").write_bytes(b"content")
    run(haul, "cp", "one", "two", container.az("x/"), "--include", "two*", codes=(0, 1))
    assert set(container.contents()) == {"x/two.nc"}


RATES = ("0mbit", "0", "0bit", "1bit", "7kbit", "7999bit", "0.001mbit", "-1mbit", "1e-9gbit")
LINES = ("cp file @", "plan file @", "ls @", "rm @file", "verify file @", "cat @x", "clean @", "du @")


@pytest.mark.parametrize(("line", "rate"), each_with_one(LINES, RATES))
def test_a_cap_that_never_moves_is_refused(
    rate: str, line: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """`--cap` below 8 kbit/s: refused (2), at once, by every verb."""
    (tmp_path / "file").write_bytes(bytes(1000))
    words = [word.replace("@", container.az("")) for word in line.split()]
    assert run(haul, *words, f"--cap={rate}", codes=(2,), timeout=5).has_hint
    assert everything(tmp_path) == ["file"]


def test_the_lowest_cap_moves(haul: Haul, container: Container, tmp_path: Path) -> None:
    """`--cap 8kbit`: slow, and it arrives."""
    (tmp_path / "file").write_bytes(bytes(100))
    run(haul, "cp", "file", container.az("x"), "--cap", "8kbit", timeout=15)
    assert container.contents() == {"x": bytes(100)}
