"""What is said of each treatment beside the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.cards import Results, bounded, card, card_of, number, same_as, table
from haulage.lab.analysis.model import Finding
from haulage.words.numbers import counted, digits, round_size


def speed_up(results: Results) -> Iterator[Finding]:
    """Say how much faster the adaptive arm, or else any, is at the largest size, and which gains most."""
    rows = table(results, "comparisons")
    if rows.empty:
        return
    rows = rows[~rows["is_again"] & rows["times_as_fast"].notna()]
    adaptive = rows[rows["treatment"].str.startswith("adaptive")]
    pool = adaptive if len(adaptive) else rows
    if pool.empty:
        return
    largest = pool.loc[pool["size_bytes"].fillna(0).astype(float).idxmax()]
    shown = rows[rows["says"] == "different"]
    chosen = [("Speed-up, largest file", largest)]
    if len(shown):
        most = shown.loc[shown["times_as_fast"].astype(float).idxmax()].copy()
        # The largest of many is partly luck, so its interval has to hold for whichever was the largest.
        most[["low", "high", "level"]] = _of_the_most(results, most, len(rows))
        chosen.append(("Speed-up, most", most))
    for title, row in chosen:
        size, times = number(row["size_bytes"]), float(row["times_as_fast"])
        bounds = bounded(row["low"], row["high"], digits)
        of = "the files" if size is None else round_size(size)
        sentence = (
            f"{row['treatment']} moves {of} {digits(times)} times{bounds} as fast as {row['baseline']}."
        )
        if row["says"] == "equivalent":
            sentence += " The difference does not matter."
        elif row["says"] != "different":
            sentence += f" Not shown: n = {int(row['n'])}{_missed(row)}."
        yield card_of(row, title, sentence, "times", "comparisons", "times_as_fast")


def _of_the_most(results: Results, row: pd.Series, asked: int) -> list[float | None]:
    """Return bounds of the largest of several ratios, and their level."""
    pairs = same_as(table(results, "paired"), row, ("direction", "node", "size_bytes", "files", "treatment"))
    logs = pairs["log_ratio"].to_numpy(dtype=float) if len(pairs) else []
    plain = st.Interval(
        float(row["times_as_fast"]), number(row["low"]), number(row["high"]), len(logs), st.LEVEL, ""
    )
    found = st.of_the_best(plain, logs, asked)
    return [found.low, found.high, found.level]


def _missed(row: pd.Series) -> str:
    """Return the difference that such a design would miss, in words."""
    share = number(row.get("missed_share"))
    return "" if share is None else f", and less than {share:.0%} would be missed half the time"


def a_a(results: Results) -> Iterator[Finding]:
    """Say whether the baseline differs from itself."""
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
    yield card("A/A", sentence, None if reach is None else float(band), "log ratio", n, "comparisons")


def power(results: Results) -> Iterator[Finding]:
    """Say which difference this run would have missed."""
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
    yield card("Power", sentence, value, "share", n, "comparisons")
