"""Charts node by node: transfers on one time line, rates as colours, durations, gaps and stragglers."""

from __future__ import annotations

import heapq

import altair as alt
import numpy as np
import pandas as pd

from haulage.lab.report.charts import (
    MOST_MARKS,
    NO_LIMIT,
    WIDTH,
    Chart,
    Rows,
    along_the_cell,
    data,
    frame_of,
    heading,
    limited,
    scale_of,
    step_colours,
)
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import section_of_nodes
from haulage.lab.topics.stragglers.rows import NODE, PATH, SERVICE, UNKNOWN

#: The height of a node's row, which its transfers in flight share.
_ROW = 26
#: Colours of transfers, by their duration over the median of the picture.
_KINDS = {"usual": "blue", "1.5 times as long": "amber", "twice as long": "red"}


_BINS = 24
_NONE = "no straggler"
#: Shorter times without a request in flight are not drawn.
_IDLE_NS = 1_000_000


def _panel_width(panels: int) -> int:
    return (WIDTH - 190) // 2 if panels > 1 else WIDTH - 190


def node_lanes(transfers: Rows, nodes: Rows) -> Chart:
    """Draw the transfers of each node as bars, for the middle one of the cells with the most nodes."""
    moved, declared = frame_of(transfers), frame_of(nodes)
    pictures = []
    for direction, part in declared.groupby("direction", sort=True):
        shown = _middle(part)
        own = declared[declared["cell"] == shown]
        pictures.append(_lanes(moved[moved["cell"] == shown], own, f"{direction}, cell {shown}"))
    return alt.vconcat(*pictures, spacing=24)


def _middle(nodes: pd.DataFrame) -> int:
    """Return the cell of middle length among those with the most nodes; one with a missing node first."""
    most = nodes[nodes["node_count"] == nodes["node_count"].max()]
    lost = most[most["outcome"] == "node_lost"]
    if len(lost):
        return int(lost["cell"].iloc[0])
    cells = most.groupby("cell")["wall_ns"].first().sort_values(kind="stable")
    return int(cells.index[len(cells) // 2])


def _lanes(moved: pd.DataFrame, nodes: pd.DataFrame, title: str) -> Chart:
    names = [
        f"{row['name']} (missing)" if row["outcome"] == "node_lost" else str(row["name"])
        for row in nodes.sort_values("node").to_dict("records")
    ]
    place = {name.removesuffix(" (missing)"): number for number, name in enumerate(names)}
    frame = _packed(limited(moved, MOST_MARKS), place)
    divisor, unit = scale_of([float(nodes["wall_ns"].max())], "ns")
    usual = float(frame["duration_ns"].median()) if len(frame) else 1.0
    frame["kind"] = [
        "twice as long" if took > 2 * usual else "1.5 times as long" if took > 1.5 * usual else "usual"
        for took in frame["duration_ns"]
    ]
    frame["began"], frame["ended"] = frame["began_ns"] / divisor, frame["ended_ns"] / divisor
    frame["took"] = frame["duration_ns"] / divisor
    labels = " : ".join(f"datum.value == {number + 0.5} ? '{name}'" for number, name in enumerate(names))
    y = alt.Y(
        "top:Q",
        title=None,
        scale=alt.Scale(domain=[0, len(names)], reverse=True, nice=False, zero=False),
        axis=alt.Axis(
            values=[number + 0.5 for number in range(len(names))],
            labelExpr=f"{labels} : ''",
            grid=False,
            ticks=False,
            domain=False,
            labelLimit=NO_LIMIT,
            labelOverlap=False,
        ),
    )
    x = alt.X(
        "began:Q",
        title=f"time from the agreed moment ({unit})",
        scale=alt.Scale(domain=[0, float(nodes["wall_ns"].max()) / divisor], nice=False),
        axis=alt.Axis(tickCount=8),
    )
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(_KINDS), range=[LIGHT[name] for name in _KINDS.values()]),
        legend=alt.Legend(title="a file took", orient="bottom", columns=3, labelLimit=NO_LIMIT),
    )
    columns = ["began", "ended", "top", "bottom", "kind", "name", "object", "took", "outcome", "attempts"]
    bars = (
        data(frame[columns])
        .mark_rect(stroke=LIGHT["paper"], strokeWidth=0.6)
        .encode(
            x=x,
            x2="ended:Q",
            y=y,
            y2="bottom:Q",
            color=colour,
            tooltip=[
                alt.Tooltip("name:N", title="node"),
                alt.Tooltip("object:N"),
                alt.Tooltip("began:Q", format=".4~g", title=f"began ({unit})"),
                alt.Tooltip("took:Q", format=".4~g", title=f"took ({unit})"),
                alt.Tooltip("outcome:N"),
                alt.Tooltip("attempts:Q", title="requests"),
            ],
        )
    )
    lines = data(pd.DataFrame({"top": [float(number) for number in range(len(names) + 1)]}))
    rules = lines.mark_rule(color=LIGHT["grid"]).encode(y=y)
    return alt.layer(rules, bars).properties(
        width=WIDTH - 190, height=_ROW * len(names), title=heading(title)
    )


