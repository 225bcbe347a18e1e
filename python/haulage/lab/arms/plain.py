"""A plain client: Python's http.client, one connection a thread, as the clients of 2010 worked.

It reproduces what the founding experiments measured: a put of bytes, a write stream that buffers and
commits (E5), ranges into part files and their reassembly (E2). It writes the same rows as the engine.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from haulage.errors import ConnectionLostError, HaulageError, ServiceError
from haulage.lab.arms import Item, Moved, Work
from haulage.lab.store import ATTEMPT_COLUMNS, write_rows

#: As the services know it; any newer one is fine with what is asked here.
_VERSION = "2021-12-02"
_BUFFER_BYTES = 1 << 20
_PIECE_BYTES = 64 << 10
_TIMEOUT_S = 120.0


@dataclass
class Recorder:
    """Keeps a row for every request, on one clock that begins with the cell."""

    began_ns: int = field(default_factory=time.monotonic_ns)
    rows: list[dict[str, Any]] = field(default_factory=list)
    wire_bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self) -> int:
        """Return nanoseconds since the cell began."""
        return time.monotonic_ns() - self.began_ns

    def keep(self, row: dict[str, Any]) -> None:
        """Keep a row."""
        with self._lock:
            self.rows.append(row)
            self.wire_bytes += row["size_bytes"]

    def write(self, path: Path) -> None:
        """Write the rows as the engine writes its record."""
        write_rows(path, self.rows, ATTEMPT_COLUMNS)

    def transfer(
        self, number: int, item: Item, began_ns: int, ended_ns: int, outcome: str, method: str
    ) -> dict[str, Any]:
        """Return the row of a file; ``outcome`` is ``"ok"`` or the code of the error that kept it."""
        return {
            "object": item.name,
            "size_bytes": item.size_bytes,
            "began_ns": began_ns,
            "ended_ns": ended_ns,
            "duration_ns": ended_ns - began_ns,
            "outcome": outcome,
            "method": method,
            "attempts": sum(row["object_id"] == number for row in list(self.rows)),
        }


@dataclass(frozen=True)
class Request:
    """One request and what it is for."""

    api: str
    verb: str
    url: str
    object_id: int
    object: str
    offset_bytes: int
    size_bytes: int
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    stream: Callable[[], BinaryIO] | None = None  #: opens what is sent instead of ``body``


class Lanes:
    """Connections, one a thread; each keeps its own open."""

    def __init__(self, recorder: Recorder, count_: int, window_ns: int | None = None) -> None:
        self._recorder = recorder
        self._count = count_
        self._window_s = None if window_ns is None else window_ns / 1e9
        self._futures: list[Future[object]] = []
        self._local = threading.local()
        self._lanes = count()
        self._connections = count(1)
        self._pool = ThreadPoolExecutor(count_, thread_name_prefix="lab-plain")
        self._open: list[http.client.HTTPConnection] = []

    def open(self, url: str) -> None:
        """Connect every lane, so that none of the requests has to.

        Raises:
            ConnectionLostError: A connection could not be made.
        """
        together = threading.Barrier(self._count)

        def connect(_: int) -> None:
            together.wait(_TIMEOUT_S)
            local = self._local
            local.lane, local.line, local.number = next(self._lanes), None, 0
            try:
                local.line = self._connect(url)
            except OSError as error:
                raise ConnectionLostError("connect", url.split("?")[0], str(error)) from error
            local.number = next(self._connections)

        self.each(connect, range(self._count))

    def each(self, work: Callable[[Any], object], items: Sequence[Any]) -> None:
        """Do ``work`` with every item, as many at once as there are lanes; raise the first failure."""
        self._futures = futures = [self._pool.submit(work, item) for item in items]
        try:
            for future in futures:
                future.result()
        finally:
            for future in futures:
                future.cancel()

    def settle(self) -> None:
        """Wait until nothing of the last :meth:`each` is in flight."""
        wait(self._futures)

    def send(self, request: Request, sink: Callable[[memoryview], object] | None = None) -> None:
        """Send a request over this thread's connection; hand the answer's body to ``sink``.

        Raises:
            ServiceError: An answer that is no success.
            ConnectionLostError: The connection broke.
        """
        local, now = self._local, self._recorder.now
        if not hasattr(local, "lane"):
            local.lane, local.line = next(self._lanes), None
        row: dict[str, Any] = dict.fromkeys(ATTEMPT_COLUMNS)
        row |= {
            "object_id": request.object_id,
            "object": request.object,
            "api": request.api,
            "offset_bytes": request.offset_bytes,
            "size_bytes": request.size_bytes,
            "attempt": 1,
            "lane": local.lane,
            "connection_reused": local.line is not None,
            "queued_ns": now(),
            "slot_ns": now(),
        }
        body = request.body or b""
        length = request.size_bytes if request.stream else len(body)
        headers = {"x-ms-version": _VERSION, "Content-Length": str(length), **dict(request.headers)}
        if request.body is not None:
            headers["Content-MD5"] = base64.b64encode(hashlib.md5(body).digest()).decode()
        row["ready_ns"] = now()
        try:
            if local.line is None:
                local.line, local.number = self._connect(request.url), next(self._connections)
            row["connected_ns"], row["connection"] = now(), local.number
            until = time.monotonic() + (self._window_s or _TIMEOUT_S)
            _allow(local.line, until)
            parts = urlsplit(request.url)
            local.line.putrequest(request.verb, f"{parts.path}?{parts.query}", skip_accept_encoding=True)
            for name, value in headers.items():
                local.line.putheader(name, value)
            local.line.endheaders(body or None)
            if request.stream is not None:
                with request.stream() as file:
                    while piece := file.read(_PIECE_BYTES):
                        _allow(local.line, until)
                        local.line.send(piece)
            row["sent_ns"] = now()
            _allow(local.line, until)
            answer = local.line.getresponse()
            row["first_byte_ns"], row["status"] = now(), answer.status
            _drain(answer, sink if answer.status < 300 else None)
        except (OSError, http.client.HTTPException) as error:
            if local.line is not None:
                local.line.close()
            local.line = None
            late = isinstance(error, TimeoutError) and self._window_s is not None
            why = f"no answer within {self._window_s:g} s" if late else str(error) or type(error).__name__
            self._recorder.keep(row | {"ended_ns": now(), "fate": "connection", "cause": why})
            raise ConnectionLostError("send", request.object, why) from error
        row["last_byte_ns"] = row["committed_ns"] = row["ended_ns"] = now()
        row["request_id"] = answer.headers.get("x-ms-request-id")
        failed = answer.status >= 300
        reason = answer.headers.get("x-ms-error-code") or answer.reason
        self._recorder.keep(
            row | {"fate": "service" if failed else "ok", "cause": reason if failed else None}
        )
        if failed:
            raise ServiceError("send", request.object, f"{answer.status} {reason}")

    def _connect(self, url: str) -> http.client.HTTPConnection:
        parts = urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        line = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
        line.connect()
        self._open.append(line)
        return line

    def close(self) -> None:
        """Close all connections; what is in flight breaks off."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for line in self._open:
            line.close()


