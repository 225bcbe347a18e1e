"""What is said of larger nodes, as 2010 showed it (E2, E3)."""

from __future__ import annotations

from collections.abc import Iterator

from haulage.lab.analysis.cards import Results, card, table
from haulage.lab.analysis.model import Finding
from haulage.lab.analysis.tables import groups
from haulage.lab.topics.baseline.says import speed_up
from haulage.lab.topics.nodes.rows import ALL
from haulage.lab.topics.pieces.says import per_file, sub_file, whole_or_pieces
from haulage.words.numbers import digits, round_size


def larger_node(results: Results) -> Iterator[Finding]:
    """Say what each step in node size gives to the best way of moving, with and without the odd runs."""
    rows = table(results, "by_node")
    if rows.empty:
        return
    for key, part in groups(rows[rows["is_best"]], ["direction", "size_bytes"]):
        words, steps = [], {}
        for runs, own in part.groupby("runs", sort=False):
            rate = own.sort_values("node_number").drop_duplicates("node_number")["median_bits_per_second"]
            if len(rate) < 2:
                return
            steps[runs] = float((rate.iloc[-1] / rate.iloc[0]) ** (1 / (len(rate) - 1)))
            words.append(f"{digits(steps[runs])} ({runs})")
        odd = int(rows[(rows["runs"] == ALL) & (rows["direction"] == key["direction"])]["odd_runs"].sum())
        names = ", ".join(
            f"{row['node']}: {row['arm']}"
            for _, row in part[part["runs"] == ALL].sort_values("node_number").iterrows()
        )
        sentence = (
            f"{key['direction']}, {round_size(key['size_bytes'])}: each step in node size multiplies the best"
            f" rate by {' and '.join(words)}; {odd} odd runs. Best on {names}."
        )
        yield card("Larger nodes", sentence, steps.get(ALL), "times", int(part["n"].sum()), "by_node")


def network_alone(results: Results) -> Iterator[Finding]:
    """Say how long the network part of a download in pieces takes beside the whole plain download."""
    rows = table(results, "by_node")
    if rows.empty:
        return
    pieces = rows[(rows["runs"] == ALL) & rows["network_alone_over_baseline"].notna()]
    for (arm, size), part in pieces.groupby(["arm", "size_bytes"]):
        ordered = part.sort_values("node_number")
        times = ordered["network_alone_over_baseline"]
        words = ", ".join(f"{node} {digits(one)}" for node, one in zip(ordered["node"], times, strict=True))
        sentence = (
            f"{arm}, {round_size(size)}: the network part alone takes so many times as long as the whole"
            f" plain download: {words}."
        )
        yield card(
            "Network part alone", sentence, float(times.median()), "times", int(part["n"].sum()), "by_node"
        )


_OF_BOTH = (larger_node, network_alone, sub_file, per_file, speed_up)
CARDS = {"node-size": _OF_BOTH, "whole-file": (whole_or_pieces, *_OF_BOTH)}
