"""A value with what bounds it: medians and percentiles, of independent values and of values in cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Floats: TypeAlias = NDArray[np.float64]

#: Share of the intervals that hold the true value. The convention of every field that reads these.
LEVEL = 0.95
#: Cells that an interval over cells needs: five cannot reach 95 % whatever they hold.
CELLS_NEED = 6
#: Values at which the distribution of each cell is looked at, at most.
PLACES = 4000
#: How often a sample may hide how alike the transfers of a cell are.
HIDDEN = 0.05


@dataclass(frozen=True)
class Interval:
    """A value, what bounds it, and what it stands on.

    Attributes:
        value: The estimate; ``None`` when ``n`` cannot bound it.
        low: Lower bound; ``None`` when ``n`` cannot bound it.
        high: Upper bound; likewise.
        n: Observations.
        level: Share of such intervals that hold the true value, as achieved.
        method: How it was made, in words.
        note: What to say instead of, or beside, the value; empty if nothing.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    level: float
    method: str
    note: str = ""

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None and self.high is not None


def numbers(values: ArrayLike) -> Floats:
    """Return the finite ones of ``values``, in their order."""
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[np.isfinite(array)]


def median_interval(values: ArrayLike, level: float = LEVEL) -> Interval:
    """Return the median, bounded by two of the observations themselves.

    Needs no assumption on the distribution. Six observations are the fewest that reach 95 %; below
    that the median stands without bounds.

    >>> found = median_interval([1, 2, 3, 4, 5, 6])
    >>> found.value, found.low, found.high, round(found.level, 3)
    (3.5, 1.0, 6.0, 0.969)
    """
    return _order_interval(numbers(values), 0.5, level)


def percentile_needs(share: float, level: float = LEVEL) -> int:
    """Return how many observations bound a percentile on both sides.

    >>> percentile_needs(0.5), percentile_needs(0.95), percentile_needs(0.99)
    (6, 72, 368)
    """
    far = max(share, 1 - share)
    return math.ceil(math.log((1 - level) / 2) / math.log(far))


def percentile(values: ArrayLike, share: float, level: float = LEVEL) -> Interval:
    """Return a percentile with its interval, or no value and the note "n too small".

    >>> percentile(range(71), 0.95).note
    'n too small: 71 of the 72 that p95 needs'
    """
    data = numbers(values)
    needed = percentile_needs(share, level)
    if len(data) < needed:
        note = f"n too small: {len(data)} of the {needed} that p{share * 100:g} needs"
        return Interval(None, None, None, len(data), level, f"p{share * 100:g}", note)
    return _order_interval(data, share, level)


def _order_interval(data: Floats, share: float, level: float) -> Interval:
    n = len(data)
    method = (
        "median, order-statistic interval" if share == 0.5 else f"p{share * 100:g}, order-statistic interval"
    )
    if n == 0:
        return Interval(None, None, None, 0, level, method, "no observations")
    ordered = np.sort(data)
    value = float(np.quantile(ordered, share))
    tail = (1 - level) / 2
    # The largest rank that the true value lies below with at most `tail`, and its mirror.
    low = int(stats.binom.ppf(tail, n, share))
    high = int(stats.binom.ppf(1 - tail, n, share)) + 1
    if low < 1 or high > n:
        return Interval(value, None, None, n, level, method, "n too small for an interval")
    achieved = float(stats.binom.cdf(high - 1, n, share) - stats.binom.cdf(low - 1, n, share))
    return Interval(value, float(ordered[low - 1]), float(ordered[high - 1]), n, achieved, method)


