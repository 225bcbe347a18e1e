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
        "Each point is the median time to read all rows of the table, and the line through it is its "
        "interval; if you see no line, it is shorter than the point. Pages are read one after another, "
        "each with a round trip, so they suffer most from a long one. The bars show the bodies of all "
        "responses, uncompressed. Arrow that is collected from the store itself is an export, so its "
        "bytes are those of the JSON that it requested.",
        lambda results: charts.formats(results["format_times"]),
        ("format_times",),
        ("format_ratios",),
        applies="the plan reads no table",
        silent=True,
    ),
    Section(
        "ledger",
        "Where the time went",
        "All lanes (slots in flight) multiplied by the wall time are 100 %, and every nanosecond belongs "
        "to exactly one part. Only send and receive move payload; the rest is what a faster transfer "
        "could save. Idle means that a slot was empty although work was left; no work means that there "
        "was none left for it. Data that the kernel has accepted but not yet sent counts as send. Compare "
        "shares only between treatments with the same number of lanes: more lanes wait longer for the "
        "same link.",
        lambda results: charts.ledger(results["ledger_by_treatment"]),
        ("ledger_by_treatment",),
        applies="the run recorded no attempts",
    ),
    Section(
        "heat",
        "Rate over time",
        "Each row is a treatment (or a node, if there are several) at the largest file size. Time runs "
        "from the start of a cell to its end, and each patch is the mean over its replicates. Dark on the "
        "left is a slow start, dark on the right is a tail with few requests left, and a dark column "
        "across rows is a pause of the path or the server. The bytes of a request are spread evenly over "
        "its duration, so a single long request looks smoother than it was.",
        lambda results: charts.heat_map(results["rate_over_time"]),
        ("rate_over_time",),
        applies="the run recorded no attempts",
    ),
    Section(
        "rates",
        "Distribution of rates",
        "Above: the density of the rates of single files, with a tick for each file. Below: the share of "
        "files that were at most this fast, which needs no smoothing and hides nothing; read the median "
        "where a line crosses 50 %. A steep line is a steady rate, and a flat stretch between two steep "
        "ones means two kinds of files. Densities are drawn from six files on, and suggest more than six "
        "files can tell. Files in flight at the same time share the link.",
        lambda results: charts.distributions(results["rate_by_transfer"], results.get("densities")),
        ("rate_by_transfer",),
        ("densities", "percentiles"),
    ),
    Section(
        "sweep",
        "Block size",
        "Each line is a block size (below: a file size). Each point is the median over replicates of the "
        "rate divided by the baseline's rate in the same replicate, and the ribbon is its interval; there "
        "is no ribbon if there are too few replicates. The thick part of a line is the flat region: block "
        "sizes within 5 % of the best. The smallest of them needs the least memory and the least data to "
        "send again. Where ribbons overlap, do not choose by the points.",
        _sweep,
        ("improvement",),
        ("comparisons", "block_sizes"),
        applies="no treatment moved files in blocks beside a baseline",
    ),
    Section(
        "block-average",
        "One block size for all files",
        "Each bar is the mean over file sizes of the mean improvement at each size. The line through it "
        "is one standard deviation over the file sizes in each direction: not an interval, but how much "
        "the gain depends on the file. A mean is dominated by the files that gain most; the rows have the "
        "geometric mean and the number of file sizes that a block size slows down.",
        lambda results: charts.block_average(results["block_average"]),
        ("block_average",),
        applies="no plan of several block sizes over the same files",
    ),
    Section(
        "scaling",
        "Requests in flight",
        "Each ring is a cell, and the line joins the medians. While the line rises in proportion, each "
        "connection has a rate of its own; where it bends, something shared has started to limit. The "
        "knee is the smallest number in flight within 5 % of the best: beyond it, more requests only wait "
        "longer.",
        lambda results: charts.scaling(results["concurrency"], results.get("knees")),
        ("concurrency",),
        ("knees",),
        applies="no treatment fixed the number of requests in flight",
    ),
    Section(
        "nodes",
        "By node size",
        "Nodes are ordered from small to large, with one line per method; the bar through a point is one "
        "standard deviation in each direction. Left: every run. Right: without outliers of their set. If "
        "the two differ, a single unusual run made the difference. Below: only the best method on each "
        "node. The links of emulated nodes are set by the plan, so what follows from them is not a "
        "finding; the guide says which conclusions are.",
        lambda results: charts.by_node(results["by_node"]),
        ("by_node",),
        ("node_cells",),
        applies="the plan compares no sizes of node",
    ),
    Section(
        "efficiency",
        "Share of the ceiling",
        "The ceiling was measured in the same run on the same path, without disks. Each point is the "
        "median of a size, and the line behind it spans from the lowest to the highest value. Small files "
        "cannot fill a link with a long round trip.",
        lambda results: charts.efficiency(results["efficiency"]),
        ("efficiency",),
        applies="the run measured no ceiling",
    ),
    Section(
        "phases",
        "Phases of a request",
        "Medians of single successful requests, phase by phase. A median of sums is not the sum of "
        "medians, so the length of a bar is close to the median request but not equal to it. For uploads, "
        "waiting includes the time in which the kernel still sends what it has accepted; the ledger "
        "separates the two.",
        lambda results: charts.phase_stack(results["phase_stack"]),
        ("phase_stack",),
        applies="the run recorded no attempts",
    ),
    Section(
        "reassembly",
        "Network and reassembly",
        "Downloads in pieces: the time until the last piece had arrived, and from then until the pieces "
        "were one file.",
        lambda results: charts.reassembly(results["phases_of_cells"]),
        ("phases_of_cells",),
        applies="no treatment put pieces of a file together",
    ),
    Section(
        "order",
        "Cells in execution order",
        "Each point is a cell relative to the median of its group (same treatment, size and direction), "
        "so a run on a steady path is a level cloud around 1. A red line is a step found by PELT: from "
        "there on everything was faster or slower by the same factor, whatever the treatment. Replicates "
        "are interleaved, so a step affects all treatments alike; otherwise it would look like a "
        "difference between them.",
        lambda results: charts.run_order(results["run_order"]),
        ("run_order",),
        applies="fewer than ten cells have their like in another replicate",
    ),
    Section(
        "transfers",
        "Fault or drift",
        "The rate of each file of one treatment, in the order in which they finished. Points of different "
        "file sizes are at different heights, because small files have no time to be fast. A step is red, "
        "with the range of transfers in which it may lie (the six largest are marked); its factor is the "
        "ratio of the rates after and before. No mark means that a constant rate or a slope explains the "
        "rates as well.",
        lambda results: charts.transfers(results["rate_by_transfer"], results["changes"]),
        ("rate_by_transfer", "changes"),
    ),
    Section(
        "before-after",
        "Before and after the drop",
        "The rates of the parts of a job before and after its largest drop. Two separate curves are a "
        "fault; one broad curve that both share is a link that varies. Curves need six parts on each "
        "side; means and deviations are in the rows. The line is the mean.",
        lambda results: charts.before_after(results["before_after_density"], results["before_after"]),
        ("before_after_density", "before_after"),
        ("job_changes", "lost_files", "places"),
        applies="no job has a fall of the rate with six parts on a side",
    ),
    Section(
        "paired",
        "Differences from the baseline",
        "Each point is the ratio to the baseline of the same replicate (Hodges-Lehmann), and the line is "
        "its interval. The grey band is the difference of the baseline from itself, run twice in every "
        "replicate (A/A). A treatment whose line lies inside the band is equivalent; one outside it is "
        "different if its corrected p is below 0.05; anything else is undecided. An interval at 95 % "
        "needs at least six pairs.",
        lambda results: charts.paired_differences(results["comparisons"]),
        ("comparisons",),
        ("paired",),
        applies="no two treatments were run in the same replicate",
    ),
    Section(
        "crossover",
        "Fastest method by size",
        "Median duration of a file, with separate charts for writes and reads. The ribbon spans from the "
        "fastest to the slowest replicate. Lower is better. A dashed line marks the size at which two "
        "methods are equally fast, and the shade around it is its interval: to its left the first one is "
        "faster, to its right the second.",
        lambda results: charts.crossover(results["api_latency"], results.get("crossovers")),
        ("api_latency",),
        ("crossovers",),
        applies="the query api_latency does not apply to this plan",
    ),
    Section(
        "errors",
        "Errors and throttles",
        "Failed requests as a share of all requests of the treatment, and the lane time spent on them. "
        "Requests that lost against a duplicate count as cancelled, which is not an error. The wait "
        "before a retry is in the rows, not in the bars.",
        lambda results: charts.errors(results["errors"]),
        ("errors",),
        applies="the run recorded no attempts",
    ),
    Section(
        "machine",
        "Load of this machine",
        "Mean over the samples taken while cells ran. Close to 100 % the machine is the limit, and the "
        "run says nothing about the path. Steal is time taken by other guests of the same host. The "
        "emulated endpoint runs on this machine too.",
        lambda results: charts.load(results["host_load"]),
        ("host_load",),
        applies="no samples of the machine were taken",
    ),
]
