"""What is said of the simulation, and of what was lost in 2010."""

from __future__ import annotations

from collections.abc import Iterator

from haulage.lab.analysis.cards import Results, card, number, percent, table
from haulage.lab.analysis.model import Finding
from haulage.lab.analysis.tables import groups
from haulage.lab.simulation import founding
from haulage.lab.simulation.calibrate import CALIBRATES, mean_error
from haulage.lab.topics.scaling.rows import CURVE
from haulage.words.numbers import format_rate

#: The simulation is trusted up to this mean error, beyond what it was calibrated on.
TRUSTED = 0.1
#: Below this share, pacing keeps about nothing.
FEW = 0.02


def error(results: Results) -> Iterator[Finding]:
    """Say how far the simulation is off beyond what it was calibrated on, and what it predicts."""
    rows = table(results, "simulated_nodes")
    if rows.empty:
        return
    for key, part in groups(rows, CURVE):
        off, flat = mean_error(part), mean_error(part, flat=True)
        ahead = part[part["role"] == "predicted"]
        words = ", ".join(
            f"{int(row['node_count'])} nodes {format_rate(row['simulated_bits_per_second'])}"
            f" ({percent(row['simulated_share_of_linear'])} of linear)"
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
        yield card("Simulation", sentence, off, "share", 2 * len(judged), "simulated_nodes")


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
        paced, kept = like["lost_paced_share"], float(like["kept_by_pacing_share"].median())
        then = f"{percent(part['lost_then_low'].iloc[0])} to {percent(part['lost_then_high'].iloc[0])}"
        sentence = (
            f"{founding.NODES} nodes of 2010 lost {then} of linear {direction}: as much as clients would lose"
            f" that are refused and back off where they ask for {low:g} to {high:g} times what the service"
            f" carries. Paced together to {percent(founding.PACED)} of it they would have lost"
            f" {percent(paced.min())} to {percent(paced.max())} of linear: {_kept(kept)}."
        )
        yield card("E4", sentence, kept, "share", len(like), "simulated_2010")


def _kept(share: float) -> str:
    if share < FEW:
        return "about as much, so it is the bound that costs, and not the refusals"
    return f"{percent(share)} less (median)"
