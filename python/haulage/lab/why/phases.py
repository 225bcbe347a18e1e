"""Parts a job where its rate changed: two regimes have no mean that would say anything about either."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from haulage.lab.why.asking import Window

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


def phases(rates: pd.DataFrame, wall_ns: int, took_ns: float) -> tuple[Window, ...]:
    """Return the phases of a job, or nothing where its rate did not change midway.

    The start, where the number in flight still rises, and the end, where it falls, are no phases.

    Args:
        rates: Rows of ``rate_over_time.sql`` for the whole job, a hundred parts.
        wall_ns: Of the job.
        took_ns: Of a usual request: its bytes are spread over its life, so shorter phases cannot be seen.
    """
    rate = rates["rate_bits_per_second"].to_numpy(dtype=float)
    flight = rates["in_flight"].to_numpy(dtype=float)
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
    import ruptures  # which takes a second

    noise = _noise(series)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ruptures.Pelt(model="l2", min_size=least, jump=1).fit(series[:, None])
        cuts = found.predict(pen=PENALTY * noise**2 * np.log(len(series)))
    edges = _worth([0, *cuts], series, np.log(np.maximum(flight[first:last], 0.1)))
    if len(edges) <= 2:
        return ()
    places = [0, *(first + edge for edge in edges[1:-1]), 100]
    return tuple(Window(wall_ns * began // 100, wall_ns * ended // 100) for began, ended in pairwise(places))


def _noise(series: NDArray[np.float64]) -> float:
    """Return the noise of a bin around its phase, enlarged by what neighbours have in common."""
    steps = np.abs(np.diff(series))
    alone = 1.4826 * float(np.median(steps)) / np.sqrt(2)
    away = series - pd.Series(series).rolling(15, center=True, min_periods=1).median().to_numpy()
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
