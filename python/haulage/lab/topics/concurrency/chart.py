"""The chart of the rate by requests in flight."""

from __future__ import annotations

import altair as alt
import pandas as pd

from haulage.lab.report.charts import (
    HEIGHT,
    TIMES,
    WIDTH,
    Chart,
    NotShownError,
    Rows,
    category_colours,
    data,
    frame_of,
    scale_of,
)
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import Section
from haulage.words.numbers import round_size


def scaling(cells: Rows, knees: Rows | None = None) -> Chart:
    """Draw the rate by the number of requests in flight: every cell, the medians, and the knee.

    Raises:
        NotShownError: There is nothing to compare.
    """
    frame = _series(frame_of(cells))
    frame = frame[frame.groupby("series")["concurrency"].transform("nunique") > 1].copy()
    if frame.empty:
        raise NotShownError("no treatment was run with more than one number of requests in flight")
    divisor, unit = scale_of(frame["rate_bits_per_second"], "bit/s")
    frame["rate"] = frame["rate_bits_per_second"] / divisor
    names = list(dict.fromkeys(frame.sort_values(["method", "size_bytes"])["series"]))
    colour = alt.Color("series:N", **category_colours(names))
    levels = sorted(frame["concurrency"].unique())
    x = alt.X(
        "concurrency:Q",
        title="requests in flight",
        scale=alt.Scale(type="log", base=2, nice=False, padding=16),
        axis=alt.Axis(values=[float(level) for level in levels], format="~g"),
    )
    y = alt.Y("rate:Q", title=unit, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=6))
    medians = frame.groupby(["series", "concurrency"], sort=False)["rate"]
    shown = medians.agg(rate="median", n="size", low="min", high="max").reset_index()
    tooltip = [
        alt.Tooltip("series:N"),
        alt.Tooltip("concurrency:Q", title="in flight"),
        alt.Tooltip("rate:Q", format=".4~g", title=f"median ({unit})"),
        alt.Tooltip("low:Q", format=".4~g", title="least"),
        alt.Tooltip("high:Q", format=".4~g", title="most"),
        alt.Tooltip("n:Q", title="cells (n)"),
    ]
    layers = [
        data(frame[["series", "concurrency", "rate"]])
        .mark_point(size=22, opacity=0.45)
        .encode(x=x, y=y, color=colour),
        data(shown).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        data(shown)
        .mark_point(filled=True, size=54, opacity=1)
        .encode(x=x, y=y, color=colour, tooltip=tooltip),
    ]
    if knees is not None and not frame_of(knees).empty:
        layers += _knees(_series(frame_of(knees)), names, x)
    return alt.layer(*layers).properties(width=WIDTH - 70, height=HEIGHT)


def _series(frame: pd.DataFrame) -> pd.DataFrame:
    several = frame["direction"].nunique() > 1

    def name(row: dict[str, object]) -> str:
        size, block = row["size_bytes"], row.get("block_size_bytes")
        words = [str(row["method"])]
        if isinstance(block, (int, float)) and block > 0:
            words.append(f"of {round_size(block)}")
        if isinstance(size, (int, float)) and size > 0:
            words.append(f"{row['files']} {TIMES} {round_size(size)}")
        return ", ".join([*words, *([str(row["direction"])] if several else [])])

    return frame.assign(series=[name(row) for row in frame.to_dict("records")])


def _knees(frame: pd.DataFrame, names: list[str], x: alt.X) -> list[Chart]:
    known = frame[frame["series"].isin(names)]
    counts = known.groupby("knee").size()
    if counts.empty:
        return []
    marks = counts.rename("series").reset_index().rename(columns={"knee": "concurrency"})
    marks["label"] = [
        f"knee: {row['concurrency']:.0f}" + (f" ({row['series']} of {len(known)})" if len(counts) > 1 else "")
        for row in marks.to_dict("records")
    ]
    base = data(marks)
    return [
        base.mark_rule(color=LIGHT["muted"], strokeDash=[3, 3]).encode(x=x),
        base.mark_text(align="right", dx=-5, fontSize=12, color=LIGHT["muted"]).encode(
            x=x, y=alt.value(10), text="label:N"
        ),
    ]


SECTIONS = [
    Section(
        "scaling",
        "Requests in flight",
        "Each ring is a cell, and the line joins the medians. While the line rises in proportion, each"
        " connection has a rate of its own; where it bends, something shared has started to limit. The knee"
        " is the smallest number in flight within 5 % of the best: beyond it, more requests only wait"
        " longer.",
        scaling,
        ("concurrency",),
        ("knees",),
        applies="no treatment fixed the number of requests in flight",
    ),
]
