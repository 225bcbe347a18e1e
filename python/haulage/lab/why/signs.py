"""What the kernel's counters, names, TLS and addresses say beside the ledger; pure.

A sign is printed with its numbers. It supports or contradicts something only where nothing else that we know
leaves it; else it is shown, and names nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from haulage.causes.verdict import Verdict
from haulage.words.numbers import counted, format_rate, format_time, percent, round_size

Bearing = Literal["supports", "contradicts", "shown"]

#: A share of the busy time that decides, and one that says that it was something else.
MOST, HARDLY = 0.5, 0.05
#: Segments sent again per MB, and in all, from which loss is more than chance; below the second rate there
#: was none to speak of, where enough was sent to see it.
LOSS_PER_MB, LOSS_SEGMENTS, NO_LOSS_PER_MB, ENOUGH_BYTES = 1.0, 20, 0.1, 10**7
#: The kernel counts in steps of some milliseconds: less than this says nothing.
LEAST_BUSY_NS = 10**8
#: Of the lanes' time, from which opening connections is worth a sentence.
WORTH = 0.05
#: Two addresses differ when their usual rates do by this factor, and eight in ten requests of each lie apart.
APART = 1.6
#: Sizes of requests to two addresses are alike within this factor.
ALIKE = 2.0


@dataclass(frozen=True)
class Wire:
    """What the kernel counted of the connections that carried payload up.

    Attributes:
        connections: Counted; 0 in a record without these columns, and for downloads.
        bytes: Payload that they sent.
        busy_ns: With something on its way.
        under_way_ns: With a request.
        window_full_ns: Of it, with the other end's window full; ``None`` where it is not known.
        buffer_short_ns: Of it, with too little in this side's buffer.
        retransmits: Segments sent again.
        rtt_ns: Usual round trip when a request ended.
    """

    connections: int = 0
    bytes: int = 0
    busy_ns: int = 0
    under_way_ns: int = 0
    window_full_ns: int | None = None
    buffer_short_ns: int | None = None
    retransmits: int | None = None
    rtt_ns: int | None = None

    def share(self, ns: int | None) -> float | None:
        """Return a part of the busy time; ``None`` where it says nothing."""
        return None if ns is None or self.busy_ns < LEAST_BUSY_NS else min(1.0, ns / self.busy_ns)

    @property
    def on_wire(self) -> float | None:
        """Part of the time of requests in which something was on its way; ``None`` where it is not known."""
        return min(1.0, self.busy_ns / self.under_way_ns) if self.connections and self.under_way_ns else None

    @property
    def lost_per_mb(self) -> float | None:
        """Segments sent again per megabyte."""
        return None if self.retransmits is None or not self.bytes else 1e6 * self.retransmits / self.bytes


@dataclass(frozen=True)
class Openings:
    """Connections that were made.

    Attributes:
        opened: How many.
        took_ns: In lanes, from the body to the connection.
        names_ns: Of it, looking names up.
        tls_ns: Of it, agreeing on TLS.
        proxy_ns: Of it, waiting for a proxy to open a tunnel.
        lanes_ns: Lanes times wall time.
    """

    opened: int = 0
    took_ns: int = 0
    names_ns: int = 0
    tls_ns: int = 0
    proxy_ns: int = 0
    lanes_ns: int = 0

    @property
    def known_ns(self) -> int:
        """What is known to be part of it."""
        return self.names_ns + self.proxy_ns + self.tls_ns

    @property
    def share(self) -> float:
        """Of the lanes' time."""
        return max(self.took_ns, self.known_ns) / self.lanes_ns if self.lanes_ns else 0.0


@dataclass(frozen=True)
class Remote:
    """Requests to one address, one way; rates of single requests: the first tenth, the middle, the last."""

    address: str
    is_down: bool
    requests: int
    usual_bytes: float
    slow: float
    usual: float
    fast: float


@dataclass(frozen=True)
class Sign:
    """A piece of evidence.

    Attributes:
        bearing: What it does to ``about``; ``"shown"`` where it does not decide.
        about: A limit; empty where it is only shown.
        text: With its numbers.
    """

    bearing: Bearing
    about: str
    text: str

    @property
    def said(self) -> str:
        """In a line."""
        return self.text if self.bearing == "shown" else f"{self.text} This {self.bearing} {self.about}."


