"""Files of rows replace earlier rows, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from command import Haul
from haulage.watch.rows import ROWS
from sentences import Sentence
from watch.writing import InFolder, Writer

EVENTS = '{"job":"0123456789abcdef","event":"failed"}\n'


@pytest.fixture
def haul(tmp_path: Path) -> Haul:
    return Haul(tmp_path)


@pytest.fixture
def log(folder: InFolder) -> InFolder:
    writer = Writer(folder)
    writer.start()
    # Else it would be silent before long.
    writer.end()
    return folder


def _table(path: Path) -> None:
    import duckdb

    with duckdb.connect() as database:
        database.execute(f"copy (select 1 as one) to '{path}' (format parquet)")


@pytest.mark.parametrize("option", ["--csv", "--parquet"])
@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("station,value\na,1\n"),
        lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100)),
        lambda path: path.write_text(EVENTS),
        _table,
    ],
    ids=["csv", "hdf5", "events", "parquet"],
)
def test_a_file_of_something_else_is_kept(
    option: str, make: Callable[[Path], object], haul: Haul, log: InFolder, tmp_path: Path, sentence: Sentence
) -> None:
    """It was overwritten, and nothing was said."""
    path = tmp_path / "mine"
    make(path)
    before = path.read_bytes()
    said = haul("watch", log.root, "--once", option, path, code=2)
    sentence(said.stderr)
    assert said.hints
    assert path.read_bytes() == before


def test_what_is_beside_a_parquet_file_is_kept(
    haul: Haul, log: InFolder, tmp_path: Path, sentence: Sentence
) -> None:
    (tmp_path / f"rows.parquet{ROWS}").write_text("mine")
    sentence(haul("watch", log.root, "--once", "--parquet", "rows.parquet", code=2).hints)
    assert (tmp_path / f"rows.parquet{ROWS}").read_text() == "mine"
    assert not (tmp_path / "rows.parquet").exists()


def test_what_is_read_is_kept(haul: Haul, log: InFolder, tmp_path: Path, sentence: Sentence) -> None:
    (tmp_path / "events.jsonl").write_text(EVENTS)
    (tmp_path / "link").symlink_to("events.jsonl")
    os.link(tmp_path / "events.jsonl", tmp_path / "second")
    for name in ("events.jsonl", "./events.jsonl", "link", "second"):
        for option in ("--csv", "--parquet"):
            said = haul("watch", "events.jsonl", option, name, code=2)
            sentence(said.stderr)
            assert said.hints
    assert (tmp_path / "events.jsonl").read_text() == EVENTS
    (file,) = [path for path in Path(log.root).rglob("*") if path.is_file()]
    before = file.read_bytes()
    for path in (file, file.parent / "rows.csv"):
        said = haul("watch", log.root, "--once", "--csv", path, code=2)
        sentence(said.stderr)
    assert file.read_bytes() == before
    assert [*file.parent.iterdir()] == [file]


@pytest.mark.parametrize("beside", ["", ROWS])
def test_one_file_for_both_is_refused(beside: str, haul: Haul, log: InFolder, tmp_path: Path) -> None:
    said = haul("watch", log.root, "--once", "--csv", f"rows{beside}", "--parquet", "rows", code=2)
    assert "name the same file" in said.stderr
    assert said.hints == {"name two different files"}
    assert not [*tmp_path.glob("rows*")]


def test_earlier_rows_and_empty_files_are_replaced(haul: Haul, log: InFolder, tmp_path: Path) -> None:
    both = ("--csv", "rows.csv", "--parquet", "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        (tmp_path / name).touch()
    haul("watch", log.root, "--once", "--quiet", *both)
    first = (tmp_path / "rows.csv").read_text()
    assert first.count("\n") > 1
    haul("watch", log.root, "--once", "--quiet", *both)
    assert (tmp_path / "rows.csv").read_text() == first
    assert "job" in haul("watch", log.root, "--once", "--csv", "/dev/stdout").text
