"""Rows of a table, as E8 asked for them: page by page or as one answer, of the store or of a proxy before it.

The client is plain: one connection, one request after another, as a page in a browser asks. It keeps what
came and counts the rows when its time has been taken. Arrow that is gathered from the store itself is an
export.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any
from urllib.parse import quote, urlsplit

from haulage import _engine
from haulage.errors import ConnectionLostError, HaulageError, IntegrityError, ServiceError, missing_package
from haulage.lab.arms import Moved, Watch, Work
from haulage.lab.arms.plain import Recorder
from haulage.lab.plan import ROW_BYTES
from haulage.lab.store import ATTEMPT_COLUMNS

_ACCEPT = {
    "atom": "application/atom+xml",
    "json-full": "application/json;odata=fullmetadata",
    "json-minimal": "application/json;odata=minimalmetadata",
    "json-none": "application/json;odata=nometadata",
    "arrow": "application/vnd.apache.arrow.stream",
}
_CONTINUED = ("NextPartitionKey", "NextRowKey")
_TIMEOUT_S = 120.0
#: The last version that speaks Atom, and the first that speaks JSON without types.
_VERSIONS = {"atom": "2013-08-15"}
_VERSION = "2019-02-02"


def move(work: Work, watch: Watch) -> Moved:
    """Read all rows of the table once.

    Raises:
        ConnectionLostError: The connection broke.
        ServiceError: An answer that is no success.
        IntegrityError: Not all rows came.
    """
    if work.arm.way == "direct" and work.arm.gathered:
        return _exported(work)
    recorder, offset = Recorder(), time.time_ns()
    pages = _Reader(work, recorder).read()
    wall = recorder.now()
    found = sum(rows_in(page, work.arm.format) for page in pages)
    if found != work.rows:
        raise IntegrityError("read rows", "the table", f"{found} rows came, not {work.rows}", "run it again")
    recorder.write(work.record)
    watch(work.rows * ROW_BYTES, work.rows * ROW_BYTES * 8e9 / wall)
    ends = [(row["slot_ns"], row["ended_ns"]) for row in recorder.rows]
    return Moved(
        wall_ns=wall,
        bytes=work.rows * ROW_BYTES,
        transfers=[
            _transfer(f"answer {number}", len(page), began, ended)
            for number, (page, (began, ended)) in enumerate(zip(pages, ends, strict=True), 1)
        ],
        monotonic_offset_ns=offset,
        wire_bytes=sum(map(len, pages)),
        requests=len(pages),
        retries=0,
        lanes=1,
        recorded=True,
    )


def _exported(work: Work) -> Moved:
    path, offset, began = work.scratch / "rows.arrow", time.time_ns(), time.monotonic_ns()
    done = _engine.TableExport(work.endpoint.base, path, format="arrow").run()
    wall = time.monotonic_ns() - began
    if done["rows"] != work.rows:
        raise IntegrityError(
            "read rows", "the table", f"{done['rows']} rows came, not {work.rows}", "run it again"
        )
    return Moved(
        wall_ns=wall,
        bytes=work.rows * ROW_BYTES,
        transfers=[_transfer("export", done["bytes_wire"], 0, wall)],
        monotonic_offset_ns=offset,
        wire_bytes=done["bytes_wire"],
        requests=done["requests"],
        retries=done["retries"],
    )


def _transfer(name: str, size: int, began_ns: int, ended_ns: int) -> dict[str, Any]:
    return {
        "object": name,
        "size_bytes": size,
        "began_ns": began_ns,
        "ended_ns": ended_ns,
        "duration_ns": ended_ns - began_ns,
        "outcome": "ok",
        "method": "whole",
        "attempts": 1,
    }


@dataclass
class _Reader:
    """Asks for one page after the other over one connection."""

    work: Work
    recorder: Recorder
    line: http.client.HTTPConnection | None = None

    def read(self) -> list[bytes]:
        """Return the bodies of all answers."""
        pages: list[bytes] = []
        place: dict[str, str] = {}
        try:
            while True:
                body, place = self._ask(place, len(pages))
                pages.append(body)
                if not place:
                    return pages
        finally:
            if self.line is not None:
                self.line.close()

    def _ask(self, place: Mapping[str, str], number: int) -> tuple[bytes, dict[str, str]]:
        arm, now = self.work.arm, self.recorder.now
        url = urlsplit(self.work.endpoint.proxy if arm.way == "proxy" else self.work.endpoint.base)
        path = f"{url.path}/{'all' if arm.gathered else 'rows'}" if arm.way == "proxy" else f"{url.path}()"
        query = dict(place) | ({"format": arm.format} if arm.way == "proxy" else {})
        target = path + (
            "?" + "&".join(f"{name}={quote(value)}" for name, value in query.items()) if query else ""
        )
        row: dict[str, Any] = dict.fromkeys(ATTEMPT_COLUMNS)
        row |= {
            "object_id": 0,
            "object": "rows",
            "api": "QueryEntities" if arm.way == "direct" else "GetRows",
            "offset_bytes": 0,
            "attempt": 1,
            "lane": 0,
            "connection": 1,
            "connection_reused": number > 0,
            "queued_ns": now(),
            "slot_ns": now(),
            "ready_ns": now(),
        }
        try:
            if self.line is None:
                self.line = http.client.HTTPConnection(url.hostname or "", url.port, timeout=_TIMEOUT_S)
                self.line.connect()
            row["connected_ns"] = now()
            self.line.putrequest("GET", target, skip_host=True, skip_accept_encoding=True)
            for name, value in self._headers(path).items():
                self.line.putheader(name, value)
            self.line.endheaders()
            row["sent_ns"] = now()
            answer = self.line.getresponse()
            row["first_byte_ns"], row["status"] = now(), answer.status
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
            raise ConnectionLostError("read rows", "the table", why) from error
        row["last_byte_ns"] = row["committed_ns"] = row["ended_ns"] = now()
        failed = answer.status != 200
        row |= {"size_bytes": len(body), "fate": "service" if failed else "ok"}
        self.recorder.keep(row)
        if failed:
            raise ServiceError("read rows", "the table", f"{answer.status} {answer.reason}", None)
        found = {name: answer.headers.get(f"x-ms-continuation-{name}") for name in _CONTINUED}
        return body, {name: value for name, value in found.items() if value}

    def _headers(self, path: str) -> dict[str, str]:
        arm, endpoint = self.work.arm, self.work.endpoint
        if arm.way == "proxy":
            return {"Host": endpoint.proxy_host, "Accept": "*/*"}
        now = formatdate(usegmt=True)
        return {
            "Host": urlsplit(endpoint.base).netloc,
            "Accept": _ACCEPT[arm.format],
            "x-ms-version": _VERSIONS.get(arm.format, _VERSION),
            "x-ms-date": now,
            "DataServiceVersion": "3.0;NetFx",
            "MaxDataServiceVersion": "3.0;NetFx",
            "Authorization": _signed(path, now, endpoint.connection_string or ""),
        }


def _signed(path: str, now: str, connection_string: str) -> str:
    """Sign as tables want it with the lite form: the date and the path."""
    words = dict(word.partition("=")[::2] for word in connection_string.split(";") if word)
    account, key = words["AccountName"], base64.b64decode(words["AccountKey"])
    mac = hmac.new(key, f"{now}\n/{account}{path}".encode(), hashlib.sha256).digest()
    return f"SharedKeyLite {account}:{base64.b64encode(mac).decode()}"


def rows_in(body: bytes, form: str) -> int:
    """Return how many rows an answer of this form holds.

    Raises:
        NotFoundError: The package that reads Arrow is not installed.
        IntegrityError: It is of another form.
    """
    try:
        if form == "arrow":
            return _rows_of_arrow(body)
        if form == "atom":
            return body.count(b"<entry")
        return len(json.loads(body)["value"])
    except HaulageError:
        raise
    except (ValueError, KeyError) as error:
        cause = f"the answer is no {form}: {str(error)[:100]}"
        raise IntegrityError("read rows", "the table", cause, "run it again") from error


def _rows_of_arrow(body: bytes) -> int:
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise missing_package("read rows", "Arrow", error.name, "tables") from None
    # Its errors are a kind of ValueError.
    return int(pa.ipc.open_stream(io.BytesIO(body)).read_all().num_rows)
