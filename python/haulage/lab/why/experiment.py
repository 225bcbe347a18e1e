"""The one experiment that would settle what limited a job, and what its record cannot tell."""

from __future__ import annotations

from haulage.causes.evidence import Evidence
from haulage.causes.verdict import Verdict
from haulage.lab.why.explaining import Explanation
from haulage.lab.why.plain import time_words
from haulage.lab.why.words import Experiment
from haulage.words.numbers import format_rate, round_size

_RECORD = "--record again.parquet"


def experiment(found: Explanation) -> Experiment | None:
    """Return what would settle it; ``None`` where there is nothing to settle."""
    # Where the rate changed, the longest phase is the one to ask about.
    judged = max(found.phases, key=lambda part: part.window.wall_ns) if found.phases else found.whole
    cause, evidence = judged.cause, judged.evidence
    openings = found.openings
    if cause.cause == "connect" and 2 * openings.names_ns >= openings.took_ns > 0:
        each = time_words(openings.names_ns / max(openings.opened, 1))
        return Experiment(
            "time getent hosts HOST",
            f"about {each} each time: the resolver is slow, and one with a cache helps; at once: it is"
            " slow only for many at a time",
        )
    if found.whole.cause.cause in (
        "throttled",
        "listing",
        "nodes",
        "before",
        "after",
    ) or found.whole.cause.status in ("nothing to explain", "failed"):
        cause, evidence = found.whole.cause, found.whole.evidence
    return _of(cause.cause, cause, evidence)


def _of(name: str, cause: Verdict, evidence: Evidence) -> Experiment | None:
    now = format_rate(evidence.rate_bits_per_second)
    doubled = 2 * max(1, round(max(evidence.lanes if name != "total-rate" else evidence.in_flight, 1)))
    more = f"haul cp SRC DST --concurrency {doubled} {_RECORD}"
    if name in ("few", "empty", "failed", "last-failed"):
        return None
    if name == "one-at-a-time":
        return Experiment(
            f"haul cp SRC DST --concurrency 8 {_RECORD}",
            f"several times {now}: it was that one request waited for the other; as fast as now: one"
            " connection already fills the path or the disk",
        )
    if name == "mixed":
        if cause.rivals[:1] == ("cpu",):
            return _of("cpu", cause, evidence)
        # What can be changed alone comes first; then the number in flight.
        alone = (
            "disk",
            "source",
            "checksum",
            "failures",
            "commit",
            "connect",
            "service",
            "own-time",
            "unknown",
        )
        first = next((one for one in alone if one in cause.sharing), None)
        if first is not None:
            return _of(first, cause, evidence)
        return Experiment(
            more,
            f"clearly faster than {now}: each request waited, or each connection had its limit, and more"
            " of them help; as fast as now: it is something that all share",
        )
    if name in ("connection-rate", "bytes"):
        return Experiment(
            more,
            f"clearly faster than {now}: it was each connection, and more of them help; as fast as now: it"
            " is something that all share",
        )
    if name == "total-rate":
        return Experiment(
            "haul lab run ceiling --to URL",
            f"about {now} there too: it is the path or the service; clearly more: it is this machine, its"
            " disk, or how the job was set",
        )
    if name in ("answers", "latency"):
        return Experiment(
            more,
            f"about twice {now}: it was the wait for answers; as fast as now: the service queues its"
            " requests, or something else is full",
        )
    if name in ("service", "own-time", "unknown"):
        return Experiment(
            f"haul cp ONE-LARGE-FILE DST --concurrency {max(1, evidence.lanes)} {_RECORD}",
            f"clearly faster than {now}: each request costs time whatever it carries, and fewer, larger"
            " ones help; as fast as now: it is the rate at which bytes travel",
        )
    if name == "throttled":
        half = max(1, round(evidence.rate_bits_per_second / 2e6))
        return Experiment(
            f"haul cp SRC DST --cap {half}mbit {_RECORD}",
            "no refusals: they came from the rate, and a cap between the two is best; as many as now:"
            " they come whatever is sent, ask the provider",
        )
    if name == "commit":
        return Experiment(
            f"haul cp SRC DST --single-put-max 64MiB {_RECORD}",
            f"clearly faster than {now}: it was the commits that blocks need; as fast as now: it is"
            " something else",
        )
    if name == "disk":
        other = "it was this machine's processors, or the path" if cause.status != "seen" else "it was not"
        if evidence.direction == "down":
            return Experiment(
                f"haul cp SRC /dev/shm/copy {_RECORD}",
                f"clearly faster than {now}: it was the disk written to; as fast as now: {other}",
            )
        return Experiment(
            f"cp -r SRC /dev/shm/copy && haul cp /dev/shm/copy DST {_RECORD}",
            f"clearly faster than {now}: it was the disk read from; as fast as now: {other}",
        )
    if name == "source":
        return Experiment(
            f"haul cp SRC /dev/shm/copy {_RECORD}",
            f"as fast as now ({now}): it is the source, or the way from it; clearly faster: it is where the"
            " copy goes, or what the two ways share",
        )
    if name == "checksum":
        return Experiment(
            f"haul cp SRC DST --checksum crc64 {_RECORD}",
            "faster than with the checksum of this job: it was that; as fast as now: it is something else",
        )
    if name == "cpu":
        return Experiment(
            f"haul cp SRC DST {_RECORD}",
            f"while nothing else runs on this machine (top shows what does): clearly faster than {now}:"
            " it was the processors; as fast as now: slots were not used, or it is something else",
        )
    if name == "starved":
        took = time_words(evidence.wall_ns)
        if evidence.direction == "down":
            return Experiment(
                f"haul cp SRC /dev/shm/copy {_RECORD}",
                f"clearly faster than {now}: it was what takes the bytes; as fast as now: it is finding out"
                " what to copy, for which haul plan takes as long",
            )
        return Experiment(
            "time PRODUCER > /dev/null",
            f"with what feeds the pipe, or cat for files: about {took} too: it was that; clearly less: it is"
            " finding out what to copy, for which haul plan takes as long",
        )
    if name in ("connect", "failures"):
        return Experiment(
            f"haul cp SRC DST --concurrency {max(1, evidence.lanes // 2)} {_RECORD}",
            "fewer of them: the path, or something on it, does not take so many connections; as many: it"
            " fails whatever is asked of it",
        )
    if name in ("listing", "before"):
        return Experiment(
            "haul plan SRC DST",
            f"about {time_words(evidence.before_ns)} too: it was finding out what to copy; clearly less:"
            " it was something else, such as the start of a node",
        )
    if name == "nodes":
        return Experiment(
            f"haul cp SRC DST {_RECORD}",
            f"without --nodes: about {time_words(evidence.before_ns)} sooner: it was the start of the nodes,"
            " and one process is faster for a job of this size; no sooner: it is something else",
        )
    if name == "after":
        return Experiment(
            f"haul cp SRC DST --no-flush {_RECORD}",
            f"{time_words(evidence.after_ns)} sooner: it was the disk; no sooner: it is something else",
        )
    larger = round_size(max(10 * evidence.bytes, 10**8))
    return Experiment(
        f"haul cp SRC DST {_RECORD}", f"with {larger} or more, so that it takes ten seconds or longer"
    )


