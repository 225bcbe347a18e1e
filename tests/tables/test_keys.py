"""Templates of keys against the examples that all implementations share, and what must hold for any value."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from haulage.errors import UsageError
from haulage.tables.index import entry_key
from haulage.tables.keys import FORBIDDEN, escape, parse, unescape
from haulage.tables.values import BadKeyError, Moment, as_ticks
from sentences import Sentence

SHARED = json.loads((Path(__file__).parents[1] / "table_keys.json").read_text())
READ: dict[str, Any] = {
    "timestamp": Moment.parse,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "binary": bytes.fromhex,
    "uuid": UUID,
    "decimal": Decimal,
    "double": float,
}
TIMES = st.datetimes()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def value(cell: dict[str, Any]) -> object:
    return READ.get(cell["type"], lambda same: same)(cell["value"])


@pytest.mark.parametrize("example", SHARED["examples"], ids=range(len(SHARED["examples"])))
def test_example(example: dict[str, Any]) -> None:
    template = parse(example["template"])
    row = {column: value(cell) for column, cell in example["row"].items()}
    assert parse(str(template)) == template
    if "error" in example:
        with pytest.raises(BadKeyError) as caught:
            template.render(row)
        assert caught.value.kind == example["error"]
    else:
        assert template.render(row) == example["key"]
        assert not FORBIDDEN.search(example["key"])


def test_there_are_enough_examples() -> None:
    assert len(SHARED["examples"]) >= 30


@pytest.mark.parametrize("entry", SHARED["index_entries"], ids=range(len(SHARED["index_entries"])))
def test_entry_of_an_index(entry: dict[str, str]) -> None:
    assert entry_key(entry["partition_key"], entry["row_key"]) == entry["index_row_key"]


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_no_two_rows_share_an_entry(one: str, two: str, three: str, four: str) -> None:
    assert (entry_key(one, two) == entry_key(three, four)) == ((one, two) == (three, four))


@pytest.mark.parametrize("template", SHARED["no_templates"])
def test_no_template(template: str) -> None:
    with pytest.raises(UsageError):
        parse(template)


@pytest.mark.parametrize(
    "template",
    [
        "{a",
        "a}",
        "{a:minute}",
    ],
)
def test_hint(template: str, sentence: Sentence) -> None:
    with pytest.raises(UsageError) as caught:
        parse(template)
    sentence(caught.value)


@given(TEXTS | st.text("%/25fF?\\#\x00\x80", max_size=12))
def test_escapes_are_reversible(text: str) -> None:
    assert unescape(escape(text)) == text
    assert not FORBIDDEN.search(escape(text))


@given(TEXTS, TEXTS)
def test_no_two_texts_share_a_key(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


@given(st.integers(0, 10**12 - 1), st.integers(0, 10**12 - 1))
def test_padded_integers_keep_their_order(one: int, other: int) -> None:
    padded = parse("{a:012}")
    assert (padded.render({"a": one}) < padded.render({"a": other})) == (one < other)


@given(st.integers(1 - 10**9, 10**9 - 1), st.integers(1 - 10**9, 10**9 - 1))
def test_signed_integers_keep_their_order(one: int, other: int) -> None:
    signed = parse("{a:signed9}")
    assert (signed.render({"a": one}) < signed.render({"a": other})) == (one < other)


@given(TIMES, TIMES)
def test_times_keep_their_order(one: datetime, other: datetime) -> None:
    for form in ("iso", "year", "month", "day", "hour"):
        template = parse(f"{{t:{form}}}")
        assert (template.render({"t": one}) <= template.render({"t": other})) or one > other
    assert (parse("{t}").render({"t": one}) < parse("{t}").render({"t": other})) == (one < other)


@given(TIMES, TIMES)
def test_reversed_times_put_the_newest_first(one: datetime, other: datetime) -> None:
    template = parse("{t:reversed}")
    assert (template.render({"t": one}) > template.render({"t": other})) == (one < other)
    assert len(template.render({"t": one})) == 19


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_reversed_integers_put_the_largest_first(one: int, other: int) -> None:
    template = parse("{a:reversed}")
    assert (template.render({"a": one}) > template.render({"a": other})) == (one < other)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back(number: float) -> None:
    assert float(parse("{a}").render({"a": number})) == number


@given(TIMES)
def test_ticks_agree_with_python(moment: datetime) -> None:
    passed = moment - datetime(1, 1, 1)
    assert as_ticks(moment) == passed // timedelta(microseconds=1) * 10


def test_zones_are_turned_into_utc() -> None:
    oslo = datetime.fromisoformat("2024-02-03T05:05:06+01:00")
    assert parse("{t}").render({"t": oslo}) == parse("{t}").render({"t": oslo.astimezone(UTC)})


def test_what_is_not_utf8_cannot_be_restored() -> None:
    with pytest.raises(BadKeyError) as caught:
        unescape("%FF")
    assert caught.value.kind == "text"


def test_half_a_character_is_no_key() -> None:
    with pytest.raises(BadKeyError) as caught:
        parse("{a}").render({"a": "\ud800"})
    assert caught.value.kind == "text"
