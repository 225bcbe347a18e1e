"""A against B: paired within the replicates of one run, unpaired where they are of two runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from haulage.lab.analysis.statistics.interval import LEVEL, Floats, Interval, numbers

#: Below this a difference is not called one, whatever its p: no choice of a tool hangs on it, and the
#: order of two runs alone can make it.
SMALLEST_DIFFERENCE = 0.01
#: What differs by less is equivalent, where a plan states no margin of its own.
MARGIN = 0.05
#: Arrangements are counted one by one up to this many, drawn above.
EXACT = 20_000
#: Arrangements that are drawn where there are more.
DRAWS = 19_999

Says = Literal["different", "equivalent", "undecided"]


@dataclass(frozen=True)
class Comparison:
    """B against A as the logarithm of the ratio of their rates.

    Attributes:
        shift: Hodges-Lehmann shift of the logarithm of B over A, with its interval.
        p: Two-sided, of the permutation test (paired) or of Mann and Whitney (unpaired).
        says: ``"different"``, ``"equivalent"`` (the interval lies within the margin), or ``"undecided"``.
    """

    shift: Interval
    p: float
    says: Says

    @property
    def ratio(self) -> Interval:
        """The shift as B over A: 1.2 is a fifth faster."""
        shift = self.shift

        def back(value: float | None) -> float | None:
            return None if value is None else math.exp(value)

        bounds = back(shift.value), back(shift.low), back(shift.high)
        return Interval(*bounds, shift.n, shift.level, shift.method, shift.note)


def verdict(shift: Interval, p: float, *, margin: float = MARGIN, own: float = 0.0) -> Says:
    """Say whether two things differ, are equivalent, or neither can be shown.

    Equivalent is what two one-sided tests show: that B is slower by less than the margin, and faster by less
    than it. That is so where the interval lies within the margin, so noise makes it harder, not easier.

    Args:
        shift: Of log rates, with its interval.
        p: Of the test, corrected where it is one of several.
        margin: Share by which the rates of equivalent things may differ; default 5 %.
        own: By how much the baseline was shown to differ from itself, as a logarithm; default not at all.
    """
    if shift.value is None or shift.low is None or shift.high is None:
        return "undecided"
    # A margin of the whole rate or more would make everything equivalent; just below it, nearly so.
    margin = min(margin, 0.99)
    if math.log1p(-margin) < shift.low and shift.high < -math.log1p(-margin):
        return "equivalent"
    apart = shift.low > 0 or shift.high < 0
    if apart and p < 1 - LEVEL and abs(shift.value) > max(own, SMALLEST_DIFFERENCE):
        return "different"
    return "undecided"


def compare(
    a: ArrayLike, b: ArrayLike, again: ArrayLike | None = None, *, margin: float = MARGIN, seed: int = 0
) -> Comparison:
    """Compare rates of B with rates of A, paired by place: both of one replicate of one run.

    Args:
        a: Rates of A, above zero.
        b: Rates of B in the same replicates.
        again: Rates of A's second time in the same replicates, the A/A arm: it sharpens the test.
        margin: Share by which equivalent things may differ.
        seed: Of the permutations, where there are too many to count.
    """
    first, second = _logs(a), _logs(b)
    kept = np.isfinite(first) & np.isfinite(second)
    shift = hodges_lehmann(second[kept] - first[kept])
    p = permutation_test(second, first, None if again is None else _logs(again), seed=seed)
    return Comparison(shift, p, verdict(shift, p, margin=margin))


def compare_unpaired(a: ArrayLike, b: ArrayLike, *, margin: float = MARGIN) -> Comparison:
    """Compare rates of B with rates of A where nothing makes pairs of them: replicates of two runs.

    Args:
        a: Rates of A, above zero.
        b: Rates of B; as many or not.
        margin: Share by which equivalent things may differ.
    """
    first, second = (logs[np.isfinite(logs)] for logs in (_logs(a), _logs(b)))
    shift = unpaired_shift(first, second)
    p = mann_whitney(first, second)
    return Comparison(shift, p, verdict(shift, p, margin=margin))


def _logs(rates: ArrayLike) -> Floats:
    values = np.asarray(rates, dtype=np.float64)
    logs: Floats = np.log(np.where(values > 0, values, np.nan))
    return logs


def hodges_lehmann(differences: ArrayLike, level: float = LEVEL) -> Interval:
    """Return the shift between the members of pairs: the median of the means of all pairs of differences.

    Bounded by the signed-rank distribution; six pairs are the fewest that reach 95 %. It is ours because
    scipy has the test, but neither the shift nor its interval.

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
    return _between(means, n, *signed_rank_bound(len(data), level), level, method)


