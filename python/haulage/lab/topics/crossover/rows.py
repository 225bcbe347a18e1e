"""The table of the sizes at which two ways change places."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import Table, groups


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
    # The second is faster if the first takes longer.
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
        # Without a crossing, "larger" is the one shown to be quicker, or else ahead at the largest size.
        ahead = found.clear[clear[0]] > 0 if len(clear) else middle[-1] >= 1
        yield base | ordered(bool(ahead)) | nowhere


TABLES = [
    Table(
        "crossovers",
        "api_latency",
        "From which size on",
        "At which size do two ways change places?",
        "Zero of the Hodges-Lehmann shift of log durations, interpolated on log size, between two sizes"
        " with different winners (interval without zero, and a t test corrected for the number of sizes)."
        " The interval holds the sizes at which the shift is not shown to differ from zero.",
        crossovers,
    ),
]
