"""Charts of many nodes together: the sum and its models, and the share of linear."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from haulage.lab.analysis.cards import number
from haulage.lab.analysis.statistics import scaling as law
from haulage.lab.report.charts import (
    NO_LIMIT,
    WIDTH,
    Chart,
    Rows,
    beside,
    category_colours,
    data,
    frame_of,
    heading,
    scale_of,
)
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import section_of_nodes
from haulage.lab.topics.scaling.rows import ALL_ACTIVE, CURVE, RATES, UNTIL_LAST

#: A model far above what was measured would flatten everything else.
_ABOVE = 1.35


def panels(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows of each direction, size of node and way to move, with its name."""
    return [
        (", ".join(str(value) for value in values if not pd.isna(value)), part)
        for values, part in frame.groupby(["direction", "node_size", "arm"], dropna=False, sort=True)
    ]


def _width(panels: int) -> int:
    return (WIDTH - 150) // 2 if panels > 1 else WIDTH - 200


def _nodes_axis(most: float) -> alt.X:
    ticks = [count for count in (1, 2, 3, 4, 6, 8, 12, 16, 20, 32, 48, 64, 100, 200) if count <= most]
    return alt.X(
        "node_count:Q",
        title="nodes",
        scale=alt.Scale(domain=[0.5, float(most) + 0.5], nice=False),
        axis=alt.Axis(values=ticks),
    )


def totals(cells: Rows, fits: Rows | None) -> Chart:
    """Draw what all nodes moved together, and the four models of it."""
    frame = frame_of(cells)
    frame = frame[~frame["is_again"].astype(bool)]
    rings = pd.concat(frame.assign(rate=frame[column], which=which) for which, column in RATES.items())
    rings["state"] = [
        "whole" if missing == 0 and outcome == "ok" else "a node is missing or a file failed"
        for missing, outcome in zip(rings["missing"], rings["outcome"], strict=True)
    ]
    divisor, unit = scale_of(rings["rate"].dropna(), "bit/s")
    rings["rate"] /= divisor
    lines = pd.DataFrame()
    if fits is not None:
        chosen = frame_of(fits)
        lines = curves(chosen[chosen["rate"] == ALL_ACTIVE])
        lines["rate"] = lines["rate_bits_per_second"] / divisor
    both = panels(rings)
    return beside([_total(part, lines, unit, words, _width(len(both))) for words, part in both])


def _total(rings: pd.DataFrame, lines: pd.DataFrame, unit: str, title: str, width: int) -> Chart:
    most = float(rings["node_count"].max())
    top = float(rings["rate"].max()) * _ABOVE
    x = _nodes_axis(most)
    y = alt.Y("rate:Q", title=f"all together ({unit})", scale=alt.Scale(domain=[0, top], nice=False))
    layers = []
    names = ["linear", "capped", "Amdahl", "USL"]
    legend = alt.Legend(title="model", orient="bottom", columns=4, labelLimit=NO_LIMIT, symbolLimit=0)
    if len(lines):
        first = rings.iloc[0]
        own = lines[(lines["direction"] == first["direction"]) & (lines["arm"] == first["arm"])]
        own = own[own["node_size"].fillna("") == (first["node_size"] or "")]
        own = own[own["rate"] <= top]
        columns = ["node_count", "rate", "model", "is_best"]
        colour = alt.Color("model:N", **category_colours(names, legend))
        for best in (False, True):
            shown = own[own["is_best"].astype(bool) == best][columns]
            if len(shown):
                layers.append(
                    data(shown)
                    .mark_line(
                        strokeWidth=3.5 if best else 1.5, strokeDash=[1, 0] if best else [5, 4], clip=True
                    )
                    .encode(x=x, y=y, color=colour, detail="model:N")
                )
    columns = ["node_count", "rate", "which", "replicate", "cell", "state", "missing_names"]
    tooltip = [
        alt.Tooltip("node_count:Q", title="nodes"),
        alt.Tooltip("rate:Q", format=".4~g", title=f"rate ({unit})"),
        alt.Tooltip("which:N", title="counted"),
        alt.Tooltip("replicate:Q"),
        alt.Tooltip("cell:Q"),
        alt.Tooltip("state:N"),
        alt.Tooltip("missing_names:N", title="missing"),
    ]
    shapes = alt.Shape(
        "which:N",
        scale=alt.Scale(domain=[ALL_ACTIVE, UNTIL_LAST], range=["circle", "triangle-down"]),
        legend=alt.Legend(title="counted", orient="bottom", columns=2, labelLimit=NO_LIMIT, symbolOpacity=1),
    )
    layers.append(
        data(rings[columns])
        .mark_point(size=44, strokeWidth=1.4, color=LIGHT["ink"], clip=True)
        .encode(x=x, y=y, shape=shapes, tooltip=tooltip)
    )
    broken = rings[rings["state"] != "whole"]
    if len(broken):
        layers.append(
            data(broken[columns])
            .mark_point(size=190, strokeWidth=2, color=LIGHT["red"], shape="cross", clip=True)
            .encode(x=x, y=y, tooltip=tooltip)
        )
    return alt.layer(*layers).properties(width=width, height=300, title=heading(title))


