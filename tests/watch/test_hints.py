"""What it advises to do where something is wrong."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from command import Haul
from haulage.errors import CredentialError, HaulageError, LocalIOError
from haulage.watch.lines import Lines
from haulage.watch.places import Folder
from haulage.watch.rows import ROWS, ParquetRows
from haulage.watch.web import Page
from sentences import Sentence


@pytest.fixture
def haul(tmp_path: Path) -> Haul:
    (tmp_path / "x.py").write_text("import os\n")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    _parquet(tmp_path / "other.parquet", "select 1 as one")
    _parquet(
        tmp_path / "empty.parquet", "select '' object, '' fate, 1 size_bytes, 1 slot_ns, 1 ended_ns limit 0"
    )
    return Haul(tmp_path)


def _parquet(path: Path, sql: str) -> None:
    import duckdb

    with duckdb.connect() as database:
        database.execute(f"copy ({sql}) to '{path}' (format parquet)")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (2, ""),
        (2, "a --record b"),
        (2, "ftp://host/log --once"),
        (2, ". --port 99999"),
        (2, "log --nothing"),
        (2, "log --job 7"),
        (2, "x.py --once"),
        (4, "none.jsonl --once"),
        (4, "none --once"),
        (4, ". --once --job 0123456789abcdef"),
        (4, "--record none.parquet"),
        (5, "--record damaged.parquet"),
        (2, "--record other.parquet"),
        (2, "--record empty.parquet"),
        (1, ". --once --csv none/rows.csv"),
    ],
)
def test_line(haul: Haul, code: int, line: str, sentence: Sentence) -> None:
    said = haul("watch", *line.split(), code=code)
    assert said.hints
    sentence(said.stderr)


@pytest.mark.parametrize("option", ["--parquet", "--record"])
def test_a_name_that_duckdb_cannot_be_told(haul: Haul, option: str, sentence: Sentence) -> None:
    folder = haul.folder / os.fsdecode(b"b\xff")
    folder.mkdir()
    (haul.folder / "log").mkdir()
    shutil.copy(haul.folder / "empty.parquet", folder / "r")
    log = () if option == "--record" else ("log", "--once")
    said = haul("watch", *log, option, f"{folder.name}/{'r' if not log else 'p'}", code=2)
    sentence(said.hints)
    assert [one.name for one in folder.iterdir()] == ["r"]


def test_a_port_that_is_taken(sentence: Sentence) -> None:
    page = Page()
    with pytest.raises(LocalIOError) as raised:
        Page(page.port)
    page.close()
    sentence(raised.value)


def test_a_folder_that_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Root, as which tests may run, may read everything.
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(CredentialError) as raised:
        list(Folder(tmp_path).files(None))
    sentence(raised.value)


def test_a_file_that_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    file = tmp_path / "two words.jsonl"
    file.touch()
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(CredentialError) as raised:
        list(Lines(str(file), lambda: 0).read())
    sentence(raised.value)


def test_rows_that_make_no_parquet_file(tmp_path: Path) -> None:
    rows = ParquetRows(tmp_path / "rows.parquet")
    (tmp_path / "rows.parquet.partial").mkdir()
    with pytest.raises(HaulageError) as raised:
        rows.close()
    assert raised.value.hint == f"the rows are in {tmp_path / 'rows.parquet'}{ROWS}"
    assert (tmp_path / f"rows.parquet{ROWS}").exists()
