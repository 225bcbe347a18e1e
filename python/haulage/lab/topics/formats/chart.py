"""The chart of rows of a table by form, answer and way: time with its interval, and payload."""

from __future__ import annotations

import altair as alt
import pandas as pd

from haulage.lab.report.charts import WIDTH, Chart, Rows, category_colours, data, frame_of, heading
from haulage.lab.report.section import Section

_FORMS = ["atom", "json-full", "json-minimal", "json-none", "arrow"]


def formats(rows: Rows) -> Chart:
    """Draw the time of each combination at each place, and below it the payload, the same at all of them."""
    frame = frame_of(rows).sort_values("node_number", kind="stable").copy()
    for name in ("wall", "low", "high"):
        frame[f"{name}_ms"] = frame[f"{name}_ns"] / 1e6
    frame["payload_kib"] = frame["payload_bytes"] / 1024
    frame["how"] = frame["answers"] + ", " + frame["way"]
    ways = ("paged, direct", "gathered, direct", "paged, proxy", "gathered, proxy")
    hows = [how for how in ways if (frame["how"] == how).any()]
    forms = [form for form in _FORMS if (frame["format"] == form).any()]
    times = [
        _times(part, hows, forms, f"{part['node'].iloc[0] or 'here'}: time for all rows")
        for _, part in frame.groupby("node_number", sort=True)
    ]
    first = frame[frame["node_number"] == frame["node_number"].min()]
    return alt.vconcat(*times, _payload(first, hows, forms), spacing=26)


def _axes(hows: list[str], forms: list[str]) -> tuple[alt.Y, alt.YOffset, alt.Color]:
    return (
        alt.Y("how:N", sort=hows, title=None),
        alt.YOffset("format:N", sort=forms, scale=alt.Scale(domain=forms)),
        alt.Color("format:N", sort=forms, **category_colours(forms)),
    )


def _times(frame: pd.DataFrame, hows: list[str], forms: list[str], title: str) -> Chart:
    columns = ["how", "format", "wall_ms", "low_ms", "high_ms", "n", "requests", "payload_kib"]
    base = data(frame[columns])
    y, offset, colour = _axes(hows, forms)
    x = alt.X("wall_ms:Q", title="time (ms)", scale=alt.Scale(zero=True))
    tooltip = [
        alt.Tooltip("format:N"),
        alt.Tooltip("how:N"),
        alt.Tooltip("wall_ms:Q", format=".4~g", title="median (ms)"),
        alt.Tooltip("low_ms:Q", format=".4~g", title="from (ms)"),
        alt.Tooltip("high_ms:Q", format=".4~g", title="to (ms)"),
        alt.Tooltip("payload_kib:Q", format=".4~g", title="payload (KiB)"),
        alt.Tooltip("requests:Q"),
        alt.Tooltip("n:Q", title="runs (n)"),
    ]
    return alt.layer(
        base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low_ms:Q", title="time (ms)"), x2="high_ms:Q", y=y, yOffset=offset, color=colour
        ),
        base.mark_point(filled=True, size=56, opacity=1).encode(
            x=x, y=y, yOffset=offset, color=colour, tooltip=tooltip
        ),
    ).properties(width=WIDTH - 150, height=alt.Step(14), title=heading(title))


def _payload(frame: pd.DataFrame, hows: list[str], forms: list[str]) -> Chart:
    y, offset, colour = _axes(hows, forms)
    return (
        data(frame[["how", "format", "payload_kib"]])
        .mark_bar()
        .encode(
            x=alt.X("payload_kib:Q", title="payload (KiB)"),
            y=y,
            yOffset=offset,
            color=colour,
            tooltip=[
                alt.Tooltip("format:N"),
                alt.Tooltip("how:N"),
                alt.Tooltip("payload_kib:Q", format=".4~g"),
            ],
        )
        .properties(width=WIDTH - 150, height=alt.Step(14), title=heading("Payload of all rows"))
    )


SECTIONS = [
    Section(
        "formats",
        "Rows of a table",
        "Each point is the median time to read all rows of the table, and the line through it is its"
        " interval; if you see no line, it is shorter than the point. Pages are read one after another,"
        " each with a round trip, so they suffer most from a long one. The bars show the bodies of all"
        " responses, uncompressed. Arrow that is collected from the store itself is an export, so its bytes"
        " are those of the JSON that it requested.",
        formats,
        ("format_times",),
        also=("format_ratios",),
        applies="the plan reads no table",
        silent=True,
    ),
]
