"""Entities as JSON, lines of JSON, and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from haulage.tables.serve.entities import BINARY, BOOLEAN, DOUBLE, GUID, INT64, TIME, Entity
from haulage.tables.source import Metadata

#: The types that the value alone does not tell.
_ANNOTATED = {INT64, TIME, GUID, BINARY}
#: What makes a spreadsheet take the text of a cell for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def head(name: str) -> bytes:
    """Return what stands before the entities of an answer in JSON, other than with metadata none."""
    return b'{"odata.metadata":' + _dumps(f"$metadata#{name}").encode() + b',"value":['


def json_entities(entities: Iterable[Entity], name: str, metadata: Metadata) -> bytes:
    """Return entities separated by commas.

    >>> json_entities([{"A": ("Edm.Int64", "5")}], "t", "minimal")
    b'{"A@odata.type":"Edm.Int64","A":"5"}'
    """
    return b",".join(_dumps(_told(entity, name, metadata)).encode() for entity in entities)


def json_page(entities: Iterable[Entity], name: str, metadata: Metadata) -> bytes:
    """Return a page of JSON as the table service writes it."""
    begun = b'{"value":[' if metadata == "none" else head(name)
    return begun + json_entities(entities, name, metadata) + b"]}"


def ndjson(entities: Iterable[Entity]) -> bytes:
    """Return a line of JSON for each entity, with the values that JSON has with metadata none."""
    return b"".join(_dumps(_told(entity, "", "none")).encode() + b"\n" for entity in entities)


def csv_rows(rows: Iterable[Entity], names: Sequence[str], *, first: bool, disarm: bool = True) -> bytes:
    r"""Return rows of CSV (RFC 4180), below the names where they are the ``first``.

    Text that a spreadsheet would run as a formula gets an apostrophe in front, unless not to ``disarm``.

    >>> csv_rows([{"A": ("Edm.String", "=1+1")}], ["A"], first=True)
    b"A\r\n'=1+1\r\n"
    """
    text = io.StringIO()
    writer = csv.writer(text)
    if first:
        writer.writerow([disarmed(name) if disarm else name for name in names])
    for row in rows:
        writer.writerow([_cell(row[name], disarm) if name in row else "" for name in names])
    return text.getvalue().encode()


def disarmed(text: str) -> str:
    """Return the text, with an apostrophe in front where it would be taken for a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


def etag_of(entity: Entity) -> str | None:
    """Return the ETag that the table service gives an entity with this Timestamp."""
    stamp = entity.get("Timestamp")
    return f"W/\"datetime'{quote(str(stamp[1]), safe='')}'\"" if stamp else None


def address_of(entity: Entity, name: str) -> str | None:
    """Return the relative address of an entity; ``None`` for one without keys."""
    if "PartitionKey" not in entity or "RowKey" not in entity:
        return None
    keys = [quote(str(entity[key][1]).replace("'", "''"), safe="") for key in ("PartitionKey", "RowKey")]
    return f"{name}(PartitionKey='{keys[0]}',RowKey='{keys[1]}')"


def _cell(typed: tuple[str, Any], disarm: bool) -> str:
    edm, value = typed
    if edm == BOOLEAN:
        return "true" if value else "false"
    # Numbers begin with a minus and are none the less numbers.
    if disarm and isinstance(value, str) and edm not in (INT64, DOUBLE):
        return disarmed(value)
    return str(value)


def _told(entity: Entity, name: str, metadata: Metadata) -> dict[str, Any]:
    if metadata == "none":
        return {key: value for key, (_, value) in entity.items()}
    told: dict[str, Any] = {}
    if metadata == "full":
        address = address_of(entity, name)
        told = {"odata.type": f"haulage.{name}", "odata.etag": etag_of(entity)}
        told |= {"odata.id": address, "odata.editLink": address}
        told = {key: value for key, value in told.items() if value is not None}
    for key, (edm, value) in entity.items():
        if edm in _ANNOTATED or (edm == DOUBLE and not isinstance(value, float)):
            told[key + "@odata.type"] = edm
        told[key] = value
    return told


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def number(text: str) -> float:
    """Return a double of OData, whose infinities are words."""
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(text) or float(text)
