"""What the path carries at most: connections that always have work, from memory to a sink that discards.

A round opens its connections anew, gives each one long request, and counts what the kernel says they
have carried (:mod:`.counters`) from when they have begun until the first has no work left. How
many connections are "many" is found first: four times as many for as long as that pays. Rounds with one
connection and rounds with many alternate, and those of the better way give the rate and its interval.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from haulage.lab.ceiling.path import MOST_S, ROUNDS, ROUNDS_OF_ONE, OneWay
from haulage.lab.ceiling.rounds import LEVEL
from haulage.lab.plan import Plan
from haulage.lab.target import Endpoint, Target

__all__ = ["measure_ceiling", "steady_s"]


def measure_ceiling(
    plan: Plan,
    reach: Callable[[], Endpoint],
    alive: Callable[[], object],
    most_s: float = MOST_S,
    directions: Sequence[str] = ("up", "down"),
) -> dict[str, Any]:
    """Return the rates up and down, in bits per second, with intervals, and every round.

    Args:
        plan: Its ``ceiling_connections`` is the most that are opened at once, and the rounds share its
            ``ceiling_time_ns``, but take longer where a connection is slow: up to half a minute a direction.
        reach: Called before each round: the endpoint, made anew where the link changes with time.
        alive: Called several times a second.
        most_s: Bound on the time that is counted in a round, for a link that changes soon.
        directions: Which to measure.
    """
    found: dict[str, Any] = {}
    rounds: list[dict[str, Any]] = []
    for direction in directions:
        with tempfile.TemporaryDirectory() as folder:
            one = OneWay(plan, direction, reach, alive, Path(folder), most_s).measure()
        found |= {
            f"{direction}_bits_per_second": round(one.bits_per_second),
            f"{direction}_low_bits_per_second": round(one.low_bits_per_second),
            f"{direction}_high_bits_per_second": round(one.high_bits_per_second),
            f"{direction}_connections": one.connections,
            f"{direction}_one_connection_bits_per_second": round(one.one_connection_bits_per_second),
            f"{direction}_bound_by_machine": one.bound_by_machine,
            f"{direction}_is_steady": one.is_steady,
        }
        rounds += [asdict(row) for row in one.rounds]
    counted = "the kernel's count of bytes" if rounds[0]["counted_by"] == "kernel" else "answered requests"
    return found | {
        "connections": max(row["connections"] for row in rounds),
        "level": LEVEL,
        "rounds": rounds,
        "method": (
            "connections that always have work, from memory to a sink that discards;"
            f" {ROUNDS} rounds or more with many (fewer where the path is slow), {ROUNDS_OF_ONE} with one"
            f" between them, by {counted}"
        ),
    }


def steady_s(target: Target) -> float:
    """Return how long a round may be on a path that changes at a known time; it takes twice that in all."""
    shape = target.shape
    if shape is None or not shape.changes:
        return MOST_S
    return min(MOST_S, shape.steps[1].after_ns / 1e9 / 3)
