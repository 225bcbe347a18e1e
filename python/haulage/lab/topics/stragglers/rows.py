"""Tables of nodes that take longer than their peers, what each costs, and what is slow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import Table, groups

#: A straggler takes at least this many times as long as the median of the others.
TIMES = 1.2
#: And the modified z of its logarithm is above this, as for outliers among runs.
FAR = 3.5
#: Nodes usually end within a few percent of each other; a smaller spread makes none an outlier.
LEAST_SPREAD = 0.03
#: Of two nodes nobody can say which one is late.
NODES_NEED = 3
#: The cause of a straggler explains more than this share of its extra time.
MOST_OF_IT = 0.5
NODE, PATH, SERVICE, UNKNOWN = "node", "path", "service", "undetermined"


def times(nodes: pd.DataFrame) -> pd.DataFrame:
    """How long each node took beside the others of its cell, and of a straggler why and at what cost."""
    rows: list[dict[str, Any]] = []
    keys = ["direction", "size_bytes", "node_size", "arm", "node_count", "replicate", "cell"]
    for key, part in groups(nodes[nodes["outcome"] == "ok"], keys):
        if len(part) < NODES_NEED:
            continue
        ended = part["ended_ns"].astype(float).to_numpy()
        far = _far_out(ended)
        usual = float(ended[~far].max())
        for place, (_, row) in enumerate(part.iterrows()):
            others = part[~far & (np.arange(len(part)) != place)]
            typical = float(np.median(np.delete(ended, place)))
            extra = _extra(row, others) if far[place] else {}
            rows.append(
                key
                | {
                    "node": int(row["node"]),
                    "name": row["name"],
                    "host": row["host"],
                    "link": row["link"],
                    "ended_ns": int(row["ended_ns"]),
                    "others_ended_ns": int(typical),
                    "times_as_long": float(row["ended_ns"]) / typical,
                    "is_straggler": bool(far[place]),
                    "cost_ns": int(ended[place] - usual) if far[place] else 0,
                    "cost_share": (ended[place] - usual) / ended.max() if far[place] else 0.0,
                    "whose": _whose(extra) if far[place] else None,
                    **{f"extra_{name}_ns": extra.get(name) for name in (NODE, PATH, SERVICE)},
                    "idle_ns": int(row["idle_ns"]) if pd.notna(row["idle_ns"]) else None,
                    "longest_idle_ns": int(row["longest_idle_ns"])
                    if pd.notna(row["longest_idle_ns"])
                    else None,
                }
            )
    return pd.DataFrame(rows)


def _far_out(ended: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return which nodes end far later than the others."""
    logs = np.log(ended)
    away = logs - np.median(logs)
    spread = max(float(np.median(np.abs(away))), LEAST_SPREAD)
    late = np.array([end / np.median(np.delete(ended, place)) for place, end in enumerate(ended)])
    found: np.ndarray[Any, Any] = (0.6745 * away / spread > FAR) & (late >= TIMES)
    return found


def _extra(row: pd.Series, others: pd.DataFrame) -> dict[str, int]:
    """Return by how much each part of a node's lane time exceeds what is usual among the others."""

    def beyond(name: str) -> float:
        usual = others[name].dropna().astype(float)
        return (
            max(0.0, float(row[name]) - float(usual.median())) if len(usual) and pd.notna(row[name]) else 0.0
        )

    busy = sum(float(row[name] or 0) for name in ("local_ns", "network_ns", "wait_ns"))
    # A node that stands idle does so in all its lanes.
    lanes = busy / max(1.0, float(row["duration_ns"]) - float(row["idle_ns"] or 0))
    # A lane that was refused waits before it tries again, and a node whose lanes all do so stands idle.
    backed_off = beyond("backoff_ns")
    idle = lanes * (beyond("idle_ns") + beyond("began_ns"))
    return {
        NODE: int(beyond("local_ns") + max(0.0, idle - backed_off)),
        PATH: int(beyond("network_ns")),
        SERVICE: int(beyond("wait_ns") + backed_off),
    }


