"""Exports that find their rows by an index write what exports without it write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import haulage
from endpoints import TableEndpoint
from haulage.tables.moving import export_table, import_table
from tables.moving import at, entities, fresh, typed_row

DOUBLES = (1e16, 1e15, 1.5e-5, 0.0001, -1e-7, 1e300, 5e-324, 123456789.125, -0.0)
TEXTS = ("", " a", "b ", '"q"', "+1", "a,b", "\n=1", "\u2028 \x7f\x01\t")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A table with an index of `group`, and values of all types, some of which are odd."""
    lines = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    with haulage.Emulator() as emulator:
        table = at(TableEndpoint("emulator", emulator.endpoint), fresh())
        with lines.open("w", encoding="utf-8") as file:
            for n, row in enumerate(entities(300, 70)):
                file.write(json.dumps(typed_row(row) | odd(n)) + "\n")
        assert import_table(lines, table, create=True, index=["group"]).refused == 0
        yield table


def odd(n: int) -> dict[str, Any]:
    mixed: list[dict[str, Any]] = [
        {"mixed": n},
        {"mixed": f"=t{n}"},
        {"mixed": "1601-01-01T00:00:00Z", "mixed@odata.type": "Edm.DateTime"},
        {},
    ]
    return mixed[n % 4] | {
        "group": n % 3,
        "odd@odata.type": "Edm.Double",
        "odd": ("NaN", "Infinity", "-Infinity")[n // 3 % 3],
        "number": DOUBLES[n % len(DOUBLES)],
        "string": TEXTS[n % len(TEXTS)],
    }


FILTERS = {
    "group eq 1": ((), ("string", "mixed"), ("none",)),
    "group eq 0 and small gt 3": ((),),
    "group eq 77": ((),),
}


@pytest.mark.parametrize("formulas", ["disarm", "keep"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow"])
def test_an_index_changes_no_byte(
    table: str, tmp_path: Path, form: str, formulas: Literal["disarm", "keep"]
) -> None:
    """CSV ended with a traceback where rows hold bytes, and times and quotation marks were others."""
    by_index, whole = tmp_path / f"index.{form}", tmp_path / f"whole.{form}"
    for filter, selects in FILTERS.items():
        for select in selects:
            how: Any = {"filter": filter, "select": select, "formulas": formulas}
            found = export_table(table, by_index, **how)
            other = export_table(table, whole, use_index=False, **how)
            assert (found.index, other.index) == (f"{table}Bygroup", None)
            assert (found.rows, found.disarmed, found.columns) == (other.rows, other.disarmed, other.columns)
            assert contents(by_index) == contents(whole)
            assert (found.rows == 0) == ("77" in filter)


def contents(path: Path) -> object:
    match path.suffix:
        case ".parquet":
            return repr(pq.read_table(path).to_pydict())
        case ".arrow":
            return repr(pa.ipc.open_stream(path.read_bytes()).read_all().to_pydict())
        case _:
            return path.read_bytes()


def test_a_record_is_written_where_an_index_could_answer(table: str, tmp_path: Path) -> None:
    """The index answered, and no record was written."""
    record = tmp_path / "record.parquet"
    done = export_table(table, tmp_path / "rows.csv", filter="group eq 1", record=record)
    assert (done.index, done.rows) == (None, 100)
    with duckdb.connect() as connection:
        requests = connection.execute("SELECT count(*) FROM read_parquet(?)", [str(record)]).fetchall()
    assert requests[0][0] >= done.requests > 0
