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
from haulage.tables.moving.text_forms import write_csv, write_jsonl
from haulage.transfer import StoreOptions

_KEYS = ("PartitionKey", "RowKey")


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
    page, names, mixed = _typed(found.rows)
    beside = path.with_name(f".{path.name}.haul-partial")
    if str(path) == "-":
        disarmed = _write(page, names, path, form, disarm=disarm)
    else:
        with unlinked_if_failed(beside):
            disarmed = _write(page, names, beside, form, disarm=disarm)
            beside.replace(path)
    digest = ""
    if form != "csv" and str(path) != "-":
        with tempfile.TemporaryDirectory(prefix="haul-table-") as scratch:
            digest = _engine.table_compare(str(path), str(path), scratch)["hash"]
    return Exported(
        table=_engine.Table(table).name if "://" not in table else table.partition("?")[0],
        path=str(path),
        rows=len(found.rows),
        columns=names,
        mixed=mixed,
        requests=found.requests,
        retries=0,
        bytes_wire=found.bytes_wire,
        seconds=round(time.monotonic() - found.began, 6),
        since_unix_s=int(time.time() - (time.monotonic() - found.began)),
        hash=digest,
        index=found.index,
        disarmed=disarmed,
    )


def _typed(rows: list[dict[str, Any]]) -> tuple[Any, list[str], list[tuple[str, list[str]]]]:
    """Return the rows as a table of Arrow, the names that its columns have in an export, and mixed ones."""
    import pyarrow as pa

    body = json.dumps({"value": rows}).encode()
    page = pa.ipc.open_stream(_engine.table_page_arrow(body)).read_all()
    if not page.num_columns:
        keys = [pa.field(f"{key}@Edm.String", pa.string(), metadata={"edm": "Edm.String"}) for key in _KEYS]
        page = pa.schema(keys).empty_table()
    kinds: dict[str, list[str]] = {}
    for name in page.column_names:
        plain, _, kind = name.rpartition("@")
        kinds.setdefault(plain, []).append(kind)
    names = [
        plain if len(kinds[plain]) == 1 and not kind.endswith(".text") else f"{plain}@{kind}"
        for plain, _, kind in (name.rpartition("@") for name in page.column_names)
    ]
    return page, names, sorted((name, of) for name, of in kinds.items() if len(of) > 1)


def _write(page: Any, names: list[str], path: Path, form: str, *, disarm: bool) -> int:
    """Write rows; return before how many texts there is an apostrophe now."""
    disarmed = 0
    try:
        with opened(path) as file:
            if form == "parquet":
                import pyarrow.parquet as pq

                pq.write_table(page.rename_columns(names), file, compression="zstd")
            elif form == "csv":
                disarmed = write_csv(page, names, file, disarm=disarm)
            elif form == "jsonl":
                write_jsonl(page, file)
            else:
                import pyarrow as pa

                rows = page.rename_columns(names)
                with pa.ipc.new_stream(file, rows.schema) as stream:
                    stream.write_table(rows)
    except OSError as error:
        raise LocalIOError("write", str(path), str(error.strerror or error), None) from error
    return disarmed
