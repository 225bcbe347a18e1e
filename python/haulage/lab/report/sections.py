"""The charts of the report, in order, each with the words that tell how to read it."""

from __future__ import annotations

from haulage.lab.report import charts
from haulage.lab.report.charts.base import Chart
from haulage.lab.report.section import Results, Section
from haulage.lab.report.sections_of_nodes import OF_MANY_NODES


def _sweep(results: Results) -> Chart:
    return charts.block_sweep(results["improvement"], results.get("comparisons"), results.get("block_sizes"))


SECTIONS = [
    *OF_MANY_NODES,
    Section(
        "formats",
        "Rows of a table",
        "A point is the median time for all rows of the table, the line through it its interval; where no "
        "line is seen it is shorter than the point. Pages come one after the other, each for a round trip, "
        "so they suffer most from a long one. The bars are the bodies of all answers, uncompressed. Arrow "
        "that is gathered from the store itself is an export: its bytes are those of the JSON that it asked "
        "for.",
        lambda results: charts.formats(results["format_times"]),
        ("format_times",),
        ("format_ratios",),
        applies="the plan reads no table",
        silent=True,
    ),
    Section(
        "ledger",
        "Where the time went",
        "All lanes (slots in flight) times the wall time are 100 %; every nanosecond is in exactly one "
        "part. Only send and receive move payload: the rest is what a faster transfer would have to win "
        "back. Idle means that a slot stood empty though work was left, no work that there was none for "
        "it. What the kernel has taken but not yet sent counts as send. Shares compare treatments that "
        "used the same number of lanes; more lanes make more waiting out of the same link.",
        lambda results: charts.ledger(results["ledger_by_treatment"]),
        ("ledger_by_treatment",),
        applies="the run recorded no attempts",
    ),
    Section(
        "heat",
        "Rate over time",
        "A row is a treatment (a node, where there are several) at the largest file size; time runs from "
        "the start of a cell to its end, and each patch is the mean over its replicates. Dark at the left "
        "is a slow start, dark at the right a tail in which few requests were left; a dark column across "
        "rows is a pause of the path or the server. The bytes of a request are spread evenly over its "
        "time, so a single long request looks smoother than it was.",
        lambda results: charts.heat_map(results["rate_over_time"]),
        ("rate_over_time",),
        applies="the run recorded no attempts",
    ),
    Section(
        "rates",
        "How the rates lie",
        "Above, the density of the rates of single files, with a tick for each file; below, the share of "
        "files that were at most so fast, which hides nothing and needs no smoothing: read the median "
        "where a line crosses 50 %. A steep line is a steady rate, a flat stretch between two steep ones "
        "two kinds of file. A density is drawn from six files on and suggests more than six files can "
        "tell. Files in flight together share the link.",
        lambda results: charts.distributions(results["rate_by_transfer"], results.get("densities")),
        ("rate_by_transfer",),
        ("densities", "percentiles"),
    ),
    Section(
        "sweep",
        "Block size",
        "A line is a block size (below, a file size); a point is the median over replicates of the rate "
        "over the baseline's rate of the same replicate, the ribbon its interval. No ribbon means that "
        "there are too few replicates for one. The thick part of a line is the flat region: block sizes "
        "that are within 5 % of the best, the smallest of which costs the least memory and the least to "
        "send again. Where ribbons overlap do not choose by the points.",
        _sweep,
        ("improvement",),
        ("comparisons", "block_sizes"),
        applies="no treatment moved files in blocks beside a baseline",
    ),
    Section(
        "block-average",
        "One block size for all files",
        "A bar is the mean over the file sizes of the mean improvement at each, the line through it one "
        "standard deviation over the file sizes either way: not an interval, but how much the gain depends "
        "on the file. A mean is ruled by the files that gain most; the geometric mean and the number of file "
        "sizes that a block size slows down are in the rows.",
        lambda results: charts.block_average(results["block_average"]),
        ("block_average",),
        applies="no plan of several block sizes over the same files",
    ),
    Section(
        "scaling",
        "Requests in flight",
        "A ring is a cell, a line joins the medians. While the line rises in proportion, each connection "
        "has a rate of its own; where it bends, something shared has begun to limit. The knee is the "
        "fewest in flight within 5 % of the best: beyond it more requests wait longer and move no more.",
        lambda results: charts.scaling(results["concurrency"], results.get("knees")),
        ("concurrency",),
        ("knees",),
        applies="no treatment fixed the number of requests in flight",
    ),
    Section(
        "nodes",
        "By node size",
        "Nodes from small to large, a line for each way to move; the bar through a point is one standard "
        "deviation either way. Left with every run, right without those that lie far out of their set: where "
        "the two differ, one odd run made the difference. Below, only the best way on each node. Links of "
        "emulated nodes are the plan's, so what follows from them is no finding; the guide says which does.",
        lambda results: charts.by_node(results["by_node"]),
        ("by_node",),
        ("node_cells",),
        applies="the plan compares no sizes of node",
    ),
    Section(
        "efficiency",
        "Share of the ceiling",
        "The ceiling was measured in the same run on the same path, without disks. A point is the median "
        "of a size, the line behind it reaches from the least to the most. Small files cannot fill a link "
        "that takes long to answer.",
        lambda results: charts.efficiency(results["efficiency"]),
        ("efficiency",),
        applies="the run measured no ceiling",
    ),
    Section(
        "phases",
        "Phases of a request",
        "Medians of single requests that ended well, phase by phase. A median of sums is not the sum of "
        "medians, so the bar's length is near, not equal to, the median request. On the way up, waiting "
        "holds the time in which the kernel still sends what it has taken; the ledger separates the two.",
        lambda results: charts.phase_stack(results["phase_stack"]),
        ("phase_stack",),
        applies="the run recorded no attempts",
    ),
    Section(
        "reassembly",
        "Network and reassembly",
        "Downloads in pieces: until the last piece was there, and from then until the pieces were one file.",
        lambda results: charts.reassembly(results["phases_of_cells"]),
        ("phases_of_cells",),
        applies="no treatment put pieces of a file together",
    ),
    Section(
        "order",
        "The run in its order",
        "A point is a cell against the median of its like (same treatment, size and direction), so a run "
        "on a steady path is a level cloud around 1. A red line is a step found by PELT: from there on "
        "everything was so much faster or slower, whatever the treatment. Replicates are interleaved, so a"
        " step hurts all treatments alike; without that it would be taken for a difference between them.",
        lambda results: charts.run_order(results["run_order"]),
        ("run_order",),
        applies="fewer than ten cells have their like in another replicate",
    ),
    Section(
        "transfers",
        "Fault or drift",
        "The rate of each file of one treatment in the order in which they ended. Points of different file"
        " sizes lie at different heights: a small file has no time to be fast. A step is red, with the "
        "stretch of transfers at which it may as well lie (the six largest are marked); its factor is what"
        " the rate was multiplied by. No mark means that a level or a slope explains the rates as well.",
        lambda results: charts.transfers(results["rate_by_transfer"], results["changes"]),
        ("rate_by_transfer", "changes"),
    ),
    Section(
        "before-after",
        "Before and after the fall",
        "The rates of the parts of a job on either side of its largest fall: two curves that do not "
        "meet are a fault, one broad curve that both share is a link that varies. Curves need six parts "
        "a side; means and deviations are in the rows. The line is the mean.",
        lambda results: charts.before_after(results["before_after_density"], results["before_after"]),
        ("before_after_density", "before_after"),
        ("job_changes", "lost_files", "places"),
        applies="no job has a fall of the rate with six parts on a side",
    ),
    Section(
        "paired",
        "Differences from the baseline",
        "A point is how many times as fast as the baseline of its own replicate (Hodges-Lehmann), the line"
        " its interval. The grey band is how far the baseline lies from itself, run twice in every "
        "replicate (A/A): a treatment whose line lies within it is equivalent, one beyond it is different "
        "if its corrected p is below 0.05, anything else is undecided. Six pairs are the fewest for an "
        "interval at 95 %.",
        lambda results: charts.paired_differences(results["comparisons"]),
        ("comparisons",),
        ("paired",),
        applies="no two treatments were run in the same replicate",
    ),
    Section(
        "crossover",
        "Which way is quicker, by size",
        "Median duration of a file; writes and reads have a picture each. The ribbon reaches from the "
        "quickest replicate to the slowest. Lower is better. A broken line marks the size at which two ways "
        "change places, the shade around it its interval: left of it the first named is quicker, right of it "
        "the second.",
        lambda results: charts.crossover(results["api_latency"], results.get("crossovers")),
        ("api_latency",),
        ("crossovers",),
        applies="the query api_latency does not apply to this plan",
    ),
    Section(
        "errors",
        "Errors and throttles",
        "Requests that did not end well, as a share of all requests of the treatment, and the time of "
        "lanes that went with them. Requests that a duplicate overtook are cancelled, which is no fault. "
        "Time waited before a request was sent again is in the rows, not in the bars.",
        lambda results: charts.errors(results["errors"]),
        ("errors",),
        applies="the run recorded no attempts",
    ),
    Section(
        "machine",
        "Load of this machine",
        "Mean over the samples taken while cells ran. Near 100 % the machine is the limit and says nothing"
        " of the path; steal is time that another guest of the same host took. The emulated endpoint runs "
        "on this machine too.",
        lambda results: charts.load(results["host_load"]),
        ("host_load",),
        applies="no samples of the machine were taken",
    ),
]
