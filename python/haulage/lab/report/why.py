"""What stands with the verdict: bars of its shares, its phases, and the transfers of the experiments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haulage.causes.effects import CHANGES
from haulage.causes.sentences import found_words, largest_first
from haulage.causes.verdict import Verdict
from haulage.causes.vocabulary import cause_words
from haulage.words.numbers import format_rate, format_time

#: Where the transfers of the experiments are kept, in the folder of a run.
CONFIRMATIONS = "confirmations.json"
#: The colour of each cause that may share the time of a request.
COLOUR = {"connection-rate": "blue", "latency": "amber", "server": "violet", "total-rate": "green"}
#: What the experiments that change nothing of the transfer are called.
_OTHERS = {
    "base": "Nothing changed",
    "requests": "Single small requests",
    "again": "The same again",
    "slower": "Half the rate",
}


@dataclass(frozen=True)
class Share:
    """A bar: its middle and bounds in percent, and the same in words."""

    cause: str
    middle: float
    low: float
    high: float
    words: str
    colour: str


@dataclass(frozen=True)
class PhaseRow:
    """A time in which the rate was one."""

    begin: str
    end: str
    width: float
    rate: str
    found: str
    status: str
    advice: str


@dataclass(frozen=True)
class Trials:
    """The transfers of the experiments, as rows of a table."""

    columns: tuple[str, ...]
    rows: list[list[str]]


def shares_of(verdict: Verdict) -> list[Share]:
    """Return a bar for each cause of a mixed verdict, the largest first."""
    return [
        Share(
            cause_words(cause),
            round(100 * middle, 2),
            round(100 * low, 2),
            round(100 * high, 2),
            f"{middle:.0%} ({low:.0%} to {high:.0%})",
            COLOUR.get(cause, "grey"),
        )
        for cause, (middle, low, high) in largest_first(verdict)
    ]


def phases_of(verdict: Verdict) -> list[PhaseRow]:
    """Return a row for each phase of a path that changed."""
    return [
        PhaseRow(
            f"{phase.during.from_share:.0%}",
            f"{phase.during.to_share:.0%}",
            round(100 * (phase.during.to_share - phase.during.from_share), 2),
            format_rate(phase.during.rate_bits_per_second),
            found_words(phase),
            phase.status,
            phase.advice,
        )
        for phase in verdict.phases
        if phase.during is not None
    ]


def trials_of(directory: Path) -> Trials | None:
    """Return the transfers of the experiments after a run; ``None`` where none were made."""
    path = directory / CONFIRMATIONS
    if not path.is_file():
        return None
    kept = json.loads(path.read_text(encoding="utf-8")).get("trials", ())
    if not kept:
        return None
    columns = (
        "Experiment",
        "Replicate",
        "Rate",
        "Requests",
        "Refused",
        "Answer",
        "Write",
        "CPU idle",
        "Cores",
        "Outcome",
    )
    return Trials(columns, [_row(trial) for trial in kept])


def _row(trial: Mapping[str, Any]) -> list[str]:
    name = str(trial["name"])
    return [
        (CHANGES | _OTHERS).get(name, name),
        str(trial["replicate"]),
        _shown(trial, "rate_bits_per_second", format_rate),
        _shown(trial, "requests", str),
        _shown(trial, "refused_share", "{:.1%}".format),
        _shown(trial, "answer_ns", format_time),
        _shown(trial, "write_ns", format_time),
        _shown(trial, "cpu_idle_share", "{:.0%}".format),
        _shown(trial, "cores_used", "{:.2f}".format),
        str(trial["outcome"]),
    ]


def _shown(trial: Mapping[str, Any], column: str, words: Any) -> str:
    value = trial.get(column)
    # Where only empty requests were sent there is no rate.
    return "" if value is None or (column == "rate_bits_per_second" and not value) else str(words(value))
