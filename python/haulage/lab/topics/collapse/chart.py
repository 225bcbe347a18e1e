"""The chart of the rates before a link failed, and after."""

from __future__ import annotations

import altair as alt

from haulage.lab.report.charts import WIDTH, Chart, Rows, data, frame_of, log_ticks, scale_of
from haulage.lab.report.palette import LIGHT
from haulage.lab.report.section import Section


def before_after(density: Rows, sides: Rows) -> Chart:
    """Draw the density on either side of the fall, a row for each treatment, with the means."""
    curves, means = frame_of(density).copy(), frame_of(sides).copy()
    divisor, unit = scale_of(means["mean_bits_per_second"], "bit/s")
    for frame, column in ((curves, "rate_bits_per_second"), (means, "mean_bits_per_second")):
        several = frame["replicate"].nunique() > 1
        frame["row"] = [
            f"{treatment}, replicate {replicate:.0f}" if several and replicate >= 0 else str(treatment)
            for treatment, replicate in zip(frame["treatment"], frame["replicate"], strict=True)
        ]
        frame["rate"] = frame[column] / divisor
    means["sd"] = means["sd_bits_per_second"] / divisor
    peak = curves.groupby(["row", "side"])["density_per_decade"].transform("max")
    curves["density"] = curves["density_per_decade"] / peak
    x = alt.X(
        "rate:Q",
        title=f"rate of a part of the job ({unit})",
        scale=alt.Scale(type="log", nice=False),
        axis=log_ticks(curves["rate"]),
    )
    colour = alt.Color(
        "side:N",
        scale=alt.Scale(domain=["before", "after"], range=[LIGHT["blue"], LIGHT["orange"]]),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    parts = []
    for row in dict.fromkeys(curves["row"]):
        lines = data(means[means["row"] == row][["side", "rate", "sd", "n"]])
        tooltip = [
            alt.Tooltip("side:N"),
            alt.Tooltip("rate:Q", format=".4~g", title=f"mean ({unit})"),
            alt.Tooltip("sd:Q", format=".3~g", title="standard deviation"),
            alt.Tooltip("n:Q", title="parts (n)"),
        ]
        area = (
            data(curves[curves["row"] == row][["side", "rate", "density"]])
            .mark_area(opacity=0.3, line=True)
            .encode(
                x=x,
                y=alt.Y(
                    "density:Q", title="density, to its own peak", stack=None, axis=alt.Axis(tickCount=3)
                ),
                color=colour,
            )
        )
        mean = lines.mark_rule(strokeDash=[5, 3], strokeWidth=1.5).encode(x=x, color=colour, tooltip=tooltip)
        parts.append(alt.layer(area, mean).properties(width=WIDTH - 90, height=130, title=row))
    return alt.vconcat(*parts, spacing=14).resolve_scale(x="shared")


SECTIONS = [
    Section(
        "before-after",
        "Before and after the drop",
        "The rates of the parts of a job before and after its largest drop. Two separate curves are a"
        " fault; one broad curve that both share is a link that varies. Curves need six parts on each side;"
        " means and deviations are in the rows. The line is the mean.",
        before_after,
        ("before_after_density", "before_after"),
        also=("job_changes", "lost_files", "places"),
        applies="no job has a fall of the rate with six parts on a side",
    ),
]
