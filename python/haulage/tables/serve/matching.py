"""Which rows match a filter, and which row groups of Parquet cannot hold one that does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from haulage.errors import UsageError
from haulage.tables.serve import numbers
from haulage.tables.serve.filters import Both, Compare, Comparison, Contains, Literal_, Name, Not, Time, Tree

#: Nanoseconds in the unit of a time.
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_CONTAINS = {"start": pc.starts_with, "end": pc.ends_with, "inside": pc.match_substring}
#: Returns the least and the greatest value of a column, ``None`` where that is not known.
Bounds = Callable[[str], tuple[Any, Any] | None]


def matching(batch: pa.RecordBatch, tree: Tree) -> pa.RecordBatch:
    """Return the rows that match. As in SQL, a comparison with what is missing is neither true nor false.

    Raises:
        UsageError: The filter compares a column with a value of another type.
    """
    return batch.filter(_mask(batch, tree))


def _mask(batch: pa.RecordBatch, tree: Tree) -> pa.Array:
    match tree:
        case Both("and", left, right):
            return pc.and_kleene(_mask(batch, left), _mask(batch, right))
        case Both(_, left, right):
            return pc.or_kleene(_mask(batch, left), _mask(batch, right))
        case Not(of):
            return pc.invert(_mask(batch, of))
        case Contains(column, where, text):
            values = _plain(batch.column(column))
            return _tried(column, values.type, "text", lambda: _CONTAINS[where](values, pattern=text))
        case Compare(column, "eq", None):
            return pc.is_null(batch.column(column))
        case Compare(column, "ne", None):
            return pc.is_valid(batch.column(column))
        case Compare(column, how, value):
            return _compared(batch, column, how, value)
    raise AssertionError(tree)


def _compared(batch: pa.RecordBatch, column: str, how: Comparison, value: Literal_ | Name) -> pa.Array:
    values = _plain(batch.column(column))
    kind = values.type
    if isinstance(value, Name):
        other = _plain(batch.column(value.name))
        words = f"{value.name} ({other.type})"
        return _tried(column, kind, words, lambda: numbers.with_column(values, how, other))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _tried(column, kind, _kind(value), lambda: numbers.with_number(_numbers(values), how, value))
    return _tried(column, kind, _kind(value), lambda: numbers.ARROW[how](values, _scalar(value, kind)))


def may_match(tree: Tree, bounds: Bounds) -> bool:
    """Return whether rows within these bounds may match; when in doubt, they may."""
    match tree:
        case Both("and", left, right):
            return may_match(left, bounds) and may_match(right, bounds)
        case Both(_, left, right):
            return may_match(left, bounds) or may_match(right, bounds)
        case Compare(column, how, value) if value is not None and not isinstance(value, Name):
            known = bounds(column)
            if known is None:
                return True
            try:
                least, most = (_comparable(one, value) for one in known)
                wanted = _comparable(value, value)
                return _possible(how, least, most, wanted)
            except TypeError:
                return True
    return True


def _possible(how: Comparison, least: Any, most: Any, wanted: Any) -> bool:
    match how:
        case "eq":
            return bool(least <= wanted <= most)
        case "gt":
            return bool(most > wanted)
        case "ge":
            return bool(most >= wanted)
        case "lt":
            return bool(least < wanted)
        case "le":
            return bool(least <= wanted)
        case "ne":
            return True


def _comparable(one: Any, value: Literal_) -> Any:
    """Return a bound or a value in the form in which the two compare."""
    if isinstance(value, bool) != isinstance(one, bool):
        raise TypeError
    if isinstance(value, str | int | float | bytes) and isinstance(one, str | int | float | bytes):
        # Readers of statistics order text by its bytes.
        return one.encode() if isinstance(one, str) else one
    raise TypeError


def _plain(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.dictionary_decode()
    if pa.types.is_date(kind):
        return column.cast(pa.timestamp("ms"))
    if kind == pa.uint64():
        # Numbers with a sign, as all others have, do not hold it.
        return column.cast(pa.decimal128(20))
    return column.storage if isinstance(kind, pa.BaseExtensionType) else column


def _scalar(value: Literal_, kind: pa.DataType) -> pa.Scalar:
    if isinstance(value, Time):
        if not pa.types.is_timestamp(kind):
            raise TypeError
        # In the unit of the column: other values of it may be too far away for nanoseconds.
        whole, rest = divmod(value.nanoseconds, _UNITS[kind.unit])
        if rest:
            return pa.scalar(value.nanoseconds, pa.timestamp("ns", tz=kind.tz))
        if abs(whole) < 2**63:
            return pa.scalar(whole, kind)
        return pa.scalar(value.nanoseconds // 1000, pa.timestamp("us", tz=kind.tz))
    if isinstance(value, UUID):
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        return pa.scalar(str(value), kind) if is_text else pa.scalar(value.bytes, kind)
    fits = {
        bool: pa.types.is_boolean,
        str: lambda one: pa.types.is_string(one) or pa.types.is_large_string(one),
        bytes: lambda one: not (pa.types.is_string(one) or pa.types.is_nested(one)),
    }
    if not fits[type(value)](kind):
        raise TypeError
    return pa.scalar(value)


def _numbers(values: pa.Array) -> pa.Array:
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise TypeError
    return values


def _tried(column: str, kind: pa.DataType, other: str, compare: Callable[[], pa.Array]) -> pa.Array:
    try:
        return compare()
    except (pa.ArrowException, TypeError, OverflowError):
        cause = f"the column holds {kind}, which does not compare with {other}"
        hint = "text is written 'so', a time datetime'2024-01-31T00:00:00Z', a number bare"
        raise UsageError("filter", column, cause, hint) from None


def _kind(value: Literal_) -> str:
    names = {str: "text", bool: "true or false", int: "a number", float: "a number", bytes: "bytes"}
    return names.get(type(value), "a time" if isinstance(value, Time) else "a GUID")
