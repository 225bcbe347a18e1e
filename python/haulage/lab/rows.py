"""What a cell was and what came of it, as a row of cells.parquet."""

from __future__ import annotations

from typing import Any

from haulage.lab.arms import Moved
from haulage.lab.schedule import Cell


def row_of(cell: Cell, moved: Moved) -> dict[str, Any]:
    """Return all of the row that does not come from the clock of the run."""
    return {
        "cell": cell.number,
        "replicate": cell.replicate,
        "treatment": cell.treatment,
        "method": cell.arm.method,
        "direction": cell.direction,
        "size_bytes": cell.files.size_bytes,
        "files": cell.files.count * (cell.count or 1),
        "concurrency": cell.arm.concurrency,
        "block_size_bytes": cell.arm.block_size_bytes,
        "warmup": cell.warm_up,
        "seed": cell.seed,
        "wall_ns": moved.wall_ns,
        "bytes": moved.bytes,
        "wire_bytes": moved.wire_bytes,
        "requests": moved.requests,
        "retries": moved.retries,
        "lanes": moved.lanes,
        "chosen": moved.chosen,
        "outcome": moved.outcome,
        "cause": moved.cause,
        "recorded": moved.recorded,
        "phase_network_ns": moved.phase_network_ns,
        "phase_reassembly_ns": moved.phase_reassembly_ns,
        "monotonic_offset_ns": moved.monotonic_offset_ns,
    }
