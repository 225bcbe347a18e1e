"""What is said of files in pieces, and of several whole ones at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.cards import Results, bounded, card, card_of, card_of_interval, number, table
from haulage.lab.analysis.model import Finding
from haulage.lab.analysis.tables import groups
from haulage.words.numbers import digits, round_size


def whole_or_pieces(results: Results) -> Iterator[Finding]:
    """Say whether several whole files at once are faster than files one by one in pieces."""
    rows = table(results, "paired")
    if rows.empty:
        return
    for key, part in groups(rows, ["direction", "node", "size_bytes"]):
        rates = part.pivot_table(
            index="replicate", columns=["method", "treatment"], values="rate_bits_per_second", observed=True
        )
        if not {"whole-files", "ranges"} <= set(rates.columns.get_level_values(0)):
            continue
        whole, pieces = (
            rates[method][rates[method].median().idxmax()] for method in ("whole-files", "ranges")
        )
        both = pd.concat([pieces, whole], axis=1, join="inner").to_numpy(dtype=float)
        ratio = st.compare(both[:, 0], both[:, 1]).ratio
        # Both are the best of their kind, chosen among all pairs.
        asked = math.prod(rates[method].shape[1] for method in ("whole-files", "ranges"))
        found = st.of_the_best(ratio, np.log(both[:, 1] / both[:, 0]), asked)
        if found.value is None:
            continue
        bounds = bounded(found.low, found.high, digits)
        sentence = (
            f"{whole.name} moves files of {round_size(key['size_bytes'])} {digits(found.value)} times{bounds}"
            f" as fast as {pieces.name} ({key['direction']})."
        )
        yield card_of_interval(found, "Whole files or pieces", sentence, "times", "paired")


def sub_file(results: Results) -> Iterator[Finding]:
    """Say whether files in pieces win or lose, and what reassembly costs."""
    for _, row in table(results, "phases_of_cells").iterrows():
        share = number(row["reassembly_share"])
        if share is None:
            continue
        sentence = (
            f"{row['treatment']}, {round_size(row['size_bytes'])}: joining the pieces took"
            f" {share:.0%} of the time, the network {1 - share:.0%}."
        )
        yield card("Reassembly", sentence, share, "share", int(row["n"]), "phases_of_cells")
    rows = table(results, "comparisons")
    if rows.empty:
        return
    kinds = {"ranges": "Pieces of a file", "whole-files": "Several whole files", "blocks": "Blocks"}
    for method, title in kinds.items():
        chosen = rows[(rows["method"] == method) & rows["times_as_fast"].notna()]
        for _, row in chosen.iterrows():
            times, bounds = float(row["times_as_fast"]), bounded(row["low"], row["high"], digits)
            verb = {"different": "win" if times > 1 else "lose", "equivalent": "neither win nor lose"}.get(
                row["says"], "may win or lose"
            )
            where = f" ({row['direction']}{', ' + row['node'] if row['node'] else ''})"
            sentence = (
                f"{title} {verb}: {row['treatment']}{where} has {digits(times)}{bounds} times the rate of"
                f" {row['baseline']}."
            )
            yield card_of(row, title, sentence, "times", "comparisons", "times_as_fast")


def per_file(results: Results) -> Iterator[Finding]:
    """Say how much slower each file is if several travel at once."""
    rows = table(results, "rate_by_transfer")
    if rows.empty:
        return
    well = rows[rows["outcome"].isin(["ok", "copied"])]
    for key, part in groups(well, ["direction", "node", "size_bytes"]):
        base = part[(part["method"] == "baseline") & ~part["treatment"].str.contains("-again")]
        for treatment, several in part[part["method"] == "whole-files"].groupby("treatment"):
            if base.empty:
                continue
            a = base.groupby("replicate")["rate_bits_per_second"].median()
            b = several.groupby("replicate")["rate_bits_per_second"].median()
            both = pd.concat([a, b], axis=1, join="inner").to_numpy(dtype=float)
            found = st.compare(both[:, 0], both[:, 1]).ratio
            if found.value is None:
                continue
            bounds = bounded(found.low, found.high, digits)
            slower = 1 - found.value
            says = f"{abs(slower):.0%} {'slower' if slower > 0 else 'faster'}"
            if abs(slower) < 0.02:
                says = "as fast as alone"
            sentence = (
                f"{treatment} ({key['direction']}): a file has {digits(found.value)}{bounds} times the rate"
                f" that it has alone: {says}."
            )
            yield card_of_interval(found, "Each file", sentence, "times", "rate_by_transfer")
