"""The picture of the comparison: how long, how full the link, and where the time went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt

from collection import Collection
from ledger import PARTS
from report import Act, times_faster
from verdict import Link

#: A part of the picture. Altair leaves much of what builds one untyped.
Panel = Any

WIDTH = 720
#: One colour an act, told apart also without colour vision (Okabe and Ito).
COLOURS = ["#9a9a9a", "#0072b2", "#d55e00"]

#: The ledger's parts as the picture groups them, in order, with their colours.
GROUPS = {
    "payload moving": (("send", "receive"), "#009e73"),
    "waiting for answers": (("wait",), "#e69f00"),
    "listing, connecting": (("start", "connect"), "#cc79a7"),
    "disk": (("disk", "finish"), "#8c6d4f"),
    "idle": (("idle", "failed"), "#cfcfcf"),
    "idle at the end": (("tail",), "#e8e8e8"),
}


def draw(acts: list[Act], collection: Collection, link: Link, stem: Path) -> list[Path]:
    """Write ``stem`` as SVG and PNG and return their paths. Needs no network and no browser."""
    size = f"{collection.files} files, {collection.size_bytes / 2**20:.0f} MiB"
    title = alt.TitleParams(
        # Rounded down: a picture must not claim more than was measured.
        f"{int(times_faster(acts[0], acts[1]) or 1)} times faster, every byte proven",
        subtitle=f"{size}; an emulated link {link}. Haulage: the median of several runs",
        anchor="start",
        fontSize=20,
        subtitleFontSize=13,
        subtitleColor="#555",
        offset=14,
    )
    panels = alt.vconcat(_walls(acts), _throughput(acts, link), _ledgers(acts), spacing=26, title=title)
    picture = (
        panels.resolve_scale(color="independent")
        .configure(font="Helvetica, Arial, sans-serif", background="white", padding=16)
        .configure_view(stroke=None)
        .configure_axis(
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal", titleColor="#555", domain=False
        )
        .configure_legend(labelFontSize=12, titleFontSize=12)
    )
    paths = [stem.with_suffix(".svg"), stem.with_suffix(".png")]
    picture.save(paths[0])
    picture.save(paths[1], scale_factor=2)
    return paths


def _chart(rows: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]  # Altair leaves it untyped


def _heading(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, anchor="start", fontSize=14, offset=8, frame="group")


def _names_axis() -> alt.Axis:
    """Room for the longest name in any font: what draws the picture measures text in one of its own."""
    return alt.Axis(ticks=False, labelLimit=260, labelPadding=6, minExtent=230)


def _names(acts: list[Act]) -> list[str]:
    return [act.name for act in acts]


def _walls(acts: list[Act]) -> Panel:
    rows = [{"act": act.name, "wall_s": act.wall_s, "label": _wall_label(acts[0], act)} for act in acts]
    base = _chart(rows).encode(
        y=alt.Y("act:N", sort=None, title=None, axis=_names_axis()),
        x=alt.X(
            "wall_s:Q",
            title="seconds",
            axis=alt.Axis(tickCount=8),
            scale=alt.Scale(nice=False, domain=[0, acts[0].wall_s * 1.12]),
        ),
        color=alt.Color("act:N", scale=alt.Scale(domain=_names(acts), range=COLOURS), legend=None),
    )
    text = base.mark_text(align="left", dx=6, fontSize=13, fontWeight="bold").encode(text="label:N")
    return (base.mark_bar(height={"band": 0.7}) + text).properties(
        width=WIDTH, height=110, title=_heading("Wall time")
    )


def _wall_label(before: Act, act: Act) -> str:
    times = times_faster(before, act)
    return f"{act.wall_s:.1f} s" + (f", {times:.1f} times faster" if times else "")


def _throughput(acts: list[Act], link: Link) -> Panel:
    """Draw the rate over the time of the quick acts; the slow one goes on far beyond the frame."""
    end = max(act.throughput[-1].end_s for act in acts[1:])
    rows: list[dict[str, Any]] = []
    for act in acts:
        for step in act.throughput:
            if step.begin_s < end:
                rows.append({"act": act.name, "s": step.begin_s, "mbit": step.mbit_per_s})
        last = act.throughput[-1]
        rows.append({"act": act.name, "s": min(end, last.end_s), "mbit": rows[-1]["mbit"]})
    total = link.total / 1e6
    lines = (
        _chart(rows)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X(
                "s:Q",
                title="seconds since the start",
                axis=alt.Axis(tickCount=8),
                scale=alt.Scale(domain=[0, end], nice=False),
            ),
            y=alt.Y("mbit:Q", title="Mbit/s", axis=alt.Axis(tickCount=5)),
            color=alt.Color(
                "act:N",
                scale=alt.Scale(domain=_names(acts), range=COLOURS),
                legend=alt.Legend(
                    title=None, orient="bottom", symbolType="stroke", symbolStrokeWidth=3, columnPadding=28
                ),
            ),
        )
    )
    limit = _chart([{"mbit": total, "text": "the link's limit"}]).encode(y="mbit:Q")
    rule = limit.mark_rule(strokeDash=[6, 4], color="#333")
    # At the left, where the lines have not risen yet.
    text = limit.mark_text(align="left", dx=6, dy=-8, fontSize=12, color="#333").encode(
        text="text:N", x=alt.value(0)
    )
    layers = [lines, rule, text] if link.total != float("inf") else [lines]
    return alt.layer(*layers).properties(
        width=WIDTH, height=170, title=_heading(f"Payload rate in the first {end:.1f} seconds")
    )


def _ledgers(acts: list[Act]) -> Panel:
    rows = [
        {"act": f"{act.name}, {_lanes(act)}", "part": part, "order": order, "share": act.ledger.share(*names)}
        for act in acts
        for order, (part, (names, _)) in enumerate(GROUPS.items())
    ]
    assert {name for names, _ in GROUPS.values() for name in names} == set(PARTS)
    return (
        _chart(rows)
        .mark_bar(height={"band": 0.7})
        .encode(
            y=alt.Y("act:N", sort=None, title=None, axis=_names_axis()),
            x=alt.X(
                "share:Q", title=None, axis=alt.Axis(format="%", tickCount=5), scale=alt.Scale(domain=[0, 1])
            ),
            order="order:Q",
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=list(GROUPS), range=[colour for _, colour in GROUPS.values()]),
                legend=alt.Legend(
                    title=None, orient="bottom", columns=6, symbolType="square", columnPadding=20
                ),
            ),
        )
        .properties(width=WIDTH, height=110, title=_heading("What the connections did with their time"))
    )


def _lanes(act: Act) -> str:
    return "1 connection" if act.ledger.lanes == 1 else f"{act.ledger.lanes} connections"
