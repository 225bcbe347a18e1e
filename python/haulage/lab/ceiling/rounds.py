"""Rounds of a ceiling, and what they give: a rate with its interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

#: An interval that reaches farther to each side, as on a busy machine, calls for more rounds.
NARROW = 1.03
#: Rounds cannot show what they all have in common: headers, clocks.
SYSTEMATIC = 0.01
#: Processors that are less idle than this have set the rate, not the path.
MACHINE_IDLE = 0.1
LEVEL = 0.95
#: Rounds that differ by more than this are of a path that changed meanwhile: it has no one rate. A dozen that
#: scatter by 5 % differ by 1.2.
STEADY = 1.3


@dataclass(frozen=True)
class Round:
    """One round, as it is kept in the manifest.

    Attributes:
        direction: ``"up"`` or ``"down"``.
        connections: Asked for.
        opened: That moved bytes, by the kernel's count.
        counted_by: ``"kernel"`` (TCP_INFO of each connection) or ``"requests"`` (those that were answered).
        began_unix_ns: Of the time that is counted.
        window_ns: That time.
        bits_per_second: Rate in it.
        cpu_idle_share: Of all processors meanwhile.
        purpose: ``"search"`` for the number of connections, ``"estimate"``, ``"check"``, or ``"too short"``
            to be counted.
    """

    direction: str
    connections: int
    opened: int
    counted_by: str
    began_unix_ns: int
    window_ns: int
    bits_per_second: float
    cpu_idle_share: float
    purpose: str


@dataclass(frozen=True)
class Estimate:
    """The rate of one direction. The interval is of the rounds, and no narrower than 1 % to each side.

    Where the path was not steady there is no one rate, and the interval is from the slowest to the quickest.
    """

    bits_per_second: float
    low_bits_per_second: float
    high_bits_per_second: float
    connections: int
    one_connection_bits_per_second: float
    bound_by_machine: bool
    is_steady: bool
    rounds: tuple[Round, ...]


def is_narrow(found: Estimate) -> bool:
    """Whether more rounds would tell little."""
    return found.high_bits_per_second / found.low_bits_per_second <= NARROW**2


def estimate(rounds: Sequence[Round]) -> Estimate:
    """Return the rate of the better way of opening, with the interval of its rounds."""
    usable = [row for row in rounds if row.purpose == "estimate" and row.bits_per_second > 0]
    by_way: dict[int, list[Round]] = {}
    for row in usable:
        by_way.setdefault(row.connections, []).append(row)
    means = {
        way: statistics.fmean(math.log(row.bits_per_second) for row in rows) for way, rows in by_way.items()
    }
    many = max(by_way)
    best = max(means, key=lambda way: means[way])
    # Fewer rounds with one connection: they count only where they are clearly better.
    if best != many and means[best] - means[many] < SYSTEMATIC:
        best = many
    logs = [math.log(row.bits_per_second) for row in by_way[best]]
    reach = SYSTEMATIC
    if len(logs) > 1:
        spread = statistics.stdev(logs) / math.sqrt(len(logs))
        # To load it takes longer than all else that most commands of the lab do.
        from scipy.special import stdtrit

        reach = max(reach, float(stdtrit(len(logs) - 1, (1 + LEVEL) / 2)) * spread)
    middle = means[best]
    idle = statistics.fmean(row.cpu_idle_share for row in by_way[best])
    is_steady = max(logs) - min(logs) <= math.log(STEADY)
    return Estimate(
        math.exp(middle),
        math.exp(middle - reach if is_steady else min(logs)),
        math.exp(middle + reach if is_steady else max(logs)),
        best,
        math.exp(means[min(by_way)]),
        idle < MACHINE_IDLE,
        is_steady,
        tuple(rounds),
    )
