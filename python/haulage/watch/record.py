"""Replays a finished job from its record, the Parquet file of ``haul cp --record``.

A record holds attempts and nothing else: when each object ended is when its last attempt did, and what a
node had moved at any time is what its good attempts had carried until then. DuckDB reads it, within a bound
of memory.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haulage.errors import IntegrityError, LocalIOError, NotFoundError, UsageError
from haulage.watch.line import Batch, Line
from haulage.watch.rows import quoted

if TYPE_CHECKING:
    import duckdb

#: What a record must have for this, with the types; and the others, with what stands for them.
_NEEDED = {"object": "varchar", "fate": "varchar", "size_bytes": "bigint", "ended_ns": "bigint"}
_OTHERS = {
    "object_id": ("bigint", "null"),
    "node": ("varchar", "'(one node)'"),
    "api": ("varchar", "''"),
    "cause": ("varchar", "null"),
    "status": ("bigint", "null"),
    "request_id": ("varchar", "null"),
    "attempt": ("bigint", "1"),
    "backoff_ns": ("bigint", "null"),
    "queued_ns": ("bigint", "ended_ns"),
    "slot_ns": ("bigint", "ended_ns"),
}
#: How often a node's state is told, in the time of the job.
_SAMPLE_NS = 10**9
_ROWS = 4096


class Record:
    """A record that is replayed.

    Args:
        path: The file.
        elapsed: Returns the nanoseconds since the beginning of the job up to which it is to be replayed;
            ``None`` for all of it.
    """

    def __init__(self, path: str, elapsed: Callable[[], int | None]) -> None:
        self.name = path
        self._elapsed = elapsed
        # What DuckDB has no room for in memory.
        self._folder = tempfile.TemporaryDirectory(prefix="haul-watch-")
        try:
            self._database, self._source = _opened(path, self._folder.name)
        except BaseException:
            self._folder.cleanup()
            raise
        try:
            with _damage_of(path):
                whole = self._database.execute(f"select max(ended_ns) from {self._source}").fetchone()
            if whole is None or whole[0] is None:
                raise UsageError("watch", path, "it contains no requests", "name the record of a copy")
        except BaseException:
            self.close()
            raise
        self.length_ns = int(whole[0])
        self.started_unix_ns = Path(path).stat().st_mtime_ns - self.length_ns
        self._lines = self._replayed()
        self._next: Line | None = None
        self.ended = False

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
        self._folder.cleanup()

    def read(self) -> Iterator[Batch]:
        """Yield what happened up to now, in pieces.

        Raises:
            IntegrityError: It is damaged here, and what follows cannot be read.
        """
        try:
            with _damage_of(self.name):
                yield from self._read()
        except IntegrityError:
            self.ended = True
            raise

    def _read(self) -> Iterator[Batch]:
        until = self._elapsed()
        lines: list[Line] = []
        while not self.ended:
            line = self._next or next(self._lines, None)
            self._next = None
            if line is None:
                self.ended = True
            elif until is not None and line.time_unix_ns > self.started_unix_ns + until:
                self._next = line
                break
            else:
                lines.append(line)
            if len(lines) >= _ROWS:
                yield Batch(lines, live=True)
                lines = []
        yield Batch(lines, live=True)

    def _line(self, node: str, at_ns: int, event: str, values: dict[str, Any]) -> Line:
        values = {"event": event, **values}
        return Line(Path(self.name).name, node, "record", None, self.started_unix_ns + at_ns, event, values)

    def _replayed(self) -> Iterator[Line]:
        nodes: dict[str, _Node] = {}
        # Of each object the row that ended last tells its end.
        rows = self._database.execute(
            "select node, object_id, object, api, fate, cause, status, request_id, attempt, size_bytes,"
            " backoff_ns,"
            f" slot_ns, ended_ns, object_id is not null and backoff_ns is null and row_number() over"
            f" (partition by node, object_id order by ended_ns desc, attempt desc) = 1 as last,"
            f" min(queued_ns) over (partition by node, object_id) as began,"
            f" sum(size_bytes) filter (fate = 'ok') over (partition by node, object_id) as size"
            f" from {self._source} order by ended_ns"
        )
        names = [column[0] for column in rows.description or ()]
        while some := rows.fetchmany(_ROWS):
            for row in some:
                values = dict(zip(names, row, strict=True))
                name = str(values["node"])
                node = nodes.get(name)
                if node is None:
                    node = nodes[name] = _Node(name)
                    yield self._line(
                        name,
                        0,
                        "job_started",
                        {"operation": "replay", "started_unix_ns": self.started_unix_ns},
                    )
                yield from self._of_row(node, values)
        for node in nodes.values():
            yield self._line(node.name, self.length_ns, "summary", node.summary(self.length_ns))

    def _of_row(self, node: _Node, row: dict[str, Any]) -> Iterator[Line]:
        at_ns = int(row["ended_ns"])
        if at_ns - node.told_ns >= _SAMPLE_NS:
            yield self._line(node.name, at_ns, "progress", node.progress(at_ns))
        if row["fate"] == "ok":
            node.bytes_done += row["size_bytes"] or 0
        elif row["fate"] != "cancelled":
            node.retries += 1
            yield self._line(node.name, at_ns, "attempt", row)
        if row["last"]:
            good = row["fate"] in ("ok", "cancelled")
            node.objects_done += 1
            node.objects_failed += not good
            failure = {"kind": row["fate"], "operation": row["api"], "cause": row["cause"] or ""}
            ended = {
                "source": row["object"],
                "size_bytes": int(row["size"] or 0),
                "outcome": "copied" if good else "failed",
                "started_ns": row["began"],
                "ended_ns": at_ns,
                "failure": None if good else {**failure, "object": row["object"], "hint": None},
            }
            yield self._line(node.name, at_ns, "object", ended)


class _Node:
    """What a node had done by then."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.told_ns = 0
        self.told_bytes = 0
        self.bytes_done = 0
        self.objects_done = 0
        self.objects_failed = 0
        self.retries = 0

    def progress(self, at_ns: int) -> dict[str, Any]:
        moved, took = self.bytes_done - self.told_bytes, max(1, at_ns - self.told_ns)
        self.told_ns, self.told_bytes = at_ns, self.bytes_done
        return {**self._counts(at_ns), "rate_bits_per_second": moved * 8 * 10**9 // took, "listed": False}

    def summary(self, length_ns: int) -> dict[str, Any]:
        done = self.objects_done - self.objects_failed
        return {**self._counts(length_ns), "objects_done": done, "exit_code": int(self.objects_failed > 0)}

    def _counts(self, at_ns: int) -> dict[str, Any]:
        return {
            "elapsed_ns": at_ns,
            "objects_done": self.objects_done,
            "objects_failed": self.objects_failed,
            "bytes_done": self.bytes_done,
            "retries": self.retries,
        }


def _opened(path: str, folder: str) -> tuple[duckdb.DuckDBPyConnection, str]:
    """Return a database, and what to select from."""
    import duckdb

    if not Path(path).is_file():
        raise NotFoundError("watch", path, "no such file", "check the path of the record")
    database = duckdb.connect()
    database.execute(f"set temp_directory = {quoted(Path(folder))}")
    database.execute("set memory_limit = '512MB'; set threads = 1; set enable_progress_bar = false")
    file = quoted(Path(path))
    try:
        with _damage_of(path):
            described = database.execute(f"describe from read_parquet({file})").fetchall()
    except BaseException:
        database.close()
        raise
    columns = {column[0] for column in described}
    missing = [name for name in _NEEDED if name not in columns]
    if missing:
        database.close()
        hint = "name a file of haul cp --record"
        raise UsageError("watch", path, f"no column {', '.join(missing)}", hint)
    # As they should be, whatever they are: what is no number there is damage.
    wanted = [f"{name}::{kind} as {name}" for name, kind in _NEEDED.items()]
    for other, (kind, default) in _OTHERS.items():
        wanted.append(f"{other if other in columns else default}::{kind} as {other}")
    return database, f"(select {', '.join(wanted)} from read_parquet({file}) where ended_ns::bigint >= 0)"


@contextmanager
def _damage_of(path: str) -> Iterator[None]:
    """Say that a record is damaged where DuckDB cannot read it."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise LocalIOError("watch", path, str(error).partition("\n")[0]) from None
    except duckdb.Error as error:
        hint = "name a file of haul cp --record; where it is one, it is damaged or was not written to its end"
        cause = str(error).partition("\n")[0].replace(quoted(Path(path))[1:-1], path)
        raise IntegrityError("watch", path, cause, hint) from None


def replay(path: str, speed: float) -> tuple[Record, Callable[[], int]]:
    """Return a record that is replayed from now on, and the clock that it is replayed by.

    Args:
        path: The file.
        speed: How many seconds of the job in one; 0 for all at once.
    """
    began = time.monotonic_ns()

    def elapsed() -> int | None:
        return int((time.monotonic_ns() - began) * speed) if speed else None

    record = Record(path, elapsed)

    def now() -> int:
        since = elapsed()
        return record.started_unix_ns + min(record.length_ns, record.length_ns if since is None else since)

    return record, now
