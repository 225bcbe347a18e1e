"""What more nodes than a run had would bring."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from haulage.errors import UsageError
from haulage.lab.analysis.query import open_run, run
from haulage.lab.analysis.tables import groups
from haulage.lab.simulation.calibrate import calibrate, compared

#: More are simulated in minutes.
MOST = 5000


def predict(
    directory: Path,
    nodes: Sequence[int],
    *,
    limit_bits_per_second: float | None = None,
    requests_per_second: float | None = None,
) -> list[dict[str, Any]]:
    """Return the rates of so many nodes, beside those that were measured.

    Args:
        directory: Of a run with several numbers of nodes.
        nodes: How many, each by itself.
        limit_bits_per_second: What the account carries; default what up to 4 nodes showed.
        requests_per_second: How many requests the account takes; default no limit.

    Raises:
        UsageError: The run has no numbers of nodes to learn from, or too many are asked for.
        NotFoundError: No run is there.
    """
    for count in nodes:
        if not 1 <= count <= MOST:
            raise UsageError("predict", f"{count} nodes", "not simulated", f"ask for 1 to {MOST}")
    with tempfile.TemporaryDirectory(prefix="haulage-lab-") as scratch:
        made = run(open_run(directory), ["scale_model"], into=Path(scratch))
    rows: list[dict[str, Any]] = []
    for result, _ in made:
        if result.name != "scale_model":
            continue
        for key, part in groups(result.frame, ["direction", "size_bytes", "node_size", "arm"]):
            found = calibrate(part)
            if found is None:
                continue
            service = found.service
            if limit_bits_per_second is not None:
                service = replace(service, bits_per_second=limit_bits_per_second)
            if requests_per_second is not None:
                service = replace(service, requests_per_second=requests_per_second)
            found = replace(found, service=service)
            rows += [
                {"direction": key["direction"], "node_size": key["node_size"], "arm": key["arm"]} | row
                for row in compared(found, nodes)
            ]
    if not rows:
        raise UsageError(
            "predict",
            str(directory),
            "no run with several numbers of nodes",
            "make one: haul lab run scale-out --nodes 1,2,3,4",
        )
    # What is not a number is no JSON.
    return [{name: None if value == math.inf else value for name, value in row.items()} for row in rows]
