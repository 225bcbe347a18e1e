"""The lanes of one cell as SVG: for print and for pages without JavaScript."""

from __future__ import annotations

import numpy as np
import pandas as pd
from markupsafe import escape
from numpy.typing import NDArray

from haulage.lab.report.charts import FONT
from haulage.lab.report.palette import PHASES
from haulage.words.numbers import format_duration

WIDTH, LEFT, TOP = 760, 56, 62
#: Top of the legend, and what a letter takes in a wide font: which one the reader has nobody knows.
LEGEND, LETTER = 23, 7.4
#: Parts of the time axis; each is drawn in the colour of what took most of it.
PARTS = 352
#: At most so many lanes are drawn one by one; a picture of more would be grey.
MOST_LANES = 64
#: Below this share of a part in use it is left empty, below twice that drawn pale.
LEAST_USED = 0.15


def picture(frame: pd.DataFrame, cell: int, began_ns: int, ended_ns: int, title: str) -> str:
    """Return an SVG of the lanes of ``cell`` between two moments; colours are CSS variables."""
    rows = frame[(frame["cell"] == cell) & (frame["lane"] < MOST_LANES)]
    lanes = int(rows["lane"].max()) + 1
    height = max(4, min(18, 320 // lanes))
    spans = _filled(rows, lanes, began_ns, max(ended_ns - began_ns, 1))
    shapes = "".join(_paths(spans, height))
    bottom = TOP + lanes * height
    axis = "".join(_axis(ended_ns - began_ns, bottom))
    numbers = "".join(
        f'<text x="{LEFT - 8}" y="{TOP + lane * height + height / 2 + 4:.0f}" text-anchor="end">{lane}</text>'
        for lane in range(0, lanes, max(1, -(-16 // height)))
    )
    legend = "".join(_legend())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="static lanes-static" role="img" width="{WIDTH}"'
        f' height="{bottom + 40}" viewBox="0 0 {WIDTH} {bottom + 40}" font-size="12"'
        f' font-family="{FONT}" fill="var(--ink)">'
        f"<title>{escape(title)}</title>"
        f'<text y="13" font-weight="bold">{escape(title)}</text>{legend}'
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT}" height="{lanes * height}" fill="var(--paper)"'
        f' stroke="var(--grid)"/>{shapes}<g fill="var(--muted)">{numbers}'
        f'<text x="12" y="{(TOP + bottom) / 2:.0f}" transform="rotate(-90 12 {(TOP + bottom) / 2:.0f})"'
        f' text-anchor="middle">lane</text>{axis}</g></svg>'
    )


def _filled(rows: pd.DataFrame, lanes: int, began_ns: int, wall_ns: int) -> NDArray[np.float64]:
    """Return lane x part x phase: the share of each part that each phase took."""
    scale = PARTS / wall_ns
    place = (rows["began_ns"].to_numpy(np.float64) - began_ns) * scale
    lane = rows["lane"].to_numpy(np.int64)
    filled = np.zeros((lanes, PARTS, len(PHASES)))
    for index, phase in enumerate(PHASES):
        until = place + rows[f"{phase}_ns"].to_numpy(np.float64) * scale
        for row, first, last in zip(lane, place, until, strict=True):
            if last > first:
                _add(filled[row, :, index], first, last)
        place = until
    return filled


def _add(parts: NDArray[np.float64], first: float, last: float) -> None:
    low, high = max(0, int(first)), min(PARTS - 1, int(last))
    if low == high:
        parts[low] += last - first
        return
    parts[low] += low + 1 - first
    parts[low + 1 : high] += 1
    parts[high] += last - high


def _paths(filled: NDArray[np.float64], height: int) -> list[str]:
    used = filled.sum(axis=2)
    most = filled.argmax(axis=2)
    step = (WIDTH - LEFT) / PARTS
    found = []
    for index, (_, colour) in enumerate(PHASES.values()):
        for low, high, opacity in ((LEAST_USED, 2 * LEAST_USED, 0.4), (2 * LEAST_USED, 9e9, 1)):
            which = (most == index) & (used >= low) & (used < high)
            runs = "".join(
                f"M{LEFT + first * step:.1f} {TOP + lane * height + 0.5}h{(last - first) * step:.1f}"
                f"v{height - 1}h{(first - last) * step:.1f}z"
                for lane, line in enumerate(which)
                for first, last in _runs(line)
            )
            if runs:
                found.append(f'<path fill="var(--{colour})" opacity="{opacity}" d="{runs}"/>')
    return found


def _runs(line: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], line, [False])).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def _axis(wall_ns: int, bottom: int) -> list[str]:
    """Return five round moments below the lanes."""
    rough = wall_ns / 5
    power = 10 ** np.floor(np.log10(max(rough, 1)))
    step = next(float(factor * power) for factor in (1, 2, 5, 10) if factor * power >= rough)
    ticks = []
    for index in range(int(wall_ns // step) + 1):
        x = LEFT + (WIDTH - LEFT) * index * step / wall_ns
        anchor = "end" if x > WIDTH - 20 else "middle"
        label = format_duration(index * step) if index else "0"
        ticks.append(
            f'<path d="M{x:.1f} {bottom}v5" stroke="var(--muted)"/>'
            f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="{anchor}">{label}</text>'
        )
    middle = (WIDTH + LEFT) / 2
    return [
        *ticks,
        f'<text x="{middle}" y="{bottom + 36}" text-anchor="middle">time since the cell began</text>',
    ]


def _legend() -> list[str]:
    """Return the marks and labels of the phases, on a second line where the first has no room."""
    marks, x, y = [], LEFT, LEGEND
    for label, colour in PHASES.values():
        wide = 28 + round(LETTER * len(label))
        if x + wide > WIDTH:
            x, y = LEFT, y + 18
        marks.append(
            f'<rect x="{x}" y="{y}" width="11" height="11" fill="var(--{colour})"/>'
            f'<text x="{x + 16}" y="{y + 10}">{escape(label)}</text>'
        )
        x += wide
    return marks
