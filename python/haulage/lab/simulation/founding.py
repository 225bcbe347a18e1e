"""What twenty nodes of 2010 (E4) lose against bounds of the service, as the simulation gave it.

The simulation takes minutes, so its result is stored next to this module. ``benchmarks/lab/simulate_2010.py``
computes it, and a test computes a part of it again.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

NODES = 20
#: Of a bound so much is used when all nodes are paced to it together, as measured with four nodes.
PACED = 0.98


def rows() -> list[dict[str, Any]]:
    """Return what is lost at each demand."""
    text = (resources.files("haulage.lab.simulation") / "founding.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found
