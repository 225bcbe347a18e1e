"""Tables of the simulation beside what was measured, and of twenty nodes of 2010."""

from __future__ import annotations

from typing import Any

import pandas as pd

from haulage.lab.analysis.tables import Table, groups
from haulage.lab.simulation import founding
from haulage.lab.simulation.calibrate import CALIBRATES, calibrate, compared
from haulage.lab.topics.scaling.rows import CURVE


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


TABLES = [
    Table(
        "simulated_nodes",
        "scale_model",
        "Simulated and measured",
        "How far can the simulation be trusted, and what does it predict for more nodes?",
        "A discrete-event simulation: each lane takes a request, waits for the latency, moves its bytes at"
        " a rate that all in flight share fairly (the node's link, the service's bound), and takes the"
        " next. Latency, lanes, requests and the spread of the nodes are read from the record; the link is"
        f" that with which one node takes as long as it did; the bound is fitted to 2 to {CALIBRATES} nodes,"
        " none where they did not reach it. More nodes only judge; beside the errors of the simulation"
        " stand those of a flat line at the rate of the most nodes that calibrate.",
        simulated,
    ),
    Table(
        "simulated_2010",
        "scale_model",
        "Twenty nodes of 2010, simulated",
        "What explains what twenty nodes lost in 2010 (E4), and what would pacing have kept?",
        "The same simulation with no number of this run: twenty nodes that differ by 3 %, against a service"
        " whose bound is so many times exceeded. Refused: what exceeds the bound gets a 503, an upload"
        " after its body has arrived, and the client waits a second, then twice as long, up to 32 s"
        " (assumed). Paced: all nodes together keep to 98 % of the bound, as four nodes did here. Their"
        " single-node rates are not published, so the demand is scanned.",
        of_2010,
    ),
]
