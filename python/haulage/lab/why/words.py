"""Says in plain words what a job spent its time on, how sure that is, and what would settle it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from haulage.causes.evidence import Evidence
from haulage.causes.rules import NEAR_NS
from haulage.causes.split import MUCH
from haulage.causes.verdict import Verdict
from haulage.causes.vocabulary import job_words
from haulage.lab.why import around
from haulage.lab.why.explaining import Explanation, Part
from haulage.lab.why.plain import percent, shown, time_words
from haulage.lab.why.record import Failure
from haulage.lab.why.signs import addresses, opening
from haulage.words.numbers import counted, digits, format_rate, round_size

#: Of the time of a job, from which the start of its nodes is worth a sentence.
SOME = 0.05

#: Findings that are no limits.
_TITLES = {
    "empty": "No requests",
    "few": "Nothing to explain",
    "failed": "The job failed",
    "last-failed": "The last request failed",
}


@dataclass(frozen=True)
class Experiment:
    """What would settle it: a command, and what each outcome means."""

    command: str
    outcome: str


def title(part: Part, phases: Sequence[Part] = ()) -> str:
    """Return the finding in a line: the cause, and how sure that is."""
    cause = part.cause
    if cause.cause in _TITLES:
        return _TITLES[cause.cause]
    if cause.cause == "short":
        return "Too short to tell"
    if cause.cause == "cpu":
        return "It looks like the processors of this machine, or slots that were not used (undetermined)"
    sure = "seen, not confirmed" if cause.status == "seen" else "undetermined"
    if cause.cause == "changed":
        names = ", then ".join(job_words(part.cause.cause) for part in phases)
        return f"What limited it changed midway: {names} ({sure})"
    if cause.cause == "mixed":
        names = " and ".join(job_words(name) for name in cause.sharing) or "no single cause"
        if _may_all_be_processors(cause):
            return f"It looks like {job_words('cpu')}, or {names} together ({sure})"
        return f"No single cause: {names} share the time ({sure})"
    if cause.status == "undetermined" and cause.rivals:
        return f"What limited it: {_either(cause)} ({sure})"
    return f"What limited it: {job_words(cause.cause)} ({sure})"


def _either(cause: Verdict) -> str:
    *first, last = (job_words(name) for name in cause.rivals)
    return f"{', '.join(first)} or {last}"


def paragraph(found: Explanation) -> list[str]:
    """Return the sentences that tell a person what happened."""
    cause = found.whole.cause
    said = [_failed(found.failure, "It ended" if cause.cause == "failed" else "The job failed")]
    if found.facts.attempts:
        said += [_job(found), _started(found)]
    if cause.cause in ("failed", "last-failed"):
        said.append(_why(cause, found.whole.evidence))
        return [sentence for sentence in said if sentence]
    if found.phases and cause.status != "nothing to explain":
        rates = [format_rate(part.evidence.rate_bits_per_second) for part in found.phases]
        when = ", ".join(time_words(part.window.began_ns) for part in found.phases[1:])
        said.append(f"Its rate changed at {when}: {', then '.join(rates)}. Each phase is judged by itself.")
        for number, part in enumerate(found.phases, 1):
            said.append(f"Phase {number}: {_why(part.cause, part.evidence)}")
    elif cause.cause == "empty" and (sent := (found.summary or {}).get("requests")):
        said.append(
            f"The lines hold none of the {counted(sent, 'request')} that the job sent. The nodes of a cluster"
            " write theirs only with --record FILE."
        )
    else:
        said.append(_why(cause, found.whole.evidence))
    said += [opening(found.openings), addresses(found.remotes), sure(found)]
    return [sentence for sentence in said if sentence]


def sure(found: Explanation) -> str:
    """Say how sure the finding is."""
    cause, evidence = found.whole.cause, found.whole.evidence
    if cause.status == "nothing to explain":
        return ""
    if cause.status == "seen":
        n = counted(evidence.requests, "request")
        return f"Seen in one run of {n}, not confirmed: nothing was changed on purpose."
    if cause.cause == "short":
        return "Take a job of ten seconds or more."
    if _may_all_be_processors(cause):
        return f"Undetermined: with {job_words('cpu')} busy this record would look the same."
    if cause.cause in ("mixed", "changed"):
        return "Undetermined: no single cause is shown for enough of the time."
    return f"Undetermined: with {_either(cause)} this record would look the same."


def _failed(failure: Failure | None, begin: str) -> str:
    """Say how the job failed, if it did."""
    if failure is None:
        return ""
    what, cause = f"{failure.operation} {shown(failure.object)}", shown(failure.cause, 300)
    if failure.exit_code is None:
        return f"{what} failed: {cause}. The record does not say how the job ended; the lines of --json do."
    if not failure.cause:
        return f"{begin} with exit code {failure.exit_code}."
    if failure.kind == "cancelled":
        return "The job was interrupted."
    hint = f" To mend it: {shown(failure.hint, 300)}." if failure.hint else ""
    return f"{begin} with exit code {failure.exit_code}: {what}: {cause}.{hint}"


def _job(found: Explanation) -> str:
    facts, evidence = found.facts, found.whole.evidence
    way = {"up": "up", "down": "down", "none": ""}[facts.direction]
    if not facts.bytes:
        return f"{counted(facts.attempts, 'attempt')} in {time_words(facts.wall_ns)}, and no payload arrived."
    both = " (bytes went both ways; this is the larger)" if facts.both_ways else ""
    return (
        f"{round_size(facts.bytes)} {way}{both} in {time_words(facts.wall_ns)},"
        f" {format_rate(evidence.rate_bits_per_second)}: {counted(facts.objects, 'object')},"
        f" {counted(evidence.requests, 'request')}, {digits(evidence.in_flight)} in flight on average,"
        f" {facts.lanes} at most.{_hosts(facts.hosts)}"
    )


def _started(found: Explanation) -> str:
    """Say how long the nodes took to start, if that is worth saying and not the cause itself."""
    facts, cause = found.facts, found.whole.cause.cause
    if not facts.nodes or cause in ("nodes", "listing") or facts.first_slot_ns < SOME * facts.wall_ns:
        return ""
    return (
        f"The nodes needed {time_words(facts.first_slot_ns)} to start: only then the first of"
        f" {counted(facts.nodes, 'node')} sent a request. The link did not limit that."
    )


def _hosts(hosts: Sequence[str]) -> str:
    return f" It spoke to {', '.join(shown(host, 60) for host in hosts)}." if hosts else ""


def _why(cause: Verdict, evidence: Evidence) -> str:
    return _SAID[cause.cause](cause, evidence)


def when(ns: int) -> str:
    """Return a moment of the job."""
    return time_words(ns) if ns else "the start"


def _parts(cause: Verdict) -> str:
    most = [(name, share) for name, share in list(cause.parts.items())[:4] if share >= 0.02]
    return ", ".join(f"{percent(share)} {job_words(name)}" for name, share in most)


def _of(cause: Verdict, *names: str) -> str:
    return percent(min(1.0, sum(cause.parts.get(name, 0.0) for name in names)))


def _connection(cause: Verdict, evidence: Evidence) -> str:
    slow, usual, fast = evidence.rate_of_one or (0.0, 0.0, 0.0)
    return (
        f"Each connection had a limit of its own: {counted(evidence.connections, 'connection')} of"
        f" {format_rate(usual)} each (eight in ten requests between {format_rate(slow)} and"
        f" {format_rate(fast)}) carried bytes for {_of(cause, 'connection-rate')} of the time in flight. A"
        " request was as quick beside many as beside few, so the path could carry more connections."
    )


def _shared(cause: Verdict, evidence: Evidence) -> str:
    near = evidence.answer_ns is not None and evidence.answer_ns < NEAR_NS
    may_be = "the link in all, a --cap, the service, or the processors of this machine"
    if near:
        # So quick an answer comes from this machine, or from one beside it.
        may_be = "the processors of this machine, the service, a --cap, or the link"
    return (
        f"All requests together reached {format_rate(evidence.rate_bits_per_second)}, and each became slower"
        f" as others joined: they shared one limit for {_of(cause, 'total-rate')} of the time in flight."
        f" It may be {may_be}: a record cannot distinguish these."
    )


def _single(cause: Verdict, evidence: Evidence) -> str:
    rate = f" at {format_rate(evidence.rate_of_one[1])}" if evidence.rate_of_one else ""
    waits = (
        cause.parts.get("answers", 0.0) + cause.parts.get("latency", 0.0) + cause.parts.get("service", 0.0)
    )
    moved = cause.parts.get("bytes", 0.0)
    split = (
        f"{percent(moved)} of the time bytes were on their way{rate}, {percent(waits)} it waited for answers"
    )
    if waits == 0.0:
        split = f"a request took {time_words(evidence.took_ns or 0)}{rate}"
    return f"Only one request was in flight at any time: {split}. While one waited, the path stood idle."


def _answers(cause: Verdict, evidence: Evidence) -> str:
    least = f"; the quickest took {time_words(evidence.answer_ns)}" if evidence.answer_ns else ""
    size = round_size(evidence.usual_bytes or 0)
    return (
        f"Requests waited for their answers for {_of(cause, 'answers', 'latency', 'service')} of the time"
        f" in flight: one of {size} took {time_words(evidence.took_ns or 0)}{least}. The wait is the round"
        f" trip of the path, or the service's time; the bytes took the rest. {_per_second(evidence)}"
    )


def _latency(cause: Verdict, evidence: Evidence) -> str:
    return (
        "Round trips: requests waited for the path's answer, at least"
        f" {time_words(evidence.answer_ns or 0)} each, for {_of(cause, 'latency')} of the time in flight."
        f" {_per_second(evidence)}"
    )


def _service(cause: Verdict, evidence: Evidence) -> str:
    return (
        f"The service took its time: requests waited for it for {_of(cause, 'service')} of the time in"
        f" flight, where the quickest answer of the path took {time_words(evidence.answer_ns or 0)}."
        f" {_per_second(evidence)}"
    )


def _per_second(evidence: Evidence) -> str:
    each = 1e9 * evidence.payload / evidence.wall_ns if evidence.wall_ns else 0.0
    return f"That made {digits(each)} requests a second with {digits(evidence.in_flight)} in flight."


def _own(cause: Verdict, evidence: Evidence) -> str:
    rate = 8e9 * (evidence.usual_bytes or 0) / evidence.took_ns if evidence.took_ns else 0.0
    beside = ", beside many as beside few" if cause.cause == "own-time" else ""
    return (
        f"Each request of {round_size(evidence.usual_bytes or 0)} took"
        f" {time_words(evidence.took_ns or 0)}{beside}: it waited for its answer that long, or its bytes"
        f" went at {format_rate(rate)}. All were alike, so that the record cannot tell."
        f" {_small(evidence)}{_per_second(evidence)}"
    )


def _small(evidence: Evidence) -> str:
    if (evidence.usual_bytes or 0) > 1 << 16:
        return ""
    return "For bodies this small the wait is the likelier. "


def _bytes(cause: Verdict, evidence: Evidence) -> str:
    slow, usual, fast = evidence.rate_of_one or (0.0, 0.0, 0.0)
    return (
        f"Bytes were on their way for {_of(cause, 'bytes')} of the time in flight,"
        f" {format_rate(evidence.rate_bits_per_second)} in all and {format_rate(usual)} a request"
        f" ({format_rate(slow)} to {format_rate(fast)}). What bounds them, each connection or all together,"
        " shows only where the number in flight varies, and here it said too little."
    )


def _throttled(cause: Verdict, evidence: Evidence) -> str:
    return (
        f"The service refused {counted(evidence.refused, 'request')} of {evidence.requests:,}: with the"
        f" pauses that followed, this took {_of(cause, 'throttled')} of the time in flight."
    )


def _commit(cause: Verdict, evidence: Evidence) -> str:
    least = f", {time_words(evidence.answer_ns)} the quickest answer" if evidence.answer_ns else ""
    return (
        f"Commits held {_of(cause, 'commit')} of the time in flight: one took"
        f" {time_words(evidence.commit_ns or 0)}{least}. An object sent in blocks needs one at its end."
    )


def _here(cause: Verdict, _: Evidence) -> str:
    what = {
        "checksum": "Computing checksums",
        "connect": "Making connections",
        "ordering": "Putting pieces in order",
        "failures": "Requests that failed, and were sent again,",
    }[cause.cause]
    link = " The link did not limit this job." if cause.cause in ("checksum", "ordering") else ""
    return f"{what} held {_of(cause, cause.cause)} of the time in flight.{link}"


def _disk(cause: Verdict, evidence: Evidence) -> str:
    what = "Reading from the disk" if evidence.direction == "up" else "Writing to the disk"
    rate = format_rate(evidence.rate_bits_per_second)
    text = f"{what} held {_of(cause, 'disk')} of the time in flight, for {rate} in all."
    if cause.status == "undetermined":
        checksums = " or MD5" if "checksum" in cause.rivals else ""
        return (
            f"{text} Busy processors{checksums} hold up what is done here as a slow disk does."
            f" The time in flight was {_parts(cause)}."
        )
    if cause.parts.get("disk", 0.0) >= MUCH:
        return f"{text} The link did not limit this job."
    return f"{text} The time in flight was {_parts(cause)}."


def _source(cause: Verdict, evidence: Evidence) -> str:
    text = (
        f"Reading from the service that has the source held {_of(cause, 'source')} of the time in flight, for"
        f" {format_rate(evidence.rate_bits_per_second)} in all."
    )
    if cause.status == "undetermined":
        text += " What the two ways share, and this machine's processors, hold that up as a slow source does."
    return f"{text} The time in flight was {_parts(cause)}."


def _processors(_: Verdict, evidence: Evidence) -> str:
    return (
        f"Slots stood empty for {percent(evidence.gaps_share)} of the lanes' time although the next request"
        f" was queued: usually {time_words(evidence.gap_ns or 0)} after each attempt of"
        f" {time_words(evidence.held_ns or 0)}. That is no phase of the network. It looks like processors"
        " that were busy with something else; a record cannot prove it."
    )


def _starved(_: Verdict, evidence: Evidence) -> str:
    feeds = "a pipe, the disk, or the list of what to copy"
    what = f"to send: what feeds it ({feeds})"
    if evidence.direction == "down":
        what = "to fetch: what takes the bytes (a pipe or the disk), or the list of what to copy,"
    return (
        f"For {time_words(evidence.empty_ns)} of {time_words(evidence.wall_ns)} no request was in flight, and"
        f" none was queued. The job had nothing {what} held it up. The link did not limit this job."
    )


def _mixed(cause: Verdict, _: Evidence) -> str:
    text = f"The time in flight was divided: {_parts(cause)}."
    if _may_all_be_processors(cause):
        return (
            f"{text} Processors that are busy with something else, or of which only a part may be used, hold"
            " up all of that; a record cannot prove it."
        )
    others = [job_words(name) for name in cause.rivals if name not in cause.sharing]
    if cause.cause == "mixed" and others:
        return f"{text} In a part of it, that may have been {' or '.join(others)}."
    return text


def _may_all_be_processors(cause: Verdict) -> bool:
    """Whether processors alone explain what looks like several causes."""
    return cause.cause == "mixed" and cause.rivals[:1] == ("cpu",)


def _little(_: Verdict, evidence: Evidence) -> str:
    return "" if evidence.requests == 0 else "That is too little to judge the path by."


def _short(cause: Verdict, evidence: Evidence) -> str:
    return f"{time_words(evidence.wall_ns)} say little about a path. The time in flight was {_parts(cause)}."


_SAID: dict[str, Callable[[Verdict, Evidence], str]] = {
    "connection-rate": _connection,
    "total-rate": _shared,
    "one-at-a-time": _single,
    "answers": _answers,
    "latency": _latency,
    "service": _service,
    "own-time": _own,
    "unknown": _own,
    "bytes": _bytes,
    "throttled": _throttled,
    "commit": _commit,
    "disk": _disk,
    "source": _source,
    "cpu": _processors,
    "starved": _starved,
    "checksum": _here,
    "connect": _here,
    "ordering": _here,
    "failures": _here,
    "listing": around.listing,
    "nodes": around.nodes,
    "before": around.before,
    "after": around.after,
    "mixed": _mixed,
    "changed": _mixed,
    "few": around.few,
    "failed": _little,
    "last-failed": _little,
    "short": _short,
    "empty": around.empty,
}
