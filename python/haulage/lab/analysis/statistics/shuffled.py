"""How far chance goes in a series whose neighbours are alike: the series itself, shuffled."""

from __future__ import annotations

import math

import numpy as np
from scipy import signal, stats

from haulage.lab.analysis.statistics.interval import Floats

#: Fewer transfers after a step may be chance.
SHORTEST = 3
#: Series that are shuffled. Two looks are taken at each, so the most extreme for either tie with what is
#: clear: with 400 that alone is 5 in 1,000, and the clearest slide passes for chance.
SHUFFLED = 1999


def without_steps(data: Floats) -> Floats:
    """Return successive differences; of the tenth that is largest, which holds the steps, only the sign."""
    apart = np.diff(data)
    most = np.quantile(np.abs(apart), 0.9)
    clipped: Floats = np.clip(apart, -most, most)
    return clipped


def alike_of_differences(apart: Floats) -> float:
    """Return the AR(1) coefficient that successive differences show, shrunk."""
    if len(apart) < 4 or np.ptp(apart) == 0:
        return 0.0
    # Twice the correlation has twice its error.
    return _shrunk(1 + 2 * float(np.corrcoef(apart[:-1], apart[1:])[0, 1]), len(apart) / 4)


def alike_of(data: Floats, rest: Floats, fitted: int) -> float:
    """Return the AR(1) coefficient of what no explanation explains, shrunk."""
    n = len(rest)
    if n < 4 or np.ptp(rest) == 0:
        return 0.0
    reach = 4 * max(float(stats.median_abs_deviation(rest, scale="normal")), 1e-9)
    tame = np.clip(rest - np.median(rest), -reach, reach)
    seen = float(tame[:-1] @ tame[1:] / (tame @ tame)) if tame.any() else 0.0
    # A fit takes a part of it away, the more the more numbers it has (Kendall's bias).
    seen += (fitted / 2 + (1 + fitted) * max(seen, 0)) / n
    return max(_shrunk(seen, n), alike_of_differences(without_steps(data)))


def _shrunk(alike: float, n: float) -> float:
    """Draw a coefficient towards zero by what chance alone makes of it (James and Stein)."""
    return float(np.clip(alike * max(0.0, 1 - 1 / (n * alike**2)), 0, 0.9)) if alike > 0 else 0.0


def shuffled(data: Floats, alike: float, random: np.random.Generator) -> Floats:
    """Return the series, then shuffled ones whose neighbours are as alike: a row each."""
    fresh = data - data.mean()
    if alike > 0:
        fresh = np.concatenate([fresh[:1] * math.sqrt(1 - alike**2), fresh[1:] - alike * fresh[:-1]])
    rows = random.permuted(np.tile(fresh, (SHUFFLED, 1)), axis=1)
    if alike > 0:
        rows[:, 0] /= math.sqrt(1 - alike**2)
        rows = signal.lfilter([1.0], [1.0, -alike], rows, axis=1)
    return np.vstack([data, rows])


def split(rows: Floats) -> Floats:
    """Return by how many standard errors the two sides of the best cut of each row differ."""
    n = rows.shape[1]
    centred = rows - rows.mean(axis=1, keepdims=True)
    at = np.arange(SHORTEST, n - SHORTEST + 1)
    sums = np.cumsum(centred, axis=1)[:, at - 1]
    square = np.maximum((centred**2).sum(axis=1), 1e-300)
    return np.asarray((sums**2 / (at * (n - at) / n)).max(axis=1) / square, dtype=np.float64)


def beyond(values: Floats) -> Floats:
    """Return for each value the share of all that are as large."""
    return np.asarray(stats.rankdata(-values, method="max") / len(values), dtype=np.float64)


def chance(data: Floats, alike: float, random: np.random.Generator) -> float:
    """Return how often a steady series looks as much as if it had stepped or slid."""
    reach = 5 * float(stats.median_abs_deviation(data, scale="normal"))
    middle = np.median(data)
    tame = np.clip(data, middle - reach, middle + reach) if reach > 0 else data
    if np.ptp(tame) == 0:
        return 1.0
    rows = shuffled(tame, alike, random)
    place = np.arange(len(tame)) - (len(tame) - 1) / 2
    slid = np.abs((rows - rows.mean(axis=1, keepdims=True)) @ place) / np.maximum(rows.std(axis=1), 1e-300)
    p = np.minimum(beyond(split(rows)), beyond(slid))
    return float(np.mean(p <= p[0]))
