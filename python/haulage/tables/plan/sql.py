"""Templates as expressions of SQL, so that DuckDB renders the keys of millions of rows.

They say the same as `haulage.tables.keys`; a test compares both. Where that raises an error they are NULL.
"""

from __future__ import annotations

import re

from haulage.errors import UsageError
from haulage.tables.keys import CUTS, LAST_INTEGER, LAST_TICK, Field, Template
from haulage.tables.plan.data import Column
from haulage.tables.quoting import literal
from haulage.tables.values import EPOCH

INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
}  # fmt: skip
FLOATS = {"FLOAT", "DOUBLE"}
TIMES = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"}
_PLAIN = {"VARCHAR", "BOOLEAN", "UUID"}
_FORBIDDEN = r"[/\\#?\x{00}-\x{1F}\x{7F}-\x{9F}]|%[0-9A-Fa-f]{2}"
_STRFTIME = "%Y-%m-%dT%H:%M:%S"


def is_decimal(kind: str) -> bool:
    """Return whether a type of DuckDB is one of decimals."""
    return kind.startswith("DECIMAL(")


def is_text(kind: str) -> bool:
    """Return whether the values of a type are texts."""
    return kind == "VARCHAR" or kind.startswith("ENUM(")


def is_time(kind: str) -> bool:
    """Return whether a type is one of times or dates."""
    return kind in TIMES or kind == "DATE"


def is_whole(kind: str) -> bool:
    """Return whether a type holds whole numbers only."""
    return kind in INTEGERS or bool(re.fullmatch(r"DECIMAL\(\d+,0\)", kind))


def key(template: Template, columns: dict[str, Column]) -> str:
    """Return the expression of the key of a row, escaped; NULL where a value is missing or out of range.

    Raises:
        UsageError: A column is not there, or its type does not go with the format.
    """
    parts = [literal(part) if isinstance(part, str) else field(part, columns) for part in template.parts]
    if not parts:
        return "''"
    joined = f"({' || '.join(parts)})"
    # What needs no escape is spared the call.
    return f"CASE WHEN regexp_matches({joined}, '{_FORBIDDEN}') THEN haul_escape({joined}) ELSE {joined} END"


def field(part: Field, columns: dict[str, Column]) -> str:
    """Return the expression of the text of one field, not escaped."""
    column = columns.get(part.column)
    if column is None:
        hint = f"the columns are {', '.join(list(columns)[:20])}"
        raise UsageError("read", f"template field {part}", "no such column", hint)
    text = _formatted(part, column.sql, column.type)
    if text is None:
        hint = "docs/reference/table-keys.md says which formats go with which types"
        raise UsageError("read", f"template field {part}", f"a {column.type} has no such text", hint)
    return f"coalesce({text}, CASE WHEN {column.sql} IS NULL THEN '' END)" if part.optional else text


def _formatted(part: Field, value: str, kind: str) -> str | None:
    if part.format == "text":
        return plain(value, kind)
    if part.format == "hash":
        text = plain(value, kind)
        bucket = f"(haul_crc32({text}) % {part.width})::VARCHAR"
        return text and f"lpad({bucket}, {len(str(part.width - 1))}, '0')"
    if part.format in CUTS:
        text = iso(value, kind)
        return text and f"left({text}, {CUTS[part.format]})"
    if part.format == "reversed" and is_time(kind):
        return f"lpad(({LAST_TICK} - {ticks(value, kind)})::VARCHAR, 19, '0')"
    number = _whole(value, kind)
    if number is None:
        return None
    if part.format == "reversed":
        within = f"{number} BETWEEN 0 AND {LAST_INTEGER}"
        return f"CASE WHEN {within} THEN lpad(({LAST_INTEGER} - {number})::VARCHAR, 19, '0') END"
    limit = 10**part.width
    if part.format == "signed":
        written = f"lpad(({number} + {limit})::VARCHAR, {part.width + 1}, '0')"
        return f"CASE WHEN {number} > -{limit} AND {number} < {limit} THEN {written} END"
    return (
        f"CASE WHEN {number} >= 0 AND {number} < {limit} THEN lpad({number}::VARCHAR, {part.width}, '0') END"
    )


def plain(value: str, kind: str) -> str | None:
    """Return the expression of the text without a format; ``None`` for types that have none."""
    if kind in _PLAIN or kind in INTEGERS or is_decimal(kind) or is_text(kind):
        return f"{value}::VARCHAR"
    if kind == "BLOB":
        return f"lower(hex({value}))"
    if kind in FLOATS:
        return f"CASE WHEN isfinite({value}) THEN haul_float({value}::DOUBLE) END"
    if kind == "DATE":
        return f"CASE WHEN year({value}) BETWEEN 1 AND 9999 THEN strftime({value}, '%Y-%m-%d') END"
    if kind == "TIME":
        parts = f"'2000-01-01'::DATE + {value}"
        return f"strftime({parts}, '%H:%M:%S.%f') || '0'"
    return iso(value, kind)


def iso(value: str, kind: str) -> str | None:
    """Return the expression of a time in ISO form with seven digits; ``None`` for other types."""
    if kind == "TIMESTAMP_NS":
        return f"left(strftime({value}, '{_STRFTIME}.%n'), 27) || 'Z'"
    if not is_time(kind):
        return None
    moment = _moment(value, kind)
    return (
        f"CASE WHEN year({moment}) BETWEEN 1 AND 9999 THEN strftime({moment}, '{_STRFTIME}.%f') || '0Z' END"
    )


def _moment(value: str, kind: str) -> str:
    if kind == "TIMESTAMP WITH TIME ZONE":
        # In UTC, and without the extension for time zones.
        return f"make_timestamp(epoch_us({value}))"
    return f"{value}::TIMESTAMP"


def ticks(value: str, kind: str) -> str:
    """Return the expression of a time as ticks of 100 ns since the year 1, rounded down."""
    if kind == "TIMESTAMP_NS":
        ns = f"epoch_ns({value})"
        return f"(({ns} - (({ns} % 100 + 100) % 100)) // 100 + {EPOCH})"
    return f"(epoch_us({_moment(value, kind)}) * 10 + {EPOCH})"


def _whole(value: str, kind: str) -> str | None:
    if kind in INTEGERS:
        return f"{value}::HUGEINT" if kind != "UHUGEINT" else value
    if kind in FLOATS:
        return f"CASE WHEN {value} = floor({value}) AND abs({value}) < {2**53} THEN {value}::HUGEINT END"
    if is_decimal(kind):
        return f"CASE WHEN {value} = floor({value}) THEN {value}::HUGEINT END"
    return None


def utf16(text: str) -> str:
    """Return the expression of the number of UTF-16 code units of a text."""
    beyond = f"length(regexp_replace({text}, '[^\\x{{10000}}-\\x{{10FFFF}}]', '', 'g'))"
    return f"(length({text}) + CASE WHEN strlen({text}) > length({text}) THEN {beyond} ELSE 0 END)"
