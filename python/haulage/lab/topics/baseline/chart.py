"""The chart of each treatment beside the baseline."""

from __future__ import annotations

import altair as alt
import numpy as np

from haulage.lab.report.charts import (
    TIMES,
    WIDTH,
    Chart,
    Rows,
    cases,
    data,
    frame_of,
    log_ticks,
    row_names,
    sizes_in_order,
    treatments,
)
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import Section
from haulage.words.numbers import digits


def paired_differences(comparisons: Rows) -> Chart:
    """Draw each treatment against the baseline, with its interval and the A/A band."""
    frame = frame_of(comparisons).copy()
    frame["group"] = cases(frame)
    names = treatments(frame)
    band = frame["band_log_ratio"].astype("float64")
    frame["band_low"], frame["band_high"] = np.exp(-band), np.exp(band)
    values = frame[["times_as_fast", "low", "high", "band_low", "band_high"]].astype("float64")
    frame[values.columns] = values
    ends = np.array([values.min().min() / 1.1, values.max().max() * 1.15])
    frame["words"] = [
        f"{digits(row['times_as_fast'])}{TIMES}" + ("" if row["low"] == row["low"] else ", n too small")
        for row in frame.to_dict("records")
    ]
    axis = alt.X(
        "times_as_fast:Q",
        title="times as fast as the baseline (1 = alike)",
        scale=alt.Scale(type="log", domain=[float(end) for end in ends], nice=False),
        axis=log_ticks(ends, TIMES),
    )
    row = row_names("treatment", names)
    says = {"different": LIGHT["blue"], "equivalent": LIGHT["green"], "undecided": LIGHT["grey"]}
    colour = alt.Color(
        "says:N",
        scale=alt.Scale(domain=list(says), range=list(says.values())),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    columns = [
        "group",
        "treatment",
        "times_as_fast",
        "low",
        "high",
        "band_low",
        "band_high",
        "says",
        "n",
        "p",
        "q",
        "words",
    ]
    base = data(frame[columns])
    tooltip = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("group:N", title="files"),
        alt.Tooltip("times_as_fast:Q", format=".4~g", title="times as fast"),
        alt.Tooltip("low:Q", format=".4~g"),
        alt.Tooltip("high:Q", format=".4~g"),
        alt.Tooltip("n:Q", title="pairs (n)"),
        alt.Tooltip("p:Q", format=".3~g"),
        alt.Tooltip("q:Q", format=".3~g", title="q (corrected p)"),
        alt.Tooltip("says:N"),
    ]
    layers = [
        base.mark_rect(color=LIGHT["pale"], opacity=0.5, height={"band": 1}).encode(
            x=alt.X("band_low:Q"), x2="band_high:Q", y=row
        ),
        base.transform_calculate(one="1")
        .mark_rule(color=LIGHT["muted"], strokeDash=[4, 3])
        .encode(x=alt.X("one:Q")),
        base.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q"), x2="high:Q", y=row, color=colour),
        base.mark_point(filled=True, size=60).encode(x=axis, y=row, color=colour, tooltip=tooltip),
        base.mark_text(align="left", dy=-9, dx=5, fontSize=10.5).encode(x=axis, y=row, text="words:N"),
    ]
    order = sizes_in_order(frame)
    header = alt.Header(labelAngle=0, labelAlign="left")
    return (
        alt.layer(*layers)
        .properties(width=WIDTH - 210, height=24 * max(2, len(names)))
        .facet(row=alt.Row("group:N", sort=order, title=None, header=header), spacing=14)
        .resolve_scale(y="independent")
    )


SECTIONS = [
    Section(
        "paired",
        "Differences from the baseline",
        "Each point is the ratio to the baseline of the same replicate (Hodges-Lehmann), and the line is"
        " its interval. The grey band is the difference of the baseline from itself, run twice in every"
        " replicate (A/A). A treatment whose line lies inside the band is equivalent; one outside it is"
        " different if its corrected p is below 0.05; anything else is undecided. An interval at 95 % needs"
        " at least six pairs.",
        paired_differences,
        ("comparisons",),
        also=("paired",),
        applies="no two treatments were run in the same replicate",
    ),
]
