"""Tables that need statistics, each made from the rows of one query."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.model import Result
from haulage.lab.analysis.query import statistic

#: What tells one group of cells from another.
GROUP = ["direction", "node", "size_bytes", "files", "treatment"]
#: A curve for more groups than this is not read by anybody.
CURVES = 60


@dataclass(frozen=True)
class Table:
    """A statistic: from which query, what it says of itself, and the function that makes its rows."""

    name: str
    source: str
    title: str
    question: str
    method: str
    make: Callable[[pd.DataFrame], pd.DataFrame]


def make_all(results: Mapping[str, Result], tables: list[Table], folder: Path) -> Iterator[Result]:
    """Yield every table whose query was run and that has rows."""
    for table in tables:
        source = results.get(table.source)
        if source is None or source.frame.empty:
            continue
        frame = table.make(source.frame)
        if len(frame):
            yield statistic(table.name, table.title, table.question, table.method, frame, source, folder)


def groups(frame: pd.DataFrame, keys: list[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the rows of each combination of ``keys``, missing values being a value like any other."""
    for values, part in frame.groupby(keys, dropna=False, sort=True):
        yield dict(zip(keys, values if isinstance(values, tuple) else (values,), strict=True)), part


def bounds(interval: st.Interval, name: str = "") -> dict[str, Any]:
    """Return an interval as columns: value, low, high, level, and a note where something is missing."""
    tail = f"_{name}" if name else ""
    return {
        f"value{tail}": interval.value,
        f"low{tail}": interval.low,
        f"high{tail}": interval.high,
        f"level{tail}": interval.level,
        f"note{tail}": interval.note,
    }