def percentile_of_cells(cells: Sequence[ArrayLike], share: float, level: float = LEVEL) -> Interval:
    """Return a percentile of transfers that were made in cells; those of one cell are alike.

    The interval holds every value of which the cells, taken as one observation each, do not show that it is
    another percentile: a t test on the share of each cell that is below. With one transfer in each cell
    this is the interval of order statistics. Far from the middle, where these shares are skewed, it is that
    of Korn and Graubard (1998): Clopper and Pearson's with the effective number of observations.

    It is ours because scipy's ``quantile_test`` takes all values as independent, and a bootstrap of six cells
    holds the true value in 85 % of cases where it says 95 %.

    Args:
        cells: The values of each cell; at least six cells for an interval.
        share: 0.5 for the median. Without enough effective observations there is no value for others.
        level: Share of intervals that hold the true value.
    """
    groups = [np.sort(data) for data in map(numbers, cells) if len(data)]
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    if len(sizes) and sizes.max() == 1:
        whole = np.concatenate(groups)
        return median_interval(whole, level) if share == 0.5 else percentile(whole, share, level)
    values = np.sort(np.concatenate(groups)) if groups else np.empty(0)
    n, count = len(values), len(groups)
    name = "median" if share == 0.5 else f"p{share * 100:g}"
    method = f"{name}, interval over {count} cells"
    if count < CELLS_NEED:
        value = float(np.median(values)) if share == 0.5 and n else None
        note = f"n too small: {count} of the {CELLS_NEED} cells that an interval needs"
        return Interval(value, None, None, n, level, method, note)
    places = np.unique(values)
    if len(places) > PLACES:
        places = np.unique(np.quantile(values, np.linspace(0, 1, PLACES), method="inverted_cdf"))
    below = np.array([np.searchsorted(group, places, side="right") for group in groups], dtype=np.float64)
    alike = max(_design_effect(below, sizes, at) for at in (0.25, 0.5, 0.75, share))
    # What six cells happen to show of it may be far less than there is.
    alike = 1 + (max(alike, 1) - 1) * (count - 1) / float(stats.chi2.ppf(HIDDEN, count - 1))
    needed = percentile_needs(share, level)
    if share != 0.5 and n / alike < needed:
        worth = f"{n} transfers of {count} cells are worth {n / alike:.0f}"
        note = f"n too small: {worth} of the {needed} that {name} needs"
        return Interval(None, None, None, n, level, method, note)
    value = float(np.quantile(values, share))
    if share == 0.5:
        low, high = _not_refuted(below, sizes, share, level)
    else:
        low, high = _korn_graubard(below, sizes, share, level)
    return Interval(value, float(places[low]), float(places[high]), n, level, method)


def _error(below: Floats, sizes: Floats, share: float) -> tuple[Floats, Floats]:
    """Return by how much more than ``share`` is below, and the standard error, over cells."""
    away = below - share * sizes[:, None]
    n, count = sizes.sum(), len(sizes)
    square = ((away - away.mean(axis=0)) ** 2).sum(axis=0)
    return away.sum(axis=0) / n, np.sqrt(count / (count - 1) * square) / n


def _design_effect(below: Floats, sizes: Floats, share: float) -> float:
    """Return how many transfers are worth one independent one, at a percentile."""
    total = below.sum(axis=0) / sizes.sum()
    at = min(int(np.searchsorted(total, share - 1e-12)), len(total) - 1)
    expected = total[at] * (1 - total[at]) / sizes.sum()
    error = _error(below[:, at : at + 1], sizes, float(total[at]))[1][0]
    return float(error**2 / expected) if expected > 0 else 1.0


def _not_refuted(below: Floats, sizes: Floats, share: float, level: float) -> tuple[int, int]:
    # Shares of few cells have shorter tails than t expects; without this, 6 cells hold 93 %.
    critical = stats.t.ppf((1 + level) / 2, len(sizes) - 1) * (1 + 4 / len(sizes) ** 2)

    def t(counts: Floats) -> Floats:
        away, error = _error(counts, sizes, share)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(error > 0, away / error, np.sign(away) * np.inf)

    before = np.concatenate([np.zeros((len(sizes), 1)), below[:, :-1]], axis=1)
    return int(np.flatnonzero(t(below) >= -critical)[0]), int(np.flatnonzero(t(before) <= critical)[-1])


def _korn_graubard(below: Floats, sizes: Floats, share: float, level: float) -> tuple[int, int]:
    n, count, tail = sizes.sum(), len(sizes), (1 - level) / 2
    freedom = float((stats.t.ppf(tail, n - 1) / stats.t.ppf(tail, count - 1)) ** 2)
    worth = min(n, n / max(_design_effect(below, sizes, share), 1e-9) * freedom)
    first = stats.beta.ppf(tail, worth * share, worth * (1 - share) + 1)
    last = stats.beta.ppf(1 - tail, worth * share + 1, worth * (1 - share))
    total = below.sum(axis=0) / n
    low, high = (int(np.searchsorted(total, bound - 1e-12)) for bound in (first, last))
    return low, min(high, len(total) - 1)
