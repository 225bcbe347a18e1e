"""Names what limited a job, with its evidence, or says that it cannot tell. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ledger import PARTS, Ledger

#: A link this full is the limit: headers, round trips at both ends and pacing take the rest.
FULL = 0.80
#: A connection at this share of its own limit is limited by it.
SATURATED = 0.90
#: A cause is named only if it is at least this share of what was lost.
MAIN = 0.50

_UNITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


@dataclass(frozen=True)
class Link:
    """What the emulated link allows: rates in bits per second, infinite where it has no limit."""

    rtt_s: float
    connection: float
    total: float

    @classmethod
    def parse(cls, terms: str) -> Link:
        """Read the terms that `haul emulate --json` states, such as ``rtt=60ms,conn=20mbit,total=1gbit``."""

        def rate(name: str) -> float:
            found = re.search(rf"\b{name}=([\d.]+)([a-z]+)", terms)
            return float(found[1]) * _UNITS[found[2]] if found else float("inf")

        rtt = re.search(r"\brtt=([\d.]+)(ms|s)\b", terms)
        rtt_s = float(rtt[1]) / (1e3 if rtt[2] == "ms" else 1) if rtt else 0.0
        return cls(rtt_s, rate("conn"), rate("total"))

    def one_by_one_s(self, files: int, size_bytes: int) -> float:
        """Return the least time for one file after another on one connection, in seconds."""
        return size_bytes * 8 / min(self.connection, self.total) + files * self.rtt_s

    def __str__(self) -> str:
        rates = [(self.connection, "a connection"), (self.total, "in all")]
        texts = [f"{rate / 1e6:,.0f} Mbit/s {what}" for rate, what in rates if rate != float("inf")]
        return ", ".join([f"{self.rtt_s * 1e3:.0f} ms away", *texts])


@dataclass(frozen=True)
class Verdict:
    """The cause in a few words and the figures that show it."""

    cause: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.cause}: {self.evidence}"


def judge(ledger: Ledger, link: Link) -> Verdict:
    """Say what limited the job.

    Thresholds are the constants of this module; a job that fits none of them is "undetermined".
    """
    used = ledger.payload_bytes * 8e9 / ledger.wall_ns / link.total
    lane_rate = ledger.lane_bits_per_second
    moving = ledger.share(ledger.moving)
    connections = "one connection" if ledger.lanes == 1 else f"{ledger.lanes} connections"
    if used >= FULL:
        return Verdict("the link", f"{used:.0%} full with {connections}")
    saturated = lane_rate >= SATURATED * link.connection
    if saturated and ledger.lanes * link.connection < FULL * link.total and moving > 1 - moving:
        rest = _largest_loss(ledger)
        evidence = (
            f"{connections}, {moving:.0%} of the time {PARTS[ledger.moving]} at {_mbit(lane_rate)} of "
            f"{_mbit(link.connection)} Mbit/s, {ledger.share(rest):.0%} {PARTS[rest]}; {used:.1%} of the link"
        )
        return Verdict("too few connections", evidence)
    cause = _largest_loss(ledger)
    lost = 1 - moving
    if ledger.share(cause) < MAIN * lost:
        parts = sorted(PARTS, key=ledger.share, reverse=True)[:4]
        split = ", ".join(f"{PARTS[part]} {ledger.share(part):.0%}" for part in parts)
        return Verdict("undetermined", f"no single cause; {connections}: {split}")
    evidence = f"{ledger.share(cause):.0%} of {connections} x {ledger.wall_ns / 1e9:.1f} s"
    if cause == "tail":
        alone = (ledger.wall_ns - ledger.last_slot_ns) / 1e9
        name = ledger.last_object.rsplit("/", 1)[-1]
        return Verdict(
            "the tail", f"{evidence} idle in the last {alone:.1f} s, nothing left to begin; {name} ended last"
        )
    return Verdict(PARTS[cause], f"{evidence}, {moving:.0%} {PARTS[ledger.moving]}")


def _largest_loss(ledger: Ledger) -> str:
    losses = [name for name in PARTS if name != ledger.moving]
    return max(losses, key=ledger.share)


def _mbit(bits: float) -> str:
    return f"{bits / 1e6:.3g}"
