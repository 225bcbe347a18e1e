"""What a record says of a job, or of a phase of it: the numbers that a cause is told by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from haulage.lab.why.fit import Fit


@dataclass(frozen=True)
class Evidence:
    """What a record says of the job, or of a phase.

    Attributes:
        shares: Of lanes times wall time by category of the ledger.
        lanes: Highest number in flight.
        in_flight: Mean number.
        wall_ns: Length.
        payload: Requests with payload that ended well.
        requests: All over the wire.
        bytes: Payload that arrived.
        direction: ``"up"`` or ``"down"``.
        answer_ns: Quickest answer; ``None`` without any.
        answer_is_empty: Whether that request carried nothing.
        commits_share: Of the time in flight, in requests that only commit.
        commit_ns: Median time of these.
        took_ns: Median time of a payload request.
        usual_bytes: Median payload.
        rate_of_one: Rates of single requests in bit/s: the first tenth, the middle, the last tenth.
        connections: That carried payload.
        failed_share: Of the time in flight, in attempts that failed or were cut, refusals not counted.
        refused: Requests refused.
        before_ns: Before the first request.
        after_ns: After the last.
        asked_ns: Of ``before_ns``, with lists and looks at what there is.
        nodes: Of a cluster; 0 without one.
        gaps_share: Of lanes times wall time, in which a slot stood empty though the next request was queued.
        gap_ns: Usual time of such a gap.
        held_ns: Usual time of an attempt before it.
        empty_ns: Between the first request and the last, without one in flight or queued.
        wait_ns: Usual time from the end of an attempt until the next one of its lane is queued.
        waited_after_ns: Usual time of an attempt before it.
        on_wire: Part of the time of uploads in which the kernel had bytes on their way; ``None`` where it
            is not known.
        fit: Of times over sizes and numbers; ``None`` with too few requests.
        is_whole: Whether this is the whole job, not a phase.
    """

    shares: Mapping[str, float]
    lanes: int
    in_flight: float
    wall_ns: int
    payload: int
    requests: int
    bytes: int
    direction: str
    answer_ns: float | None = None
    answer_is_empty: bool = False
    commits_share: float = 0.0
    commit_ns: float | None = None
    took_ns: float | None = None
    usual_bytes: float | None = None
    rate_of_one: tuple[float, float, float] | None = None
    connections: int = 0
    failed_share: float = 0.0
    refused: int = 0
    before_ns: int = 0
    after_ns: int = 0
    asked_ns: int = 0
    nodes: int = 0
    gaps_share: float = 0.0
    gap_ns: float | None = None
    held_ns: float | None = None
    empty_ns: float = 0.0
    wait_ns: float | None = None
    waited_after_ns: float | None = None
    on_wire: float | None = None
    fit: Fit | None = None
    is_whole: bool = True

    @property
    def held(self) -> dict[str, float]:
        """Shares of the time in flight, empty slots left out; they add up to 1."""
        busy = {name: share for name, share in self.shares.items() if name not in ("no work", "idle")}
        whole = sum(busy.values())
        return {name: (share / whole if whole > 0 else 0.0) for name, share in busy.items()}

    @property
    def rate(self) -> float:
        """Payload over the length, in bit/s."""
        return 8e9 * self.bytes / self.wall_ns if self.wall_ns else 0.0
