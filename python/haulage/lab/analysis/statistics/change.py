"""Tells a fault from a drift: whether a rate fell at a moment, slid over the run, both, or neither.

Steps are sought by PELT on the logarithm of the rate, drift by Theil-Sen and Hamed and Rao's Mann-Kendall
on what remains. A slide looks like many small steps to PELT, and a step like a slide to Theil-Sen, so the
explanations (level, slope, ramp, curve, steps, steps and slope) compete by BIC, which makes each extra
number pay.

That anything changed, and each step, has to pass a test of its own, because no library knows how often PELT
finds steps where there are none: the series is shuffled and made as alike from transfer to transfer as it
was (AR(1), its coefficient shrunk towards zero), and shows how far chance goes. So values of two heaps, or
with heavy tails, raise no more false alarms than others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pymannkendall
import ruptures
from numpy.typing import ArrayLike
from scipy import ndimage, stats

from haulage.lab.analysis.statistics.interval import LEVEL, Floats
from haulage.lab.analysis.statistics.shuffled import (
    SHORTEST,
    alike_of,
    alike_of_differences,
    beyond,
    chance,
    shuffled,
    split,
    without_steps,
)

#: Longer series are taken as medians of so many groups, and each step then dated within its group.
LONGEST = 1000
#: For slopes, whose work grows with the square.
LONGEST_SLOPE = 300
#: Values on each side of a step that must show it.
NEAR = 8
#: A fall or rise of the rate below this is no finding.
SMALLEST = 0.03
#: Chance may make a series look this changed this often. Stricter than the 5 % that may be said wrongly: how
#: alike neighbours are is known badly from 30 values. What is real passes all the same.
CHANGED_P = 0.005
#: Chance may make a step this often, once it is known that something changed.
STEP_P = 0.01
#: A slope beside a step is believed at this p: it is the last thing sought, of many.
BESIDE_P = 0.001
#: Values on each side of a step that are imagined anew, to bound its date.
AROUND = 500
#: A slide within so many transfers is a step.
QUICK = 5
#: A break has so many values on each side, and is so many times the next jump.
BROKEN_VALUES, BROKEN_TIMES = 5, 3.0
#: A chance slope of this p is believed.
DRIFT_P = 0.05


@dataclass(frozen=True)
class Step:
    """The rate changed at once.

    Attributes:
        index: First transfer at the new rate, from 0.
        low: Earliest transfer that is about as good an explanation.
        high: Latest.
        before: Rate before, in the unit given.
        after: Rate after.
    """

    index: int
    low: int
    high: int
    before: float
    after: float

    @property
    def factor(self) -> float:
        """After over before."""
        return self.after / self.before


@dataclass(frozen=True)
class Trend:
    """A slide of the rate over the run.

    Attributes:
        slope: Of the logarithm of the rate, for each transfer (Theil-Sen).
        p: Of Hamed and Rao's Mann-Kendall test, which knows that neighbours are alike.
        total: Last over first, less one: -0.1 is a tenth slower.
        n: Transfers.
    """

    slope: float
    p: float
    total: float
    n: int


@dataclass(frozen=True)
class Change:
    """What the rate did over the run.

    Attributes:
        says: ``"step"``, ``"drift"``, ``"step and drift"``, ``"steady"``, or ``"n too small"``.
        steps: Each with its date.
        drift: Of what remains when steps are taken out.
        n: Transfers.
        spread: Standard deviation of what remains, on the logarithmic scale, robust.
    """

    says: Literal["step", "drift", "step and drift", "steady", "n too small"]
    steps: list[Step]
    drift: Trend | None
    n: int
    spread: float


def trend(values: ArrayLike) -> Trend:
    """Return Theil-Sen's slope of ``values`` over their order and the p of Hamed and Rao's test.

    Args:
        values: At least two; logarithms of rates, if ``total`` is to be a share.
    """
    data, group = _grouped(np.asarray(values, dtype=np.float64), LONGEST_SLOPE)
    place = (np.arange(len(data)) + 0.5) * group
    slope = float(stats.theilslopes(data, place).slope)
    p = 1.0
    if np.ptp(data) > 0:
        # Values that alternate make Hamed and Rao surer than independent ones would be; that is not taken.
        p = float(stats.kendalltau(place, data).pvalue)
        if len(data) >= 10:
            with np.errstate(invalid="ignore"):  # a variance below zero, which is then no better than p
                alike = pymannkendall.hamed_rao_modification_test(data, lag=math.isqrt(len(data)))
            p = max(p, float(np.nan_to_num(alike.p)))
    n = len(np.asarray(values))
    return Trend(slope, p, math.expm1(slope * (n - 1)), n)


def change_points(rates: ArrayLike, *, seed: int = 0) -> Change:
    """Say whether rates, in the order they were measured, stepped, drifted, both or neither.

    Args:
        rates: Above zero, of transfers in order; ten at least.
        seed: Of the shuffled series.
    """
    rate = np.asarray(rates, dtype=np.float64)
    n = len(rate)
    if n < 10:
        return Change("n too small", [], None, n, math.nan)
    logs = np.log(rate)
    data, group = _grouped(logs, LONGEST)
    random = np.random.default_rng(seed)
    tame = _without_spikes(data)
    cuts, slope, fitted = _explain(tame, _noise(tame))
    alike = alike_of(data, tame - fitted, 2 * len(cuts) + 2)
    at = _break_of(tame)
    if at is not None:
        cuts, slope = (cuts, slope) if at in cuts else ([at], 0.0)
    elif chance(data, alike, random) > CHANGED_P:
        cuts, slope = [], 0.0
    cuts, slope = _believed(tame, cuts, slope, alike, random)
    if cuts and not _slides(tame, cuts, alike):
        slope = 0.0
    steps = [_dated(logs, [c * group for c in cuts], k, group, alike, random) for k in range(len(cuts))]
    rest = logs - _levels(logs, [step.index for step in steps], slope / group)[0]
    drift = trend(rest + slope / group * np.arange(n))
    drifts = slope != 0 and drift.p < DRIFT_P and abs(drift.total) > SMALLEST
    says: Literal["step", "drift", "step and drift", "steady"] = "steady"
    if steps:
        says = "step and drift" if drifts else "step"
    elif drifts:
        says = "drift"
    return Change(says, steps, drift, n, float(stats.median_abs_deviation(rest, scale="normal")))


def _break_of(data: Floats) -> int | None:
    """Return the first value after the one break of a series, if it has one that nobody doubts.

    Where one side is short and the other flat, the short one looks like outliers to a test of the whole. But
    sides that do not overlap are next to impossible by chance (one in a million of five among forty), and
    such a jump beside no other is none of a series whose neighbours are alike.
    """
    apart = np.diff(data)
    at = int(np.argmax(np.abs(apart))) + 1
    if min(at, len(data) - at) < BROKEN_VALUES:
        return None
    before, after = data[:at], data[at:]
    others = np.abs(np.delete(apart, at - 1))
    is_alone = abs(apart[at - 1]) > BROKEN_TIMES * float(others.max())
    return at if is_alone and (before.min() > after.max() or before.max() < after.min()) else None


def _grouped(data: Floats, longest: int) -> tuple[Floats, int]:
    """Return medians of groups, and how many values one stands for."""
    group = -(-len(data) // longest)
    if group == 1:
        return data, 1
    whole = data[: len(data) // group * group].reshape(-1, group)
    return np.median(whole, axis=1), group


def _without_spikes(data: Floats) -> Floats:
    """Pull single values towards their neighbours: one slow transfer is an outlier, not a fault."""
    near = ndimage.median_filter(data, size=5, mode="nearest")
    away = data - near
    reach = 4 * max(float(stats.median_abs_deviation(away, scale="normal")), 1e-9)
    tamed: Floats = near + np.clip(away, -reach, reach)
    return tamed


def _noise(data: Floats) -> float:
    """Return the spread that the mean of neighbours has for each of them, from their differences.

    No step and no drift enlarges those. It is larger where neighbours are alike: successive differences tell
    how much; their correlation is -1/2 if they are not alike at all.
    """
    apart = without_steps(data)
    alike = alike_of_differences(apart)
    return max(float(apart.std()) * 1.1 / math.sqrt(2) * math.sqrt(1 + alike) / (1 - alike), 1e-4)


def _explain(data: Floats, noise: float) -> tuple[list[int], float, Floats]:
    """Return steps and slope of the explanation with the least BIC, and what it makes of the series."""
    place = np.arange(len(data))
    near = max(len(data) // 10, 1)
    # A step spoils only the pairs that lie around it, so the median over near pairs does not see it.
    local = float(np.median(data[near:] - data[:-near])) / near
    found: list[tuple[float, list[int], float, Floats]] = []
    for start in (0.0, local, trend(data).slope):
        slope: float | None = start
        for _ in range(3):
            cuts = _cuts(data - (slope or 0.0) * place, noise)
            _, slope = _levels(data, cuts, None)
            for fixed in (0.0, None):
                for some in (cuts, []):
                    fitted, fit = _levels(data, some, fixed)
                    price = _bic(data - fitted, len(some), fixed is None, noise)
                    found.append((price, some, fit, fitted))
    best = min(found, key=lambda one: one[0])
    # A slide need not be straight, nor go on: slower and slower is a bend, and one that rests a ramp.
    slides: list[tuple[Floats, int]] = [
        (np.polynomial.Polynomial.fit(place, data, degree)(place), degree - 1) for degree in (2, 3)
    ]
    slides.append((_ramp(data), 2))
    for slid, bends in slides:
        price = _bic(data - slid, 0, True, noise, bends)
        if price < best[0] and float(stats.kendalltau(place, slid).pvalue) < DRIFT_P:
            best = (price, [], trend(data).slope, slid)
    return best[1:]


def _ramp(data: Floats) -> Floats:
    """Return the best fit of a level, a slide to another, and that."""
    n = len(data)
    place = np.arange(n, dtype=np.float64)
    knots = np.unique(np.linspace(0, n - 1, min(n, 31)).astype(int))
    first, last = (knots[k] for k in np.triu_indices(len(knots), 1))
    wide = last - first > QUICK
    first, last = first[wide, None], last[wide, None]
    shape = np.clip((place - first) / (last - first), 0, 1)
    inner = shape - shape.mean(axis=1, keepdims=True)
    height = inner @ (data - data.mean()) / (inner**2).sum(axis=1)
    best = int(np.argmax(height**2 * (inner**2).sum(axis=1)))
    fitted: Floats = data.mean() + height[best] * inner[best]
    return fitted


def _cuts(data: Floats, noise: float) -> list[int]:
    """Return where PELT cuts, the first value of each new stretch."""
    scaled = (data / noise).reshape(-1, 1)
    # Twice BIC's price of a cut: rates of neighbours are alike, which BIC does not know.
    found = (
        ruptures.KernelCPD(kernel="linear", min_size=SHORTEST)
        .fit(scaled)
        .predict(pen=4 * math.log(len(data)))
    )
    return [int(cut) for cut in found[:-1]]


def _levels(data: Floats, cuts: list[int], slope: float | None) -> tuple[Floats, float]:
    """Return a level for each stretch and one slope for all, fitted where it is not given."""
    n = len(data)
    stretch = np.searchsorted(np.asarray(cuts, dtype=np.int64), np.arange(n), side="right")
    place = np.arange(n, dtype=np.float64)
    count = np.bincount(stretch, minlength=len(cuts) + 1)

    def centred(values: Floats) -> Floats:
        mean: Floats = np.bincount(stretch, weights=values, minlength=len(cuts) + 1) / count
        return mean[stretch]

    if slope is None:
        inner = place - centred(place)
        slope = float(inner @ (data - centred(data)) / (inner @ inner))
    return centred(data - slope * place) + slope * place, slope


def _bic(rest: Floats, cuts: int, sloped: bool, noise: float, bends: int = 0) -> float:
    # A cut costs two numbers, its place and its level.
    n = len(rest)
    spread = max(float(np.mean(rest**2)), noise**2 / 4)
    return n * math.log(spread) + (1 + 2 * cuts + sloped + bends) * 2 * math.log(n)


def _believed(
    data: Floats, cuts: list[int], slope: float, alike: float, random: np.random.Generator
) -> tuple[list[int], float]:
    """Leave out cuts that are small, that chance makes of their own two sides, or that are slides."""
    cuts = list(cuts)
    place = np.arange(len(data))
    while cuts:
        flat = data - slope * place
        edges = [0, *cuts, len(data)]
        doubt = {
            cut: _doubt(flat[edges[k] : edges[k + 2]], cut - edges[k], alike, random)
            for k, cut in enumerate(cuts)
        }
        worst = max(doubt, key=lambda cut: doubt[cut])
        if doubt[worst] <= STEP_P:
            break
        cuts.remove(worst)
        slope = 0.0 if slope == 0 else _levels(data, cuts, None)[1]
    noise = _noise(data)
    while slow := [cut for cut in cuts if not _sudden(data, cuts, cut, noise)]:
        cuts.remove(slow[0])
        slope = _levels(data, cuts, None)[1]
    return cuts, slope


def _slides(data: Floats, cuts: list[int], alike: float) -> bool:
    """Whether there is a slope beside steps, with an error that knows of the steps."""
    fitted, slope = _levels(data, cuts, None)
    place = np.arange(len(data), dtype=np.float64)
    inner = place - _levels(place, cuts, 0.0)[0]
    freedom = len(data) - len(cuts) - 2
    error = float(np.sqrt(((data - fitted) ** 2).sum() / freedom / (inner**2).sum()))
    error *= math.sqrt((1 + alike) / (1 - alike))
    return abs(slope) > error * float(stats.t.isf(BESIDE_P / 2, freedom))


def _sudden(data: Floats, cuts: list[int], cut: int, noise: float) -> bool:
    """Whether half of what lies between the levels on the two sides lies between the nearest values.

    A slide that comes to rest is explained by a step about as well as by anything that was tried.
    """
    edges = [0, *cuts, len(data)]
    k = edges.index(cut, 1)
    before, after = data[edges[k - 1] : cut], data[cut : edges[k + 1]]
    apart = float(np.median(after) - np.median(before))
    near = float(np.median(after[:NEAR]) - np.median(before[-NEAR:]))
    doubt = 2 * noise * math.sqrt(1 / min(len(before), NEAR) + 1 / min(len(after), NEAR))
    return near * math.copysign(1, apart) + doubt >= abs(apart) / 2


def _doubt(data: Floats, cut: int, alike: float, random: np.random.Generator) -> float:
    """Return how often chance would make such a step; 1 for one that is too small to matter."""
    if abs(float(data[cut:].mean() - data[:cut].mean())) <= SMALLEST or len(data) < 2 * SHORTEST:
        return 1.0
    return float(beyond(split(shuffled(data, alike, random)))[0])


def _dated(
    logs: Floats, cuts: list[int], which: int, group: int, alike: float, random: np.random.Generator
) -> Step:
    """Date a step within its group of transfers, with the dates that explain it about as well."""
    start = cuts[which - 1] if which else 0
    end = cuts[which + 1] if which + 1 < len(cuts) else len(logs)
    part = logs[start:end]
    cut = cuts[which] - start
    before, after = float(np.median(part[:cut])), float(np.median(part[cut:]))
    apart = _apart(part, before, after)
    near = slice(max(cut - group - 2, 1) - 1, cut + group + 2)
    best = int(np.argmin(apart[near])) + near.start
    worse = _worse(part, best + 1, before, after, alike, random)
    good = np.flatnonzero(apart <= apart[best] + worse) + 1 + start
    best += 1 + start
    return Step(best, int(min(good[0], best)), int(max(good[-1], best)), math.exp(before), math.exp(after))


def _apart(rows: Floats, before: Floats | float, after: Floats | float) -> Floats:
    """Return for each date how far the values lie from the two levels.

    Absolute: one stray transfer beside the step must not move it.
    """
    return np.cumsum(np.abs(rows - before) - np.abs(rows - after), axis=-1)[..., :-1]


def _worse(
    part: Floats, cut: int, before: float, after: float, alike: float, random: np.random.Generator
) -> float:
    """Return by how much the true date is worse than the best, in all but one of twenty series like this.

    Likelihood ratios know it only of normal noise, small steps and levels that are known.
    """
    rest = part - np.where(np.arange(len(part)) < cut, before, after)
    first, last = max(cut - AROUND, 0), min(cut + AROUND, len(part))
    rest, cut = rest[first:last], cut - first
    rest = rest * math.sqrt(len(rest) / (len(rest) - 2))
    rows = shuffled(rest, alike, random)[1:]
    # It was found because it is large, so it looks larger than it is.
    spread = float(rest.std()) * math.sqrt((1 + alike) / (1 - alike))
    error = spread * math.sqrt(1 / cut + 1 / (len(rest) - cut))
    rows[:, cut:] += math.copysign(max(abs(after - before) - error, error), after - before)
    # The levels are those on the two sides of the cut that would have been found.
    sums, at = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, :-1], np.arange(1, rows.shape[1])
    found = 1 + np.argmax(sums**2 / (at * at[::-1]), axis=1)[:, None]
    below = np.arange(rows.shape[1]) < found
    levels = (np.nanmedian(np.where(side, rows, np.nan), axis=1, keepdims=True) for side in (below, ~below))
    apart = _apart(rows, *levels)
    return float(np.quantile(apart[:, cut - 1] - apart.min(axis=1), LEVEL, method="inverted_cdf"))
