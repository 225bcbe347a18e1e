"""A value with what bounds it: medians, percentiles, bootstrap."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Floats: TypeAlias = NDArray[np.float64]

#: Share of the intervals that hold the true value. The convention of every field that reads these.
LEVEL = 0.95
#: Numbers that are drawn at once, at most: 64 MB.
AT_ONCE = 8_000_000


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


def _median(values: Floats) -> float:
    return float(np.median(values))


def bca(
    groups: Sequence[ArrayLike],
    statistic: Callable[[Floats], float] = _median,
    *,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return a statistic with a bias-corrected, accelerated bootstrap interval over runs, then transfers.

    Transfers of one run are alike, so they are not drawn as if they were independent: runs are drawn
    first, then transfers within each. With a single group its values are drawn alone.

    Args:
        groups: The values of each run.
        statistic: Of all values drawn; default the median.
        level: Share of intervals that hold the true value.
        resamples: Draws; 2,000 settle a bound of 95 % to about its second digit.
        seed: Of the draws.
    """
    runs = [numbers(group) for group in groups]
    runs = [run for run in runs if len(run)]
    everything = np.concatenate(runs) if runs else np.empty(0)
    n = len(everything)
    method = f"BCa bootstrap over {len(runs)} runs, then transfers, {resamples} draws, seed {seed}"
    units = len(runs) if len(runs) > 1 else n
    if units < 2:
        value = statistic(everything) if n else None
        return Interval(value, None, None, n, level, method, "n too small for an interval")
    value = statistic(everything)
    random = np.random.default_rng(seed)
    length = len(runs[0])
    if statistic is _median and all(len(run) == length for run in runs) and n * resamples <= AT_ONCE:
        # All draws at once: a hundred times as quick as one by one.
        table, shape = np.stack(runs), (resamples, len(runs), length)
        chosen = np.arange(len(runs))[None, :, None]
        if len(runs) > 1:
            chosen = random.integers(len(runs), size=(resamples, len(runs), 1))
        picked = table[np.broadcast_to(chosen, shape), random.integers(length, size=shape)]
        drawn = np.median(picked.reshape(resamples, -1), axis=1)
    else:
        drawn = _drawn(runs, statistic, resamples, random)
    below = (np.count_nonzero(drawn < value) + 0.5 * np.count_nonzero(drawn == value)) / resamples
    bias = stats.norm.ppf(np.clip(below, 1 / resamples, 1 - 1 / resamples))
    pull = _acceleration(_left_out(runs, statistic))
    bounds = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        shift = bias + stats.norm.ppf(tail)
        bounds.append(float(np.quantile(drawn, stats.norm.cdf(bias + shift / (1 - pull * shift)))))
    note = "" if units >= 6 else f"n too small to trust the bounds: {units} runs, 6 are needed"
    return Interval(value, bounds[0], bounds[1], n, level, method, note)


def _drawn(
    runs: list[Floats], statistic: Callable[[Floats], float], resamples: int, random: np.random.Generator
) -> Floats:
    drawn = np.empty(resamples)
    for index in range(resamples):
        chosen = [runs[k] for k in random.integers(len(runs), size=len(runs))] if len(runs) > 1 else runs
        picked = [run[random.integers(len(run), size=len(run))] for run in chosen]
        drawn[index] = statistic(np.concatenate(picked))
    return drawn


def _left_out(runs: list[Floats], statistic: Callable[[Floats], float]) -> Floats:
    """Return the statistic without each run in turn; without each value where there is one run."""
    if len(runs) > 1:
        parts = [np.concatenate([*runs[:k], *runs[k + 1 :]]) for k in range(len(runs))]
    else:
        # A thousand left out tell the skew as well as all of them.
        keep = np.linspace(0, len(runs[0]) - 1, min(len(runs[0]), 1000)).astype(int)
        parts = [np.delete(runs[0], k) for k in keep]
    return np.array([statistic(part) for part in parts])


def _acceleration(left_out: Floats) -> float:
    away = left_out.mean() - left_out
    spread = float((away**2).sum())
    return 0.0 if spread == 0 else float((away**3).sum() / (6 * spread**1.5))
