"""The table of the rates by size of node, with every run and without the odd ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import Table, groups

ALL, WITHOUT = "all runs", "without odd runs"


def by_node(cells: pd.DataFrame) -> pd.DataFrame:
    """Rate of each arm on each node, once with all runs and once without those that lie far out."""
    rows: list[dict[str, Any]] = []
    keys = ["direction", "size_bytes", "files", "node_number", "node", "arm"]
    for key, part in groups(cells, keys):
        odd = np.array(st.outliers(part["wall_ns"].to_numpy(dtype=float)).flagged)
        for runs, kept in ((ALL, part), (WITHOUT, part[~odd])):
            rate = kept["rate_bits_per_second"].to_numpy(dtype=float)
            gains = kept["times_as_fast"].dropna()
            network = kept["network_alone_over_baseline"].dropna()
            rows.append(
                key
                | {
                    "method": part["method"].iloc[0],
                    "runs": runs,
                    "n": len(rate),
                    "odd_runs": int(odd.sum()),
                    "median_bits_per_second": float(np.median(rate)),
                    "mean_bits_per_second": float(rate.mean()),
                    "sd_bits_per_second": float(rate.std(ddof=1)) if len(rate) > 1 else None,
                    "times_as_fast": float(gains.median()) if len(gains) else None,
                    "network_alone_over_baseline": float(network.median()) if len(network) else None,
                }
            )
    frame = pd.DataFrame(rows)
    best = frame.groupby(["direction", "size_bytes", "files", "node", "runs"], dropna=False)[
        "median_bits_per_second"
    ].transform("max")
    frame["is_best"] = frame["median_bits_per_second"] == best
    return frame


TABLES = [
    Table(
        "by_node",
        "node_cells",
        "Rate by node",
        "Which way to move is best on which node?",
        "Median, mean and standard deviation over the runs (replicates); once with all of them and once"
        " without those whose log duration has a modified z above 3.5 in their set. The best arm of a node"
        " is that of the highest median.",
        by_node,
    ),
]
