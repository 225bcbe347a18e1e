"""How values lie: density, modes, outliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from haulage.lab.analysis.statistics.interval import Floats, Interval, median_interval, numbers

#: Points of the curve: one for each two pixels of a chart.
GRID = 256
#: Fewer values do not tell two heaps from chance.
MODES_NEED = 20
#: What lies this close to the median changes no conclusion, however alike the others are.
OUTLIER_LEAST = 0.1
#: Modified z beyond which a value is an outlier (Iglewicz and Hoaglin, 1993).
OUTLIER_Z = 3.5


@dataclass(frozen=True)
class Density:
    """A smooth curve over the values, and whether it has two heaps.

    Attributes:
        x: Places, in the unit of the values.
        y: Density there.
        n: Values.
        modes: Heaps of the curve as drawn.
        p_one_mode: How often one heap would need as much smoothing as this (Silverman's test);
            ``None`` for fewer than 20 values.
    """

    x: Floats
    y: Floats
    n: int
    modes: int
    p_one_mode: float | None

    @property
    def two_modes_likely(self) -> bool:
        """Whether one heap alone would look like this in less than 1 of 20 cases."""
        return self.p_one_mode is not None and self.p_one_mode < 0.05


def density(values: ArrayLike, *, seed: int = 0, draws: int = 100) -> Density:
    """Return a kernel density (Gaussian, Silverman's width) and a test for two modes.

    At most 400 evenly spaced order statistics take part in the test: it is a hint, and drawn.
    """
    data = np.sort(numbers(values))
    n = len(data)
    if n == 0 or data[0] == data[-1]:
        return Density(data[:1], np.ones(min(n, 1)), n, min(n, 1), None)
    width = _silverman(data)
    x = np.linspace(data[0] - 3 * width, data[-1] + 3 * width, GRID)
    few = data if n <= 5000 else data[np.linspace(0, n - 1, 5000).astype(int)]
    y = _curve(few, x, width)
    p = _one_mode(data, seed, draws) if n >= MODES_NEED else None
    return Density(x, y, n, _modes(y), p)


def _silverman(data: Floats) -> float:
    spread = float(data.std(ddof=1))
    quartiles = float(np.subtract(*np.percentile(data, [75, 25]))) / 1.349
    return 0.9 * (min(spread, quartiles) if quartiles > 0 else spread) * float(len(data) ** -0.2)


def _curve(data: Floats, x: Floats, width: float) -> Floats:
    away = (x[:, None] - data[None, :]) / width
    curve: Floats = np.exp(-0.5 * away**2).sum(axis=1) / (len(data) * width * np.sqrt(2 * np.pi))
    return curve


def _modes(y: Floats) -> int:
    return int(_modes_of_rows(y[None, :])[0])


def _modes_of_rows(curves: Floats) -> NDArray[np.int64]:
    """Count the heaps of each row."""
    # Ripples of rounding are no heaps, and a level top is one.
    rounded = np.round(curves / curves.max(axis=1, keepdims=True), 9)
    rises = np.sign(np.diff(rounded, axis=1))
    last = np.maximum.accumulate(np.where(rises != 0, np.arange(rises.shape[1]), 0), axis=1)
    rises = np.take_along_axis(rises, last, axis=1)
    return np.asarray(((rises[:, :-1] > 0) & (rises[:, 1:] < 0)).sum(axis=1), dtype=np.int64)


def _one_mode(data: Floats, seed: int, draws: int) -> float:
    """Silverman's test: the least width that leaves one heap, and how often one heap needs it."""
    n = min(len(data), 400)
    data = data[np.linspace(0, len(data) - 1, n).astype(int)]
    spread = float(data.std(ddof=1))
    x = np.linspace(data[0] - spread, data[-1] + spread, GRID)
    heaps = _binned(data[None, :], x)
    narrow, wide = spread / 100, spread * 2
    for _ in range(14):
        middle = float(np.sqrt(narrow * wide))
        single = _modes_of_rows(heaps @ _kernel(x, middle))[0] <= 1
        narrow, wide = (narrow, middle) if single else (middle, wide)
    random = np.random.default_rng(seed)
    # Drawn from the curve of that width, shrunk to the spread of the values themselves.
    shrink = 1 / np.sqrt(1 + wide**2 / spread**2)
    picked = data[random.integers(n, size=(draws, n))]
    centre = picked.mean(axis=1, keepdims=True)
    drawn = centre + shrink * (picked - centre + wide * random.standard_normal((draws, n)))
    return float(np.mean(_modes_of_rows(_binned(drawn, x) @ _kernel(x, wide)) > 1))


def _binned(rows: Floats, x: Floats) -> Floats:
    """Lay each value on the two points of the grid beside it, in proportion; a row for each row."""
    place = np.clip((rows - x[0]) / (x[1] - x[0]), 0, len(x) - 1.000001)
    left = place.astype(np.int64)
    share = place - left
    first = np.arange(len(rows))[:, None] * len(x) + left
    flat = np.bincount(first.ravel(), (1 - share).ravel(), minlength=rows.shape[0] * len(x))
    flat = flat + np.bincount((first + 1).ravel(), share.ravel(), minlength=rows.shape[0] * len(x))
    return np.asarray(flat.reshape(len(rows), len(x)), dtype=np.float64)


def _kernel(x: Floats, width: float) -> Floats:
    """Spread each point of the grid over all of it."""
    away = (x[:, None] - x[None, :]) / width
    return np.asarray(np.exp(-0.5 * away**2), dtype=np.float64)


@dataclass(frozen=True)
class Outliers:
    """Which values lie far out, and the median with and without them. None is ever dropped.

    Attributes:
        flagged: For each value whether it is an outlier.
        z: Modified z of each value.
        with_all: Median of all values.
        without: Median of those that are not flagged.
    """

    flagged: list[bool]
    z: list[float]
    with_all: Interval
    without: Interval


def outliers(values: ArrayLike, *, logarithm: bool = True) -> Outliers:
    """Flag values whose modified z (0.6745 times the distance to the median over the MAD) exceeds 3.5.

    On the logarithm, what lies within a tenth of the median is never one.

    Args:
        values: All finite; above zero for the logarithm.
        logarithm: Judge the logarithm, on which twice as slow is as far as twice as fast. Default
            yes, for durations and rates.

    >>> outliers([10, 11, 10, 12, 11, 10, 75]).flagged[-1]
    True
    """
    data = np.asarray(values, dtype=np.float64)
    judged = np.log(data) if logarithm else data
    if len(data) == 0:
        return Outliers([], [], median_interval(data), median_interval(data))
    away = judged - np.median(judged)
    scale = stats.median_abs_deviation(judged, scale="normal")
    if scale == 0:  # more than half are equal: the mean distance instead, as Iglewicz and Hoaglin do
        scale = 1.2533 * float(np.mean(np.abs(away)))
    z = away / scale if scale > 0 else np.zeros_like(away)
    flagged = np.abs(z) > OUTLIER_Z
    if logarithm:
        flagged &= np.abs(away) > np.log1p(OUTLIER_LEAST)
    return Outliers(flagged.tolist(), z.tolist(), median_interval(data), median_interval(data[~flagged]))
