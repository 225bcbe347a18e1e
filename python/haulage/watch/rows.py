"""Keeps what happened as CSV or Parquet: a row for each outcome, error, warning and line of a log.

A CSV file can be read at any time: whole rows are written, after each look. A Parquet file gets its name
when it is whole; until then the rows are beside it as CSV, which stays there if the watching is killed.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from haulage.errors import HaulageError, LocalIOError, UsageError
from haulage.records.quoting import literal
from haulage.watch import words
from haulage.watch.line import Line, as_text, first_failure

#: The columns, with their types in Parquet. ``docs/guides/watch.md`` says what they hold.
COLUMNS = {
    "time": "VARCHAR",
    "time_unix_ns": "BIGINT",
    "job": "VARCHAR",
    "node": "VARCHAR",
    "stream": "VARCHAR",
    "seq": "BIGINT",
    "event": "VARCHAR",
    "level": "VARCHAR",
    "kind": "VARCHAR",
    "object": "VARCHAR",
    "destination": "VARCHAR",
    "size_bytes": "BIGINT",
    "outcome": "VARCHAR",
    "attempts": "BIGINT",
    "status": "BIGINT",
    "request_id": "VARCHAR",
    "duration_ns": "BIGINT",
    "message": "VARCHAR",
    "traceback": "VARCHAR",
    "messages": "BIGINT",
    "messages_per_second": "DOUBLE",
    "eta_ns": "BIGINT",
}
#: Added to the name of a Parquet file that is not whole yet.
ROWS = ".rows.csv"
#: The same, while it is made of the rows.
PARTIAL = ".partial"
#: Written at once: a kill within a write of this size leaves no half of a row.
_PIECE = 1 << 16
#: What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\n")

_Values = dict[str, Any]


class Rows(Protocol):
    """Takes in lines and keeps rows."""

    def add(self, lines: list[Line]) -> None:
        """Keep what is to be kept of these."""
        ...

    def close(self) -> None:
        """Bring it to its end."""
        ...


class CsvRows:
    """Rows in a CSV file, which is written anew.

    Args:
        path: Where.
        disarm: Put an apostrophe in front of text that a spreadsheet would run. Default ``True``.
    """

    def __init__(self, path: Path, *, disarm: bool = True) -> None:
        self._path, self._disarm = path, disarm
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise _cannot_write(path, error) from None
        self._text = io.StringIO(newline="")
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow(COLUMNS)
        self._flush()

    def add(self, lines: list[Line]) -> None:
        """Keep what is to be kept of these; it is in the file afterwards."""
        writerow, tell = self._writer.writerow, self._text.tell
        for line in lines:
            values = row_of(line)
            if values is not None:
                writerow([disarmed(one) for one in values] if self._disarm else values)
                if tell() > _PIECE // 2:
                    self._flush()
        self._flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _flush(self) -> None:
        data = self._text.getvalue().encode("utf-8", "replace")
        if data:
            self._text.seek(0)
            self._text.truncate()
            try:
                left = memoryview(data)
                while left:
                    left = left[self._file.write(left) :]
            except OSError as error:
                raise _cannot_write(self._path, error) from None


class ParquetRows:
    """Rows in a Parquet file, which is there once the watching has ended."""

    def __init__(self, path: Path) -> None:
        # Now, not after hours: where it is missing, nothing is written.
        import duckdb  # noqa: F401

        self._path = path
        self._beside = path.with_name(path.name + ROWS)
        self._rows = CsvRows(self._beside, disarm=False)

    def add(self, lines: list[Line]) -> None:
        """Keep what is to be kept of these."""
        self._rows.add(lines)

    def close(self) -> None:
        """Make the Parquet file of the rows, and remove those."""
        import duckdb

        self._rows.close()
        partial = self._path.with_name(self._path.name + PARTIAL)
        columns = "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items()) + "}"
        with duckdb.connect() as database:
            database.execute("set memory_limit = '512MB'; set threads = 1; set enable_progress_bar = false")
            database.execute("set preserve_insertion_order = true")
            try:
                database.execute(
                    f"copy (from read_csv({quoted(self._beside)}, header=true, delim=',', quote='\"',"
                    " escape='\"',"
                    f" max_line_size={64 << 20}, parallel=false, columns={columns}))"
                    f" to {quoted(partial)} (format parquet, compression zstd, row_group_size 20000)"
                )
            except duckdb.Error as error:
                with suppress(OSError):
                    partial.unlink()
                hint = f"the rows are in {self._beside}"
                raise LocalIOError("write", str(self._path), str(error).split("\n")[0], hint) from None
        try:
            partial.replace(self._path)
            self._beside.unlink()
        except OSError as error:
            raise _cannot_write(self._path, error) from None


def _cannot_write(path: Path, error: OSError) -> HaulageError:
    return LocalIOError("write", str(path), error.strerror or str(error), "name another file for the rows")


def quoted(path: Path) -> str:
    """Return a path as it is in SQL.

    Raises:
        UsageError: DuckDB cannot be told of it.
    """
    name = str(path.resolve())
    try:
        name.encode()
    except UnicodeEncodeError:
        hint = "rename it, or name a file whose path is UTF-8"
        raise UsageError("open", str(path), "its path is not UTF-8, which DuckDB needs", hint) from None
    return literal(name)


def row_of(line: Line) -> list[Any] | None:
    """Return the row for a line, in the order of :data:`COLUMNS`; ``None`` for one that is not kept."""
    how = _HOW.get(line.event)
    if how is None:
        return None
    found = how(line.values)
    if found is None:
        return None
    level, rest = found
    return [
        words.stamp(line.time_unix_ns),
        _number(line.time_unix_ns),
        _plain(line.job),
        _plain(line.node),
        _plain(line.stream),
        line.seq,
        line.event,
        _plain(level),
        *(_number(rest.get(name)) if name in _NUMBERS else _plain(rest.get(name)) for name in _REST),
    ]


def disarmed(value: object) -> object:
    """Return what goes into a CSV file: an apostrophe is in front of text that could be a formula.

    >>> disarmed("=1+1"), disarmed(-5), disarmed("a=b")
    ("'=1+1", -5, 'a=b')
    """
    return "'" + value if type(value) is str and value.startswith(_FORMULA) else value


_REST = tuple(COLUMNS)[8:]
_NUMBERS = frozenset(name for name, kind in COLUMNS.items() if kind == "BIGINT")


def _plain(value: object) -> Any:
    if value is None or type(value) in (int, float):
        return value
    # No NUL in a CSV file, and half a pair is no text; a return alone is not quoted, and would part the row.
    return as_text(value).replace("\0", "").replace("\r", "\n")


def _number(value: object) -> int | None:
    return value if type(value) is int and -(1 << 63) <= value < 1 << 63 else None


def _between(values: _Values, name: str) -> int | None:
    began, ended = _number(values.get(name)), _number(values.get("ended_ns"))
    return None if began is None or ended is None else ended - began


def _object(values: _Values) -> tuple[str, _Values]:
    get = values.get
    failure = get("failure")
    failure = failure if type(failure) is dict else {}
    failed = get("outcome") == "failed"
    return "ERROR" if failed else "INFO", {
        "kind": failure.get("kind"),
        "object": get("source"),
        "destination": get("destination"),
        "size_bytes": get("size_bytes"),
        "outcome": get("outcome"),
        "attempts": get("attempts"),
        "duration_ns": _between(values, "started_ns"),
        "message": failure.get("cause") or get("reason"),
    }


def _attempt(values: _Values) -> tuple[str, _Values] | None:
    get = values.get
    if get("fate") in ("ok", "cancelled"):
        return None
    return "WARNING", {
        "kind": get("fate"),
        "object": get("object"),
        "size_bytes": get("size_bytes"),
        "attempts": get("attempt"),
        "status": get("status"),
        "request_id": get("request_id"),
        "duration_ns": _between(values, "slot_ns"),
        "message": get("cause"),
    }


def _started(values: _Values) -> tuple[str, _Values]:
    sources = values.get("sources")
    first = ", ".join(map(as_text, sources)) if type(sources) is list else None
    return "INFO", {
        "kind": values.get("operation"),
        "object": first,
        "destination": values.get("destination"),
        "message": values.get("version"),
    }


def _summary(values: _Values) -> tuple[str, _Values]:
    kept: dict[str, Any] = {
        name: value
        for name, value in values.items()
        if name.startswith(("objects_", "bytes_", "exit_code")) and type(value) is int
    }
    why = first_failure(values)
    if why:
        kept["failure"] = why
    return "ERROR" if values.get("exit_code") else "INFO", {
        "kind": values.get("operation"),
        "size_bytes": values.get("bytes_done"),
        "outcome": "failed" if values.get("exit_code") else "done",
        "duration_ns": values.get("elapsed_ns"),
        "message": json.dumps(kept),
    }


def _error(values: _Values) -> tuple[str, _Values]:
    return "ERROR", {
        "kind": values.get("kind"),
        "object": values.get("object"),
        "outcome": "failed",
        "message": values.get("cause"),
    }


def _log(values: _Values) -> tuple[str, _Values]:
    place = ":".join(as_text(values.get(name)) for name in ("file", "line")) if values.get("file") else None
    return as_text(values.get("level")) or "INFO", {
        "kind": values.get("logger"),
        "object": place,
        "message": values.get("message"),
        "traceback": values.get("traceback"),
    }


def _uncaught(values: _Values) -> tuple[str, _Values]:
    return "CRITICAL", {name: values.get(name) for name in ("kind", "message", "traceback")}


def _lost(values: _Values) -> tuple[str, _Values]:
    return "ERROR", {"kind": "node_lost", "object": values.get("lost"), "message": values.get("cause")}


def _task(values: _Values) -> tuple[str, _Values]:
    kept = ("kind", "object", "outcome", "duration_ns", "message", "traceback")
    return "ERROR" if values.get("outcome") == "failed" else "INFO", {name: values.get(name) for name in kept}


def _queue(values: _Values) -> tuple[str, _Values] | None:
    kept = ("object", "message", "messages", "messages_per_second", "eta_ns")
    return ("INFO", {name: values.get(name) for name in kept}) if values.get("keep") else None


def _beside(level: str) -> Callable[[_Values], tuple[str, _Values]]:
    return lambda values: (level, {name: values.get(name) for name in ("object", "message")})


def _left(values: _Values) -> tuple[str, _Values]:
    return "INFO" if values.get("expected") else "ERROR", {"message": values.get("message")}


def _worker_started(values: _Values) -> tuple[str, _Values]:
    return "INFO", {"kind": values.get("program"), "message": values.get("pid")}


def _worker_ended(values: _Values) -> tuple[str, _Values]:
    ok = values.get("ok") is True
    return "INFO" if ok else "ERROR", {"outcome": "done" if ok else "failed"}


def _gap(values: _Values) -> tuple[str, _Values]:
    return "ERROR", {"message": f"missing up to here: {values.get('lost')} lines"}


_HOW: dict[str, Callable[[_Values], tuple[str, _Values] | None]] = {
    "object": _object,
    "attempt": _attempt,
    "job_started": _started,
    "warning": lambda values: ("WARNING", {name: values.get(name) for name in ("object", "message")}),
    "summary": _summary,
    "error": _error,
    "log": _log,
    "uncaught": _uncaught,
    "node_lost": _lost,
    "panic": lambda values: ("CRITICAL", {"kind": "panic", "message": values.get("message")}),
    "worker_started": _worker_started,
    "worker_ended": _worker_ended,
    "gap": _gap,
    "task": _task,
    "queue": _queue,
    "away": _beside("ERROR"),
    "back": _beside("INFO"),
    "unseen": _beside("WARNING"),
    "worker_joined": _beside("INFO"),
    "worker_left": _left,
    "silent": lambda values: ("ERROR", {"kind": "silent", "message": values.get("message")}),
}
