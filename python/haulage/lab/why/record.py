"""Opens the record of a job: the Parquet file of ``haul cp --record``, or the lines of ``haul cp --json``.

Standard input is kept in a file first, since Parquet begins at its end.

Nothing is copied from a Parquet file: it is read through a view with the columns that this version knows, so
a column that a later version has added does no harm, and one that an earlier version had not is null. Lines
are parsed once, into a Parquet file that is gone with the record. DuckDB holds at most :data:`MEMORY` and
writes the rest beside that file.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from haulage.errors import HaulageError, IntegrityError, LocalIOError, NotFoundError, UsageError
from haulage.lab.analysis.query import MEMORY
from haulage.lab.store import ASKED_BESIDE
from haulage.lab.why.command import Job
from haulage.records.quoting import literal

#: What an attempt must tell, or its time cannot be placed.
NEEDED = ("api", "fate", "size_bytes", "slot_ns", "ended_ns")
#: What else is read where it is there, with what stands in its place where it is not.
KNOWN = {
    "object": ("VARCHAR", "''"),
    "api": ("VARCHAR", "''"),
    "fate": ("VARCHAR", "''"),
    "cause": ("VARCHAR", "null"),
    "request_id": ("VARCHAR", "null"),
    "status": ("INTEGER", "null"),
    "object_id": ("BIGINT", "null"),
    "offset_bytes": ("BIGINT", "0"),
    "size_bytes": ("BIGINT", "0"),
    "attempt": ("BIGINT", "1"),
    "node": ("VARCHAR", "null"),
    "lane": ("BIGINT", "0"),
    "connection": ("BIGINT", "0"),
    "connection_reused": ("BOOLEAN", "null"),
    "queued_ns": ("BIGINT", "null"),
    "slot_ns": ("BIGINT", "null"),
    "ready_ns": ("BIGINT", "null"),
    "connected_ns": ("BIGINT", "null"),
    "sent_ns": ("BIGINT", "null"),
    "first_byte_ns": ("BIGINT", "null"),
    "last_byte_ns": ("BIGINT", "null"),
    "committed_ns": ("BIGINT", "null"),
    "ended_ns": ("BIGINT", "null"),
    "backoff_ns": ("BIGINT", "null"),
    "remote": ("VARCHAR", "null"),
    "proxied": ("BOOLEAN", "false"),
    "dns_ns": ("BIGINT", "null"),
    "proxy_ns": ("BIGINT", "null"),
    "tls_ns": ("BIGINT", "null"),
    "retry_after_ns": ("BIGINT", "null"),
    "tcp_rtt_ns": ("BIGINT", "null"),
    "tcp_retransmits": ("BIGINT", "null"),
    "tcp_busy_ns": ("BIGINT", "null"),
    "tcp_rwnd_limited_ns": ("BIGINT", "null"),
    "tcp_sndbuf_limited_ns": ("BIGINT", "null"),
}
#: What is read of the last line of ``--json``.
SUMMARY = {
    "elapsed_ns": "BIGINT",
    "exit_code": "INTEGER",
    "bytes_done": "BIGINT",
    "requests": "BIGINT",
    "chosen": "VARCHAR",
    "failures": "VARCHAR",
}
#: What is read of the line that says why a job failed.
ERROR = ("kind", "operation", "object", "cause", "hint", "exit_code")
#: What is read of the line with which a job began, ...
JOB = {"sources": "VARCHAR[]", "destination": "VARCHAR", "options": "VARCHAR[]"}
#: ... and what the footer of a Parquet file calls it.
IN_FOOTER = "haulage.job_started"
#: A clock that began with the job has not come further than this: 30 years.
LATEST_NS = 10**18
#: In place of a file: standard input.
INPUT = "-"
#: The longest line that is read, in bytes.
_LONGEST_LINE = 64 << 20


@dataclass(frozen=True)
class Failure:
    """How a job failed; or its last request, where the record does not say how the job ended.

    Attributes:
        kind: Of the error; of a request its fate.
        operation: What was being done; of a request the service's name for it.
        object: What it was done to.
        cause: Why it failed.
        hint: What to do about it, if that is known.
        exit_code: Of the job; ``None`` for a request.
    """

    kind: str
    operation: str
    object: str
    cause: str
    hint: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True)
class Record:
    """An open record.

    Attributes:
        database: Holds the view ``record``: a row for each attempt at a step that had a slot and ended; and
            the view ``asked``: the same for what was asked before there were objects, such as pages of lists.
        name: Of the file, as it was given.
        columns: That the file has.
        rows: Of the file, without what was asked before there were objects: the pages of lists.
        left_out: Of these, without a slot, without an end, or at an impossible time.
        summary: The last line of ``--json``; ``None`` in a Parquet file, or where the job was killed.
        unread: Lines that were no JSON.
        failure: Of the line that says why the job failed.
        job: How it began; ``None`` where the record does not say.
    """

    database: duckdb.DuckDBPyConnection
    name: str
    columns: frozenset[str]
    rows: int
    left_out: int
    summary: dict[str, Any] | None = None
    unread: int = 0
    failure: Failure | None = None
    job: Job | None = None

    def one(self, sql: str) -> tuple[Any, ...]:
        """Return the only row of a query."""
        row = self.database.execute(sql).fetchone()
        assert row is not None
        return row


@contextmanager
def open_record(path: Path | str) -> Iterator[Record]:
    """Open a record; it closes with the block.

    Args:
        path: The text ``-`` for standard input.

    Raises:
        NotFoundError: No such file.
        LocalIOError: It may not be read.
        UsageError: It is no record.
        IntegrityError: It is one that is damaged, or was not written to its end.
    """
    with tempfile.TemporaryDirectory(prefix="haul-why-") as folder, duckdb.connect() as database:
        source = _of_input(Path(folder) / "input") if path == INPUT else Path(path)
        start = _first_bytes(source)
        database.execute("set enable_progress_bar = false")
        database.execute(f"set memory_limit = '{MEMORY}'; set threads = 1")
        database.execute(f"set temp_directory = {literal(folder)}")
        if start.startswith(b"PAR1"):
            yield _checked(path, lambda: _of_parquet(database, source, str(path)))
        elif start.lstrip()[:1] == b"{":
            yield _checked(path, lambda: _of_lines(database, source, Path(folder), str(path)))
        else:
            what = "standard input" if path == INPUT else "the file"
            raise _no_record(path, "neither Parquet nor JSON lines" if start else f"{what} is empty")


def _of_input(file: Path) -> Path:
    with file.open("wb") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
    return file


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(64)
    except FileNotFoundError:
        raise NotFoundError(
            "read record", str(path), "no such file", "check the path of the record"
        ) from None
    except PermissionError:
        hint = f"make it readable: chmod u+r {shlex.quote(str(path))}"
        raise LocalIOError("read record", str(path), "permission denied", hint) from None
    except OSError as error:
        raise _no_record(path, error.strerror or str(error)) from None


def _no_record(path: Path | str, cause: str) -> HaulageError:
    return UsageError(
        "read record", str(path), cause, "name a file of haul cp --record, or of haul cp --json"
    )


def _checked(path: Path | str, read: Any) -> Record:
    try:
        found: Record = read()
    except duckdb.Error as error:
        raise damaged(path, error) from error
    return found


def damaged(path: Path | str, error: duckdb.Error) -> HaulageError:
    """Return what to say of a file that began like a record and cannot be read."""
    # DuckDB names the file, which for standard input nobody knows.
    cause = re.sub(r"File '[^']*'", "the file", str(error).split("\n")[0])
    hint = "the file is damaged or cut short; copy it again from where it was written, or record another job"
    return IntegrityError("read record", str(path), cause, hint)


def _of_parquet(database: duckdb.DuckDBPyConnection, path: Path, name: str) -> Record:
    record = _view(database, name, f"read_parquet({literal(path.resolve())})")
    footer = database.execute(
        f"select decode(value) from parquet_kv_metadata({literal(path.resolve())})"
        f" where decode(key) = '{IN_FOOTER}'"
    ).fetchone()
    return replace(record, job=None if footer is None else _began(footer[0]))


def _began(line: str) -> Job | None:
    """Return how a job began, from the event that says so; ``None`` for one of another version."""
    try:
        event = json.loads(line)
        sources, options = (tuple(map(str, event[name])) for name in ("sources", "options"))
        return Job(str(event["operation"]), sources, str(event["destination"]), options)
    except (ValueError, LookupError, TypeError):
        return None


def _of_lines(database: duckdb.DuckDBPyConnection, path: Path, folder: Path, name: str) -> Record:
    """Keep the attempts of JSON lines as Parquet; read the summary."""
    kinds = {"event": "VARCHAR", **dict.fromkeys(ERROR, "VARCHAR")}
    kinds |= {**{name: kind for name, (kind, _) in KNOWN.items()}, **SUMMARY, **JOB}
    shape = ", ".join(f"{name}: '{kind}'" for name, kind in kinds.items())
    database.execute(
        f"create view lines as from read_json({literal(path.resolve())}, format='newline_delimited',"
        " ignore_errors=true,"
        f" columns={{{shape}}}, maximum_object_size={_LONGEST_LINE})"
    )
    counted = dict(database.execute("select event, count(*) from lines group by all").fetchall())
    if not set(counted) & {"attempt", "job_started", "summary", "error"}:
        raise _no_record(name, "lines of JSON that are no events of a job")
    filled = database.execute(
        f"select {', '.join(f'count({name})' for name in KNOWN)} from lines where event = 'attempt'"
    ).fetchall()[0]
    there = [name for name, n in zip(KNOWN, filled, strict=True) if n or name in NEEDED]
    kept = folder / "attempts.parquet"
    database.execute(
        f"copy (select {', '.join(there)} from lines where event = 'attempt') to {literal(kept.resolve())}"
        " (format parquet, compression zstd)"
    )
    last = database.execute(
        f"select {', '.join(SUMMARY)} from lines where event = 'summary' limit 1"
    ).fetchone()
    record = _view(database, name, f"read_parquet({literal(kept.resolve())})")
    summary = None if last is None else dict(zip(SUMMARY, last, strict=True))
    began = database.execute(
        f"select to_json({{operation: operation, {', '.join(f'{one}: {one}' for one in JOB)}}}) from lines"
        " where event = 'job_started' limit 1"
    ).fetchone()
    return replace(
        record,
        summary=summary,
        unread=int(counted.get(None, 0)),
        failure=_failure(database, summary),
        job=None if began is None else _began(began[0]),
    )


def _failure(database: duckdb.DuckDBPyConnection, summary: dict[str, Any] | None) -> Failure | None:
    """Return why the job failed, from the line that says so, or else the summary: of the first object."""
    said = database.execute(
        "select coalesce(kind, ''), coalesce(operation, ''), coalesce(object, ''), coalesce(cause, ''), hint,"
        " exit_code from lines where event = 'error' limit 1"
    ).fetchone()
    if said is not None:
        return Failure(*said)
    code = (summary or {}).get("exit_code")
    if not code:
        return None
    try:
        first = json.loads((summary or {}).get("failures") or "[]")[0]
        kind, operation, name, cause = (str(first.get(name) or "") for name in ERROR[:4])
    except (ValueError, LookupError, AttributeError, TypeError):
        return Failure("", "", "", "", None, code)
    return Failure(kind, operation, name, cause, first.get("hint"), code)


def last_request(record: Record) -> Failure | None:
    """Return the request of a record that ended last, if it failed."""
    last = record.database.execute(
        "select fate, api, object, status, cause from (from record union all from asked)"
        " order by ended_ns desc limit 1"
    ).fetchone()
    if last is None or last[0] in ("ok", "cancelled"):
        return None
    fate, api, object, status, cause = last
    return Failure(
        fate, api, object, " ".join(str(one) for one in (status, cause) if one is not None) or fate
    )


def _view(database: duckdb.DuckDBPyConnection, name: str, source: str) -> Record:
    columns = frozenset(row[0] for row in database.execute(f"describe from {source}").fetchall())
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise _no_record(name, f"no column {', '.join(missing)}")
    picked = ", ".join(
        f'coalesce(try_cast("{name}" as {kind}), {otherwise}) as "{name}"'
        if name in columns
        else f'({otherwise})::{kind} as "{name}"'
        for name, (kind, otherwise) in KNOWN.items()
    )
    # Records of other movers need not say what belongs to an object.
    steps = f"not ({ASKED_BESIDE})" if "object_id" in columns else "true"
    picked_of = f"(select {picked} from {source})"
    sane = (
        f"slot_ns between 0 and {LATEST_NS} and ended_ns between slot_ns and {LATEST_NS}"
        f" and lane between 0 and 1000000 and size_bytes between 0 and {LATEST_NS}"
    )
    database.execute(f"create view record as from {picked_of} where {sane} and {steps}")
    database.execute(f"create view asked as from {picked_of} where {sane} and not ({steps})")
    rows, kept = database.execute(
        f"select (select count(*) from {picked_of} where {steps}), (select count(*) from record)"
    ).fetchall()[0]
    return Record(database, name, columns, int(rows), int(rows) - int(kept))
