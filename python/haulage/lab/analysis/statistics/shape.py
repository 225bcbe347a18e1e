"""How values lie: density, modes, outliers."""

from __future__ import annotations

from dataclasses import dataclass

import diptest
import numpy as np
from numpy.typing import ArrayLike
from scipy import signal, stats

from haulage.lab.analysis.statistics.interval import Floats, Interval, median_interval, numbers

#: Points of the curve: one for each two pixels of a chart.
GRID = 256
#: Values that take part in curve and test, at most: evenly spaced in their order.
MOST = 5000
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
        p_one_mode: How often one heap alone would look as much like two (Hartigan's dip test);
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


def density(values: ArrayLike) -> Density:
    """Return a kernel density (scipy's Gaussian, Silverman's width) and Hartigan's dip test for two modes.

    The dip test asks whether any curve with a single heap fits, however heavy its tails. It takes values as
    independent: give it one value of each cell where those of a cell are alike.
    """
    data = np.sort(numbers(values))
    n = len(data)
    if n == 0 or data[0] == data[-1]:
        return Density(data[:1], np.ones(min(n, 1)), n, min(n, 1), None)
    few = data if n <= MOST else data[np.linspace(0, n - 1, MOST).astype(int)]
    spread = float(few.std(ddof=1))
    quartiles = float(stats.iqr(few)) / 1.349
    width = 0.9 * (min(spread, quartiles) if quartiles > 0 else spread) * float(len(few) ** -0.2)
    curve = stats.gaussian_kde(few, bw_method=width / spread)
    x = np.linspace(data[0] - 3 * width, data[-1] + 3 * width, GRID)
    y = np.asarray(curve(x), dtype=np.float64)
    p = float(diptest.diptest(few)[1]) if n >= MODES_NEED else None
    return Density(x, y, n, _modes(y), p)


def _modes(y: Floats) -> int:
    # Ripples of rounding are no heaps.
    return len(signal.find_peaks(np.pad(np.round(y / y.max(), 9), 1))[0])


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
