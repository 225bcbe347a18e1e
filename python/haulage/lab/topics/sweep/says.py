"""What is said of block sizes."""

from __future__ import annotations

from collections.abc import Iterator

from haulage.lab.analysis.cards import Results, bounded, card, number, table
from haulage.lab.analysis.model import Finding
from haulage.lab.topics.baseline.says import speed_up
from haulage.words.numbers import digits, round_size


def best_on_average(results: Results) -> Iterator[Finding]:
    """Say which block size is best over all files, by the mean as in 2010."""
    rows = table(results, "block_average")
    if rows.empty:
        return
    # One size has no average, and nothing that it varies by.
    for _, row in rows[rows["is_best"].astype(bool) & (rows["file_sizes"] > 1)].iterrows():
        block, mean = float(row["block_size_bytes"]), float(row["mean_times_as_fast"])
        slower = int(row["file_sizes_slower"])
        besides = f" It slows down {slower} of them." if slower else ""
        sentence = (
            f"Over {int(row['file_sizes'])} file sizes, {row['method']} of {round_size(block)} are"
            f" {digits(mean)} times as fast as the baseline on average (sd"
            f" {float(row['sd_times_as_fast']):.2g}).{besides}"
        )
        yield card("Best on average", sentence, block, "bytes", int(row["n"]), "block_average")


def block_size(results: Results) -> Iterator[Finding]:
    """Say which block size to take, by file size."""
    rows = table(results, "block_sizes")
    if len(rows):
        # The engine's own blocks if they were run, else those of 2010.
        rows = rows.sort_values("method", kind="stable").drop_duplicates(["direction", "node", "size_bytes"])
        rows = rows.sort_values("size_bytes", kind="stable")
    for _, row in rows.iterrows():
        size, best = float(row["size_bytes"]), float(row["recommended_block_bytes"])
        region, gain = "", ""
        if row["flat_high_bytes"] > row["flat_low_bytes"]:
            region = f" (as good: up to {round_size(row['flat_high_bytes'])})"
        times = number(row["times_as_fast"])
        if times is not None:
            gain = f"; {digits(times)}{bounded(row['low'], row['high'], digits)} times the baseline"
        sentence = f"Files of {round_size(size)}: use blocks of {round_size(best)}{region}{gain}."
        value: float | None = best
        if times is not None and times < 1.05 and (number(row["low"]) or 0) <= 1.05:
            sentence = (
                f"Files of {round_size(size)} gain nothing from blocks ({digits(times)} times the baseline)."
            )
            value = None
        # The flat region is no interval: it says which levels were as good, not where the best one lies.
        title, n = f"Blocks for {round_size(size)}", int(row["n"])
        yield card(title, sentence, value, "bytes", n, "block_sizes", "no gain")


CARDS = {"block-upload": (speed_up, best_on_average, block_size)}
