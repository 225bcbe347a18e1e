"""Names why a transfer was not faster: from the record alone ("seen"), or with experiments ("confirmed").

Pure: evidence and the effects of experiments come in, a verdict goes out. Each rule is a number with
its reason below. Where no rule holds, or two causes explain the record alike, it says "undetermined".
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from haulage.lab.analysis.causes import CAUSES, SLOPE_SPREAD, Effects, Evidence, sentences, shown
from haulage.lab.analysis.model import Status, Verdict

#: A category must hold this share of the time in flight to be the cause: nothing else can be larger
#: than one and a half times it.
MAIN_SHARE = 0.4
#: Refusals cost twice, a request and a pause; at a quarter of the time they are to be mended first.
THROTTLED_SHARE = 0.25
#: Processors busier than this leave no share for more work; sampling itself misses a few percent.
CPU_BUSY = 0.95
#: A transfer that takes less of a core than this does not depend on how busy the others are.
CPU_OWN = 0.2
#: A disk that holds less of the time in flight is not what memory would help against.
DISK_LEAST = 0.15
#: Of a core that a loop alone receives on a free machine: 1. Below this somebody else has it.
CPU_GRANTED = 0.75
#: A request of which more than half is the path's quickest answer waits more than it moves.
ANSWER_SHARE = 0.5
#: Slope of log rate of a request over log number in flight: -1 on a shared link, 0 with a bound of its own.
SHARED_SLOPE, OWN_SLOPE = -0.6, -0.3
#: With fewer requests, or less variation of the number in flight, the slope says nothing.
SLOPE_NEEDS = 12
#: Twice the connections, or four times the block, help from the first on, and do not below the second.
HELPS, HELPS_NOT = 1.4, 1.2
#: A commit that takes this many empty answers is slow by itself.
SLOW_COMMIT = 2.5


def decide(evidence: Evidence, effects: Effects | None = None) -> Verdict:
    """Name the cause.

    Args:
        evidence: From the record.
        effects: From experiments; default none, so that the verdict is at most "seen".
    """
    scores = score(evidence)
    cause, said, threshold = _seen(evidence, scores)
    status: Status = "undetermined" if cause == "undetermined" else "seen"
    if effects is not None:
        cause, status, shown, threshold = _confirmed(evidence, effects, cause, scores, threshold)
        said += shown
    advice = CAUSES[cause][1] if cause in CAUSES else "Take a longer transfer, or let the experiments run."
    return Verdict(cause, status, said, threshold, advice, scores, evidence.subject)


def score(evidence: Evidence) -> dict[str, float]:
    """Return for each cause the share of the time in flight that it may explain."""
    held = evidence.in_flight
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
        "disk": held.get("disk", 0.0) + held.get("hash", 0.0),
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


def starved(evidence: Evidence, granted: float = 1.0) -> bool:
    """Whether no processor was free while this process had work for one.

    Who receives little of a core (``granted``) can take little of it.
    """
    idle = 1.0 if evidence.cpu_idle_share is None else evidence.cpu_idle_share
    return idle <= 1 - CPU_BUSY and (evidence.cpu_share_of_one_core or 0.0) >= CPU_OWN * min(1.0, 2 * granted)


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
    for cause in ("disk", "commit"):
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
        if evidence.ceiling_share is not None and evidence.ceiling_share >= 0.9:
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


def _confirmed(
    evidence: Evidence, effects: Effects, seen: str, scores: Mapping[str, float], threshold: str
) -> tuple[str, Status, list[str], str]:
    """Let the experiments speak: they outrank what was only seen."""
    said = shown(effects)
    if (
        effects.cpu_granted is not None
        and effects.cpu_granted < CPU_GRANTED
        and starved(evidence, effects.cpu_granted)
    ):
        return "cpu", "confirmed", said, f"a loop alone received less than {CPU_GRANTED:.0%} of a core"
    if effects.refused_again is not None and scores["throttled"] >= THROTTLED_SHARE:
        again = effects.refused_again >= evidence.refused_share / 3
        return (
            "throttled",
            "confirmed" if again else "seen",
            said,
            "refusals came again when the same was repeated",
        )
    # A disk that matters shows in the record too; a gain without that is something else.
    if effects.memory is not None and effects.memory >= HELPS and scores["disk"] >= DISK_LEAST:
        return "disk", "confirmed", said, f"memory instead of the disk gives at least {HELPS} times the rate"
    if _slow_commit(evidence, effects, scores):
        return "commit", "confirmed", said, f"a small write takes {SLOW_COMMIT} empty answers or more"
    by_rule = _by_connections_and_blocks(effects)
    if by_rule is not None:
        return by_rule[0], "confirmed", said, by_rule[1]
    if seen == "cpu" and effects.connections is not None and effects.connections < HELPS_NOT:
        return "cpu", "confirmed", said, "processors are busy, and more connections give nothing"
    if seen in ("pacing", "ordering", "connect"):
        return seen, "seen", said, threshold
    return "undetermined", "undetermined", said, "the experiments contradict what was seen, or say too little"


def _slow_commit(evidence: Evidence, effects: Effects, scores: Mapping[str, float]) -> bool:
    """Whether commits are slow by themselves, and this transfer made enough of them to suffer."""
    if effects.commit_ns is None or effects.answer_ns is None or not evidence.took_ns:
        return False
    if effects.commit_ns < SLOW_COMMIT * effects.answer_ns:
        return False
    of_a_request = (effects.commit_ns - effects.answer_ns) / evidence.took_ns
    return scores["commit"] >= MAIN_SHARE or (evidence.commits_share >= 0.3 and of_a_request >= MAIN_SHARE)


def _by_connections_and_blocks(effects: Effects) -> tuple[str, str] | None:
    more, larger = effects.connections, effects.blocks
    if more is None or larger is None:
        return None
    queue = effects.requests is not None and effects.requests < 1.5
    if more >= HELPS:
        if larger >= HELPS:
            return (
                "latency",
                f"twice the connections and larger blocks both give at least {HELPS} times the rate",
            )
        if larger < HELPS_NOT:
            return (
                "connection-rate",
                f"twice the connections give {HELPS} times the rate or more, larger blocks under {HELPS_NOT}",
            )
        return None
    if more < HELPS_NOT:
        if queue:
            return "server", "eight small requests at once are hardly quicker than one after another"
        if larger < HELPS_NOT:
            return (
                "total-rate",
                f"neither twice the connections nor larger blocks give {HELPS_NOT} times the rate",
            )
        if larger >= HELPS:
            return "server", "larger blocks help and twice the connections do not"
    return None
