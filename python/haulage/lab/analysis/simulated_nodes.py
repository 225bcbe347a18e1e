"""The simulation beside what was measured, what it predicts, and what it says of 2010."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.cards import Results, number, table
from haulage.lab.analysis.model import Finding
from haulage.lab.analysis.tables import Table, groups
from haulage.lab.simulation import founding
from haulage.lab.simulation.calibrate import CALIBRATES, calibrate, compared, mean_error
from haulage.words.numbers import format_rate

#: On average it may be off by so much where it was not calibrated.
TRUSTED = 0.1
#: What pacing keeps is nothing below so much.
FEW = 0.02
CURVE = ["direction", "size_bytes", "node_size", "arm"]


def simulated(model: pd.DataFrame) -> pd.DataFrame:
    """Simulate every number of nodes that was measured, and those that do not fit here."""
    rows: list[dict[str, Any]] = []
    for key, part in groups(model, CURVE):
        made = calibrate(part)
        if made is not None:
            rows += [key | row for row in compared(made)]
    return pd.DataFrame(rows)


def of_2010(model: pd.DataFrame) -> pd.DataFrame:
    """Simulate twenty nodes of 2010 against bounds that explain what they lost."""
    return pd.DataFrame(founding.rows() if len(model) else [])


def error(results: Results) -> Iterator[Finding]:
    """Say how far the simulation is off where it was not calibrated, and what it predicts."""
    rows = table(results, "simulated_nodes")
    if rows.empty:
        return
    for key, part in groups(rows, CURVE):
        off, flat = mean_error(part), mean_error(part, flat=True)
        ahead = part[part["role"] == "predicted"]
        words = ", ".join(
            f"{int(row['node_count'])} nodes {format_rate(row['simulated_bits_per_second'])}"
            f" ({_percent(row['simulated_share_of_linear'])} of linear)"
            for _, row in ahead.iterrows()
        )
        judged = [int(count) for count in part[part["role"] == "judges"]["node_count"]]
        bound = number(part["bound_bits_per_second"].iloc[0])
        seen = (
            f"with a bound of {format_rate(bound)}"
            if bound is not None
            else f"without a bound, for {CALIBRATES} nodes did not reach any: what it predicts is the most"
        )
        if off is None:
            sentence = (
                f"{key['direction']}, {seen}: nothing measured beyond {CALIBRATES} nodes judges it."
                f" It predicts: {words}."
            )
        else:
            last = int(part[part["role"] == "calibrates"]["node_count"].max())
            sentence = (
                f"Calibrated on 1 to {CALIBRATES} nodes, {seen}, it misses the rates measured with"
                f" {' and '.join(map(str, judged))} by {off * 100:.1f} % on average {key['direction']}."
                f" That more bring no more than {last} misses them by {(flat or 0.0) * 100:.1f} %. It"
                f" predicts: {words}."
            )
        if off is not None and off > TRUSTED:
            sentence += (
                " The simulation is too far off to be trusted: nodes that are not alike are beyond it."
            )
        yield Finding(
            "Simulation", sentence, off, "share", None, None, 2 * len(judged), st.LEVEL, "simulated_nodes"
        )


def pacing(results: Results) -> Iterator[Finding]:
    """Say which demand explains what was lost in 2010, and what pacing would have kept."""
    rows = table(results, "simulated_2010")
    if rows.empty:
        return
    for direction, part in rows.groupby("direction"):
        like = part[part["is_as_then"]]
        if like.empty:
            continue
        low, high = like["demand_over_bound"].min(), like["demand_over_bound"].max()
        paced = like["lost_paced_share"]
        kept = like["kept_by_pacing_share"]
        then = f"{_percent(part['lost_then_low'].iloc[0])} to {_percent(part['lost_then_high'].iloc[0])}"
        sentence = (
            f"{founding.NODES} nodes of 2010 lost {then} of linear {direction}: as much as clients would lose"
            " that are refused and back off"
            f" where they ask for {low:g} to {high:g} times what the service carries. Paced together to"
            f" {_percent(founding.PACED)} of it they would"
            f" have lost {_percent(paced.min())} to {_percent(paced.max())} of linear:"
            f" {_kept(float(kept.median()))}."
        )
        yield Finding(
            "E4", sentence, float(kept.median()), "share", None, None, len(like), st.LEVEL, "simulated_2010"
        )


def _kept(share: float) -> str:
    if share < FEW:
        return "about as much, so it is the bound that costs, and not the refusals"
    return f"{_percent(share)} less (median)"


def _percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")


TABLES = [
    Table(
        "simulated_nodes",
        "scale_model",
        "Simulated and measured",
        "How far can the simulation be trusted, and what does it predict for more nodes?",
        "A discrete-event simulation: each lane takes a request, waits for the latency, moves its bytes at"
        " a rate that all"
        " in flight share fairly (the node's link, the service's bound), and takes the next. Latency,"
        " lanes, requests and"
        " the spread of the nodes are read from the record; the link is that with which one node takes as"
        " long as it did;"
        f" the bound is fitted to 2 to {CALIBRATES} nodes, none where they did not reach it. More nodes"
        " only judge; beside the errors of the simulation stand those of a flat line at the rate of the most"
        " nodes that calibrate.",
        simulated,
    ),
    Table(
        "simulated_2010",
        "scale_model",
        "Twenty nodes of 2010, simulated",
        "What explains what twenty nodes lost in 2010 (E4), and what would pacing have kept?",
        "The same simulation with no number of this run: twenty nodes that differ by 3 %, against a service"
        " whose bound is"
        " so many times exceeded. Refused: what exceeds the bound gets a 503, an upload after its body has"
        " arrived, and the"
        " client waits a second, then twice as long, up to 32 s (assumed). Paced: all nodes together keep"
        " to 98 % of the"
        " bound, as four nodes did here. Their single-node rates are not published, so the demand is"
        " scanned.",
        of_2010,
    ),
]
