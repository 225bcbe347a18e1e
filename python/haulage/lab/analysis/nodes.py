"""What a larger node gives, with every run and without the odd ones, as 2010 showed it (E2, E3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.cards import Results, table
from haulage.lab.analysis.model import Finding
from haulage.lab.analysis.tables import Table, groups
from haulage.words.numbers import digits, round_size

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


def larger_node(results: Results) -> Iterator[Finding]:
    """Say what each step in node size gives to the best way of moving, with and without the odd runs."""
    rows = table(results, "by_node")
    if rows.empty:
        return
    for key, part in groups(rows[rows["is_best"]], ["direction", "size_bytes"]):
        words, steps = [], {}
        for runs, own in part.groupby("runs", sort=False):
            rate = own.sort_values("node_number").drop_duplicates("node_number")["median_bits_per_second"]
            if len(rate) < 2:
                return
            steps[runs] = float((rate.iloc[-1] / rate.iloc[0]) ** (1 / (len(rate) - 1)))
            words.append(f"{digits(steps[runs])} ({runs})")
        odd = int(rows[(rows["runs"] == ALL) & (rows["direction"] == key["direction"])]["odd_runs"].sum())
        names = ", ".join(
            f"{row['node']}: {row['arm']}"
            for _, row in part[part["runs"] == ALL].sort_values("node_number").iterrows()
        )
        yield Finding(
            "Larger nodes",
            f"{key['direction']}, {round_size(key['size_bytes'])}: each step in node size multiplies the best"
            f" rate by {' and '.join(words)}; {odd} odd runs. Best on {names}.",
            steps.get(ALL),
            "times",
            None,
            None,
            int(part["n"].sum()),
            0.0,
            "by_node",
        )


def network_alone(results: Results) -> Iterator[Finding]:
    """How long the network part of a download in pieces takes beside the whole plain download."""
    rows = table(results, "by_node")
    if rows.empty:
        return
    pieces = rows[(rows["runs"] == ALL) & rows["network_alone_over_baseline"].notna()]
    for (arm, size), part in pieces.groupby(["arm", "size_bytes"]):
        ordered = part.sort_values("node_number")
        words = ", ".join(
            f"{row['node']} {digits(row['network_alone_over_baseline'])}" for _, row in ordered.iterrows()
        )
        yield Finding(
            "Network part alone",
            f"{arm}, {round_size(size)}: the network part alone takes so many times as long as the whole"
            f" plain download: {words}.",
            float(ordered["network_alone_over_baseline"].median()),
            "times",
            None,
            None,
            int(ordered["n"].sum()),
            0.0,
            "by_node",
        )


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
