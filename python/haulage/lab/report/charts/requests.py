"""What requests were spent on, and how they ended."""

from __future__ import annotations

import itertools
from typing import Any

import altair as alt
import pandas as pd

from haulage.lab.analysis.model import Result
from haulage.lab.report.charts.base import (
    HEIGHT,
    NO_LIMIT,
    WIDTH,
    Chart,
    NotShownError,
    cases,
    category_colours,
    data,
    frame_of,
    heading,
    log_ticks,
    scale_of,
    sizes,
    treatments,
)
from haulage.lab.report.palette import LIGHT, distinct
from haulage.words.numbers import digits, round_size

#: Columns of ``phase_stack`` in the order of time, with labels and colours.
PHASES = {
    "queue_ns": ("queue", "pale"),
    "ready_ns": ("disk and checksum", "brown"),
    "connect_ns": ("connect", "pink"),
    "send_ns": ("send", "blue"),
    "wait_ns": ("wait for the answer", "amber"),
    "receive_ns": ("receive", "green"),
    "commit_ns": ("commit or write", "violet"),
}


def phase_stack(rows: Result | pd.DataFrame) -> Chart:
    """Draw the median phases of one request, a row for each treatment and kind of request.

    Args:
        rows: Of ``phase_stack``: direction, treatment, size_bytes, api, n and a column for each phase.
    """
    frame = frame_of(rows)
    frame = frame.assign(group=cases(frame))
    names = treatments(frame)
    long = frame.melt(["group", "treatment", "api", "n"], list(PHASES), "phase", "took")
    long = long[long["took"] > 0]
    divisor, unit = scale_of(frame["whole_ns"], "ns")
    long["took"] /= divisor
    long["place"] = [list(PHASES).index(phase) for phase in long["phase"]]
    long["phase"] = [PHASES[phase][0] for phase in long["phase"]]
    long["row"] = long["treatment"] + " · " + long["api"]
    options = list(dict.fromkeys(frame.sort_values("size_bytes")["group"]))
    choice = alt.param(
        name="files", value=options[-1], bind=alt.binding_select(options=options, name="files ")
    )
    order = [f"{name} · {api}" for name in names for api in sorted(frame["api"].unique())]
    shown = long[long["group"] == options[-1]]["row"].nunique()
    row = alt.Y(
        "row:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=NO_LIMIT)
    )
    whole = frame.assign(row=frame["treatment"] + " · " + frame["api"])
    ends = long.groupby(["group", "row"])["took"].sum()
    whole["words"] = [digits(took / divisor) for took in whole["whole_ns"]]
    whole["took"] = [ends.get(key, 0.0) for key in zip(whole["group"], whole["row"], strict=True)]
    words = (
        data(whole[["group", "row", "took", "words"]])
        .transform_filter("datum.group == files")
        .mark_text(align="left", dx=5, fontSize=11)
        .encode(y=row, x=alt.X("took:Q"), text="words:N")
    )
    labels = [label for label, _ in PHASES.values()]
    bars = (
        data(long)
        .transform_filter("datum.group == files")
        .mark_bar(height={"band": 0.74})
        .encode(
            y=row,
            x=alt.X(
                "took:Q", stack="zero", title=f"median of a request ({unit}); at the end of a bar: the whole"
            ),
            order="place:Q",
            color=alt.Color(
                "phase:N",
                scale=alt.Scale(domain=labels, range=[LIGHT[name] for _, name in PHASES.values()]),
                legend=alt.Legend(title=None, orient="bottom", columns=7),
            ),
            tooltip=[
                alt.Tooltip("row:N", title="request"),
                alt.Tooltip("phase:N"),
                alt.Tooltip("took:Q", format=".4~g", title=f"median ({unit})"),
                alt.Tooltip("n:Q", title="requests (n)"),
            ],
        )
    )
    # The chart keeps its height when another size is chosen, and its rows share it.
    return alt.layer(bars, words).add_params(choice).properties(width=WIDTH - 260, height=max(80, 24 * shown))


