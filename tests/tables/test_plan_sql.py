"""What DuckDB renders is what the templates say, and queries read as they are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from haulage.errors import UsageError
from haulage.tables.keys import parse
from haulage.tables.plan import sql
from haulage.tables.plan.data import PLACE, ROWS, Column, Data
from haulage.tables.plan.queries import OPEN, Condition, Query, Text, parse_query
from haulage.tables.values import BadKeyError, Moment

SHARED = json.loads((Path(__file__).parents[1] / "table_keys.json").read_text())
#: No type of DuckDB holds 100 ns of the year 9999.
EXAMPLES = [one for one in SHARED["examples"] if "9999-12-31" not in json.dumps(one)]
TYPES = {
    "string": "VARCHAR",
    "int64": "BIGINT",
    "uint64": "UBIGINT",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "binary": "BLOB",
    "uuid": "UUID",
    "time": "TIME",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "decimal": "DECIMAL(9, 2)",
    "list": "INTEGER[]",
    "null": "INTEGER",
}


@pytest.fixture(scope="module")
def data() -> Iterator[Data]:
    with Data({"nothing": [1]}) as opened:
        yield opened


def written(cell: dict[str, Any]) -> str:
    """Return a value of the examples as SQL."""
    kind, value = TYPES[cell["type"]], cell["value"]
    if value is None:
        return f"NULL::{kind}"
    if cell["type"] == "binary":
        return f"unhex('{value}')"
    if cell["type"] == "timestamp" and len(value) > 27:
        kind = "TIMESTAMP_NS"
    if cell["type"] == "timestamp" and value[20:].rstrip("Z").strip("0"):
        kind = "TIMESTAMP_NS"
    if cell["type"] == "decimal":
        kind = f"DECIMAL(9, {len(value.partition('.')[2])})"
    text = str(value).replace("'", "''")
    return f"'{text.removesuffix('Z') if cell['type'] == 'timestamp' else text}'::{kind}"


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_sql_says_what_the_examples_say(data: Data, example: dict[str, Any]) -> None:
    source = ", ".join(
        f'{written(cell)} AS "{name.replace(chr(34), chr(34) * 2)}"' for name, cell in example["row"].items()
    )
    source = source or "1 AS nothing"
    described = data.all(f"DESCRIBE SELECT {source}")
    columns = {row[0]: Column(row[0], row[1]) for row in described}
    template = parse(example["template"])
    if example.get("error") == "type" or not set(template.columns) <= set(columns):
        try:
            key = sql.key(template, columns)
        except UsageError:
            return
        assert data.one(f"SELECT {key} FROM (SELECT {source})") is None
        return
    units = sql.utf16("made")
    made, length = data.first(
        f"SELECT made, {units} FROM (SELECT {sql.key(template, columns)} AS made FROM (SELECT {source}))"
    )
    if example.get("error") == "length":
        assert length > 512
    else:
        assert made == example.get("key")


ROW = st.fixed_dictionaries(
    {
        "text": st.none()
        | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
        "number": st.none() | st.integers(-(10**6), 10**6),
        "real": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "moment": st.none() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
        "day": st.none() | st.dates(),
        "flag": st.none() | st.booleans(),
    }
)
TEMPLATES = [
    "{text}_{number}",
    "{text:hash16}|{real}",
    "{number:05}",
    "{number:signed5}-{flag}",
    "{number:reversed}",
    "{moment}",
    "{moment:reversed}_{text}",
    "{moment:month}{moment:hour}",
    "{day}_{day:iso}{day:reversed}",
    "{text?}%{number?:03}{moment?:reversed}",
]


@settings(max_examples=40, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=20))
def test_sql_says_what_python_says(rows: list[dict[str, Any]]) -> None:
    # A row that gives all columns their types.
    whole = {
        "text": "a", "number": 1, "real": 0.5,
        "moment": datetime(2024, 1, 1), "day": date(2024, 1, 1), "flag": True,
    }  # fmt: skip
    rows = [whole, *rows]
    with Data({name: [row[name] for row in rows] for name in whole}) as data:
        columns = {column.name: column for column in data.columns}
        for text in TEMPLATES:
            template = parse(text)
            made = data.all(f"SELECT {sql.key(template, columns)} FROM {ROWS} ORDER BY {PLACE}")
            for row, (key,) in zip(rows, made, strict=True):
                try:
                    expected: str | None = template.render(row)
                except BadKeyError:
                    expected = None
                assert key == expected, (text, row)


def test_values_of_other_types_read_as_they_are_stored() -> None:
    """What DuckDB hands to Python has the text that SQL gives it."""
    values: list[Any] = [
        UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), Decimal("1.50"), time(4, 5, 6, 500_000), b"\x00\xff",
        datetime(2024, 2, 3, 5, tzinfo=UTC), 2**63, -(2**100),
    ]  # fmt: skip
    for value in values:
        with Data({"value": [value]}) as data:
            columns = {column.name: column for column in data.columns}
            template = parse("{value}")
            assert data.one(f"SELECT {sql.key(template, columns)} FROM {ROWS}") == template.render(
                {"value": value}
            )


def test_lengths_are_those_of_utf16(data: Data) -> None:
    for text in ("", "a", "é", "東京", "🌍🌍a"):
        assert (
            data.one(f"SELECT {sql.utf16(f'{chr(39)}{text}{chr(39)}')}") == len(text.encode("utf-16-le")) // 2
        )


def test_ticks_of_nanoseconds_are_rounded_down(data: Data) -> None:
    for text in (
        "1969-12-31 23:59:59.999999999",
        "1970-01-01 00:00:00.000000199",
        "1677-09-22 00:00:00.000000101",
    ):
        expected = Moment.parse(text).ticks
        assert (
            data.one(f"SELECT {sql.ticks(f'TIMESTAMP_NS {chr(39)}{text}{chr(39)}', 'TIMESTAMP_NS')}")
            == expected
        )


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("id", Query((Condition("id", equal=OPEN),))),
        ("id = ? *100", Query((Condition("id", equal=OPEN),), weight=100)),
        ("a = 'it''s'", Query((Condition("a", equal=Text("it's")),))),
        ('"odd name" >= 3', Query((Condition("odd name", low=Text("3")),))),
        ("a > 1 and a <= 2", Query((Condition("a", low=Text("1"), high=Text("2"), low_open=True),))),
        ("t between ? and 2024-01-01", Query((Condition("t", low=OPEN, high=Text("2024-01-01")),))),
        ("t within 7d", Query((Condition("t", within="7d"),))),
        ("p like 'run1/%'", Query((Condition("p", prefix=Text("run1/")),))),
        ("s order by t desc limit 5 *.5", Query((Condition("s", equal=OPEN),), "t", True, 5, 0.5)),
        ("s ORDER BY t", Query((Condition("s", equal=OPEN),), "t")),
        ("limit 10", Query((), limit=10)),
    ],
)  # fmt: skip
def test_queries_are_read(text: str, query: Query) -> None:
    assert parse_query(text) == query
    if query.conditions:
        assert parse_query(str(query)) == query


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=",
        "a b",
        "a = = 3",
        "a between 1",
        "a like '%x'",
        "a limit 0",
        "a *0",
        "a, a",
        "a order",
        "a and",
        "(a)=1 )",
    ],
)
def test_what_is_no_query(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_query(text)
    assert caught.value.hint == (
        "write it like: station = ? and time between ? and ? order by time desc limit 10 *5"
    )
