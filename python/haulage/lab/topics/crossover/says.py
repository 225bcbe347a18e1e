"""What is said of the sizes at which two ways change places."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from haulage.lab.analysis.cards import Results, bounded, card_of, number, table
from haulage.lab.analysis.model import Finding
from haulage.lab.topics.baseline.says import speed_up
from haulage.words.numbers import round_size


def crossing(results: Results) -> Iterator[Finding]:
    """Say from which size on blocks are faster than one request."""
    rows = table(results, "crossovers")
    if rows.empty:
        return
    for direction, part in rows.groupby("direction"):
        singles = part[part["smaller_method"].isin(("single-put", "baseline"))]
        for method in ("blocks", "stream"):
            others = singles[singles["larger_method"] == method]
            if others.empty:
                continue
            # The one with the shortest names; the others are in the table.
            row = others.loc[(others["smaller_favours"] + others["larger_favours"]).str.len().idxmin()]
            both = (row["smaller_favours"], row["larger_favours"])
            same = others[others["smaller_favours"].isin(both) & others["larger_favours"].isin(both)]
            for _, one in same.iterrows():
                sentence = _crossing_words(one, str(direction))
                columns = ("crossover_bytes", "low_bytes", "high_bytes")
                yield card_of(
                    one, "Crossover", sentence, "bytes", "crossovers", *columns, no_value="none found"
                )


def _crossing_words(row: pd.Series, direction: str) -> str:
    value, first, second = number(row["crossover_bytes"]), row["smaller_favours"], row["larger_favours"]
    if value is not None:
        bounds = bounded(row["low_bytes"], row["high_bytes"], round_size)
        return f"{first} is quicker up to {round_size(value)}{bounds}, {second} above ({direction})."
    clear, sizes = int(row["clear_sizes"]), int(row["sizes"])
    if not clear:
        return f"No difference between {first} and {second} was shown at any of {sizes} sizes ({direction})."
    start = f"{second} is quicker than {first}"
    if clear == sizes:
        ends = round_size(row["smallest_bytes"]), round_size(row["largest_bytes"])
        return f"{start} at every size ({direction}), from {ends[0]} to {ends[1]}."
    ends = round_size(row["first_clear_bytes"]), round_size(row["last_clear_bytes"])
    where = f"at {ends[0]}" if ends[0] == ends[1] else f"from {ends[0]} to {ends[1]}"
    beyond = [
        f"{word} {end}"
        for word, end, open_end in (
            ("below", ends[0], row["first_clear_bytes"] > row["smallest_bytes"]),
            ("above", ends[1], row["last_clear_bytes"] < row["largest_bytes"]),
        )
        if open_end
    ]
    more = f"; {' and '.join(beyond)} no winner was shown, so they may change places there" if beyond else ""
    return f"{start} {where} ({direction}){more}."


CARDS = {"small-blob": (crossing, speed_up)}