def _packed(moved: pd.DataFrame, place: dict[str, int]) -> pd.DataFrame:
    """Give each transfer a strip of its node's row that is free while it runs."""
    strips: dict[int, int] = {}
    widest: dict[str, int] = {}
    for name, part in moved.sort_values("began_ns").groupby("name", sort=False):
        free: list[int] = []
        busy: list[tuple[float, int]] = []
        made = 0
        for row in part.itertuples():
            while busy and busy[0][0] <= row.began_ns:
                heapq.heappush(free, heapq.heappop(busy)[1])
            if not free:
                heapq.heappush(free, made)
                made += 1
            strip = heapq.heappop(free)
            strips[row.Index] = strip
            heapq.heappush(busy, (row.ended_ns, strip))
        widest[str(name)] = max(1, made)
    frame = moved.copy()
    at = frame["name"].map(place).astype(float)
    width = 0.84 / frame["name"].map(widest).astype(float)
    strip = pd.Series(strips, dtype=float).reindex(frame.index)
    frame["top"] = at + 0.08 + strip * width
    frame["bottom"] = frame["top"] + width
    return frame


def node_heat(rows: Rows) -> Chart:
    """Draw the rate of each node over the time of the largest cells."""
    frame = frame_of(rows)
    means = frame.groupby(["direction", "node", "name", "part"], sort=True)
    shown = means.agg(rate=("rate_bits_per_second", "mean"), cells=("cell", "nunique")).reset_index()
    divisor, unit = scale_of(shown["rate"], "bit/s")
    shown["rate"] /= divisor
    shown["until"] = shown["part"] + 1
    pictures = []
    directions = sorted(shown["direction"].unique())
    for direction in directions:
        part = shown[shown["direction"] == direction]
        names = list(dict.fromkeys(part["name"]))
        chart = data(part[["name", "part", "until", "rate", "cells"]]).mark_rect()
        pictures.append(
            chart.encode(
                **along_the_cell(unit, legend=110),
                y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False)),
                tooltip=[
                    alt.Tooltip("name:N", title="node"),
                    alt.Tooltip("part:Q", title="from (%)"),
                    alt.Tooltip("rate:Q", format=".4~g", title=f"mean rate ({unit})"),
                    alt.Tooltip("cells:Q", title="cells (n)"),
                ],
            ).properties(
                # A whole number of pixels for each of the 100 parts, or seams show.
                width=300 if len(directions) > 1 else 700,
                height=max(60, _ROW * len(names)),
                title=heading(direction),
            )
        )
    return alt.hconcat(*pictures, spacing=30)


def transfer_times(rows: Rows) -> Chart:
    """Draw how long files took, a histogram for each number of nodes."""
    frame = frame_of(rows)
    frame = frame[(frame["outcome"] == "ok") & ~frame["is_again"].astype(bool)]
    divisor, unit = scale_of(frame["duration_ns"], "ns")
    counts = [f"{int(count)}" for count in sorted(frame["node_count"].unique())]
    pictures = []
    directions = sorted(frame["direction"].unique())
    for direction in directions:
        part = frame[frame["direction"] == direction]
        edges = np.linspace(0, float(part["duration_ns"].max()) / divisor * 1.0001, _BINS + 1)
        made = []
        for count, own in part.groupby("node_count"):
            found, _ = np.histogram(own["duration_ns"] / divisor, bins=edges)
            made += [
                {
                    "nodes": f"{int(count)}",
                    "from": float(low),
                    "to": float(high),
                    "share": 100 * n / len(own),
                    "zero": 0,
                    "n": int(n),
                }
                for low, high, n in zip(edges, edges[1:], found, strict=False)
                if n
            ]
        base = data(pd.DataFrame(made)).mark_rect(stroke=LIGHT["paper"], strokeWidth=0.5)
        chart = base.encode(
            x=alt.X("from:Q", title=f"a file took ({unit})", scale=alt.Scale(domain=[0, float(edges[-1])])),
            x2="to:Q",
            y2="zero:Q",
            y=alt.Y(
                "share:Q", title=None, axis=alt.Axis(tickCount=2, format="d", labelExpr="datum.label + ' %'")
            ),
            color=alt.Color("nodes:N", **step_colours(counts, None)),
            tooltip=[
                alt.Tooltip("nodes:N"),
                alt.Tooltip("from:Q", format=".4~g", title=f"from ({unit})"),
                alt.Tooltip("to:Q", format=".4~g", title=f"to ({unit})"),
                alt.Tooltip("n:Q", title="files"),
            ],
        ).properties(width=_panel_width(len(directions)), height=52)
        row = alt.Row(
            "nodes:N",
            sort=counts,
            title=None,
            header=alt.Header(
                labelAngle=0,
                labelAlign="left",
                labelExpr="datum.value + (datum.value == '1' ? ' node' : ' nodes')",
            ),
        )
        pictures.append(chart.facet(row=row, spacing=14, title=heading(direction)))
    return alt.hconcat(*pictures, spacing=24)


