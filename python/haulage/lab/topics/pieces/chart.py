"""The chart of putting pieces together."""

from __future__ import annotations

import altair as alt

from haulage.lab.report.charts import (
    NO_LIMIT,
    WIDTH,
    Chart,
    Rows,
    cases,
    data,
    frame_of,
    scale_of,
    sizes_in_order,
)
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import Section


def reassembly(rows: Rows) -> Chart:
    """Draw the time of downloads in pieces: the network's part and that of putting the pieces together."""
    frame = frame_of(rows)
    nodes = frame["node"].fillna("").astype(str)
    frame = frame.assign(group=cases(frame), row=frame["treatment"] + nodes.where(nodes == "", " · " + nodes))
    long = frame.melt(["group", "row", "n"], ["network_ns", "reassembly_ns"], "part", "took")
    divisor, unit = scale_of(long["took"], "ns")
    long["took"] /= divisor
    long["part"] = long["part"].str.removesuffix("_ns")
    order = sizes_in_order(frame)
    return (
        data(long)
        .mark_bar(height={"band": 0.74})
        .encode(
            y=alt.Y("row:N", title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=NO_LIMIT)),
            x=alt.X("took:Q", stack="zero", title=f"median of a cell ({unit})"),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=["network", "reassembly"], range=[LIGHT["blue"], LIGHT["orange"]]),
                legend=alt.Legend(title=None, orient="bottom"),
            ),
            tooltip=[
                alt.Tooltip("row:N", title="treatment"),
                alt.Tooltip("part:N"),
                alt.Tooltip("took:Q", format=".4~g", title=unit),
                alt.Tooltip("n:Q", title="cells (n)"),
            ],
        )
        .properties(width=WIDTH - 240, height=26 * frame["row"].nunique())
        .facet(
            row=alt.Row("group:N", sort=order, title=None, header=alt.Header(labelAngle=0, labelAlign="left"))
        )
    )


SECTIONS = [
    Section(
        "reassembly",
        "Network and reassembly",
        "Downloads in pieces: the time until the last piece had arrived, and from then until the pieces"
        " were one file.",
        reassembly,
        ("phases_of_cells",),
        applies="no treatment put pieces of a file together",
    ),
]
