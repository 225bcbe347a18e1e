"""From a record to an explanation: facts, phases, the ledger of each, and what limited it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb

from haulage.causes.evidence import Evidence
from haulage.causes.fit import fit
from haulage.causes.rules import OF_BYTES, decide, of_failure, of_phases
from haulage.causes.verdict import Verdict
from haulage.lab.analysis import ledger as books
from haulage.lab.why.asking import Asked, Facts, Rows, Window, count
from haulage.lab.why.command import Job
from haulage.lab.why.phases import phases
from haulage.lab.why.record import Failure, Record, damaged, last_request, open_record
from haulage.lab.why.signs import Openings, Remote, Sign, Wire, signs


@dataclass(frozen=True)
class Part:
    """The job, or one phase of it.

    Attributes:
        window: When.
        evidence: What the record says of it.
        cause: What limited it.
        ledger: Lanes times wall time in nanoseconds by category; adds up exactly.
    """

    window: Window
    evidence: Evidence
    cause: Verdict
    ledger: dict[str, int]

    @property
    def held_ns(self) -> int:
        """Time in flight: lanes times wall time without empty slots."""
        return sum(ns for name, ns in self.ledger.items() if name not in ("no work", "idle"))


@dataclass(frozen=True)
class Explanation:
    """Where the time of a job went, and what limited it.

    Attributes:
        name: Of the record.
        facts: Counted.
        whole: The job.
        phases: Where the rate changed midway; else empty.
        columns: Of the record.
        summary: Of the last line of ``--json``, if there is one.
        left_out: Rows of the record that could not be placed.
        unread: Lines that were no JSON.
        job: How it began, if the record says so.
        failure: How the job failed, if it did; the last request that failed, if the record does not say.
        objects: The slowest ones.
        slowest: The slowest requests.
        lost: What did not end well, and what it cost.
        rates: Rate and number in flight over the job, a hundred parts.
        signs: What the kernel's counters say of the cause.
        openings: Connections that were made.
        remotes: Rates by remote address.
    """

    name: str
    facts: Facts
    whole: Part
    phases: tuple[Part, ...]
    columns: frozenset[str]
    summary: dict[str, Any] | None
    left_out: int
    unread: int
    objects: Rows = field(default_factory=list)
    slowest: Rows = field(default_factory=list)
    lost: Rows = field(default_factory=list)
    rates: Rows = field(default_factory=list)
    signs: tuple[Sign, ...] = ()
    openings: Openings = field(default_factory=Openings)
    remotes: tuple[Remote, ...] = ()
    failure: Failure | None = None
    job: Job | None = None


def explain(path: Path | str) -> Explanation:
    """Say where the time of a job went, and what limited it.

    Args:
        path: A file of ``haul cp --record``, or the lines of ``haul cp --json``; ``"-"`` for standard input.

    Raises:
        NotFoundError: No such file.
        LocalIOError: It may not be read.
        UsageError: It is no record.
        IntegrityError: It is damaged, or cut short.
    """
    with open_record(path) as record:
        try:
            return _with_failure(record, _explain(record))
        except duckdb.Error as error:
            raise damaged(record.name, error) from error


def _with_failure(record: Record, found: Explanation) -> Explanation:
    """Say how the job failed; where there is nothing else to explain, that is what there is to say."""
    failure = record.failure
    if failure is None and record.summary is None and found.whole.cause.status == "nothing to explain":
        failure = last_request(record)
    if failure is None:
        return found
    cause = of_failure(found.whole.cause, failure.kind, failure.exit_code)
    return replace(found, failure=failure, whole=replace(found.whole, cause=cause))


def _explain(record: Record) -> Explanation:
    facts = count(record)
    found = Explanation(
        record.name,
        facts,
        _without_requests(facts),
        (),
        record.columns,
        record.summary,
        record.left_out,
        record.unread,
        job=record.job,
    )
    if facts.attempts == 0:
        return found
    asked = Asked(record, facts)
    told = asked("requests")
    usual = float(told[0]["took_ns"] or 0.0) if told else 0.0
    windows = phases(asked("rate_over_time"), facts.wall_ns, usual)
    found = replace(
        found,
        rates=asked("rate_over_time"),
        objects=asked("objects"),
        slowest=asked("slowest"),
        lost=asked("lost"),
    )
    if windows:
        asked = Asked(record, facts, windows)
    whole = _part(asked, 0, Window(0, facts.wall_ns), facts)
    parts = tuple(_part(asked, number, window, facts) for number, window in enumerate(windows, 1))
    if len({part.cause.cause for part in parts}) == 1 and parts[0].cause.cause not in OF_BYTES:
        parts = ()
    whole = replace(whole, cause=of_phases(whole.cause, [(part.cause, part.held_ns) for part in parts]))
    return replace(
        found,
        whole=whole,
        phases=parts,
        signs=tuple(signs(_wire(asked), whole.cause)),
        openings=Openings(lanes_ns=sum(whole.ledger.values()), **_whole_numbers(asked("openings"))),
        remotes=tuple(Remote(*row.values()) for row in asked("remotes")),
    )


def _wire(asked: Asked) -> Wire:
    return Wire(**_whole_numbers(asked("wire")))


def _whole_numbers(rows: Rows) -> dict[str, Any]:
    """Return the only row by column."""
    return {name: None if value is None else int(value) for name, value in rows[0].items()}


def _without_requests(facts: Facts) -> Part:
    evidence = Evidence("", {}, 0, 0.0, kind="job", wall_ns=facts.wall_ns)
    return Part(Window(0, facts.wall_ns), evidence, decide(evidence), dict.fromkeys(books.CATEGORIES, 0))


def _part(asked: Asked, cell: int, window: Window, facts: Facts) -> Part:
    job = asked.job

    def rows(name: str) -> Rows:
        return [row for row in asked(name) if row["cell"] == cell]

    ledger = rows("ledger")
    if facts.from_service:
        # What the engine reads before it sends comes over the network here.
        ledger = [row | ({"category": "source"} if row["category"] == "disk" else {}) for row in ledger]
    spent = {row["category"]: int(row["spent_ns"]) for row in ledger}
    lanes = int(ledger[0]["lanes"]) if ledger else 0
    held_ns = sum(ns for name, ns in spent.items() if name not in ("no work", "idle"))
    sample = rows("sample")
    if cell:
        # A request that was cut at the border of a phase tells of both.
        wall_ns = window.wall_ns
        sample = [row for row in sample if row["began_ns"] > 0 and row["began_ns"] + row["took_ns"] < wall_ns]

    if facts.direction == "down" and sample:
        # When the last has begun, what each of them takes is what the service had put in line before it.
        last_ns = max(row["began_ns"] for row in sample)
        sample = [row for row in sample if row["began_ns"] + row["took_ns"] <= last_ns]

    def number(name: str, column: str) -> float | None:
        found = rows(name)
        return None if not found or found[0][column] is None else float(found[0][column])

    rate = [number("requests", f"{which}_bits_per_second") for which in ("slow", "usual", "fast")]
    moved = int(number("requests", "bytes") or 0)
    evidence = Evidence(
        subject="",
        shares=books.shares(ledger),
        lanes=lanes,
        in_flight=held_ns / window.wall_ns if window.wall_ns else 0.0,
        wall_ns=window.wall_ns,
        payload=int(number("requests", "requests") or 0),
        requests=int(number("counted", "requests") or 0),
        bytes=moved,
        rate_bits_per_second=8e9 * moved / window.wall_ns if window.wall_ns else 0.0,
        direction="down" if facts.direction == "down" else "up",
        answer_ns=number("answers", "answer_ns"),
        is_of_empty_request=bool(number("answers", "is_of_empty_request")),
        commits_held=min(1.0, (number("requests", "commits_ns") or 0.0) / held_ns) if held_ns else 0.0,
        commit_ns=number("requests", "commit_ns"),
        took_ns=number("requests", "took_ns"),
        usual_bytes=number("requests", "usual_bytes"),
        rate_of_one=None if None in rate else (rate[0] or 0.0, rate[1] or 0.0, rate[2] or 0.0),
        connections=int(number("requests", "connections") or 0),
        failed_share=min(1.0, (number("counted", "failed_ns") or 0.0) / held_ns) if held_ns else 0.0,
        refused=int(number("counted", "refused") or 0),
        before_ns=facts.first_slot_ns if cell == 0 else 0,
        after_ns=facts.wall_ns - facts.last_end_ns if cell == 0 else 0,
        asked_ns=facts.asked_ns if cell == 0 else 0,
        nodes=facts.nodes,
        gaps_share=min(1.0, (number("gaps", "gaps_ns") or 0.0) / max(lanes * window.wall_ns, 1)),
        gap_ns=number("gaps", "usual_gap_ns"),
        held_ns=number("gaps", "usual_held_ns"),
        empty_ns=number("starved", "empty_ns") or 0.0,
        wait_ns=number("starved", "usual_wait_ns"),
        waited_after_ns=number("starved", "usual_held_ns"),
        on_wire=_wire(asked).on_wire if cell == 0 else None,
        fit=fit(sample),
        told=None if job is None else job.told,
        checksum=(job and job.value("--checksum")) or "crc64",
        kind="phase" if cell else "job",
    )
    return Part(window, evidence, decide(evidence), spent)
