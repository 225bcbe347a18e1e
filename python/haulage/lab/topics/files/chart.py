"""The chart of the rates of single files: densities and empirical distributions."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from haulage.lab.report.charts import (
    WIDTH,
    Chart,
    Rows,
    cases,
    category_colours,
    data,
    frame_of,
    heading,
    limited,
    scale_of,
    select,
    sizes_in_order,
    treatments,
)
from haulage.lab.report.section import Section

#: Points of a curve: one every few pixels. There may be dozens of curves.
CORNERS = 150
#: At most this many rates are drawn one by one below a density.
RUG = 60


def distributions(rates: Rows, densities: Rows | None = None) -> Chart:
    """Draw the densities of the rates with a rug, and beneath them the share of files that were slower."""
    frame = frame_of(rates)
    frame = frame.assign(group=cases(frame))
    divisor, unit = scale_of(frame["rate_bits_per_second"], "bit/s")
    names = treatments(frame)
    order = sizes_in_order(frame)
    choice = select("files", _best_known(frame, order), order, "files ")
    colour = alt.Color("treatment:N", **category_colours(names))
    axis = alt.X(
        "rate:Q",
        title=f"rate of a file ({unit})",
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=alt.Axis(format="~r", tickCount=9, labelOverlap="greedy"),
    )
    parts = [_steps(frame, divisor, unit, colour, axis)]
    curves = frame_of(densities) if densities is not None else None
    if curves is not None and len(curves):
        parts.insert(0, _smooth(curves.assign(group=cases(curves)), frame, divisor, colour, axis))
    return alt.vconcat(*parts, spacing=26).add_params(choice).resolve_scale(x="shared", color="shared")


def _steps(frame: pd.DataFrame, divisor: float, unit: str, colour: alt.Color, axis: alt.X) -> Chart:
    curves = []
    for (name, files), group in frame.groupby(["treatment", "group"], sort=False):
        values = np.sort(group["rate_bits_per_second"].to_numpy()) / divisor
        share = np.arange(1, len(values) + 1) / len(values)
        curve = pd.DataFrame({"rate": values, "share": share})
        foot = pd.DataFrame({"rate": values[:1], "share": [0.0]})
        whole = pd.concat([foot, limited(curve, CORNERS)])
        curves.append(whole.assign(n=len(values), treatment=name, group=files))
    return (
        data(pd.concat(curves))
        .transform_filter("datum.group == files")
        .mark_line(interpolate="step-after", strokeWidth=1.8, clip=True)
        .encode(
            x=axis,
            y=alt.Y(
                "share:Q", title="share of files at most so fast", axis=alt.Axis(format="%", tickCount=5)
            ),
            color=colour,
            tooltip=[
                alt.Tooltip("treatment:N"),
                alt.Tooltip("rate:Q", format=".4~g", title=unit),
                alt.Tooltip("share:Q", format=".1%", title="at most so fast"),
                alt.Tooltip("n:Q", title="files (n)"),
            ],
        )
        .properties(width=WIDTH - 70, height=230, title=heading("Empirical distribution"))
    )


def _best_known(frame: pd.DataFrame, order: list[str]) -> str:
    """Return the files of which most were moved; among equals the largest."""
    counts = frame["group"].value_counts()
    return max(order, key=lambda group: (int(counts[group]), order.index(group)))


def _smooth(
    curves: pd.DataFrame, frame: pd.DataFrame, divisor: float, colour: alt.Color, axis: alt.X
) -> Chart:
    few = [
        limited(group[["treatment", "group", "rate_bits_per_second"]], RUG)
        for _, group in frame.groupby(["treatment", "group"], sort=False)
    ]
    rug = pd.concat(few).rename(columns={"rate_bits_per_second": "rate"})
    rug["rate"] /= divisor
    shown = pd.concat([_cornered(curve) for _, curve in curves.groupby(["treatment", "group"], sort=False)])
    shown = shown.assign(rate=shown["rate_bits_per_second"] / divisor)
    # Rates that hardly vary would flatten all other curves.
    peaks = shown.groupby(["treatment", "group"])["density_per_decade"].transform("max")
    shown["density"] = shown["density_per_decade"] / peaks
    shown["shape"] = ["two modes likely" if two else "one mode" for two in shown["two_modes_likely"]]
    columns = ["treatment", "group", "rate", "density", "shape", "n"]
    height = 190
    area = (
        data(shown[columns])
        .transform_filter("datum.group == files")
        .mark_area(opacity=0.14, line={"strokeWidth": 1.8}, clip=True)
        .encode(
            x=axis,
            y=alt.Y(
                "density:Q",
                title="density, to its own peak",
                stack=None,
                axis=alt.Axis(tickCount=4),
            ),
            color=colour,
            tooltip=[
                alt.Tooltip("treatment:N"),
                alt.Tooltip("shape:N"),
                alt.Tooltip("n:Q", title="files (n)"),
            ],
        )
    )
    ticks = (
        data(rug)
        .transform_filter("datum.group == files")
        .mark_rule(opacity=0.5, clip=True)
        .encode(x=axis, y=alt.value(height), y2=alt.value(height - 10), color=colour)
    )
    return alt.layer(area, ticks).properties(
        width=WIDTH - 70, height=height, title=heading("Density, with a rug of single files")
    )


def _cornered(curve: pd.DataFrame) -> pd.DataFrame:
    """Return a curve with all its points where it is high, and few where it is flat."""
    height = curve["density_per_decade"]
    low = height < 0.01 * height.max()
    flat = limited(curve[low], CORNERS // 4).index
    return limited(curve[~low | curve.index.isin(flat)], 2 * CORNERS)


SECTIONS = [
    Section(
        "rates",
        "Distribution of rates",
        "Above: the density of the rates of single files, with a tick for each file. Below: the share of"
        " files that were at most this fast, which needs no smoothing and hides nothing; read the median"
        " where a line crosses 50 %. A steep line is a steady rate, and a flat stretch between two steep"
        " ones means two kinds of files. Densities are drawn from six files on, and suggest more than six"
        " files can tell. Files in flight at the same time share the link.",
        distributions,
        ("rate_by_transfer",),
        ("densities",),
        ("percentiles",),
    ),
]
