"""What the path carries at most: many connections from memory to where bytes are thrown away."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

import haulage
from haulage.lab.generate import generate
from haulage.lab.plan import Plan
from haulage.lab.target import Endpoint, Target
from haulage.transfer import Job, Options

_OBJECT_BYTES = 16 << 20
_BLOCK_BYTES = 1 << 20
#: Enough for any path that this plan is for; memory holds this much, for a moment.
_MOST_OBJECTS = 48
#: Where nothing is known of the path, so many objects are moved.
_UNKNOWN_OBJECTS = 16


def measure_ceiling(
    plan: Plan, target: Target, endpoint: Endpoint, alive: Callable[[], object]
) -> dict[str, Any]:
    """Return the rates up and down, in bits per second, and how they were found."""
    objects = _objects(plan, target)
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty"
        empty.touch()
        generate("mem://lab-ceiling/source", _OBJECT_BYTES, plan.seed)
        names = [f"ceiling/{number:03}" for number in range(objects)]
        try:
            sources = [("mem://lab-ceiling/source", endpoint.url(name)) for name in names]
            up = _rate(plan, sources, Path(folder) / "up.parquet", alive)
            sinks = [f"mem://lab-ceiling/sink-{number:03}" for number in range(objects)]
            back = [(endpoint.url(name), sink) for name, sink in zip(names, sinks, strict=True)]
            down = _rate(plan, back, Path(folder) / "down.parquet", alive)
        finally:
            # Memory is given back by making the objects empty.
            spent = ["mem://lab-ceiling/source", *(f"mem://lab-ceiling/sink-{n:03}" for n in range(objects))]
            haulage.copy([(empty, name) for name in spent], overwrite="always")
    return {
        "up_bits_per_second": round(up),
        "down_bits_per_second": round(down),
        "connections": plan.ceiling_connections,
        "bytes": objects * _OBJECT_BYTES,
        "method": (
            f"{plan.ceiling_connections} connections, blocks of 1 MiB, memory to a sink that discards,"
            " rate while 20 to 80 % of the blocks arrive"
        ),
    }


def _objects(plan: Plan, target: Target) -> int:
    shape = target.shape
    if shape is None:
        return _UNKNOWN_OBJECTS
    first = shape.first
    rate = min(first.total_bits_per_second, plan.ceiling_connections * first.connection_bits_per_second, 8e9)
    wanted = rate / 8 * plan.ceiling_time_ns / 1e9 / _OBJECT_BYTES
    return max(1, min(_MOST_OBJECTS, round(wanted)))


def _rate(plan: Plan, pairs: list[tuple[str, str]], record: Path, alive: Callable[[], object]) -> float:
    options: Options = {
        "overwrite": "always",
        "concurrency": plan.ceiling_connections,
        "block_size": f"{_BLOCK_BYTES}B",
        "method": "ranges",
        "max_memory": f"{4 * plan.ceiling_connections}MiB",
        "record": record,
    }
    Job.copy(pairs, **options).wait(on_progress=lambda _: alive())
    with duckdb.connect() as database:
        pieces = database.execute(
            "select slot_ns::bigint, ended_ns::bigint, size_bytes::bigint from read_parquet(?)"
            " where fate = 'ok' and api in ('PutBlock', 'GetBlob')",
            [str(record)],
        ).fetchall()
    return steady_rate(pieces)


def steady_rate(pieces: Sequence[tuple[int, int, int]]) -> float:
    """Return bits per second between the times when 20 and 80 % of the pieces had arrived.

    The beginning opens connections and the end empties them; neither is what the path carries. A
    piece that is only partly within counts in proportion.

    Args:
        pieces: Begin and end in nanoseconds, and bytes.
    """
    ends = sorted(end for _, end, _ in pieces)
    low, high = ends[len(ends) // 5], ends[len(ends) * 4 // 5]
    if high <= low:
        low, high = min(begin for begin, _, _ in pieces), ends[-1]
    bits = 0.0
    for begin, end, size_bytes in pieces:
        within = max(0, min(end, high) - max(begin, low))
        bits += size_bytes * 8 * within / max(1, end - begin)
    return bits * 1e9 / max(1, high - low)
