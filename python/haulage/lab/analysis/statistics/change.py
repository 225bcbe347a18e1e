"""Tells a fault from a drift: whether a rate fell at a moment, slid over the run, both, or neither.

Steps are sought by PELT on the logarithm of the rate, drift by Theil-Sen and Mann-Kendall on what
remains. A slide looks like many small steps to PELT, and a step like a slide to Theil-Sen, so the
explanations (level, slope, curve, steps, steps and slope) compete by BIC, which makes each extra number
pay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import ruptures
from numpy.typing import ArrayLike
from scipy import ndimage, stats

from haulage.lab.analysis.statistics.interval import Floats

#: Longer series are taken as medians of so many groups, and each step then dated within its group.
LONGEST = 1000
#: For slopes, whose work grows with the square.
LONGEST_SLOPE = 300
#: Fewer transfers after a step may be chance.
SHORTEST = 3
#: Values on each side of a step that must show it.
NEAR = 8
#: A fall or rise of the rate below this is no finding.
SMALLEST = 0.03
#: Chance may make a step this often; there are as many places for one as transfers.
STEP_P = 5e-4
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
        low: Lower bound of the slope.
        high: Upper bound.
        p: Of the Mann-Kendall test.
        total: Last over first, less one: -0.1 is a tenth slower.
        n: Transfers.
    """

    slope: float
    low: float
    high: float
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
    """Return Theil-Sen's slope of ``values`` over their order and the p of Mann-Kendall's test.

    Args:
        values: At least two; logarithms of rates, if ``total`` is to be a share.
    """
    data, group = _grouped(np.asarray(values, dtype=np.float64), LONGEST_SLOPE)
    place = (np.arange(len(data)) + 0.5) * group
    slope, _, low, high = stats.theilslopes(data, place)
    p = float(stats.kendalltau(place, data).pvalue) if np.ptp(data) > 0 else 1.0
    n = len(np.asarray(values))
    return Trend(float(slope), float(low), float(high), p, math.expm1(float(slope) * (n - 1)), n)


