"""What is said of the ceiling, and of the share of it that was used."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.cards import Results, bounded, card_of_interval, table
from haulage.lab.analysis.model import Finding
from haulage.words.numbers import format_rate, round_size


def carried(results: Results) -> Iterator[Finding]:
    """Say how much the path carries, by the cells that were run to find out."""
    rows = table(results, "cells_in_order")
    rows = rows[(rows["method"] == "ceiling") & (rows["outcome"] == "ok") & ~rows["warmup"]]
    for direction, part in rows[~rows["treatment"].str.contains("-again")].groupby("direction"):
        by_treatment = part.groupby("treatment")["rate_bits_per_second"]
        best = by_treatment.median().idxmax()
        rates = by_treatment.get_group(best).to_numpy(dtype=float)
        found = st.of_the_best(st.median_interval(rates), np.log(rates), len(by_treatment))
        if found.value is None:
            continue
        bounds = bounded(found.low, found.high, format_rate)
        sentence = f"The path carries {format_rate(found.value)}{bounds} {direction}, with {best}."
        yield card_of_interval(found, "Ceiling", sentence, "bits per second", "cells_in_order")


def ceiling(results: Results) -> Iterator[Finding]:
    """Say which share of the ceiling the best treatment used."""
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
        # The cells and the ceiling are both uncertain, independently of each other.
        low, high = _widened(found, like_it)
        found = replace(found, low=low, high=high)
        bounds = bounded(found.low, found.high, "{:.0%}".format)
        used = f"{found.value:.0%}{bounds}"
        sentence = f"{treatment}{of} used {used} of the ceiling of {format_rate(top)} {direction}."
        least = found.value if low is None else low
        if least is not None and least > 1:
            sentence = (
                f"{treatment}{of} moved {used} of the ceiling measured {direction},"
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


CARDS = {"ceiling": (carried, ceiling)}
