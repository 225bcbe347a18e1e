"""The cards that every run gets, and what cards are made with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.model import Finding, Result
from haulage.words.numbers import counted, digits, format_rate, round_size

Results = Mapping[str, Result]
Maker = Callable[[Results], Iterator[Finding]]


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


def as_times(value: float) -> str:
    """Return a ratio in words."""
    return f"{digits(value)}"


def card_of(
    row: pd.Series, title: str, sentence: str, unit: str, query: str, columns: tuple[str, str, str]
) -> Finding:
    """Return the card of a row, its value and bounds from the columns named."""
    value, low, high = (number(row[name]) for name in columns)
    level = number(row.get("level")) or st.LEVEL
    return Finding(title, sentence, value, unit, low, high, int(row["n"]), level, query)


def card_of_interval(found: st.Interval, title: str, sentence: str, unit: str, query: str) -> Finding:
    """Return the card of a value and its bounds."""
    return Finding(title, sentence, found.value, unit, found.low, found.high, found.n, found.level, query)


def ceiling(results: Results) -> Iterator[Finding]:
    """Which share of the ceiling the best treatment used."""
    rows = table(results, "efficiency")
    if rows.empty:
        return
    for direction, part in rows.groupby("direction"):
        like = part.groupby(["treatment", "size_bytes"], dropna=False)["efficiency_share"].median()
        treatment, size = like.idxmax()
        same = part["size_bytes"].isna() if pd.isna(size) else part["size_bytes"] == size
        like_it = part[(part["treatment"] == treatment) & same]
        shares = like_it["efficiency_share"].to_numpy(float)
        found = st.of_the_best(st.median_interval(shares), np.log(shares), len(like))
        if found.value is None:
            continue
        of = "" if pd.isna(size) else f", {round_size(float(size))},"
        top = float(part["ceiling_bits_per_second"].median())
        # Of the cells and of the ceiling: both are uncertain, and neither knows of the other.
        low, high = _widened(found, like_it)
        found = replace(found, low=low, high=high)
        bounds = bounded(found.low, found.high, lambda v: f"{v:.0%}")
        ceiling = f"the ceiling of {format_rate(top)} {direction}"
        sentence = f"{treatment}{of} used {found.value:.0%}{bounds} of {ceiling}."
        least = found.value if low is None else low
        if least is not None and least > 1:
            sentence = (
                f"{treatment}{of} moved {found.value:.0%}{bounds} of the ceiling measured {direction},"
                f" {format_rate(top)}. A path cannot exceed its capacity, so that measurement is wrong."
                " Measure again."
            )
        yield card_of_interval(found, "Ceiling", sentence, "share", "efficiency")


def _widened(found: st.Interval, rows: pd.DataFrame) -> tuple[float | None, float | None]:
    """Return the bounds of a share, widened by those of the ceiling in quadrature on logarithms."""
    if found.low is None or found.high is None or not found.value:
        return found.low, found.high
    middle = rows["efficiency_share"].median()
    below = math.log(middle / rows["efficiency_low_share"].median())
    above = math.log(rows["efficiency_high_share"].median() / middle)
    low = math.hypot(math.log(found.value / found.low), below)
    high = math.hypot(math.log(found.high / found.value), above)
    return found.value * math.exp(-low), found.value * math.exp(high)


def a_a(results: Results) -> Iterator[Finding]:
    """Whether the baseline differs from itself."""
    rows = table(results, "comparisons")
    again = rows[rows["is_again"]] if len(rows) else rows
    if again.empty:
        return
    wrong = int((again["says"] == "different").sum())
    n, known = int(again["n"].min()), again[again["low"].notna()]
    band = known["band_log_ratio"].max()
    reach = None if known.empty or pd.isna(band) else math.expm1(float(band))
    if wrong:
        sentence = (
            f"The baseline differs from itself at {wrong} of {len(again)} sizes;"
            " do not trust small differences."
        )
    elif reach is None:
        sentence = (
            f"Whether the baseline differs from itself cannot be told from {n} replicates (A/A);"
            " 6 are needed."
        )
    elif (again["says"] == "equivalent").all():
        sentence = (
            f"The baseline agrees with itself within {max(reach, 0.001):.1%}"
            f" (A/A, {len(again)} sizes, n = {n})."
        )
    else:
        sentence = (
            f"The baseline showed no difference from itself (A/A, {len(again)} sizes, n = {n});"
            f" one of up to {reach:.1%} is possible."
        )
    yield Finding(
        "A/A",
        sentence,
        None if reach is None else float(band),
        "log ratio",
        None,
        None,
        n,
        st.LEVEL,
        "comparisons",
    )


def power(results: Results) -> Iterator[Finding]:
    """Which difference this run would have missed."""
    rows = table(results, "comparisons")
    rows = rows[~rows["is_again"]] if len(rows) else rows
    if rows.empty:
        return
    n, asked = int(rows["n"].min()), len(rows)
    shares = rows["missed_share"].dropna().astype(float)
    with_n = counted(n, "replicate")
    if shares.empty:
        sentence = f"With {with_n} no difference of one treatment among {asked} can be shown, however large."
        value = None
    else:
        value = float(shares.max())
        each = "" if asked == 1 else f", were it the only one among {asked},"
        below = f"{value:.2g} times" if value > 1 else f"{value:.1%}"
        sentence = f"With {with_n} a difference below {below}{each} would be missed half the time."
    yield Finding("Power", sentence, value, "share", None, None, n, st.LEVEL, "comparisons")


def steady(results: Results) -> Iterator[Finding]:
    """Whether the path stayed the same while the run went on."""
    rows = table(results, "run_order")
    if rows.empty:
        return
    says, n = str(rows["says"].iloc[0]), len(rows)
    steps = rows[rows["is_step"]]
    if says == "steady":
        sentence = f"No step and no drift of the path was found over {n} cells."
    else:
        words = [
            f"at cell {int(row['cell'])} by a factor of {digits(row['factor'])}"
            for _, row in steps.iterrows()
        ]
        drift = "" if says == "step" else f" a drift of {float(rows['drift_share'].iloc[0]):+.0%}"
        sentence = f"The path changed during the run ({says}): {', '.join(words)}{drift}."
    wider = float(rows["median_intervals_widened"].iloc[0])
    if wider > 1:
        p = float(rows["replicates_alike_p"].iloc[0])
        alike = "are" if rows["replicates_alike_is_shown"].iloc[0] else "may be"
        sentence += (
            f" Replicates {alike} alike from one to the next (p = {p:.2g}), so intervals of medians were made"
            f" {wider:.2g} times as wide; ratios within a run are not affected."
        )
    yield Finding(
        "Path over time", sentence, float(len(steps)), "steps", None, None, n, st.LEVEL, "run_order"
    )


def odd_cells(results: Results) -> Iterator[Finding]:
    """How many cells lie far out, with and without them."""
    rows = table(results, "outlier_cells")
    if rows.empty:
        return
    worst = rows.loc[rows["modified_z"].abs().idxmax()]
    times = float(worst["wall_ns"]) / float(worst["median_ns"])
    sentence = (
        f"Outliers: {len(rows)}. The farthest is cell {int(worst['cell'])} ({worst['treatment']}),"
        f" {digits(times)} times the median of its group. Every figure includes them;"
        " rate_intervals shows both."
    )
    yield Finding(
        "Outliers", sentence, float(len(rows)), "cells", None, None, len(rows), st.LEVEL, "outlier_cells"
    )


#: What every run says, as far as it can.
ALWAYS: tuple[Maker, ...] = (ceiling, a_a, power, steady, odd_cells)
