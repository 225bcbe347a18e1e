"""What a link can carry, from the words that `haul emulate --link` takes; for estimates only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf

from haulage.lab.units import parse_duration, parse_rate

#: What stands before a link of real packets.
PACKETS = "packets:"
#: What the emulator's own names stand for.
NAMED = {
    "": "",
    "none": "",
    "wan": "rtt=60ms,conn=20mbit,total=1gbit",
    "lan": "rtt=0.5ms,total=10gbit",
}


@dataclass(frozen=True)
class Step:
    """What holds from ``after_ns`` on. Rates are in bits per second and infinite where not limited."""

    after_ns: int
    rtt_ns: float
    connection_bits_per_second: float
    total_bits_per_second: float


@dataclass(frozen=True)
class Link:
    """A link with what changes later, in order of time."""

    steps: tuple[Step, ...]

    @property
    def first(self) -> Step:
        """What holds at first."""
        return self.steps[0]

    @property
    def changes(self) -> bool:
        """Whether it changes with time, so that a cell must begin it anew to be comparable."""
        return len(self.steps) > 1

    def arrival_ns(self, size_bytes: float, connections: float, start_ns: float = 0.0) -> float:
        """Return when ``size_bytes`` are through that begin at ``start_ns``, from the link's beginning."""
        left, now = size_bytes * 8.0, start_ns
        ends = [step.after_ns for step in self.steps[1:]] + [inf]
        for step, end in zip(self.steps, ends, strict=True):
            if end <= now:
                continue
            rate = min(step.total_bits_per_second, connections * step.connection_bits_per_second)
            fits = rate * (end - now) / 1e9
            if left <= fits:
                return now + left / rate * 1e9
            left, now = left - fits, end
        raise AssertionError("the last step has no end")


@lru_cache  # an estimate asks for that of each cell
def parse_link(spec: str) -> Link:
    """Read a specification; the emulator is the judge of what is valid, this only understands it.

    >>> parse_link("wan,at=10s:total=2mbit").steps[1].total_bits_per_second
    2000000.0
    """
    spec = spec.removeprefix(PACKETS)
    first, _, rest = spec.partition(",")
    words = f"{NAMED[first]},{rest}" if first in NAMED else spec
    steps = [Step(0, 0.0, inf, inf)]
    changes: list[tuple[int, list[str]]] = []
    for word in filter(None, words.split(",")):
        if word.startswith("at="):
            when, *settings = word.removeprefix("at=").split(":")
            changes.append((parse_duration(when), settings))
        else:
            steps[0] = _change(steps[0], 0, [word])
    for after_ns, settings in sorted(changes, key=lambda change: change[0]):
        steps.append(_change(steps[-1], after_ns, settings))
    return Link(tuple(steps))


def _change(before: Step, after_ns: int, settings: list[str]) -> Step:
    rtt, connection, total = (
        before.rtt_ns,
        before.connection_bits_per_second,
        before.total_bits_per_second,
    )
    for setting in settings:
        key, _, value = setting.partition("=")
        if key == "rtt":
            rtt = parse_duration(value, ("ms", "s"))
        elif key == "conn":
            connection = float(parse_rate(value))
        elif key in ("total", "up", "down"):
            total = float(parse_rate(value))
    return Step(after_ns, rtt, connection, total)
