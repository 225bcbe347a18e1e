"""The parts of an analysis: results, a verdict, findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from haulage.causes.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Result:
    """A table, and how it was made.

    Attributes:
        name: The name of the query, or of the statistic made from one.
        title: What the table shows.
        question: The question it answers.
        method: How it was made, in words.
        sql: The query that was run; for a statistic, the query that its numbers come from.
        frame: The rows, in the order that was hashed.
        columns: The names of the columns, which include the units.
        n: The number of observations: rows of the raw files for a query, rows of its source for a statistic.
        inputs: The SHA-256 of each file that was read.
        kind: ``"query"``, or ``"statistics"`` if Python computed part of it.
        made_from: The names of the results it was made from.
        rows_sha256: The SHA-256 of the canonical text of the rows.
    """

    name: str
    title: str
    question: str
    method: str
    sql: str
    frame: pd.DataFrame
    columns: list[str]
    n: int
    inputs: Mapping[str, str]
    kind: Literal["query", "statistics"] = "query"
    made_from: tuple[str, ...] = ()
    rows_sha256: str = ""


@dataclass(frozen=True)
class Finding:
    """A card: one sentence with its number.

    Attributes:
        title: Two or three words.
        sentence: The finding, readable alone.
        value: The number; ``None`` where the finding is that there is none.
        unit: Of value, low and high.
        low: Lower bound; ``None`` without an interval.
        high: Upper bound.
        n: Observations.
        level: Of the interval, as achieved.
        query: Name of the result that the number comes from.
        no_value: What its card shows in place of a number.
        answers: Whether it answers the question of the plan; others are found of every run.
    """

    title: str
    sentence: str
    value: float | None
    unit: str
    low: float | None
    high: float | None
    n: int
    level: float
    query: str
    no_value: str = "not determined"
    answers: bool = False


@dataclass(frozen=True)
class Analysis:
    """All that was found in a run directory.

    Attributes:
        directory: Of the run.
        results: By name, in the order they were made.
        verdict: Of the treatment that matters most: the adaptive one, else the quickest, at its largest size.
        verdicts: Of every treatment and size that was recorded.
        findings: The cards.
    """

    directory: Path
    results: dict[str, Result]
    verdict: Verdict
    findings: list[Finding]
    verdicts: list[Verdict] = field(default_factory=list)
