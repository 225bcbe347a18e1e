"""Cards that say what the founding experiments said, in their terms: means, averages, shares."""

from __future__ import annotations

from collections.abc import Iterator

from haulage.lab.analysis.cards import Results, table
from haulage.lab.analysis.model import Finding
from haulage.words.numbers import digits, round_size


def best_on_average(results: Results) -> Iterator[Finding]:
    """Which block size is best over all files, by the mean that 2010 gave."""
    rows = table(results, "block_average")
    if rows.empty:
        return
    # Of one size there is no average, and nothing that it varies by.
    for _, row in rows[rows["is_best"].astype(bool) & (rows["file_sizes"] > 1)].iterrows():
        block, mean = float(row["block_size_bytes"]), float(row["mean_times_as_fast"])
        slower = int(row["file_sizes_slower"])
        besides = f" It slows down {slower} of them." if slower else ""
        yield Finding(
            "Best on average",
            f"Over {int(row['file_sizes'])} file sizes, {row['method']} of {round_size(block)} are"
            f" {digits(mean)} times as fast as the baseline on average (sd"
            f" {float(row['sd_times_as_fast']):.2g}).{besides}",
            block,
            "bytes",
            None,
            None,
            int(row["n"]),
            0.0,
            "block_average",
        )
