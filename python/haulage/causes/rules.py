"""Names why a transfer or a job was not faster: ``decide``, the only judge.

Pure: evidence and the effects of experiments come in, a verdict goes out. A record in which nothing was
changed on purpose can show a cause ("seen"); only experiments confirm one, by the rules of
:mod:`~haulage.causes.confirmed`. Where two causes explain the record alike, it is "undetermined". Of a job no
more is known than its record, neither its settings nor what else the machine did, so that it takes more to
name a cause, and rivals are named with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from haulage.causes.confirmed import NEAR_CEILING, judge
from haulage.causes.effects import Effects, gave
from haulage.causes.evidence import Evidence
from haulage.causes.sentences import rivals_words, sentences
from haulage.causes.split import (
    MUCH,
    OWN_SLOPE,
    REFUSED,
    SHARED_SLOPE,
    SLOW_SERVICE,
    bound_of_bytes,
    split,
)
from haulage.causes.verdict import SECOND, Status, Verdict
from haulage.causes.vocabulary import ADVICE, CAUSES, GIVING_WAY
from haulage.words.numbers import format_rate

#: A share of the time in flight that makes a cause the one to name, where there is no second: nothing else
#: can be larger than one and a half times it.
MAIN = 0.4
#: A smaller part of the time in flight is not shown.
LEAST_PART = 0.01
#: Of the time of the job: before the first request, or after the last.
AROUND = 0.5
#: A job is too short below this, or with fewer requests than a fit needs; one of a few requests has nothing
#: to explain.
SHORT_NS, FEW_REQUESTS, FEW_NS = 10**9, 6, 5 * 10**9
#: Of a job, the disk is named from this share on, also beside a second: requests queue where it is full.
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
#: Processors busier than this leave no share for more work; sampling itself misses a few percent.
CPU_BUSY = 0.95
#: A transfer that takes less of a core than this does not depend on how busy the others are.
CPU_OWN = 0.2
#: A request of which more than half is the path's quickest answer waits more than it moves.
ANSWER_SHARE = 0.5
#: Experiments afterwards speak of a phase whose rate is theirs within this factor.
SAME_PHASE = 1.3
#: With fewer replicates nothing is confirmed.
LEAST_REPLICATES = 5

#: Causes that bound bytes, so that a phase of another rate is another regime. Under all others a job whose
#: files grow smaller has a lower rate, and the same cause.
OF_BYTES = ("connection-rate", "total-rate", "bytes")
#: What a record shows as well where too little was there to be moved, so that few requests were in flight.
OF_REQUESTS = ("one-at-a-time", "latency", "service", "answers", "connection-rate")


def decide(evidence: Evidence, effects: Effects | None = None) -> Verdict:
    """Name the cause.

    Args:
        evidence: From the record.
        effects: From experiments; default none, so that the verdict is at most "seen".
    """
    parts = split(evidence)
    found = _seen(evidence, parts)
    shown = {name: share for name, share in parts.items() if share >= LEAST_PART}
    found = replace(found, subject=evidence.subject, parts=shown)
    if evidence.kind == "trial":
        advice = ADVICE.get(found.cause, "Take a longer transfer, or let the experiments run.")
        found = replace(found, evidence=sentences(evidence, parts), advice=advice)
    if effects is not None and effects.n:
        found = _tried(evidence, effects, parts, found)
    found = _in_phases(evidence, effects, found)
    if evidence.kind == "trial":
        found = replace(found, evidence=[*found.evidence, *rivals_words(found)])
    return found


def _tried(evidence: Evidence, effects: Effects, parts: Mapping[str, float], seen: Verdict) -> Verdict:
    """Let the experiments speak."""
    found = judge(evidence, effects, parts, seen)
    said, would_decide = [*seen.evidence, *gave(effects), *found.evidence], found.advice
    status = found.status
    if status == "confirmed" and effects.n < LEAST_REPLICATES:
        status = "seen"
        said.append(f"Only {effects.n} replicates: too few to confirm it.")
        would_decide = "What would decide: the same on a machine with less to do."
    advice = ADVICE.get(found.cause, would_decide)
    if status != "confirmed" and found.cause in ADVICE:
        advice = f"{advice} {would_decide}"
    rivals = found.rivals
    if found.cause == "undetermined" and not rivals:
        # Experiments on another path exclude nothing of what the record allows.
        rivals = (*((seen.cause,) if seen.cause in CAUSES else ()), *seen.rivals)
    return replace(
        found,
        status=status,
        evidence=said,
        advice=advice,
        subject=seen.subject,
        parts=seen.parts,
        rivals=rivals,
    )


def _in_phases(evidence: Evidence, effects: Effects | None, whole: Verdict) -> Verdict:
    """Where the path changed meanwhile, no one name is right: give each phase its own.

    Experiments come afterwards. They speak of the last phase alone, and only if the rate is the same.
    """
    if not evidence.phases:
        return whole
    rows = []
    for number, phase in enumerate(evidence.phases):
        words = f"{phase.from_share:.0%} to {phase.to_share:.0%} of the time"
        said = [f"{format_rate(phase.rate_bits_per_second)} during {words}."]
        last = number == len(evidence.phases) - 1
        base = effects.base_bits_per_second if effects is not None else None
        if last and base and 1 / SAME_PHASE < base / phase.rate_bits_per_second < SAME_PHASE:
            subject = f"{evidence.subject}, {words}"
            rows.append(replace(whole, subject=subject, evidence=said + whole.evidence, during=phase))
        else:
            rows.append(
                Verdict(
                    "undetermined",
                    "undetermined",
                    said,
                    "nothing can be tried on a path as it was",
                    "Run it again while the path is like that.",
                    subject=f"{evidence.subject}, {words}",
                    during=phase,
                )
            )
    first, second = (phase.rate_bits_per_second for phase in evidence.phases)
    said = [f"The rate changed once, to {second / first:.2f} times, with as many requests in flight."]
    # With busy processors, whatever else ran there may have begun, or ended, at that moment.
    busy = _is_short_of_processors(evidence)
    return replace(
        whole,
        cause="undetermined" if busy else "changed",
        status="undetermined" if busy else "seen",
        rivals=("changed", "cpu") if busy else whole.rivals,
        evidence=[*said, *(row.evidence[0] for row in rows), *whole.evidence],
        threshold="one step of the rate, and none of the number in flight",
        advice=ADVICE["changed"],
        shares={},
        phases=tuple(rows),
    )


def of_phases(whole: Verdict, phases: Sequence[tuple[Verdict, int]]) -> Verdict:
    """Judge a job by its phases, where it has some: what holds of both regimes together holds of neither.

    Args:
        whole: As the job looks without phases.
        phases: What limited each, and its time in flight.
    """
    if not phases or whole.status == "nothing to explain" or whole.cause == "throttled":
        return whole
    held = sum(ns for _, ns in phases) or 1
    names = dict.fromkeys(name for found, _ in phases for name in found.parts)
    shares = {name: sum(found.parts.get(name, 0.0) * ns for found, ns in phases) / held for name in names}
    parts = dict(sorted(shares.items(), key=lambda item: -item[1]))
    first = phases[0][0]
    if all((found.cause, found.status) == (first.cause, first.status) for found, _ in phases):
        return replace(first, parts=parts)
    seen = all(found.status == "seen" for found, _ in phases)
    rivals = tuple(dict.fromkeys(found.cause for found, _ in phases))
    return Verdict("changed", "seen" if seen else "undetermined", rivals=rivals, parts=parts)


def of_failure(found: Verdict, kind: str, exit_code: int | None) -> Verdict:
    """Judge a job by how it failed, where there is nothing else to explain.

    Args:
        found: What its requests show.
        kind: Of the error.
        exit_code: Of the job; ``None`` where only its last request is known to have failed.
    """
    if found.status != "nothing to explain":
        return found
    if exit_code is None:
        return replace(found, cause="last-failed")
    return found if kind == "cancelled" else replace(found, cause="failed", status="failed")


def nothing_recorded() -> Verdict:
    """Return the verdict of a run without any evidence."""
    return Verdict(
        "undetermined",
        "undetermined",
        ["No treatment of this run was recorded and ended well."],
        "needs the engine's record of attempts",
        "Run a plan with an arm of the engine.",
    )


def _seen(evidence: Evidence, parts: Mapping[str, float]) -> Verdict:
    """Name what the record shows."""
    around = _around(evidence)
    if around is not None:
        return around
    if parts["throttled"] >= REFUSED:
        return _named("throttled", f"refusals hold at least {REFUSED:.0%} of the time in flight")
    return _of_trial(evidence, parts) if evidence.kind == "trial" else _of_job(evidence, parts)


def _named(cause: str, threshold: str = "") -> Verdict:
    status: Status = "undetermined" if cause == "undetermined" else "seen"
    return Verdict(cause, status, threshold=threshold)


def _undetermined(threshold: str, *rivals: str) -> Verdict:
    return Verdict("undetermined", "undetermined", threshold=threshold, rivals=rivals)


def _around(evidence: Evidence) -> Verdict | None:
    """Name what is not about requests in flight: that there were none, too few, or that they came late."""
    if evidence.kind == "trial":
        return None
    if evidence.requests == 0:
        return Verdict("empty", "nothing to explain")
    if evidence.kind == "phase":
        return None
    if evidence.payload < FEW_REQUESTS and evidence.wall_ns < FEW_NS:
        return Verdict("few", "nothing to explain")
    if evidence.before_ns >= AROUND * evidence.wall_ns:
        listed = evidence.asked_ns >= AROUND * evidence.before_ns
        return _named("listing" if listed else "nodes" if evidence.nodes else "before")
    if evidence.after_ns >= AROUND * evidence.wall_ns:
        return _named("after")
    return Verdict("short", "undetermined") if evidence.wall_ns < SHORT_NS else None


def _of_trial(evidence: Evidence, parts: Mapping[str, float]) -> Verdict:
    """Name what limited a transfer whose settings are known, on a machine that was watched."""
    main = f"its share of the time in flight is at least {MAIN:.0%}"
    bound = bound_of_bytes(evidence)
    for cause in ("pacing", "ordering", "connect"):
        if parts[cause] >= MAIN:
            return _named(cause, main)
    if _is_short_of_processors(evidence) and bound != "connection-rate":
        busy = f"processors busy at least {CPU_BUSY:.0%}, {CPU_OWN:.0%} of a core by this process"
        if bound == "total-rate" and not _is_near_ceiling(evidence):
            return _named("cpu", busy)
        # The path may have been as slow: that processors are busy says nothing of it.
        held = [cause for cause in ("checksum", "disk", "commit") if parts[cause] >= SECOND]
        bounds = ("total-rate",) if bound == "total-rate" else _bounds(evidence)
        return _undetermined(busy, "cpu", *held, *bounds)
    for cause in ("checksum", "disk", "commit"):
        if parts[cause] >= MAIN:
            return _named(cause, main)
    if parts["latency"] >= ANSWER_SHARE and not evidence.is_of_empty_request and evidence.direction == "up":
        alone = "whole files alone do not tell a long path from slow commits"
        return _undetermined(alone, "latency", "commit")
    if parts["latency"] >= ANSWER_SHARE:
        return _named(
            "latency", f"at least {ANSWER_SHARE:.0%} of the time in flight is the path's quickest answer"
        )
    if parts[bound] < MAIN:
        largest = [name for name, share in parts.items() if share >= SECOND and name != bound]
        if parts[bound] >= SECOND:
            largest += _bounds(evidence)
        return _undetermined(f"no category holds {MAIN:.0%} of the time in flight", *largest)
    if _is_near_ceiling(evidence):
        return _named("total-rate", "at least 90 % of the measured ceiling")
    if bound == "total-rate":
        return _named(bound, f"requests slow as others join: slope at most {SHARED_SLOPE}")
    if bound == "connection-rate":
        return _named(bound, f"requests do not slow as others join: slope at least {OWN_SLOPE}")
    varied = "bytes were moving, but the number in flight varied too little to say which bound"
    return _undetermined(varied, *_bounds(evidence))


def _is_near_ceiling(evidence: Evidence) -> bool:
    """Whether it was as quick as the path can be. Above that, the measurement of the ceiling is wrong."""
    return evidence.ceiling_share is not None and 0.9 <= evidence.ceiling_share <= 1.1


def _bounds(evidence: Evidence) -> tuple[str, ...]:
    """Return the bounds of bytes that are left where the record does not tell which: far from full, one."""
    far = evidence.ceiling_share is not None and evidence.ceiling_share < NEAR_CEILING[0]
    return ("connection-rate",) if far else ("connection-rate", "total-rate")


def _is_short_of_processors(evidence: Evidence) -> bool:
    """Whether no processor was free while this process had work for one."""
    idle = 1.0 if evidence.cpu_idle_share is None else evidence.cpu_idle_share
    return idle <= 1 - CPU_BUSY and (evidence.cpu_share_of_one_core or 0.0) >= CPU_OWN


def _of_job(evidence: Evidence, parts: Mapping[str, float]) -> Verdict:
    """Name what limited a job, or a phase of it, from its record alone."""
    if evidence.empty_ns >= AROUND * evidence.wall_ns:
        return _named("starved")
    for read in ("disk", "source"):
        if parts[read] >= (MUCH if evidence.lanes == 1 else DISK):
            return _with_rivals(read, evidence)
    if evidence.lanes == 1:
        return _with_rivals("one-at-a-time", evidence)
    if _gaps(evidence):
        return Verdict("cpu", "undetermined", rivals=("cpu", "unused"))
    most = [(name, share) for name, share in parts.items() if share >= LEAST_PART]
    if not most:
        return Verdict("mixed", "undetermined")
    first, share = most[0]
    others = [name for name, part in most[1:] if part >= SECOND]
    if share >= MUCH or (share >= MAIN and not others):
        return _with_rivals(first, evidence)
    return Verdict("mixed", "undetermined", rivals=_of_mixed([first, *others], evidence))


def _with_rivals(cause: str, evidence: Evidence) -> Verdict:
    rivals = _rivals(cause, evidence)
    if evidence.told is not None and evidence.told.is_polite and cause in GIVING_WAY:
        rivals = (*(rivals or (cause,)), "polite")
    # An answer of an upload is the path's or the service's, but an answer it is.
    seen = not rivals or (cause == "answers" and not {"starved", "polite"}.intersection(rivals))
    return Verdict(cause, "seen" if seen else "undetermined", rivals=rivals)


def _rivals(cause: str, evidence: Evidence) -> tuple[str, ...]:
    """Return what else may have been; nothing where the record shows the cause."""
    if cause in OF_REQUESTS and _waits(evidence):
        return (cause, "starved")
    if cause == "bytes":
        return ("connection-rate", "total-rate")
    if cause == "disk" and evidence.rate_bits_per_second >= QUICK:
        return ("disk", "checksum", "cpu")
    if cause == "disk" and (evidence.shares.get("idle", 0.0) >= DOUBT or _elsewhere(evidence)):
        return ("disk", "cpu")
    if cause == "source" and _elsewhere(evidence):
        return ("source", "total-rate")
    if cause == "checksum":
        # What is summed up again is read again.
        return ("checksum", "disk")
    if cause == "service" and (evidence.answer_ns or 0) < NEAR_NS and _within_turns(evidence):
        return ("service", "cpu")
    if cause in ("own-time", "unknown"):
        shared = ("total-rate",) if cause == "unknown" else ()
        turns = ("cpu",) if _within_turns(evidence) else ()
        return ("answers", "connection-rate", *shared, *turns)
    if cause == "answers" and evidence.direction == "up":
        return ("latency", "service")
    return ()


def _of_mixed(names: Sequence[str], evidence: Evidence) -> tuple[str, ...]:
    """Return what may have been, of causes that share the time: one that explains all of them comes first."""
    others = [_rivals(name, evidence) for name in names]
    first = ["cpu"] if all("cpu" in some for some in others) else []
    return tuple(dict.fromkeys([*first, *names, *(rival for some in others for rival in some)]))


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
