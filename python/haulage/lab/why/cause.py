"""Names what limited a job, or a phase of it, from its record alone; pure.

One run in which nothing was changed on purpose can show a cause ("seen"); it can never confirm one. Where two
causes explain the record alike, both are named and the status is "undetermined".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from haulage.causes.evidence import Evidence

Status = Literal["seen", "undetermined", "nothing to explain", "failed"]

#: A share of the time in flight that makes a cause the one to name, where there is no second.
MAIN = 0.4
#: A second one of at least this share is named beside it.
SECOND = 0.25
#: One of this share is named alone, whatever the second.
MUCH = 0.7
#: Refusals cost twice, a request and a pause: at this share they come first.
REFUSED = 0.25
#: Of the time of the job: before the first request, or after the last.
AROUND = 0.5
#: A request whose answer takes this many of the quickest waits for the service, not for the path.
SLOW_SERVICE = 2.5
#: A job is too short below this, or with fewer requests than a fit needs; one of a few requests has nothing
#: to explain.
SHORT_NS, FEW_REQUESTS, FEW_NS = 10**9, 6, 5 * 10**9
#: The disk is named from this share on, also beside a second: requests queue where it is full.
DISK = 0.5
#: But not alone, where slots stood empty for the first share, or all was quicker than this in bit/s, or its
#: share is below the third and uploads had bytes on the wire for less than the fourth: MD5 and processors
#: that are busy leave that too. With ten busy processes beside it, a job on a quick disk had 66 % there.
DOUBT, QUICK, SURE, ON_WIRE = 0.15, 0.8e9, 0.85, 0.5
#: Slots that were not taken again although work was queued: this share of all time, each for this part of an
#: attempt.
EMPTY, EACH_GAP = 0.4, 0.5
#: A lane that usually waits this long until something is queued, and this part of an attempt, has too little
#: to do.
WAITS_NS, WAITS = 10**6, 0.2
#: Processors that others use keep a request waiting for a few turns, so for no longer than this.
TURNS_NS = 5 * 10**7
#: Answers quicker than this come from this machine, or from one beside it.
NEAR_NS = 10**6


@dataclass(frozen=True)
class Cause:
    """What limited it.

    Attributes:
        cause: A key of :data:`~haulage.causes.vocabulary.CAUSES`.
        status: ``"seen"`` in the record, ``"undetermined"`` where it does not decide, or there is nothing
            to explain; ``"failed"`` where there is nothing to explain but that the job did.
        rivals: Causes that would leave the same record.
        parts: Share of the time in flight by cause, the largest first, those below a hundredth left out.
    """

    cause: str
    status: Status
    rivals: tuple[str, ...]
    parts: dict[str, float]

    @property
    def sharing(self) -> tuple[str, ...]:
        """What the time is divided between, where no single cause has enough of it: the largest first."""
        return tuple(
            name for place, (name, part) in enumerate(self.parts.items()) if place == 0 or part >= SECOND
        )


#: Causes that bound bytes, so that a phase of another rate is another regime. Under all others a job whose
#: files grow smaller has a lower rate, and the same cause.
OF_BYTES = ("connection-rate", "total-rate", "bytes")


#: What a record shows as well where too little was there to be moved, so that few requests were in flight.
OF_REQUESTS = ("one-at-a-time", "latency", "service", "answers", "connection-rate")


def decide(evidence: Evidence) -> Cause:
    """Name what limited it."""
    parts = _parts(evidence)
    shown = {name: share for name, share in sorted(parts.items(), key=lambda item: -item[1]) if share >= 0.01}

    def said(cause: str, status: Status, *rivals: str) -> Cause:
        return Cause(cause, status, rivals, shown)

    if evidence.requests == 0:
        return said("empty", "nothing to explain")
    if evidence.kind == "job":
        if evidence.payload < FEW_REQUESTS and evidence.wall_ns < FEW_NS:
            return said("few", "nothing to explain")
        if evidence.before_ns >= AROUND * evidence.wall_ns:
            listed = evidence.asked_ns >= AROUND * evidence.before_ns
            return said("listing" if listed else "nodes" if evidence.nodes else "before", "seen")
        if evidence.after_ns >= AROUND * evidence.wall_ns:
            return said("after", "seen")
        if evidence.wall_ns < SHORT_NS:
            return said("short", "undetermined")
    if parts.get("throttled", 0.0) >= REFUSED:
        return said("throttled", "seen")
    if evidence.empty_ns >= AROUND * evidence.wall_ns:
        return said("starved", "seen")
    for read in ("disk", "source"):
        if parts[read] >= (MUCH if evidence.lanes == 1 else DISK):
            return said(read, *_status(read, evidence))
    if evidence.lanes == 1:
        return said("one-at-a-time", *_status("one-at-a-time", evidence))
    if _gaps(evidence):
        return said("cpu", "undetermined", "cpu", "unused")
    if not shown:
        return said("mixed", "undetermined")
    first, share = next(iter(shown.items()))
    others = [name for name, part in shown.items() if part >= SECOND and name != first]
    if share >= MUCH or (share >= MAIN and not others):
        return said(first, *_status(first, evidence))
    return said("mixed", "undetermined", *_of_mixed([first, *others], evidence))


def of_phases(whole: Cause, phases: Sequence[tuple[Cause, int]]) -> Cause:
    """Judge a job by its phases, where it has some: what holds of both regimes together holds of neither.

    Args:
        whole: As the job looks without phases.
        phases: What limited each, and its time in flight.
    """
    if not phases or whole.status == "nothing to explain" or whole.cause == "throttled":
        return whole
    held = sum(ns for _, ns in phases) or 1
    names = dict.fromkeys(name for cause, _ in phases for name in cause.parts)
    shares = {name: sum(cause.parts.get(name, 0.0) * ns for cause, ns in phases) / held for name in names}
    parts = dict(sorted(shares.items(), key=lambda item: -item[1]))
    first = phases[0][0]
    if all((cause.cause, cause.status) == (first.cause, first.status) for cause, _ in phases):
        return Cause(first.cause, first.status, first.rivals, parts)
    seen = all(cause.status == "seen" for cause, _ in phases)
    rivals = tuple(dict.fromkeys(cause.cause for cause, _ in phases))
    return Cause("changed", "seen" if seen else "undetermined", rivals, parts)


def _status(cause: str, evidence: Evidence) -> tuple[Status, *tuple[str, ...]]:
    """Whether the record shows a cause, and what else it may have been."""
    if cause in OF_REQUESTS and _waits(evidence):
        return ("undetermined", cause, "starved")
    if cause == "bytes":
        return ("undetermined", "connection-rate", "total-rate")
    if cause == "disk" and evidence.rate_bits_per_second >= QUICK:
        return ("undetermined", "disk", "checksum", "cpu")
    if cause == "disk" and (evidence.shares.get("idle", 0.0) >= DOUBT or _elsewhere(evidence)):
        return ("undetermined", "disk", "cpu")
    if cause == "source" and _elsewhere(evidence):
        return ("undetermined", "source", "total-rate")
    if cause == "checksum":
        # What is summed up again is read again.
        return ("undetermined", "checksum", "disk")
    if cause == "service" and (evidence.answer_ns or 0) < NEAR_NS and _within_turns(evidence):
        return ("undetermined", "service", "cpu")
    if cause in ("own-time", "unknown"):
        shared = ("total-rate",) if cause == "unknown" else ()
        turns = ("cpu",) if _within_turns(evidence) else ()
        return ("undetermined", "answers", "connection-rate", *shared, *turns)
    if cause == "answers" and evidence.direction == "up":
        return ("seen", "latency", "service")
    return ("seen",)


def _of_mixed(names: Sequence[str], evidence: Evidence) -> list[str]:
    """Return what may have been, of causes that share the time: one that explains all of them comes first."""
    others = [_status(name, evidence)[1:] for name in names]
    found = dict.fromkeys([*names, *(rival for some in others for rival in some)])
    first = ["cpu"] if all("cpu" in some for some in others) else []
    return [*dict.fromkeys([*first, *found])]


def _elsewhere(evidence: Evidence) -> bool:
    """Whether much of the time was not for reading and writing, and is not known to have been the path's."""
    here = evidence.held.get("disk", 0.0) + evidence.held.get("source", 0.0)
    return here < SURE and (evidence.on_wire or 0.0) < ON_WIRE


