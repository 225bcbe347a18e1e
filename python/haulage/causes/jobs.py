"""What the record of one job says of its cause, in plain words."""

from __future__ import annotations

from haulage.causes.evidence import Evidence, Told
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
    "pacing": (
        "The cap that was set, {cap}, held the job: bytes went at {rate}, held back for {part} of the time in"
        " flight. A link that is about as fast would look the same."
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
#: Findings that are no limits.
NO_LIMITS = ("few", "empty", "failed", "last-failed")


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


def may_all_be_processors(found: Verdict) -> bool:
    """Whether processors alone explain what looks like several causes."""
    return found.cause == "mixed" and found.rivals[:1] == ("cpu",)


def _words(found: Verdict, evidence: Evidence) -> dict[str, object]:
    """Return what the sentences are filled with."""
    slow, usual, fast = (format_rate(rate) for rate in evidence.rate_of_one or (0.0, 0.0, 0.0))
    took, answer = evidence.took_ns or 0, evidence.answer_ns
    cap = "" if evidence.told is not None else "a --cap, "
    shared = f"the link in all, {cap}the service, or the processors of this machine"
    if answer is not None and answer < NEAR_NS:
        # So quick an answer comes from this machine, or from one beside it.
        shared = f"the processors of this machine, the service, {cap}or the link"
    feeds = "to send: what feeds it (a pipe, the disk, or the list of what to copy)"
    if evidence.direction == "down":
        feeds = "to fetch: what takes the bytes (a pipe or the disk), or the list of what to copy,"
    each = 1e9 * evidence.payload / evidence.wall_ns if evidence.wall_ns else 0.0
    usual_bytes = evidence.usual_bytes or 0
    return {
        "part": _of(found, found.cause),
        "cap": format_rate((evidence.told or Told()).cap_bits_per_second or 0.0),
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
