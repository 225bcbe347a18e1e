"""Whether replicates are alike from one to the next, which makes the interval of a median too narrow.

Intervals are widened by what all treatments of a run tell together, as far as they tell it: the correlation
that is seen counts for less, the more other orders of the same values would show by chance. One treatment
alone has too few replicates to tell anything.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from haulage.lab.analysis.statistics.interval import Interval

#: Up to so many replicates all orders are tried: 720.
ALL_ORDERS = 6
#: Orders that are drawn where there are more.
ORDERS = 1999
#: It is said at this p, of a test that errs exactly so often.
SHOWN_P = 0.04
#: Fewer replicates have too few orders for a p below 0.05.
FEWEST = 4


@dataclass(frozen=True)
class Serial:
    """How alike a replicate is to the one before.

    Attributes:
        alike: Correlation with the one before, over all treatments, corrected for their number (Kendall).
        p: Share of the other orders of the replicates in which neighbours are as alike.
        n: Replicates.
        error: Standard deviation of ``alike`` over those orders: what chance makes of it.
    """

    alike: float
    p: float
    n: int
    error: float = 0.0

    @property
    def shown(self) -> bool:
        """Whether replicates in any order would look like this in less than 1 of 25 cases."""
        return self.p < SHOWN_P and self.alike > 0

    @property
    def wider(self) -> float:
        """How many times as wide the interval of a median has to be: the correlation, shrunk by its error."""
        if self.alike <= self.error:
            return 1.0
        sure = self.alike * (1 - (self.error / self.alike) ** 2)
        lags = np.arange(1, self.n)
        # Of a mean, and of the spread that is seen, both of which few values that are alike change.
        shared = 2 * float(((1 - lags / self.n) * sure**lags).sum())
        return math.sqrt((1 + shared) / (1 - shared / (self.n - 1)))


def serial(rows: ArrayLike, *, seed: int = 0) -> Serial:
    """Return how alike neighbouring replicates are.

    Ours because a treatment alone has too few replicates for a test of randomness; here all are put into
    another order together, so that what treatments of one replicate share does no harm.

    Args:
        rows: Logarithms: a row for each treatment, its replicates in their order, ``nan`` where missing.
        seed: Of the orders.

    >>> found = serial([[1, 2, 3, 4, 5, 6], [3, 4, 6, 8, 9, 11]])
    >>> found.shown, round(found.p, 4)
    (True, 0.0194)
    """
    table = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    table = table[:, np.isfinite(table).any(axis=0)]
    table = table[np.isfinite(table).any(axis=1)]
    n = table.shape[1]
    if n < FEWEST:
        return Serial(0.0, 1.0, n)
    away = np.nan_to_num(table - np.nanmean(table, axis=1, keepdims=True))
    square = float((away**2).sum())
    if square == 0:
        return Serial(0.0, 1.0, n)
    together = away.T @ away
    if n <= ALL_ORDERS:
        orders = np.array(list(itertools.permutations(range(n))))
    else:
        drawn = np.random.default_rng(seed).permuted(np.tile(np.arange(n), (ORDERS, 1)), axis=1)
        orders = np.vstack([np.arange(n), drawn])
    products = together[orders[:, :-1], orders[:, 1:]].sum(axis=1)
    p = float(np.mean(products >= products[0] - 1e-12 * square))
    seen = float(products[0]) / square
    # What is seen lies below the truth by (1 + 3 of it) / n.
    whole = 1 - 3 / n
    error = float(products.std()) / square / whole
    return Serial(float(np.clip((seen + 1 / n) / whole, -0.9, 0.9)), p, n, error)


def widened(interval: Interval, times: float) -> Interval:
    """Return an interval that reaches so many times as far from its value, on the scale of ratios.

    >>> found = widened(Interval(4.0, 2.0, 8.0, 6, 0.95, "median"), 2.0)
    >>> round(found.low, 6), round(found.high, 6)
    (1.0, 16.0)
    """
    if times == 1 or interval.value is None or interval.low is None or interval.high is None:
        return interval
    low, high = (interval.value * (end / interval.value) ** times for end in (interval.low, interval.high))
    return replace(interval, low=low, high=high, method=f"{interval.method}, {times:.2g} times as wide")