def change_points(rates: ArrayLike) -> Change:
    """Say whether rates, in the order they were measured, stepped, drifted, both or neither.

    Args:
        rates: Above zero, of transfers in order; ten at least.
    """
    rate = np.asarray(rates, dtype=np.float64)
    n = len(rate)
    if n < 10:
        return Change("n too small", [], None, n, math.nan)
    logs = np.log(rate)
    data, group = _grouped(logs, LONGEST)
    tame = _without_spikes(data)
    noise = _noise(tame)
    cuts, slope = _explain(tame, noise)
    cuts, slope = _believed(tame, cuts, slope, noise)
    steps = [_dated(logs, [c * group for c in cuts], k, group) for k in range(len(cuts))]
    rest = logs - _levels(logs, [step.index for step in steps], slope / group)[0]
    drift = trend(rest + slope / group * np.arange(n))
    drifts = slope != 0 and drift.p < DRIFT_P and abs(drift.total) > SMALLEST
    says: Literal["step", "drift", "step and drift", "steady"] = "steady"
    if steps:
        says = "step and drift" if drifts else "step"
    elif drifts:
        says = "drift"
    return Change(says, steps, drift, n, float(stats.median_abs_deviation(rest, scale="normal")))


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

    No step and no drift enlarges those. It is that of the noisiest quarter, and larger where neighbours are
    alike: successive differences tell how much; their correlation is -1/2 if they are not alike at all.
    """
    apart = np.diff(data)
    length = max(len(apart) // 4, 12)
    starts = range(0, max(len(apart) - length, 0) + 1, max(length // 2, 1))
    spread = max(float(stats.median_abs_deviation(apart[k : k + length], scale="normal")) for k in starts)
    tame = np.clip(apart, -3 * spread, 3 * spread)
    alike = 0.0
    if spread > 0 and len(tame) > 3:
        alike = float(np.clip(1 + 2 * np.corrcoef(tame[:-1], tame[1:])[0, 1], 0, 0.9))
    return max(spread / math.sqrt(2) * math.sqrt(1 + alike) / (1 - alike), 1e-4)


def _explain(data: Floats, noise: float) -> tuple[list[int], float]:
    """Return steps and slope of the explanation with the least BIC."""
    place = np.arange(len(data))
    near = max(len(data) // 10, 1)
    # A step spoils only the pairs that lie around it, so the median over near pairs does not see it.
    local = float(np.median(data[near:] - data[:-near])) / near
    found: list[tuple[float, list[int], float]] = []
    for start in (0.0, local, trend(data).slope):
        slope: float | None = start
        for _ in range(3):
            cuts = _cuts(data - (slope or 0.0) * place, noise)
            _, slope = _levels(data, cuts, None)
            for fixed in (0.0, None):
                for some in (cuts, []):
                    fitted, fit = _levels(data, some, fixed)
                    found.append((_bic(data - fitted, len(some), fixed is None, noise), some, fit))
    best, cuts, slope = min(found, key=lambda one: one[0])
    # A slide need not be straight: slower and slower is a bend, not a step.
    for degree in (2, 3):
        bend = np.polynomial.Polynomial.fit(place, data, degree)(place)
        if _bic(data - bend, 0, True, noise, degree - 1) < best and trend(bend).p < DRIFT_P:
            return [], trend(data).slope
    return cuts, slope


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


def _believed(data: Floats, cuts: list[int], slope: float, noise: float) -> tuple[list[int], float]:
    """Leave out cuts that are small, or that the spread on their own two sides explains.

    The spread may differ from stretch to stretch: a link that has failed is often steadier than before, and
    measured by that, the noise of the good times looks like steps.
    """
    cuts = list(cuts)
    place = np.arange(len(data))
    while cuts:
        flat = data - slope * place
        edges = [0, *cuts, len(data)]
        doubt = {
            cut: _doubt(flat[edges[k] : cut], flat[cut : edges[k + 2]], noise) for k, cut in enumerate(cuts)
        }
        worst = max(doubt, key=lambda cut: doubt[cut])
        if doubt[worst] <= STEP_P:
            break
        cuts.remove(worst)
        slope = 0.0 if slope == 0 else _levels(data, cuts, None)[1]
    while slow := [cut for cut in cuts if not _sudden(data, cuts, cut, noise)]:
        cuts.remove(slow[0])
        slope = _levels(data, cuts, None)[1]
    return cuts, slope


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


def _doubt(before: Floats, after: Floats, noise: float) -> float:
    """Return how often chance would make such a difference; 1 for one that is too small to matter."""
    apart = abs(float(after.mean() - before.mean()))
    if apart <= SMALLEST:
        return 1.0
    spread = [float(part.std(ddof=1)) if len(part) > 1 else 0.0 for part in (before, after)]
    # Three values may lie close together by chance, and neighbours may be alike.
    floor = max(*spread, noise) / 2
    error = math.sqrt(
        sum(max(s, floor) ** 2 / len(part) for s, part in zip(spread, (before, after), strict=True))
    )
    return float(2 * stats.t.sf(apart / error, len(before) + len(after) - 2))


def _dated(logs: Floats, cuts: list[int], which: int, group: int) -> Step:
    """Date a step within its group of transfers, with the dates that explain it about as well."""
    start = cuts[which - 1] if which else 0
    end = cuts[which + 1] if which + 1 < len(cuts) else len(logs)
    near = range(max(start + 1, cuts[which] - group - 2), min(end, cuts[which] + group + 3))
    before, after = float(np.median(logs[start : cuts[which]])), float(np.median(logs[cuts[which] : end]))
    # Distance to the levels, absolute: one stray transfer beside the step must not move it.
    cost = {
        cut: float(np.abs(logs[start:cut] - before).sum() + np.abs(logs[cut:end] - after).sum())
        for cut in near
    }
    best = min(cost, key=lambda cut: cost[cut])
    spread = max(float(np.median(np.abs(logs[start:best] - before))), 1e-4)
    alike = [cut for cut, price in cost.items() if price <= cost[best] + 2 * spread]
    return Step(best, min(alike), max(alike), math.exp(before), math.exp(after))
