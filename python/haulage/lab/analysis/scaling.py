"""What so many nodes move together: share of linear, what bounds the sum, where linear growth ends (E4)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.cards import Results, bounded, card_of, number, table
from haulage.lab.analysis.model import Finding
from haulage.lab.analysis.statistics import scaling as law
from haulage.lab.analysis.tables import Table, groups
from haulage.words.numbers import format_rate, format_time

#: What tells one scaling curve from another.
CURVE = ["direction", "size_bytes", "node_size", "arm"]
#: The rates that are shown, and the column of each.
UNTIL_LAST, ALL_ACTIVE = "until the last had ended", "while all were active"
RATES = {ALL_ACTIVE: "all_active_bits_per_second", UNTIL_LAST: "rate_bits_per_second"}
#: The second rate, counted from when every lane has ended its first request.
WARM = "warm_bits_per_second"
#: A cap above so many times the highest rate seen is a long way from what was measured.
FAR = 2.0
#: Starts that lie apart by a larger share of the run are no common start.
SPREAD = 0.01


def complete(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of which no node is missing and all ended well."""
    return cells[(cells["outcome"] == "ok") & (cells["missing"] == 0)]


def shares(cells: pd.DataFrame) -> pd.DataFrame:
    """Rate of so many nodes, and its share of so many times the one alone, replicate by replicate."""
    rows: list[dict[str, Any]] = []
    for key, part in groups(complete(cells), CURVE):
        for kind, column in RATES.items():
            alone = part[part["node_count"] == 1].groupby("replicate")[column]
            # Both of the A/A arm: one poor reference made 101 % of a set of 2010.
            reference = np.exp(alone.apply(lambda rates: np.log(rates.astype(float)).mean()))
            for count, own in part[~part["is_again"].astype(bool)].groupby("node_count"):
                rate = own.set_index("replicate")[column].astype(float)
                ratio = (rate / (count * reference)).dropna().to_numpy()
                total, share = st.median_interval(rate.to_numpy()), st.median_interval(ratio)
                rows.append(
                    key
                    | {
                        "rate": kind,
                        "node_count": int(count),
                        "n": len(ratio),
                        "rate_bits_per_second": total.value,
                        "low_bits_per_second": total.low,
                        "high_bits_per_second": total.high,
                        "share_of_linear": share.value,
                        "low_share": share.low,
                        "high_share": share.high,
                        "level": share.level,
                        "note": share.note,
                    }
                )
    return pd.DataFrame(rows)


def fits(cells: pd.DataFrame) -> pd.DataFrame:
    """Fit the four models to both rates of each curve; of each the best has intervals over the replicates."""
    rows: list[dict[str, Any]] = []
    for key, part in groups(complete(cells), CURVE):
        for kind, column in RATES.items():
            known = part[part[column].notna() & part[column].gt(0)]
            nodes, rates = known["node_count"].astype(float).tolist(), known[column].astype(float).tolist()
            found = law.fit_all(nodes, rates)
            for place, fit in enumerate(found):
                bounds = law.ends(fit, nodes, rates, known["replicate"].tolist())
                both = _counted_twice(fit, bounds, known) if kind == ALL_ACTIVE else bounds
                rows.append(
                    key
                    | {
                        "rate": kind,
                        "model": fit.model,
                        "is_best": place == 0,
                        "is_clear": place == 0 and found[1].aicc - fit.aicc >= law.CLEAR,
                        "n": fit.n,
                        "aicc": fit.aicc,
                        "behind_best": fit.aicc - found[0].aicc,
                        "weight": fit.weight,
                        "spread_log": fit.spread,
                        "one_bits_per_second": fit.one,
                        "cap_bits_per_second": fit.cap,
                        "cap_low_bits_per_second": bounds.cap.low,
                        "cap_high_bits_per_second": bounds.cap.high,
                        "serial_share": fit.serial,
                        "crosstalk": fit.crosstalk,
                        "linear_until": fit.linear_until,
                        "linear_until_low": bounds.linear_until.low,
                        "linear_until_high": bounds.linear_until.high,
                        "counted_cap_bits_per_second": both.cap.value,
                        "counted_cap_low_bits_per_second": both.cap.low,
                        "counted_cap_high_bits_per_second": both.cap.high,
                        "counted_linear_until": both.linear_until.value,
                        "counted_linear_until_low": both.linear_until.low,
                        "counted_linear_until_high": both.linear_until.high,
                        "most_nodes": int(max(nodes)),
                        "most_bits_per_second": max(rates),
                        "level": bounds.cap.level,
                        "note": bounds.cap.note,
                    }
                )
    return pd.DataFrame(rows)


def _counted_twice(fit: law.Fit, bounds: law.Ends, cells: pd.DataFrame) -> law.Ends:
    """Return cap and end of linear growth between the two ways to count the rate, with bounds that hold both.

    A link lets some bytes through at once, which makes short runs look quicker; each node ends with a request
    or two that leave it idle, which makes them look slower. Neither is known, and neither is chance.
    """
    if cells[WARM].isna().any():
        return bounds
    nodes, rates = cells["node_count"].astype(float).tolist(), cells[WARM].astype(float).tolist()
    again = next((one for one in law.fit_all(nodes, rates) if one.model == fit.model), None)
    if again is None:
        return bounds
    other = law.ends(again, nodes, rates, cells["replicate"].tolist())
    return law.Ends(
        _between(bounds.cap, other.cap), _between(bounds.linear_until, other.linear_until), bounds.one
    )


