"""Charts that every run has: requests that failed, and the load of the machine."""

from __future__ import annotations

from typing import Any

import altair as alt

from haulage.lab.report.charts import (
    NO_LIMIT,
    WIDTH,
    Chart,
    NotShownError,
    Rows,
    data,
    frame_of,
    heading,
    row_names,
    treatments,
)
from haulage.lab.report.palette import LIGHT, distinct
from haulage.lab.report.section import Section


def errors(rows: Rows) -> Chart:
    """Draw the attempts that did not end well, by treatment and how they ended, and what they cost.

    Raises:
        NotShownError: Every attempt ended well.
    """
    frame = frame_of(rows)
    bad = frame[frame["fate"] != "ok"].copy()
    if bad.empty:
        raise NotShownError(f"all {int(frame['attempts'].sum()):,} attempts ended well")
    names = treatments(bad)
    bad["how"] = [
        " ".join(
            str(part) for part in (row["fate"], _status(row["status"]), row["cause"]) if part and part == part
        )
        for row in bad.to_dict("records")
    ]
    shown = (
        bad.groupby(["treatment", "how"])
        .agg(attempts=("attempts", "sum"), lost=("lost_ns", "sum"), waited=("waited_ns", "sum"))
        .reset_index()
    )
    all_of = frame.groupby("treatment")["attempts"].sum()
    shown["of"] = [int(all_of[name]) for name in shown["treatment"]]
    shown["share"] = shown["attempts"] / shown["of"]
    shown["lost_s"], shown["waited_s"] = shown.pop("lost") / 1e9, shown.pop("waited") / 1e9
    kinds = list(shown.groupby("how")["attempts"].sum().sort_values(ascending=False).index)
    named = [LIGHT[name] for name in ("red", "orange", "amber", "violet", "pink", "brown", "grey")]
    colours = [*named, *(one for one in distinct(len(kinds) + len(named)) if one not in named)]
    row = row_names("treatment", names)
    colour = alt.Color(
        "how:N",
        scale=alt.Scale(domain=kinds, range=colours[: len(kinds)]),
        legend=alt.Legend(title=None, orient="bottom", columns=2, labelLimit=NO_LIMIT),
    )
    tooltip = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("how:N", title="ended"),
        alt.Tooltip("attempts:Q", format=","),
        alt.Tooltip("of:Q", format=",", title="of attempts (n)"),
        alt.Tooltip("lost_s:Q", format=".3~g", title="lane time lost (s)"),
        alt.Tooltip("waited_s:Q", format=".3~g", title="waited before the next (s)"),
    ]
    base = data(shown)
    height = 24 * max(2, len(names))

    def bars(field: str, title: str, axis: alt.Axis | None, **more: Any) -> Chart:
        x = alt.X(f"{field}:Q", stack="zero", title=None, axis=alt.Axis(tickCount=4, **more))
        vertical = row if axis is None else alt.Y("treatment:N", sort=names, axis=None)
        return (
            base.mark_bar(height={"band": 0.74})
            .encode(x=x, y=vertical, color=colour, tooltip=tooltip)
            .properties(width=(WIDTH - 200) // 2, height=height, title=heading(title))
        )

    return alt.hconcat(
        bars("share", "Share of attempts", None, format=".1~%"),
        bars("lost_s", "Lane time lost (s)", alt.Axis()),
        spacing=26,
    )


def _status(status: object) -> str:
    return f"{status:.0f}" if isinstance(status, (int, float)) and status == status and status else ""


def load(rows: Rows) -> Chart:
    """Draw the processor time of this machine while each treatment ran."""
    frame = frame_of(rows)
    names = treatments(frame)
    kinds = {"user": "blue", "system": "violet", "steal": "red"}
    means = frame.groupby("treatment")[[f"cpu_{kind}_share" for kind in kinds]].mean().reset_index()
    long = means.melt("treatment", var_name="kind", value_name="share")
    long["kind"] = long["kind"].str.removeprefix("cpu_").str.removesuffix("_share")
    samples = frame.groupby("treatment")["samples"].sum()
    long["samples"] = [int(samples[name]) for name in long["treatment"]]
    return (
        data(long)
        .mark_bar(height={"band": 0.7})
        .encode(
            y=row_names("treatment", names),
            x=alt.X(
                "share:Q",
                stack="zero",
                title="mean share of all processors",
                axis=alt.Axis(format="%", tickCount=5),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(kinds), range=[LIGHT[name] for name in kinds.values()]),
                legend=alt.Legend(title=None, orient="bottom"),
            ),
            tooltip=[
                alt.Tooltip("treatment:N"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("samples:Q", title="samples (n)"),
            ],
        )
        .properties(width=WIDTH - 200, height=24 * max(2, len(names)))
    )


SECTIONS = [
    Section(
        "errors",
        "Errors and throttles",
        "Failed requests as a share of all requests of the treatment, and the lane time spent on them."
        " Requests that lost against a duplicate count as cancelled, which is not an error. The wait before"
        " a retry is in the rows, not in the bars.",
        errors,
        ("errors",),
        applies="the run recorded no attempts",
    ),
    Section(
        "machine",
        "Load of this machine",
        "Mean over the samples taken while cells ran. Close to 100 % the machine is the limit, and the run"
        " says nothing about the path. Steal is time taken by other guests of the same host. The emulated"
        " endpoint runs on this machine too.",
        load,
        ("host_load",),
        applies="no samples of the machine were taken",
    ),
]
