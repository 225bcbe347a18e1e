"""A against B, paired within the replicate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from haulage.lab.analysis.statistics.interval import LEVEL, Floats, Interval, numbers

#: Below this a difference is not called one, whatever its p: no choice of a tool hangs on it, and the
#: order of two runs alone can make it.
SMALLEST_DIFFERENCE = 0.01
#: Sign flips are counted one by one up to this many pairs (16,384 of them), drawn above.
EXACT_PAIRS = 14


@dataclass(frozen=True)
class Comparison:
    """B against A as the logarithm of the ratio of their rates.

    Attributes:
        shift: Hodges-Lehmann shift of the logarithm of B over A, with its interval.
        p: Of the permutation test, two-sided.
        band: Half width within which A differs from itself in this run; ``None`` without an A/A arm.
        says: ``"different"``, ``"equivalent"`` (the interval lies within the band), or ``"undecided"``.
    """

    shift: Interval
    p: float
    band: float | None
    says: Literal["different", "equivalent", "undecided"]

    @property
    def ratio(self) -> Interval:
        """The shift as B over A: 1.2 is a fifth faster."""
        shift = self.shift

        def back(value: float | None) -> float | None:
            return None if value is None else math.exp(value)

        bounds = back(shift.value), back(shift.low), back(shift.high)
        return Interval(*bounds, shift.n, shift.level, shift.method, shift.note)


def hodges_lehmann(differences: ArrayLike, level: float = LEVEL) -> Interval:
    """Return the shift between the members of pairs: the median of the means of all pairs of differences.

    Bounded by the signed-rank distribution; six pairs are the fewest that reach 95 %.

    >>> found = hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> found.value, found.low, found.high
    (3.5, 1.0, 6.0)
    """
    data = numbers(differences)
    n = len(data)
    method = "Hodges-Lehmann shift of pairs, signed-rank interval"
    if n == 0:
        return Interval(None, None, None, 0, level, method, "no pairs")
    if n > 1500:  # a million means are enough, and 9 MB
        data = data[np.linspace(0, n - 1, 1500).astype(int)]
    first, second = np.triu_indices(len(data))
    means = np.sort((data[first] + data[second]) / 2)
    value = float(np.median(means))
    rank, achieved = _signed_rank_bound(len(data), level)
    if rank < 1:
        return Interval(value, None, None, n, level, method, "n too small for an interval")
    return Interval(value, float(means[rank - 1]), float(means[len(means) - rank]), n, achieved, method)


def _signed_rank_bound(n: int, level: float) -> tuple[int, float]:
    """Return the rank from either end of the means that bounds the shift, and the level achieved."""
    tail = (1 - level) / 2
    if n > 50:
        centre, spread = n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return int(centre + stats.norm.ppf(tail) * spread), level
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1
    for rank in range(1, n + 1):
        ways[rank:] = ways[rank:] + ways[:-rank]
    share = np.cumsum(ways) / 2.0**n
    rank = int(np.count_nonzero(share <= tail))
    return rank, 1 - 2 * float(share[rank - 1]) if rank else 0.0


def permutation_test(differences: ArrayLike, *, draws: int = 9999, seed: int = 0) -> float:
    """Return the two-sided p of "the members of each pair could be swapped", from flips of signs.

    All flips up to 14 pairs, ``draws`` of them above. The smallest p of six pairs is 2/64.

    >>> permutation_test([1.0, 1.1, 0.9, 1.0, 1.2, 0.8])
    0.03125
    """
    data = numbers(differences)
    n = len(data)
    if n == 0 or not data.any():
        return 1.0
    seen = abs(float(data.mean()))
    # Sums of the same numbers in another order differ in the last digits.
    edge = seen * (1 - 1e-12)
    if n <= EXACT_PAIRS:
        flips = 1 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float(np.mean(np.abs(flips @ data / n) >= edge))
    random = np.random.default_rng(seed)
    beyond = 0
    for _ in range(0, draws, 999):
        flips = random.choice(np.array([-1.0, 1.0]), size=(999, n))
        beyond += int(np.count_nonzero(np.abs(flips @ data / n) >= edge))
    total = -(-draws // 999) * 999
    return (beyond + 1) / (total + 1)


def t_test(differences: ArrayLike) -> float:
    """Return the two-sided p of the paired t-test; 1 for fewer than two pairs.

    For correcting many comparisons at once: the permutation test of few pairs has few values to give.
    """
    data = numbers(differences)
    if len(data) < 2 or np.ptp(data) == 0:
        return 1.0 if len(data) < 2 or data[0] == 0 else 0.0
    return float(stats.ttest_1samp(data, 0.0).pvalue)


def equivalence_band(again: ArrayLike, level: float = LEVEL) -> float | None:
    """Return how far A lies from itself: the farther bound of the A/A arm's shift, and at least 1 %.

    Args:
        again: Logarithms of the ratio of the baseline to itself, one for each replicate.
        level: Of the shift's interval.

    Returns:
        The half width on the logarithmic scale; ``None`` where the arm cannot bound it.
    """
    shift = hodges_lehmann(again, level)
    if shift.low is None or shift.high is None:
        return None
    return max(abs(shift.low), abs(shift.high), SMALLEST_DIFFERENCE)


def compare(
    a: ArrayLike, b: ArrayLike, again: ArrayLike | None = None, *, level: float = LEVEL, seed: int = 0
) -> Comparison:
    """Compare rates of B with rates of A, paired by place: both of one replicate.

    Args:
        a: Rates of A, above zero.
        b: Rates of B in the same replicates.
        again: Rates of A's second time in the same replicates, the A/A arm.
        level: Of the intervals; one minus it is the error that is accepted.
        seed: Of the permutations.
    """
    logs = _log_ratio(a, b)
    shift = hodges_lehmann(logs, level)
    p = permutation_test(logs, seed=seed)
    band = None if again is None else equivalence_band(_log_ratio(a, again), level)
    says: Literal["different", "equivalent", "undecided"] = "undecided"
    if shift.value is not None and shift.low is not None and shift.high is not None:
        apart = shift.low > 0 or shift.high < 0
        if apart and p < 1 - level and abs(shift.value) > max(band or 0.0, SMALLEST_DIFFERENCE):
            says = "different"
        elif band is not None and -band <= shift.low and shift.high <= band:
            says = "equivalent"
    return Comparison(shift, p, band, says)


def _log_ratio(a: ArrayLike, b: ArrayLike) -> Floats:
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    kept = np.isfinite(first) & np.isfinite(second) & (first > 0) & (second > 0)
    return np.log(second[kept]) - np.log(first[kept])


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Return each p as the share of false findings among all that are at least as clear.

    >>> [round(q, 3) for q in benjamini_hochberg([0.01, 0.02, 0.9])]
    [0.03, 0.03, 0.9]
    """
    if not p:
        return []
    return [float(q) for q in stats.false_discovery_control(np.asarray(p, dtype=np.float64))]
