"""Says in plain words what a job spent its time on, how sure that is, and what would settle it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from haulage.causes.jobs import NO_LIMITS, may_all_be_processors, sentences_of
from haulage.causes.verdict import Verdict
from haulage.causes.vocabulary import job_words
from haulage.lab.why.command import Job
from haulage.lab.why.explaining import Explanation, Part
from haulage.lab.why.plain import shown
from haulage.lab.why.record import Failure
from haulage.lab.why.signs import addresses, opening
from haulage.words.numbers import counted, digits, format_rate, round_size, time_words

#: Of the time of a job, from which the start of its nodes is worth a sentence.
SOME = 0.05


def title(part: Part, phases: Sequence[Part] = ()) -> str:
    """Return the finding in a line: the cause, and how sure that is."""
    cause = part.cause
    if cause.cause in (*NO_LIMITS, "short"):
        return job_words(cause.cause).capitalize()
    if cause.cause == "cpu":
        return "It looks like the processors of this machine, or slots that were not used (undetermined)"
    sure = "seen, not confirmed" if cause.status == "seen" else "undetermined"
    if cause.cause == "changed":
        names = ", then ".join(job_words(part.cause.cause) for part in phases)
        return f"What limited it changed midway: {names} ({sure})"
    if cause.cause == "mixed":
        names = " and ".join(job_words(name) for name in cause.sharing) or "no single cause"
        if may_all_be_processors(cause):
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
        said.append(sentences_of(cause, found.whole.evidence))
        return [sentence for sentence in said if sentence]
    if found.phases and cause.status != "nothing to explain":
        rates = [format_rate(part.evidence.rate_bits_per_second) for part in found.phases]
        when = ", ".join(time_words(part.window.began_ns) for part in found.phases[1:])
        said.append(f"Its rate changed at {when}: {', then '.join(rates)}. Each phase is judged by itself.")
        for number, part in enumerate(found.phases, 1):
            said.append(f"Phase {number}: {sentences_of(part.cause, part.evidence)}")
    elif cause.cause == "empty" and (sent := (found.summary or {}).get("requests")):
        said.append(
            f"The lines hold none of the {counted(sent, 'request')} that the job sent. The nodes of a cluster"
            " write theirs only with --record FILE."
        )
    else:
        said.append(sentences_of(cause, found.whole.evidence))
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
    if may_all_be_processors(cause):
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
        f" {facts.lanes} at most.{_options(found.job)}{_hosts(facts.hosts)}"
    )


def _options(job: Job | None) -> str:
    return f" Its options: {shown(shlex.join(job.options), 300)}." if job and job.options else ""


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


def when(ns: int) -> str:
    """Return a moment of the job."""
    return time_words(ns) if ns else "the start"