def unpaired_shift(a: ArrayLike, b: ArrayLike, level: float = LEVEL) -> Interval:
    """Return by how much B lies above A: the median of all differences between one of B and one of A.

    Bounded by the distribution of Mann and Whitney's U; four of each reach 95 %. Ours for the same reason as
    :func:`hodges_lehmann`.

    >>> found = unpaired_shift([1.0, 2.0, 3.0, 4.0], [11.0, 12.0, 13.0, 14.0])
    >>> found.value, found.low, found.high
    (10.0, 7.0, 13.0)
    """
    first, second = (_thin(numbers(values)) for values in (a, b))
    n = min(len(first), len(second))
    method = "Hodges-Lehmann shift of two samples, Mann-Whitney interval"
    if n == 0:
        return Interval(None, None, None, 0, level, method, "nothing to compare")
    apart = np.sort((second[:, None] - first[None, :]).ravel())
    return _between(apart, n, *mann_whitney_bound(len(first), len(second), level), level, method)


def largest_of(differences: ArrayLike, asked: int, level: float = LEVEL) -> Interval:
    """Return the shift of pairs that was chosen because it is the largest of ``asked``.

    Whichever is largest was favoured by chance: of all intervals its own is the most likely to err. So
    the error that is accepted is divided by their number. Signed ranks
    of few pairs know no such level, so the bounds are Student's.
    """
    data = numbers(differences)
    n, method = len(data), f"mean of pairs, Student's interval for the largest of {asked}"
    if n < 2:
        return Interval(None, None, None, n, level, method, "n too small for an interval")
    middle = float(data.mean())
    # Of the largest of several, chance favours one side: the whole error is spent there.
    reach = float(stats.t.isf((1 - level) / max(2, asked), n - 1)) * float(data.std(ddof=1)) / math.sqrt(n)
    return Interval(middle, middle - reach, middle + reach, n, level, method)


def of_the_best(found: Interval, logs: ArrayLike, asked: int) -> Interval:
    """Return the interval of a rate or ratio that was chosen because it is the best of ``asked``.

    Args:
        found: What is said of it as if it were the only one.
        logs: The logarithms of what it was found from.
        asked: How many were compared; a single one keeps its interval.

    >>> one = Interval(2.0, 1.9, 2.1, 6, 0.97, "median")
    >>> logs = np.log([1.9, 1.95, 2.0, 2.0, 2.05, 2.1])
    >>> [round(of_the_best(one, logs, asked).low, 2) for asked in (1, 10, 100)]
    [1.9, 1.89, 1.81]
    """
    if asked < 2 or found.value is None:
        return found
    best = largest_of(logs, asked)
    if best.low is None or best.high is None:
        return replace(found, low=None, high=None, method=best.method, note=best.note)
    low, high = min(math.exp(best.low), found.value), max(math.exp(best.high), found.value)
    return replace(found, low=low, high=high, level=best.level, method=best.method)


def _thin(data: Floats) -> Floats:
    return data if len(data) <= 1000 else np.sort(data)[np.linspace(0, len(data) - 1, 1000).astype(int)]


def _between(ordered: Floats, n: int, rank: int, achieved: float, level: float, method: str) -> Interval:
    value = float(np.median(ordered))
    if rank < 1:
        return Interval(value, None, None, n, level, method, "n too small for an interval")
    return Interval(value, float(ordered[rank - 1]), float(ordered[-rank]), n, achieved, method)


def signed_rank_bound(n: int, level: float) -> tuple[int, float]:
    """Return the rank from either end of the means that bounds the shift, and the level achieved."""
    if n > 50:
        centre, spread = n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return int(centre + stats.norm.ppf((1 - level) / 2) * spread), level
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1
    for rank in range(1, n + 1):
        ways[rank:] = ways[rank:] + ways[:-rank]
    return _rank_of(ways, level)


