"""What the cases of tables have in common: the lines, the case, and what must hold of rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow.parquet as pq

from hostile.bends import body
from hostile.case import ROWS, TABLE, Case, Check, nothing_more
from hostile.rows import Row, Tables
from hostile.run import DOWN, Ran
from hostile.service import Bend

EXPORT = "table export az-table://Rows down/got.parquet"
IMPORT = "table import down/rows.jsonl az-table://New --create"
VERIFY = "table verify az-table://Rows down/rows.jsonl"
READS = (EXPORT, VERIFY)
NOTHING = "no file is left that looks whole"


def whole(ran: Ran) -> Iterable[str]:
    """A file of an export is there when it is whole, and only then; rows of an import are there once."""
    if EXPORT in ran.line.text:
        got = ran.folder / DOWN / "got.parquet"
        if got.exists() != (ran.code == 0):
            yield f"it ended with {ran.code}, and the file is {'' if got.exists() else 'not '}there"
        elif ran.code == 0 and (found := _rows(pq.read_table(got).to_pylist())) != _rows(ROWS):
            yield f"these are not the rows: {found}"
    if IMPORT in ran.line.text and ran.code == 0:
        there = ran.service.blobs
        assert isinstance(there, Tables)
        if _rows(there.tables["New"].values()) != _rows(ROWS):
            yield f"these are not the rows: {there.tables['New']}"


def _rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    names = ("PartitionKey", "RowKey", "n", "text")
    return sorted(
        ({name: row.get(name) for name in names} for row in rows), key=lambda row: list(row.values())[:2]
    )


def case(name: str, does: str, *bends: Bend, check: Check = nothing_more, **more: Any) -> Case:
    """Return the case of a table service that does this; unless told otherwise no page is believed."""
    given: dict[str, Any] = {
        "lines": READS,
        "kind": "protocol",
        "scheme": "az-table",
        "blobs": TABLE,
        "page_size": 4,
    }
    given |= {"must": NOTHING if more.get("code", 1) else ""} | more

    def checked(ran: Ran) -> Iterable[str]:
        yield from whole(ran)
        yield from check(ran)

    return Case(f"table-{name}", does, bends=bends, check=checked, **given)


def rewritten(change: Callable[[list[Row]], list[Row]]) -> Bend:
    def bent(data: bytes) -> bytes:
        told = json.loads(data)
        return json.dumps(told | {"value": change(told["value"])}).encode()

    return body(bent)
