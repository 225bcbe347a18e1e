"""The Python behind every table that statistics make, as text for those who want to check a calculation."""

from __future__ import annotations

import inspect
from functools import cache

from haulage.lab.analysis import (
    collapse,
    formats,
    nodes,
    over_time,
    scaling,
    simulated_nodes,
    stragglers,
    sweeps,
    tables,
)

#: In the order in which they are made.
MODULES = (tables, over_time, collapse, nodes, sweeps, formats, scaling, stragglers, simulated_nodes)


@cache
def source_of(name: str) -> str:
    """Return the function that makes a table, and where it stands; empty for what SQL alone makes."""
    for module in MODULES:
        for table in module.TABLES:
            if table.name == name:
                where = f"# {module.__name__}, with haulage.lab.analysis.statistics as st"
                return f"{where}\n{inspect.getsource(table.make)}"
    return ""
