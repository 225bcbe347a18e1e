"""Charts of the simulation beside what was measured, and of twenty nodes of 2010."""

from __future__ import annotations

import altair as alt
import pandas as pd

from haulage.lab.report.charts import (
    NO_LIMIT,
    WIDTH,
    Chart,
    Rows,
    beside,
    data,
    frame_of,
    heading,
    log_ticks,
    scale_of,
)
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import section_of_nodes
from haulage.lab.simulation.calibrate import CALIBRATES
from haulage.lab.topics.scaling.chart import panels

_HALF = (WIDTH - 150) // 2


def simulated(rows: Rows) -> Chart:
    """Draw the rate of all nodes, simulated and measured, on a logarithmic axis of nodes."""
    frame = frame_of(rows).copy()
    divisor, unit = scale_of(frame["simulated_bits_per_second"], "bit/s")
    frame["simulated"] = frame["simulated_bits_per_second"] / divisor
    frame["measured"] = frame["measured_bits_per_second"] / divisor
    frame["off"] = frame["error"] * 100
    return beside([_against(part.sort_values("node_count"), unit, words) for words, part in panels(frame)])


def _against(frame: pd.DataFrame, unit: str, title: str) -> Chart:
    x = alt.X(
        "node_count:Q",
        title="nodes",
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=log_ticks(frame["node_count"]),
    )
    y = alt.Y("simulated:Q", title=f"all together ({unit})", scale=alt.Scale(zero=True))
    tooltip = [
        alt.Tooltip("node_count:Q", title="nodes"),
        alt.Tooltip("role:N"),
        alt.Tooltip("simulated:Q", format=".4~g", title=f"simulated ({unit})"),
        alt.Tooltip("measured:Q", format=".4~g", title=f"measured ({unit})"),
        alt.Tooltip("off:Q", format="+.2f", title="simulated is off by (%)"),
    ]
    columns = ["node_count", "role", "simulated", "measured", "off"]
    known = frame[frame["node_count"] <= CALIBRATES][columns]
    beyond = frame[frame["node_count"] >= min(CALIBRATES, float(known["node_count"].max()))][columns]
    layers = [
        data(known).mark_line(strokeWidth=2.5, color=LIGHT["blue"]).encode(x=x, y=y),
        data(beyond).mark_line(strokeWidth=2, strokeDash=[5, 4], color=LIGHT["blue"]).encode(x=x, y=y),
        data(frame[columns])
        .mark_point(filled=True, size=30, opacity=1, color=LIGHT["blue"])
        .encode(x=x, y=y, tooltip=tooltip),
    ]
    measured = frame[frame["measured"].notna()][columns]
    if len(measured):
        rings = data(measured).mark_point(size=90, strokeWidth=1.8, color=LIGHT["ink"])
        layers.append(rings.encode(x=x, y=alt.Y("measured:Q"), tooltip=tooltip))
    return alt.layer(*layers).properties(width=_HALF, height=240, title=heading(title))


def of_2010(rows: Rows) -> Chart:
    """Draw what twenty nodes lose, refused and paced, by demand over bound."""
    frame = frame_of(rows)
    pictures = []
    for direction, part in frame.groupby("direction", sort=True):
        lines = pd.concat(
            part.assign(lost=part[column] * 100, client=client)
            for client, column in (("refused", "lost_refused_share"), ("paced", "lost_paced_share"))
        )
        x = alt.X(
            "demand_over_bound:Q",
            title="asked for, over what the service carries",
            scale=alt.Scale(zero=False, nice=False),
        )
        y = alt.Y("lost:Q", title="lost of 20 times one (%)", scale=alt.Scale(domain=[0, 70]))
        colour = alt.Color(
            "client:N",
            scale=alt.Scale(domain=["refused", "paced"], range=[LIGHT["red"], LIGHT["blue"]]),
            legend=alt.Legend(title="clients are", orient="bottom", labelLimit=NO_LIMIT),
        )
        band = pd.DataFrame(
            {"lost": [100 * part["lost_then_low"].iloc[0]], "to": [100 * part["lost_then_high"].iloc[0]]}
        )
        base = data(lines[["demand_over_bound", "lost", "client", "refused_share_of_requests"]])
        tooltip = [
            alt.Tooltip("client:N"),
            alt.Tooltip("demand_over_bound:Q", title="demand over bound"),
            alt.Tooltip("lost:Q", format=".3~g", title="lost (%)"),
        ]
        pictures.append(
            alt.layer(
                data(band).mark_rect(color=LIGHT["pale"], opacity=0.5).encode(y=y, y2="to:Q"),
                base.mark_line(strokeWidth=2.2).encode(x=x, y=y, color=colour),
                base.mark_point(filled=True, size=46, opacity=1).encode(
                    x=x, y=y, color=colour, tooltip=tooltip
                ),
            ).properties(width=_HALF, height=240, title=heading(str(direction)))
        )
    return alt.hconcat(*pictures, spacing=30)


SECTIONS = [
    section_of_nodes(
        "simulation",
        "Simulation",
        "Rings are measured medians. The line is the simulation: solid where it was calibrated, dashed"
        " beyond. Rings on the dashed line test it. What lies to the right of them is a prediction, and"
        " only as good as its limit: a service limit that these nodes did not reach would slow real ones"
        " down earlier.",
        simulated,
        ("simulated_nodes",),
    ),
    section_of_nodes(
        "simulation-2010",
        "Twenty nodes of 2010",
        "The share lost of twenty times one node, by how much more all nodes ask for than the service can"
        " carry. The band is what was lost in 2010. Where the red line crosses it, clients that are refused"
        " and back off lose as much as those did; the blue line is what the same nodes lose if they respect"
        " the limit together. This explains the figures but does not prove the cause: their single-node"
        " rates were not published.",
        of_2010,
        ("simulated_2010",),
    ),
]
