"""The chart of the time of a file by its size."""

from __future__ import annotations

import itertools

import altair as alt
import pandas as pd

from haulage.lab.report.charts import (
    HEIGHT,
    WIDTH,
    Chart,
    Rows,
    category_colours,
    data,
    frame_of,
    heading,
    log_ticks,
    scale_of,
    sizes,
    treatments,
)
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import Section
from haulage.words.numbers import round_size

#: What a direction is called in the chart.
_VERBS = {"up": "write", "down": "read"}


def crossover(latency: Rows, crossovers: Rows | None = None) -> Chart:
    """Draw the time of a file by size, a line for each method, and where two of them change places.

    Writes and reads are a picture each: which is quicker one way says nothing of the other.

    Raises:
        NotShownError: The run wrote nothing.
    """
    frame = frame_of(latency)
    there = [direction for direction in _VERBS if (frame["direction"] == direction).any()]
    parts = [
        _durations(frame[frame["direction"] == direction], crossovers, direction, len(there) > 1)
        for direction in there
    ]
    return parts[0] if len(parts) == 1 else alt.vconcat(*parts, spacing=30).resolve_scale(color="independent")


def _durations(frame: pd.DataFrame, crossovers: Rows | None, direction: str, several: bool) -> Chart:
    names = treatments(frame)
    divisor, unit = scale_of(frame["duration_ns"], "ns")
    groups = frame.groupby(["treatment", "size_bytes"])
    shown = groups.agg(
        took=("duration_ns", "median"),
        low=("duration_ns", "min"),
        high=("duration_ns", "max"),
        n=("n", "sum"),
    ).reset_index()
    shown[["took", "low", "high"]] /= divisor
    x = sizes("size_bytes", shown["size_bytes"], "size of the file", labelAngle=-30)
    y = alt.Y(
        "took:Q",
        title=f"duration of a {_VERBS[direction]} ({unit})",
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=log_ticks(shown[["low", "high"]].stack()),
    )
    colour = alt.Color("treatment:N", **category_colours(names))
    base = data(shown)
    tooltip = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("size_bytes:Q", title="bytes", format=","),
        alt.Tooltip("took:Q", format=".4~g", title=f"median ({unit})"),
        alt.Tooltip("low:Q", format=".4~g", title="quickest replicate"),
        alt.Tooltip("high:Q", format=".4~g", title="slowest replicate"),
        alt.Tooltip("n:Q", title="files (n)"),
    ]
    layers = [
        base.mark_area(opacity=0.13).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        base.mark_point(filled=True, size=42, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip),
    ]
    if crossovers is not None:
        layers += _crossings(frame_of(crossovers), shown, direction, x)
    chart = alt.layer(*layers).properties(width=WIDTH - 70, height=HEIGHT + 20)
    return chart.properties(title=heading({"up": "Writes", "down": "Reads"}[direction])) if several else chart


def _crossings(frame: pd.DataFrame, shown: pd.DataFrame, direction: str, x: alt.X) -> list[Chart]:
    """Mark the sizes at which the quickest way changes; other pairs are in the rows only."""
    shown = shown[~shown["treatment"].str.endswith("-again")]
    quickest = shown.loc[shown.groupby("size_bytes")["took"].idxmin()].sort_values("size_bytes")["treatment"]
    order = [name for name, before in zip(quickest, [None, *quickest], strict=False) if name != before]
    pairs = set(itertools.pairwise(order))
    found = frame[(frame["direction"] == direction) & frame["crossover_bytes"].notna()]
    layers: list[Chart] = []
    for row in found.sort_values("crossover_bytes").to_dict("records"):
        if (row["smaller_favours"], row["larger_favours"]) not in pairs:
            continue
        label = (
            f"{row['smaller_favours']} | {row['larger_favours']} from {round_size(row['crossover_bytes'])}"
        )
        place = {"size_bytes": row["crossover_bytes"], "low": row["low_bytes"], "high": row["high_bytes"]}
        mark = data(pd.DataFrame([place | {"label": label}]))
        if row["low_bytes"] == row["low_bytes"]:
            shade = mark.mark_rect(color=LIGHT["muted"], opacity=0.08)
            layers.append(shade.encode(x=alt.X("low:Q"), x2="high:Q"))
        right = row["crossover_bytes"] ** 2 > shown["size_bytes"].min() * shown["size_bytes"].max()
        words = mark.mark_text(
            align="right" if right else "left", dx=-5 if right else 5, fontSize=12, color=LIGHT["muted"]
        )
        layers += [
            mark.mark_rule(color=LIGHT["muted"], strokeDash=[4, 3]).encode(x=x),
            words.encode(x=x, y=alt.value(10 + 8 * len(layers)), text="label:N"),
        ]
    return layers


SECTIONS = [
    Section(
        "crossover",
        "Fastest method by size",
        "Median duration of a file, with separate charts for writes and reads. The ribbon spans from the"
        " fastest to the slowest replicate. Lower is better. A dashed line marks the size at which two"
        " methods are equally fast, and the shade around it is its interval: to its left the first one is"
        " faster, to its right the second.",
        crossover,
        ("api_latency",),
        ("crossovers",),
        applies="the query api_latency does not apply to this plan",
    ),
]
