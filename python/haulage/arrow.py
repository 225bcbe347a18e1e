"""The engine's records as pyarrow tables, which pandas, DuckDB and Polars accept."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from haulage.errors import missing_package

#: Nanoseconds since 1970, which become times in a column without the suffix.
_TIMES = ("modified_ns", "source_modified_ns")


def table_of(kind: type, records: Iterable[Any]) -> Any:
    """Return a table with a column for each field of the dataclass ``kind``; times are in UTC.

    Args:
        kind: The class of the records.
        records: Instances of it, or dicts with the same names.

    Raises:
        UnsupportedError: pyarrow is not installed.
    """
    arrow = _arrow()
    schema = arrow.schema([_column(arrow, name, hint) for name, hint in _hints(kind).items()])
    rows = [_row(one, kind) for one in records]
    return arrow.Table.from_pylist(rows, schema=schema)


def _arrow() -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise missing_package("make", "an Arrow table", error.name, "tables") from None
    return pyarrow


def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _row(record: Any, kind: type) -> dict[str, Any]:
    values: Mapping[str, Any] = record if isinstance(record, Mapping) else asdict(record)
    return {_renamed(name): values[name] for name in _hints(kind)}


def _renamed(name: str) -> str:
    return name.removesuffix("_ns") if name in _TIMES else name


def _column(arrow: Any, name: str, hint: Any) -> Any:
    if name in _TIMES:
        return arrow.field(_renamed(name), arrow.timestamp("ns", tz="UTC"))
    return arrow.field(name, _type(arrow, hint))


def _type(arrow: Any, hint: Any) -> Any:
    # Of `X | None`, the X.
    if isinstance(hint, types.UnionType):
        hint = next(one for one in typing.get_args(hint) if one is not type(None))
    if is_dataclass(hint):
        own = typing.get_type_hints(hint)
        return arrow.struct([_column(arrow, field.name, own[field.name]) for field in fields(hint)])
    simple = {int: arrow.int64(), bool: arrow.bool_(), float: arrow.float64()}
    # Texts, and the literals that are some of them.
    return simple.get(hint, arrow.string())
