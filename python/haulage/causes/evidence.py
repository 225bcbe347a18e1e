"""What is known of a transfer: the numbers that a cause is told by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from haulage.causes.fit import Fit

#: Without this variation of the number in flight the slope says nothing: its ninth over its first tenth.
SLOPE_SPREAD = 1.3
#: Of a transfer whose settings and machine are known, of a job that left only its record, of a phase of one.
Kind = Literal["trial", "job", "phase"]


@dataclass(frozen=True)
class Phase:
    """A time within a transfer in which the rate was one."""

    from_share: float
    to_share: float
    rate_bits_per_second: float


@dataclass(frozen=True)
class Told:
    """What bounded a job because its user said so.

    Attributes:
        cap_bits_per_second: On its rate; ``None`` without one.
        is_polite: Whether it gave way to other traffic.
        memory_bytes: In flight at most; default the engine's own.
    """

    cap_bits_per_second: float | None = None
    is_polite: bool = False
    memory_bytes: int = 96 << 20


@dataclass(frozen=True)
class Evidence:
    """What is known of one treatment at one size, of a job, or of a phase of one.

    Attributes:
        subject: In words.
        shares: Of lanes times wall time by category of the ledger.
        lanes: Highest number in flight.
        rate_bits_per_second: Goodput.
        cpu_idle_share: Of all processors meanwhile; ``None`` without samples.
        cpu_share_of_one_core: That this process took.
        refused_share: Of the requests.
        answer_ns: Quickest answer of the path; ``None`` without any.
        is_of_empty_request: Whether that carried nothing. Where only whole files went up, even the quickest
            answer holds a body and a commit.
        took_ns: Median time of a request that carried payload.
        commit_ns: Median time of a request that only commits; ``None`` without any.
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
        kind: Whose evidence it is. What follows is of jobs and their phases alone.
        wall_ns: Length.
        in_flight: Mean number.
        payload: Requests with payload that ended well.
        requests: All over the wire.
        bytes: Payload that arrived.
        commits_held: Of the time in flight, in requests that only commit.
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
        told: What its user set; ``None`` where the record does not say.
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
    kind: Kind = "trial"
    wall_ns: int = 0
    in_flight: float = 0.0
    payload: int = 0
    requests: int = 0
    bytes: int = 0
    commits_held: float = 0.0
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
    told: Told | None = None

    @property
    def held(self) -> dict[str, float]:
        """Shares of the time in flight, empty slots left out; they add up to 1."""
        busy = {name: share for name, share in self.shares.items() if name not in ("no work", "idle")}
        whole = sum(busy.values())
        return {name: (share / whole if whole > 0 else 0.0) for name, share in busy.items()}
