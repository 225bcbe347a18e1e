"""The table of the best block size."""

from __future__ import annotations

import math

import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import Table, by_replicate as _by_replicate, groups


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
]
