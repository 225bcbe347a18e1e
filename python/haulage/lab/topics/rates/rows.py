"""Tables of how fast each treatment was."""

from __future__ import annotations

import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import KIND, Table, groups, replicates_alike, well


def rate_intervals(cells: pd.DataFrame) -> pd.DataFrame:
    """Median rate of each treatment and size with its interval, the mean, and the median without outliers."""
    rows = []
    usable = well(cells)
    times = replicates_alike(usable).wider if len(usable) else 1.0
    for key, part in groups(usable, KIND):
        rate = part["rate_bits_per_second"].to_numpy(dtype=float)
        median, far = st.widened(st.median_interval(rate), times), st.outliers(rate)
        rows.append(
            key
            | {
                "n": len(rate),
                "rate_bits_per_second": median.value,
                "low_bits_per_second": median.low,
                "high_bits_per_second": median.high,
                "level": median.level,
                "mean_bits_per_second": float(rate.mean()),
                "deviation_bits_per_second": float(rate.std(ddof=1)) if len(rate) > 1 else None,
                "outliers": sum(far.flagged),
                "without_outliers_bits_per_second": far.without.value,
                "note": median.note,
            }
        )
    return pd.DataFrame(rows)


def outlier_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that lie far from their like; the rows stay in every other table."""
    rows = []
    for key, part in groups(well(cells), ["direction", "size_bytes", "files", "treatment"]):
        found = st.outliers(part["wall_ns"].to_numpy(dtype=float))
        for (_, cell), flagged, z in zip(part.iterrows(), found.flagged, found.z, strict=True):
            if flagged:
                rows.append(
                    key
                    | {
                        "replicate": int(cell["replicate"]),
                        "cell": int(cell["cell"]),
                        "wall_ns": int(cell["wall_ns"]),
                        "median_ns": found.with_all.value,
                        "median_without_ns": found.without.value,
                        "modified_z": z,
                        "n": len(part),
                    }
                )
    return pd.DataFrame(rows)


TABLES = [
    Table(
        "rate_intervals",
        "cells_in_order",
        "Rate by treatment and size, with intervals",
        "How fast was each treatment, and how sure is that?",
        "Median goodput of the replicates with its order-statistic interval (six are needed for 95 %); mean"
        " and standard deviation beside it. Outliers by modified z of the logarithm, shown with and"
        " without.",
        rate_intervals,
    ),
    Table(
        "outlier_cells",
        "cells_in_order",
        "Outliers",
        "Which cells took much longer or shorter than the others of their kind?",
        "Modified z of log duration above 3.5. They are flagged and stay in every other table.",
        outlier_cells,
    ),
]
