"""What a link can carry, from the words that `haul emulate --link` takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

#: What the emulator's own name stands for.
NAMED = {"none": "", "wan": "rtt=60ms,conn=20mbit,total=1gbit"}
UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Link:
    """Rates in bits per second, times in seconds."""

    rtt_s: float
    conn: float
    steps: tuple[tuple[float, float], ...]  #: from when on, how much in all

    @property
    def total(self) -> float:
        """What it carries at first."""
        return self.steps[0][1]

    def carries(self, seconds: float) -> float:
        """Return how many bits fit through it in the first ``seconds``."""
        ends = [begin for begin, _ in self.steps[1:]] + [inf]
        parts = zip(self.steps, ends, strict=True)
        return sum(rate * max(0.0, min(end, seconds) - begin) for (begin, rate), end in parts)

    def ideal_s(self, bits: float) -> float:
        """Return the least time in which ``bits`` fit through it."""
        for (begin, rate), end in zip(self.steps, [at for at, _ in self.steps[1:]] + [inf], strict=True):
            if bits <= rate * (end - begin):
                return begin + bits / rate
            bits -= rate * (end - begin)
        raise AssertionError("the last step has no end")


def parse(spec: str) -> Link:
    """Read a link; without a rate it carries any."""
    rtt, conn, steps, at = 0.0, inf, [(0.0, inf)], 0.0
    for word in filter(None, NAMED.get(spec, spec).split(",")):
        if word.startswith("at="):
            when, word = word.removeprefix("at=").split(":", 1)
            at = amount(when)
        name, value = word.split("=")
        if name == "rtt":
            rtt = amount(value)
        elif name == "conn":
            conn = amount(value)
        elif name == "total":
            steps = [*(step for step in steps if step[0] < at), (at, amount(value))]
    return Link(rtt, conn, tuple(steps))


def amount(text: str) -> float:
    """Read a number with a unit, the longest that fits."""
    unit = max((unit for unit in UNITS if text.endswith(unit)), key=len)
    return float(text.removesuffix(unit)) * UNITS[unit]
