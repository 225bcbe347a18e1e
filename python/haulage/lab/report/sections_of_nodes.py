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
        "Each mark is a cell. Circles count what was moved while all nodes were active; triangles count "
        "all bytes until the last node had ended, including the wait for the slowest. The four models are "
        "fitted to the circles: the solid line is the best by AICc, the dashed ones are the others. Where "
        "the linear line leaves the marks, another node no longer adds as much as the first. A red cross "
        "is a cell with a missing node: it is shown but not fitted.",
        lambda results: charts.totals(results["scale_cells"], results.get("scaling_fits")),
        ("scale_cells",),
        ("scaling_fits",),
    ),
    _section(
        "scale-share",
        "Share of linear",
        "The rate of all nodes divided by the number of nodes times the rate of one node alone in the "
        "same replicate. A bar through a point is its interval (at least six replicates). The single node "
        "is run twice in each replicate: a poor reference would make everything else look good, even "
        "above 100 %.",
        lambda results: charts.shares(results["scaling_shares"]),
        ("scaling_shares",),
    ),
    _section(
        "node-lanes",
        "Transfers by node",
        "Each bar is a file, in the row of its node. Time runs from the agreed start on one clock, and "
        "start, end and duration have the same unit. White between bars is time in which a node moved "
        "nothing. Amber and red bars took much longer than the median. For each direction the chart shows "
        "the cell of median duration among those with the most nodes; if a node is missing in one of "
        "them, it shows that cell, with an empty row for the node.",
        lambda results: charts.node_lanes(results["scale_transfers"], results["scale_nodes"]),
        ("scale_transfers", "scale_nodes"),
    ),
    _section(
        "node-heat",
        "Rate by node over time",
        "Each row is a node, and each patch is the mean over the replicates with the most nodes. A dark "
        "row is a slow node. A dark column is a moment at which all nodes stood still, which is due to "
        "the service or the path and not to a node. Dark from some point to the right edge means that "
        "this node had ended while others had not.",
        lambda results: charts.node_heat(results["scale_over_time"]),
        ("scale_over_time",),
    ),
    _section(
        "transfer-times",
        "Duration of files",
        "One histogram for each number of nodes, as shares of its files. A single peak that moves to the "
        "right is a shared rate; a second peak at twice the time are files that had to wait for a slot; a "
        "long thin tail are stragglers.",
        lambda results: charts.transfer_times(results["scale_transfers"]),
        ("scale_transfers",),
    ),
    _section(
        "stragglers-of-nodes",
        "Stragglers and idle gaps",
        "Each point is a node in a cell. Above: its time relative to the median of the others. Below: its "
        "longest time without a request in flight, if at least a millisecond. Coloured points are "
        "stragglers, by where their extra time went: the node, its path, or the service. A node that is "
        "coloured in every cell is slow by itself; a colour here and there is chance, or a passing "
        "condition.",
        lambda results: charts.node_stragglers(results["node_times"]),
        ("node_times",),
        ("stragglers_by_node", "node_halves"),
    ),
    _section(
        "simulation",
        "Simulation",
        "Rings are measured medians. The line is the simulation: solid where it was calibrated, dashed "
        "beyond. Rings on the dashed line test it. What lies to the right of them is a prediction, and "
        "only as good as its limit: a service limit that these nodes did not reach would slow real ones "
        "down earlier.",
        lambda results: charts.simulated(results["simulated_nodes"]),
        ("simulated_nodes",),
    ),
    _section(
        "simulation-2010",
        "Twenty nodes of 2010",
        "The share lost of twenty times one node, by how much more all nodes ask for than the service can "
        "carry. The band is what was lost in 2010. Where the red line crosses it, clients that are "
        "refused and back off lose as much as those did; the blue line is what the same nodes lose if "
        "they respect the limit together. This explains the figures but does not prove the cause: their "
        "single-node rates were not published.",
        lambda results: charts.of_2010(results["simulated_2010"]),
        ("simulated_2010",),
    ),
]
