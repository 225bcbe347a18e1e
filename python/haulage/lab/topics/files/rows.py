"""Tables of the rates of single files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import Table, groups

#: Nobody reads more curves than this.
CURVES = 60


def percentiles(transfers: pd.DataFrame) -> pd.DataFrame:
    """Duration of a file at the middle and far out, where the cells it was measured in can bound it."""
    rows = []
    for key, part in groups(transfers, ["direction", "treatment", "size_bytes"]):
        cells = [group["duration_ns"].to_numpy(dtype=float) for _, group in part.groupby("cell")]
        for share in (0.5, 0.95, 0.99):
            found = st.percentile_of_cells(cells, share)
            rows.append(
                key
                | {
                    "percentile": share * 100,
                    "n": found.n,
                    "cells": len(cells),
                    "duration_ns": found.value,
                    "low_ns": found.low,
                    "high_ns": found.high,
                    "level": found.level,
                    "note": found.note,
                }
            )
    return pd.DataFrame(rows)


def transfer_rates(transfers: pd.DataFrame) -> pd.DataFrame:
    """Median rate of a single file, with an interval over the cells that it was measured in."""
    rows: list[dict[str, Any]] = []
    for key, part in groups(transfers, ["direction", "treatment", "size_bytes"]):
        runs = [group["rate_bits_per_second"].to_numpy(dtype=float) for _, group in part.groupby("cell")]
        if len(runs) == len(part) or len(rows) >= CURVES:
            continue
        found = st.percentile_of_cells(runs, 0.5)
        rows.append(
            key
            | {
                "n": found.n,
                "runs": len(runs),
                "rate_bits_per_second": found.value,
                "low_bits_per_second": found.low,
                "high_bits_per_second": found.high,
                "level": found.level,
                "note": found.note,
            }
        )
    return pd.DataFrame(rows)


def densities(transfers: pd.DataFrame) -> pd.DataFrame:
    """Curves of the rate of transfers, with the test for two modes repeated on every row of a curve."""
    rows: list[pd.DataFrame] = []
    for key, part in groups(transfers, ["direction", "treatment", "size_bytes"]):
        logs = np.log10(part["rate_bits_per_second"].to_numpy(dtype=float))
        if len(logs) < 6 or len(rows) >= CURVES:
            continue
        found = st.density(logs)
        # Transfers of a cell are alike, and so many of few cells make heaps; a cell is one value.
        by_cell = pd.Series(logs).groupby(part["cell"].to_numpy()).median().to_numpy(dtype=float)
        tested = found if len(by_cell) in (1, len(logs)) else _of_both(found, logs, by_cell, part)
        rows.append(
            pd.DataFrame(
                key
                | {
                    "n": found.n,
                    "rate_bits_per_second": 10**found.x,
                    "density_per_decade": found.y,
                    "modes": found.modes,
                    "p_one_mode": tested.p_one_mode,
                    "two_modes_likely": tested.two_modes_likely,
                }
            )
        )
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _of_both(found: st.Density, logs: st.Floats, by_cell: st.Floats, part: pd.DataFrame) -> st.Density:
    """Return the test of cells, or of transfers within their cells: two modes may lie between or within."""
    between = st.density(by_cell)
    cell = part["cell"].to_numpy()
    within = st.density(logs - pd.Series(logs).groupby(cell).transform("mean").to_numpy(dtype=float))
    known = [one.p_one_mode for one in (between, within) if one.p_one_mode is not None]
    # Two questions, so the smaller p counts twice.
    return replace(found, p_one_mode=min(1.0, len(known) * min(known)) if known else None)


TABLES = [
    Table(
        "percentiles",
        "rate_by_transfer",
        "Duration of a file",
        "How long does a file take, usually and at worst?",
        "Percentiles with intervals over cells, since transfers of one cell are alike: a t test on the"
        " share of each cell below, far out Korn and Graubard's. p95 needs 72 effective transfers, p99"
        " needs 368, an interval six cells; below that none is given.",
        percentiles,
    ),
    Table(
        "transfer_rates",
        "rate_by_transfer",
        "Rate of a single file",
        "How fast is one file, where several make a run?",
        "Median over all transfers; its interval takes each cell as one observation, because transfers of"
        " one cell are alike.",
        transfer_rates,
    ),
    Table(
        "densities",
        "rate_by_transfer",
        "Density of the rates",
        "Is there one usual rate, or two?",
        "Gaussian kernel density of the logarithm of the rate, Silverman's width; Hartigan's dip test for"
        " one mode, of the medians of cells and of transfers within their cells.",
        densities,
    ),
]
