"""A plan that runs in a second or two, for the tests of what runs it."""

from __future__ import annotations

import functools
from typing import Any

from haulage import lab
from haulage.lab import planfile
from haulage.lab.plan import Plan

TINY: dict[str, Any] = {
    "name": "tiny",
    "target": "emulated:rtt=2ms,total=1gbit",
    "replicates": 2,
    "warm_up": 1,
    "idle": "1ms",
    "ceiling": {"measure": False},
    "arms": [{"method": "baseline"}, {"method": "blocks", "block_size": "64KiB", "concurrency": 4}],
    "files": [{"size": "10KB", "count": 3}, {"size": "300KB"}],
}

#: The run alone: what follows it has tests of its own.
run_only = functools.partial(lab.run, confirm=False, report=False)


def tiny(**changes: Any) -> Plan:
    return planfile.parse(TINY | changes)