def _allow(line: http.client.HTTPConnection, until: float) -> None:
    """Let the next step of a request take no longer than until then, whatever progress it makes."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    line.sock.settimeout(left)


def summed(
    work: Work,
    recorder: Recorder,
    transfers: list[dict[str, Any]],
    failures: Sequence[HaulageError],
    wall_ns: int,
    offset: int,
) -> Moved:
    """Write the record and return what came of the cell."""
    recorder.write(work.record)
    return Moved(
        wall_ns=wall_ns,
        bytes=sum(row["size_bytes"] for row in transfers if row["outcome"] == "ok"),
        transfers=transfers,
        monotonic_offset_ns=offset,
        outcome=failures[0].code if failures else "ok",
        cause=failures[0].cause if failures else None,
        wire_bytes=recorder.wire_bytes,
        requests=len(recorder.rows),
        retries=0,
        lanes=1 + max((row["lane"] for row in recorder.rows), default=0),
        recorded=True,
    )


def _drain(answer: http.client.HTTPResponse, sink: Callable[[memoryview], object] | None) -> None:
    buffer = memoryview(bytearray(_BUFFER_BYTES))
    while read := answer.readinto(buffer):
        if sink is not None:
            sink(buffer[:read])


def block_id(number: int) -> str:
    """Return the id of a block; all ids of a blob have one length."""
    return base64.b64encode(f"{number:08}".encode()).decode()


def pieces(size_bytes: int, block_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield offset and length of each piece; one of no bytes for nothing."""
    for offset in range(0, max(1, size_bytes), block_bytes):
        yield offset, min(block_bytes, size_bytes - offset)
