"""What experiments confirm: a cause whose own change has an effect, and the changes of its rivals none.

Every rule asks for both. Where an interval is too wide for either answer, the cause stays "seen" or
"undetermined", and the changes that would decide are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from haulage.causes.effects import CHANGES, Effect, Effects, waiting_share
from haulage.causes.evidence import Evidence
from haulage.causes.split import REFUSED, SLOW_SERVICE, bound_of_bytes
from haulage.causes.verdict import Verdict

#: A small write that takes this many empty answers is slow by itself.
SLOW_COMMIT = 2.0
#: Of the time of a request, what commits must hold, and of all requests.
COMMIT_SHARE, COMMITS_LEAST = 0.4, 0.3
#: Processors less idle than this are busy; a transfer without this much may be held by them.
BUSY_IDLE, ROOM_IDLE = 0.1, 0.15
#: Of a core: a transfer that takes less leaves even a busy machine's share unused.
CORES_LITTLE, CORES_MUCH = 0.35, 0.5
#: With half of the processors, a transfer that does not depend on them is above this.
LOSES_NOTHING = 1 / 1.3
#: Twice the connections must nearly double what each of them bounds.
DOUBLES = 1.6
#: A part of the time from here on is the cause; below the other, it is none; between them, causes mix.
WHOLE, NO_PART = 0.8, 0.2
#: Shares are named where they are known so well.
SHARE_WIDTH = 0.4
#: A path that is now so much slower or quicker is another one than the record tells of; quicker it may seem,
#: as short transfers are full of beginnings and ends, which the base of the experiments has not.
SLOWER, QUICKER = 1 / 1.3, 2.0
#: What is moved in experiments may be so many times the ceiling that was measured before them.
ABOVE_CEILING = 1.15
#: A request waits for the path as long as an empty one is answered, within this factor.
AS_EMPTY = 1.5
NOT_THE_LINK = "It is not limited by the link."
#: Of the ceiling: a transfer bound by the total rate reaches it.
NEAR_CEILING = (0.85, 1.1)


def judge(evidence: Evidence, effects: Effects, parts: Mapping[str, float], seen: Verdict) -> Verdict:
    """Let the experiments speak.

    Args:
        evidence: From the record.
        effects: Of the experiments.
        parts: Of the time in flight, by cause.
        seen: What the record alone says.
    """
    found = (
        _refusals(evidence, effects, parts)
        or _paced(seen.cause)
        or _another_path(evidence, effects)
        or _above_ceiling(evidence, effects)
        or _checksum(effects)
        or _disk(effects)
        or _commit(evidence, effects, parts)
        or _processors(effects)
        or _waiting(evidence, effects)
        or _total(evidence, effects)
    )
    if found is not None:
        return found
    open_ones = [
        CHANGES[name].lower()
        for name, one in effects.of.items()
        if not (one.is_there or one.is_not_there or one.falls)
    ]
    helped = [
        name for name, one in effects.of.items() if one.is_there or (name == "processors" and one.falls)
    ]
    would = "What would decide: the same experiments on a quieter machine, or more of them"
    would += f"; open is the effect of: {', '.join(open_ones)}." if open_ones else "."
    rivals = not_excluded(evidence, effects)
    most = _holds_most(effects)
    if most is not None:
        because = "its own change helps by far the most, but others help too"
        return Verdict(most, "seen", [NOT_THE_LINK], because, would, rivals=rivals)
    # Of the causes that a record allows, only busy processors need no more than their own experiment.
    cause = "cpu" if "cpu" in seen.rivals else seen.cause
    if _NEEDS.get(cause) in helped:
        because = "its own change helps, but so may that of another cause"
        return Verdict(cause, "seen", [], because, would, rivals=rivals)
    because = "no cause whose change alone has an effect"
    return Verdict("undetermined", "undetermined", _room(effects), because, would, rivals=rivals)


def not_excluded(evidence: Evidence, effects: Effects) -> tuple[str, ...]:
    """Return the causes that no experiment excludes."""
    helps = any(one.is_there for one in effects.of.values())
    excluded = {
        "total-rate": helps or (evidence.ceiling_share or 1.0) < NEAR_CEILING[0],
        "connection-rate": effects.excludes("connections"),
        "latency": effects.excludes("connections") or effects.excludes("blocks"),
        "service": effects.excludes("connections") or effects.excludes("blocks"),
        "server": effects.excludes("blocks") or effects.helps("connections"),
        "disk": effects.excludes("memory"),
        "checksum": effects.excludes("checksum") or evidence.checksum != "md5",
        "cpu": _leaves_room(effects),
        "commit": not _commits_may_be_slow(evidence, effects),
    }
    return tuple(cause for cause, is_excluded in excluded.items() if not is_excluded)


def _holds_most(effects: Effects) -> str | None:
    """Return what, taken away, more than doubles the rate, and does more than any other change."""
    own = effects.of.get("checksum")
    others = [one.high for name, one in effects.of.items() if name != "checksum"]
    return "checksum" if own is not None and own.low > max([2.0, *others]) else None


#: The change that a cause stands or falls with.
_NEEDS = {
    "disk": "memory",
    "checksum": "checksum",
    "cpu": "processors",
    "connection-rate": "connections",
    "latency": "blocks",
}


def _room(effects: Effects) -> list[str]:
    busy = "The processors were busy meanwhile, with this or with other work: that hides what the link does."
    return [busy] if _is_busy(effects) else []


def _refusals(evidence: Evidence, effects: Effects, parts: Mapping[str, float]) -> Verdict | None:
    if effects.refused_again is None or parts["throttled"] < REFUSED:
        return None
    if effects.refused_again >= evidence.refused_share / 3:
        return Verdict("throttled", "confirmed", [], "refusals came each time that the same was done again")
    return Verdict(
        "throttled",
        "seen",
        [],
        "refusals did not come each time that the same was done again",
        "What would decide: the same at the hour of the refusals.",
    )


def _another_path(evidence: Evidence, effects: Effects) -> Verdict | None:
    base = effects.base_bits_per_second
    if base is None or evidence.phases:
        return None
    if SLOWER <= base / max(evidence.rate_bits_per_second, 1.0) <= QUICKER:
        return None
    return _changed_since("done again with nothing changed it ran at another rate")


def _above_ceiling(evidence: Evidence, effects: Effects) -> Verdict | None:
    """Whether what helps moves more than the path was measured to carry when the record was made."""
    base = effects.base_bits_per_second
    # Above the ceiling it is the ceiling that is wrong.
    if base is None or not evidence.ceiling_share or evidence.ceiling_share > NEAR_CEILING[1]:
        return None
    ceiling = evidence.rate_bits_per_second / evidence.ceiling_share
    most = base * max((one.low for one in effects.of.values() if one.is_there), default=1.0)
    if most <= ABOVE_CEILING * ceiling:
        return None
    return _changed_since("the experiments moved more than the path was measured to carry before")


def _changed_since(because: str) -> Verdict:
    advice = "What would decide: to run it again while the path is as it was."
    return Verdict("undetermined", "undetermined", [], because, advice)


def _alone(effects: Effects, change: str, rivals: Iterable[str]) -> bool:
    """Whether one change helps and no rival does."""
    return effects.helps(change) and effects.helps_not(*rivals)


def _paced(seen: str) -> Verdict | None:
    """Leave it at what the record says: a cap is an option of the job, and no experiment has one."""
    return Verdict(seen, "seen", [], "the cap that was set was reached") if seen == "pacing" else None


def _checksum(effects: Effects) -> Verdict | None:
    if _alone(effects, "checksum", ("connections", "memory")):
        return Verdict(
            "checksum", "confirmed", [NOT_THE_LINK], "without the checksum it is quicker; nothing else helps"
        )
    return None


def _disk(effects: Effects) -> Verdict | None:
    processors = effects.of.get("processors")
    # Reading takes processors too: where half of them cost anything, memory may help by that alone.
    hungry = processors is not None and processors.low <= LOSES_NOTHING
    if _alone(effects, "memory", ("connections", "blocks", "checksum")) and not hungry:
        ratio = effects.of["memory"].ratio
        said = [f"It is not limited by the link, which carries at least {ratio:.2f} times as much."]
        return Verdict("disk", "confirmed", said, "from memory it is quicker; nothing else helps")
    return None


def _commit(evidence: Evidence, effects: Effects, parts: Mapping[str, float]) -> Verdict | None:
    """Whether commits are slow by themselves, and this transfer made enough of them to suffer."""
    slow = effects.commit
    if slow is None or effects.commit_ns is None or effects.answer_ns is None or not evidence.took_ns:
        return None
    # The ratio is of times here: a small write over an empty answer.
    if slow.low < SLOW_COMMIT or not effects.helps_not("memory", "checksum") or _needs_processors(effects):
        return None
    part = (effects.commit_ns - effects.answer_ns) / evidence.took_ns
    if parts["commit"] >= COMMIT_SHARE or (evidence.commits_share >= COMMITS_LEAST and part >= COMMIT_SHARE):
        return Verdict(
            "commit",
            "confirmed",
            [],
            f"a small write takes {SLOW_COMMIT:g} empty answers or more, beyond doubt",
        )
    return None


def _commits_may_be_slow(evidence: Evidence, effects: Effects) -> bool:
    """Whether it made enough commits to wait for them, and nothing says that they are quick."""
    if evidence.direction == "down" or evidence.commits_share < COMMITS_LEAST:
        return False
    return effects.commit is None or effects.commit.high >= SLOW_COMMIT


def _is_busy(effects: Effects) -> bool:
    return effects.cpu_idle_share is not None and effects.cpu_idle_share < BUSY_IDLE


def _needs_processors(effects: Effects) -> bool:
    """Whether fewer processors slow it, so that any other gain may be one of processor time."""
    processors = effects.of.get("processors")
    return processors is not None and processors.falls


def _processors(effects: Effects) -> Verdict | None:
    if not _needs_processors(effects) or not _is_busy(effects) or (effects.cores_used or 0.0) < CORES_MUCH:
        return None
    if not {"connections", "memory"} <= effects.of.keys() or effects.helps("blocks"):
        return None
    if not effects.helps_not("connections", "memory", "checksum"):
        return None
    return Verdict(
        "cpu",
        "confirmed",
        [NOT_THE_LINK],
        "no processor is idle, with half of them it is slower, and nothing else helps",
    )


def _waiting(evidence: Evidence, effects: Effects) -> Verdict | None:
    """Tell a bound on each connection, round trips and a server apart, or give their shares."""
    more, blocks = effects.of.get("connections"), effects.of.get("blocks")
    if more is None or blocks is None or "memory" not in effects.of:
        return None
    if not effects.helps_not("memory", "checksum"):
        return None
    if _needs_processors(effects) or not _leaves_room(effects) or _commits_may_be_slow(evidence, effects):
        return None
    share = waiting_share(blocks, effects.block_factor)
    if more.low > DOUBLES:
        if bound_of_bytes(evidence) == "total-rate":
            return _changed_since("requests slowed each other then, and do not now")
        because = "twice the connections nearly double the rate"
        return _shared(_waited_for(evidence, effects, share[0]), "connection-rate", share, because)
    if more.is_not_there and blocks.is_there:
        return _shared("server", "total-rate", share, "larger blocks help, twice the connections do not")
    return None


def _waited_for(evidence: Evidence, effects: Effects, share: float) -> str | None:
    """Name what requests wait for, if it is as long as the path takes, or much longer."""
    answer = effects.answer_ns or (evidence.answer_ns if evidence.is_of_empty_request else None)
    if not answer or not evidence.took_ns:
        return None
    answers = share * evidence.took_ns / answer
    if answers <= AS_EMPTY:
        return "latency"
    return "service" if answers >= SLOW_SERVICE else None


def _shared(waits: str | None, moves: str, share: tuple[float, float, float], because: str) -> Verdict | None:
    """Name one of two causes, or both with their shares; ``waits`` is ``None`` where that is not known."""
    middle, low, high = share
    if high <= NO_PART and moves != "total-rate":
        return Verdict(moves, "confirmed", [], f"{because}; larger blocks do not help")
    if waits is None:
        return Verdict(
            "undetermined",
            "undetermined",
            [],
            f"{because}; requests wait, and neither for as long as an empty answer takes nor for much longer",
            "What would decide: how long the path takes for an empty answer while nothing else runs.",
            rivals=("latency", "service", moves),
        )
    if low >= WHOLE - 0.1 and middle >= WHOLE:
        return Verdict(waits, "confirmed", [], f"{because}; a request waits for {middle:.0%} of its time")
    if high - low > SHARE_WIDTH or low <= 0.05 or high >= 0.95:
        return None
    said = [
        f"Of a request's time, {_CALLED[moves]} holds {1 - middle:.0%} and {_CALLED[waits]} {middle:.0%}"
        f" ({low:.0%} to {high:.0%})."
    ]
    shares = {moves: (1 - middle, 1 - high, 1 - low), waits: (middle, low, high)}
    return Verdict("mixed", "confirmed", said, f"{because}; larger blocks help in part", shares=shares)


_CALLED = {
    "latency": "latency",
    "service": "the service's time",
    "connection-rate": "the bound on a connection",
    "server": "the server's turn",
    "total-rate": "the total rate",
}


def _leaves_room(effects: Effects) -> bool:
    """Whether processors had no part: some were idle, or it takes few, or half of them were as good."""
    if effects.cpu_idle_share is not None and effects.cpu_idle_share >= ROOM_IDLE:
        return True
    if effects.cores_used is not None and effects.cores_used <= CORES_LITTLE:
        return True
    processors = effects.of.get("processors")
    return processors is not None and _stays(processors)


def _stays(processors: Effect) -> bool:
    return processors.low > 0.88


def _total(evidence: Evidence, effects: Effects) -> Verdict | None:
    """Nothing helps, nothing is busy, and the path is as full as was measured: what is left is its rate."""
    needed = [effects.of.get(name) for name in ("connections", "blocks", "memory")]
    if any(one is None or not one.is_close_to_none for one in needed):
        return None
    checksum = effects.of.get("checksum")
    if checksum is not None and not checksum.is_close_to_none:
        return None
    processors = effects.of.get("processors")
    if processors is not None and not _stays(processors):
        return None
    if not _leaves_room(effects) or (processors is None and (effects.cores_used or 0.0) > CORES_MUCH):
        return None
    share = evidence.ceiling_share
    if share is not None and not NEAR_CEILING[0] <= share <= NEAR_CEILING[1]:
        return None
    return Verdict(
        "total-rate",
        "confirmed",
        [],
        "neither connections, nor blocks, nor memory, nor processors change the rate by 12 %",
    )
