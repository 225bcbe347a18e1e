"""The block size that does best over all files, with the mean and the deviation that 2010 printed."""

from __future__ import annotations

import altair as alt
import pandas as pd

from haulage.lab.analysis.model import Result
from haulage.lab.report.charts.base import TIMES, WIDTH, Chart, data, frame_of, heading
from haulage.lab.report.palette import LIGHT
from haulage.words.numbers import round_size


def block_average(rows: Result | pd.DataFrame) -> Chart:
    """Draw the mean improvement of each block size over all file sizes, a panel for each way to cut.

    Args:
        rows: Of ``block_average``: direction, method, concurrency, block_size_bytes, file_sizes, n,
            mean_times_as_fast, sd_times_as_fast, geometric_mean_times_as_fast, file_sizes_slower, is_best.
    """
    frame = frame_of(rows)
    parts = [
        _panel(part.copy()) for _, part in frame.groupby(["direction", "method", "concurrency"], dropna=False)
    ]
    return alt.vconcat(*parts, spacing=24)


def _panel(frame: pd.DataFrame) -> Chart:
    first = frame.iloc[0]
    frame["block"] = [round_size(size) for size in frame["block_size_bytes"]]
    # Of one size there is no spread: the rule is a point.
    spread = frame["sd_times_as_fast"].fillna(0.0)
    frame["low"] = (frame["mean_times_as_fast"] - spread).clip(lower=0)
    frame["high"] = frame["mean_times_as_fast"] + spread
    frame["says"] = ["best on average" if best else "" for best in frame["is_best"].astype(bool)]
    order = list(frame.sort_values("block_size_bytes")["block"])
    x = alt.X("block:N", sort=order, title="size of a block", axis=alt.Axis(labelAngle=0))
    y = alt.Y("mean_times_as_fast:Q", title=f"mean improvement ({TIMES} the baseline)")
    base = data(frame.drop(columns=["direction", "method", "concurrency"]))
    tooltip = [
        alt.Tooltip("block:N"),
        alt.Tooltip("mean_times_as_fast:Q", format=".4~g", title="mean"),
        alt.Tooltip("sd_times_as_fast:Q", format=".4~g", title="standard deviation"),
        alt.Tooltip("geometric_mean_times_as_fast:Q", format=".4~g", title="geometric mean"),
        alt.Tooltip("file_sizes_slower:Q", title="file sizes that it slows down"),
        alt.Tooltip("file_sizes:Q", title="file sizes"),
        alt.Tooltip("n:Q", title="pairs (n)"),
    ]
    colour = alt.condition("datum.says != ''", alt.value(LIGHT["orange"]), alt.value(LIGHT["blue"]))
    return alt.layer(
        base.mark_bar(width={"band": 0.6}).encode(x=x, y=y, color=colour, tooltip=tooltip),
        base.mark_rule(color=LIGHT["ink"]).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_text(align="left", dy=-8, dx=5, fontSize=12).encode(x=x, y=y, text="says:N"),
    ).properties(
        width=WIDTH - 190,
        height=220,
        title=heading(
            f"{first['method']}, {first['direction']}: mean over {first['file_sizes']:.0f} file sizes"
        ),
    )
