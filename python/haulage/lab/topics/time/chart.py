"""Charts of the time: the lost-time ledger, and the rate over the time of a cell."""

from __future__ import annotations

import altair as alt
import pandas as pd

from haulage.lab.report.charts import (
    TIMES,
    WIDTH,
    Chart,
    Rows,
    along_the_cell,
    data,
    frame_of,
    heading,
    row_names,
    scale_of,
    select,
    treatments,
)
from haulage.lab.report.palette import LEDGER, LIGHT
from haulage.lab.report.section import Section
from haulage.words.numbers import format_duration, round_size


def ledger(rows: Rows) -> Chart:
    """Draw one treatment as a waterfall and all of them as bars beneath."""
    frame = frame_of(rows).copy()
    frame["group"] = [
        f"{direction}, {round_size(size) if size > 0 else 'mixed sizes'}"
        for direction, size in zip(frame["direction"], frame["size_bytes"].fillna(0), strict=True)
    ]
    frame["one"] = frame["treatment"] + " · " + frame["group"]
    names = treatments(frame)
    # With the largest files the limit can be the link, and not the time to get going.
    frame = frame.sort_values("size_bytes", kind="stable")
    largest = frame[frame["group"] == frame["group"].iloc[-1]]
    adaptive = largest[largest["treatment"].str.startswith("adaptive")]
    shown = select("shown", largest["group"].iloc[-1], list(dict.fromkeys(frame["group"])), "bars: ")
    ordered = frame.assign(rank=[names.index(name) for name in frame["treatment"]])
    options = dict.fromkeys(ordered.sort_values(["rank", "size_bytes"])["one"])
    first = (largest if adaptive.empty else adaptive)["one"].iloc[0]
    chosen = select("chosen", first, list(options), "part by part: ")
    frame = frame[["group", "treatment", "one", "category", "share", "spent_ns"]]
    parts = []
    for _, group in frame.groupby(["group", "treatment"], sort=False):
        until = group["share"].cumsum()
        words = [
            f"{share * 100:.1f} % · {format_duration(spent)}" if spent else "none"
            for share, spent in zip(group["share"], group["spent_ns"], strict=True)
        ]
        parts.append(group.assign(begin=until - group["share"], until=until, words=words))
    base = data(pd.concat(parts))
    at_once = largest["treatment"].nunique()
    colour = alt.Color(
        "category:N",
        scale=alt.Scale(domain=list(LEDGER), range=[LIGHT[name] for name in LEDGER.values()]),
        legend=alt.Legend(title=None, orient="bottom", columns=12),
    )
    tooltip = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("category:N"),
        alt.Tooltip("share:Q", format=".2%", title=f"of lanes {TIMES} wall time"),
        alt.Tooltip("words:N", title="in lanes"),
    ]
    return (
        alt.vconcat(
            _waterfall(base, colour, tooltip), _bars(base, colour, tooltip, names, at_once), spacing=24
        )
        .add_params(shown, chosen)
        .resolve_scale(x="independent")
    )


