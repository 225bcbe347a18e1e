"""What a verdict is made of: the causes it may name, evidence from a record, effects of experiments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from haulage.lab.analysis.words import time_words

#: Without this variation of the number in flight the slope says nothing: its ninth over its first tenth.
SLOPE_SPREAD = 1.3
#: What each cause is called, and what to do about it.
CAUSES: dict[str, tuple[str, str]] = {
    "total-rate": (
        "the total rate of the path",
        "Nothing on this side helps: more connections share the same rate. Ask for a faster link, or send"
        " less.",
    ),
    "connection-rate": (
        "a bound on each connection",
        "Use more connections at once: the path carries more than one connection may.",
    ),
    "latency": (
        "round trips",
        "Larger blocks or more requests in flight: each request waits longer for its answer than its"
        " bytes take.",
    ),
    "throttled": (
        "refusals by the service (503)",
        "Lower the rate with --cap or --concurrency, or ask the provider for a higher limit.",
    ),
    "commit": (
        "slow commits",
        "Send small files in one request each (--single-put-max), or fewer, larger objects.",
    ),
    "disk": ("the disk", "Read from or write to a faster disk, or several; more connections do not help."),
    "cpu": ("the processors of this machine", "Use more or faster cores, or stop what else runs here."),
    "server": (
        "a server that takes one request at a time",
        "Use larger blocks, so that there are fewer requests; more of them at once only queue.",
    ),
    "connect": ("making connections", "Keep connections open: fewer jobs with more files each."),
    "pacing": ("the cap that was set", "Raise or leave out --cap."),
    "ordering": ("putting pieces in order", "Let ranges be written where they belong, or take whole files."),
}


@dataclass(frozen=True)
class Evidence:
    """What the record says of one treatment at one size.

    Attributes:
        subject: In words.
        shares: Of lanes times wall time by category of the ledger.
        lanes: Highest number in flight.
        rate_bits_per_second: Goodput.
        cpu_idle_share: Of all processors meanwhile; ``None`` without samples.
        cpu_share_of_one_core: That this process took.
        refused_share: Of the requests.
        answer_ns: Quickest answer of the path.
        is_of_empty_request: Whether that carried nothing. Where only whole files went up, even the quickest
            answer holds a body and a commit.
        took_ns: Median time of a request that carried payload.
        commit_ns: Median answer to a block list; ``None`` without any.
        usual_bytes: Median payload of a request.
        slope: Of log rate of a request over log number in flight; ``None`` if it cannot be fitted.
        spread: Of the number in flight, its ninth over its first tenth.
        judged: Requests that the slope stands on.
        ceiling_share: Rate over the measured ceiling; ``None`` without one.
        direction: ``"up"`` or ``"down"``.
        commits_share: Of the requests, those that commit an object.
    """

    subject: str
    shares: Mapping[str, float]
    lanes: int
    rate_bits_per_second: float
    cpu_idle_share: float | None = None
    cpu_share_of_one_core: float | None = None
    refused_share: float = 0.0
    answer_ns: float | None = None
    is_of_empty_request: bool = True
    took_ns: float | None = None
    commit_ns: float | None = None
    usual_bytes: float | None = None
    slope: float | None = None
    spread: float = 1.0
    judged: int = 0
    ceiling_share: float | None = None
    direction: str = "up"
    commits_share: float = 0.0

    @property
    def in_flight(self) -> dict[str, float]:
        """The shares without empty slots, adding up to 1."""
        held = {name: share for name, share in self.shares.items() if name not in ("no work", "idle")}
        whole = sum(held.values())
        return {name: (share / whole if whole > 0 else 0.0) for name, share in held.items()}


@dataclass(frozen=True)
class Effects:
    """What experiments gave, each as rate with the change over rate without; ``None`` if it was not made.

    Attributes:
        connections: Twice the requests in flight.
        blocks: Four times the block size.
        memory: Source (up) or sink (down) in memory instead of on disk.
        requests: Small requests a second, eight in flight over one in flight.
        refused_again: Share of requests refused when the same was done again.
        refused_slower: The same at half the rate.
        cpu_granted: Share of a core that a loop alone received.
        answer_ns: Median answer to an empty request on the idle path.
        commit_ns: Median answer to a write of a thousand bytes on the idle path.
    """

    connections: float | None = None
    blocks: float | None = None
    memory: float | None = None
    requests: float | None = None
    refused_again: float | None = None
    refused_slower: float | None = None
    cpu_granted: float | None = None
    answer_ns: float | None = None
    commit_ns: float | None = None
    made: tuple[str, ...] = field(default=())


def sentences(evidence: Evidence, scores: Mapping[str, float]) -> list[str]:
    """Say what the record holds, with numbers."""
    held = sorted(evidence.in_flight.items(), key=lambda item: -item[1])
    most = ", ".join(f"{name} {share:.0%}" for name, share in held[:3] if share >= 0.01)
    said = [f"Time in flight went into {most or 'nothing'}."]
    empty = evidence.shares.get("no work", 0.0) + evidence.shares.get("idle", 0.0)
    if empty >= 0.25:
        said.append(f"Slots stood empty for {empty:.0%} of lanes times wall time, {evidence.lanes} lanes.")
    if evidence.cpu_idle_share is not None:
        said.append(f"Processors were {1 - evidence.cpu_idle_share:.0%} busy.")
    if evidence.refused_share > 0:
        said.append(f"{evidence.refused_share:.1%} of the requests were refused.")
    if evidence.answer_ns and evidence.took_ns:
        said.append(
            f"A request took {time_words(evidence.took_ns)};"
            f" the quickest answer {time_words(evidence.answer_ns)}."
        )
    if evidence.slope is not None and math.isfinite(evidence.slope) and evidence.spread >= SLOPE_SPREAD:
        said.append(
            f"The rate of a request went as the number in flight to the power {evidence.slope:.2f},"
            f" n = {evidence.judged}."
        )
    if evidence.ceiling_share is not None:
        said.append(f"{evidence.ceiling_share:.0%} of the measured ceiling.")
    if scores["commit"] >= 0.1 and evidence.commit_ns:
        said.append(f"A commit took {time_words(evidence.commit_ns)}.")
    return said


def shown(effects: Effects) -> list[str]:
    """Say what the experiments gave, with numbers."""

    def times(name: str, value: float | None) -> list[str]:
        return [] if value is None else [f"{name}: {value:.2f} times the rate."]

    said = [
        *times("Twice the connections", effects.connections),
        *times("Four times the block size", effects.blocks),
        *times("Memory instead of the disk", effects.memory),
    ]
    if effects.requests is not None:
        said.append(
            f"Eight small requests at once: {effects.requests:.2f} times as many a second as one by one."
        )
    if effects.refused_again is not None:
        said.append(f"Done again, {effects.refused_again:.1%} of the requests were refused.")
    if effects.refused_slower is not None:
        said.append(f"At half the rate, {effects.refused_slower:.1%} of them.")
    if effects.cpu_granted is not None:
        said.append(f"A loop alone received {effects.cpu_granted:.0%} of a core.")
    if effects.answer_ns is not None and effects.commit_ns is not None:
        said.append(
            f"Idle, an empty request took {time_words(effects.answer_ns)} and a small write"
            f" {time_words(effects.commit_ns)}."
        )
    return said