def _whose(extra: Mapping[str, int]) -> str:
    total = sum(extra.values())
    most = max(extra, key=lambda name: extra[name])
    return most if total and extra[most] > MOST_OF_IT * total else UNKNOWN


def by_node(nodes: pd.DataFrame) -> pd.DataFrame:
    """Each node that was a straggler: how often, how long, at what cost, and whose it is."""
    all_of_them = times(nodes)
    rows: list[dict[str, Any]] = []
    if all_of_them.empty:
        return all_of_them
    for key, part in groups(all_of_them, ["direction", "node_size", "node", "name"]):
        late = part[part["is_straggler"]]
        if late.empty:
            continue
        ratio = st.median_interval(late["times_as_long"].to_numpy(dtype=float))
        cost = late["cost_ns"].astype(float)
        rows.append(
            key
            | {
                "host": late["host"].iloc[0],
                "n": len(part),
                "late_cells": len(late),
                "late_share": len(late) / len(part),
                "times_as_long": ratio.value,
                "low": ratio.low,
                "high": ratio.high,
                "level": ratio.level,
                "whose": late["whose"].mode().iloc[0],
                "whose_share": float((late["whose"] == late["whose"].mode().iloc[0]).mean()),
                "cost_ns": int(cost.sum()),
                "cost_per_cell_ns": int(cost.median()),
                "cost_share": float(late["cost_share"].median()),
            }
        )
    return pd.DataFrame(rows)


def halves(nodes: pd.DataFrame) -> pd.DataFrame:
    """Compare two halves of the nodes that nothing tells apart: those of odd and of even number (A/A)."""
    rows: list[dict[str, Any]] = []
    well = nodes[(nodes["outcome"] == "ok") & (nodes["node_count"] % 2 == 0)]
    for key, part in groups(well, ["direction", "size_bytes", "node_size", "arm"]):
        both = []
        for _, cell in part.groupby("cell"):
            if len(cell) == int(cell["node_count"].iloc[0]):
                odd = cell["node"] % 2 == 1
                logs = np.log(cell["rate_bits_per_second"].astype(float))
                both.append((float(np.exp(logs[odd].mean())), float(np.exp(logs[~odd].mean()))))
        if len(both) < 2:
            continue
        pairs = np.array(both)
        found = st.compare(pairs[:, 0], pairs[:, 1])
        rows.append(
            key
            | {
                "n": len(both),
                "even_over_odd": found.ratio.value,
                "low": found.ratio.low,
                "high": found.ratio.high,
                "level": found.ratio.level,
                "p": found.p,
                "says": st.verdict(found.shift, found.p),
                "note": found.ratio.note,
            }
        )
    return pd.DataFrame(rows)


TABLES = [
    Table(
        "node_times",
        "scale_nodes",
        "How long each node took beside the others of its cell",
        "Which node was late, what did it cost, and whose fault was it?",
        "Time from the agreed moment to a node's end over the median of the others, in cells of"
        f" {NODES_NEED} and more. A straggler takes {TIMES:g} times as long and has a modified z of its"
        f" logarithm above {FAR:g}. Its cost is the time from the end of the last node that is none. The"
        " lane time of a straggler is held against the median of the others, in three parts: node (late"
        " start, idle, own work), path (connect, send, receive), service (wait for the answer, and before"
        " trying again after a refusal); the part that holds more than half of the excess is named.",
        times,
    ),
    Table(
        "stragglers_by_node",
        "scale_nodes",
        "Stragglers",
        "Which nodes were late, how often, and at what cost?",
        "The stragglers of node_times by node; times as long is the median over the cells in which it was"
        " one. A node that is late in half of its cells is late by itself; one that is late now and then"
        " met something.",
        by_node,
    ),
    Table(
        "node_halves",
        "scale_nodes",
        "Two halves of the nodes",
        "Do nodes that should be alike differ (A/A)?",
        "In each cell of an even number of nodes the geometric mean rate of those of odd number beside that"
        " of those of even number; Hodges-Lehmann shift of the paired log ratios with its signed-rank"
        " interval, permutation test.",
        halves,
    ),
]
