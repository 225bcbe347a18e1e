"""The chart of the share of the ceiling that was used."""

from __future__ import annotations

import altair as alt
import pandas as pd

from haulage.lab.report.charts import (
    WIDTH,
    Chart,
    Rows,
    cases,
    data,
    frame_of,
    row_names,
    sizes_in_order,
    step_colours,
    treatments,
)
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import Section


def efficiency(rows: Rows) -> Chart:
    """Draw how much of the measured ceiling each treatment used, a mark for each cell and size."""
    frame = frame_of(rows)
    frame = frame.assign(group=cases(frame))
    names, levels = treatments(frame), sizes_in_order(frame)
    groups = frame.groupby(["treatment", "group"])["efficiency_share"]
    shown = groups.agg(share="median", low="min", high="max", n="size").reset_index()
    row = row_names("treatment", names)
    colour = alt.Color("group:N", **step_colours(levels, title="files"))
    x = alt.X(
        "share:Q",
        title="share of the ceiling",
        axis=alt.Axis(format="%", tickCount=6),
        scale=alt.Scale(domain=[0, max(1.0, float(shown["high"].max()) * 1.02)], nice=False),
    )
    offset = alt.YOffset("group:N", sort=levels)
    base = data(shown)
    tooltip = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("group:N", title="files"),
        alt.Tooltip("share:Q", format=".1%", title="median"),
        alt.Tooltip("low:Q", format=".1%", title="least"),
        alt.Tooltip("high:Q", format=".1%", title="most"),
        alt.Tooltip("n:Q", title="cells (n)"),
    ]
    ceiling = (
        data(pd.DataFrame([{"share": 1}])).mark_rule(color=LIGHT["muted"], strokeDash=[4, 3]).encode(x=x)
    )
    return alt.layer(
        ceiling,
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(
            x=alt.X("low:Q"), x2="high:Q", y=row, yOffset=offset, color=colour
        ),
        base.mark_point(filled=True, size=40, opacity=1).encode(
            x=x, y=row, yOffset=offset, color=colour, tooltip=tooltip
        ),
    ).properties(width=WIDTH - 200, height=max(26, 8 * len(levels) + 6) * max(2, len(names)))


SECTIONS = [
    Section(
        "efficiency",
        "Share of the ceiling",
        "The ceiling was measured in the same run on the same path, without disks. Each point is the median"
        " of a size, and the line behind it spans from the lowest to the highest value. Small files cannot"
        " fill a link with a long round trip.",
        efficiency,
        ("efficiency",),
        applies="the run measured no ceiling",
    ),
]
