"""Tables in memory, and the honest answer of a Table service to a request for them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from hostile.blobs import ACCOUNT, Blob
from hostile.wire import Answer, Request

JSON = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
PARTITION, ROW = "x-ms-continuation-NextPartitionKey", "x-ms-continuation-NextRowKey"
CHANGED = "changesetresponse_1"

Row = dict[str, Any]
Key = tuple[str, str]

_TERM = re.compile(r"(PartitionKey|RowKey) (eq|ge|gt|le|lt) '((?:[^']|'')*)'")
_ADDRESS = re.compile(r"\(PartitionKey='(.*)',RowKey='(.*)'\)")
_CHANGE = re.compile(rb"^PUT \S+?/(\w+)(\(\S+\)) HTTP/1.1\r\n(?:[^\r]+\r\n)*\r\n(.*)\r\n--", re.MULTILINE)
_COMPARED: Mapping[str, Callable[[str, str], bool]] = {
    "eq": lambda one, other: one == other,
    "ge": lambda one, other: one >= other,
    "gt": lambda one, other: one > other,
    "le": lambda one, other: one <= other,
    "lt": lambda one, other: one < other,
}


def page(rows: list[Row], place: Key | None = None) -> Answer:
    """Return a page with these rows, after which the next one begins at a place."""
    body = json.dumps({"odata.metadata": f"http://tables/{ACCOUNT}/$metadata#Rows", "value": rows})
    answer = Answer(200, (("Content-Type", JSON),)).with_body(body.encode())
    for name, value in zip((PARTITION, ROW), place or (), strict=False):
        answer = answer.having(name, quote(value))
    return answer


def refusal(status: int, code: str, message: str = "No.") -> Answer:
    """Return what the service says of a request that it refuses."""
    told = {"odata.error": {"code": code, "message": {"lang": "en-US", "value": f"{message}\nTime:now"}}}
    return Answer(status, (("Content-Type", JSON),)).with_body(json.dumps(told).encode())


def changed(*statuses: str) -> Answer:
    """Return the answer to a transaction: one of these for each row that was sent."""
    parts = [
        f"--{CHANGED}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
        f"HTTP/1.1 {status}\r\nContent-Type: {JSON}\r\n\r\n\r\n"
        for status in statuses
    ]
    body = (
        f"--batchresponse_1\r\nContent-Type: multipart/mixed; boundary={CHANGED}\r\n\r\n"
        f"{''.join(parts)}--{CHANGED}--\r\n--batchresponse_1--\r\n"
    )
    kind = "multipart/mixed; boundary=batchresponse_1"
    return Answer(202, (("Content-Type", kind),)).with_body(body.encode("utf-8", "surrogateescape"))


class Tables:
    """Tables with rows. Those to begin with come as JSON, by `table/number`."""

    #: Where the service is, below its host.
    path = f"/{ACCOUNT}"

    def __init__(self, contents: Mapping[str, bytes], page_size: int) -> None:
        self._lock = threading.Lock()
        self._page_size = page_size
        #: It has no blobs.
        self.containers: dict[str, dict[str, Blob]] = {}
        self.tables: dict[str, dict[Key, Row]] = {}
        #: How often each row was written, by its keys.
        self.written: dict[Key, int] = {}
        for name, content in contents.items():
            row = json.loads(content)
            rows = self.tables.setdefault(name.partition("/")[0], {})
            rows[row["PartitionKey"], row["RowKey"]] = row

    @staticmethod
    def named(request: Request) -> Request:
        """Return the request with what it asks for, and of which table."""
        account, _, rest = request.target.partition("?")[0].lstrip("/").partition("/")
        table, _, key = rest.partition("(")
        api = {
            ("GET", True): "query" if key == ")" else "row",
            ("POST", False): {"$batch": "write", "Tables": "make-table"}.get(table, "unknown"),
        }.get((request.method, bool(key)), "unknown")
        return replace(request, api=api if account == ACCOUNT else "unknown", container=table, key=key)

    def answer(self, request: Request) -> Answer:
        """Answer honestly, and do what is asked."""
        with self._lock:
            if request.api == "make-table":
                return self._make(json.loads(request.body)["TableName"])
            if request.api == "write":
                return self._write(request.body)
            if request.container not in self.tables:
                return refusal(404, "TableNotFound")
            rows = self.tables[request.container]
            return self._query(request, rows) if request.api == "query" else _row(request, rows)

    def _make(self, table: str) -> Answer:
        if table in self.tables:
            return refusal(409, "TableAlreadyExists")
        self.tables[table] = {}
        return Answer(204, (("Content-Length", "0"),))

    def _query(self, request: Request, rows: dict[Key, Row]) -> Answer:
        asked = request.query
        terms = [
            (name, how, text.replace("''", "'"))
            for name, how, text in _TERM.findall(asked.get("$filter", ""))
        ]
        begin = (asked.get("NextPartitionKey", ""), asked.get("NextRowKey", ""))
        found = [
            row
            for key, row in sorted(rows.items())
            if key >= begin and all(_COMPARED[how](row[name], text) for name, how, text in terms)
        ]
        size = min(self._page_size, int(asked.get("$top", self._page_size)))
        rest = found[size : size + 1]
        return page(found[:size], (rest[0]["PartitionKey"], rest[0]["RowKey"]) if rest else None)

    def _write(self, body: bytes) -> Answer:
        changes = _CHANGE.findall(body)
        for table, address, text in changes:
            if table.decode() not in self.tables:
                return changed('404 Not Found\r\n\r\n{"odata.error":{"code":"TableNotFound"}}')
            key = _key(address.decode())
            self.tables[table.decode()][key] = json.loads(text)
            self.written[key] = self.written.get(key, 0) + 1
        return changed(*["204 No Content"] * len(changes))


def _row(request: Request, rows: dict[Key, Row]) -> Answer:
    row = rows.get(_key(f"({request.key}"))
    if row is None:
        return refusal(404, "ResourceNotFound")
    return Answer(200, (("Content-Type", JSON),)).with_body(json.dumps(row).encode())


def _key(address: str) -> Key:
    found = _ADDRESS.fullmatch(unquote(address))
    assert found is not None, address
    return found[1].replace("''", "'"), found[2].replace("''", "'")