def reassembly(rows: Result | pd.DataFrame) -> Chart:
    """Draw the time of downloads in pieces: the network's part and that of putting the pieces together.

    Args:
        rows: Of ``phases_of_cells``: treatment, node, size_bytes, network_ns, reassembly_ns, n.
    """
    frame = frame_of(rows)
    nodes = frame["node"].fillna("").astype(str)
    frame = frame.assign(group=cases(frame), row=frame["treatment"] + nodes.where(nodes == "", " · " + nodes))
    long = frame.melt(["group", "row", "n"], ["network_ns", "reassembly_ns"], "part", "took")
    divisor, unit = scale_of(long["took"], "ns")
    long["took"] /= divisor
    long["part"] = long["part"].str.removesuffix("_ns")
    order = list(dict.fromkeys(frame.sort_values("size_bytes")["group"]))
    return (
        data(long)
        .mark_bar(height={"band": 0.74})
        .encode(
            y=alt.Y("row:N", title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=NO_LIMIT)),
            x=alt.X("took:Q", stack="zero", title=f"median of a cell ({unit})"),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=["network", "reassembly"], range=[LIGHT["blue"], LIGHT["orange"]]),
                legend=alt.Legend(title=None, orient="bottom"),
            ),
            tooltip=[
                alt.Tooltip("row:N", title="treatment"),
                alt.Tooltip("part:N"),
                alt.Tooltip("took:Q", format=".4~g", title=unit),
                alt.Tooltip("n:Q", title="cells (n)"),
            ],
        )
        .properties(width=WIDTH - 240, height=26 * frame["row"].nunique())
        .facet(
            row=alt.Row("group:N", sort=order, title=None, header=alt.Header(labelAngle=0, labelAlign="left"))
        )
    )


#: What a file's way is called in the chart.
_VERBS = {"up": "write", "down": "read"}


def crossover(latency: Result | pd.DataFrame, crossovers: Result | pd.DataFrame | None = None) -> Chart:
    """Draw the time of a file by size, a line for each method, and where two of them change places.

    Writes and reads are a picture each: which is quicker one way says nothing of the other.

    Args:
        latency: Of ``api_latency``: direction, treatment, size_bytes, replicate, duration_ns, n.
        crossovers: direction, smaller_favours, larger_favours, crossover_bytes, low_bytes, high_bytes.

    Raises:
        NotShownError: The run wrote nothing.
    """
    frame = frame_of(latency)
    there = [direction for direction in _VERBS if (frame["direction"] == direction).any()]
    parts = [
        _durations(frame[frame["direction"] == direction], crossovers, direction, len(there) > 1)
        for direction in there
    ]
    return parts[0] if len(parts) == 1 else alt.vconcat(*parts, spacing=30).resolve_scale(color="independent")


def _durations(
    frame: pd.DataFrame, crossovers: Result | pd.DataFrame | None, direction: str, several: bool
) -> Chart:
    names = treatments(frame)
    divisor, unit = scale_of(frame["duration_ns"], "ns")
    groups = frame.groupby(["treatment", "size_bytes"])
    shown = groups.agg(
        took=("duration_ns", "median"),
        low=("duration_ns", "min"),
        high=("duration_ns", "max"),
        n=("n", "sum"),
    ).reset_index()
    shown[["took", "low", "high"]] /= divisor
    x = sizes("size_bytes", shown["size_bytes"], "size of the file", labelAngle=-30)
    y = alt.Y(
        "took:Q",
        title=f"duration of a {_VERBS[direction]} ({unit})",
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=log_ticks(shown[["low", "high"]].stack()),
    )
    colour = alt.Color("treatment:N", **category_colours(names))
    base = data(shown)
    tooltip = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("size_bytes:Q", title="bytes", format=","),
        alt.Tooltip("took:Q", format=".4~g", title=f"median ({unit})"),
        alt.Tooltip("low:Q", format=".4~g", title="quickest replicate"),
        alt.Tooltip("high:Q", format=".4~g", title="slowest replicate"),
        alt.Tooltip("n:Q", title="files (n)"),
    ]
    layers = [
        base.mark_area(opacity=0.13).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        base.mark_point(filled=True, size=42, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip),
    ]
    if crossovers is not None:
        layers += _crossings(frame_of(crossovers), shown, direction, x)
    chart = alt.layer(*layers).properties(width=WIDTH - 70, height=HEIGHT + 20)
    return chart.properties(title=heading({"up": "Writes", "down": "Reads"}[direction])) if several else chart


