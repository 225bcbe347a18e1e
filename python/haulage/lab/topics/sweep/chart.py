"""Charts of block sizes: along them, along file sizes, and on average."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from haulage.lab.report.charts import (
    HEIGHT,
    NO_LIMIT,
    TIMES,
    WIDTH,
    Chart,
    NotShownError,
    Rows,
    data,
    frame_of,
    heading,
    log_ticks,
    sizes,
    step_colours,
    treatments,
)
from haulage.lab.report.palette import LIGHT, distinct, steps
from haulage.lab.report.section import Section
from haulage.words.numbers import round_size

#: What identifies a treatment at a size in both tables.
SAME = ["direction", "size_bytes", "treatment"]


def block_sweep(
    improvement: Rows,
    comparisons: Rows | None = None,
    block_sizes: Rows | None = None,
) -> Chart:
    """Draw the three charts of 2010: improvement by file size, by block size, and the duration that is saved.

    Raises:
        NotShownError: No cell holds files of one size.
    """
    frame = _with_bounds(frame_of(improvement), comparisons)
    frame = frame[frame["size_bytes"] > 0]
    if frame.empty:
        raise NotShownError("the files of each cell are of mixed sizes")
    # The best blocks for uploads say nothing about downloads.
    there = [direction for direction in ("up", "down") if (frame["direction"] == direction).any()]
    parts: list[Chart] = []
    for direction in there:
        which = f", {direction}" if len(there) > 1 else ""
        parts += _one_way(frame[frame["direction"] == direction].copy(), block_sizes, direction, which)
    return alt.vconcat(*parts, spacing=30).resolve_scale(color="independent")


def _one_way(frame: pd.DataFrame, block_sizes: Rows | None, direction: str, which: str) -> list[Chart]:
    families = _families(frame)
    parts: list[Chart] = []
    for family in families or [frame["size_bytes"] < 0]:
        # A treatment of no family, such as the adaptive arm, is a line in the charts of each.
        rest = ~np.logical_or.reduce(families) if families else ~family
        parts += _charts(frame[family | rest].assign(in_family=family), block_sizes, direction, which)
    return parts


def _charts(frame: pd.DataFrame, block_sizes: Rows | None, direction: str, which: str) -> list[Chart]:
    inside = frame[frame["in_family"]]
    levels = sorted(float(size) for size in inside["block_size_bytes"].unique())
    method = str(inside["method"].iloc[0]) if levels else ""
    others = treatments(frame[~frame["in_family"]])
    names = [*map(round_size, levels), *others]
    frame["line"] = [
        round_size(size) if inside else treatment
        for size, inside, treatment in zip(
            frame["block_size_bytes"], frame["in_family"], frame["treatment"], strict=True
        )
    ]
    frame["file"] = [round_size(size) for size in frame["size_bytes"]]
    named = [LIGHT[name] for name in ("ink", "grey", "pink", "brown")]
    more = [one for one in distinct(len(others) + len(named)) if one not in named]
    colours = [*steps(len(levels)), *named, *more]
    scale = {"scale": alt.Scale(domain=names, range=colours[: len(names)])}
    colour = alt.Color("line:N", **_right(scale, f"{method}, size" if levels else None))
    parts = [_by_file(frame, colour, which)]
    if len(levels) > 1:
        parts.append(_by_block(frame[frame["in_family"]].copy(), levels, block_sizes, direction, which))
    return [*parts, _saved(frame, colour, which)]


def _families(frame: pd.DataFrame) -> list[pd.Series]:
    """Return the treatments that differ in their block size only, a mask for each, the most sizes first."""
    blocks = frame[frame["block_size_bytes"].notna()]
    found = blocks.groupby(["method", "concurrency"], dropna=False).agg(
        levels=("block_size_bytes", "nunique"), sizes=("size_bytes", "nunique")
    )
    several = found[found["levels"] > 1].sort_values("sizes", ascending=False, kind="stable")
    return [
        (frame["method"] == method)
        & ((frame["concurrency"] == concurrency) | (frame["concurrency"].isna() & pd.isna(concurrency)))
        & frame["block_size_bytes"].notna()
        for method, concurrency in several.index
    ]


def _with_bounds(frame: pd.DataFrame, comparisons: Rows | None) -> pd.DataFrame:
    if comparisons is None:
        return frame.assign(low=np.nan, high=np.nan)
    bounds = frame_of(comparisons)[[*SAME, "low", "high", "says"]].drop_duplicates(SAME)
    merged = frame.merge(bounds, on=SAME, how="left")
    merged[["low", "high"]] = merged[["low", "high"]].astype("float64")
    return merged


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("file:N", title="file"),
        alt.Tooltip("line:N", title="blocks"),
        alt.Tooltip("times_as_fast:Q", format=".4~g", title="times as fast"),
        alt.Tooltip("mean_times_as_fast:Q", format=".4~g", title="mean"),
        alt.Tooltip("sd_times_as_fast:Q", format=".4~g", title="standard deviation"),
        alt.Tooltip("low:Q", format=".4~g"),
        alt.Tooltip("high:Q", format=".4~g"),
        alt.Tooltip("duration_saved_share:Q", format=".1%", title="duration saved"),
        alt.Tooltip("n:Q", title="replicates (n)"),
    ]


def _times(frame: pd.DataFrame) -> alt.Y:
    return alt.Y(
        "times_as_fast:Q",
        title="times as fast as the baseline",
        scale=alt.Scale(type="log", nice=False, padding=16),
        axis=log_ticks(frame[["times_as_fast", "low", "high"]].stack(), TIMES),
    )


def _lines(frame: pd.DataFrame, x: alt.X, y: alt.Y, colour: alt.Color) -> list[Chart]:
    base = data(frame[_COLUMNS])
    ribbon = (
        base.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.16)
        .encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    )
    alike = (
        data(pd.DataFrame([{"times_as_fast": 1}]))
        .mark_rule(color=LIGHT["muted"], strokeDash=[4, 3])
        .encode(y=y)
    )
    line = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    points = base.mark_point(filled=True, size=42, opacity=1).encode(
        x=x, y=y, color=colour, tooltip=_tooltip()
    )
    # Vega complains of a layer without rows.
    return [*([ribbon] if frame["low"].notna().any() else []), alike, line, points]


_COLUMNS = [
    "size_bytes",
    "block_size_bytes",
    "line",
    "file",
    "times_as_fast",
    "mean_times_as_fast",
    "sd_times_as_fast",
    "low",
    "high",
    "duration_saved_share",
    "n",
]


def _by_file(frame: pd.DataFrame, colour: alt.Color, which: str) -> Chart:
    x = sizes("size_bytes", frame["size_bytes"], "size of the file")
    return alt.layer(*_lines(frame, x, _times(frame), colour)).properties(
        width=WIDTH - 190, height=HEIGHT, title=heading(f"Improvement in rate by file size{which}")
    )


def _by_block(
    frame: pd.DataFrame,
    levels: list[float],
    block_sizes: Rows | None,
    direction: str,
    which: str,
) -> Chart:
    files = [round_size(size) for size in sorted(frame["size_bytes"].unique())]
    colour = alt.Color("file:N", **_right(step_colours(files), "file size"))
    x = sizes("block_size_bytes", levels, "size of a block")
    y = _times(frame)
    layers = _lines(frame, x, y, colour)
    if block_sizes is not None:
        flat = frame_of(block_sizes)
        flat = flat[flat["direction"] == direction]
        if "method" in flat:
            flat = flat[flat["method"].isin(frame["method"].unique())]
        marks = frame.merge(flat[["size_bytes", "flat_low_bytes", "flat_high_bytes"]], on="size_bytes")
        inside = marks["block_size_bytes"].between(marks["flat_low_bytes"], marks["flat_high_bytes"])
        if inside.any():
            band = data(marks[inside][_COLUMNS]).mark_line(strokeWidth=9, opacity=0.35, strokeCap="round")
            dots = data(marks[inside][_COLUMNS]).mark_point(filled=True, size=170, opacity=0.35)
            layers[:0] = [mark.encode(x=x, y=y, color=colour) for mark in (band, dots)]
    return alt.layer(*layers).properties(
        width=WIDTH - 190,
        height=HEIGHT,
        title=heading(f"The same with axes swapped{which}; thick: the flat region"),
    )


def _saved(frame: pd.DataFrame, colour: alt.Color, which: str) -> Chart:
    x = sizes("size_bytes", frame["size_bytes"], "size of the file")
    y = alt.Y(
        "duration_saved_share:Q",
        title="share of the duration saved",
        axis=alt.Axis(format="%", tickCount=6),
        scale=alt.Scale(domainMax=1, nice=True),
    )
    base = data(frame[_COLUMNS])
    return alt.layer(
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        base.mark_point(filled=True, size=42, opacity=1).encode(x=x, y=y, color=colour, tooltip=_tooltip()),
    ).properties(width=WIDTH - 190, height=240, title=heading(f"Reduction of the duration{which}"))


def _right(colours: Mapping[str, Any], title: str | None) -> dict[str, Any]:
    return {
        **colours,
        "legend": alt.Legend(
            title=title,
            orient="right",
            symbolType="stroke",
            symbolStrokeWidth=3,
            symbolOpacity=1,
            labelLimit=NO_LIMIT,
            symbolLimit=0,
        ),
    }


def block_average(rows: Rows) -> Chart:
    """Draw the mean improvement of each block size over all file sizes, a panel for each way to cut."""
    frame = frame_of(rows)
    parts = [
        _panel(part.copy()) for _, part in frame.groupby(["direction", "method", "concurrency"], dropna=False)
    ]
    return alt.vconcat(*parts, spacing=24)


def _panel(frame: pd.DataFrame) -> Chart:
    first = frame.iloc[0]
    frame["block"] = [round_size(size) for size in frame["block_size_bytes"]]
    # One size has no spread: the rule is a point.
    spread = frame["sd_times_as_fast"].fillna(0.0)
    frame["low"] = (frame["mean_times_as_fast"] - spread).clip(lower=0)
    frame["high"] = frame["mean_times_as_fast"] + spread
    frame["says"] = ["best on average" if best else "" for best in frame["is_best"].astype(bool)]
    order = list(frame.sort_values("block_size_bytes")["block"])
    x = alt.X("block:N", sort=order, title="size of a block", axis=alt.Axis(labelAngle=0))
    y = alt.Y("mean_times_as_fast:Q", title=f"mean improvement ({TIMES} the baseline)")
    base = data(frame.drop(columns=["direction", "method", "concurrency"]))
    tooltip = [
        alt.Tooltip("block:N"),
        alt.Tooltip("mean_times_as_fast:Q", format=".4~g", title="mean"),
        alt.Tooltip("sd_times_as_fast:Q", format=".4~g", title="standard deviation"),
        alt.Tooltip("geometric_mean_times_as_fast:Q", format=".4~g", title="geometric mean"),
        alt.Tooltip("file_sizes_slower:Q", title="file sizes that it slows down"),
        alt.Tooltip("file_sizes:Q", title="file sizes"),
        alt.Tooltip("n:Q", title="pairs (n)"),
    ]
    colour = alt.condition("datum.says != ''", alt.value(LIGHT["orange"]), alt.value(LIGHT["blue"]))
    return alt.layer(
        base.mark_bar(width={"band": 0.6}).encode(x=x, y=y, color=colour, tooltip=tooltip),
        base.mark_rule(color=LIGHT["ink"]).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_text(align="left", dy=-8, dx=5, fontSize=12).encode(x=x, y=y, text="says:N"),
    ).properties(
        width=WIDTH - 190,
        height=220,
        title=heading(
            f"{first['method']}, {first['direction']}: mean over {first['file_sizes']:.0f} file sizes"
        ),
    )


SECTIONS = [
    Section(
        "sweep",
        "Block size",
        "Each line is a block size (below: a file size). Each point is the median over replicates of the"
        " rate divided by the baseline's rate in the same replicate, and the ribbon is its interval; there"
        " is no ribbon if there are too few replicates. The thick part of a line is the flat region: block"
        " sizes within 5 % of the best. The smallest of them needs the least memory and the least data to"
        " send again. Where ribbons overlap, do not choose by the points.",
        block_sweep,
        ("improvement",),
        ("comparisons", "block_sizes"),
        applies="no treatment moved files in blocks beside a baseline",
    ),
    Section(
        "block-average",
        "One block size for all files",
        "Each bar is the mean over file sizes of the mean improvement at each size. The line through it is"
        " one standard deviation over the file sizes in each direction: not an interval, but how much the"
        " gain depends on the file. A mean is dominated by the files that gain most; the rows have the"
        " geometric mean and the number of file sizes that a block size slows down.",
        block_average,
        ("block_average",),
        applies="no plan of several block sizes over the same files",
    ),
]
