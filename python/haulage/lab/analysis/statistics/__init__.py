"""Pure functions on numbers: no files, no clock, and a seed wherever chance has a part.

A number never goes out alone: every function returns how many observations it stands on and, where
there are enough of them, an interval. Where there are not, the value is ``None`` and ``note`` says
"n too small"; a percentile that the sample cannot bound is not printed.
"""

from haulage.lab.analysis.statistics.change import (
    Change as Change,
    Step as Step,
    Trend as Trend,
    change_points as change_points,
    trend as trend,
)
from haulage.lab.analysis.statistics.compare import (
    MARGIN as MARGIN,
    SMALLEST_DIFFERENCE as SMALLEST_DIFFERENCE,
    Comparison as Comparison,
    Says as Says,
    benjamini_hochberg as benjamini_hochberg,
    compare as compare,
    compare_unpaired as compare_unpaired,
    hodges_lehmann as hodges_lehmann,
    largest_of as largest_of,
    mann_whitney as mann_whitney,
    of_the_best as of_the_best,
    permutation_test as permutation_test,
    unpaired_shift as unpaired_shift,
    verdict as verdict,
)
from haulage.lab.analysis.statistics.interval import (
    LEVEL as LEVEL,
    Floats as Floats,
    Interval as Interval,
    median_interval as median_interval,
    percentile as percentile,
    percentile_needs as percentile_needs,
    percentile_of_cells as percentile_of_cells,
)
from haulage.lab.analysis.statistics.power import detectable as detectable
from haulage.lab.analysis.statistics.serial import (
    Serial as Serial,
    serial as serial,
    widened as widened,
)
from haulage.lab.analysis.statistics.shape import (
    Density as Density,
    Outliers as Outliers,
    density as density,
    outliers as outliers,
)
from haulage.lab.analysis.statistics.sweep import (
    Crossover as Crossover,
    FlatRegion as FlatRegion,
    crossover as crossover,
    flat_region as flat_region,
    knee as knee,
)
