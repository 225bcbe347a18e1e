"""Entities: rows with the types of OData, whatever they were before and whatever they become."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from haulage.errors import ProtocolError

#: The name of a type, and the value as JSON has it.
Typed = tuple[str, Any]
#: The properties of a row by name; one that is null is not among them.
Entity = dict[str, Typed]

STRING, INT32, INT64, DOUBLE = "Edm.String", "Edm.Int32", "Edm.Int64", "Edm.Double"
BOOLEAN, TIME, GUID, BINARY = "Edm.Boolean", "Edm.DateTime", "Edm.Guid", "Edm.Binary"
_BY_PYTHON = {str: STRING, bool: BOOLEAN, int: INT32, float: DOUBLE}
_TYPE = "@odata.type"
#: The key of a column's metadata by which a source states what Arrow has no type for.
EDM_KEY = b"edm"
_DAY_NS = 86_400 * 10**9


def from_json(body: bytes, name: str) -> list[Entity]:
    """Return the entities of a page of JSON, with as much of their types as it tells.

    >>> from_json(b'{"value":[{"A":1,"B@odata.type":"Edm.Int64","B":"5"}]}', "page")
    [{'A': ('Edm.Int32', 1), 'B': ('Edm.Int64', '5')}]
    """
    try:
        rows = json.loads(body)["value"]
        return [_entity(row) for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        cause = f"the page is not the JSON of OData: {error}"
        raise ProtocolError(
            "read", name, cause, "check which server is at the address of the table"
        ) from None


def _entity(row: dict[str, Any]) -> Entity:
    found: Entity = {}
    for key, value in row.items():
        if value is None or key.startswith("odata.") or key.endswith(_TYPE):
            continue
        # Of its own columns the service tells no type, except on demand.
        implied = TIME if key == "Timestamp" else _BY_PYTHON.get(type(value), STRING)
        found[key] = (row.get(key + _TYPE) or implied, value)
    return found


def from_batch(batch: pa.RecordBatch) -> Iterator[Entity]:
    """Yield the rows of a batch as entities."""
    columns = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        edm, values = _column(field, column)
        columns.append([None if value is None else (edm, value) for value in values])
    names = batch.schema.names
    for row in zip(*columns, strict=True):
        yield {name: typed for name, typed in zip(names, row, strict=True) if typed is not None}


def edm_of(field: pa.Field) -> str:
    """Return the type of OData in which the values of a column are told."""
    kind = field.type
    if field.metadata and EDM_KEY in field.metadata:
        return str(field.metadata[EDM_KEY].decode())
    if pa.types.is_dictionary(kind):
        return edm_of(field.with_type(kind.value_type))
    for test, edm in _TESTS:
        if test(kind):
            return edm
    return STRING


def _is_uuid(kind: pa.DataType) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    )


def _is_small(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) and (kind.bit_width < 32 or kind == pa.int32()))


_TESTS: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (pa.types.is_boolean, BOOLEAN),
    (_is_small, INT32),
    (pa.types.is_integer, INT64),
    (pa.types.is_floating, DOUBLE),
    (pa.types.is_timestamp, TIME),
    (pa.types.is_date, TIME),
    (_is_uuid, GUID),
    (_is_binary, BINARY),
)


def _column(field: pa.Field, column: pa.Array) -> tuple[str, list[Any]]:
    """Return the type of a column and its values as JSON has them."""
    kind, edm = column.type, edm_of(field)
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return edm, [None if value is None else iso(value) for value in _nanoseconds(column)]
    values = (column.storage if _is_uuid(kind) else column).to_pylist()
    if _is_binary(kind) or _is_uuid(kind):
        told: Callable[[bytes], str] = (lambda value: str(UUID(bytes=value))) if edm == GUID else _base64
        return edm, [None if value is None else told(value) for value in values]
    if edm == INT64:
        return edm, [None if value is None else str(value) for value in values]
    if edm == DOUBLE:
        return edm, [
            value if value is None or math.isfinite(value) else _unbounded(value) for value in values
        ]
    if edm == STRING and not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return edm, [None if value is None else _text(value) for value in values]
    return edm, values


def _nanoseconds(column: pa.Array) -> list[int | None]:
    """Return times as nanoseconds since 1970; Python's integers do not end in 1677 and 2262."""
    kind = column.type
    unit = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    if pa.types.is_date32(kind):
        whole, scale = pc.cast(column, pa.int32()), _DAY_NS
    elif pa.types.is_date64(kind):
        whole, scale = pc.cast(column, pa.int64()), unit["ms"]
    else:
        whole, scale = pc.cast(column, pa.int64()), unit[kind.unit]
    return [None if value is None else value * scale for value in whole.to_pylist()]


def iso(nanoseconds: int) -> str:
    """Return a time since 1970 as text, with the digits that it has.

    >>> iso(0), iso(1_500_000_100)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:01.5000001Z')
    """
    days, rest = divmod(nanoseconds, _DAY_NS)
    seconds, fraction = divmod(rest, 10**9)
    year, month, day = _civil(days)
    digits = f".{fraction:09}".rstrip("0") if fraction else ""
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{year:04}-{month:02}-{day:02}T{clock}{digits}Z"


def _civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a number of days since 1970, in the calendar of ISO 8601."""
    # Howard Hinnant, "chrono-compatible low-level date algorithms": years that begin in March.
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + 400 * era + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _unbounded(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _text(value: Any) -> str:
    """Return what has no type of OData as text: lists and structs as JSON, others as they are written.

    >>> from decimal import Decimal
    >>> _text(Decimal("1.50")), _text([Decimal("1.50")])
    ('1.50', '["1.50"]')
    """
    nested = isinstance(value, list | tuple | dict)
    return json.dumps(value, default=str, ensure_ascii=False) if nested else str(value)


def names_of(entities: Iterable[Entity]) -> list[str]:
    """Return the names of all properties, in the order of their first appearance."""
    return list(dict.fromkeys(name for entity in entities for name in entity))
