"""Names why a transfer was not faster: from the record alone ("seen"), or with experiments ("confirmed").

Pure: evidence and the effects of experiments come in, a verdict goes out. Each rule is a number with
its reason below. Where no rule holds, or two causes explain the record alike, it says "undetermined".
What experiments confirm is decided in :mod:`~haulage.lab.analysis.confirmed`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from haulage.causes.evidence import SLOPE_SPREAD, Evidence
from haulage.causes.sentences import sentences
from haulage.causes.vocabulary import CAUSES
from haulage.lab.analysis.confirmed import judge
from haulage.lab.analysis.effects import Effects, shown
from haulage.lab.analysis.model import Status, Verdict
from haulage.words.numbers import format_rate

#: A category must hold this share of the time in flight to be the cause: nothing else can be larger
#: than one and a half times it.
MAIN_SHARE = 0.4
#: Refusals cost twice, a request and a pause; at a quarter of the time they are to be mended first.
THROTTLED_SHARE = 0.25
#: Processors busier than this leave no share for more work; sampling itself misses a few percent.
CPU_BUSY = 0.95
#: Experiments afterwards speak of a phase whose rate is theirs within this factor.
SAME_PHASE = 1.3
#: With fewer replicates nothing is confirmed.
LEAST_REPLICATES = 5
#: A transfer that takes less of a core than this does not depend on how busy the others are.
CPU_OWN = 0.2
#: A request of which more than half is the path's quickest answer waits more than it moves.
ANSWER_SHARE = 0.5
#: Slope of log rate of a request over log number in flight: -1 on a shared link, 0 with a bound of its own.
SHARED_SLOPE, OWN_SLOPE = -0.6, -0.3
#: With fewer requests, or less variation of the number in flight, the slope says nothing.
SLOPE_NEEDS = 12


def decide(evidence: Evidence, effects: Effects | None = None) -> Verdict:
    """Name the cause.

    Args:
        evidence: From the record.
        effects: From experiments; default none, so that the verdict is at most "seen".
    """
    scores = score(evidence)
    cause, said, threshold = _seen(evidence, scores)
    status: Status = "undetermined" if cause == "undetermined" else "seen"
    shares: Mapping[str, tuple[float, float, float]] = {}
    advice = (
        CAUSES[cause].advice if cause in CAUSES else "Take a longer transfer, or let the experiments run."
    )
    if effects is not None and effects.n:
        found = judge(evidence, effects, scores, cause)
        cause, status, threshold, shares = found.cause, found.status, found.threshold, found.shares
        said = [*said, *shown(effects), *found.said]
        if status == "confirmed" and effects.n < LEAST_REPLICATES:
            status = "seen"
            said.append(f"Only {effects.n} replicates: too few to confirm it.")
            found = replace(found, would_decide="What would decide: the same on a machine with less to do.")
        advice = CAUSES[cause].advice if cause in CAUSES else found.would_decide
        if status != "confirmed" and cause in CAUSES:
            advice = f"{advice} {found.would_decide}"
    verdict = Verdict(cause, status, said, threshold, advice, scores, evidence.subject, shares=shares)
    return _in_phases(evidence, effects, verdict)


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
    return replace(
        whole,
        cause="changed",
        status="seen",
        evidence=[*said, *(row.evidence[0] for row in rows), *whole.evidence],
        threshold="one step of the rate, and none of the number in flight",
        advice=CAUSES["changed"].advice,
        shares={},
        phases=tuple(rows),
    )


def score(evidence: Evidence) -> dict[str, float]:
    """Return for each cause the share of the time in flight that it may explain."""
    held = evidence.held
    commits = held.get("commit", 0.0)
    trip = 0.0
    if evidence.answer_ns and evidence.commit_ns:
        trip = min(1.0, evidence.answer_ns / evidence.commit_ns)
    elif evidence.commit_ns is None:
        trip = 1.0  # PutBlob alone: what the path's quickest answer takes is no slowness of a commit
    # Longer than the path needs is the server's time, or that of a machine that does not get to reading.
    answered = (
        1.0 if not evidence.answer_ns or not evidence.took_ns else evidence.answer_ns / evidence.took_ns
    )
    moving = held.get("send", 0.0) + held.get("receive", 0.0)
    busy = 0.0 if evidence.cpu_idle_share is None else 1 - evidence.cpu_idle_share
    shared = _shared(evidence)
    return {
        "throttled": held.get("throttled", 0.0),
        "disk": held.get("disk", 0.0),
        "checksum": held.get("hash", 0.0),
        "commit": commits * (1 - trip),
        "connect": held.get("connect", 0.0),
        "pacing": held.get("pacing", 0.0),
        "ordering": held.get("ordering", 0.0),
        "latency": min(held.get("server wait", 0.0), answered) + commits * trip,
        "server": max(held.get("server wait", 0.0) - answered, 0.0),
        "total-rate": moving * (0.5 if shared is None else float(shared)),
        "connection-rate": moving * (0.5 if shared is None else 1 - float(shared)),
        "cpu": max(0.0, (busy - 0.5) * 2),
    }


def _shared(evidence: Evidence) -> bool | None:
    """Whether requests slowed as others joined; ``None`` if the record does not tell."""
    slope = evidence.slope
    if slope is None or not math.isfinite(slope):
        return None
    if evidence.spread < SLOPE_SPREAD or evidence.judged < SLOPE_NEEDS:
        return None
    if slope <= SHARED_SLOPE:
        return True
    return False if slope >= OWN_SLOPE else None


def starved(evidence: Evidence) -> bool:
    """Whether no processor was free while this process had work for one."""
    idle = 1.0 if evidence.cpu_idle_share is None else evidence.cpu_idle_share
    return idle <= 1 - CPU_BUSY and (evidence.cpu_share_of_one_core or 0.0) >= CPU_OWN


def _seen(evidence: Evidence, scores: Mapping[str, float]) -> tuple[str, list[str], str]:
    said = sentences(evidence, scores)
    if scores["throttled"] >= THROTTLED_SHARE:
        return "throttled", said, f"refusals hold at least {THROTTLED_SHARE:.0%} of the time in flight"
    for cause in ("pacing", "ordering", "connect"):
        if scores[cause] >= MAIN_SHARE:
            return cause, said, f"its share of the time in flight is at least {MAIN_SHARE:.0%}"
    if starved(evidence) and _shared(evidence) is not False:
        return (
            "cpu",
            said,
            f"processors busy at least {CPU_BUSY:.0%}, {CPU_OWN:.0%} of a core by this process",
        )
    for cause in ("checksum", "disk", "commit"):
        if scores[cause] >= MAIN_SHARE:
            return cause, said, f"its share of the time in flight is at least {MAIN_SHARE:.0%}"
    if scores["latency"] >= ANSWER_SHARE and not evidence.is_of_empty_request and evidence.direction == "up":
        return "undetermined", said, "whole files alone do not tell a long path from slow commits"
    if scores["latency"] >= ANSWER_SHARE:
        return (
            "latency",
            said,
            f"at least {ANSWER_SHARE:.0%} of the time in flight is the path's quickest answer",
        )
    if scores["total-rate"] + scores["connection-rate"] >= MAIN_SHARE:
        # Near the ceiling only: above it the ceiling is what is wrong.
        if evidence.ceiling_share is not None and 0.9 <= evidence.ceiling_share <= 1.1:
            return "total-rate", said, "at least 90 % of the measured ceiling"
        shared = _shared(evidence)
        if shared is not None:
            rule = f"requests slow as others join: slope at most {SHARED_SLOPE}"
            if not shared:
                rule = f"requests do not slow as others join: slope at least {OWN_SLOPE}"
            return ("total-rate" if shared else "connection-rate"), said, rule
        return (
            "undetermined",
            said,
            "bytes were moving, but the number in flight varied too little to say which bound",
        )
    return "undetermined", said, f"no category holds {MAIN_SHARE:.0%} of the time in flight"