def _between(first: st.Interval, second: st.Interval) -> st.Interval:
    if first.value is None or second.value is None:
        return first
    middle = math.sqrt(first.value * second.value)
    if None in (first.low, first.high, second.low, second.high):
        return replace(first, value=middle)
    assert first.low is not None
    assert first.high is not None
    assert second.low is not None
    assert second.high is not None
    return replace(first, value=middle, low=min(first.low, second.low), high=max(first.high, second.high))


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


def together(results: Results) -> Iterator[Finding]:
    """How much the most nodes move together, and which share of linear that is."""
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
        bounds = bounded(most["low_share"], most["high_share"], _percent)
        sentence = (
            f"{count} nodes move {format_rate(rate)} {key['direction']} until the last has ended:"
            f" {_percent(share)}{bounds}"
            f" of {count} times one, so {_percent(1 - share)} lost."
        )
        if meanwhile is not None:
            sentence += f" While all were active it was {format_rate(meanwhile)}."
        yield card_of(
            most,
            "Share of linear",
            sentence,
            "share",
            "scaling_shares",
            ("share_of_linear", "low_share", "high_share"),
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
        columns = (
            "counted_cap_bits_per_second",
            "counted_cap_low_bits_per_second",
            "counted_cap_high_bits_per_second",
        )
        yield card_of(row, "Cap", sentence, "bits_per_second", "scaling_fits", columns)


def linear_until(results: Results) -> Iterator[Finding]:
    """From how many nodes on more of them bring less than as many times one."""
    for row in _best(results):
        value, way = number(row["counted_linear_until"]), row["direction"]
        low, high = row["counted_linear_until_low"], row["counted_linear_until_high"]
        if value is None:
            most = int(row["most_nodes"])
            sentence = f"The rate grows with the number of nodes up to {most}, the most there were ({way})."
        elif not _settled(results, row):
            most = int(row["most_nodes"])
            sentence = (
                f"No end of linear growth is settled with {most} nodes {way}; if there is one, it is near"
                f" {value:.2f}{bounded(low, high, lambda v: f'{v:.2f}')}."
            )
        else:
            sentence = (
                "The rate grows with the number of nodes up to"
                f" {value:.2f}{bounded(low, high, lambda v: f'{v:.2f}')}"
                f" ({way}): {math.floor(value + 1e-9)} bring all that they can,"
                f" {math.floor(value + 1e-9) + 1} less."
            )
        columns = ("counted_linear_until", "counted_linear_until_low", "counted_linear_until_high")
        yield card_of(row, "Linear until", sentence, "nodes", "scaling_fits", columns)


def starts(results: Results) -> Iterator[Finding]:
    """How far apart the nodes began."""
    cells = table(results, "scale_cells")
    many = cells[(cells["node_count"] > 1) & cells["start_spread_ns"].notna()] if len(cells) else cells
    if many.empty:
        return
    worst = many.loc[many["start_spread_ns"].idxmax()]
    spread, bound = float(many["start_spread_ns"].median()), float(many["start_bound_ns"].max())
    late = many[many["start_spread_share"] > SPREAD]
    sentence = (
        f"The nodes of a cell began within {format_time(spread)} of each other (median of {len(many)}"
        " cells; at most"
        f" {format_time(worst['start_spread_ns'])}, {int(worst['node_count'])} nodes); their clocks are"
        " known to"
        f" {format_time(bound)}."
    )
    if len(late):
        sentence += f" In {len(late)} cells that is more than {SPREAD:.0%} of the time: no common start."
    # The largest is bounded by what was seen and what the clocks leave open.
    most = float(worst["start_spread_ns"])
    yield Finding(
        "Common start",
        sentence,
        most,
        "ns",
        max(0.0, most - bound),
        most + bound,
        len(many),
        1.0,
        "scale_cells",
    )


def missing(results: Results) -> Iterator[Finding]:
    """Which nodes are missing, and in which cells."""
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
    yield Finding(
        "Missing nodes",
        sentence,
        float(lost["missing"].sum()),
        "nodes",
        None,
        None,
        len(cells),
        st.LEVEL,
        "scale_cells",
    )


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
    rows = table(results, "scaling_fits")
    same = (rows["rate"] == row["rate"]) & (rows["model"] == law.LINEAR)
    for name in CURVE:
        same &= rows[name].isna() if pd.isna(row[name]) else rows[name] == row[name]
    linear = rows[same]
    return linear.empty or float(linear["behind_best"].iloc[0]) >= law.CLEAR


def _percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")


TABLES = [
    Table(
        "scaling_shares",
        "scale_cells",
        "Rate and share of linear by number of nodes",
        "Which share of so many times one node do so many move?",
        "Median over the replicates with its order-statistic interval (six are needed for 95 %). The share"
        " is that of the"
        " number of nodes times the rate of one alone in the same replicate; one alone is run twice in"
        " each, and the"
        " geometric mean of both taken. Cells with a missing node, or with a file that failed, take no part.",
        shares,
    ),
    Table(
        "scaling_fits",
        "scale_cells",
        "Models of the rate by number of nodes",
        "What bounds the sum of all nodes, and where does linear growth end?",
        "Least squares on the logarithm of the rate, by SciPy: linear; linear up to a cap; Amdahl (a share"
        " that only one"
        " can do at a time); the universal scalability law (and a price for each pair). Compared by AICc;"
        " two and more"
        " behind the best is clearly worse. Intervals: each replicate fitted by itself, Student's t on the"
        " logarithms."
        " The columns counted_* are between the rate while all were active and that from the moment when"
        " every lane has ended its first request (warm_bits_per_second); their intervals hold both."
        " Linear growth ends at the cap over the rate of one, in the curved models where the rate is"
        f" {law.ENDS:.0%} behind.",
        fits,
    ),
]
