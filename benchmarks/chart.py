"""Draws the campaign: `python benchmarks/chart.py PICTURE.svg FILE.jsonl...`.

It needs what `make demo` installs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from typing import Any

import altair as alt

from cases import Case
from figures import BASE, Groups, good
from links import parse
from table import in_order, read

#: A part of the picture. Altair leaves much of what builds one untyped.
Panel = Any

#: Of a panel; two stand beside each other in the 800 pixels that a README gives.
WIDTH, BAR = 280, 17
OURS, THEIRS = "#0072b2", "#b5b5b5"
SHOWN = {
    "haul": "haul",
    "rclone": "rclone",
    "azcopy": "AzCopy",
    "obstore": "obstore",
    "azure": "azure-storage-blob",
}


def main() -> None:
    """Draw the files' rows into the picture named first, an SVG or a PNG."""
    picture, *files = map(Path, sys.argv[1:])
    heads, groups, quick = read(files)
    draw(groups, f"{heads[-1]['cores']} cores of {heads[-1]['cpu']}", quick, picture)
    print(f"picture: {picture}")


def draw(groups: Groups, machine: str, quick: bool, picture: Path) -> None:
    """Write the picture, in the format its name says. Needs no network and no browser."""
    panels = [_panel(case, groups) for case in in_order(groups) if _compares(case, groups)]
    title = alt.TitleParams(
        "The same work, the same server: seconds from start to end" + (" (a quick look)" if quick else ""),
        subtitle=[
            f"Bar: median; line: least to largest; dashes: what the link allows. {machine}, which client",
            "and server share. Links are emulated. Tools take their defaults (see benchmarks/README.md).",
        ],
        anchor="start",
        fontSize=17,
        subtitleFontSize=12,
        subtitleColor="#555",
        offset=12,
    )
    chart = (
        alt.concat(*panels, columns=2, spacing=18, title=title)
        # White in the dark as well: a picture cannot know what it lies on.
        .configure(font="Helvetica, Arial, sans-serif", background="white", padding=14)
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=11, domain=False, gridColor="#eee")
    )
    chart.save(picture)


def _compares(case: Case, groups: Groups) -> bool:
    arms = [arm for arm in case.arms if good(groups.get((case.name, arm), []))]
    return BASE in arms and len(arms) > 1 and case.does != "same"


def _panel(case: Case, groups: Groups) -> Panel:
    rows = [row for arm in case.arms if (row := _row(case, arm, groups))]
    bits = groups[case.name, BASE][0]["task"]["size_bytes"] * 8
    ideal = parse(case.link).ideal_s(bits) if case.link != "none" else 0.0
    end = max([row["largest"] for row in rows] + [ideal])
    base = _chart(rows).encode(
        y=alt.Y("arm:N", sort=None, title=None, axis=alt.Axis(ticks=False, labelLimit=130)),
        x=alt.X("wall:Q", title=None, axis=alt.Axis(tickCount=5), scale=alt.Scale(domain=[0, end * 1.22])),
    )
    bars = base.mark_bar(height={"band": 0.72}).encode(
        color=alt.Color(
            "whose:N", legend=None, scale=alt.Scale(domain=["ours", "theirs"], range=[OURS, THEIRS])
        )
    )
    ranges = base.mark_rule(color="#333", strokeWidth=1.5).encode(x="least:Q", x2="largest:Q")
    text = base.mark_text(align="left", dx=5, fontSize=11).encode(x="largest:Q", text="label:N")
    layers = [bars, ranges, text]
    if ideal:
        rule = _chart([{"ideal": ideal}]).mark_rule(strokeDash=[4, 3], color="#d55e00", strokeWidth=1.5)
        layers.append(rule.encode(x="ideal:Q"))
    heading = alt.TitleParams(case.title, anchor="start", fontSize=13, offset=6, frame="group")
    return alt.layer(*layers).properties(width=WIDTH, height=BAR * len(rows), title=heading)


def _row(case: Case, arm: str, groups: Groups) -> dict[str, Any] | None:
    rows = good(groups.get((case.name, arm), []))
    if not rows:
        return None
    walls = [row["wall_s"] for row in rows]
    wall = median(walls)
    return {
        "arm": SHOWN[arm],
        "whose": "ours" if arm == BASE else "theirs",
        "wall": wall,
        "least": min(walls),
        "largest": max(walls),
        "label": f"{wall:.2f} s" if wall < 10 else f"{wall:.1f} s",
    }


def _chart(rows: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]  # Altair leaves it untyped


if __name__ == "__main__":
    main()
