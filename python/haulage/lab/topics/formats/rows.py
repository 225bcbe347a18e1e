"""Tables of what the form of rows, one answer instead of pages, and a proxy change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import Table, groups

ARM = ["format", "answers", "way"]


#: Times whose ratio differs from 1 by less than this are the same, as by the plan's margin.
SAME = 0.05


@dataclass(frozen=True)
class Question:
    """What was changed, with all else equal, and what 2009 found for it."""

    name: str
    column: str
    base: str  #: the level that the others are compared with
    founding: str
    #: Whether it took less time then; ``None`` if about the same.
    quicker: bool | None


QUESTIONS = (
    Question(
        "form beside Atom",
        "format",
        "atom",
        "JSON had 0.15 times the bytes of Atom, and was quicker",
        True,
    ),
    Question(
        "gathered beside paged",
        "answers",
        "paged",
        "gathered JSON took 0.78 times the time of JSON by pages",
        True,
    ),
    Question(
        "proxy beside direct",
        "way",
        "direct",
        "rows crossed from the store to the proxy almost for nothing",
        None,
    ),
)


def format_times(cells: pd.DataFrame) -> pd.DataFrame:
    """Payload and time of each form, answer and way at each place."""
    rows = []
    for key, part in groups(cells, ["node_number", "node", *ARM]):
        time = st.median_interval(part["wall_ns"].to_numpy(dtype=float))
        rows.append(
            key
            | {
                "n": len(part),
                "payload_bytes": float(part["payload_bytes"].median()),
                "requests": float(part["requests"].median()),
                "wall_ns": time.value,
                "low_ns": time.low,
                "high_ns": time.high,
                "level": time.level,
                "note": time.note,
            }
        )
    return pd.DataFrame(rows)


def format_ratios(cells: pd.DataFrame) -> pd.DataFrame:
    """Each level beside the base of its question, replicate by replicate."""
    rows: list[dict[str, Any]] = []
    for question in QUESTIONS:
        others = [name for name in ARM if name != question.column]
        for key, part in groups(cells, ["node_number", "node", *others]):
            base = part[part[question.column] == question.base].set_index("replicate")
            for level, own in part[part[question.column] != question.base].groupby(
                question.column, sort=True
            ):
                both = base.join(own.set_index("replicate"), how="inner", suffixes=("_base", ""))
                if both.empty:
                    continue
                found = st.compare(both["wall_ns_base"].to_numpy(float), both["wall_ns"].to_numpy(float))
                payload = (both["payload_bytes"] / both["payload_bytes_base"]).median()
                rows.append(
                    key
                    | {
                        "question": question.name,
                        question.column: str(level),
                        "beside": question.base,
                        "n": found.ratio.n,
                        "payload_ratio": float(payload),
                        "time_ratio": found.ratio.value,
                        "low": found.ratio.low,
                        "high": found.ratio.high,
                        "level": found.ratio.level,
                        "p": found.p,
                        "note": found.ratio.note,
                    }
                )
    frame = pd.DataFrame(rows)
    if len(frame):
        frame["q"] = st.benjamini_hochberg(frame["p"].tolist())
        frame["says"] = [_says(row) for _, row in frame.iterrows()]
    return frame


def _says(row: Mapping[str, Any]) -> str:
    low, high = row["low"], row["high"]
    if low is None or high is None or pd.isna(low) or pd.isna(high):
        return "n too small"
    if max(abs(math.log(low)), abs(math.log(high))) < math.log1p(SAME):
        return "same"
    if row["q"] is not None and row["q"] < 0.05 and (high < 1 or low > 1):
        return "quicker" if high < 1 else "slower"
    return "undecided"


TABLES = [
    Table(
        "format_times",
        "table_formats",
        "Payload and time by form, answer and way",
        "How long do all rows take, and how many bytes are they?",
        "Median time with its order-statistic interval; median payload, which varies by few bytes.",
        format_times,
    ),
    Table(
        "format_ratios",
        "table_formats",
        "What the form, one answer, and a proxy change",
        "How much quicker is each, with all else equal?",
        "Hodges-Lehmann shift of the paired log ratios of times, signed-rank interval; q by Benjamini and"
        " Hochberg over all ratios. Quicker or slower: the interval leaves out 1 and q is below 0.05. Same:"
        " the interval lies within 5 %. The ratio of payloads is the median over the pairs.",
        format_ratios,
    ),
]
