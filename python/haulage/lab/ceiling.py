"""What the path carries at most: many connections from memory to where bytes are thrown away."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import haulage
from haulage.events import Progress, Summary
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
            up = _rate(plan, [("mem://lab-ceiling/source", endpoint.url(name)) for name in names], alive)
            sinks = [f"mem://lab-ceiling/sink-{number:03}" for number in range(objects)]
            down = _rate(
                plan, [(endpoint.url(name), sink) for name, sink in zip(names, sinks, strict=True)], alive
            )
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
            " rate between a quarter and nine tenths of the bytes"
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


def _rate(plan: Plan, pairs: list[tuple[str, str]], alive: Callable[[], object]) -> float:
    options: Options = {
        "overwrite": "always",
        "concurrency": plan.ceiling_connections,
        "block_size": f"{_BLOCK_BYTES}B",
        "method": "ranges",
        "max_memory": f"{4 * plan.ceiling_connections}MiB",
    }
    samples = [(0, 0)]
    job = Job.copy(pairs, **options)
    for event in job.events():
        if isinstance(event, Progress):
            samples.append((event.elapsed_ns, event.bytes_done))
            alive()
        elif isinstance(event, Summary):
            samples.append((event.elapsed_ns, event.bytes_done))
    job.wait()
    return steady_rate(samples)


def steady_rate(samples: list[tuple[int, int]]) -> float:
    """Return bits per second between a quarter and nine tenths of the bytes.

    The beginning opens connections and the end empties them; neither is what the path carries.

    Args:
        samples: Pairs of nanoseconds and bytes, in order of time; the last one is the end.
    """
    total = samples[-1][1]
    middle = [sample for sample in samples if 0.25 * total <= sample[1] <= 0.9 * total]
    first, last = (middle[0], middle[-1]) if len(middle) > 1 else (samples[0], samples[-1])
    return (last[1] - first[1]) * 8e9 / max(1, last[0] - first[0])
