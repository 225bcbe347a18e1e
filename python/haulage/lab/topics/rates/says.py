"""What is said of cells that took much longer or shorter than their like."""

from __future__ import annotations

from collections.abc import Iterator

from haulage.lab.analysis.cards import Results, card, table
from haulage.lab.analysis.model import Finding
from haulage.words.numbers import digits


def odd_cells(results: Results) -> Iterator[Finding]:
    """Say how many cells are outliers, and which lies farthest out."""
    rows = table(results, "outlier_cells")
    if rows.empty:
        return
    worst = rows.loc[rows["modified_z"].abs().idxmax()]
    times = float(worst["wall_ns"]) / float(worst["median_ns"])
    sentence = (
        f"Outliers: {len(rows)}. The farthest is cell {int(worst['cell'])} ({worst['treatment']}),"
        f" {digits(times)} times the median of its group. Every figure includes them;"
        " rate_intervals shows both."
    )
    yield card("Outliers", sentence, float(len(rows)), "cells", len(rows), "outlier_cells")
