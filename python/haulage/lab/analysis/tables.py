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


def _well(frame: pd.DataFrame) -> pd.DataFrame:
    kept = (frame["outcome"] == "ok") & ~frame["warmup"] & (frame["method"] != "ceiling")
    return frame[kept & frame["rate_bits_per_second"].gt(0)]


def rate_intervals(cells: pd.DataFrame) -> pd.DataFrame:
    """Median rate of each treatment and size with two intervals, and the same without outliers."""
    rows = []
    for key, part in groups(_well(cells), ["direction", "size_bytes", "files", "treatment"]):
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
    for key, part in groups(_well(cells), ["direction", "size_bytes", "files", "treatment"]):
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
        found = st.bca(runs, resamples=1000)
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


def changes(transfers: pd.DataFrame) -> pd.DataFrame:
    """Find steps and drift in the rate of transfers, treatment by treatment."""
    rows = []
    for key, part in groups(transfers, ["direction", "treatment"]):
        per_cell = part.groupby("cell").size().median()
        # Where a cell has a series of its own, each is a run that may break at another moment.
        series = groups(part, ["replicate"]) if per_cell >= 10 else iter([({"replicate": -1}, part)])
        for sub, ordered in series:
            rows += [key | sub | row for row in _change_rows(ordered.sort_values("place"))]
    return pd.DataFrame(rows)


def _change_rows(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
    found = st.change_points(_levelled(part))
    drift = found.drift
    base = {
        "says": found.says,
        "n": found.n,
        "drift_share": None if drift is None else drift.total,
        "drift_p": None if drift is None else drift.p,
        "spread_log": found.spread,
    }
    nothing = dict.fromkeys(
        (
            "transfer",
            "earliest",
            "latest",
            "began_ns",
            "before_bits_per_second",
            "after_bits_per_second",
            "factor",
        )
    )
    if not found.steps:
        yield base | {"step": 0} | nothing
    for number, step in enumerate(found.steps, 1):
        yield base | {
            "step": number,
            "transfer": step.index,
            "earliest": step.low,
            "latest": step.high,
            "began_ns": int(part["began_ns"].iloc[step.index]),
            "before_bits_per_second": step.before,
            "after_bits_per_second": step.after,
            "factor": step.factor,
        }


def _levelled(part: pd.DataFrame) -> st.Floats:
    """Return rates without what their size alone makes of them: small files are slower everywhere.

    The difference of a size class to its neighbours in time is taken out, so a step of the link stays.
    """
    rate: st.Floats = part["rate_bits_per_second"].to_numpy(dtype=float)
    size = part["size_bytes"].to_numpy(dtype=float)
    classes = np.round(np.log2(np.maximum(size, 1)))
    if len(rate) < 10 or len(np.unique(classes)) == 1:
        return rate
    logs = pd.Series(np.log(rate))
    away = (logs - logs.rolling(9, center=True, min_periods=5).median()).to_numpy()
    usual = {one: float(np.nanmedian(away[classes == one])) for one in np.unique(classes)}
    return rate / np.exp(np.array([usual[one] for one in classes], dtype=np.float64))


def run_order(cells: pd.DataFrame) -> pd.DataFrame:
    """Whether the whole run stepped or drifted: cells in their order, each against the median of its like."""
    well = _well(cells).sort_values("cell")
    like = well.groupby(["direction", "size_bytes", "files", "treatment"], dropna=False)[
        "rate_bits_per_second"
    ]
    enough = like.transform("size") >= 2
    relative = (well["rate_bits_per_second"] / like.transform("median"))[enough]
    well = well[enough]
    if len(relative) < 10:
        return pd.DataFrame()
    found = st.change_points(relative.to_numpy(dtype=float))
    at = {step.index: step for step in found.steps}
    frame = well[["cell", "replicate", "treatment", "direction", "size_bytes", "began_ns"]].reset_index(
        drop=True
    )
    frame["relative_rate"] = relative.to_numpy()
    frame["says"] = found.says
    frame["is_step"] = [place in at for place in range(len(frame))]
    frame["factor"] = [at[place].factor if place in at else None for place in range(len(frame))]
    frame["drift_share"] = None if found.drift is None else found.drift.total
    frame["drift_p"] = None if found.drift is None else found.drift.p
    return frame


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
        "run_order",
        "cells_in_order",
        "The run in its order",
        "Did the path change while the run went on?",
        "Rate of each cell over the median of its kind, in the order of running; PELT on its logarithm"
        " for steps, Theil-Sen and Mann-Kendall on what remains.",
        run_order,
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
        " transfers of one run are alike. 1,000 draws, seed 0.",
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
    Table(
        "changes",
        "rate_by_transfer",
        "Fault or drift",
        "Did the rate fall at a moment, slide, or neither?",
        "PELT on the logarithm of the rate for steps, Theil-Sen and Mann-Kendall on what remains; level,"
        " slope, steps and both compete by BIC. Where sizes differ, what a size class differs from its"
        " neighbours is taken out.",
        changes,
    ),
]
