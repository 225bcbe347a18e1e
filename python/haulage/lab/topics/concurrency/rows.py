"""The table of how many requests in flight are enough."""

from __future__ import annotations

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import Table, by_replicate as _by_replicate, groups


def knees(cells: pd.DataFrame) -> pd.DataFrame:
    """From how many requests in flight the rate no longer rises."""
    rows = []
    # Where a file has fewer blocks than requests are allowed, all those levels are one and the same.
    used = cells["lanes"].where(cells["lanes"] > 0, cells["concurrency"])
    cells = cells.assign(in_flight=np.minimum(used, cells["concurrency"]).astype(float))
    for key, part in groups(cells, ["direction", "method", "size_bytes", "files", "block_size_bytes"]):
        # What a level allowed at most in any replicate: single cells may end before all have begun.
        level = part.groupby("concurrency")["in_flight"].transform("max")
        table = _by_replicate(part.assign(in_flight=level), "in_flight")
        if len(table.columns) < 3:
            continue
        rates = {float(one): table[one].to_numpy(dtype=float) for one in table.columns}
        found, region = st.knee(rates), st.flat_region(rates)
        top, first = (st.median_interval(rates[one]) for one in (region.best, min(rates)))
        rows.append(
            key
            | {
                "n": found.n,
                "knee": found.value,
                "knee_low": found.low,
                "knee_high": found.high,
                "level": found.level,
                "note": found.note,
                "best": int(region.best),
                "most": int(max(rates)),
                "rate_bits_per_second": top.value,
                "first": int(min(rates)),
                "first_bits_per_second": first.value,
            }
        )
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(("knee", "knee_low", "knee_high"), "float64")) if rows else frame


TABLES = [
    Table(
        "knees",
        "concurrency",
        "The knee",
        "How many requests in flight are enough?",
        "The fewest in flight that lose less than 5 % of what more give, by t intervals of log ratios"
        " within replicates. Bounded by the first number not shown to lose more and the first shown to lose"
        " less; not determined where none below the largest is. Levels are what was really in flight.",
        knees,
    ),
]