def mann_whitney_bound(n: int, m: int, level: float) -> tuple[int, float]:
    """Return the rank from either end of the differences that bounds the shift, and the level achieved."""
    if max(n, m) > 50:
        spread = math.sqrt(n * m * (n + m + 1) / 12)
        return int(n * m / 2 + stats.norm.ppf((1 - level) / 2) * spread), level
    # Of each number of values of A, in how many ways U comes to each sum: the Gaussian binomial.
    ways = np.zeros((n + 1, n * m + 1))
    ways[0, 0] = 1
    for place in range(1, n + m + 1):
        for taken in range(min(place, n), 0, -1):
            above = place - taken
            if above <= m:
                ways[taken, above:] += ways[taken - 1, : ways.shape[1] - above]
    return _rank_of(ways[n], level)


def _rank_of(ways: Floats, level: float) -> tuple[int, float]:
    share = np.cumsum(ways) / ways.sum()
    rank = int(np.count_nonzero(share <= (1 - level) / 2))
    return rank, 1 - 2 * float(share[rank - 1]) if rank else 0.0


def permutation_test(
    b: ArrayLike, a: ArrayLike, again: ArrayLike | None = None, *, draws: int = DRAWS, seed: int = 0
) -> float:
    """Return the two-sided p of "within each replicate, any of the arms could have been B".

    All arrangements up to 20,000, ``draws`` of them above. Two arms in six replicates have 64, so their
    smallest p is 2/64, too coarse for many comparisons; with the baseline's second time it is 1/729. Ours
    because scipy's ``permutation_test`` would also go through the orders of the two baselines, of which
    nothing depends: 46,656 for six replicates, each made in Python.

    >>> permutation_test([1.0, 1.1, 0.9, 1.0, 1.2, 0.8], [0.0] * 6)
    0.03125
    """
    columns = [np.asarray(column, dtype=np.float64) for column in (b, a)]
    table = np.column_stack(columns)
    if again is not None:
        three = np.column_stack([table, np.asarray(again, dtype=np.float64)])
        # Only where it is never missing: a test on fewer replicates is no better one.
        if np.isfinite(three).all(axis=1).sum() == np.isfinite(table).all(axis=1).sum():
            table = three
    table = table[np.isfinite(table).all(axis=1)]
    n, arms = table.shape
    # By how much each arm lies above the mean of the others of its replicate.
    above = (table - table.mean(axis=1, keepdims=True)) * arms / (arms - 1)
    if n == 0 or not above.any():
        return 1.0
    # Sums of the same numbers in another order differ in the last digits.
    edge = abs(float(above[:, 0].mean())) * (1 - 1e-12)
    if arms**n <= EXACT:
        chosen = (np.arange(arms**n)[:, None] // arms ** np.arange(n)) % arms
        return float(np.mean(np.abs(above[np.arange(n), chosen].mean(axis=1)) >= edge))
    random = np.random.default_rng(seed)
    beyond = 0
    for _ in range(0, draws, 1000):
        chosen = random.integers(arms, size=(1000, n))
        beyond += int(np.count_nonzero(np.abs(above[np.arange(n), chosen].mean(axis=1)) >= edge))
    return (beyond + 1) / (-(-draws // 1000) * 1000 + 1)


def mann_whitney(a: ArrayLike, b: ArrayLike) -> float:
    """Return the two-sided p of Mann and Whitney, exact where a sample is small; 1 where one is empty.

    >>> round(mann_whitney([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]), 4)
    0.0022
    """
    first, second = numbers(a), numbers(b)
    both = np.concatenate([first, second])
    if not len(first) or not len(second) or np.ptp(both) == 0:
        return 1.0
    ties = len(np.unique(both)) < len(both)
    if min(len(first), len(second)) > 30 or (ties and len(both) > 14):
        return float(stats.mannwhitneyu(first, second, method="asymptotic").pvalue)
    method = stats.PermutationMethod() if ties else "exact"
    return float(stats.mannwhitneyu(first, second, method=method).pvalue)


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Return each p as the share of false findings among all that are at least as clear.

    >>> [round(q, 3) for q in benjamini_hochberg([0.01, 0.02, 0.9])]
    [0.03, 0.03, 0.9]
    """
    if not p:
        return []
    return [float(q) for q in stats.false_discovery_control(np.asarray(p, dtype=np.float64))]
