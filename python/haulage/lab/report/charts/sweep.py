"""Along a factor: block size, requests in flight, size of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from haulage.lab.analysis.model import Result
from haulage.lab.report.charts.base import (
    HEIGHT,
    NO_LIMIT,
    TIMES,
    WIDTH,
    Chart,
    NotShownError,
    category_colours,
    data,
    frame_of,
    heading,
    log_ticks,
    scale_of,
    sizes,
    step_colours,
    treatments,
)
from haulage.lab.report.palette import LIGHT, distinct, steps
from haulage.words.numbers import round_size

#: What identifies a treatment at a size in both tables.
SAME = ["direction", "size_bytes", "treatment"]


def block_sweep(
    improvement: Result | pd.DataFrame,
    comparisons: Result | pd.DataFrame | None = None,
    block_sizes: Result | pd.DataFrame | None = None,
) -> Chart:
    """Draw the three charts of 2010: improvement by file size, by block size, and the duration that is saved.

    Args:
        improvement: direction, size_bytes, block_size_bytes, treatment, n, times_as_fast,
            duration_saved_share.
        comparisons: Brings the intervals: direction, size_bytes, treatment, low, high.
        block_sizes: Brings the flat region: direction, size_bytes, flat_low_bytes, flat_high_bytes.

    Raises:
        NotShownError: No cell holds files of one size.
    """
    frame = _with_bounds(frame_of(improvement), comparisons)
    frame = frame[frame["size_bytes"] > 0]
    if frame.empty:
        raise NotShownError("the files of each cell are of mixed sizes")
    # Which blocks are best one way says nothing of the other.
    there = [direction for direction in ("up", "down") if (frame["direction"] == direction).any()]
    parts: list[Chart] = []
    for direction in there:
        which = f", {direction}" if len(there) > 1 else ""
        parts += _one_way(frame[frame["direction"] == direction].copy(), block_sizes, direction, which)
    return alt.vconcat(*parts, spacing=30).resolve_scale(color="independent")


def _one_way(
    frame: pd.DataFrame, block_sizes: Result | pd.DataFrame | None, direction: str, which: str
) -> list[Chart]:
    families = _families(frame)
    parts: list[Chart] = []
    for family in families or [frame["size_bytes"] < 0]:
        # What is of no family, such as the adaptive arm, is a line in the charts of each.
        rest = ~np.logical_or.reduce(families) if families else ~family
        parts += _charts(frame[family | rest].assign(in_family=family), block_sizes, direction, which)
    return parts


def _charts(
    frame: pd.DataFrame, block_sizes: Result | pd.DataFrame | None, direction: str, which: str
) -> list[Chart]:
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


def _with_bounds(frame: pd.DataFrame, comparisons: Result | pd.DataFrame | None) -> pd.DataFrame:
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
    block_sizes: Result | pd.DataFrame | None,
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


def scaling(cells: Result | pd.DataFrame, knees: Result | pd.DataFrame | None = None) -> Chart:
    """Draw the rate by the number of requests in flight: every cell, the medians, and the knee.

    Args:
        cells: Of ``concurrency``: direction, method, size_bytes, files, concurrency, rate_bits_per_second.
        knees: direction, method, size_bytes, knee, rate_bits_per_second.

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