def _crossings(frame: pd.DataFrame, shown: pd.DataFrame, direction: str, x: alt.X) -> list[Chart]:
    """Mark the sizes at which the quickest way changes; other pairs are in the rows only."""
    shown = shown[~shown["treatment"].str.endswith("-again")]
    quickest = shown.loc[shown.groupby("size_bytes")["took"].idxmin()].sort_values("size_bytes")["treatment"]
    order = [name for name, before in zip(quickest, [None, *quickest], strict=False) if name != before]
    pairs = set(itertools.pairwise(order))
    found = frame[(frame["direction"] == direction) & frame["crossover_bytes"].notna()]
    layers: list[Chart] = []
    for row in found.sort_values("crossover_bytes").to_dict("records"):
        if (row["smaller_favours"], row["larger_favours"]) not in pairs:
            continue
        label = (
            f"{row['smaller_favours']} | {row['larger_favours']} from {round_size(row['crossover_bytes'])}"
        )
        place = {"size_bytes": row["crossover_bytes"], "low": row["low_bytes"], "high": row["high_bytes"]}
        mark = data(pd.DataFrame([place | {"label": label}]))
        if row["low_bytes"] == row["low_bytes"]:
            shade = mark.mark_rect(color=LIGHT["muted"], opacity=0.08)
            layers.append(shade.encode(x=alt.X("low:Q"), x2="high:Q"))
        right = row["crossover_bytes"] ** 2 > shown["size_bytes"].min() * shown["size_bytes"].max()
        words = mark.mark_text(
            align="right" if right else "left", dx=-5 if right else 5, fontSize=12, color=LIGHT["muted"]
        )
        layers += [
            mark.mark_rule(color=LIGHT["muted"], strokeDash=[4, 3]).encode(x=x),
            words.encode(x=x, y=alt.value(10 + 8 * len(layers)), text="label:N"),
        ]
    return layers


def errors(rows: Result | pd.DataFrame) -> Chart:
    """Draw the attempts that did not end well, by treatment and how they ended, and what they cost.

    Args:
        rows: Of ``errors``: treatment, direction, api, fate, status, cause, attempts, lost_ns, waited_ns.

    Raises:
        NotShownError: Every attempt ended well.
    """
    frame = frame_of(rows)
    bad = frame[frame["fate"] != "ok"].copy()
    if bad.empty:
        raise NotShownError(f"all {int(frame['attempts'].sum()):,} attempts ended well")
    names = treatments(bad)
    bad["how"] = [
        " ".join(
            str(part) for part in (row["fate"], _status(row["status"]), row["cause"]) if part and part == part
        )
        for row in bad.to_dict("records")
    ]
    shown = (
        bad.groupby(["treatment", "how"])
        .agg(attempts=("attempts", "sum"), lost=("lost_ns", "sum"), waited=("waited_ns", "sum"))
        .reset_index()
    )
    all_of = frame.groupby("treatment")["attempts"].sum()
    shown["of"] = [int(all_of[name]) for name in shown["treatment"]]
    shown["share"] = shown["attempts"] / shown["of"]
    shown["lost_s"], shown["waited_s"] = shown.pop("lost") / 1e9, shown.pop("waited") / 1e9
    kinds = list(shown.groupby("how")["attempts"].sum().sort_values(ascending=False).index)
    named = [LIGHT[name] for name in ("red", "orange", "amber", "violet", "pink", "brown", "grey")]
    colours = [*named, *(one for one in distinct(len(kinds) + len(named)) if one not in named)]
    row = alt.Y(
        "treatment:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=NO_LIMIT)
    )
    colour = alt.Color(
        "how:N",
        scale=alt.Scale(domain=kinds, range=colours[: len(kinds)]),
        legend=alt.Legend(title=None, orient="bottom", columns=2, labelLimit=NO_LIMIT),
    )
    tooltip = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("how:N", title="ended"),
        alt.Tooltip("attempts:Q", format=","),
        alt.Tooltip("of:Q", format=",", title="of attempts (n)"),
        alt.Tooltip("lost_s:Q", format=".3~g", title="lane time lost (s)"),
        alt.Tooltip("waited_s:Q", format=".3~g", title="waited before the next (s)"),
    ]
    base = data(shown)
    height = 24 * max(2, len(names))

    def bars(field: str, title: str, axis: alt.Axis | None, **more: Any) -> Chart:
        x = alt.X(f"{field}:Q", stack="zero", title=None, axis=alt.Axis(tickCount=4, **more))
        vertical = row if axis is None else alt.Y("treatment:N", sort=names, axis=None)
        return (
            base.mark_bar(height={"band": 0.74})
            .encode(x=x, y=vertical, color=colour, tooltip=tooltip)
            .properties(width=(WIDTH - 200) // 2, height=height, title=heading(title))
        )

    return alt.hconcat(
        bars("share", "Share of attempts", None, format=".1~%"),
        bars("lost_s", "Lane time lost (s)", alt.Axis()),
        spacing=26,
    )


def _status(status: object) -> str:
    return f"{status:.0f}" if isinstance(status, (int, float)) and status == status and status else ""
