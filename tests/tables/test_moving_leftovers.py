"""What exports and imports that fail leave on the disk: nothing, unless the next run can use it."""

from __future__ import annotations

import fcntl
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import haulage
from command import Haul
from endpoints import TableEndpoint
from haulage.tables.moving import copy_table, export_table, import_table
from haulage.tables.moving.leftovers import removed_if_failed
from tables.moving import at, fresh


@pytest.fixture(scope="module")
def own() -> Iterator[TableEndpoint]:
    with haulage.Emulator() as emulator:
        yield TableEndpoint("emulator", emulator.endpoint)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "-"])
def test_an_export_that_fails_at_once_leaves_no_folder(
    own: TableEndpoint, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, folder = tmp_path / "scratch", tmp_path / "folder"
    scratch.mkdir()
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(folder)
    with pytest.raises(haulage.NotFoundError):
        export_table(at(own, "Nowhere"), name, format="csv" if name == "-" else None)
    assert (names(folder), names(scratch)) == ([], [])
    table = at(own, fresh())
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"PartitionKey":"p","RowKey":"r"}\n')
    import_table(rows, table, create=True)
    with pytest.raises(haulage.UsageError):
        export_table(table, name, format="csv" if name == "-" else None, filter="RowKey lt")
    assert (names(folder), names(scratch)) == ([], [])


def test_a_copy_that_fails_at_once_leaves_no_folder(
    own: TableEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(haulage.NotFoundError):
        copy_table(at(own, "Nowhere"), at(own, "Nowhere2"))
    assert not [*tmp_path.glob("haulage/*")]


def test_an_export_that_has_rows_keeps_them(tmp_path: Path) -> None:
    path, folder = tmp_path / "a.csv", tmp_path / ".a.csv.haul-export"
    folder.mkdir()
    (folder / "lock").touch()
    (folder / "000000.pages").write_bytes(b"rows")
    with pytest.raises(KeyError), removed_if_failed(path):
        raise KeyError
    assert (folder / "000000.pages").read_bytes() == b"rows"
    (folder / "000000.pages").write_bytes(b"")
    with (folder / "lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(KeyError), removed_if_failed(path):
            raise KeyError
    assert folder.exists()
    with pytest.raises(KeyError), removed_if_failed(path):
        raise KeyError
    assert not folder.exists()


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_an_import_that_fails_at_once_leaves_no_notes(own: TableEndpoint, tmp_path: Path, name: str) -> None:
    csv = "PartitionKey,RowKey,x\np,r,1\n"
    json_lines = '{"PartitionKey":"p","RowKey":"r","x":1}\n'
    path = tmp_path / name
    path.write_text(csv if name.endswith("csv") else json_lines)
    with pytest.raises(haulage.NotFoundError):
        import_table(path, at(own, "Nowhere"))
    assert names(tmp_path) == [name]
    with pytest.raises(haulage.NotFoundError):
        import_table(path, at(own, "Nowhere2"), index=["x"])
    assert names(tmp_path) == [name]


def test_a_file_that_cannot_be_read_as_csv_leaves_nothing(own: TableEndpoint, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"\x00\xff\xfe" * 200)
    with pytest.raises(haulage.HaulageError):
        import_table(path, at(own, "Nowhere"))
    assert names(tmp_path) == ["rows.csv"]


def test_the_command_says_one_row_and_how_refused_rows_are_counted(
    own: TableEndpoint, tmp_path: Path
) -> None:
    haul, table = Haul(tmp_path), at(own, fresh())
    (tmp_path / "rows.csv").write_text("PartitionKey,RowKey,x\np,a,1\np,,2\n")
    said = haul("table", "import", "rows.csv", table, "--create", code=1)
    assert said.text.startswith(f"1 of 2 rows of rows.csv to {table} in ")
    letters = next(tmp_path.glob("*.refused.jsonl"))
    assert said.stderr == (
        f"haul: 1 row was refused; {letters.name} has the reasons, and the number of each row, "
        "counted from 0 without a header\n"
    )
    assert [json.loads(line)["row"] for line in letters.read_text().splitlines()] == [1]
    said = haul("table", "export", table, "all.jsonl")
    assert said.text.startswith(f"1 row of {table} to all.jsonl in ")
    # On a slow machine a table is asked for in parts.
    assert re.search(r", (1 request|\d+ requests)\)\n$", said.text), said.text
    assert haul("table", "verify", "all.jsonl", table).text.startswith("1 row is the same in both ")
