"""Methods of the engine: its job with the knobs fixed, or left to itself.

The baseline is the way of 2010: one request in flight, each file as one stream in one request, file
after file.
"""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import Any

import duckdb

from haulage.events import JobStarted, ObjectEnded, Progress, Summary
from haulage.lab.arms import Item, Moved, Watch, Work
from haulage.lab.plan import Arm
from haulage.records.columns import joined
from haulage.records.quoting import literal
from haulage.transfer import Job, Options

#: The engine's own bound on bytes in flight.
_MEMORY_BYTES = 96 << 20


def options_of(arm: Arm) -> Options:
    """Return the options of the engine that make it move files as the arm says."""
    # What one cell found may not help the next.
    options: Options = {"overwrite": "always", "remember_link": False}
    if arm.concurrency is not None:
        options["concurrency"] = arm.concurrency
    if arm.method in ("baseline", "single-put", "whole-files"):
        options["method"] = "whole"
    elif arm.method == "blocks":
        # Files up to one block travel whole: there is nothing to cut.
        options |= {"method": "ranges", "block_size": f"{arm.block_size_bytes}B"}
    elif arm.method == "ceiling":
        options |= {"method": "ranges", "block_size": f"{arm.block_size_bytes or 1 << 20}B"}
    if arm.block_size_bytes is not None and arm.concurrency is not None:
        # The default bound on memory would hold back large blocks, and the arm would not be what it says.
        wanted = arm.block_size_bytes * (arm.concurrency + 8)
        options["max_memory"] = f"{max(_MEMORY_BYTES, wanted)}B"
    if arm.stall_timeout_ns is not None:
        options["stall_timeout"] = f"{arm.stall_timeout_ns // 1_000_000}ms"
    if arm.checksum is not None:
        options["checksum"] = arm.checksum  # type: ignore[typeddict-item]  # the plan has checked it
    return options


def move(work: Work, watch: Watch) -> Moved:
    """Move all files in one job, or in one job each, one after another, for a sequence."""
    if not work.arm.sequence:
        moved = _job(work, work.items, work.record, watch)
    else:
        parts: list[tuple[Moved, Path]] = []
        done = 0
        began_ns = time.monotonic_ns()
        for number, item in enumerate(work.items):
            record = work.scratch / f"{number:06}.parquet"
            part = _job(work, (item,), record, functools.partial(_further, watch, done))
            parts.append((part, record))
            done += part.bytes
        moved = _sum([part for part, _ in parts], time.monotonic_ns() - began_ns)
        shifts = [part.monotonic_offset_ns - moved.monotonic_offset_ns for part, _ in parts]
        _join(list(zip(shifts, (record for _, record in parts), strict=True)), work.record)
    moved.lanes = _look_up(work.record, moved.transfers)
    return moved


def _further(watch: Watch, before: int, moved: int, rate: float) -> None:
    """Say how much a sequence of jobs has moved in all."""
    watch(before + moved, rate)


def _job(work: Work, items: tuple[Item, ...], record: Path, watch: Watch) -> Moved:
    remote = [work.endpoint.url(item.name) for item in items]
    local = [item.local for item in items]
    pairs = list(
        zip(local, remote, strict=True) if work.direction == "up" else zip(remote, local, strict=True)
    )
    options = options_of(work.arm)
    options["record"] = record
    options.update(work.endpoint.reach)
    job = Job.copy(pairs, **options)
    names = {item.local: item.name for item in items}
    transfers: list[dict[str, Any]] = []
    summary: Summary | None = None
    offset = 0
    for event in job.events():
        if isinstance(event, Progress):
            watch(event.bytes_done, event.rate_bits_per_second)
        elif isinstance(event, ObjectEnded):
            transfers.append(_transfer(event, names))
        elif isinstance(event, JobStarted):
            offset = event.started_unix_ns
        elif isinstance(event, Summary):
            summary = event
    assert summary is not None
    # Raises what made the job as a whole impossible; files that failed are rows.
    job.wait(check=False)
    failure = summary.failures[0] if summary.failures else None
    return Moved(
        wall_ns=summary.elapsed_ns,
        bytes=summary.bytes_done,
        transfers=transfers,
        monotonic_offset_ns=offset,
        outcome=failure.kind if failure else "ok",
        cause=failure.cause if failure else None,
        wire_bytes=summary.bytes_wire,
        requests=summary.requests,
        retries=summary.retries,
        chosen=summary.chosen,
        recorded=True,
    )


def _transfer(event: ObjectEnded, names: dict[str, str]) -> dict[str, Any]:
    return {
        "object": names.get(event.source) or names.get(event.destination) or event.name,
        "object_id": event.object_id,
        "size_bytes": event.size_bytes,
        "began_ns": event.started_ns,
        "ended_ns": event.ended_ns,
        "outcome": "ok" if event.failure is None else event.failure.kind,
        "method": event.method,
        "attempts": event.attempts,
    }


def _look_up(record: Path, transfers: list[dict[str, Any]]) -> int | None:
    """Let transfers begin with their first request, not when they were planned; return the lanes used."""
    with duckdb.connect() as database:
        rows = database.execute(
            "select object_id, min(slot_ns), max(lane) + 1 from read_parquet(?)"
            " where slot_ns is not null and object_id is not null group by object_id",
            [str(record)],
        ).fetchall()
    began = {object_id: slot_ns for object_id, slot_ns, _ in rows}
    for transfer in transfers:
        object_id = transfer.pop("object_id")
        transfer["began_ns"] = began.get(object_id, transfer["began_ns"])
        transfer["duration_ns"] = max(0, transfer["ended_ns"] - transfer["began_ns"])
    return max((lanes for *_, lanes in rows), default=None)


def _join(parts: list[tuple[int, Path]], record: Path) -> None:
    """Write one record from those of the jobs of a sequence, on the clock of the first."""
    connections = 0
    with duckdb.connect() as database:
        for number, (shift, part) in enumerate(parts):
            columns = [name for name, *_ in database.execute(f"describe from {literal(part)}").fetchall()]
            apart = {"shift": str(shift), "connections": str(connections), "objects": str(number)}
            words = ", ".join(joined(name, **apart) for name in columns)
            verb = "create table joined as" if number == 0 else "insert into joined"
            database.execute(f"{verb} select {words} from {literal(part)}")
            found = database.execute(f"select max(connection) from {literal(part)}").fetchone()
            connections += (found[0] if found else 0) or 0
        database.execute(f"copy joined to {literal(record)} (format parquet, compression zstd)")


def _sum(parts: list[Moved], wall_ns: int) -> Moved:
    """Return what the jobs of a sequence have moved, on the clock of the first."""
    zero = parts[0].monotonic_offset_ns
    transfers = [
        row
        | {
            "object_id": row["object_id"] + number,
            "began_ns": row["began_ns"] + part.monotonic_offset_ns - zero,
            "ended_ns": row["ended_ns"] + part.monotonic_offset_ns - zero,
        }
        for number, part in enumerate(parts)
        for row in part.transfers
    ]
    failed = next((part for part in parts if part.outcome != "ok"), parts[0])
    return Moved(
        wall_ns=wall_ns,
        bytes=sum(part.bytes for part in parts),
        transfers=transfers,
        monotonic_offset_ns=zero,
        outcome=failed.outcome,
        cause=failed.cause,
        wire_bytes=sum(part.wire_bytes or 0 for part in parts),
        requests=sum(part.requests or 0 for part in parts),
        retries=sum(part.retries or 0 for part in parts),
        chosen=parts[-1].chosen,
        recorded=True,
    )
