"""What cards are made with, and which ones a run gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.model import Finding, Result
from haulage.lab.topics import TOPICS

Results = Mapping[str, Result]
Maker = Callable[[Results], Iterator[Finding]]


def findings(plan: str, results: Results) -> list[Finding]:
    """Return the cards of a run, those of its plan first."""
    # A variant is called after its plan: failing-link-ramp.
    of_topics = [item for topic in TOPICS for item in topic.cards.items() if plan.startswith(item[0])]
    made: list[Finding] = []
    for name, maker in ((name, maker) for name, makers in of_topics for maker in makers):
        new = [one for one in maker(results) if one.sentence not in {old.sentence for old in made}]
        made += [replace(one, answers=bool(name)) for one in new]
    return made


def table(results: Results, name: str) -> pd.DataFrame:
    """Return the rows of a result; none if it was not made."""
    return results[name].frame if name in results else pd.DataFrame()


def number(value: Any) -> float | None:
    """Return a value of a table as a number; ``None`` where it is missing."""
    return None if value is None or pd.isna(value) else float(value)


def bounded(low: Any, high: Any, show: Callable[[float], str]) -> str:
    """Return an interval in words, in brackets; nothing where there is none."""
    first, last = number(low), number(high)
    return "" if first is None or last is None else f" ({show(first)} to {show(last)})"


def percent(share: float) -> str:
    """Return a share in words."""
    return f"{share:.0%}".replace("%", " %")


def same_as(rows: pd.DataFrame, one: pd.Series, columns: Sequence[str]) -> pd.DataFrame:
    """Return the rows with the values of another row; a missing value equals a missing one."""
    if rows.empty:
        return rows
    same = pd.Series(True, index=rows.index)
    for name in columns:
        same &= rows[name].isna() if pd.isna(one[name]) else rows[name] == one[name]
    return rows[same]


def card(
    title: str,
    sentence: str,
    value: float | None,
    unit: str,
    n: int,
    query: str,
    no_value: str = Finding.no_value,
) -> Finding:
    """Return a card without an interval."""
    return Finding(title, sentence, value, unit, None, None, n, st.LEVEL, query, no_value)


def card_of(
    row: pd.Series,
    title: str,
    sentence: str,
    unit: str,
    query: str,
    value: str,
    low: str = "low",
    high: str = "high",
    no_value: str = Finding.no_value,
) -> Finding:
    """Return the card of a row, its value and bounds from the columns named."""
    found, least, most = (number(row[name]) for name in (value, low, high))
    level = number(row.get("level")) or st.LEVEL
    return Finding(title, sentence, found, unit, least, most, int(row["n"]), level, query, no_value)


def card_of_interval(found: st.Interval, title: str, sentence: str, unit: str, query: str) -> Finding:
    """Return the card of a value and its bounds."""
    return Finding(title, sentence, found.value, unit, found.low, found.high, found.n, found.level, query)
