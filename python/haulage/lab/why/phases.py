"""Parts a job where its rate changed: two regimes have no mean that would say anything about either."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from haulage.lab.why.asking import Rows, Window

#: A phase is no shorter: of the job, in hundredths, and in time.
LEAST_PARTS, LEAST_NS = 10, 10**9
#: A phase holds so many lives of a usual request, one after another.
LIVES = 3
#: The rate must change at least by this factor.
FACTOR = 1.6
#: And that of a single request by this one: where more are in flight, a higher rate is no other regime.
OF_ONE = 1.3
#: A step counts when it is worth this many times the noise of a bin by chance, times the logarithm of their
#: number.
PENALTY = 4.0
#: Where fewer than this share of the usual number are in flight, the rate follows the work, not the path.
BUSY = 0.5


def phases(rates: Rows, wall_ns: int, took_ns: float) -> tuple[Window, ...]:
    """Return the phases of a job, or nothing where its rate did not change midway.

    The start, where the number in flight still rises, and the end, where it falls, are no phases.

    Args:
        rates: Rows of ``rate_over_time.sql`` for the whole job, a hundred parts.
        wall_ns: Of the job.
        took_ns: Of a usual request: its bytes are spread over its life, so shorter phases cannot be seen.
    """
    rate = np.array([row["rate_bits_per_second"] for row in rates], dtype=float)
    flight = np.array([row["in_flight"] for row in rates], dtype=float)
    least = max(LEAST_PARTS, int(np.ceil(100 * max(LEAST_NS, LIVES * took_ns) / max(wall_ns, 1))))
    if not np.any(rate > 0) or 2 * least > len(rate):
        return ()
    busy = np.flatnonzero((flight >= BUSY * np.median(flight[flight > 0])) & (rate > 0))
    if len(busy) < 2 * least:
        return ()
    first, last = int(busy[0]), int(busy[-1]) + 1
    # A stop of the rate is a very low one; nothing has no logarithm.
    series = np.log(np.maximum(rate[first:last], 0.01 * np.median(rate[busy])))
    if len(series) < 2 * least:
        return ()
    cuts = _cuts(series, least, PENALTY * _noise(series) ** 2 * float(np.log(len(series))))
    edges = _worth([0, *cuts], series, np.log(np.maximum(flight[first:last], 0.1)))
    if len(edges) <= 2:
        return ()
    places = [0, *(first + edge for edge in edges[1:-1]), 100]
    return tuple(Window(wall_ns * began // 100, wall_ns * ended // 100) for began, ended in pairwise(places))


def _cuts(series: NDArray[np.float64], least: int, price: float) -> list[int]:
    """Return where phases of at least so many bins end, so that the squares around their means are least.

    Each cut costs ``price``. There are a hundred bins at most, so the best is found by trying all.
    """
    sums = np.concatenate([[0.0], np.cumsum(series)])
    squares = np.concatenate([[0.0], np.cumsum(series**2)])
    cost = np.full(len(series) + 1, np.inf)
    cost[0] = -price
    begins = np.zeros(len(series) + 1, dtype=int)
    for end in range(least, len(series) + 1):
        begin = np.arange(end - least + 1)
        around = squares[end] - squares[begin] - (sums[end] - sums[begin]) ** 2 / (end - begin)
        whole = cost[begin] + around + price
        begins[end] = int(np.argmin(whole))
        cost[end] = whole[begins[end]]
    cuts = [len(series)]
    while begins[cuts[0]] > 0:
        cuts.insert(0, int(begins[cuts[0]]))
    return cuts


def _noise(series: NDArray[np.float64]) -> float:
    """Return the noise of a bin around its phase, enlarged by what neighbours have in common."""
    steps = np.abs(np.diff(series))
    alone = 1.4826 * float(np.median(steps)) / np.sqrt(2)
    away = [value - np.median(series[max(0, at - 7) : at + 8]) for at, value in enumerate(series)]
    around = 1.4826 * float(np.median(np.abs(away)))
    return 2.0 * float(max(alone, around, 0.05))


def _worth(edges: list[int], series: NDArray[np.float64], flight: NDArray[np.float64]) -> list[int]:
    """Leave out edges across which the rate hardly changes, or only as the number in flight does."""
    edges = list(edges)
    while len(edges) > 2:
        levels = [float(np.median(series[a:b])) for a, b in pairwise(edges)]
        of_one = [float(np.median(series[a:b] - flight[a:b])) for a, b in pairwise(edges)]
        # Each as a multiple of what it must be.
        steps = np.minimum(np.abs(np.diff(levels)) / np.log(FACTOR), np.abs(np.diff(of_one)) / np.log(OF_ONE))
        least = int(np.argmin(steps))
        if steps[least] >= 1:
            break
        del edges[least + 1]
    return edges
