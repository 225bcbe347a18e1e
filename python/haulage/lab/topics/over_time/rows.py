"""Tables of what changed while the run went on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import KIND, Table, groups, replicates_alike, well

#: If more files than this travel at once, on average, they share the rate that one would show.
MOST_AT_ONCE = 1.5


def changes(transfers: pd.DataFrame) -> pd.DataFrame:
    """Find steps and drift in the rate of transfers, treatment by treatment."""
    rows = []
    for key, part in groups(transfers, ["direction", "treatment"]):
        # Files that travel together have no rate of their own to fall; job_changes looks at their job.
        if "files_at_once" in part and part["files_at_once"].median() > MOST_AT_ONCE:
            continue
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
    usable = well(cells).sort_values("cell")
    like = usable.groupby(KIND, dropna=False)["rate_bits_per_second"]
    enough = like.transform("size") >= 2
    relative = (usable["rate_bits_per_second"] / like.transform("median"))[enough]
    usable = usable[enough]
    if len(relative) < 10:
        return pd.DataFrame()
    found = st.change_points(relative.to_numpy(dtype=float))
    at = {step.index: step for step in found.steps}
    frame = usable[["cell", "replicate", "treatment", "direction", "size_bytes", "began_ns"]].reset_index(
        drop=True
    )
    frame["relative_rate"] = relative.to_numpy()
    frame["says"] = found.says
    frame["is_step"] = [place in at for place in range(len(frame))]
    frame["factor"] = [at[place].factor if place in at else None for place in range(len(frame))]
    frame["drift_share"] = None if found.drift is None else found.drift.total
    frame["drift_p"] = None if found.drift is None else found.drift.p
    found_alike = replicates_alike(usable)
    frame["replicates_alike"], frame["replicates_alike_p"] = found_alike.alike, found_alike.p
    frame["replicates_alike_is_shown"] = found_alike.shown
    frame["median_intervals_widened"] = found_alike.wider
    return frame


TABLES = [
    Table(
        "run_order",
        "cells_in_order",
        "Cells in execution order",
        "Did the path change while the run went on?",
        "Rate of each cell over the median of its kind, in the order of running; PELT on its logarithm for"
        " steps, Theil-Sen and Hamed and Rao's Mann-Kendall on what remains; shuffled series show how far"
        " chance goes. How alike a replicate is to the one before is tested against other orders of the"
        " replicates; as far as it is more than chance, intervals of medians are made so many times wider.",
        run_order,
    ),
    Table(
        "changes",
        "rate_by_transfer",
        "Fault or drift",
        "Did the rate fall at a moment, slide, or neither?",
        "PELT on the logarithm of the rate for steps, Theil-Sen and Hamed and Rao's Mann-Kendall on what"
        " remains; level, slope, ramp, bend, steps and both compete by BIC, and what wins has to be more"
        " than shuffled series show in 19 of 20 cases. Earliest to latest holds the date at 95 %. Where"
        " sizes differ, what a size class differs from its neighbours is taken out.",
        changes,
    ),
]
