"""Tables along a factor: best block size, knee, crossover."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
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
    # Where a file has fewer blocks than requests are allowed, all those levels are one and the same.
    used = cells["lanes"].where(cells["lanes"] > 0, cells["concurrency"])
    cells = cells.assign(in_flight=np.minimum(used, cells["concurrency"]).astype(float))
    for key, part in groups(cells, ["direction", "method", "size_bytes", "files", "block_size_bytes"]):
        # What a level allowed at most in any replicate: single cells may end before all have begun.
        level = part.groupby("concurrency")["in_flight"].transform("max")
        table = _by_replicate(part.assign(in_flight=level), "in_flight")
        if len(table.columns) < 3:
            continue
        rates = {float(one): table[one].to_numpy(dtype=float) for one in table.columns}
        found, region = st.knee(rates), st.flat_region(rates)
        top, first = (st.median_interval(rates[one]) for one in (region.best, min(rates)))
        rows.append(
            key
            | {
                "n": found.n,
                "knee": found.value,
                "knee_low": found.low,
                "knee_high": found.high,
                "level": found.level,
                "note": found.note,
                "best": int(region.best),
                "most": int(max(rates)),
                "rate_bits_per_second": top.value,
                "first": int(min(rates)),
                "first_bits_per_second": first.value,
            }
        )
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(("knee", "knee_low", "knee_high"), "float64")) if rows else frame


def crossovers(latency: pd.DataFrame) -> pd.DataFrame:
    """At which sizes each two treatments change places; a row without a size where they are not shown to."""
    rows = []
    usable = latency[~latency["treatment"].str.contains("-again")]
    methods = dict(zip(usable["treatment"], usable["method"], strict=True))
    for key, part in groups(usable, ["direction"]):
        wide = part.pivot_table(
            index=["size_bytes", "replicate"], columns="treatment", values="duration_ns", aggfunc="median"
        )
        for first, second in itertools.combinations(list(wide.columns), 2):
            for found in _crossings(wide, first, second):
                smaller, larger = methods[found["smaller_favours"]], methods[found["larger_favours"]]
                rows.append(key | found | {"smaller_method": smaller, "larger_method": larger})
    frame = pd.DataFrame(rows)
    places = ["crossover_bytes", "low_bytes", "high_bytes"]
    return frame.astype(dict.fromkeys(places, "float64")) if rows else frame


def _crossings(wide: pd.DataFrame, first: str, second: str) -> Iterator[dict[str, Any]]:
    both = wide[[first, second]].dropna()
    sizes = sorted(both.index.get_level_values("size_bytes").unique())
    if len(sizes) < 3:
        return
    # The second is faster where the first takes longer.
    ratio = np.log(both[first] / both[second]).unstack("replicate")
    found = st.crossover([float(size) for size in sizes], [ratio.loc[size].to_numpy() for size in sizes])
    middle = np.exp(np.nanmedian(ratio.to_numpy(), axis=1))
    clear = np.flatnonzero(found.clear)
    base = {
        "n": int(ratio.notna().all(axis=0).sum()),
        "level": st.LEVEL,
        "smallest_bytes": float(sizes[0]),
        "largest_bytes": float(sizes[-1]),
        "clear_sizes": len(clear),
        "sizes": len(sizes),
        "first_clear_bytes": float(sizes[clear[0]]) if len(clear) else None,
        "last_clear_bytes": float(sizes[clear[-1]]) if len(clear) else None,
        "note": found.says.replace("B is", f"{second} is") if not found.crossings else "",
    }

    def ordered(rises: bool) -> dict[str, Any]:
        names = (first, second) if rises else (second, first)
        ends = [float(middle[k]) if rises else float(1 / middle[k]) for k in (0, -1)]
        return {
            "smaller_favours": names[0],
            "larger_favours": names[1],
            "ratio_at_smallest": ends[0],
            "ratio_at_largest": ends[1],
        }

    for size, rises in zip(found.crossings, found.rises, strict=True):
        yield (
            base
            | ordered(rises)
            | {
                "crossover_bytes": size.value,
                "low_bytes": size.low,
                "high_bytes": size.high,
                "level": size.level,
            }
        )
    if not found.crossings:
        nowhere = dict.fromkeys(("crossover_bytes", "low_bytes", "high_bytes"))
        # Without a crossing "larger" is whichever was shown to be quicker, or is ahead at the largest size.
        ahead = found.clear[clear[0]] > 0 if len(clear) else middle[-1] >= 1
        yield base | ordered(bool(ahead)) | nowhere


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
        "The fewest in flight that lose less than 5 % of what more give, by t intervals of log ratios within"
        " replicates. Bounded by the first number not shown to lose more and the first shown to lose less;"
        " not determined where none below the largest is. Levels are what was really in flight.",
        knees,
    ),
    Table(
        "crossovers",
        "api_latency",
        "From which size on",
        "At which size do two ways change places?",
        "Zero of the Hodges-Lehmann shift of log durations, interpolated on log size, between"
        " two sizes with different winners (interval without zero, and a t test corrected for the number of"
        " sizes). The interval holds the sizes at which the shift is not shown to differ from zero.",
        crossovers,
    ),
]
