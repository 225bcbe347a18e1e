"""The chart of the phases of a request."""

from __future__ import annotations

import altair as alt

from haulage.lab.report.charts import (
    WIDTH,
    Chart,
    Rows,
    cases,
    data,
    frame_of,
    row_names,
    scale_of,
    select,
    sizes_in_order,
    treatments,
)
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import Section
from haulage.words.numbers import digits

#: Columns of ``phase_stack`` in the order of time, with labels and colours.
PHASES = {
    "queue_ns": ("queue", "pale"),
    "ready_ns": ("disk and checksum", "brown"),
    "connect_ns": ("connect", "pink"),
    "send_ns": ("send", "blue"),
    "wait_ns": ("wait for the answer", "amber"),
    "receive_ns": ("receive", "green"),
    "commit_ns": ("commit or write", "violet"),
}


def phase_stack(rows: Rows) -> Chart:
    """Draw the median phases of one request, a row for each treatment and kind of request."""
    frame = frame_of(rows)
    frame = frame.assign(group=cases(frame))
    names = treatments(frame)
    long = frame.melt(["group", "treatment", "api", "n"], list(PHASES), "phase", "took")
    long = long[long["took"] > 0]
    divisor, unit = scale_of(frame["whole_ns"], "ns")
    long["took"] /= divisor
    long["place"] = [list(PHASES).index(phase) for phase in long["phase"]]
    long["phase"] = [PHASES[phase][0] for phase in long["phase"]]
    long["row"] = long["treatment"] + " · " + long["api"]
    options = sizes_in_order(frame)
    choice = select("files", options[-1], options, "files ")
    order = [f"{name} · {api}" for name in names for api in sorted(frame["api"].unique())]
    shown = long[long["group"] == options[-1]]["row"].nunique()
    row = row_names("row", order)
    whole = frame.assign(row=frame["treatment"] + " · " + frame["api"])
    ends = long.groupby(["group", "row"])["took"].sum()
    whole["words"] = [digits(took / divisor) for took in whole["whole_ns"]]
    whole["took"] = [ends.get(key, 0.0) for key in zip(whole["group"], whole["row"], strict=True)]
    words = (
        data(whole[["group", "row", "took", "words"]])
        .transform_filter("datum.group == files")
        .mark_text(align="left", dx=5, fontSize=11)
        .encode(y=row, x=alt.X("took:Q"), text="words:N")
    )
    labels = [label for label, _ in PHASES.values()]
    bars = (
        data(long)
        .transform_filter("datum.group == files")
        .mark_bar(height={"band": 0.74})
        .encode(
            y=row,
            x=alt.X(
                "took:Q", stack="zero", title=f"median of a request ({unit}); at the end of a bar: the whole"
            ),
            order="place:Q",
            color=alt.Color(
                "phase:N",
                scale=alt.Scale(domain=labels, range=[LIGHT[name] for _, name in PHASES.values()]),
                legend=alt.Legend(title=None, orient="bottom", columns=7),
            ),
            tooltip=[
                alt.Tooltip("row:N", title="request"),
                alt.Tooltip("phase:N"),
                alt.Tooltip("took:Q", format=".4~g", title=f"median ({unit})"),
                alt.Tooltip("n:Q", title="requests (n)"),
            ],
        )
    )
    # The chart keeps its height when another size is chosen, and its rows share it.
    return alt.layer(bars, words).add_params(choice).properties(width=WIDTH - 260, height=max(80, 24 * shown))


SECTIONS = [
    Section(
        "phases",
        "Phases of a request",
        "Medians of single successful requests, phase by phase. A median of sums is not the sum of medians,"
        " so the length of a bar is close to the median request but not equal to it. For uploads, waiting"
        " includes the time in which the kernel still sends what it has accepted; the ledger separates the"
        " two.",
        phase_stack,
        ("phase_stack",),
        applies="the run recorded no attempts",
    ),
]
