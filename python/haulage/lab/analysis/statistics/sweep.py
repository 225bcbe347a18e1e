"""Along a factor: where two methods change places, which levels are as good as the best, what is enough."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from haulage.lab.analysis.statistics.compare import MARGIN, SMALLEST_DIFFERENCE, hodges_lehmann
from haulage.lab.analysis.statistics.interval import LEVEL, Floats, Interval, numbers

#: Places between two sizes at which the curves are compared.
BETWEEN = 20
#: A level that is enough may be said to lose too much this often by each of two tests, which agree mostly.
LOSES = 0.03


@dataclass(frozen=True)
class Crossover:
    """Where B begins or ceases to be faster than A.

    Attributes:
        crossings: Sizes where they change places, rising, each with its interval.
        rises: For each crossing whether B is the faster one above it.
        clear: For each size +1 where B is shown to be faster, -1 where A is, 0 where neither.
        open_below: Whether they may change places at the smallest sizes, where no winner is shown.
        open_above: The same of the largest.
        says: The same in words.
    """

    crossings: list[Interval]
    rises: list[bool]
    clear: list[int]
    open_below: bool
    open_above: bool
    says: str


def crossover(sizes: Sequence[float], log_ratios: Sequence[ArrayLike], *, level: float = LEVEL) -> Crossover:
    """Return the sizes at which two methods change places, where the curves differ on both sides.

    A winner at a size needs the interval of its pairs to leave out zero, and a t test that is corrected for
    the number of sizes. Between two sizes the log ratio of each replicate is interpolated on the
    logarithm of the size; the interval holds the sizes at which the replicates do not show a winner.

    Args:
        sizes: Rising.
        log_ratios: For each size log(B/A), one value for each replicate; ``nan`` where one is missing.
        level: Share of intervals that hold the true size.
    """
    place, table = _filled(sizes, log_ratios)
    if len(place) < 2:
        return Crossover([], [], [], True, True, "too few sizes to compare")
    clear = _winners(table)
    known = np.flatnonzero(clear)
    if not len(known):
        return Crossover([], [], clear.tolist(), True, True, "no difference was shown at any size")
    found, rises = [], []
    for left, right in itertools.pairwise(known):
        if clear[left] != clear[right]:
            part = slice(left, right + 1)
            found.append(_zero(place[part], table[part], bool(clear[right] > 0), level))
            rises.append(bool(clear[right] > 0))
    ends = bool(clear[0] == 0), bool(clear[-1] == 0)
    return Crossover(found, rises, clear.tolist(), *ends, _in_words(found, rises, clear, known))


def _in_words(found: list[Interval], rises: list[bool], clear: np.ndarray, known: np.ndarray) -> str:
    if not found:
        one = "faster" if clear[known[0]] > 0 else "slower"
        if len(known) == len(clear):
            return f"B is {one} at every size measured"
        return f"B is {one} at {len(known)} of {len(clear)} sizes; at the others no difference was shown"
    return "; ".join(
        f"B is {'faster' if rise else 'slower'} from {one.value:g} up"
        for one, rise in zip(found, rises, strict=True)
    )


def _filled(sizes: Sequence[float], rows: Sequence[ArrayLike]) -> tuple[Floats, Floats]:
    values = [np.atleast_1d(np.asarray(row, dtype=np.float64)) for row in rows]
    table = np.full((len(values), max((len(row) for row in values), default=0)), np.nan)
    for index, row in enumerate(values):
        table[index, : len(row)] = row
    there = np.isfinite(table).any(axis=1)
    return np.log(np.asarray(sizes, dtype=np.float64))[there], table[there]


def _winners(table: Floats) -> np.ndarray:
    """Return for each size which of the two is shown to be faster."""
    clear = np.zeros(len(table), dtype=np.int64)
    for index, row in enumerate(table):
        data = numbers(row)
        shift = hodges_lehmann(data)
        if shift.value is None or shift.low is None or shift.high is None:
            continue
        p = float(stats.ttest_1samp(data, 0.0).pvalue) if np.ptp(data) > 0 else 0.0
        apart = abs(shift.value) > SMALLEST_DIFFERENCE and (shift.low > 0 or shift.high < 0)
        if apart and p * len(table) < 1 - LEVEL:
            clear[index] = 1 if shift.value > 0 else -1
    return clear


def _zero(place: Floats, table: Floats, rises: bool, level: float) -> Interval:
    """Return where the curve goes through zero between two sizes that have different winners."""
    method = "zero of the shift, interpolated on log size; sizes at which it may be zero"
    at: list[float] = []
    shifts: list[Interval] = []
    for left in range(len(place) - 1):
        whole = left == len(place) - 2
        for share in np.linspace(0, 1, BETWEEN, endpoint=whole):
            at.append(float(place[left] + share * (place[left + 1] - place[left])))
            shifts.append(hodges_lehmann(table[left] + share * (table[left + 1] - table[left]), level))
    sign = 1.0 if rises else -1.0
    places = np.array(at)
    middle = np.array([sign * (shift.value or 0.0) for shift in shifts])
    zero = _through(places, middle)
    low, high = place[0], place[-1]
    bounds = [
        sorted((sign * shift.low, sign * shift.high))
        for shift in shifts
        if shift.low is not None and shift.high is not None
    ]
    if len(bounds) == len(shifts):
        least, most = np.array(bounds).T
        low, high = -_through(-places[::-1], -most[::-1]), _through(places, least)
    n = int(np.isfinite(table).all(axis=0).sum())
    return Interval(math.exp(zero), math.exp(min(low, zero)), math.exp(max(high, zero)), n, level, method)


def _through(place: Floats, curve: Floats) -> float:
    """Return where the curve rises through zero for good."""
    below = np.flatnonzero(curve <= 0)
    left = int(below[-1]) if len(below) and below[-1] < len(curve) - 1 else 0
    step = curve[left + 1] - curve[left]
    share = float(np.clip(-curve[left] / step, 0, 1)) if step > 0 else 0.5
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


def flat_region(rates: Mapping[float, ArrayLike], tolerance: float = MARGIN) -> FlatRegion:
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


def knee(rates: Mapping[float, ArrayLike], tolerance: float = MARGIN) -> Interval:
    """Return the smallest level that is enough: within ``tolerance`` of whatever larger levels give.

    Bounded below by the first level that is not shown to lose more than the tolerance, above by the first
    that is shown to lose less. Where no level below the largest is, there is no value: the rate may still
    rise there.

    Args:
        rates: For each level, one rate for each replicate, in the same order.
        tolerance: Share of the rate of larger levels that may be missing; default 5 %.
    """
    levels = sorted(rates)
    logs = np.array([np.log(np.asarray(rates[level], dtype=np.float64)) for level in levels])
    logs = logs[:, np.isfinite(logs).all(axis=0)]
    n, method = logs.shape[1], "smallest level within the tolerance of the larger ones, paired t intervals"
    if len(levels) < 3 or n < 2:
        return Interval(None, None, None, n, LEVEL, method, "n too small")
    floor = math.log1p(-tolerance)
    bounds = [tuple(_against_larger(logs, k)) for k in range(len(levels) - 1)]
    middle, low, high = (np.array([bound[k] for bound in bounds]) for k in range(3))
    enough = np.flatnonzero(middle >= floor)
    maybe, surely = np.flatnonzero(high >= floor), np.flatnonzero(low >= floor)
    first = levels[int(maybe[0])] if len(maybe) else levels[-1]
    if not len(surely):
        note = f"not determined: no level below {levels[-1]:g} is shown to be enough; at least {first:g}"
        return Interval(None, first, None, n, LEVEL, method, note)
    last = int(surely[0])
    value = min(int(enough[0]), last) if len(enough) else last
    return Interval(levels[value], min(first, levels[value]), levels[last], n, LEVEL, method)


def _against_larger(logs: Floats, level: int) -> Iterator[float]:
    """Yield how a level lies to what larger ones give, at worst: shift, lower and upper bound.

    They are asked all together, and the best of them alone. That one is best partly by luck, so it is the
    best of so many where it is to show that the level loses.
    """
    n, rest = logs.shape[1], logs[level + 1 :]
    apart = [logs[level] - one for one in (rest.mean(axis=0), rest[np.argmax(rest.mean(axis=1))])]
    found = [(float(one.mean()), float(one.std(ddof=1)) / math.sqrt(n)) for one in apart]
    enough = float(stats.t.isf((1 - LEVEL) / 2, n - 1))
    loses = [float(stats.t.isf(share, n - 1)) for share in (LOSES, LOSES / len(rest))]
    yield min(shift for shift, _ in found)
    yield min(shift - enough * error for shift, error in found)
    yield min(shift + reach * error for reach, (shift, error) in zip(loses, found, strict=True))
