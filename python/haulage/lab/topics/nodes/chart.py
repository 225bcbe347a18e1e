"""The chart by node size: every way to move, and the best one, with and without the odd runs."""

from __future__ import annotations

import altair as alt
import pandas as pd

from haulage.lab.report.charts import (
    NO_LIMIT,
    WIDTH,
    Chart,
    Rows,
    category_colours,
    data,
    frame_of,
    heading,
    legend_columns,
    scale_of,
)
from haulage.lab.report.section import Section
from haulage.lab.topics.nodes.rows import ALL, WITHOUT
from haulage.words.numbers import round_size


def by_node(rows: Rows) -> Chart:
    """Draw the rate by node size, for each direction and file size with and without the odd runs."""
    frame = frame_of(rows).copy()
    divisor, unit = scale_of(frame["median_bits_per_second"], "bit/s")
    frame["rate"] = frame["median_bits_per_second"] / divisor
    spread = frame["sd_bits_per_second"].fillna(0.0) / divisor
    frame["low"], frame["high"] = frame["rate"] - spread, frame["rate"] + spread
    nodes = list(dict.fromkeys(frame.sort_values("node_number")["node"]))
    arms = list(dict.fromkeys(frame["arm"]))
    pictures = []
    for (direction, size), part in frame.groupby(["direction", "size_bytes"], dropna=False, sort=True):
        words = direction if pd.isna(size) else f"{direction}, {round_size(size)}"
        for best in (False, True):
            shown = part[part["is_best"].astype(bool)] if best else part
            both = [
                _panel(shown[shown["runs"] == runs], nodes, arms, unit, f"{words}: {_title(best)}, {runs}")
                for runs in (ALL, WITHOUT)
            ]
            pictures.append(alt.hconcat(*both, spacing=24).resolve_scale(y="shared"))
    return alt.vconcat(*pictures, spacing=26)


def _title(best: bool) -> str:
    return "the best way" if best else "every way"


def _panel(frame: pd.DataFrame, nodes: list[str], arms: list[str], unit: str, title: str) -> Chart:
    columns = ["node", "arm", "rate", "low", "high", "n", "odd_runs", "times_as_fast"]
    base = data(frame[columns])
    x = alt.X("node:N", sort=nodes, scale=alt.Scale(domain=nodes), title="node", axis=alt.Axis(labelAngle=0))
    y = alt.Y("rate:Q", title=f"rate ({unit})", scale=alt.Scale(zero=True))
    # On top: the pictures beneath can be ten screens high.
    legend = alt.Legend(
        title=None, orient="top", columns=legend_columns(arms), labelLimit=NO_LIMIT, symbolLimit=0
    )
    colour = alt.Color("arm:N", **category_colours(arms, legend))
    tooltip = [
        alt.Tooltip("node:N"),
        alt.Tooltip("arm:N"),
        alt.Tooltip("rate:Q", format=".4~g", title=f"median ({unit})"),
        alt.Tooltip("times_as_fast:Q", format=".4~g", title="times the baseline"),
        alt.Tooltip("n:Q", title="runs (n)"),
        alt.Tooltip("odd_runs:Q", title="odd runs"),
    ]
    return alt.layer(
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        base.mark_rule().encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        base.mark_point(filled=True, size=48, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip),
    ).properties(width=(WIDTH - 170) // 2, height=220, title=heading(title))


SECTIONS = [
    Section(
        "nodes",
        "By node size",
        "Nodes are ordered from small to large, with one line per method; the bar through a point is one"
        " standard deviation in each direction. Left: every run. Right: without outliers of their set. If"
        " the two differ, a single unusual run made the difference. Below: only the best method on each"
        " node. The links of emulated nodes are set by the plan, so what follows from them is not a"
        " finding; the guide says which conclusions are.",
        by_node,
        ("by_node",),
        also=("node_cells",),
        applies="the plan compares no sizes of node",
    ),
]
