"""What is known of each column before keys are chosen: how many values, how long, whether it grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from haulage.tables.plan import sql
from haulage.tables.plan.access import Shape
from haulage.tables.plan.data import PLACE, ROWS, SAMPLE, Column, Data
from haulage.tables.values import Moment

#: Columns whose distinct values are counted, not estimated, where the sample does not hold all rows.
_COUNTED = 4
#: Columns of one pass: each holds its distinct values in memory.
_AT_ONCE = 32
#: From this share of values on that are larger than the one before, a column grows with the rows.
_RISING = 0.99
_ESCAPED = r"[/\\#?%\x{00}-\x{1F}\x{7F}-\x{9F}]"


@dataclass(frozen=True)
class Profile:
    """What the data says of one column."""

    column: Column
    rows: int
    missing: int
    distinct: int
    counted: bool  #: whether ``distinct`` is counted, not estimated
    low: Any = None  #: the least value; times as :class:`~haulage.tables.values.Moment`
    high: Any = None
    longest: int = 0  #: UTF-16 code units of the longest text
    escaped: bool = False  #: whether a text holds characters that are escaped in keys, or a ``%``
    rising: bool = False  #: whether it grows with the rows

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def unique(self) -> bool:
        """Whether each row is known to have another value."""
        return self.counted and not self.missing and self.distinct == self.rows

    @property
    def constant(self) -> bool:
        """Whether all rows have one value."""
        return self.distinct <= 1

    @property
    def keyable(self) -> bool:
        """Whether it makes sense in a key unasked: no floats, nothing nested, no long text."""
        kind = self.column.type
        plain = sql.is_text(kind) or sql.is_time(kind) or sql.is_whole(kind) or kind in ("UUID", "BOOLEAN")
        return plain and self.longest <= 128

    @property
    def shape(self) -> Shape:
        """What bounds of keys depend on."""
        return Shape(self.column.type, not self.escaped)


def profiles(data: Data) -> dict[str, Profile]:
    """Return what the data says of each column, by name, in two passes over all rows."""
    split: list[tuple[Any, ...]] = []
    for at in range(0, len(data.columns), _AT_ONCE):
        chosen = [
            _aggregates(column, estimated=not data.whole) for column in data.columns[at : at + _AT_ONCE]
        ]
        cells = data.first(f"SELECT {', '.join(one for column in chosen for one in column)} FROM {ROWS}")
        width = len(chosen[0])
        split += [cells[place : place + width] for place in range(0, len(cells), width)]
    rising = _rising(data)
    counted = dict.fromkeys((column.name for column in data.columns), data.whole)
    distinct = {column.name: int(one[1]) for column, one in zip(data.columns, split, strict=True)}
    if not data.whole:
        # An estimate is a few per cent off: too much to tell whether a column is unique.
        near = [column for column in data.columns if distinct[column.name] > 0.8 * data.rows]
        for column in near[:_COUNTED]:
            distinct[column.name] = int(
                data.one(
                    f"SELECT count(DISTINCT hash({column.sql})) FROM {ROWS} WHERE {column.sql} IS NOT NULL"
                )
            )
            counted[column.name] = True
    found = {}
    for column, cells in zip(data.columns, split, strict=True):
        there, _, low, high, longest, escaped = cells
        found[column.name] = Profile(
            column,
            rows=data.rows,
            missing=data.rows - there,
            distinct=distinct[column.name],
            counted=counted[column.name] or distinct[column.name] <= 1,
            low=_end(low, column),
            high=_end(high, column),
            longest=longest or 0,
            escaped=bool(escaped),
            rising=column.name in rising and distinct[column.name] > 1,
        )
    return found


def _end(value: Any, column: Column) -> Any:
    return Moment.parse(value) if sql.is_time(column.type) and value else value


def _aggregates(column: Column, estimated: bool) -> list[str]:
    value = column.sql
    text = value if sql.is_text(column.type) else None
    count = "approx_count_distinct({})" if estimated else "count(DISTINCT {})"
    shown = sql.plain(value, column.type)
    low, high = f"min({value})", f"max({value})"
    if sql.is_time(column.type):
        low, high = sql.iso(low, column.type) or "", sql.iso(high, column.type) or ""
    elif shown is None:
        low = high = "NULL"
    return [
        f"count({value})",
        count.format(f"CASE WHEN {value} IS NOT NULL THEN hash({value}) END"),
        low,
        high,
        f"max({sql.utf16(text + '::VARCHAR')})" if text else "NULL",
        f"bool_or(regexp_matches({text}::VARCHAR, '{_ESCAPED}'))" if text else "NULL",
    ]


def _rising(data: Data) -> set[str]:
    columns = [column for column in data.columns if sql.is_time(column.type) or column.type in sql.INTEGERS]
    if not columns or data.rows < 3:
        return set()
    steps = ", ".join(
        f"avg(({column.sql} >= lag)::INTEGER)".replace("lag", f"lag_{at}")
        for at, column in enumerate(columns)
    )
    lags = ", ".join(
        f"lag({column.sql}) OVER (ORDER BY {PLACE}) AS lag_{at}" for at, column in enumerate(columns)
    )
    shares = data.first(f"SELECT {steps} FROM (SELECT *, {lags} FROM {SAMPLE})")
    return {column.name for column, share in zip(columns, shares, strict=True) if (share or 0.0) >= _RISING}
