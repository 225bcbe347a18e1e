"""What the form of rows, one answer instead of pages, and a proxy change: the questions of E8."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.cards import Results, as_times, bounded, card_of, table
from haulage.lab.analysis.model import Finding
from haulage.lab.analysis.tables import Table, groups
from haulage.words.numbers import digits, format_time, round_size

ARM = ["format", "answers", "way"]
#: A ratio of times so close to one is no difference, as the plan's margin is.
SAME = 0.05


@dataclass(frozen=True)
class Question:
    """What was changed, with all else equal, and what 2009 found for it."""

    name: str
    column: str
    base: str  #: the level beside which the others are seen
    founding: str
    #: Whether less time was taken then; ``None`` where about the same.
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


def cards(results: Results) -> Iterator[Finding]:
    """Answer each question at each place, for what 2009 compared, and say whether it is as then."""
    rows = table(results, "format_ratios")
    if rows.empty:
        return
    rows = rows.sort_values("node_number", kind="stable")
    chosen = {
        "form beside Atom": (rows["format"] == "json-minimal")
        & (rows["answers"] == "paged")
        & (rows["way"] == "proxy"),
        "gathered beside paged": (rows["format"] == "json-minimal") & (rows["way"] == "proxy"),
        "proxy beside direct": (rows["format"] == "atom") & (rows["answers"] == "paged"),
    }
    for question in QUESTIONS:
        for _, row in rows[(rows["question"] == question.name) & chosen[question.name]].iterrows():
            yield card_of(
                row,
                _title(question),
                _words(question, row),
                "times",
                "format_ratios",
                ("time_ratio", "low", "high"),
            )


def _title(question: Question) -> str:
    return question.name[0].upper() + question.name[1:]


def _words(question: Question, row: pd.Series) -> str:
    where = f"{row['node']}: " if row["node"] else ""
    subject = {
        "format": f"{row['format']} by pages through the proxy",
        "answers": f"{row['format']} as one answer through the proxy",
        "way": f"{row['format']} by pages through the proxy",
    }[question.column]
    base = {"format": "Atom's", "answers": "the pages'", "way": "the store's own pages'"}[question.column]
    bounds = bounded(row["low"], row["high"], as_times)
    payload = float(row["payload_ratio"])
    size = "the same bytes" if abs(payload - 1) < 0.01 else f"{digits(payload)} times the bytes"
    sentence = (
        f"{where}{subject} takes {digits(float(row['time_ratio']))}{bounds} times {base} time, with {size}."
    )
    return f"{sentence} {_beside_founding(question, str(row['says']))}"


def _beside_founding(question: Question, says: str) -> str:
    if says in ("undecided", "n too small"):
        return f"Whether that is as in 2009 is not shown ({question.founding})."
    wanted = {True: "quicker", False: "slower", None: "same"}[question.quicker]
    if says == wanted:
        return f"As in 2009: {question.founding}."
    return f"Other than in 2009: then {question.founding}."


def widest(results: Results) -> Iterator[Finding]:
    """Say which combination is quickest at each place, and which slowest."""
    rows = table(results, "format_times")
    for _, part in rows.groupby("node_number") if len(rows) else ():
        best, worst = part.loc[part["wall_ns"].idxmin()], part.loc[part["wall_ns"].idxmax()]
        names = [f"{row['format']}, {row['answers']}, {row['way']}" for row in (best, worst)]
        where = f"{best['node']}: " if best["node"] else ""
        yield Finding(
            "Quickest",
            f"{where}{names[0]} is quickest, {_of(best)}; {names[1]} is slowest, {_of(worst)}.",
            float(best["wall_ns"]),
            "ns",
            best["low_ns"],
            best["high_ns"],
            int(best["n"]),
            float(best["level"]),
            "format_times",
        )


def _of(row: pd.Series) -> str:
    return f"{format_time(row['wall_ns'])} and {round_size(row['payload_bytes'])}"


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