def _waterfall(base: Chart, colour: alt.Color, tooltip: list[alt.Tooltip]) -> Chart:
    one = base.transform_filter("datum.one == chosen").encode(
        y=alt.Y("category:N", sort=list(LEDGER), title=None, axis=alt.Axis(ticks=False, domain=False))
    )
    share = alt.X(
        "begin:Q",
        title=f"share of lanes {TIMES} wall time",
        axis=alt.Axis(format="%", values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
        # Room on the right for the words of the last bar.
        scale=alt.Scale(domain=[0, 1.18], nice=False),
    )
    bars = one.mark_bar(height={"band": 0.74}).encode(x=share, x2="until:Q", color=colour, tooltip=tooltip)
    steps = one.mark_rule(color=LIGHT["grid"]).encode(x=alt.X("until:Q", title=None))
    words = one.mark_text(align="left", dx=6, fontSize=12).encode(
        x=alt.X("until:Q", title=None), text="words:N"
    )
    return alt.layer(steps, bars, words).properties(
        width=WIDTH - 110, height=12 * 22, title=heading("One treatment, part by part")
    )


def _bars(
    base: Chart, colour: alt.Color, tooltip: list[alt.Tooltip], names: list[str], at_once: int
) -> Chart:
    return (
        base.transform_filter("datum.group == shown")
        .transform_calculate(place=f"indexof({list(LEDGER)}, datum.category)")
        .mark_bar(height={"band": 0.74})
        .encode(
            y=row_names("treatment", names),
            x=alt.X(
                "share:Q",
                stack="zero",
                title=None,
                axis=alt.Axis(format="%", tickCount=5),
                scale=alt.Scale(domain=[0, 1], nice=False),
            ),
            order="place:Q",
            color=colour,
            tooltip=tooltip,
        )
        .properties(width=WIDTH - 110, height=24 * max(2, at_once), title=heading("All treatments"))
    )


def heat_map(rows: Rows) -> Chart:
    """Draw the rate over the time of a cell, a row for each node, else for each treatment."""
    frame = frame_of(rows)
    nodes = frame["node"].dropna().unique()
    largest = frame.groupby("direction")["size_bytes"].transform("max")
    # Mixed sizes have no largest.
    frame = frame[(frame["size_bytes"] == largest) | largest.isna()]
    names = treatments(frame)
    rows_of = ["direction", "node", "treatment"] if len(nodes) > 1 else ["direction", "treatment"]
    means = frame.groupby([*rows_of, "part"], dropna=False, observed=True)
    shown = means.agg(
        rate=("rate_bits_per_second", "mean"), in_flight=("in_flight", "mean"), cells=("cell", "nunique")
    ).reset_index()
    divisor, unit = scale_of(shown["rate"], "bit/s")
    shown["rate"] /= divisor
    # If the treatment's name is enough, it stands alone.
    keys = ["treatment"] if len(shown) == len(shown.groupby(["treatment", "part"])) else rows_of
    shown["row"] = [" · ".join(str(row[key]) for key in keys) for row in shown.to_dict("records")]
    rank = {name: place for place, name in enumerate(names)}
    order = list(
        shown.assign(rank=shown["treatment"].map(rank)).sort_values([*rows_of[:-1], "rank"])["row"].unique()
    )
    shown["until"] = shown["part"] + 1
    size = frame["size_bytes"].max()
    title = f"Files of {round_size(size)}" if size > 0 else "All files"
    return (
        data(shown)
        .mark_rect()
        .encode(
            **along_the_cell(unit, legend=140),
            y=row_names("row", order),
            tooltip=[
                alt.Tooltip("row:N", title="row"),
                alt.Tooltip("part:Q", title="from (%)"),
                alt.Tooltip("rate:Q", format=".4~g", title=f"mean rate ({unit})"),
                alt.Tooltip("in_flight:Q", format=".3~g", title="requests in flight"),
                alt.Tooltip("cells:Q", title="cells (n)"),
            ],
        )
        .properties(  # A whole number of pixels for each of the 100 parts, or seams show.
            width=700, height=max(60, 26 * len(order)), title=heading(title)
        )
    )


SECTIONS = [
    Section(
        "ledger",
        "Where the time went",
        "All lanes (slots in flight) multiplied by the wall time are 100 %, and every nanosecond belongs to"
        " exactly one part. Only send and receive move payload; the rest is what a faster transfer could"
        " save. Idle means that a slot was empty although work was left; no work means that there was none"
        " left for it. Data that the kernel has accepted but not yet sent counts as send. Compare shares"
        " only between treatments with the same number of lanes: more lanes wait longer for the same link.",
        ledger,
        ("ledger_by_treatment",),
        applies="the run recorded no attempts",
    ),
    Section(
        "heat",
        "Rate over time",
        "Each row is a treatment (or a node, if there are several) at the largest file size. Time runs from"
        " the start of a cell to its end, and each patch is the mean over its replicates. Dark on the left"
        " is a slow start, dark on the right is a tail with few requests left, and a dark column across"
        " rows is a pause of the path or the server. The bytes of a request are spread evenly over its"
        " duration, so a single long request looks smoother than it was.",
        heat_map,
        ("rate_over_time",),
        applies="the run recorded no attempts",
    ),
]
