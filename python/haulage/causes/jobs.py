"""What the record of one job says of its cause, and the experiment that would settle it, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from haulage.causes.evidence import Evidence
from haulage.causes.rules import NEAR_NS
from haulage.causes.split import MUCH
from haulage.causes.verdict import Verdict
from haulage.causes.vocabulary import job_words
from haulage.words.numbers import (
    counted,
    digits,
    format_rate,
    format_time,
    percent,
    round_size,
    time_words,
)

_NOT_THE_LINK = "The link did not limit this job."
_HELD = "held {part} of the time in flight."
#: By cause; of those that are not here a function says more.
_SAID = {
    "connection-rate": (
        "Each connection had a limit of its own: {connections} of {usual} each (eight in ten requests between"
        " {slow} and {fast}) carried bytes for {part} of the time in flight. A request was as quick beside"
        " many as beside few, so the path could carry more connections."
    ),
    "total-rate": (
        "All requests together reached {rate}, and each became slower as others joined: they shared one limit"
        " for {part} of the time in flight. It may be {shared}: a record cannot distinguish these."
    ),
    "answers": (
        "Requests waited for their answers for {waits} of the time in flight: one of {size} took"
        " {took}{quickest}. The wait is the round trip of the path, or the service's time; the bytes took the"
        " rest. {per_second}"
    ),
    "latency": (
        "Round trips: requests waited for the path's answer, at least {answer} each, for {part} of the time"
        " in flight. {per_second}"
    ),
    "service": (
        "The service took its time: requests waited for it for {part} of the time in flight, where the"
        " quickest answer of the path took {answer}. {per_second}"
    ),
    "own-time": (
        "Each request of {size} took {took}, beside many as beside few: it waited for its answer that long,"
        " or its bytes went at {own_rate}. All were alike, so that the record cannot tell."
        " {small}{per_second}"
    ),
    "unknown": (
        "Each request of {size} took {took}: it waited for its answer that long, or its bytes went at"
        " {own_rate}. All were alike, so that the record cannot tell. {small}{per_second}"
    ),
    "bytes": (
        "Bytes were on their way for {part} of the time in flight, {rate} in all and {usual} a request"
        " ({slow} to {fast}). What bounds them, each connection or all together, shows only where the number"
        " in flight varies, and here it said too little."
    ),
    "throttled": (
        "The service refused {refused} of {requests:,}: with the pauses that followed, this took {part} of"
        " the time in flight."
    ),
    "commit": (
        "Commits held {part} of the time in flight: one took {commit}{quickest_answer}. An object sent in"
        " blocks needs one at its end."
    ),
    "cpu": (
        "Slots stood empty for {gaps} of the lanes' time although the next request was queued: usually {gap}"
        " after each attempt of {held}. That is no phase of the network. It looks like processors that were"
        " busy with something else; a record cannot prove it."
    ),
    "starved": (
        "For {empty} of {wall} no request was in flight, and none was queued. The job had nothing {feeds}"
        f" held it up. {_NOT_THE_LINK}"
    ),
    "checksum": f"Computing checksums {_HELD} {_NOT_THE_LINK}",
    "ordering": f"Putting pieces in order {_HELD} {_NOT_THE_LINK}",
    "connect": f"Making connections {_HELD}",
    "failures": f"Requests that failed, and were sent again, {_HELD}",
    "listing": (
        "{before} of {exact_wall} passed before the first request for an object. Haulage listed for {asked}"
        " of it, one page after another. The rate of the link did not limit this job."
    ),
    "nodes": (
        "{before} of {exact_wall} passed before the first node sent a request: the nodes were starting, or"
        f" this machine was connecting to them. {_NOT_THE_LINK}"
    ),
    "before": (
        "{before} of {exact_wall} passed before the first request: finding out what to copy, or starting"
        f" nodes if there were several. {_NOT_THE_LINK}"
    ),
    "after": (
        "{after} of {exact_wall} passed after the last request: waiting for the disk to have it all."
        f" {_NOT_THE_LINK}"
    ),
    "few": (
        "It finished in {sent} within {exact_wall}: there is nothing to explain, and too little to judge the"
        " path by."
    ),
    "empty": (
        "The record holds no requests: all was there already, nothing was found to copy, or the job ended"
        " before its first request."
    ),
    "short": "{wall} say little about a path. The time in flight was {parts}.",
}

_RECORD = "--record again.parquet"
_MORE = f"haul cp SRC DST --concurrency {{doubled}} {_RECORD}"
_TO_MEMORY = f"haul cp SRC /dev/shm/copy {_RECORD}"
_ONE_LARGE = (
    f"haul cp ONE-LARGE-FILE DST --concurrency {{lanes}} {_RECORD}",
    "clearly faster than {now}: each request costs time whatever it carries, and fewer, larger ones help; as"
    " fast as now: it is the rate at which bytes travel",
)
_TWICE = (
    _MORE,
    "clearly faster than {now}: it was each connection, and more of them help; as fast as now: it is"
    " something that all share",
)
_WAITS = (
    _MORE,
    "about twice {now}: it was the wait for answers; as fast as now: the service queues its requests, or"
    " something else is full",
)
_FEWER = (
    f"haul cp SRC DST --concurrency {{halved}} {_RECORD}",
    "fewer of them: the path, or something on it, does not take so many connections; as many: it fails"
    " whatever is asked of it",
)
_PLAN = (
    "haul plan SRC DST",
    "about {before} too: it was finding out what to copy; clearly less: it was something else, such as the"
    " start of a node",
)
#: By cause, and direction where it matters: a command, and what each outcome means.
_SETTLES = {
    "one-at-a-time": (
        f"haul cp SRC DST --concurrency 8 {_RECORD}",
        "several times {now}: it was that one request waited for the other; as fast as now: one connection"
        " already fills the path or the disk",
    ),
    "mixed": (
        _MORE,
        "clearly faster than {now}: each request waited, or each connection had its limit, and more of them"
        " help; as fast as now: it is something that all share",
    ),
    "connection-rate": _TWICE,
    "bytes": _TWICE,
    "total-rate": (
        "haul lab run ceiling --to URL",
        "about {now} there too: it is the path or the service; clearly more: it is this machine, its disk, or"
        " how the job was set",
    ),
    "answers": _WAITS,
    "latency": _WAITS,
    **dict.fromkeys(("service", "own-time", "unknown"), _ONE_LARGE),
    "throttled": (
        f"haul cp SRC DST --cap {{half}}mbit {_RECORD}",
        "no refusals: they came from the rate, and a cap between the two is best; as many as now: they come"
        " whatever is sent, ask the provider",
    ),
    "commit": (
        f"haul cp SRC DST --single-put-max 64MiB {_RECORD}",
        "clearly faster than {now}: it was the commits that blocks need; as fast as now: it is something"
        " else",
    ),
    "disk up": (
        f"cp -r SRC /dev/shm/copy && haul cp /dev/shm/copy DST {_RECORD}",
        "clearly faster than {now}: it was the disk read from; as fast as now: {other}",
    ),
    "disk down": (
        _TO_MEMORY,
        "clearly faster than {now}: it was the disk written to; as fast as now: {other}",
    ),
    "source": (
        _TO_MEMORY,
        "as fast as now ({now}): it is the source, or the way from it; clearly faster: it is where the copy"
        " goes, or what the two ways share",
    ),
    "checksum": (
        f"haul cp SRC DST --checksum crc64 {_RECORD}",
        "faster than with the checksum of this job: it was that; as fast as now: it is something else",
    ),
    "cpu": (
        f"haul cp SRC DST {_RECORD}",
        "while nothing else runs on this machine (top shows what does): clearly faster than {now}: it was the"
        " processors; as fast as now: slots were not used, or it is something else",
    ),
    "starved up": (
        "time PRODUCER > /dev/null",
        "with what feeds the pipe, or cat for files: about {wall} too: it was that; clearly less: it is"
        " finding out what to copy, for which haul plan takes as long",
    ),
    "starved down": (
        _TO_MEMORY,
        "clearly faster than {now}: it was what takes the bytes; as fast as now: it is finding out what to"
        " copy, for which haul plan takes as long",
    ),
    "connect": _FEWER,
    "failures": _FEWER,
    "listing": _PLAN,
    "before": _PLAN,
    "nodes": (
        f"haul cp SRC DST {_RECORD}",
        "without --nodes: about {before} sooner: it was the start of the nodes, and one process is faster for"
        " a job of this size; no sooner: it is something else",
    ),
    "after": (
        f"haul cp SRC DST --no-flush {_RECORD}",
        "{after} sooner: it was the disk; no sooner: it is something else",
    ),
    "": (f"haul cp SRC DST {_RECORD}", "with {larger} or more, so that it takes ten seconds or longer"),
}
#: Findings that are no limits.
NO_LIMITS = ("few", "empty", "failed", "last-failed")
#: Where causes share the time: those of which one alone can be changed come first, then the number in flight.
_ALONE = ("disk", "source", "checksum", "failures", "commit", "connect", "service", "own-time", "unknown")


@dataclass(frozen=True)
class Experiment:
    """What would settle it: a command, and what each outcome means."""

    command: str
    outcome: str


def sentences_of(found: Verdict, evidence: Evidence) -> str:
    """Say what limited a job or a phase, with numbers."""
    if found.cause in _SAID:
        return _SAID[found.cause].format_map(_words(found, evidence))
    if found.cause == "one-at-a-time":
        return _single(found, evidence)
    if found.cause == "disk":
        return _disk(found, evidence)
    if found.cause == "source":
        return _source(found, evidence)
    if found.cause in ("failed", "last-failed"):
        return "That is too little to judge the path by." if evidence.requests else ""
    return _mixed(found)


def settles(found: Verdict, evidence: Evidence, cause: str = "") -> Experiment | None:
    """Return what would settle the cause; ``None`` where there is nothing to settle.

    Args:
        found: The verdict.
        evidence: That it stands on.
        cause: Of a verdict that names several, the one to look into; default the verdict's own.
    """
    cause = cause or found.cause
    if cause in NO_LIMITS:
        return None
    if cause == "mixed":
        if may_all_be_processors(found):
            return settles(found, evidence, "cpu")
        alone = next((one for one in _ALONE if one in found.sharing), None)
        if alone is not None:
            return settles(found, evidence, alone)
    key = f"{cause} {evidence.direction}" if cause in ("disk", "starved") else cause
    command, outcome = _SETTLES.get(key, _SETTLES[""])
    words = {
        "now": format_rate(evidence.rate_bits_per_second),
        "doubled": 2 * max(1, evidence.lanes),
        "lanes": max(1, evidence.lanes),
        "halved": max(1, evidence.lanes // 2),
        "half": max(1, round(evidence.rate_bits_per_second / 2e6)),
        "other": "it was not" if found.status == "seen" else "it was this machine's processors, or the path",
        "wall": time_words(evidence.wall_ns),
        "before": time_words(evidence.before_ns),
        "after": time_words(evidence.after_ns),
        "larger": round_size(max(10 * evidence.bytes, 10**8)),
    }
    return Experiment(command.format_map(words), outcome.format_map(words))


def may_all_be_processors(found: Verdict) -> bool:
    """Whether processors alone explain what looks like several causes."""
    return found.cause == "mixed" and found.rivals[:1] == ("cpu",)


def _words(found: Verdict, evidence: Evidence) -> dict[str, object]:
    """Return what the sentences are filled with."""
    slow, usual, fast = (format_rate(rate) for rate in evidence.rate_of_one or (0.0, 0.0, 0.0))
    took, answer = evidence.took_ns or 0, evidence.answer_ns
    shared = "the link in all, a --cap, the service, or the processors of this machine"
    if answer is not None and answer < NEAR_NS:
        # So quick an answer comes from this machine, or from one beside it.
        shared = "the processors of this machine, the service, a --cap, or the link"
    feeds = "to send: what feeds it (a pipe, the disk, or the list of what to copy)"
    if evidence.direction == "down":
        feeds = "to fetch: what takes the bytes (a pipe or the disk), or the list of what to copy,"
    each = 1e9 * evidence.payload / evidence.wall_ns if evidence.wall_ns else 0.0
    usual_bytes = evidence.usual_bytes or 0
    return {
        "part": _of(found, found.cause),
        "waits": _of(found, "answers", "latency", "service"),
        "parts": _parts(found),
        "rate": format_rate(evidence.rate_bits_per_second),
        "slow": slow,
        "usual": usual,
        "fast": fast,
        "own_rate": format_rate(8e9 * usual_bytes / took if took else 0.0),
        "size": round_size(usual_bytes),
        "took": time_words(took),
        "answer": time_words(answer or 0),
        "quickest": f"; the quickest took {time_words(answer)}" if answer else "",
        "quickest_answer": f", {time_words(answer)} the quickest answer" if answer else "",
        "commit": time_words(evidence.commit_ns or 0),
        "per_second": f"That made {digits(each)} requests a second with {digits(evidence.in_flight)} in"
        " flight.",
        "small": "" if usual_bytes > 1 << 16 else "For bodies this small the wait is the likelier. ",
        "connections": counted(evidence.connections, "connection"),
        "sent": counted(evidence.requests, "request"),
        "requests": evidence.requests,
        "refused": counted(evidence.refused, "request"),
        "shared": shared,
        "feeds": feeds,
        "gaps": percent(evidence.gaps_share),
        "gap": time_words(evidence.gap_ns or 0),
        "held": time_words(evidence.held_ns or 0),
        "empty": time_words(evidence.empty_ns),
        "wall": time_words(evidence.wall_ns),
        "exact_wall": format_time(evidence.wall_ns),
        "before": format_time(evidence.before_ns),
        "asked": format_time(evidence.asked_ns),
        "after": format_time(evidence.after_ns),
    }


def _parts(found: Verdict) -> str:
    most = [(name, share) for name, share in list(found.parts.items())[:4] if share >= 0.02]
    return ", ".join(f"{percent(share)} {job_words(name)}" for name, share in most)


def _of(found: Verdict, *names: str) -> str:
    return percent(min(1.0, sum(found.parts.get(name, 0.0) for name in names)))


def _single(found: Verdict, evidence: Evidence) -> str:
    rate = f" at {format_rate(evidence.rate_of_one[1])}" if evidence.rate_of_one else ""
    waits = sum(found.parts.get(name, 0.0) for name in ("answers", "latency", "service"))
    halves = f"a request took {time_words(evidence.took_ns or 0)}{rate}"
    if waits:
        moved = percent(found.parts.get("bytes", 0.0))
        halves = f"{moved} of the time bytes were on their way{rate}, {percent(waits)} it waited for answers"
    return f"Only one request was in flight at any time: {halves}. While one waited, the path stood idle."


def _disk(found: Verdict, evidence: Evidence) -> str:
    what = "Reading from the disk" if evidence.direction == "up" else "Writing to the disk"
    rate = format_rate(evidence.rate_bits_per_second)
    text = f"{what} held {_of(found, 'disk')} of the time in flight, for {rate} in all."
    if found.status == "undetermined":
        checksums = " or MD5" if "checksum" in found.rivals else ""
        text += f" Busy processors{checksums} hold up what is done here as a slow disk does."
    elif found.parts.get("disk", 0.0) >= MUCH:
        return f"{text} {_NOT_THE_LINK}"
    return f"{text} The time in flight was {_parts(found)}."


def _source(found: Verdict, evidence: Evidence) -> str:
    text = (
        f"Reading from the service that has the source held {_of(found, 'source')} of the time in flight, for"
        f" {format_rate(evidence.rate_bits_per_second)} in all."
    )
    if found.status == "undetermined":
        text += " What the two ways share, and this machine's processors, hold that up as a slow source does."
    return f"{text} The time in flight was {_parts(found)}."


def _mixed(found: Verdict) -> str:
    text = f"The time in flight was divided: {_parts(found)}."
    if may_all_be_processors(found):
        return (
            f"{text} Processors that are busy with something else, or of which only a part may be used, hold"
            " up all of that; a record cannot prove it."
        )
    others = [job_words(name) for name in found.rivals if name not in found.sharing]
    if found.cause == "mixed" and others:
        return f"{text} In a part of it, that may have been {' or '.join(others)}."
    return text
