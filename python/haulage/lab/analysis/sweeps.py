"""Tables along a factor: best block size, knee, crossover."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import Table, groups


def block_sizes(paired: pd.DataFrame) -> pd.DataFrame:
    """For each file size the flat region of block sizes, and what it gives over the baseline."""
    blocks = paired[paired["block_size_bytes"].notna() & ~paired["is_again"]]
    rows = []
    for key, part in groups(blocks, ["direction", "node", "size_bytes", "files", "method", "concurrency"]):
        # A block larger than the file is the file: those levels are one and the same.
        table = _by_replicate(part, "block_size_bytes")
        if len(table.columns) < 2:
            continue
        found = st.flat_region({float(level): table[level].to_numpy() for level in table.columns})
        shown = part[part["block_size_bytes"] == found.recommended]
        gain = st.hodges_lehmann(shown["log_ratio"].to_numpy(dtype=float))
        rows.append(
            key
            | {
                "n": gain.n,
                "best_block_bytes": found.best,
                "flat_low_bytes": found.low,
                "flat_high_bytes": found.high,
                "recommended_block_bytes": found.recommended,
                "times_as_fast": _exp(gain.value),
                "low": _exp(gain.low),
                "high": _exp(gain.high),
                "level": gain.level,
                "note": gain.note,
            }
        )
    return pd.DataFrame(rows)


def knees(cells: pd.DataFrame) -> pd.DataFrame:
    """From how many requests in flight the rate no longer rises."""
    rows = []
    for key, part in groups(cells, ["direction", "method", "size_bytes", "files", "block_size_bytes"]):
        table = _by_replicate(part, "concurrency")
        if len(table.columns) < 3:
            continue
        found = st.flat_region({float(level): table[level].to_numpy() for level in table.columns})
        top = st.median_interval(table[found.best].to_numpy(dtype=float))
        first = st.median_interval(table[table.columns[0]].to_numpy(dtype=float))
        rows.append(
            key
            | {
                "n": top.n,
                "knee": int(found.low),
                "best": int(found.best),
                "most": int(max(table.columns)),
                "is_bounded": found.best < max(table.columns) or found.low < found.best,
                "rate_bits_per_second": top.value,
                "low_bits_per_second": top.low,
                "high_bits_per_second": top.high,
                "first": int(table.columns[0]),
                "first_bits_per_second": first.value,
                "level": top.level,
                "note": top.note,
            }
        )
    return pd.DataFrame(rows)


def crossovers(latency: pd.DataFrame) -> pd.DataFrame:
    """From which size on each treatment beats each other one."""
    rows = []
    usable = latency[~latency["treatment"].str.contains("-again")]
    methods = dict(zip(usable["treatment"], usable["method"], strict=True))
    for key, part in groups(usable, ["direction"]):
        wide = part.pivot_table(
            index=["size_bytes", "replicate"], columns="treatment", values="duration_ns", aggfunc="median"
        )
        names = list(wide.columns)
        for first, second in itertools.combinations(names, 2):
            # Whichever of the two is ahead of the other at the largest size is the second.
            found = _crossing(wide, first, second) or {}
            if found.get("ratio_at_largest", 1.0) < 1:
                found = _crossing(wide, second, first) or {}
            if found:
                smaller, larger = methods[found["smaller_favours"]], methods[found["larger_favours"]]
                rows.append(key | found | {"smaller_method": smaller, "larger_method": larger})
    return pd.DataFrame(rows)


def _crossing(wide: pd.DataFrame, first: str, second: str) -> dict[str, Any] | None:
    both = wide[[first, second]].dropna()
    sizes = sorted(both.index.get_level_values("size_bytes").unique())
    if len(sizes) < 3:
        return None
    # The second is faster where the first takes longer.
    ratio = np.log(both[first] / both[second]).unstack("replicate")
    found = st.crossover([float(size) for size in sizes], [ratio.loc[size].to_numpy() for size in sizes])
    middle = np.exp(np.nanmedian(ratio.to_numpy(), axis=1))
    size = found.size
    return {
        "smaller_favours": first,
        "larger_favours": second,
        "n": size.n,
        "crossover_bytes": size.value,
        "low_bytes": size.low,
        "high_bytes": size.high,
        "level": size.level,
        "ratio_at_smallest": float(middle[0]),
        "ratio_at_largest": float(middle[-1]),
        "smallest_bytes": float(sizes[0]),
        "largest_bytes": float(sizes[-1]),
        "note": size.note,
    }


def _by_replicate(part: pd.DataFrame, level: str) -> pd.DataFrame:
    """Return rates with a row for each replicate that has every level, and a column for each level."""
    table = part.pivot_table(
        index="replicate", columns=level, values="rate_bits_per_second", aggfunc="median", observed=True
    )
    whole = table.dropna()
    return whole if len(whole) else table.dropna(axis=1, how="all")


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(value)


TABLES = [
    Table(
        "block_sizes",
        "paired",
        "Best block size by file size",
        "Which block sizes are as good as the best, and what do they give?",
        "The best block size by median rate, and its neighbours whose Hodges-Lehmann shift against it,"
        " paired by replicate, is less than 5 % down. Recommended is the smallest of them: less memory,"
        " less to send again. The gain is its paired shift against the baseline.",
        block_sizes,
    ),
    Table(
        "knees",
        "concurrency",
        "The knee",
        "How many requests in flight are enough?",
        "The fewest in flight within 5 % of the best, with no worse number between, paired by replicate.",
        knees,
    ),
    Table(
        "crossovers",
        "api_latency",
        "From which size on",
        "At which size do two ways change places?",
        "Zero of the median log ratio of durations, interpolated on the logarithm of the size; interval"
        " by drawing replicates.",
        crossovers,
    ),
]
