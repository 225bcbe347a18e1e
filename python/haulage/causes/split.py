"""Splits the time in flight by causes, as far as the evidence tells them apart."""

from __future__ import annotations

import math

from haulage.causes.evidence import SLOPE_SPREAD, Evidence

#: Refusals cost twice, a request and a pause: at this share of the time in flight they come first.
REFUSED = 0.25
#: A part of one cause alone, whatever the others, from this share on.
MUCH = 0.7
#: A request whose answer takes this many of the quickest waits for the service, not for the path.
SLOW_SERVICE = 2.5
#: Slope of log rate of a request over log number in flight: -1 on a shared link, 0 with a bound of its own.
SHARED_SLOPE, OWN_SLOPE = -0.6, -0.3
#: With fewer requests, or less variation of the number in flight, the slope says nothing.
SLOPE_NEEDS = 12
#: Causes that are a category of the ledger.
OF_LEDGER = {
    "throttled": "throttled",
    "disk": "disk",
    "source": "source",
    "checksum": "hash",
    "connect": "connect",
    "pacing": "pacing",
    "ordering": "ordering",
}


def split(evidence: Evidence) -> dict[str, float]:
    """Return the share of the time in flight by cause, the largest first."""
    parts = _parts(evidence)
    return dict(sorted(parts.items(), key=lambda item: -item[1]))


def _parts(evidence: Evidence) -> dict[str, float]:
    held = evidence.held
    parts = {cause: held.get(category, 0.0) for cause, category in OF_LEDGER.items()}
    if evidence.kind == "trial":
        return parts | _by_usual_times(evidence)
    parts |= {"failures": evidence.failed_share, "commit": evidence.commits_held}
    moving = sum(held.get(name, 0.0) for name in ("send", "receive", "server wait", "commit"))
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
    bound = bound_of_bytes(evidence)
    parts[bound] = parts.get(bound, 0.0) + moving - waits
    return parts


def _by_usual_times(evidence: Evidence) -> dict[str, float]:
    """Split the time of requests by what usual ones took, where only that is known of them."""
    held = evidence.held
    commits = held.get("commit", 0.0)
    trip = 0.0
    if evidence.answer_ns and evidence.commit_ns:
        trip = min(1.0, evidence.answer_ns / evidence.commit_ns)
    elif evidence.commit_ns is None:
        trip = 1.0  # PutBlob alone: what the path's quickest answer takes is no slowness of a commit
    # Longer than the path needs is the service's time, or that of a machine that does not get to reading.
    waits, answered = held.get("server wait", 0.0), 1.0
    if evidence.answer_ns and evidence.took_ns:
        answered = evidence.answer_ns / evidence.took_ns
    return {
        "commit": commits * (1 - trip),
        "latency": min(waits, answered) + commits * trip,
        "service": max(waits - answered, 0.0),
        bound_of_bytes(evidence): held.get("send", 0.0) + held.get("receive", 0.0),
    }


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


def bound_of_bytes(evidence: Evidence) -> str:
    """Name what bounds the bytes that are on their way, as far as a fit of requests or their slope tells."""
    fitted = evidence.fit
    told_apart = (
        evidence.is_of_empty_request
        or evidence.direction == "down"
        or (fitted is not None and fitted.waits_shown)
    )
    unclear = "bytes" if told_apart else "unknown"
    if fitted is None:
        return _by_slope(evidence) or unclear
    if fitted.of_all_shown and not fitted.of_one_shown:
        return "total-rate"
    if fitted.of_one_shown and not fitted.of_all_shown:
        if "connection" in fitted.shown or told_apart:
            return "connection-rate"
        return "own-time"
    if fitted.of_one_shown and fitted.of_all_shown:
        return "total-rate" if fitted.of_all >= MUCH else "bytes"
    return unclear


def _by_slope(evidence: Evidence) -> str | None:
    """Whether requests slowed as others joined; ``None`` if the record does not tell."""
    slope = evidence.slope
    if slope is None or not math.isfinite(slope):
        return None
    if evidence.spread < SLOPE_SPREAD or evidence.judged < SLOPE_NEEDS:
        return None
    if slope <= SHARED_SLOPE:
        return "total-rate"
    return "connection-rate" if slope >= OWN_SLOPE else None
