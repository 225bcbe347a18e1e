"""Tables that need statistics, each made from the rows of one query."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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


def rate_intervals(cells: pd.DataFrame) -> pd.DataFrame:
    """Median rate of each treatment and size with two intervals, and the same without outliers."""
    rows = []
    for key, part in groups(well(cells), ["direction", "size_bytes", "files", "treatment"]):
        rate = part["rate_bits_per_second"].to_numpy(dtype=float)
        median, far = st.median_interval(rate), st.outliers(rate)
        spread = st.bca([rate])
        rows.append(
            key
            | {
                "n": len(rate),
                "rate_bits_per_second": median.value,
                "low_bits_per_second": median.low,
                "high_bits_per_second": median.high,
                "level": median.level,
                "bca_low_bits_per_second": spread.low,
                "bca_high_bits_per_second": spread.high,
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


def comparisons(paired: pd.DataFrame) -> pd.DataFrame:
    """Each treatment against the baseline, with the A/A band and corrected for their number."""
    rows = []
    keys = ["direction", "node", "size_bytes", "files"]
    for key, part in groups(paired, keys):
        again = part[part["is_again"]]
        for treatment, pairs in part.groupby("treatment", sort=True):
            a = pairs["baseline_bits_per_second"].to_numpy(dtype=float)
            b = pairs["rate_bits_per_second"].to_numpy(dtype=float)
            found = st.compare(a, b)
            band = st.equivalence_band(again["log_ratio"].to_numpy(dtype=float)) if len(again) else None
            ratio = found.ratio
            rows.append(
                key
                | {
                    "treatment": treatment,
                    "method": pairs["method"].iloc[0],
                    "baseline": pairs["baseline"].iloc[0],
                    "is_again": bool(pairs["is_again"].iloc[0]),
                    "n": ratio.n,
                    "times_as_fast": ratio.value,
                    "low": ratio.low,
                    "high": ratio.high,
                    "level": ratio.level,
                    "p": found.p,
                    "p_t": st.t_test(np.log(b / a)),
                    "band_log_ratio": band,
                    "note": ratio.note,
                }
            )
    frame = pd.DataFrame(rows)
    if len(frame):
        # The A/A arm is no question that was asked of the run, so it is not counted among them.
        asked = ~frame["is_again"]
        frame["q"] = frame["p_t"]
        frame.loc[asked, "q"] = st.benjamini_hochberg(frame.loc[asked, "p_t"].tolist())
        frame["says"] = [_says(row) for _, row in frame.iterrows()]
    return frame


def _says(row: pd.Series) -> str:
    low, high, ratio = row["low"], row["high"], row["times_as_fast"]
    if any(value is None or not math.isfinite(value) for value in (low, high, ratio)):
        return "undecided"
    band = row["band_log_ratio"]
    band = None if band is None or math.isnan(band) else band
    reach = max(0.0 if row["is_again"] else band or 0.0, st.SMALLEST_DIFFERENCE)
    apart = (low > 1 or high < 1) and row["p"] < 0.05 and row["q"] < 0.05
    if apart and abs(math.log(ratio)) > reach:
        return "different"
    if band is not None and -band <= math.log(low) and math.log(high) <= band:
        return "equivalent"
    return "undecided"


def percentiles(transfers: pd.DataFrame) -> pd.DataFrame:
    """Duration of a file at the middle and far out, where the sample can bound it."""
    rows = []
    for key, part in groups(transfers, ["direction", "treatment", "size_bytes"]):
        duration = part["duration_ns"].to_numpy(dtype=float)
        for share in (0.5, 0.95, 0.99):
            found = st.percentile(duration, share)
            rows.append(
                key
                | {
                    "percentile": share * 100,
                    "n": found.n,
                    "duration_ns": found.value,
                    "low_ns": found.low,
                    "high_ns": found.high,
                    "level": found.level,
                    "note": found.note,
                }
            )
    return pd.DataFrame(rows)


def transfer_rates(transfers: pd.DataFrame) -> pd.DataFrame:
    """Median rate of a single file, with an interval over runs, then transfers."""
    rows: list[dict[str, Any]] = []
    for key, part in groups(transfers, ["direction", "treatment", "size_bytes"]):
        runs = [group["rate_bits_per_second"].to_numpy(dtype=float) for _, group in part.groupby("cell")]
        if len(runs) == len(part) or len(rows) >= CURVES:
            continue
        found = st.bca(runs, resamples=500)
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
        rate = part["rate_bits_per_second"].to_numpy(dtype=float)
        if len(rate) < 6 or len(rows) >= CURVES:
            continue
        found = st.density(np.log10(rate))
        rows.append(
            pd.DataFrame(
                key
                | {
                    "n": found.n,
                    "rate_bits_per_second": 10**found.x,
                    "density_per_decade": found.y,
                    "modes": found.modes,
                    "p_one_mode": found.p_one_mode,
                    "two_modes_likely": found.two_modes_likely,
                }
            )
        )
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


TABLES = [
    Table(
        "rate_intervals",
        "cells_in_order",
        "Rate by treatment and size, with intervals",
        "How fast was each treatment, and how sure is that?",
        "Median goodput of the replicates with its order-statistic interval (six are needed for 95 %),"
        " and a BCa bootstrap beside it. Outliers by modified z of the logarithm, shown with and without.",
        rate_intervals,
    ),
    Table(
        "outlier_cells",
        "cells_in_order",
        "Cells that lie far out",
        "Which cells took much longer or shorter than the others of their kind?",
        "Modified z of log duration above 3.5. They are flagged and stay in every other table.",
        outlier_cells,
    ),
    Table(
        "comparisons",
        "paired",
        "Each treatment against the baseline",
        "Which differences are real?",
        "Hodges-Lehmann shift of the paired log ratios, signed-rank interval, permutation test. Six pairs"
        " cannot give a p below 0.031, too coarse to be corrected for many comparisons, so the paired"
        " t-test of the same logarithms is (Benjamini and Hochberg, q); both have to be below 0.05. The"
        " band is how far the baseline lies from itself (A/A). A difference below 1 %, or within the band,"
        " is not called one.",
        comparisons,
    ),
    Table(
        "percentiles",
        "rate_by_transfer",
        "Duration of a file",
        "How long does a file take, usually and at worst?",
        "Percentiles with order-statistic intervals. p95 needs 72 transfers, p99 needs 368; below that"
        " none is given.",
        percentiles,
    ),
    Table(
        "transfer_rates",
        "rate_by_transfer",
        "Rate of a single file",
        "How fast is one file, where several make a run?",
        "Median over all transfers; BCa bootstrap that draws runs first, then transfers within each, because"
        " transfers of one run are alike. 500 draws, seed 0.",
        transfer_rates,
    ),
    Table(
        "densities",
        "rate_by_transfer",
        "Density of the rates",
        "Is there one usual rate, or two?",
        "Gaussian kernel density of the logarithm of the rate, Silverman's width; Silverman's test for"
        " one mode.",
        densities,
    ),
]