def well(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that ended well and are no warm-up."""
    kept = (frame["outcome"] == "ok") & ~frame["warmup"] & (frame["method"] != "ceiling")
    return frame[kept & frame["rate_bits_per_second"].gt(0)]


#: Cells of one kind are replicates of each other.
KIND = ["direction", "size_bytes", "files", "treatment"]


def replicates_alike(cells: pd.DataFrame) -> st.Serial:
    """Return how alike replicates are to the ones before, over all treatments that were repeated."""
    like = cells.groupby(KIND, dropna=False)["rate_bits_per_second"]
    repeated = cells[like.transform("size") >= 2]
    logs = pd.DataFrame(
        {
            "kind": repeated.groupby(KIND, dropna=False).ngroup(),
            "replicate": repeated["replicate"],
            "log": np.log(repeated["rate_bits_per_second"].astype(float)),
        }
    )
    return st.serial(logs.pivot_table(index="kind", columns="replicate", values="log").to_numpy())


def rate_intervals(cells: pd.DataFrame) -> pd.DataFrame:
    """Median rate of each treatment and size with its interval, the mean, and the median without outliers."""
    rows = []
    usable = well(cells)
    times = replicates_alike(usable).wider if len(usable) else 1.0
    for key, part in groups(usable, KIND):
        rate = part["rate_bits_per_second"].to_numpy(dtype=float)
        median, far = st.widened(st.median_interval(rate), times), st.outliers(rate)
        rows.append(
            key
            | {
                "n": len(rate),
                "rate_bits_per_second": median.value,
                "low_bits_per_second": median.low,
                "high_bits_per_second": median.high,
                "level": median.level,
                "mean_bits_per_second": float(rate.mean()),
                "deviation_bits_per_second": float(rate.std(ddof=1)) if len(rate) > 1 else None,
                "outliers": sum(far.flagged),
                "without_outliers_bits_per_second": far.without.value,
                "note": median.note,
            }
        )
    return pd.DataFrame(rows)


def outlier_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that lie far from their like; the rows stay in every other table."""
    rows = []
    for key, part in groups(well(cells), ["direction", "size_bytes", "files", "treatment"]):
        found = st.outliers(part["wall_ns"].to_numpy(dtype=float))
        for (_, cell), flagged, z in zip(part.iterrows(), found.flagged, found.z, strict=True):
            if flagged:
                rows.append(
                    key
                    | {
                        "replicate": int(cell["replicate"]),
                        "cell": int(cell["cell"]),
                        "wall_ns": int(cell["wall_ns"]),
                        "median_ns": found.with_all.value,
                        "median_without_ns": found.without.value,
                        "modified_z": z,
                        "n": len(part),
                    }
                )
    return pd.DataFrame(rows)


def comparisons(paired: pd.DataFrame, margin: float = st.MARGIN) -> pd.DataFrame:
    """Each treatment against the baseline, corrected for their number, with what would have been missed."""
    rows = []
    shifts: list[st.Interval] = []
    for key, part in groups(paired, ["direction", "node", "size_bytes", "files"]):
        repeated = part[part["is_again"]].groupby("replicate")["rate_bits_per_second"].median()
        for treatment, pairs in part.groupby("treatment", sort=True):
            is_again = bool(pairs["is_again"].iloc[0])
            again = (
                None if is_again or repeated.empty else repeated.reindex(pairs["replicate"]).to_numpy(float)
            )
            a = pairs["baseline_bits_per_second"].to_numpy(dtype=float)
            b = pairs["rate_bits_per_second"].to_numpy(dtype=float)
            found = st.compare(a, b, again)
            ratio, logs = found.ratio, np.log(b / a)
            shifts.append(found.shift)
            rows.append(
                key
                | {
                    "treatment": treatment,
                    "method": pairs["method"].iloc[0],
                    "baseline": pairs["baseline"].iloc[0],
                    "is_again": is_again,
                    "n": ratio.n,
                    "times_as_fast": ratio.value,
                    "low": ratio.low,
                    "high": ratio.high,
                    "level": ratio.level,
                    "p": found.p,
                    "spread_log": float(logs.std(ddof=1)) if len(logs) > 1 else None,
                    "note": ratio.note,
                }
            )
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame
    # The A/A arm is no question that was asked of the run, so it is not counted among them.
    frame["q"] = frame["p"]
    for asked in (~frame["is_again"], frame["is_again"]):
        frame.loc[asked, "q"] = st.benjamini_hochberg(frame.loc[asked, "p"].tolist())
    own = _own_difference(frame)
    keys = frame[["direction", "node"]].astype(object).apply(tuple, axis=1)
    frame["says"] = [
        st.verdict(shift, q, margin=margin, own=0.0 if is_again else own.get(key, 0.0))
        for shift, q, is_again, key in zip(shifts, frame["q"], frame["is_again"], keys, strict=True)
    ]
    frame["band_log_ratio"] = _bands(frame)
    frame["missed_share"] = _missed(frame)
    return frame


def _own_difference(frame: pd.DataFrame) -> dict[tuple[Any, ...], float]:
    """Return by how much the baseline was shown to differ from itself, where it was."""
    again = frame[frame["is_again"] & frame["low"].notna()]
    shown = again[((again["low"] > 1) | (again["high"] < 1)) & (again["q"] < 0.05)]
    return {
        key: float(np.abs(np.log(part["times_as_fast"].astype(float))).max())
        for key, part in shown.groupby(["direction", "node"], dropna=False)
    }


def _bands(frame: pd.DataFrame) -> list[float | None]:
    """Return how far the baseline may lie from itself: the farther bound of its own interval."""
    keys = ["direction", "node", "size_bytes", "files"]
    far = {}
    for _, row in frame[frame["is_again"] & frame["low"].notna()].iterrows():
        far[str(list(row[keys]))] = max(abs(math.log(row["low"])), abs(math.log(row["high"])))
    return [far.get(str(list(row[keys]))) for _, row in frame.iterrows()]


def _missed(frame: pd.DataFrame) -> list[float | None]:
    """Return the share by which a treatment must be faster to be found half of the time, alone in its run."""
    questions = max(int((~frame["is_again"]).sum()), 1)
    squares = (frame["n"] - 1).clip(lower=0) * frame["spread_log"].fillna(0.0).astype(float) ** 2
    found: list[float | None] = []
    for _, row in frame.iterrows():
        # One spread for all treatments of a size: that of six pairs alone is known to a third.
        like = (frame["size_bytes"] == row["size_bytes"]) & (frame["direction"] == row["direction"])
        freedom = float((frame.loc[like, "n"] - 1).clip(lower=0).sum())
        spread = math.sqrt(float(squares[like].sum()) / freedom) if freedom else 0.0
        again = bool((like & frame["is_again"]).any())
        share = (
            st.detectable(int(row["n"]), spread, questions=questions, again=again) if freedom else math.inf
        )
        found.append(share if math.isfinite(share) else None)
    return found


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


def with_margin(tables: Sequence[Table], margin: float) -> list[Table]:
    """Return the tables, with the share by which what is equivalent may differ."""
    made = partial(comparisons, margin=margin)
    return [replace(table, make=made) if table.name == "comparisons" else table for table in tables]


TABLES = [
    Table(
        "rate_intervals",
        "cells_in_order",
        "Rate by treatment and size, with intervals",
        "How fast was each treatment, and how sure is that?",
        "Median goodput of the replicates with its order-statistic interval (six are needed for 95 %); mean"
        " and standard deviation beside it. Outliers by modified z of the logarithm, shown with and without.",
        rate_intervals,
    ),
    Table(
        "outlier_cells",
        "cells_in_order",
        "Outliers",
        "Which cells took much longer or shorter than the others of their kind?",
        "Modified z of log duration above 3.5. They are flagged and stay in every other table.",
        outlier_cells,
    ),
    Table(
        "comparisons",
        "paired",
        "Each treatment against the baseline",
        "Which differences are real?",
        "Hodges-Lehmann shift of the paired log ratios, signed-rank interval; exact permutation test within"
        " replicates, in which the baseline's second time takes part; q by Benjamini and Hochberg. Different:"
        " the interval leaves out 1, q is below 0.05, and it is more than 1 % and more than the baseline was"
        " shown to differ from itself. Equivalent: the interval lies within the plan's margin (5 % if it"
        " states none), as two one-sided tests ask."
        " missed_share is the difference that would be missed half the time, were it the only one."
        " The band is the interval of the baseline against itself (A/A).",
        comparisons,
    ),
    Table(
        "percentiles",
        "rate_by_transfer",
        "Duration of a file",
        "How long does a file take, usually and at worst?",
        "Percentiles with intervals over cells, since transfers of one cell are alike: a t test on the share"
        " of each cell below, far out Korn and Graubard's. p95 needs 72 effective transfers, p99 needs 368,"
        " an interval six cells; below that none is given.",
        percentiles,
    ),
    Table(
        "transfer_rates",
        "rate_by_transfer",
        "Rate of a single file",
        "How fast is one file, where several make a run?",
        "Median over all transfers; its interval takes each cell as one observation, because transfers of one"
        " cell are alike.",
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
