"""What is said of nodes that are late."""

from __future__ import annotations

from collections.abc import Iterator

from haulage.lab.analysis.cards import Results, bounded, card, card_of, number, percent, table
from haulage.lab.analysis.model import Finding
from haulage.lab.topics.stragglers.rows import NODE, PATH, SERVICE, TIMES, UNKNOWN
from haulage.words.numbers import digits

#: A node that is late in this share of its cells is slow by itself.
ALWAYS = 0.5
WHOSE_WORDS = {
    NODE: "its own: it was late, stood idle or was slow with its bytes, while its requests went as others'",
    PATH: "its path's: sending and receiving took longer, waiting for answers did not",
    SERVICE: "the service's: its requests waited longer for the answer, or were refused",
    UNKNOWN: "not to be told from the times of its requests",
}


def late(results: Results) -> Iterator[Finding]:
    """Name each straggler, what it costs, and whose it is."""
    rows = table(results, "stragglers_by_node")
    if rows.empty:
        if n := len(table(results, "node_times")):
            sentence = f"No node took {TIMES:g} times as long as the others and lay far out among them."
            yield card("Stragglers", sentence, 0.0, "nodes", n, "node_times")
        return
    for _, row in rows.sort_values("cost_ns", ascending=False).head(4).iterrows():
        ratio = number(row["times_as_long"]) or 0.0
        sentence = (
            f"{row['name']} is late in {int(row['late_cells'])} of {int(row['n'])} cells {row['direction']}:"
            f" {digits(ratio)} times{bounded(row['low'], row['high'], digits)} as long as the others, which"
            f" costs {row['cost_per_cell_ns'] / 1e9:.2f} s of a cell ({percent(row['cost_share'])} of its"
            f" time). The fault is {WHOSE_WORDS[row['whose']]}."
        )
        if float(row["late_share"]) < ALWAYS:
            sentence += " It is so in few of its cells: chance, or what it met there."
        yield card_of(row, "Straggler", sentence, "times", "stragglers_by_node", "times_as_long")


def halves(results: Results) -> Iterator[Finding]:
    """Say whether two halves of the nodes differ."""
    for _, row in table(results, "node_halves").iterrows():
        ratio = number(row["even_over_odd"])
        says = {
            "different": "differ: something differs among the nodes",
            "equivalent": "are alike",
        }.get(row["says"], "may differ or not")
        value = "" if ratio is None else f": {ratio:.4g} times{bounded(row['low'], row['high'], digits)}"
        sentence = (
            f"Nodes of even and of odd number {says} {row['direction']} (A/A{value}, n = {int(row['n'])})."
        )
        yield card_of(row, "Halves", sentence, "times", "node_halves", "even_over_odd")
