"""How Python shows jobs and their results: as one line, or as a table in a notebook; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from haulage.words.numbers import counted, format_duration, format_rate, format_size

if TYPE_CHECKING:
    from haulage.events import Failure, PlanReport, Progress, Summary

#: Failures that a table names; ``summary.failures`` has more.
FAILURES_SHOWN = 10


def summary_line(summary: Summary) -> str:
    """Return the result of a job in one line."""
    words = (counted(summary.objects_done, "object"), _heading(summary))
    done = " ".join(words if summary.operation == "verify" else reversed(words))
    parts = [f"{done}, {format_size(summary.bytes_done)}"]
    if not summary.dry_run:
        rate = format_rate(summary.goodput_bits_per_second)
        parts[0] += f" in {format_duration(summary.elapsed_ns)} ({rate})"
    if summary.bytes_resumed:
        parts.append(f"{format_size(summary.bytes_resumed)} of them resumed from an earlier run")
    parts += [
        f"{number:,} {word}"
        for number, word in (
            (summary.objects_skipped, "skipped"),
            (summary.objects_failed, "failed"),
            (summary.objects_differ, "differ"),
            (summary.objects_missing, "missing"),
            (summary.objects_extra, "extra"),
            (summary.objects_deleted, "deleted"),
        )
        if number
    ]
    return ", ".join(parts)


def progress_line(progress: Progress) -> str:
    """Return the progress of a job in one line."""
    plus = "" if progress.listed else "+"
    plural = "" if progress.listed and progress.objects_total == 1 else "s"
    # The events count failed objects among those that are finished.
    done = max(0, progress.objects_done - progress.objects_failed)
    parts = [
        f"{format_size(progress.bytes_done)} of {format_size(progress.bytes_total)}{plus}",
        f"{done:,} of {progress.objects_total:,}{plus} object{plural}",
        format_rate(progress.rate_bits_per_second),
    ]
    share = fraction(progress)
    if share is not None:
        parts.insert(0, f"{int(share * 100)} %")
    if progress.eta_ns is not None and progress.listed:
        parts.append(f"{format_duration(progress.eta_ns)} left")
    if progress.objects_failed:
        parts.append(f"{progress.objects_failed:,} failed")
    if progress.flushing:
        parts.append("writing to disk")
    return ", ".join(parts)


def fraction(progress: Progress) -> float | None:
    """Return the fraction that is done, from 0 to 1; ``None`` while the total is unknown."""
    if not progress.listed:
        return None
    # Objects decide where there are no bytes: empty files, or a run that skips all.
    done, total = (
        (progress.bytes_done, progress.bytes_total)
        if progress.bytes_total
        else (progress.objects_done, progress.objects_total)
    )
    return min(done / total, 1.0) if total else 1.0


def summary_table(summary: Summary) -> str:
    """Return the result of a job as HTML: the main figures, and the first failures."""
    figures: list[tuple[str, str]] = [
        (_heading(summary), counted(summary.objects_done, "object")),
        ("size", format_size(summary.bytes_done)),
        ("time", format_duration(summary.elapsed_ns)),
        ("rate", format_rate(summary.goodput_bits_per_second)),
        ("requests", f"{summary.requests:,}"),
    ]
    if summary.bytes_resumed:
        figures.insert(2, ("resumed", f"{format_size(summary.bytes_resumed)} from an earlier run"))
    figures += [
        (name, f"{number:,}")
        for name, number in (
            ("skipped", summary.objects_skipped),
            ("failed", summary.objects_failed),
            ("differ", summary.objects_differ),
            ("missing", summary.objects_missing),
            ("extra", summary.objects_extra),
            ("deleted", summary.objects_deleted),
            ("retries", summary.retries),
            ("not proven", summary.objects_unproven),
        )
        if number
    ]
    if summary.chosen:
        figures.append(("chosen", summary.chosen))
    failures = max(summary.objects_failed, len(summary.failures))
    return "\n".join([table(figures), *_failed(summary.failures, failures, "summary.failures")])


def _heading(summary: Summary) -> str:
    if summary.operation == "verify":
        return "equal"
    return "would copy" if summary.dry_run else "copied"


def _failed(failures: Sequence[Failure], count: int, where: str) -> Iterator[str]:
    """Yield the first failures as HTML, and how many more there are."""
    rows = [(failure.object, failure.cause, failure.hint or "") for failure in failures[:FAILURES_SHOWN]]
    if rows:
        yield table(rows, ("object", "failed because", "hint"))
    if count > len(rows):
        yield f"<p>and {count - len(rows):,} more: see <code>{where}</code></p>"


def plan_line(plan: PlanReport) -> str:
    """Return what a copy would do in one line."""
    parts = [
        f"would copy {counted(plan.objects - plan.objects_skipped, 'object')}",
        format_size(plan.bytes),
        f"{counted(plan.requests, 'request')}, {plan.concurrency:,} at once",
    ]
    if plan.objects_skipped:
        parts.append(f"{plan.objects_skipped:,} skipped")
    if plan.by_service:
        parts.append(f"{plan.by_service:,} copied by the service")
    if plan.problems:
        parts.append(counted(len(plan.problems), "problem"))
    return ", ".join(parts)


def plan_table(plan: PlanReport) -> str:
    """Return what a copy would do as HTML: the main figures, how long it takes, and the first problems."""
    figures = [
        ("would copy", counted(plan.objects - plan.objects_skipped, "object")),
        ("size", format_size(plan.bytes)),
        ("requests", f"{plan.requests:,}, {plan.concurrency:,} at once"),
        ("in one request", counted(plan.whole, "object")),
    ]
    if plan.blocks:
        size = ""
        if plan.block_size:
            least, most = (format_size(one) for one in plan.block_size)
            size = f" of {least}" if least == most else f" of {least} to {most}"
        figures.append(("in blocks or ranges", f"{counted(plan.blocks, 'object')}{size}"))
    if plan.by_service:
        by_service = f"{counted(plan.by_service, 'object')}, {format_size(plan.bytes_by_service)}"
        figures.append(("by the service", by_service))
    if plan.objects_skipped:
        figures.append(("skipped", counted(plan.objects_skipped, "object")))
    if plan.round_trip_ns is not None:
        figures.append(("round trip", format_duration(plan.round_trip_ns)))
    figures += [(f"time at {format_rate(rate)}", format_duration(ns)) for rate, ns in plan.estimates]
    return "\n".join([table(figures), *_failed(plan.problems, len(plan.problems), "plan.problems")])


def progress_bar(name: str, progress: Progress) -> str:
    """Return the progress of a job as HTML."""
    share = fraction(progress)
    value = "" if share is None else f' value="{share:.3f}"'
    line = escape(progress_line(progress))
    return f'<div>{escape(name)} <progress max="1"{value} style="width:20em"></progress> {line}</div>'


def table(rows: Iterable[Sequence[str]], heads: Sequence[str] = ()) -> str:
    """Return a table as HTML; without ``heads``, the first column holds the row headers."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = [f"<thead><tr>{top}</tr></thead>"] if heads else []
    for row in rows:
        cells = [f'<td style="text-align:left">{escape(cell)}</td>' for cell in row]
        if not heads:
            cells[0] = f'<th style="text-align:left">{escape(row[0])}</th>'
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"
