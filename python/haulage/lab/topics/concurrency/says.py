"""What is said of how many requests in flight are enough."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from haulage.lab.analysis.cards import Results, card_of, number, table
from haulage.lab.analysis.model import Finding
from haulage.words.numbers import format_rate, round_size


def knee(results: Results) -> Iterator[Finding]:
    """Say from how many requests in flight on more give nothing."""
    rows = table(results, "knees")
    several = len(rows) > 0 and rows["direction"].nunique() > 1
    for _, row in rows.iterrows():
        title = f"Knee, {row['direction']}" if several else "Knee"
        at, rate = number(row["knee"]), number(row["rate_bits_per_second"])
        low, high = number(row["knee_low"]), number(row["knee_high"])
        size = "" if pd.isna(row["size_bytes"]) else f", {round_size(row['size_bytes'])}"
        what = f"{row['method']}{size} {row['direction']}"
        best = "" if rate is None else f" The fastest was {format_rate(rate)} at {int(row['best'])}."
        if at is not None:
            bounds = "" if low == high else f" (knee between {low:.0f} and {high:.0f})"
            sentence = f"{what}: {at:.0f} in flight are enough{bounds}; more give less than 5 %."
        elif low is None:
            sentence = f"{what}: the knee is not determined from n = {int(row['n'])}."
        elif low >= row["most"]:
            sentence = f"{what}: the rate still rises at {int(row['most'])} in flight."
        else:
            sentence = (
                f"{what}: the knee is not determined; at least {low:.0f} in flight are"
                f" needed, and up to {int(row['most'])} none is shown to be enough."
            )
        columns = ("knee", "knee_low", "knee_high")
        yield card_of(row, title, sentence + best, "requests in flight", "knees", *columns)


CARDS = {"concurrency": (knee,)}
