"""Rows as CSV and as lines of JSON, byte for byte as the engine writes them (its `table/sink.rs`)."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from typing import Any, BinaryIO

from haulage.tables.values import EPOCH, iso

#: What makes a spreadsheet take the text of a cell for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_QUOTED = frozenset(',"\n\r')
#: Types that JSON shows by itself; of a double it depends on the value.
_PLAIN = ("Edm.String", "Edm.Boolean", "Edm.Int32")


def write_csv(page: Any, names: list[str], file: BinaryIO, *, disarm: bool) -> int:
    """Write rows as CSV; return before how many texts there is an apostrophe now.

    Args:
        page: A table of Arrow whose columns are called ``NAME@TYPE``.
        names: Those of the columns in the file.
        file: Where to.
        disarm: Whether text that a spreadsheet would run gets an apostrophe in front.
    """
    disarmed = 0

    def armed(text: str) -> str:
        nonlocal disarmed
        if not (disarm and text.startswith(_FORMULA)):
            return text
        disarmed += 1
        return f"'{text}"

    file.write((",".join(_field(armed(name)) for name in names) + "\r\n").encode())
    kinds = [name.rpartition("@")[2] for name in page.column_names]
    for row in _rows(page):
        fields = []
        for kind, value in zip(kinds, row, strict=True):
            text = None if value is None else _text(kind, value)
            fields.append("" if text is None else _field(armed(text) if kind == "Edm.String" else text))
        file.write((",".join(fields) + "\r\n").encode())
    return disarmed


def write_jsonl(page: Any, file: BinaryIO) -> None:
    """Write rows as objects of JSON, a line each, with the types that it lacks."""
    columns = [name.rpartition("@")[::2] for name in page.column_names]
    for row in _rows(page):
        properties = [
            _property(name, kind, value)
            for (name, kind), value in zip(columns, row, strict=True)
            if value is not None
        ]
        file.write(f"{{{','.join(properties)}}}\n".encode())


def _rows(page: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each row, of times the nanoseconds since 1970."""
    import pyarrow as pa

    columns = [
        column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in page.columns
    ]
    return zip(*(column.to_pylist() for column in columns), strict=True)


def _text(kind: str, value: Any) -> str:
    match kind:
        case "Edm.Boolean":
            return "true" if value else "false"
        case "Edm.Double":
            return _double(value)
        case "Edm.DateTime":
            return iso(EPOCH + value // 100).replace(".0000000Z", "Z")
        case "Edm.Binary":
            return base64.b64encode(value).decode()
        case _:
            return str(value)


def _double(value: float) -> str:
    """Return a double as the service writes it, with a point or an exponent.

    >>> _double(2.0), _double(1e16), _double(2.5e-7), _double(math.inf), _double(math.nan)
    ('2.0', '1e16', '2.5e-7', 'Infinity', 'NaN')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    digits, _, exponent = repr(value).partition("e")
    return f"{digits}e{int(exponent)}" if exponent else digits


def _field(text: str) -> str:
    if not text or not _QUOTED.isdisjoint(text) or text[0] == " " or text[-1] == " ":
        return '"' + text.replace('"', '""') + '"'
    return text


def _property(name: str, kind: str, value: Any) -> str:
    """Return ``"name":value``, with its type before it where JSON does not show it."""
    finite = kind == "Edm.Double" and math.isfinite(value)
    typed = kind not in _PLAIN and not (finite and not value.is_integer())
    said = f"{_json(f'{name}@odata.type')}:{_json(kind.removesuffix('.text'))}," if typed else ""
    text = _text(kind, value)
    return f"{said}{_json(name)}:{text if finite or kind in _PLAIN[1:] else _json(text)}"


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
