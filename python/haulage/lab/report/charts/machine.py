"""Whether the machine, and not the path, was the limit; and how much of the path was used."""

from __future__ import annotations

import altair as alt
import pandas as pd

from haulage.lab.analysis.model import Result
from haulage.lab.report.charts.base import (
    NO_LIMIT,
    WIDTH,
    Chart,
    cases,
    data,
    frame_of,
    sizes_in_order,
    step_colours,
    treatments,
)
from haulage.lab.report.palette import LIGHT


def efficiency(rows: Result | pd.DataFrame) -> Chart:
    """Draw how much of the measured ceiling each treatment used, a mark for each cell and size.

    Args:
        rows: Of ``efficiency``: direction, size_bytes, treatment, cell, efficiency_share.
    """
    frame = frame_of(rows)
    frame = frame.assign(group=cases(frame))
    names, levels = treatments(frame), sizes_in_order(frame)
    groups = frame.groupby(["treatment", "group"])["efficiency_share"]
    shown = groups.agg(share="median", low="min", high="max", n="size").reset_index()
    row = alt.Y(
        "treatment:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=NO_LIMIT)
    )
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


def load(rows: Result | pd.DataFrame) -> Chart:
    """Draw the processor time of this machine while each treatment ran.

    Args:
        rows: Of ``host_load``: treatment, cell, cpu_user_share, cpu_system_share, cpu_steal_share, samples.
    """
    frame = frame_of(rows)
    names = treatments(frame)
    kinds = {"user": "blue", "system": "violet", "steal": "red"}
    means = frame.groupby("treatment")[[f"cpu_{kind}_share" for kind in kinds]].mean().reset_index()
    long = means.melt("treatment", var_name="kind", value_name="share")
    long["kind"] = long["kind"].str.removeprefix("cpu_").str.removesuffix("_share")
    samples = frame.groupby("treatment")["samples"].sum()
    long["samples"] = [int(samples[name]) for name in long["treatment"]]
    return (
        data(long)
        .mark_bar(height={"band": 0.7})
        .encode(
            y=alt.Y(
                "treatment:N",
                sort=names,
                title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=NO_LIMIT),
            ),
            x=alt.X(
                "share:Q",
                stack="zero",
                title="mean share of all processors",
                axis=alt.Axis(format="%", tickCount=5),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(kinds), range=[LIGHT[name] for name in kinds.values()]),
                legend=alt.Legend(title=None, orient="bottom"),
            ),
            tooltip=[
                alt.Tooltip("treatment:N"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("samples:Q", title="samples (n)"),
            ],
        )
        .properties(width=WIDTH - 200, height=24 * max(2, len(names)))
    )
