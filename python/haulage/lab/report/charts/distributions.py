"""The distribution of rates: densities and empirical distributions."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from haulage.lab.analysis.model import Result
from haulage.lab.report.charts.base import (
    NO_LIMIT,
    TIMES,
    WIDTH,
    Chart,
    cases,
    category_colours,
    data,
    frame_of,
    heading,
    limited,
    log_ticks,
    scale_of,
    treatments,
)
from haulage.lab.report.palette import LIGHT
from haulage.words.numbers import digits

#: Corners of a curve: one for each few pixels. There may be dozens of curves.
CORNERS = 150
#: Up to so many rates stand below a density one by one.
RUG = 60


def distributions(rates: Result | pd.DataFrame, densities: Result | pd.DataFrame | None = None) -> Chart:
    """Draw the densities of the rates with a rug, and beneath them the share of files that were slower.

    Args:
        rates: Of ``rate_by_transfer``: treatment, direction, size_bytes, rate_bits_per_second.
        densities: Of ``densities``: the same with density_per_decade, modes, two_modes_likely. Without it
            there is no density: a handful of files has none.
    """
    frame = frame_of(rates)
    frame = frame.assign(group=cases(frame))
    divisor, unit = scale_of(frame["rate_bits_per_second"], "bit/s")
    names = treatments(frame)
    order = list(dict.fromkeys(frame.sort_values("size_bytes")["group"]))
    choice = alt.param(
        name="files", value=_best_known(frame, order), bind=alt.binding_select(options=order, name="files ")
    )
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


def paired_differences(comparisons: Result | pd.DataFrame) -> Chart:
    """Draw each treatment against the baseline, with its interval and the A/A band.

    Args:
        comparisons: direction, size_bytes, treatment, times_as_fast, low, high, n, p, q,
            band_log_ratio, says.
    """
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
    row = alt.Y(
        "treatment:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=NO_LIMIT)
    )
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
    order = list(dict.fromkeys(frame.sort_values("size_bytes")["group"]))
    header = alt.Header(labelAngle=0, labelAlign="left")
    return (
        alt.layer(*layers)
        .properties(width=WIDTH - 210, height=24 * max(2, len(names)))
        .facet(row=alt.Row("group:N", sort=order, title=None, header=header), spacing=14)
        .resolve_scale(y="independent")
    )