def signs(wire: Wire, cause: Verdict) -> list[Sign]:
    """Return what the kernel's counters say of the named cause."""
    if not wire.connections:
        return []
    full, short = wire.share(wire.window_full_ns), wire.share(wire.buffer_short_ns)
    of_each = cause.cause == "connection-rate" and cause.status == "seen"
    found = []
    if wire.on_wire is not None and wire.on_wire < MOST and wire.under_way_ns >= LEAST_BUSY_NS:
        found.append(
            Sign(
                "shown",
                "",
                f"Bytes were on their way for {percent(wire.on_wire)} of the"
                f" {format_time(wire.under_way_ns)} that requests took. Else the other end"
                " had them all, or a proxy, or this machine had not handed them over yet.",
            )
        )
    if full is not None:
        found.append(_window(full, wire, cause, of_each=of_each))
    if short is not None and short >= HARDLY:
        decides = of_each and short >= MOST
        found.append(
            Sign(
                "supports" if decides else "shown",
                "a limit on each connection, set by this machine's send buffer" if decides else "",
                f"This side's send buffer held too little for {percent(short)} of the"
                f" {format_time(wire.busy_ns)} of sending.",
            )
        )
    if wire.lost_per_mb is not None:
        found.append(_loss(wire, full or 0.0, of_each=of_each))
    if wire.rtt_ns is not None:
        trips = f"Round trips took {format_time(wire.rtt_ns)} at the end of requests"
        found.append(Sign("shown", "", f"{trips}, with the queues of the path."))
    return found


def _window(full: float, wire: Wire, cause: Verdict, *, of_each: bool) -> Sign:
    connections = counted(wire.connections, "connection")
    text = (
        f"The other end's window was full for {percent(full)} of the {format_time(wire.busy_ns)} in which"
        f" {connections} had bytes on their way."
    )
    if full < MOST:
        return Sign("shown", "", text)
    text += " It took the bytes no faster, or its window is small for this distance."
    if of_each:
        return Sign("supports", "a limit on each connection that is not the path's", text)
    if cause.cause == "total-rate":
        text += " The limit that all share may be there, or at a proxy between."
    return Sign("shown", "", text)


def _loss(wire: Wire, full: float, *, of_each: bool) -> Sign:
    rate, resent = wire.lost_per_mb or 0.0, wire.retransmits or 0
    what = f"{resent:,} segment{' was' if resent == 1 else 's were'} sent again in {round_size(wire.bytes)}"
    text = (
        f"{what}: {rate:.2g} per MB." if resent else f"No segment was sent again in {round_size(wire.bytes)}."
    )
    if rate >= LOSS_PER_MB and resent >= LOSS_SEGMENTS:
        if of_each and full < MOST:
            return Sign("supports", "loss on the path as what bounds each connection", text)
        return Sign("shown", "", f"{text} A full link loses some, and an end that is too busy to answer.")
    if of_each and rate < NO_LOSS_PER_MB and wire.bytes >= ENOUGH_BYTES:
        return Sign("contradicts", "loss as what bounds each connection", text)
    return Sign("shown", "", text)


def opening(openings: Openings) -> str:
    """Say what opening connections took, where it matters."""
    if openings.share < WORTH:
        return ""
    parts = [
        f"{what} {format_time(ns)}"
        for what, ns in (
            ("looking names up", openings.names_ns),
            ("waiting for the proxy", openings.proxy_ns),
            ("agreeing on TLS", openings.tls_ns),
        )
        if ns
    ]
    rest = openings.took_ns - openings.known_ns
    if parts and rest > 0:
        parts.append(f"the rest {format_time(rest)}")
    of_it = f": {', '.join(parts)}" if parts else ""
    times = counted(openings.opened, "connection")
    return f"Opening {times} took {percent(openings.share)} of the lanes' time{of_it}."


def addresses(remotes: Sequence[Remote]) -> str:
    """Say which address was slow and which quick, where two were clearly apart."""
    said = []
    for is_down in (False, True):
        one_way = sorted((one for one in remotes if one.is_down == is_down), key=lambda one: one.usual)
        if len(one_way) < 2:
            continue
        slow, quick = one_way[0], one_way[-1]
        apart = quick.usual >= APART * slow.usual and slow.fast < quick.slow
        alike = max(slow.usual_bytes, quick.usual_bytes) <= ALIKE * min(slow.usual_bytes, quick.usual_bytes)
        if apart and alike:
            said.append(
                f"Requests to {slow.address} went at {format_rate(slow.usual)} ({slow.requests:,} of them),"
                f" those to {quick.address} at {format_rate(quick.usual)} ({quick.requests:,})."
            )
    return " ".join(said)
