"""What is said of forms, answers and proxies, beside what 2009 found (E8)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from haulage.lab.analysis.cards import Results, bounded, card_of, table
from haulage.lab.analysis.model import Finding
from haulage.lab.topics.formats.rows import QUESTIONS, Question
from haulage.words.numbers import digits, format_time, round_size


def answers(results: Results) -> Iterator[Finding]:
    """Answer each question at each place, and say whether the answer is that of 2009."""
    rows = table(results, "format_ratios")
    if rows.empty:
        return
    rows = rows.sort_values("node_number", kind="stable")
    minimal, atom = rows["format"] == "json-minimal", rows["format"] == "atom"
    paged, proxy = rows["answers"] == "paged", rows["way"] == "proxy"
    # What 2009 compared.
    chosen = {
        "form beside Atom": minimal & paged & proxy,
        "gathered beside paged": minimal & proxy,
        "proxy beside direct": atom & paged,
    }
    for question in QUESTIONS:
        for _, row in rows[(rows["question"] == question.name) & chosen[question.name]].iterrows():
            title = question.name[0].upper() + question.name[1:]
            yield card_of(row, title, _words(question, row), "times", "format_ratios", "time_ratio")


def _words(question: Question, row: pd.Series) -> str:
    where = f"{row['node']}: " if row["node"] else ""
    subject = {
        "format": f"{row['format']} by pages through the proxy",
        "answers": f"{row['format']} as one answer through the proxy",
        "way": f"{row['format']} by pages through the proxy",
    }[question.column]
    base = {"format": "Atom's", "answers": "the pages'", "way": "the store's own pages'"}[question.column]
    bounds = bounded(row["low"], row["high"], digits)
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
    return f"{'As in 2009:' if says == wanted else 'Other than in 2009: then'} {question.founding}."


def widest(results: Results) -> Iterator[Finding]:
    """Say which combination is quickest at each place, and which slowest."""
    rows = table(results, "format_times")
    for _, part in rows.groupby("node_number") if len(rows) else ():
        best, worst = part.loc[part["wall_ns"].idxmin()], part.loc[part["wall_ns"].idxmax()]
        names = [f"{row['format']}, {row['answers']}, {row['way']}" for row in (best, worst)]
        where = f"{best['node']}: " if best["node"] else ""
        sentence = f"{where}{names[0]} is quickest, {_of(best)}; {names[1]} is slowest, {_of(worst)}."
        yield card_of(best, "Quickest", sentence, "ns", "format_times", "wall_ns", "low_ns", "high_ns")


def _of(row: pd.Series) -> str:
    return f"{format_time(row['wall_ns'])} and {round_size(row['payload_bytes'])}"


CARDS = {"table-formats": (answers, widest)}
