"""Filters compare numbers as Python does, whatever types they are of: exactly."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf, nan, nextafter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from haulage.errors import UsageError
from haulage.tables.serve.filters import Compare, Comparison, Name
from haulage.tables.serve.matching import matching, may_match
from haulage.tables.serve.parquet_source import ParquetSource
from sentences import Sentence

COMPARISONS: dict[Comparison, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
BIG = [2**53, 2**53 + 1, 2**53 + 3, 2**62 - 1, 2**63 - 513, 2**63 - 1]
WHOLE = [None, -(2**63), -(2**63) + 1, *(-one for one in BIG), -2, -1, 0, 1, 2, *BIG]
FLOATS = [
    *(None, nan, inf, -inf, 0.5, -0.5, -0.0, 1.0, 2.5, 5e-324, 1e308, -1e308, 1e19, 2.0**63, 2.0**64),
    *(-(2.0**63), nextafter(2.0**63, 0), nextafter(-(2.0**63), -inf), 2.0**53, 2.0**53 + 2, 2.0**62),
]
COLUMNS = {
    "i64": pa.array(WHOLE, pa.int64()),
    "i32": pa.array([one if one is None or abs(one) < 2**31 else 7 for one in WHOLE], pa.int32()),
    "u64": pa.array([one if one is None else abs(one) for one in [*WHOLE[:-1], 2**64 - 1]], pa.uint64()),
    "f64": pa.array([*FLOATS, *FLOATS][: len(WHOLE)], pa.float64()),
    "f32": pa.array([None, nan, inf, -inf, 0.5, 2.0**24, 2.0**63, *[1.0] * 100][: len(WHOLE)], pa.float32()),
    "dec": pa.array([*map(Decimal, ("0.1", "0.5", "-2.5")), None, *[Decimal(1)] * 100][: len(WHOLE)]),
}
BATCH = pa.RecordBatch.from_pydict({"row": pa.array(range(len(WHOLE))), **COLUMNS})
#: What a filter can say, and more.
LITERALS = [*FLOATS[1:], 0, 1, -1, *BIG, *(-one for one in BIG), -(2**63), 2**63, 2**64, 10**400, -(10**400)]


def true(how: Comparison, one: Any, two: Any) -> bool:
    """Compare two as SQL does where one is missing, and else as Python does."""
    if one is None or two is None:
        return False
    exact = [Fraction(number) if isinstance(number, Decimal) else number for number in (one, two)]
    return COMPARISONS[how](*exact)


@pytest.mark.parametrize("how", COMPARISONS)
@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_compares_with_a_number_as_in_python(column: str, how: Comparison) -> None:
    """With one value beyond 2**53 a column was said not to compare with a number."""
    for literal in LITERALS:
        expected = [
            number for number, one in enumerate(COLUMNS[column].to_pylist()) if true(how, one, literal)
        ]
        found = matching(BATCH, Compare(column, how, literal)).column("row").to_pylist()
        assert found == expected, literal


@pytest.mark.parametrize("how", COMPARISONS)
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("other", COLUMNS)
def test_two_columns_compare_as_in_python(column: str, other: str, how: Comparison) -> None:
    for shift in range(len(WHOLE)):
        values = COLUMNS[other].to_pylist()
        turned = pa.array([*values[shift:], *values[:shift]], COLUMNS[other].type)
        batch = pa.RecordBatch.from_pydict({"row": BATCH.column("row"), "a": COLUMNS[column], "b": turned})
        pairs = zip(COLUMNS[column].to_pylist(), turned.to_pylist(), strict=True)
        expected = [number for number, (one, two) in enumerate(pairs) if true(how, one, two)]
        assert matching(batch, Compare("a", how, Name("b"))).column("row").to_pylist() == expected


def test_row_groups_are_left_out_by_the_same_rule() -> None:
    for how, compare in COMPARISONS.items():
        for one in (one for one in WHOLE if one is not None):
            for literal in LITERALS:
                tree = Compare("i64", how, literal)
                assert may_match(tree, lambda _, one=one: (one, one)) or not compare(one, literal)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "how", "column", "value"),
    [
        ("i64 gt 0.5", "gt", "i64", 0.5),
        ("0.5 lt i64", "gt", "i64", 0.5),
        ("i64 gt 9007199254740992.0", "gt", "i64", 2**53),
        ("i64 lt 1e308", "lt", "i64", 1e308),
        ("i64 ge -INF", "ge", "i64", -inf),
        ("f64 gt 9007199254740993", "gt", "f64", 2**53 + 1),
        ("i64 lt f64", "lt", "i64", Name("f64")),
    ],
)
def test_filters_of_a_file_with_large_numbers(
    text: str, how: Comparison, column: str, value: Any, tmp_path: Path
) -> None:
    pq.write_table(pa.Table.from_batches([BATCH]), tmp_path / "n.parquet", row_group_size=5)
    source = ParquetSource("numbers", str(tmp_path / "n.parquet"))
    others = COLUMNS["f64"].to_pylist() if isinstance(value, Name) else [value] * len(WHOLE)
    pairs = zip(COLUMNS[column].to_pylist(), others, strict=True)
    rows, more = [], None
    while True:
        page = source.page(filter=text, select="row", top=None, continuation=more, metadata="none")
        rows += [int(one["row"]) for one in json.loads(page.body)["value"]]
        more = page.continuation
        if more is None:
            break
    assert rows == [number for number, (one, two) in enumerate(pairs) if true(how, one, two)]


def test_what_is_no_number_does_not_compare_with_one(sentence: Sentence) -> None:
    batch = pa.RecordBatch.from_pydict({"ok": pa.array([True]), "text": pa.array(["1"])})
    for column in ("ok", "text"):
        with pytest.raises(UsageError) as error:
            matching(batch, Compare(column, "gt", 0.5))
        sentence(error.value)
    with pytest.raises(UsageError) as error:
        matching(batch, Compare("ok", "eq", Name("text")))
    sentence(error.value)
