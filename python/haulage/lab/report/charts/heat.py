"""The rate over time, as colours: where bytes moved and where they did not."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from haulage.lab.analysis.model import Result
from haulage.lab.report.charts.base import (
    NO_LIMIT,
    Chart,
    data,
    frame_of,
    heading,
    scale_of,
    treatments,
)
from haulage.words.numbers import round_size


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


def heat_map(rows: Result | pd.DataFrame) -> Chart:
    """Draw the rate over the time of a cell, a row for each node, else for each treatment.

    Args:
        rows: Of ``rate_over_time``: direction, treatment, node, size_bytes, cell, part, rate_bits_per_second.
    """
    frame = frame_of(rows)
    nodes = frame["node"].dropna().unique()
    largest = frame.groupby("direction")["size_bytes"].transform("max")
    # Where sizes are mixed there is no largest.
    frame = frame[(frame["size_bytes"] == largest) | largest.isna()]
    names = treatments(frame)
    rows_of = ["direction", "node", "treatment"] if len(nodes) > 1 else ["direction", "treatment"]
    means = frame.groupby([*rows_of, "part"], dropna=False, observed=True)
    shown = means.agg(
        rate=("rate_bits_per_second", "mean"), in_flight=("in_flight", "mean"), cells=("cell", "nunique")
    ).reset_index()
    divisor, unit = scale_of(shown["rate"], "bit/s")
    shown["rate"] /= divisor
    # Where the treatment's name says it all, it stands alone.
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
            y=alt.Y(
                "row:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=NO_LIMIT)
            ),
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
