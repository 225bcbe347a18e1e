"""Names why a transfer was not faster: from the record alone ("seen"), or with experiments ("confirmed").

Pure: evidence and the effects of experiments come in, a verdict goes out. Each rule is a number with
its reason below. Where no rule holds, or two causes explain the record alike, it says "undetermined".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from haulage.lab.analysis.model import Status, Verdict
from haulage.lab.analysis.words import time_words

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

#: A category must hold this share of the time in flight to be the cause: nothing else can be larger
#: than one and a half times it.
MAIN_SHARE = 0.4
#: Refusals cost twice, a request and a pause; at a quarter of the time they are to be mended first.
THROTTLED_SHARE = 0.25
#: Processors busier than this leave no share for more work; sampling itself misses a few percent.
CPU_BUSY = 0.95
#: A transfer that takes less of a core than this does not depend on how busy the others are.
CPU_OWN = 0.2
#: Of a core that a loop alone receives on a free machine: 1. Below this somebody else has it.
CPU_GRANTED = 0.75
#: A request of which more than half is the path's quickest answer waits more than it moves.
ANSWER_SHARE = 0.5
#: Slope of log rate of a request over log number in flight: -1 on a shared link, 0 with a bound of its own.
SHARED_SLOPE, OWN_SLOPE = -0.6, -0.3
#: Without this variation of the number in flight the slope says nothing.
SLOPE_SPREAD, SLOPE_NEEDS = 1.3, 12
#: Twice the connections, or four times the block, help from the first on, and do not below the second.
HELPS, HELPS_NOT = 1.4, 1.2
#: A commit that takes this many empty answers is slow by itself.
SLOW_COMMIT = 2.5


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


def _starved(evidence: Evidence, granted: float = 1.0) -> bool:
    """Whether no processor was free while this process had work for one.

    Who receives little of a core (``granted``) can take little of it.
    """
    idle = 1.0 if evidence.cpu_idle_share is None else evidence.cpu_idle_share
    return idle <= 1 - CPU_BUSY and (evidence.cpu_share_of_one_core or 0.0) >= CPU_OWN * min(1.0, 2 * granted)


def _seen(evidence: Evidence, scores: Mapping[str, float]) -> tuple[str, list[str], str]:
    said = _sentences(evidence, scores)
    if scores["throttled"] >= THROTTLED_SHARE:
        return "throttled", said, f"refusals hold at least {THROTTLED_SHARE:.0%} of the time in flight"
    for cause in ("pacing", "ordering", "connect"):
        if scores[cause] >= MAIN_SHARE:
            return cause, said, f"its share of the time in flight is at least {MAIN_SHARE:.0%}"
    if _starved(evidence) and _shared(evidence) is not False:
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


def _sentences(evidence: Evidence, scores: Mapping[str, float]) -> list[str]:
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


def _confirmed(
    evidence: Evidence, effects: Effects, seen: str, scores: Mapping[str, float], threshold: str
) -> tuple[str, Status, list[str], str]:
    """Let the experiments speak: they outrank what was only seen."""
    said = _shown(effects)
    if (
        effects.cpu_granted is not None
        and effects.cpu_granted < CPU_GRANTED
        and _starved(evidence, effects.cpu_granted)
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
    if effects.memory is not None and effects.memory >= HELPS:
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


def _shown(effects: Effects) -> list[str]:
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
