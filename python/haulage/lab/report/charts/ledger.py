"""The lost-time ledger: what the slots spent their time on."""

from __future__ import annotations

import altair as alt
import pandas as pd

from haulage.lab.analysis.model import Result
from haulage.lab.report.charts.base import (
    NO_LIMIT,
    TIMES,
    WIDTH,
    Chart,
    data,
    frame_of,
    heading,
    treatments,
)
from haulage.lab.report.palette import LEDGER, LIGHT
from haulage.words.numbers import format_duration, round_size


def ledger(rows: Result | pd.DataFrame) -> Chart:
    """Draw one treatment as a waterfall and all of them as bars beneath.

    Args:
        rows: Of ``ledger_by_treatment``: treatment, direction, size_bytes, category, share, spent_ns.
    """
    frame = frame_of(rows).copy()
    frame["group"] = [
        f"{direction}, {round_size(size) if size > 0 else 'mixed sizes'}"
        for direction, size in zip(frame["direction"], frame["size_bytes"].fillna(0), strict=True)
    ]
    frame["one"] = frame["treatment"] + " · " + frame["group"]
    names = treatments(frame)
    # The largest files are where the link, and not the way to it, can be the limit.
    frame = frame.sort_values("size_bytes", kind="stable")
    largest = frame[frame["group"] == frame["group"].iloc[-1]]
    adaptive = largest[largest["treatment"].str.startswith("adaptive")]
    shown = alt.param(
        name="shown",
        value=largest["group"].iloc[-1],
        bind=alt.binding_select(options=list(dict.fromkeys(frame["group"])), name="bars: "),
    )
    ordered = frame.assign(rank=[names.index(name) for name in frame["treatment"]])
    chosen = alt.param(
        name="chosen",
        value=(largest if adaptive.empty else adaptive)["one"].iloc[0],
        bind=alt.binding_select(
            options=list(dict.fromkeys(ordered.sort_values(["rank", "size_bytes"])["one"])),
            name="part by part: ",
        ),
    )
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
            y=alt.Y(
                "treatment:N",
                sort=names,
                title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=NO_LIMIT),
            ),
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
