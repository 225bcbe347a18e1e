"""What the charts share: looks, axes, labels with units."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import pandas as pd
from pandas.api.types import infer_dtype, is_extension_array_dtype, is_numeric_dtype

from haulage.lab.analysis.model import Result
from haulage.lab.report.palette import LIGHT, distinct, steps
from haulage.words.numbers import round_size

#: A chart, or several in one picture. Altair leaves much of what builds one untyped.
Chart: TypeAlias = Any
Rows: TypeAlias = Result | pd.DataFrame

#: Between a factor and what it multiplies.
TIMES = "\u00d7"
WIDTH = 920
HEIGHT = 300
#: vl-convert brings the first one along, so texts are measured alike on every machine.
FONT = "'Liberation Sans', Arial, Helvetica, sans-serif"
#: Of the length of a label, to Vega.
NO_LIMIT = 0
#: The largest number of rows that goes into a chart; a browser draws that many marks in about a second.
MOST_MARKS = 5000

#: Altair's own limit of rows. Ours are counted, so there may be more.
ALTAIRS_LIMIT = 5000
#: Columns of text, even if all their values are missing.
TEXTS = ("node", "cause", "note", "chosen", "object", "api")
_NUMBERS = ("empty", "floating", "integer", "mixed-integer-float")

_SCALES = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "ns": ((60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
}


class NotShownError(Exception):
    """A chart has nothing to show; the text says why."""


def frame_of(rows: Rows) -> pd.DataFrame:
    """Return the rows of a result, or the frame itself, with plain numbers: what is missing is ``nan``."""
    frame = rows.frame if isinstance(rows, Result) else rows
    # Whole numbers with gaps come in a type of pandas' own, columns of numbers without any value as objects.
    nullable = [
        name
        for name, kind in frame.dtypes.items()
        if (is_extension_array_dtype(kind) and is_numeric_dtype(kind))
        or (kind == "object" and name not in TEXTS and infer_dtype(frame[name], skipna=True) in _NUMBERS)
    ]
    return frame.assign(**{str(name): frame[name].astype("Float64").astype("float64") for name in nullable})


def scale_of(values: Iterable[float], unit: str) -> tuple[float, str]:
    """Return the divisor and the unit in which the middle of ``values`` reads well.

    >>> scale_of([2.0e7, 9.0e8], "bit/s")
    (1000000.0, 'Mbit/s')
    """
    numbers = pd.Series(list(values), dtype="float64").dropna()
    high = float(numbers.max()) if len(numbers) else 0.0
    for divisor, name in _SCALES[unit]:
        # 1.5 so that an axis from 0 to 1.2 Gbit/s is not labelled 0.2, 0.4, 0.6.
        if high >= 1.5 * divisor:
            return divisor, name
    return _SCALES[unit][-1]


def data(frame: pd.DataFrame) -> Chart:
    """Begin a chart over rows; what is missing becomes null."""
    limit = alt.data_transformers.options.get("max_rows", ALTAIRS_LIMIT)
    if limit is None or len(frame) <= limit:
        # As a frame, not as values: Altair copies values with every layer, and frames only by name.
        return alt.Chart(frame.reset_index(drop=True))
    rows = json.loads(frame.to_json(orient="records", double_precision=12))
    return alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]  # Altair leaves it untyped


def sizes(column: str, levels: Iterable[float], title: str, **more: Any) -> alt.X:
    """Return a logarithmic axis of sizes with a tick at each level."""
    return alt.X(
        f"{column}:Q",
        title=title,
        scale=alt.Scale(type="log", nice=False, padding=18),
        axis=alt.Axis(
            values=sorted({float(level) for level in levels}), labelExpr=_size_labels(levels), **more
        ),
    )


def _size_labels(levels: Iterable[float]) -> str:
    names = {str(int(level)): round_size(level) for level in levels}
    return f"({json.dumps(names)})[toString(round(datum.value))] || ''"


def sizes_in_order(frame: pd.DataFrame) -> list[str]:
    """Return the distinct values of the column ``group``, by size, small to large."""
    return [str(group) for group in dict.fromkeys(frame.sort_values("size_bytes")["group"])]


def category_colours(names: Sequence[str], legend: Any = ..., title: str | None = None) -> Mapping[str, Any]:
    """Return the scale and legend for names that have no order."""
    return {
        "scale": alt.Scale(domain=list(names), range=distinct(len(names))),
        **_legend(names, legend, title),
    }


def step_colours(names: Sequence[str], legend: Any = ..., title: str | None = None) -> Mapping[str, Any]:
    """Return the scale and legend for levels of a quantity, small to large."""
    return {"scale": alt.Scale(domain=list(names), range=steps(len(names))), **_legend(names, legend, title)}


def _legend(names: Sequence[str], legend: Any, title: str | None) -> dict[str, Any]:
    if legend is not ...:
        return {"legend": legend}
    return {
        "legend": alt.Legend(
            title=title,
            orient="bottom",
            columns=legend_columns(names),
            labelLimit=NO_LIMIT,
            symbolLimit=0,
            symbolOpacity=1,
        )
    }


def legend_columns(names: Sequence[str]) -> int:
    """Return in how many columns whole labels fit beneath a chart: cut short they can become alike."""
    longest = max((len(name) for name in names), default=1)
    return max(1, min(6, WIDTH // (36 + 7 * longest)))


def treatments(frame: pd.DataFrame) -> list[str]:
    """Return the names of treatments in a steady order: baselines, the others by number, adaptive."""

    def place(name: str) -> tuple[int, list[tuple[int, float, str]]]:
        rank = 0 if name.startswith("baseline") else 2 if name.startswith("adaptive") else 1
        return rank, [_natural(word) for word in name.replace("x", " x ").split()]

    return sorted({str(name) for name in frame["treatment"].dropna()}, key=place)


def _natural(word: str) -> tuple[int, float, str]:
    digits = word.rstrip("KMGiB")
    if digits and digits.replace(".", "", 1).isdigit():
        power = {"K": 1, "M": 2, "G": 3}.get(word[len(digits) : len(digits) + 1], 0)
        return 0, float(digits) * 1024**power, ""
    return 1, 0.0, word


def limited(frame: pd.DataFrame, most: int = MOST_MARKS) -> pd.DataFrame:
    """Return at most ``most`` rows, evenly taken, the first and the last among them."""
    if len(frame) <= most:
        return frame
    step = (len(frame) - 1) / (most - 1)
    return frame.iloc[[round(index * step) for index in range(most)]]


def heading(text: str) -> alt.TitleParams:
    """Return the title of one part of a picture."""
    return alt.TitleParams(text, anchor="start", fontSize=13, offset=8, frame="group")


def dressed(chart: Chart) -> Chart:
    """Give a finished chart the looks of the report."""
    # All at once: each of Altair's methods for it copies the whole chart.
    finished = chart.copy(deep=False)
    finished.config = alt.Config(
        font=FONT,
        background=LIGHT["paper"],
        padding={"left": 4, "right": 12, "top": 6, "bottom": 4},
        view=alt.ViewConfig(stroke=None),
        title=alt.TitleConfig(color=LIGHT["ink"], fontWeight="bold"),
        text=alt.MarkConfig(color=LIGHT["ink"], font=FONT),
        axis=alt.AxisConfig(
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelColor=LIGHT["muted"],
            titleColor=LIGHT["ink"],
            gridColor=LIGHT["grid"],
            domainColor=LIGHT["pale"],
            tickColor=LIGHT["pale"],
            titlePadding=8,
        ),
        legend=alt.LegendConfig(
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelColor=LIGHT["ink"],
            titleColor=LIGHT["ink"],
        ),
        header=alt.HeaderConfig(
            labelColor=LIGHT["ink"], titleColor=LIGHT["ink"], labelFontSize=12, labelFontWeight="bold"
        ),
    )
    return finished


def cases(frame: pd.DataFrame) -> list[str]:
    """Return for each row its files in words: the size, and the direction where there are two."""
    several = frame["direction"].nunique() > 1
    sizes_ = frame["size_bytes"].fillna(0)
    # There are few sizes and up to a hundred thousand rows.
    names = {size: round_size(size) if size > 0 else "mixed sizes" for size in sizes_.unique()}
    words = sizes_.map(names).astype("object")
    return list(frame["direction"].astype("object") + ", " + words) if several else list(words)


def row_names(column: str, order: Sequence[str]) -> alt.Y:
    """Return the axis of a chart that has a row for each name."""
    look = alt.Axis(ticks=False, domain=False, labelLimit=NO_LIMIT)
    return alt.Y(f"{column}:N", sort=order, title=None, axis=look)


def select(name: str, first: str, options: Sequence[str], label: str) -> alt.Parameter:
    """Return a list to choose from, whose choice a filter finds by its name."""
    return alt.param(name=name, value=first, bind=alt.binding_select(options=list(options), name=label))


def beside(pictures: Sequence[Chart]) -> Chart:
    """Return two pictures side by side, more of them one below the other."""
    return alt.hconcat(*pictures, spacing=30) if len(pictures) < 3 else alt.vconcat(*pictures, spacing=24)


def log_ticks(values: Iterable[float], unit: str = "") -> alt.Axis:
    """Return a logarithmic axis with at most eight round ticks.

    >>> log_ticks([1.2, 400.0]).values
    [1.0, 3.0, 10.0, 30.0, 100.0, 300.0]
    """
    found = [float(value) for value in values if value > 0]
    low, high = (min(found), max(found)) if found else (1.0, 10.0)
    for factors in (
        (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 8),
        (1, 1.5, 2, 3, 5, 7),
        (1, 2, 5),
        (1, 3),
        (1,),
    ):
        ticks = [
            float(f"{factor * 10.0**power:.3g}")
            for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
            for factor in factors
        ]
        inside = [tick for tick in ticks if low / 2 < tick < high * 2]
        # One beyond either end, so that the ends are not left without a number.
        below = [tick for tick in inside if tick <= low][-1:]
        above = [tick for tick in inside if tick >= high][:1]
        ticks = [*below, *(tick for tick in inside if low < tick < high), *above]
        if len(ticks) <= 8:
            break
    label = f"format(datum.value, '~r') + '{unit}'" if unit else "format(datum.value, '~r')"
    return alt.Axis(values=ticks, labelExpr=label)


def ratio_ticks(reach: float) -> list[float]:
    """Return ticks around 1, as far down as up."""
    ladder = [(0.9, 1.1), (0.8, 1.25), (0.67, 1.5), (0.5, 2), (0.2, 5), (0.1, 10), (0.05, 20), (0.01, 100)]
    near = [pair for pair in ladder if pair[1] <= reach]
    if len(near) > 4:
        near = [pair for pair in near if pair[1] >= 2]
    return sorted([1.0, *(float(tick) for pair in near for tick in pair)])


def along_the_cell(unit: str, *, legend: int) -> dict[str, Any]:
    """Return the encodings of patches along the time of a cell, coloured by their rate.

    Args:
        unit: Of the rates.
        legend: Its length in pixels.
    """
    return {
        "x": alt.X(
            "part:Q",
            title="share of the cell's time (%)",
            scale=alt.Scale(domain=[0, 100], nice=False),
            axis=alt.Axis(tickCount=5),
        ),
        "x2": "until:Q",
        "color": alt.Color(
            "rate:Q",
            title=unit,
            scale=alt.Scale(scheme="viridis", domainMin=0),
            legend=alt.Legend(orient="right", gradientLength=legend),
        ),
    }
