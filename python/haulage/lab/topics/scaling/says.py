"""What is said of many nodes together: share of linear, the cap, where linear growth ends."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from haulage.lab.analysis.cards import Results, bounded, card, card_of, number, percent, same_as, table
from haulage.lab.analysis.model import Finding
from haulage.lab.analysis.statistics import scaling as law
from haulage.lab.analysis.tables import groups
from haulage.lab.topics.scaling.rows import ALL_ACTIVE, CURVE, UNTIL_LAST
from haulage.lab.topics.simulated_nodes.says import error, pacing
from haulage.lab.topics.stragglers.says import halves, late
from haulage.words.numbers import format_rate, format_time

#: A cap above this many times the highest rate seen is far from what was measured.
FAR = 2.0
#: Nodes that begin farther apart than this share of the run have no common start.
SPREAD = 0.01


def together(results: Results) -> Iterator[Finding]:
    """Say how much the most nodes move together, and which share of linear that is."""
    rows = table(results, "scaling_shares")
    if rows.empty:
        return
    for key, part in groups(rows[rows["rate"] == UNTIL_LAST], CURVE):
        most = part.loc[part["node_count"].idxmax()]
        rate, share = number(most["rate_bits_per_second"]), number(most["share_of_linear"])
        if rate is None or share is None:
            continue
        count = int(most["node_count"])
        active = rows[(rows["rate"] == ALL_ACTIVE) & (rows["node_count"] == count)]
        active = active[active["direction"] == key["direction"]]
        meanwhile = number(active["rate_bits_per_second"].iloc[0]) if len(active) else None
        bounds = bounded(most["low_share"], most["high_share"], percent)
        sentence = (
            f"{count} nodes move {format_rate(rate)} {key['direction']} until the last has ended:"
            f" {percent(share)}{bounds} of {count} times one, so {percent(1 - share)} lost."
        )
        if meanwhile is not None:
            sentence += f" While all were active it was {format_rate(meanwhile)}."
        yield card_of(
            most,
            "Share of linear",
            sentence,
            "share",
            "scaling_shares",
            "share_of_linear",
            "low_share",
            "high_share",
        )


def cap(results: Results) -> Iterator[Finding]:
    """Say what all nodes together do not exceed, by the best model of the rate while all were active."""
    for row in _best(results):
        value, way = number(row["counted_cap_bits_per_second"]), row["direction"]
        low, high = row["counted_cap_low_bits_per_second"], row["counted_cap_high_bits_per_second"]
        others = f"Of four models {row['model']} is the best by AICc (weight {row['weight']:.2f}"
        others += ")." if row["is_clear"] else ", which does not settle it)."
        most = int(row["most_nodes"])
        if value is not None:
            shown = f"{format_rate(value)}{bounded(low, high, format_rate)}"
            if value > FAR * float(row["most_bits_per_second"]):
                shown += ", far beyond what was measured"
        if value is not None and not _settled(results, row):
            sentence = (
                f"No cap is settled with {most} nodes {way}; if there is one, it is near {shown}. {others}"
            )
        elif row["model"] == law.CAPPED and value is not None:
            sentence = (
                f"All nodes together are held at {shown} {way}"
                f" (the rate is counted in two ways; the interval holds both). {others}"
            )
        elif value is not None:
            sentence = f"No plain cap {way}: the sum grows ever more slowly, towards {shown}. {others}"
        else:
            sentence = f"No cap was reached with {most} nodes {way}. {others}"
        columns = (f"counted_cap_{which}bits_per_second" for which in ("", "low_", "high_"))
        yield card_of(row, "Cap", sentence, "bits_per_second", "scaling_fits", *columns)


def linear_until(results: Results) -> Iterator[Finding]:
    """Say up to how many nodes each brings as much as one alone."""
    for row in _best(results):
        value, way = number(row["counted_linear_until"]), row["direction"]
        most, low, high = (
            int(row["most_nodes"]),
            row["counted_linear_until_low"],
            row["counted_linear_until_high"],
        )
        shown = "" if value is None else f"{value:.2f}{bounded(low, high, '{:.2f}'.format)}"
        if value is None:
            sentence = f"The rate grows with the number of nodes up to {most}, the most there were ({way})."
        elif not _settled(results, row):
            sentence = (
                f"No end of linear growth is settled with {most} nodes {way}; if there is one, it is near"
                f" {shown}."
            )
        else:
            sentence = (
                f"The rate grows with the number of nodes up to {shown} ({way}):"
                f" {math.floor(value + 1e-9)} bring all that they can, {math.floor(value + 1e-9) + 1} less."
            )
        columns = (f"counted_linear_until{which}" for which in ("", "_low", "_high"))
        yield card_of(row, "Linear until", sentence, "nodes", "scaling_fits", *columns)


def starts(results: Results) -> Iterator[Finding]:
    """Say how far apart the nodes began."""
    cells = table(results, "scale_cells")
    many = cells[(cells["node_count"] > 1) & cells["start_spread_ns"].notna()] if len(cells) else cells
    if many.empty:
        return
    worst = many.loc[many["start_spread_ns"].idxmax()]
    spread, bound = float(many["start_spread_ns"].median()), float(many["start_bound_ns"].max())
    late = many[many["start_spread_share"] > SPREAD]
    sentence = (
        f"The nodes of a cell began within {format_time(spread)} of each other (median of {len(many)} cells;"
        f" at most {format_time(worst['start_spread_ns'])}, {int(worst['node_count'])} nodes);"
        f" their clocks are known to {format_time(bound)}."
    )
    if len(late):
        sentence += f" In {len(late)} cells that is more than {SPREAD:.0%} of the time: no common start."
    # The clocks leave open by how much the largest is more or less than what was seen.
    most = float(worst["start_spread_ns"])
    low, high = max(0.0, most - bound), most + bound
    yield Finding("Common start", sentence, most, "ns", low, high, len(many), 1.0, "scale_cells")


def missing(results: Results) -> Iterator[Finding]:
    """Say which nodes are missing, and in which cells."""
    cells = table(results, "scale_cells")
    lost = cells[cells["missing"] > 0] if len(cells) else cells
    if lost.empty:
        return
    words = "; ".join(
        f"{row['missing_names']} of {int(row['declared'])} in cell {int(row['cell'])}"
        for _, row in lost.head(6).iterrows()
    )
    more = "" if len(lost) <= 6 else f"; and {len(lost) - 6} cells more"
    sentence = (
        f"Missing: {words}{more}. These {len(lost)} cells are in no rate and no fit; all their rows are kept."
    )
    yield card("Missing nodes", sentence, float(lost["missing"].sum()), "nodes", len(cells), "scale_cells")


def _best(results: Results) -> Iterator[pd.Series]:
    rows = table(results, "scaling_fits")
    if rows.empty:
        return
    for _, row in rows[rows["is_best"] & (rows["rate"] == ALL_ACTIVE)].iterrows():
        yield row


def _settled(results: Results, row: pd.Series) -> bool:
    """Whether rates that grow for ever explain clearly less than the best model."""
    if row["is_clear"]:
        return True
    like = same_as(table(results, "scaling_fits"), row, [*CURVE, "rate"])
    linear = like[like["model"] == law.LINEAR]
    return linear.empty or float(linear["behind_best"].iloc[0]) >= law.CLEAR


CARDS = {"scale-out": (missing, together, cap, linear_until, late, halves, starts, error, pacing)}
