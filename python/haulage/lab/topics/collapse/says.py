"""What is said of a link that collapses."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from haulage.lab.analysis.cards import Results, card, number, same_as, table
from haulage.lab.analysis.model import Finding
from haulage.lab.analysis.tables import groups
from haulage.lab.topics.baseline.says import speed_up
from haulage.lab.topics.over_time.says import fault
from haulage.words.numbers import digits, format_rate

_AT_FAULT = {
    "service": "The service is at fault",
    "path": "The path is at fault",
    "client": "The client's side is at fault",
    "client or path": "The client's side or the path is at fault, not the service",
    "none": "Nothing failed",
    "undetermined": "Whose fault it is cannot be told",
}


def fell(results: Results) -> Iterator[Finding]:
    """Say where a job fell, and the rates on both sides, as 2009 gave them."""
    rows = table(results, "before_after")
    for key, part in groups(rows, ["direction", "treatment", "files", "replicate"]) if len(rows) else ():
        sides = part.set_index("side")
        before, after = sides.loc["before"], sides.loc["after"]
        times = float(before["mean_bits_per_second"]) / float(after["mean_bits_per_second"])
        share = float(before["bytes"]) / float(part["bytes"].sum())
        words = [
            f"{format_rate(float(side['mean_bits_per_second']))} (sd {_sd(side)}, n = {int(side['n'])})"
            for side in (before, after)
        ]
        kind = {"step": "a fault, and no drift", "step and drift": "a fault, and a drift besides"}
        job_key = pd.Series(key)
        found = same_as(table(results, "job_changes"), job_key, tuple(key))
        job = same_as(table(results, "rate_in_job"), job_key, tuple(key)).sort_values(["cell", "part"])
        seconds = float(job["took_ns"].iloc[: int(before["n"])].sum()) / 1e9
        sentence = (
            f"{before['treatment']}: {kind.get(str(found['says'].iloc[0]), 'a fall')}. After"
            f" {digits(seconds)} s, at {share:.0%} of the bytes, the rate fell {digits(times)} times at once,"
            f" from a mean of {words[0]} to {words[1]}."
        )
        yield card("Before and after", sentence, times, "times", int(part["n"].sum()), "before_after")


def _sd(side: pd.Series) -> str:
    value = number(side["sd_bits_per_second"])
    return "unknown" if value is None else format_rate(value)


def lost(results: Results) -> Iterator[Finding]:
    """Say which treatments lost files."""
    rows = table(results, "lost_files")
    if rows.empty:
        return
    for treatment, part in rows.groupby("treatment", sort=True):
        gone, all_ = int(part["lost"].sum()), int(part["n"].sum())
        if not gone:
            continue
        share = float(part["bytes_before_the_first_loss"].sum()) / float(part["bytes_asked"].sum())
        sentence = (
            f"{treatment} lost {gone} of {all_} files; {share:.0%} of the bytes were there before the first"
            " was lost."
        )
        yield card("Files lost", sentence, float(gone), "files", all_, "lost_files")


def fault_of(results: Results) -> Iterator[Finding]:
    """Say whose fault the fall is, by the places from which it was seen."""
    rows = table(results, "places")
    for (_, arm), part in rows.groupby(["direction", "arm"], sort=True) if len(rows) else ():
        fault, why = str(part["fault"].iloc[0]), part["why"].iloc[0]
        no_value = {"none": "nothing failed", "undetermined": "not determined"}.get(fault, fault)
        sentence = f"{arm}: {_AT_FAULT[fault]}: {why}."
        yield card("Whose fault", sentence, None, "", int(part["n"].sum()), "places", no_value)


CARDS = {"failing-link": (fault_of, fault, fell, lost, speed_up)}
