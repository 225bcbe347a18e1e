"""Writes event logs as the engine does: numbered lines in files that only grow, in S3 in batches."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import haulage

_streams = itertools.count(1)

JOB = "0123456789abcdef"
#: A moment, for tests that need no clock.
T0 = 1_700_000_000_000_000_000
SECOND = 10**9


class Writer:
    """One process that writes to a log."""

    def __init__(
        self,
        keep: Callable[[str, bytes], object],
        node: str = "node-1",
        *,
        job: str = JOB,
        stream: str = "",
        coordinator: bool = False,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self.job, self.node, self.stream = job, node, stream or f"{next(_streams):08x}"
        self.seq = 0
        self._keep, self._now = keep, now
        self._own = {"coordinator": True} if coordinator else {}

    def line(self, event: str, seq: int | None = None, **fields: Any) -> dict[str, Any]:
        """Return a line; it is numbered unless a number is given."""
        if seq is None:
            seq, self.seq = self.seq, self.seq + 1
        return {
            "job": self.job,
            "node": self.node,
            "stream": self.stream,
            "seq": seq,
            "time_unix_ns": self._now(),
            **self._own,
            "event": event,
            **fields,
        }

    def say(self, event: str, seq: int | None = None, **fields: Any) -> dict[str, Any]:
        """Write a line."""
        line = self.line(event, seq, **fields)
        self.write([line])
        return line

    def write(self, lines: Sequence[dict[str, Any]]) -> None:
        """Write lines at once."""
        self.raw("".join(json.dumps(line) + "\n" for line in lines).encode())

    def raw(self, data: bytes) -> None:
        """Write bytes."""
        self._keep(f"{self.job}/{self.node}.{self.stream}", data)

    def start(self, **fields: Any) -> None:
        """Say that the job begins."""
        started = {"started_unix_ns": self._now(), "operation": "copy", "sources": ["data/"]}
        self.say("job_started", **{**started, "destination": "az://c/", "version": "0.1.0", **fields})

    def object(self, name: str, size_bytes: int = 1000, failure: str = "", **fields: Any) -> None:
        """Say that an object ended."""
        self.say("object", **object_fields(name, size_bytes, failure), **fields)

    def progress(self, done: int, total: int, **fields: Any) -> None:
        """Say how far it has come, in objects of 1,000 bytes."""
        self.say("progress", **progress_fields(done, total, **fields))

    def end(self, exit_code: int = 0, done: int = 0, **fields: Any) -> None:
        """Say that the job ended."""
        counts = {"objects_total": done, "objects_done": done, "objects_failed": 0, "bytes_done": 1000 * done}
        self.say("summary", **{"operation": "copy", "exit_code": exit_code, **counts, **fields})


def object_fields(name: str, size_bytes: int = 1000, failure: str = "") -> dict[str, Any]:
    failed = {"kind": failure, "operation": "write", "object": name, "cause": "no luck", "hint": None}
    return {
        "source": name,
        "destination": f"az://c/{name}",
        "size_bytes": size_bytes,
        "outcome": "failed" if failure else "copied",
        "attempts": 1,
        "started_ns": 0,
        "ended_ns": 5_000_000,
        "reason": None,
        "failure": failed if failure else None,
    }


def progress_fields(done: int, total: int, **fields: Any) -> dict[str, Any]:
    return {
        "elapsed_ns": 0,
        "listed": True,
        "objects_total": total,
        "objects_done": done,
        "objects_failed": 0,
        "objects_skipped": 0,
        "bytes_total": 1000 * total,
        "bytes_done": 1000 * done,
        "rate_bits_per_second": 8000,
        "eta_ns": 3 * SECOND,
        "in_flight": 4,
        "retries": 0,
        "slowest": [],
        **fields,
    }


class InFolder:
    """Appends to files of a folder; a new one begins when one is full."""

    def __init__(self, root: Path, full_bytes: int = 1 << 20) -> None:
        self.root, self.full_bytes = root, full_bytes
        self._numbers: dict[str, int] = {}

    def __call__(self, stream: str, data: bytes) -> None:
        folder = self.root / stream
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self._numbers.get(stream, 0):06d}.jsonl"
        with file.open("ab") as grown:
            grown.write(data)
        if file.stat().st_size >= self.full_bytes:
            self._numbers[stream] = self._numbers.get(stream, 0) + 1


class InBlobs:
    """As files that grow, in a store: each is put anew, as a whole."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._written: dict[str, bytes] = {}

    def __call__(self, stream: str, data: bytes) -> None:
        self._written[stream] = self._written.get(stream, b"") + data
        haulage.put(f"{self.url}/{stream}/000000.jsonl", self._written[stream])


class InObjects:
    """Each batch as an object of its own, as in S3."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._numbers: dict[str, int] = {}

    def __call__(self, stream: str, data: bytes) -> None:
        number = self._numbers.get(stream, 0)
        self._numbers[stream] = number + 1
        haulage.put(f"{self.url}/{stream}/{number:06d}.jsonl", data)
