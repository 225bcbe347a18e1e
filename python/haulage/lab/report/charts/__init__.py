"""The charts of the report as Altair objects, for notebooks.

Each takes a result of :func:`haulage.lab.analysis.analyse`, or a frame with its columns::

    from haulage.lab import analysis
    from haulage.lab.report import charts

    found = analysis.analyse(Path("run"))
    charts.dressed(charts.ledger(found.results["ledger_by_treatment"]))

:func:`dressed` gives a finished chart the report's looks; a part of a larger picture goes without.
"""

from haulage.lab.report.charts.average import block_average as block_average
from haulage.lab.report.charts.base import dressed as dressed
from haulage.lab.report.charts.collapse import before_after as before_after
from haulage.lab.report.charts.distributions import (
    distributions as distributions,
    paired_differences as paired_differences,
)
from haulage.lab.report.charts.fleet import (
    node_heat as node_heat,
    node_lanes as node_lanes,
    node_stragglers as node_stragglers,
    transfer_times as transfer_times,
)
from haulage.lab.report.charts.formats import formats as formats
from haulage.lab.report.charts.heat import heat_map as heat_map
from haulage.lab.report.charts.ledger import ledger as ledger
from haulage.lab.report.charts.machine import efficiency as efficiency, load as load
from haulage.lab.report.charts.nodes import by_node as by_node
from haulage.lab.report.charts.order import run_order as run_order, transfers as transfers
from haulage.lab.report.charts.requests import (
    crossover as crossover,
    errors as errors,
    phase_stack as phase_stack,
    reassembly as reassembly,
)
from haulage.lab.report.charts.scale import shares as shares, totals as totals
from haulage.lab.report.charts.simulated import of_2010 as of_2010, simulated as simulated
from haulage.lab.report.charts.sweep import block_sweep as block_sweep, scaling as scaling
