"""Exports that find their rows by an index table instead of reading the whole table."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haulage import _engine
from haulage.errors import LocalIOError
from haulage.tables import lookup
from haulage.tables.moving.leftovers import unlinked_if_failed
from haulage.tables.moving.results import Exported
from haulage.tables.moving.streaming import opened
from haulage.transfer import StoreOptions

#: What begins text that a spreadsheet would run.
_FORMULA = r"^([=+\-@\t\r\n])"


@dataclass
class Found:
    """Rows that an index has led to."""

    index: str
    rows: list[dict[str, Any]]
    requests: int
    bytes_wire: int
    began: float


def answer(table: str, filter: str, select: Sequence[str], options: StoreOptions) -> Found | None:
    """Return the rows that a filter asks for, where one of its columns has an index; ``None`` where none has.

    Rows that were written without the index are not found.
    """
    began = time.monotonic()
    led = lookup.lead(table, filter, options)
    if led is None:
        return None
    rows, size = lookup.rows(table, led.keys, filter, select, options)
    return Found(led.index, rows, led.requests + len(led.keys), size, began)


def write(found: Found, table: str, path: Path, format: str | None, *, disarm: bool = True) -> Exported:
    """Write the rows to a file in the form that an export has."""
    form = format or {"pq": "parquet", "ndjson": "jsonl", "json": "jsonl"}.get(
        path.suffix[1:], path.suffix[1:]
    )
    rows, mixed = _typed(found.rows)
    beside = path.with_name(f".{path.name}.haul-partial")
    disarmed = 0
    if form == "csv" and disarm:
        rows, disarmed = _disarmed(rows)
    if str(path) == "-":
        _write(rows, found.rows, path, form)
    else:
        with unlinked_if_failed(beside):
            _write(rows, found.rows, beside, form)
            beside.replace(path)
    digest = ""
    if form != "csv" and str(path) != "-":
        with tempfile.TemporaryDirectory(prefix="haul-table-") as scratch:
            digest = _engine.table_compare(str(path), str(path), scratch)["hash"]
    return Exported(
        table=_engine.Table(table).name if "://" not in table else table.partition("?")[0],
        path=str(path),
        rows=len(found.rows),
        columns=rows.column_names,
        mixed=mixed,
        requests=found.requests,
        retries=0,
        bytes_wire=found.bytes_wire,
        seconds=round(time.monotonic() - found.began, 6),
        hash=digest,
        index=found.index,
        disarmed=disarmed,
    )


def _typed(rows: list[dict[str, Any]]) -> tuple[Any, list[tuple[str, list[str]]]]:
    """Return the rows as a table of Arrow, with the names that columns have in an export."""
    import pyarrow as pa

    body = json.dumps({"value": rows}).encode()
    page = pa.ipc.open_stream(_engine.table_page_arrow(body)).read_all()
    kinds: dict[str, list[str]] = {}
    for name in page.column_names:
        plain, _, kind = name.rpartition("@")
        kinds.setdefault(plain, []).append(kind)
    names = [
        plain if len(kinds[plain]) == 1 and not kind.endswith(".text") else f"{plain}@{kind}"
        for plain, _, kind in (name.rpartition("@") for name in page.column_names)
    ]
    return page.rename_columns(names), [(name, of) for name, of in kinds.items() if len(of) > 1]


def _disarmed(rows: Any) -> tuple[Any, int]:
    """Return the rows with an apostrophe before text that a spreadsheet would run, and how many they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count = 0
    for at, column in enumerate(rows.schema):
        if column.type != pa.string() or (column.metadata or {}).get(b"edm", b"Edm.String") != b"Edm.String":
            continue
        found = pc.match_substring_regex(rows.column(at), _FORMULA)
        count += pc.sum(found).as_py() or 0
        armed = pc.replace_substring_regex(rows.column(at), _FORMULA, r"'\1")
        rows = rows.set_column(at, column, armed)
    return rows, count


def _write(rows: Any, raw: list[dict[str, Any]], path: Path, form: str) -> None:
    try:
        with opened(path) as file:
            if form == "parquet":
                import pyarrow.parquet as pq

                pq.write_table(rows, file, compression="zstd")
            elif form == "csv":
                import pyarrow.csv

                pyarrow.csv.write_csv(rows, file)
            elif form == "jsonl":
                for row in raw:
                    kept = {name: value for name, value in row.items() if not name.startswith("odata.")}
                    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
                    file.write(f"{text}\n".encode())
            else:
                import pyarrow as pa

                with pa.ipc.new_stream(file, rows.schema) as stream:
                    stream.write_table(rows)
    except OSError as error:
        raise LocalIOError("write", str(path), str(error.strerror or error), None) from error
