"""Values for what queries leave open: drawn from the rows, typed as their columns, written as SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from haulage.errors import UsageError
from haulage.tables.plan import sql
from haulage.tables.plan.access import Given
from haulage.tables.plan.data import PLACE, ROWS, Column, Data
from haulage.tables.plan.profiling import Profile
from haulage.tables.plan.queries import OPEN, Condition, Operand, Query, Text
from haulage.tables.quoting import literal
from haulage.tables.values import SECOND, Moment, as_ticks, text_of, ticks_of

#: Where a range is open: its share of the span of the column, or of its rows where it has one end.
ASSUMED = 0.01

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(d|h|min|s|ms)?")
_UNITS = {"d": 86_400 * SECOND, "h": 3_600 * SECOND, "min": 60 * SECOND, "s": SECOND, "ms": SECOND // 1_000}


def drawn(
    data: Data, queries: Sequence[Query], columns: Mapping[str, Profile], draws: int, seed: int
) -> list[list[tuple[Given, ...]]]:
    """Return for each query the sets of values that it will be judged with, from rows drawn by the seed."""
    found = []
    for query in queries:
        check(query, columns)
        asked = [columns[condition.column] for condition in query.conditions]
        moving = any(one.marks or one.within for one in query.conditions)
        rows = _rows(data, asked, draws if moving else 1, seed)
        sets = [
            tuple(
                _filled(data, condition, columns[condition.column], cell)
                for condition, cell in zip(query.conditions, row, strict=True)
            )
            for row in rows
        ]
        found.append(list(dict.fromkeys(sets)) if sets else [])
    return found


def given(
    data: Data, query: Query, columns: Mapping[str, Profile], values: Sequence[object]
) -> tuple[Given, ...]:
    """Return what a query asks for with these values in its open places, in their order."""
    check(query, columns)
    left = list(values)
    marks = sum(one.marks + 2 * bool(one.within) for one in query.conditions)
    if len(left) != marks:
        hint = "give a value for each ? in its order, and two for each within"
        raise UsageError("predict", f"query '{query}'", f"it takes {marks} values, not {len(left)}", hint)
    asked = []
    for one in query.conditions:
        if one.within:
            asked.append(Given(one.column, low=left.pop(0), high=left.pop(0)))
            continue
        ends = {}
        for name in ("equal", "low", "high", "prefix"):
            end: Operand = getattr(one, name)
            if end == OPEN:
                ends[name] = left.pop(0)
            elif isinstance(end, Text):
                ends[name] = typed(data, end.text, columns[one.column].column, prefix=name == "prefix")
        asked.append(Given(one.column, low_open=one.low_open, high_open=one.high_open, **ends))  # type: ignore[arg-type]
    return tuple(asked)


def check(query: Query, columns: Mapping[str, Profile]) -> None:
    """Refuse a query that names a column that is not there, or that has nothing to compare."""
    for name in query.columns:
        if name not in columns:
            hint = f"the columns are {', '.join(list(columns)[:20])}"
            raise UsageError("read", f"query '{query}'", f"no column {name}", hint)
        if sql.plain("x", columns[name].column.type) is None:
            cause = f"a column of type {columns[name].column.type} cannot be compared"
            raise UsageError("read", f"query '{query}'", cause, "name columns of text, numbers or times")


def typed(data: Data, text: str, column: Column, *, prefix: bool = False) -> Any:
    """Return a value that was written in a query, as the column has it."""
    if prefix:
        return text
    value = f"TRY_CAST({literal(text)} AS {column.type})"
    found = data.one(f"SELECT {_fetched(value, column)}")
    if found is None:
        hint = "write numbers plainly, and times like 2024-02-03T04:05:06Z"
        raise UsageError("read", f"value '{text}'", f"{column.name} holds values of type {column.type}", hint)
    return _fetch(found, column)


def _fetched(value: str, column: Column) -> str:
    return sql.iso(value, column.type) or value


def _fetch(found: Any, column: Column) -> Any:
    return Moment.parse(found) if sql.is_time(column.type) else found


def _rows(data: Data, asked: Sequence[Profile], draws: int, seed: int) -> list[tuple[Any, ...]]:
    if not asked:
        return [()]
    cells = ", ".join(_fetched(one.column.sql, one.column) for one in asked)
    there = " AND ".join(f"{one.column.sql} IS NOT NULL" for one in asked)
    rows = data.all(
        f"SELECT {cells} FROM {ROWS} WHERE {there} ORDER BY hash({PLACE} + {seed + 1}), {PLACE} LIMIT {draws}"
    )
    return [tuple(_fetch(cell, one.column) for cell, one in zip(row, asked, strict=True)) for row in rows]


def _filled(data: Data, asked: Condition, profile: Profile, cell: Any) -> Given:
    """Return a condition whose open places are filled from a row."""
    column = profile.column

    def value(end: Operand, drawn: Any) -> Any:
        return typed(data, end.text, column) if isinstance(end, Text) else (drawn if end == OPEN else None)

    plain = Given(asked.column, low_open=asked.low_open, high_open=asked.high_open)
    if asked.equal is not None:
        return replace(plain, equal=value(asked.equal, cell))
    if asked.prefix is not None:
        text = (
            asked.prefix.text if isinstance(asked.prefix, Text) else str(cell)[: max(1, len(str(cell)) // 2)]
        )
        return replace(plain, prefix=text)
    if asked.within:
        return replace(plain, low=cell, high=_further(cell, _length(asked.within, column)))
    if asked.low == OPEN and asked.high == OPEN:
        return replace(plain, low=cell, high=_further(cell, _span(profile) * ASSUMED))
    low, high = value(asked.low, None), value(asked.high, None)
    if asked.low == OPEN:
        low = _quantile(data, column, 1 - ASSUMED)
    if asked.high == OPEN:
        high = _quantile(data, column, ASSUMED)
    return replace(plain, low=low, high=high)


def _quantile(data: Data, column: Column, share: float) -> Any:
    best = f"quantile_disc({column.sql}, {share})"
    return _fetch(data.one(f"SELECT {_fetched(best, column)} FROM {ROWS}"), column)


def _span(profile: Profile) -> float:
    low, high = ticks_of(profile.low), ticks_of(profile.high)
    if low is not None and high is not None:
        return high - low
    try:
        return float(profile.high) - float(profile.low)
    except (TypeError, ValueError):
        return 0.0


def _length(text: str, column: Column) -> float:
    found = _SPAN.fullmatch(text)
    if not found or sql.is_time(column.type) != bool(found[2]):
        hint = "write a number, or for times 30s, 15min, 36h or 7d"
        raise UsageError("read", f"within {text}", f"no length of {column.name}", hint)
    return float(found[1]) * _UNITS.get(found[2], 1)


def _further(value: Any, by: float) -> Any:
    ticks = ticks_of(value)
    if ticks is not None:
        return Moment(ticks + int(by))
    if isinstance(value, (int, float)):
        return value + (int(by) if isinstance(value, int) else by)
    return value


def condition(asked: Given, column: Column) -> str:
    """Return the expression of whether a row meets a condition."""
    if asked.prefix is not None:
        return f"starts_with({column.sql}::VARCHAR, {literal(asked.prefix)})"
    left = sql.ticks(column.sql, column.type) if sql.is_time(column.type) else column.sql

    def right(value: object) -> str:
        if sql.is_time(column.type):
            return str(as_ticks(value))
        return f"{literal(text_of(value))}::{column.type}" if column.type != "BLOB" else _blob(value)

    if asked.equal is not None:
        return f"{left} = {right(asked.equal)}"
    ends = []
    if asked.low is not None:
        ends.append(f"{left} {'>' if asked.low_open else '>='} {right(asked.low)}")
    if asked.high is not None:
        ends.append(f"{left} {'<' if asked.high_open else '<='} {right(asked.high)}")
    return " AND ".join(ends) or "true"


def _blob(value: object) -> str:
    return f"unhex('{text_of(value)}')"