def unknown(found: Explanation) -> list[str]:
    """Return what the record does not hold, each with what would record it."""
    facts = found.facts
    said = []
    if found.left_out:
        said.append(
            f"{found.left_out:,} rows have no slot, no end, or an impossible time, and were left out."
        )
    if found.unread:
        said.append(f"{found.unread:,} lines were no JSON, and were left out.")
    if found.summary is None:
        said.append(
            "When the job ended, whether it was interrupted, and what it chose: a record ends with its"
            " last attempt. haul cp --json tells."
        )
    elif found.summary.get("exit_code"):
        said.append(
            f"What else there would have been: the job ended with exit code {found.summary['exit_code']}."
        )
    if not facts.attempts or found.whole.cause.cause in ("failed", "last-failed"):
        return said
    said.append(
        "How busy the processors and the disk were, and what else used the link. haul lab run samples the"
        " machine."
    )
    said.append(
        "Which options the job had, such as --cap or --concurrency: keep the command beside the record."
    )
    if facts.first_slot_ns > 0.05 * facts.wall_ns and not facts.lists and not facts.nodes:
        said.append("Requests of listing: this record has none. haul plan takes as long as they do.")
    if found.whole.evidence.direction == "up" and not found.whole.evidence.is_of_empty_request:
        said.append(
            "The path's round trip: every request carried bytes. A job with a file that is sent in blocks"
            " (--block-size 64KiB) records it."
        )
    if facts.direction == "down" and "tcp_busy_ns" in found.columns:
        said.append(
            "Lost segments and full windows of downloads: the kernel of the end that sends counts them."
        )
    missing = [
        what
        for column, what in (
            ("connection", "connections"),
            ("queued_ns", "waits for a slot"),
            ("backoff_ns", "pauses after refusals"),
            ("tcp_busy_ns", "what the kernel counted of connections"),
        )
        if column not in found.columns
    ]
    if missing:
        said.append(
            f"This record has no columns for {', '.join(missing)}: the haul that wrote it did not record"
            " them."
        )
    return said
