"""What a design would have missed: the size of a difference that it finds half of the time."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import stats

from haulage.lab.analysis.statistics.compare import mann_whitney_bound, signed_rank_bound
from haulage.lab.analysis.statistics.interval import LEVEL, Floats

#: Experiments that are imagined.
IMAGINED = 2000


def detectable(
    n: int, spread: float, *, questions: int = 1, paired: bool = True, again: bool = False
) -> float:
    """Return the share by which B must be faster to be called different half of the time.

    Ours because what has to be found out is how the rules of :mod:`compare` fare, interval and test together,
    and no library knows them. The noise is imagined as normal on the logarithm.

    Args:
        n: Replicates.
        spread: Standard deviation of the logarithms: of the ratios of pairs, or of the rates of one arm.
        questions: Comparisons among which it is the only difference, for their correction.
        paired: Whether both were measured in the same replicates.
        again: Whether the baseline was measured twice in each.

    Returns:
        0.1 for a tenth; infinity where no difference would be found, however large.
    """
    return math.expm1(spread * _in_spreads(n, questions, paired, again)) if spread > 0 else 0.0


@lru_cache(maxsize=256)
def _in_spreads(n: int, questions: int, paired: bool, again: bool) -> float:
    accepted = (1 - LEVEL) / questions
    if paired:
        arms = 3 if again else 2
        smallest = (1 if again else 2) / arms**n if n < 40 else 0.0
        rank = signed_rank_bound(n, LEVEL)[0]
    else:
        smallest = 2 / math.comb(2 * n, n) if n < 40 else 0.0
        rank = mann_whitney_bound(n, n, LEVEL)[0]
    if rank < 1 or smallest > accepted:
        return math.inf
    random = np.random.default_rng(0)
    low, high = 0.0, 64.0
    noise = random.standard_normal((2, IMAGINED, n))
    for _ in range(12):
        middle = (low + high) / 2
        found = (_pairs if paired else _samples)(noise, middle, rank, accepted)
        low, high = (low, middle) if found >= 0.5 else (middle, high)
    return high


def _pairs(noise: Floats, shift: float, rank: int, accepted: float) -> float:
    apart = noise[0] + shift
    ranks = stats.rankdata(np.abs(apart), axis=1)
    clear = (ranks * (apart <= 0)).sum(axis=1) < rank
    return float(np.mean(clear & (stats.ttest_1samp(apart, 0, axis=1).pvalue < accepted)))


def _samples(noise: Floats, shift: float, rank: int, accepted: float) -> float:
    first, second = noise[0], noise[1] + shift
    clear = (second[:, :, None] <= first[:, None, :]).sum(axis=(1, 2)) < rank
    p = stats.mannwhitneyu(second, first, axis=1, method="auto" if noise.shape[2] > 30 else "exact").pvalue
    return float(np.mean(clear & (p <= accepted)))
