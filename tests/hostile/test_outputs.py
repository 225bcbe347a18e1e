"""Files that the command writes about its work: never over a source, a destination or what is not theirs."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import duckdb
import pytest

import trees
from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_ground import NODES, closed, everything, fifo, snapshot
from hostile.trees_runs import AS_A_USER, each_and_rest, each_with_one, in_shell, run

#: The options, and a good name for each.
OUTPUTS = {"--record": "run.parquet", "--receipt": "receipt.jsonl"}


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    container = emulator.container()
    container.client.upload_blob("p/x", b"content of x")
    container.client.upload_blob("p/y", b"content of y")
    return container


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return trees.make(tmp_path / "tree", files=5, awkward=False)


def words(line: str, container: Container) -> list[str]:
    return [word.replace("@", container.az("")) for word in line.split()]


def rows(record: Path) -> int:
    with duckdb.connect() as database:
        found = database.execute(f"select count(*) from '{record}'").fetchone()
    assert found
    return int(found[0])


def is_whole(file: Path, option: str) -> bool:
    """Whether a file is a record or a receipt that can be read to its end."""
    if option == "--record":
        return rows(file) >= 0
    lines = [json.loads(line)["line"] for line in file.read_text().splitlines()]
    return [lines[0], lines[-1]] == ["receipt", "end"]


def foreign_parquet(path: Path) -> None:
    with duckdb.connect() as database:
        database.execute(f"copy (select 42 as answer) to '{path}' (format parquet)")


def foreign_lines(path: Path) -> None:
    path.write_text('{"line":"of mine"}\n')


#: What stands where the output should go, and where that is.
NAMED = {
    "a source": "tree/run-0/member-0/field-00000.bin",
    "a source by another path": "./tree/../tree/run-0/member-0/field-00000.bin",
    "a second name of a source": "second-name",
    "a link to a source": "link-to-source",
    "the source tree": "tree",
    "the source tree/": "tree/",
    "a folder": "folder",
    "a folder of the source": "tree/run-0",
    "nothing's folder": "folder/none/file",
    "a text": "notes.txt",
    "a table": "table.parquet",
    "lines": "lines.jsonl",
    "the shell": "script",
    "broken": "broken.parquet",
}


def furnish(folder: Path) -> None:
    first = folder / NAMED["a source"]
    (folder / "second-name").hardlink_to(first)
    (folder / "link-to-source").symlink_to(first)
    (folder / "folder").mkdir()
    (folder / "notes.txt").write_text("notes of a person\n")
    foreign_parquet(folder / "table.parquet")
    foreign_lines(folder / "lines.jsonl")
    (folder / "script").write_text("#!/bin/sh\n")
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more")


@pytest.mark.parametrize(("option", "place"), each_and_rest(list(OUTPUTS), list(NAMED)))
def test_an_output_never_goes_over_a_source_or_a_foreign_file(
    place: str, option: str, haul: Haul, tree: Path, container: Container
) -> None:
    """`--record` and `--receipt` naming a source, a link or second name of one, a folder, or a file of
    another kind: refused (2) before anything is copied; all stays as it is.
    """
    furnish(tree.parent)
    before = snapshot(tree.parent), container.contents()
    codes = (1, 2, 4) if place == "nothing's folder" else (2,)
    assert run(haul, "cp", "tree", container.az("new/"), option, NAMED[place], codes=codes).has_hint
    assert (snapshot(tree.parent), container.contents()) == before


@pytest.mark.parametrize(
    ("line", "option"),
    each_with_one(
        [
            "cp tree/run-0/member-0/field-00000.bin @new/x",
            "cp tree/run-0/member-0/field-00000.bin other",
            "cp tree/run-0/member-0/field-00000.bin tree/run-1 @new/",
            "cp tree other",
        ],
        list(OUTPUTS),
    ),
)
def test_no_kind_of_source_is_written_over(
    line: str, option: str, haul: Haul, tree: Path, container: Container
) -> None:
    """A named file, one of several sources, or a file of a tree that is copied locally as `--record`: refused
    (2).
    """
    before = snapshot(tree.parent), container.contents()
    run(haul, *words(line, container), option, NAMED["a source"], codes=(2,))
    assert (snapshot(tree.parent), container.contents()) == before


@pytest.mark.parametrize("option", OUTPUTS)
def test_an_empty_source_is_no_place_for_an_output(
    option: str, haul: Haul, tree: Path, container: Container
) -> None:
    """A named source of no bytes as `--record` or `--receipt`: refused (2), as any other."""
    (tree / "nothing").touch()
    run(haul, "cp", "tree/nothing", container.az("new/"), option, "tree/nothing", codes=(2,))
    assert (tree / "nothing").stat().st_size == 0


@pytest.mark.parametrize(
    "name", ["tree/run-0/member-0/field-00000.bin", "second-name", "notes.txt", "folder"]
)
def test_verify_writes_its_record_over_nothing_either(
    name: str, haul: Haul, tree: Path, container: Container
) -> None:
    """`verify --record` naming what it compares, a folder or a foreign file: refused (2)."""
    furnish(tree.parent)
    run(haul, "cp", "tree", container.az("run/"))
    before = snapshot(tree.parent)
    for line in ("verify tree @run/", "verify @run/ tree"):
        run(haul, *words(line, container), "--record", name, codes=(2,))
        assert snapshot(tree.parent) == before


def test_a_record_does_not_lie_among_what_is_compared(haul: Haul, tree: Path, container: Container) -> None:
    """`verify --record` naming a file in the destination's folder, where the next run would call it extra:
    refused (2).
    """
    run(haul, "cp", "tree", container.az("run/"))
    before = everything(tree)
    run(haul, "verify", container.az("run/"), "tree", "--record", "tree/run.parquet", codes=(2,))
    assert everything(tree) == before


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("cp @p/x back.bin", "back.bin"),
        ("cp @p/x back.bin", "./tree/../back.bin"),
        ("cp @p/x back/", "back/x"),
        ("cp @p/ back", "back/y"),
        ("cp tree/run-1 back", "back/member-1/field-00001.bin"),
    ],
)
def test_an_output_never_goes_over_a_destination(
    line: str, output: str, there: bool, option: str, haul: Haul, tree: Path, container: Container
) -> None:
    """`--record` and `--receipt` naming a file that is copied to, there already or not: refused (2)."""
    place = tree.parent / output
    if there:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"before")
    ran = run(haul, *words(line, container), option, output, codes=(2, 4) if "back/" in output else (2,))
    assert ran.has_hint
    left = place.read_bytes() if place.exists() else None
    assert (
        left in (b"before", None, b"content of x", b"content of y")
        or left == (tree / "run-1/member-1/field-00001.bin").read_bytes()
    )


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("node", ["fifo", "socket", "null", "full", "block", "/dev/null", "/dev/full"])
def test_an_output_never_replaces_a_node(
    node: str, option: str, haul: Haul, tree: Path, container: Container
) -> None:
    """`--record` and `--receipt` naming a FIFO, socket or device: written to or refused at once, never
    replaced.
    """
    place = Path(node) if node.startswith("/") else tree.parent / "node"
    if not node.startswith("/"):
        NODES[node](place)
    before = place.lstat()
    run(
        haul, "cp", "tree", container.az("new/"), option, place, codes=(1, 2) if "full" in node else (0, 1, 2)
    )
    after = place.lstat()
    assert (stat.S_IFMT(after.st_mode), after.st_rdev) == (stat.S_IFMT(before.st_mode), before.st_rdev)
    assert everything(tree.parent)[:2] in (["node", "tree"], ["tree", "tree/empty file"])


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("target", ["notes.txt", "tree/run-0/member-0/field-00000.bin", "none", "round"])
def test_an_output_does_not_go_through_a_link(
    target: str, option: str, haul: Haul, tree: Path, container: Container
) -> None:
    """`--record` and `--receipt` naming a link to a foreign file: that keeps its content."""
    furnish(tree.parent)
    (tree.parent / "round").symlink_to(target)
    before = trees.contents(tree.parent)
    run(haul, "cp", "tree", container.az("new/"), option, "round", codes=(0, 1, 2))
    after = trees.contents(tree.parent)
    assert {name: after[name] for name in before if name != "round"} == {
        name: content for name, content in before.items() if name != "round"
    }


@pytest.mark.parametrize("option", OUTPUTS)
def test_an_output_in_the_source_tree_is_no_content(
    option: str, haul: Haul, tree: Path, container: Container
) -> None:
    """A record or receipt in the tree that is uploaded: written, not uploaded, in the first and in later
    runs.
    """
    expected = {f"new/{name}": content for name, content in trees.contents(tree).items()}
    output = tree / OUTPUTS[option]
    for number in range(3):
        (tree / f"more-{number}").write_bytes(b"more")
        expected[f"new/more-{number}"] = b"more"
        run(haul, "cp", "tree", container.az("new/"), option, output)
        found = {name: content for name, content in container.contents().items() if name.startswith("new/")}
        trees.assert_same(found, expected)
        assert is_whole(output, option)


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("there", [True, False])
def test_an_output_beside_what_comes_down_is_no_content(
    there: bool, option: str, haul: Haul, tmp_path: Path, container: Container
) -> None:
    """A record or receipt in the folder that is downloaded to: refused (2; 4 without such a folder), or
    whole and in nobody's way.
    """
    output = tmp_path / "back" / OUTPUTS[option]
    if there:
        output.parent.mkdir()
    ran = run(haul, "cp", container.az("p/"), "back", option, output, codes=(0, 2) if there else (0, 2, 4))
    if ran.code == 0:
        assert trees.contents(tmp_path / "back").keys() == {"x", "y", OUTPUTS[option]}
        assert is_whole(output, option)
    else:
        assert not output.exists()


def test_two_outputs_in_one_file_are_refused(haul: Haul, tree: Path, container: Container) -> None:
    """`--record` and `--receipt` naming one file: refused (2)."""
    run(haul, "cp", "tree", container.az("new/"), "--record", "out", "--receipt", "./out", codes=(2,))
    assert everything(tree.parent)[0] == "tree"


@pytest.mark.parametrize("option", OUTPUTS)
def test_an_output_is_replaced_by_one_of_its_kind(
    option: str, haul: Haul, tree: Path, container: Container
) -> None:
    """A record or receipt of an earlier run: replaced when there is something new to tell."""
    output = tree.parent / OUTPUTS[option]
    run(haul, "cp", "tree", container.az("new/"), option, output)
    first = output.read_bytes()
    (tree / "more").write_bytes(b"more")
    run(haul, "cp", "tree", container.az("new/"), option, output)
    assert output.read_bytes() != first
    assert is_whole(output, option)


@pytest.mark.parametrize("option", OUTPUTS)
def test_one_kind_does_not_replace_the_other(
    option: str, haul: Haul, tree: Path, container: Container
) -> None:
    """A receipt where the record should go, and the reverse: refused (2)."""
    (other,) = set(OUTPUTS) - {option}
    run(haul, "cp", "tree", container.az("new/"), other, "output")
    before = (tree.parent / "output").read_bytes()
    run(haul, "cp", "tree", container.az("newer/"), option, "output", codes=(2,))
    assert (tree.parent / "output").read_bytes() == before


@pytest.mark.parametrize("line", ["cp tree @new/", "cp @p/ back", "cp @p/x back.bin"])
def test_a_run_with_nothing_to_do_keeps_the_last_record(
    line: str, haul: Haul, tree: Path, container: Container
) -> None:
    """A second run with nothing to do: the record of the first stays."""
    record = tree.parent / "run.parquet"
    run(haul, *words(line, container), "--record", record)
    first = record.read_bytes()
    assert rows(record) > 0
    run(haul, *words(line, container), "--record", record)
    assert record.read_bytes() == first


@pytest.mark.parametrize("option", OUTPUTS)
def test_an_output_that_cannot_be_written_is_said_before_the_copy(
    option: str, haul: Haul, tree: Path, container: Container
) -> None:
    """`--record` and `--receipt` in a folder that may not be written: permission denied (3), and nothing is
    copied.
    """
    (tree.parent / "locked").mkdir()
    before = container.contents()
    with closed(tree.parent / "locked", mode=0o500):
        line = ("cp", "tree", container.az("new/"), option, "locked/out")
        run(haul, *line, codes=(3,), wrap=AS_A_USER)
    assert container.contents() == before


VERBS = (
    "cp tree @new/",
    "cp @p/ back",
    "cp @p/x back",
    "verify tree tree",
    "plan tree @new/",
    "ls -r @",
    "du @p/",
    "stat @p/x",
    "clean tree",
    "rm @p/y",
    "rm -r @p/",
)


@pytest.mark.parametrize("line", VERBS)
def test_events_for_a_full_device_are_a_failure(
    line: str, haul: Haul, tree: Path, container: Container
) -> None:
    """`--json > /dev/full` of any verb: exit code 1, said on standard error."""
    assert tree.is_dir()
    with Path("/dev/full").open("wb") as full:
        ran = run(haul, *words(line, container), "--json", stdout=full, codes=(1,))
    assert "standard output" in ran.stderr


@pytest.mark.parametrize(
    "line",
    [
        "ls -r @",
        "du @p/",
        "stat @p/x",
        "plan tree @new/",
        "cat @p/x",
        "cp @p/x -",
        "completion bash",
        "--help",
        "cp --help",
        "--version",
    ],
)
def test_text_for_a_full_device_is_a_failure(line: str, haul: Haul, tree: Path, container: Container) -> None:
    """`haul ls > /dev/full`, `cat`, `cp ... -`: exit code 1."""
    assert tree.is_dir()
    with Path("/dev/full").open("wb") as full:
        said = run(haul, *words(line, container), stdout=full, codes=(1,)).stderr
    assert re.search("write (standard output|-): no space left on device", said)


ALL = [*VERBS, "cat @p/x", "cp @p/x -", "completion bash", "--help", "cp", "rm"]
CLOSED = (">&-", "2>&-", ">&- 2>&-", "< /dev/null 2> /dev/full", "<&-", "<&- >&- 2>&-")


@pytest.mark.parametrize(("line", "where"), each_with_one(ALL, CLOSED) + [(line, "2>&-") for line in ALL[1:]])
def test_closed_outputs_break_nothing(
    line: str, where: str, haul: Haul, tree: Path, container: Container
) -> None:
    """Standard input, output or error closed or full: no panic, a documented exit code, no message in the
    data.
    """
    before = snapshot(tree)
    in_shell(haul, f"haul {' '.join(words(line, container))} {where}", codes=(0, 1, 2, 5))
    assert snapshot(tree) == before
    if line == VERBS[1]:
        assert trees.contents(tree.parent / "back") == {"x": b"content of x", "y": b"content of y"}


def test_a_reader_that_stops_reading_stops_no_copy(haul: Haul, tree: Path, container: Container) -> None:
    """`haul cp --json | head -1`: the copy is completed."""
    in_shell(haul, f"haul cp tree {container.az('new/')} --json | head -1")
    found = {name.removeprefix("new/") for name in container.contents() if name.startswith("new/")}
    assert found == set(trees.contents(tree))


def test_a_fifo_as_record_does_not_hang(haul: Haul, tree: Path, container: Container) -> None:
    """A FIFO as `--record` that somebody reads: written to or refused, at once."""
    fifo(tree.parent / "pipe")
    in_shell(haul, f"cat pipe > got & haul cp tree {container.az('new/')} --record pipe", codes=(0, 1, 2))
    assert stat.S_ISFIFO((tree.parent / "pipe").lstat().st_mode)
