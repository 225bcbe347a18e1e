"""The one experiment that would settle what limited a job, and what its record cannot tell."""

from __future__ import annotations

from haulage.causes.settling import Experiment, settles
from haulage.lab.why.command import repeated
from haulage.lab.why.explaining import Explanation
from haulage.words.numbers import time_words


def experiment(found: Explanation) -> Experiment | None:
    """Return what would settle it, of the job as it was; ``None`` where there is nothing to settle."""
    settle = _of_any_job(found)
    return settle if settle is None or found.job is None else repeated(settle, found.job)


def _of_any_job(found: Explanation) -> Experiment | None:
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
    return settles(cause, evidence)


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
    if found.job is None:
        said.append(
            "Which options the job had, such as --cap or --concurrency: the haul that wrote it did not record"
            " them."
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
