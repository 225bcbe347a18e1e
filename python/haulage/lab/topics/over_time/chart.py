"""Charts over the run: the cells in their order, and the rate of each transfer with its steps."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from haulage.lab.report.charts import (
    TIMES,
    WIDTH,
    Chart,
    Rows,
    cases,
    category_colours,
    data,
    frame_of,
    heading,
    limited,
    log_ticks,
    ratio_ticks,
    scale_of,
    select,
    sizes_in_order,
    step_colours,
    treatments,
)
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import Section
from haulage.words.numbers import digits

#: Points of one treatment; more would hide each other.
MOST_OF_A_SERIES = 600
#: Steps of one treatment that are marked, the largest first; the rows have all.
MOST_STEPS = 6


def run_order(rows: Rows) -> Chart:
    """Draw the rate of every cell over the median of its like, in the order they were run."""
    frame = frame_of(rows)
    frame = frame.assign(words=cases(frame))
    relative = frame["relative_rate"]
    reach = max(1.2, relative.max(), 1 / relative.min()) * 1.05
    vertical = alt.Y(
        "relative_rate:Q",
        title="rate over the median of its like",
        scale=alt.Scale(type="log", domain=[1 / reach, reach], nice=False),
        axis=alt.Axis(values=ratio_ticks(reach), format="~g"),
    )
    horizontal = alt.X(
        "cell:Q",
        title="cell, in the order they were run",
        scale=alt.Scale(zero=False, nice=False, padding=10),
    )
    columns = ["cell", "treatment", "words", "replicate", "relative_rate", "began_ns"]
    points = (
        data(limited(frame[columns]))
        .transform_calculate(minutes="datum.began_ns / 6e10")
        .mark_point(filled=True, size=36, opacity=0.8)
        .encode(
            x=horizontal,
            y=vertical,
            color=alt.Color("treatment:N", **category_colours(treatments(frame))),
            tooltip=[
                alt.Tooltip("cell:Q"),
                alt.Tooltip("treatment:N"),
                alt.Tooltip("words:N", title="files"),
                alt.Tooltip("replicate:Q"),
                alt.Tooltip("relative_rate:Q", format=".3~g", title="over the median"),
                alt.Tooltip("minutes:Q", format=".2f", title="minutes since the start"),
            ],
        )
    )
    usual = data(pd.DataFrame([{"relative_rate": 1}]))
    layers = [usual.mark_rule(color=LIGHT["muted"], strokeDash=[4, 4]).encode(y=vertical), points]
    stepped = frame[frame["is_step"].astype(bool)]
    if len(stepped):
        marks = data(
            stepped.assign(label=[f"{TIMES} {digits(factor)} from here" for factor in stepped["factor"]])[
                ["cell", "label"]
            ]
        )
        layers += [
            marks.mark_rule(color=LIGHT["red"], strokeWidth=1.5).encode(x=horizontal),
            marks.mark_text(align="left", dx=5, color=LIGHT["red"], fontSize=12).encode(
                x=horizontal, y=alt.value(10), text="label:N"
            ),
        ]
    title = heading(f"Verdict on the run as a whole: {frame['says'].iloc[0]}")
    return alt.layer(*layers).properties(width=WIDTH - 60, height=260, title=title)


def transfers(rates: Rows, changes: Rows) -> Chart:
    """Draw the rate of each transfer of one treatment in the order of time, with its steps."""
    frame, found = frame_of(rates), frame_of(changes)
    divisor, unit = scale_of(frame["rate_bits_per_second"], "bit/s")
    several = frame["direction"].nunique() > 1

    def series(of: pd.DataFrame) -> list[str]:
        return [
            f"{treatment}, {direction}" if several else str(treatment)
            for treatment, direction in zip(of["treatment"], of["direction"], strict=True)
        ]

    frame = frame.assign(
        series=series(frame), rate=frame["rate_bits_per_second"] / divisor, words=cases(frame)
    )
    found = found.assign(series=series(found))
    names = treatments(frame)
    options = sorted(
        dict.fromkeys(frame["series"]),
        key=lambda name: names.index(name.rsplit(", ", 1)[0] if several else name),
    )
    stepped = found[found["transfer"].notna()]
    first = stepped["series"].iloc[0] if len(stepped) else options[-1]
    choice = select("series", first, options, "treatment ")
    horizontal = alt.X(
        "place:Q",
        title="transfer, in the order they ended",
        scale=alt.Scale(zero=False, nice=False, padding=10),
        axis=alt.Axis(tickMinStep=1),
    )
    vertical = alt.Y(
        "rate:Q",
        title=unit,
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=log_ticks(frame["rate"]),
    )
    parts = [limited(group, MOST_OF_A_SERIES) for _, group in frame.groupby("series", sort=False)]
    columns = ["series", "place", "rate", "words", "object", "replicate"]
    points = (
        data(pd.concat(parts)[columns])
        .transform_filter("datum.series == series")
        .mark_point(filled=True, size=34, opacity=0.8)
        .encode(
            x=horizontal,
            y=vertical,
            color=alt.Color(
                "words:N", **step_colours(sizes_in_order(frame.assign(group=frame["words"])), title="file")
            ),
            tooltip=[
                alt.Tooltip("object:N"),
                alt.Tooltip("words:N", title="file"),
                alt.Tooltip("rate:Q", format=".4~g", title=unit),
                alt.Tooltip("replicate:Q"),
            ],
        )
    )
    layers = [points]
    if len(stepped):
        marks = _steps(stepped, frame)
        base = data(marks).transform_filter("datum.series == series")
        layers += [
            base.mark_rect(color=LIGHT["red"], opacity=0.15).encode(x=alt.X("low:Q"), x2="high:Q"),
            base.mark_rule(color=LIGHT["red"], strokeWidth=1.5).encode(x=horizontal),
            base.mark_text(align="left", dx=6, color=LIGHT["red"], fontSize=12).encode(
                x=horizontal, y=alt.value(8), text="label:N"
            ),
        ]
    said = (
        found.groupby("series", sort=False)
        .agg(says=("says", lambda all_: ", ".join(dict.fromkeys(all_))))
        .reset_index()
    )
    words = (
        data(said)
        .transform_filter("datum.series == series")
        .mark_text(align="left", fontSize=12, fontWeight="bold")
        .encode(x=alt.value(0), y=alt.value(-10), text="says:N")
    )
    return alt.layer(*layers, words).add_params(choice).properties(width=WIDTH - 60, height=260)


def _steps(stepped: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Return each step at its place among all transfers of its treatment.

    A step counts the transfers of its own replicate, or of all where its replicate is below zero.
    """
    marks = []
    by_series = {name: own[["replicate", "place"]] for name, own in frame.groupby("series", sort=False)}
    size = np.log(stepped["factor"].astype("float64")).abs()
    largest = (
        stepped.assign(size=size).sort_values("size", ascending=False).groupby("series").head(MOST_STEPS)
    )
    for step in largest.to_dict("records"):
        own = by_series[step["series"]]
        if step["replicate"] >= 0:
            own = own[own["replicate"] == step["replicate"]]
        places = own["place"].sort_values().to_numpy()
        place, first, last = (
            float(places[min(int(step[key]), len(places) - 1)]) for key in ("transfer", "earliest", "latest")
        )
        label = f"step: {TIMES} {digits(step['factor'])}"
        marks.append(
            {"series": step["series"], "place": place, "low": first - 0.5, "high": last + 0.5, "label": label}
        )
    return pd.DataFrame(marks)


SECTIONS = [
    Section(
        "order",
        "Cells in execution order",
        "Each point is a cell relative to the median of its group (same treatment, size and direction), so"
        " a run on a steady path is a level cloud around 1. A red line is a step found by PELT: from there"
        " on everything was faster or slower by the same factor, whatever the treatment. Replicates are"
        " interleaved, so a step affects all treatments alike; otherwise it would look like a difference"
        " between them.",
        run_order,
        ("run_order",),
        applies="fewer than ten cells have their like in another replicate",
    ),
    Section(
        "transfers",
        "Fault or drift",
        "The rate of each file of one treatment, in the order in which they finished. Points of different"
        " file sizes are at different heights, because small files have no time to be fast. A step is red,"
        " with the range of transfers in which it may lie (the six largest are marked); its factor is the"
        " ratio of the rates after and before. No mark means that a constant rate or a slope explains the"
        " rates as well.",
        transfers,
        ("rate_by_transfer", "changes"),
    ),
]
