"""Tables of what many nodes move together: share of linear, and what bounds the sum (E4)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.statistics import scaling as law
from haulage.lab.analysis.tables import Table, groups

#: What identifies a scaling curve.
CURVE = ["direction", "size_bytes", "node_size", "arm"]


#: The rates that are shown, each with its column.
UNTIL_LAST, ALL_ACTIVE = "until the last had ended", "while all were active"
RATES = {ALL_ACTIVE: "all_active_bits_per_second", UNTIL_LAST: "rate_bits_per_second"}


#: The second rate, counted from when every lane has ended its first request.
WARM = "warm_bits_per_second"


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


TABLES = [
    Table(
        "scaling_shares",
        "scale_cells",
        "Rate and share of linear by number of nodes",
        "Which share of so many times one node do so many move?",
        "Median over the replicates with its order-statistic interval (six are needed for 95 %). The share"
        " is that of the number of nodes times the rate of one alone in the same replicate; one alone is"
        " run twice in each, and the geometric mean of both taken. Cells with a missing node, or with a"
        " file that failed, take no part.",
        shares,
    ),
    Table(
        "scaling_fits",
        "scale_cells",
        "Models of the rate by number of nodes",
        "What bounds the sum of all nodes, and where does linear growth end?",
        "Least squares on the logarithm of the rate, by SciPy: linear; linear up to a cap; Amdahl (a share"
        " that only one can do at a time); the universal scalability law (and a price for each pair)."
        " Compared by AICc; two and more behind the best is clearly worse. Intervals: each replicate fitted"
        " by itself, Student's t on the logarithms. The columns counted_* are between the rate while all"
        " were active and that from the moment when every lane has ended its first request"
        " (warm_bits_per_second); their intervals hold both. Linear growth ends at the cap over the rate of"
        f" one, in the curved models where the rate is {law.ENDS:.0%} behind.",
        fits,
    ),
]
