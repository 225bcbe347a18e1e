"""What a verdict is made of: the evidence from a record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from haulage.words.numbers import format_time

#: Without this variation of the number in flight the slope says nothing: its ninth over its first tenth.
SLOPE_SPREAD = 1.3


@dataclass(frozen=True)
class Phase:
    """A time within a transfer in which the rate was one."""

    from_share: float
    to_share: float
    rate_bits_per_second: float


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
        ceiling_share: Rate over the measured ceiling; ``None`` without one, or where it contradicts
            itself: nothing carries more than it can.
        ceiling_wrong: How far the rate lies above the ceiling, where it does beyond the intervals of both.
        checksum: On the wire: ``"crc64"``, ``"md5"`` or ``"none"``.
        phases: Where the rate changed at one moment while the number in flight did not: two of them.
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
    ceiling_wrong: float | None = None
    checksum: str = "crc64"
    phases: tuple[Phase, ...] = ()
    direction: str = "up"
    commits_share: float = 0.0

    @property
    def in_flight(self) -> dict[str, float]:
        """The shares without empty slots, adding up to 1."""
        held = {name: share for name, share in self.shares.items() if name not in ("no work", "idle")}
        whole = sum(held.values())
        return {name: (share / whole if whole > 0 else 0.0) for name, share in held.items()}


def sentences(evidence: Evidence, scores: Mapping[str, float]) -> list[str]:
    """Say what the record holds, with numbers."""
    held = sorted(evidence.in_flight.items(), key=lambda item: -item[1])
    most = ", ".join(f"{name} {share:.0%}" for name, share in held[:3] if share >= 0.01)
    said = [f"Time in flight: {most or 'none'}."]
    empty = evidence.shares.get("no work", 0.0) + evidence.shares.get("idle", 0.0)
    if empty >= 0.25:
        said.append(f"Slots were empty for {empty:.0%} of the lane time ({evidence.lanes} lanes).")
    if evidence.cpu_idle_share is not None:
        said.append(f"Processors were {1 - evidence.cpu_idle_share:.0%} busy.")
    if evidence.refused_share > 0:
        said.append(f"{evidence.refused_share:.1%} of the requests were refused.")
    if evidence.answer_ns and evidence.took_ns:
        said.append(
            f"A request took {format_time(evidence.took_ns)};"
            f" the quickest answer {format_time(evidence.answer_ns)}."
        )
    if evidence.slope is not None and math.isfinite(evidence.slope) and evidence.spread >= SLOPE_SPREAD:
        said.append(
            f"The rate of a request scales with the number in flight to the power {evidence.slope:.2f},"
            f" n = {evidence.judged}."
        )
    if evidence.ceiling_share is not None:
        said.append(f"{evidence.ceiling_share:.0%} of the measured ceiling.")
    if evidence.ceiling_wrong is not None:
        said.append(
            f"The rate is {evidence.ceiling_wrong:.0%} of the measured ceiling: that measurement is wrong,"
            " and is no evidence here."
        )
    if scores["commit"] >= 0.1 and evidence.commit_ns:
        said.append(f"A commit took {format_time(evidence.commit_ns)}.")
    return said