def shares(rows: Rows) -> Chart:
    """Draw the share of linear by number of nodes."""
    frame = frame_of(rows).copy()
    for name in ("share_of_linear", "low_share", "high_share"):
        frame[name] = frame[name] * 100
    both = panels(frame)
    top = max(105.0, float(frame[["share_of_linear", "high_share"]].max().max()) * 1.03)
    return beside([_share(part, words, _width(len(both)), top) for words, part in both])


def _share(frame: pd.DataFrame, title: str, width: int, top: float) -> Chart:
    x = _nodes_axis(float(frame["node_count"].max()))
    y = alt.Y("share_of_linear:Q", title="share of linear (%)", scale=alt.Scale(domain=[0, top], nice=False))
    names = [ALL_ACTIVE, UNTIL_LAST]
    legend = alt.Legend(title="counted", orient="bottom", columns=2, labelLimit=NO_LIMIT, symbolOpacity=1)
    colour = alt.Color("rate:N", **category_colours(names, legend))
    columns = [
        "node_count",
        "share_of_linear",
        "low_share",
        "high_share",
        "rate",
        "n",
        "rate_bits_per_second",
    ]
    base = data(frame[columns])
    tooltip = [
        alt.Tooltip("node_count:Q", title="nodes"),
        alt.Tooltip("share_of_linear:Q", format=".4~g", title="share of linear (%)"),
        alt.Tooltip("low_share:Q", format=".4~g", title="from"),
        alt.Tooltip("high_share:Q", format=".4~g", title="to"),
        alt.Tooltip("rate:N", title="counted"),
        alt.Tooltip("n:Q", title="replicates (n)"),
    ]
    full = (
        data(pd.DataFrame({"share_of_linear": [100.0]}))
        .mark_rule(strokeDash=[4, 4], color=LIGHT["ink"])
        .encode(y=y)
    )
    return alt.layer(
        full,
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        base.mark_rule(strokeWidth=1.6).encode(x=x, y=alt.Y("low_share:Q"), y2="high_share:Q", color=colour),
        base.mark_point(filled=True, size=48, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip),
    ).properties(width=width, height=240, title=heading(title))


def curves(fitted: pd.DataFrame) -> pd.DataFrame:
    """Return points of every fitted curve, for drawing."""
    rows: list[dict[str, Any]] = []
    for _, row in fitted.iterrows():
        fit = fit_of(row)
        until = number(row["linear_until"])
        points = np.linspace(1, float(row["most_nodes"]), 57)
        # The corner of a capped curve is one of its points.
        for nodes in points if until is None else np.union1d(points, [until]):
            rows.append(
                {name: row[name] for name in (*CURVE, "rate", "model", "is_best")}
                | {"node_count": float(nodes), "rate_bits_per_second": fit.rate(float(nodes))}
            )
    return pd.DataFrame(rows)


def fit_of(row: pd.Series) -> law.Fit:
    """Return the fit of a row of ``scaling_fits``."""
    values = (
        number(row[name]) for name in ("cap_bits_per_second", "serial_share", "crosstalk", "linear_until")
    )
    cap, serial, crosstalk, until = values
    return law.Fit(
        row["model"],
        float(row["one_bits_per_second"]),
        cap if row["model"] == law.CAPPED else None,
        serial,
        crosstalk,
        until,
        float(row["aicc"]),
        float(row["weight"]),
        float(row["spread_log"]),
        int(row["n"]),
    )


SECTIONS = [
    section_of_nodes(
        "scale-totals",
        "All nodes together",
        "Each mark is a cell. Circles count what was moved while all nodes were active; triangles count all"
        " bytes until the last node had ended, including the wait for the slowest. The four models are"
        " fitted to the circles: the solid line is the best by AICc, the dashed ones are the others. Where"
        " the linear line leaves the marks, another node no longer adds as much as the first. A red cross"
        " is a cell with a missing node: it is shown but not fitted.",
        totals,
        ("scale_cells",),
        ("scaling_fits",),
    ),
    section_of_nodes(
        "scale-share",
        "Share of linear",
        "The rate of all nodes divided by the number of nodes times the rate of one node alone in the same"
        " replicate. A bar through a point is its interval (at least six replicates). The single node is"
        " run twice in each replicate: a poor reference would make everything else look good, even above"
        " 100 %.",
        shares,
        ("scaling_shares",),
    ),
]