def _within_turns(evidence: Evidence) -> bool:
    """Whether requests took longer than the quickest answer by what busy processors may make them wait."""
    if not evidence.took_ns or not evidence.answer_ns:
        return False
    return evidence.took_ns >= SLOW_SERVICE * evidence.answer_ns and evidence.took_ns <= TURNS_NS


def _gaps(evidence: Evidence) -> bool:
    """Whether slots stood empty between most attempts, though the next was queued.

    Where fewer requests were allowed than at most, a few lanes have long gaps and most have none.
    """
    if not evidence.gap_ns or not evidence.held_ns:
        return False
    return evidence.gaps_share >= EMPTY and evidence.gap_ns >= EACH_GAP * evidence.held_ns


def _waits(evidence: Evidence) -> bool:
    """Whether lanes usually waited until something was there to be moved.

    Where fewer requests were allowed than at most, a few lanes wait long and most do not.
    """
    if not evidence.wait_ns or not evidence.waited_after_ns:
        return False
    return evidence.wait_ns >= max(WAITS_NS, WAITS * evidence.waited_after_ns)


def _parts(evidence: Evidence) -> dict[str, float]:
    """Split the time in flight by causes."""
    held = evidence.held
    parts = {
        "throttled": held.get("throttled", 0.0),
        "disk": held.get("disk", 0.0),
        "source": held.get("source", 0.0),
        "checksum": held.get("hash", 0.0),
        "connect": held.get("connect", 0.0),
        "ordering": held.get("ordering", 0.0),
        "failures": evidence.failed_share,
        "commit": evidence.commits_held,
    }
    moving = sum(held.get(name, 0.0) for name in ("send", "receive", "server wait", "commit", "pacing"))
    moving = max(0.0, moving - evidence.commits_held - evidence.failed_share)
    if evidence.direction == "down":
        # What commits a download is here: the file is closed, given its name, and the disk may be waited for.
        here = min(moving, max(0.0, held.get("commit", 0.0) - evidence.commits_held))
        parts["disk"] += here
        moving -= here
        waits = min(moving, held.get("server wait", 0.0))
        parts[_of_answers(evidence, waits)] = waits
    elif evidence.is_of_empty_request:
        # The ledger takes the path's own answer from each request; what a fit finds beyond that is the
        # service's.
        known = min(
            moving, held.get("server wait", 0.0) + max(held.get("commit", 0.0) - evidence.commits_held, 0.0)
        )
        fitted = evidence.fit
        service = 0.0
        slow = fitted and evidence.answer_ns and fitted.waits_ns >= SLOW_SERVICE * evidence.answer_ns
        if fitted and slow and fitted.waits_shown:
            service = max(0.0, moving * fitted.waits - known)
        parts |= {"latency": known, "service": service}
        waits = known + service
    elif evidence.fit and evidence.fit.waits_shown:
        waits = moving * evidence.fit.waits
        parts["answers"] = waits
    else:
        waits = 0.0
    parts[_of_bytes(evidence)] = parts.get(_of_bytes(evidence), 0.0) + moving - waits
    return parts


def _of_answers(evidence: Evidence, waits: float) -> str:
    """Name the wait for the first byte of a download: beyond what the quickest took it is the service's."""
    if evidence.answer_ns and evidence.payload:
        each = (
            waits
            / max(sum(evidence.held.values()), 1e-9)
            * evidence.in_flight
            * evidence.wall_ns
            / evidence.payload
        )
        if each >= SLOW_SERVICE * evidence.answer_ns:
            return "service"
    return "answers"


def _of_bytes(evidence: Evidence) -> str:
    """Name what bounds the bytes that are on their way, as far as the record tells."""
    fitted = evidence.fit
    told_apart = (
        evidence.is_of_empty_request
        or evidence.direction == "down"
        or (fitted is not None and fitted.waits_shown)
    )
    if fitted is None:
        return "bytes" if told_apart else "unknown"
    if fitted.of_all_shown and not fitted.of_one_shown:
        return "total-rate"
    if fitted.of_one_shown and not fitted.of_all_shown:
        if "connection" in fitted.shown or told_apart:
            return "connection-rate"
        return "own-time"
    if fitted.of_one_shown and fitted.of_all_shown:
        return "total-rate" if fitted.of_all >= MUCH else "bytes"
    return "bytes" if told_apart else "unknown"
