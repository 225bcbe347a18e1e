"""Along a factor: where two methods change places, and which levels are as good as the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from haulage.lab.analysis.statistics.compare import hodges_lehmann
from haulage.lab.analysis.statistics.interval import LEVEL, Floats, Interval

#: What is this close to the best is as good: a choice among them may follow other needs.
TOLERANCE = 0.05


@dataclass(frozen=True)
class Crossover:
    """The size from which B is faster than A.

    Attributes:
        size: With its interval, in the unit of the sizes; no value where they do not change places.
        says: The same in words.
    """

    size: Interval
    says: str


def crossover(
    sizes: Sequence[float],
    log_ratios: Sequence[ArrayLike],
    *,
    level: float = LEVEL,
    draws: int = 2000,
    seed: int = 0,
) -> Crossover:
    """Return the size where the median of log(B/A) goes from below to above zero.

    Between two sizes it is interpolated on the logarithm of the size. The interval comes from drawing
    replicates, all sizes of one replicate together, because they were measured together.

    Args:
        sizes: Rising.
        log_ratios: For each size, one value for each replicate; ``nan`` where one is missing.
        level: Share of intervals that hold the true size.
        draws: Of replicates.
        seed: Of the draws.
    """
    place = np.log(np.asarray(sizes, dtype=np.float64))
    width = max((len(np.atleast_1d(np.asarray(row))) for row in log_ratios), default=0)
    table = np.full((len(place), width), np.nan)
    for index, row in enumerate(log_ratios):
        table[index, : len(np.atleast_1d(np.asarray(row)))] = row
    method = f"zero of the median log ratio, bootstrap over replicates, {draws} draws, seed {seed}"
    n = int(np.count_nonzero(np.isfinite(table)))
    place, table = place[np.isfinite(table).any(axis=1)], table[np.isfinite(table).any(axis=1)]
    if width == 0 or len(place) < 2:
        return Crossover(Interval(None, None, None, n, level, method, "no sizes to compare"), "no sizes")
    middle = np.nanmedian(table, axis=1)
    zero = _zero(place, middle)
    if zero is None:
        always = "faster" if middle[0] > 0 else "slower"
        note = f"B is {always} at every size measured"
        return Crossover(Interval(None, None, None, n, level, method, note), note)
    value = math.exp(zero)
    if width < 6:
        small = Interval(value, None, None, n, level, method, "n too small for an interval")
        return Crossover(small, f"B is faster from {value:g} up")
    random = np.random.default_rng(seed)
    picked = table[:, random.integers(width, size=(draws, width))]
    drawn = []
    for again in _nanmedian(picked).T:
        # A size of which no replicate was drawn does not take part.
        there = np.isfinite(again)
        at = _zero(place[there], again[there])
        # Never crossing within the sizes means: beyond their end.
        drawn.append(at if at is not None else (place[0] if again[there][0] > 0 else place[-1]))
    low, high = np.quantile(np.asarray(drawn), [(1 - level) / 2, (1 + level) / 2])
    found = Interval(value, math.exp(float(low)), math.exp(float(high)), n, level, method)
    return Crossover(found, f"B is faster from {value:g} up")


def _nanmedian(values: Floats) -> Floats:
    """Return medians over the last axis; ``nan`` where nothing is there, without a warning."""
    ordered = np.sort(values, axis=-1)  # nan goes last
    n = np.isfinite(values).sum(axis=-1)
    low, high = np.maximum((n - 1) // 2, 0), np.maximum(n // 2, 0)
    first = np.take_along_axis(ordered, low[..., None], axis=-1)[..., 0]
    last = np.take_along_axis(ordered, np.minimum(high, values.shape[-1] - 1)[..., None], axis=-1)[..., 0]
    return np.asarray((first + last) / 2, dtype=np.float64)


def _zero(place: Floats, middle: Floats) -> float | None:
    """Return where the values rise through zero for good: after it no value lies below."""
    below = np.flatnonzero(middle <= 0)
    if len(below) == 0 or below[-1] == len(middle) - 1:
        return None
    left = int(below[-1])
    share = -middle[left] / (middle[left + 1] - middle[left])
    return float(place[left] + share * (place[left + 1] - place[left]))


@dataclass(frozen=True)
class FlatRegion:
    """The levels of a factor that are as good as the best.

    Attributes:
        best: The level with the highest median.
        low: Smallest level of the stretch around the best that is within the tolerance.
        high: Largest.
        against_best: For each level the shift of log(rate) against the best, paired by replicate.
        recommended: The smallest of the stretch: less memory, less to send again, earlier proof.
    """

    best: float
    low: float
    high: float
    against_best: dict[float, Interval]

    @property
    def recommended(self) -> float:
        """The smallest level of the flat region."""
        return self.low


def flat_region(rates: Mapping[float, ArrayLike], tolerance: float = TOLERANCE) -> FlatRegion:
    """Return which levels lie within ``tolerance`` of the best, without a worse one between.

    Args:
        rates: For each level, one rate for each replicate, in the same order.
        tolerance: Share of the best rate that may be missing; default 5 %.
    """
    levels = sorted(rates)
    logs = {level: np.log(np.asarray(rates[level], dtype=np.float64)) for level in levels}
    best = max(levels, key=lambda level: float(np.nanmedian(logs[level])))
    against = {level: hodges_lehmann(logs[level] - logs[best]) for level in levels}
    floor = math.log1p(-tolerance)

    def good(level: float) -> bool:
        shift = against[level].value
        return shift is not None and shift >= floor

    at = levels.index(best)
    low = high = at
    while low > 0 and good(levels[low - 1]):
        low -= 1
    while high + 1 < len(levels) and good(levels[high + 1]):
        high += 1
    return FlatRegion(best, levels[low], levels[high], against)
