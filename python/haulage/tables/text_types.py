r"""Types of text: which type all values of a column fit without any of them changing, as SQL of DuckDB.

========= ==============================================================================================
type      every value is
========= ==============================================================================================
BOOLEAN   ``true`` or ``false``, in any case
BIGINT    a whole number of 64 bits, without leading zeros or ``+``
DOUBLE    such a number, or one with a point or an exponent, of which a double keeps every digit
DATE      ``2024-02-03``
TIMESTAMP a date and a time of day, with at most seven digits of a second; UTC where no offset is given;
          within the years 1 to 9999
VARCHAR   anything else
========= ==============================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING

from haulage.tables.quoting import quoted

if TYPE_CHECKING:
    import duckdb

#: What a value can be, a bit each; a column has the bits of all of its values.
_TRUTH, _WHOLE, _LONG, _DOUBLE, _DAY, _TIME, _FINE, _FAR, _TEXT = (1 << at for at in range(9))
_NUMBERS, _TIMES = _WHOLE | _DOUBLE, _DAY | _TIME
#: The keys of rows, which are text and nothing else.
KEYS = ("partitionkey", "rowkey")

_DATE = r"\d{4}-\d{2}-\d{2}"
_CLOCK = _DATE + r"[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,7}0*)?)?(Z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?"
#: What TIMESTAMP drops: it has microseconds.
_SEVENTH = r"\.\d{6}[1-9]"
_OFFSET = r":[0-9.]+([+-])(\d\d):?(\d\d)?$"
_INTEGER = r"-?(0|[1-9]\d{0,18})"
_ANY_INTEGER = r"-?\d+"
_NUMBER = r"-?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?|NaN|-?(Infinity|inf)"
#: Digits from the first that is not zero.
_DIGITS = "length(ltrim(replace(replace(split_part(lower(v), 'e', 1), '.', ''), '-', ''), '0'))"
_AS_DOUBLE = "TRY_CAST(v AS DOUBLE)"
#: A double of such a size keeps any 15 digits. Of more, and of the smallest and largest, each is looked at.
_EXACT = (
    f"CASE WHEN CAST({_AS_DOUBLE} AS VARCHAR) = v THEN true "
    f"WHEN {_DIGITS} = 0 OR NOT regexp_matches(v, '[0-9]') THEN true "
    f"WHEN {_DIGITS} <= 15 AND abs({_AS_DOUBLE}) BETWEEN 1e-290 AND 1e290 THEN true ELSE haul_exact(v) END"
)
#: Minutes by which a time is ahead of UTC, which DuckDB drops.
_AHEAD = (
    f"CASE WHEN regexp_matches(v, '{_OFFSET}') THEN "
    f"CAST(regexp_extract(v, '{_OFFSET}', 1) || '1' AS BIGINT) * "
    f"(60 * CAST(regexp_extract(v, '{_OFFSET}', 2) AS BIGINT) + "
    f"coalesce(TRY_CAST(regexp_extract(v, '{_OFFSET}', 3) AS BIGINT), 0)) ELSE 0 END"
)
#: A time in UTC; the times that a table holds, and those that nanoseconds hold, whatever the offset.
_MOVED = "make_timestamp(epoch_us(TRY_CAST(v AS TIMESTAMP)) - haul_ahead(v) * 60_000_000)"
_HELD = "TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
_NEAR = "TIMESTAMP '1677-09-23' AND TIMESTAMP '2262-04-10'"
#: The bit of a value `v`. What cannot be anything but text is spared the patterns.
_BIT = f"""CASE
    WHEN v IS NULL THEN 0
    WHEN length(v) > 400 OR NOT regexp_matches(v, '^[-.0-9tTfFNIi]') THEN {_TEXT}
    WHEN contains(v, ':') THEN CASE
        WHEN NOT regexp_full_match(v, '{_CLOCK}') OR TRY_CAST(v AS TIMESTAMP) IS NULL THEN {_TEXT}
        WHEN NOT {_MOVED} BETWEEN {_HELD} THEN {_TEXT}
        ELSE {_TIME}
            | CASE WHEN regexp_matches(v, '{_SEVENTH}') THEN {_FINE} ELSE 0 END
            | CASE WHEN {_MOVED} BETWEEN {_NEAR} THEN 0 ELSE {_FAR} END END
    WHEN lower(v) IN ('true', 'false') THEN {_TRUTH}
    WHEN regexp_full_match(v, '{_ANY_INTEGER}') AND v <> '-0' THEN CASE
        WHEN NOT regexp_full_match(v, '{_INTEGER}') OR TRY_CAST(v AS BIGINT) IS NULL THEN {_TEXT}
        WHEN {_DIGITS} > 15 THEN {_LONG}
        ELSE {_WHOLE} END
    WHEN regexp_full_match(v, '{_NUMBER}') THEN CASE WHEN {_EXACT} THEN {_DOUBLE} ELSE {_TEXT} END
    WHEN regexp_full_match(v, '{_DATE}') AND TRY_CAST(v AS DATE) >= DATE '0001-01-01' THEN {_DAY}
        | CASE WHEN TRY_CAST(v AS TIMESTAMP_NS) IS NULL THEN {_FAR} ELSE 0 END
    ELSE {_TEXT} END"""
#: How a time is written, apart from its digits. If all are written alike, no two are the same moment.
_SHAPE = r"regexp_replace(regexp_replace(v, '\.\d*[1-9](Z?)$', '\1'), '\d', '0', 'g')"
_MACROS = {"haul_ahead": _AHEAD, "haul_bit": _BIT, "haul_shape": _SHAPE}
#: Whether the text of a value in a key, see docs/reference/table-keys.md, is what the file has.
_SAME = {
    "BOOLEAN": "v IN ('true', 'false')",
    "BIGINT": "v = trim(v)",
    "DATE": "v = trim(v)",
    "DOUBLE": r"regexp_full_match(v, '-?(0|[1-9]\d*)(\.\d*[1-9])?') AND v <> '-0' "
    f"AND {_DIGITS} <= 15",
}
_MACROS |= {f"haul_same_{kind.lower()}": same for kind, same in _SAME.items()}


def casts(
    connection: duckdb.DuckDBPyConnection,
    rows: str,
    names: Sequence[str],
    *,
    as_text: Set[str] = frozenset(),
    as_values: Set[str] = frozenset(),
) -> list[str]:
    """Return what to select from rows of text, a column each, so that it gets its type.

    Args:
        connection: What runs the queries; it gets a function.
        rows: A query of columns that are all text.
        names: The columns.
        as_text: Columns of which a key has the text that the file has. Times keep their type, and have the
            text of times in keys, if all are written alike.
        as_values: Columns of which a key has the number or the time.
    """
    _add_functions(connection)
    open_ = [name for name in names if name.lower() not in KEYS or name in as_values]
    found: dict[str, str] = dict.fromkeys(names, "VARCHAR")
    if open_:
        bits = ", ".join(f"bit_or(haul_bit(trim({quoted(name)})))" for name in open_)
        for name, bit in zip(open_, _row(connection, f"SELECT {bits} FROM ({rows})"), strict=True):
            assert bit is None or isinstance(bit, int)
            found[name] = _type(bit or 0)
    asked = {name: _kept(name, found[name]) for name in open_ if name in as_text and found[name] != "VARCHAR"}
    if asked:
        same = _row(connection, f"SELECT {', '.join(asked.values())} FROM ({rows})")
        found |= {name: "VARCHAR" for name, good in zip(asked, same, strict=True) if not good}
    return [_cast(name, kind) for name, kind in found.items()]


def _type(bits: int) -> str:
    """Return the type for values of these bits."""
    if not bits or bits & _TEXT:
        return "VARCHAR"
    if bits == _TRUTH:
        return "BOOLEAN"
    if not bits & ~(_WHOLE | _LONG):
        return "BIGINT"
    if not bits & ~_NUMBERS:
        return "DOUBLE"
    if not bits & ~(_DAY | _FAR):
        return "DATE"
    if not bits & ~(_TIMES | _FAR):
        return "TIMESTAMP"
    # Nanoseconds begin in 1677 and end in 2262.
    return "TIMESTAMP_NS" if not bits & ~(_TIMES | _FINE) else "VARCHAR"


def _kept(name: str, kind: str) -> str:
    """Return the expression of whether keys keep apart, or as they are, all texts of a column."""
    column = quoted(name)
    if not kind.startswith("TIMESTAMP"):
        return f"bool_and(haul_same_{kind.lower()}({column}))"
    shape = f"haul_shape({column})"
    return f"min({shape}) = max({shape}) AND regexp_matches(min({shape}), '^0000-00-00[T ][0:.]+Z?$')"


def _cast(name: str, kind: str) -> str:
    column = quoted(name)
    trimmed = f"trim({column})"
    match kind:
        case "VARCHAR":
            return column
        case "TIMESTAMP":
            moved = f"make_timestamp(epoch_us({trimmed}::TIMESTAMP) - haul_ahead({trimmed}) * 60_000_000)"
        case "TIMESTAMP_NS":
            utc = f"epoch_ns({trimmed}::TIMESTAMP_NS) - haul_ahead({trimmed}) * 60_000_000_000"
            moved = f"make_timestamp_ns({utc})"
        case "BLOB":
            moved = f"from_base64({trimmed})"
        case _:
            moved = f"CAST({trimmed} AS {kind})"
    return f"{moved} AS {column}"


#: Types of the service, what of DuckDB holds their values, and the bits that these may have.
EDM = {
    "String": ("VARCHAR", None), "Boolean": ("BOOLEAN", _TRUTH), "Int32": ("INTEGER", _WHOLE),
    "Int64": ("BIGINT", _WHOLE | _LONG), "Double": ("DOUBLE", _NUMBERS), "DateTime": ("TIMESTAMP", None),
    "Guid": ("UUID", None), "Binary": ("BLOB", None),
}  # fmt: skip


def said(connection: duckdb.DuckDBPyConnection, rows: str, name: str, types: str) -> list[str] | None:
    """Return the types that one column says of another; ``None`` if it is about something else.

    Args:
        connection: What runs the query.
        rows: A query of columns that are all text.
        name: The column.
        types: The column of types.
    """
    asked = f"SELECT DISTINCT {_said(types)} FROM ({rows}) WHERE {quoted(name)} IS NOT NULL ORDER BY 1"
    found = [row[0] for row in connection.execute(asked).fetchall()]
    return found if found and all(one in EDM for one in found) else None


def by_said(
    connection: duckdb.DuckDBPyConnection, rows: str, name: str, types: str, found: Sequence[str]
) -> list[str]:
    """Return what to select of a column so that each value has the type that is said of it.

    Values of several types get a column for each, named as in an export.

    Args:
        connection: What :func:`casts` was called with.
        rows: As for :func:`said`.
        name: As for :func:`said`.
        types: As for :func:`said`.
        found: What that returned.

    Raises:
        ValueError: The type cannot hold one of its values as it is.
    """
    selected = []
    for one in found:
        kind, allowed = EDM[one]
        value = f"CASE WHEN {_said(types)} = '{one}' THEN {quoted(name)} END"
        own = f"SELECT trim({value}) AS v FROM ({rows})"
        bits = connection.execute(f"SELECT bit_or(haul_bit(v)) FROM ({own})").fetchall()[0][0] or 0
        if one == "DateTime":
            kind = {"DATE": "TIMESTAMP"}.get(_type(bits), _type(bits))
        cast = _cast("v", kind).removesuffix(f" AS {quoted('v')}")
        wrong = connection.execute(
            f"SELECT v FROM ({own}) WHERE v IS NOT NULL AND TRY({cast}) IS NULL LIMIT 1"
        )
        first = wrong.fetchall()
        if first or (allowed is not None and bits & ~allowed) or (one == "DateTime" and kind == "VARCHAR"):
            example = f", such as '{first[0][0][:40]}'" if first else ""
            raise ValueError(f"{name} has values that are no {one}{example}")
        column = name if len(found) == 1 else f"{name}@Edm.{one}"
        selected.append(f"(SELECT {cast} FROM (SELECT {value} AS v)) AS {quoted(column)}")
    return selected


def _said(types: str) -> str:
    """Return the expression of the type that is said; text if nothing is."""
    plain = f"regexp_replace(lower(trim({quoted(types)})), '^edm\\.', '')"
    names = " ".join(f"WHEN '{one.lower()}' THEN '{one}'" for one in EDM)
    return f"coalesce(CASE {plain} {names} ELSE {plain} END, 'String')"


def _row(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[object, ...]:
    found = connection.execute(sql).fetchone()
    assert found is not None
    return found


def _add_functions(connection: duckdb.DuckDBPyConnection) -> None:
    import duckdb

    with suppress(duckdb.NotImplementedException, duckdb.CatalogException):
        # Once for a connection.
        connection.create_function("haul_exact", exact, ["VARCHAR"], "BOOLEAN")
    for name, body in _MACROS.items():
        connection.execute(f"CREATE OR REPLACE TEMP MACRO {name}(v) AS ({body})")


def exact(text: str) -> bool:
    """Whether a double keeps all digits of a number.

    >>> exact("0.1"), exact("0.1000000000000000056"), exact("0.12345678901234567890"), exact("1e400")
    (True, True, False, False)
    """
    number, double = Decimal(text), float(text)
    digits = len(number.as_tuple().digits)
    return math.isfinite(double) and Decimal(f"{double:.{digits - 1}e}") == number