def node_stragglers(rows: Rows) -> Chart:
    """Draw how long each node took beside the others of its cell, and how long it stood idle."""
    frame = frame_of(rows).copy()
    frame["fault"] = frame["whose"].where(frame["is_straggler"].astype(bool), _NONE).fillna(_NONE)
    frame["percent"] = frame["times_as_long"] * 100
    divisor, unit = scale_of(frame["longest_idle_ns"].dropna(), "ns")
    frame["longest_idle"] = frame["longest_idle_ns"] / divisor
    names = [name for _, name in sorted(set(zip(frame["node"], frame["name"], strict=True)))]
    colours = {NODE: "violet", PATH: "red", SERVICE: "amber", UNKNOWN: "brown", _NONE: "grey"}
    colour = alt.Color(
        "fault:N",
        scale=alt.Scale(domain=list(colours), range=[LIGHT[name] for name in colours.values()]),
        legend=alt.Legend(title="late, by fault of its", orient="bottom", columns=5, labelLimit=NO_LIMIT),
    )
    tooltip = [
        alt.Tooltip("name:N", title="node"),
        alt.Tooltip("cell:Q"),
        alt.Tooltip("node_count:Q", title="nodes"),
        alt.Tooltip("times_as_long:Q", format=".3~g", title="times as long"),
        alt.Tooltip("longest_idle:Q", format=".3~g", title=f"longest idle ({unit})"),
        alt.Tooltip("fault:N"),
    ]
    columns = ["name", "percent", "longest_idle", "fault", "cell", "node_count", "times_as_long", "direction"]
    x = alt.X("name:N", sort=names, title=None, axis=alt.Axis(labelAngle=-40 if len(names) > 6 else 0))
    pictures = []
    fields = [("percent", "time, of the others' median (%)")]
    if float(frame["longest_idle_ns"].fillna(0).max()) >= _IDLE_NS:
        fields.append(("longest_idle", f"longest idle ({unit})"))
    for field, title in fields:
        for direction in sorted(frame["direction"].unique()):
            part = frame[frame["direction"] == direction][columns]
            y = alt.Y(f"{field}:Q", title=title, scale=alt.Scale(zero=field != "percent"))
            layers = [
                data(part)
                .mark_point(filled=True, size=42, opacity=0.75)
                .encode(x=x, y=y, color=colour, tooltip=tooltip)
            ]
            if field == "percent":
                level = data(pd.DataFrame({"percent": [100.0]}))
                layers.insert(0, level.mark_rule(strokeDash=[4, 4], color=LIGHT["ink"]).encode(y=y))
            pictures.append(alt.layer(*layers).properties(width=340, height=190, title=heading(direction)))
    per_row = len(pictures) // len(fields)
    rows_of = [pictures[place : place + per_row] for place in range(0, len(pictures), per_row)]
    return alt.vconcat(*(alt.hconcat(*row) for row in rows_of), spacing=18)


SECTIONS = [
    section_of_nodes(
        "node-lanes",
        "Transfers by node",
        "Each bar is a file, in the row of its node. Time runs from the agreed start on one clock, and"
        " start, end and duration have the same unit. White between bars is time in which a node moved"
        " nothing. Amber and red bars took much longer than the median. For each direction the chart shows"
        " the cell of median duration among those with the most nodes; if a node is missing in one of them,"
        " it shows that cell, with an empty row for the node.",
        node_lanes,
        ("scale_transfers", "scale_nodes"),
    ),
    section_of_nodes(
        "node-heat",
        "Rate by node over time",
        "Each row is a node, and each patch is the mean over the replicates with the most nodes. A dark row"
        " is a slow node. A dark column is a moment at which all nodes stood still, which is due to the"
        " service or the path and not to a node. Dark from some point to the right edge means that this"
        " node had ended while others had not.",
        node_heat,
        ("scale_over_time",),
    ),
    section_of_nodes(
        "transfer-times",
        "Duration of files",
        "One histogram for each number of nodes, as shares of its files. A single peak that moves to the"
        " right is a shared rate; a second peak at twice the time are files that had to wait for a slot; a"
        " long thin tail are stragglers.",
        transfer_times,
        ("scale_transfers",),
    ),
    section_of_nodes(
        "stragglers-of-nodes",
        "Stragglers and idle gaps",
        "Each point is a node in a cell. Above: its time relative to the median of the others. Below: its"
        " longest time without a request in flight, if at least a millisecond. Coloured points are"
        " stragglers, by where their extra time went: the node, its path, or the service. A node that is"
        " coloured in every cell is slow by itself; a colour here and there is chance, or a passing"
        " condition.",
        node_stragglers,
        ("node_times",),
        also=("stragglers_by_node", "node_halves"),
    ),
]
