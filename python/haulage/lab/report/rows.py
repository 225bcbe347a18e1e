"""The rows of a result for people: a table of the first, and all of them as CSV where they are few."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import Any

from haulage.lab.analysis.model import Result

#: As many rows as a person reads; the file beside the report holds all.
SHOWN = 40
#: As a link inside the page; above it the Parquet file is named instead.
LARGEST_CSV_BYTES = 200_000
#: Object names can have a thousand characters.
LONGEST_CELL = 120


@dataclass(frozen=True)
class Table:
    """The first rows as text, aligned by kind of column."""

    columns: list[str]
    numeric: list[bool]
    rows: list[list[str]]
    total: int
    csv: str | None  #: a data link that holds all rows, or ``None`` where they are too many


def table(result: Result) -> Table:
    """Return what the tab Rows shows of a result."""
    frame = result.frame
    numeric = [frame[column].dtype.kind in "iuf" for column in frame.columns]
    rows = [[cell(value) for value in row] for row in frame.head(SHOWN).itertuples(index=False)]
    return Table([str(column) for column in frame.columns], numeric, rows, len(frame), _csv(result))


def cell(value: Any) -> str:
    """Return a value as text: floats with six digits, nothing for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    if text in ("<NA>", "NaT"):
        return ""
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


def _csv(result: Result) -> str | None:
    frame = result.frame
    if frame.size * 8 > LARGEST_CSV_BYTES * 2:
        return None
    text = frame.to_csv(index=False, lineterminator="\n")
    if len(text) > LARGEST_CSV_BYTES:
        return None
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()
