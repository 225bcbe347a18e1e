"""The charts of runs with many nodes, in order, each with the words that tell how to read it."""

from __future__ import annotations

from functools import partial

from haulage.lab.report import charts
from haulage.lab.report.section import Section

#: One that a run without numbers of nodes has not, and does not speak of.
_section = partial(Section, applies="the plan has no numbers of nodes", silent=True)

OF_MANY_NODES = [
    _section(
        "scale-totals",
        "All nodes together",
        "A mark is a cell: circles count what was moved while all nodes were active, triangles all bytes "
        "until the last node had ended, which holds the wait for the slowest. The four models are fitted to "
        "the circles; the full line is the best by AICc, broken ones are the others. Where the linear line "
        "leaves the marks, more nodes no longer bring as much as the first. A red cross is a cell of which a "
        "node is missing: it is shown, and in no fit.",
        lambda results: charts.totals(results["scale_cells"], results.get("scaling_fits")),
        ("scale_cells",),
        ("scaling_fits",),
    ),
    _section(
        "scale-share",
        "Share of linear",
        "What so many nodes moved, over so many times what one alone moved in the same replicate. A bar "
        "through a point is its interval (six replicates are the fewest for one). One alone is run twice in "
        "each replicate: a poor reference would make everything else look good, above 100 % too.",
        lambda results: charts.shares(results["scaling_shares"]),
        ("scaling_shares",),
    ),
    _section(
        "node-lanes",
        "Transfers by node",
        "Each bar is a file, in the row of its node; time runs from the agreed moment, on one clock, and "
        "begin, end and duration are in the same unit. Paper between bars is time in which a node moved "
        "nothing. Amber and red bars took much longer than the median. Of each direction the cell of middle "
        "length among those with the most nodes is shown; if a node is missing in one of them, that one, "
        "with the node's row left empty.",
        lambda results: charts.node_lanes(results["scale_transfers"], results["scale_nodes"]),
        ("scale_transfers", "scale_nodes"),
    ),
    _section(
        "node-heat",
        "Rate by node over time",
        "A row is a node, each patch the mean over the replicates with the most nodes. A dark row is a slow "
        "node, a dark column a moment at which all stood still: that is the service's or the path's, not a "
        "node's. Dark from somewhere on to the right means that this node had ended and the others had not.",
        lambda results: charts.node_heat(results["scale_over_time"]),
        ("scale_over_time",),
    ),
    _section(
        "transfer-times",
        "How long files took",
        "A histogram for each number of nodes, as shares of its files. One hump that moves to the right is a "
        "rate that all share; a second hump at twice the time are files that had to wait for a turn; a long "
        "thin tail are stragglers.",
        lambda results: charts.transfer_times(results["scale_transfers"]),
        ("scale_transfers",),
    ),
    _section(
        "stragglers-of-nodes",
        "Stragglers and idle gaps",
        "A point is a node in a cell: above, its time over the median of the others; below, where it was a "
        "millisecond and more, the longest time in which it had no request in flight. Coloured points are "
        "stragglers, by where their extra time went: the node itself, its path, or the service. A node that "
        "is coloured in every cell is slow by itself; a colour here and there is chance, or what it met.",
        lambda results: charts.node_stragglers(results["node_times"]),
        ("node_times",),
        ("stragglers_by_node", "node_halves"),
    ),
    _section(
        "simulation",
        "Simulation",
        "Rings are measured medians, the line is the simulation: full where it was calibrated, broken "
        "beyond. Rings on the broken line judge it; what lies to the right of them is predicted, and as "
        "good as its bound: a service whose limit these nodes did not reach would stop real ones earlier.",
        lambda results: charts.simulated(results["simulated_nodes"]),
        ("simulated_nodes",),
    ),
    _section(
        "simulation-2010",
        "Twenty nodes of 2010",
        "The share lost of twenty times one node, by how much more all nodes ask for than the service "
        "carries. The band is what was lost in 2010. Where the red line runs through it, clients that are "
        "refused and back off lose as much as those did; the blue line is what the same nodes lose when they "
        "keep to the bound together. It explains the figures, it does not prove the cause: their single-node "
        "rates are not published.",
        lambda results: charts.of_2010(results["simulated_2010"]),
        ("simulated_2010",),
    ),
]
