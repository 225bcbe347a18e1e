"""Writes that were not answered: the service may have done them, or may do them later.

What a job says of an object is what is there.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import pytest

import haulage

MIB = 1 << 20


@dataclass
class Late:
    """A blob service with one container, which answers the first write of each blob late or never."""

    #: When the first write takes effect: ``after`` the second, or ``before`` it, and the blocks are gone.
    when: str
    #: Whether its connection ends in the middle of the answer; else before, and the client sends it again.
    within: bool
    blobs: dict[str, tuple[bytes, dict[str, str], str]] = field(default_factory=dict)
    blocks: dict[str, bytes] = field(default_factory=dict)
    writes: int = 0
    looks: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def store(self, key: str, content: bytes, headers: dict[str, str]) -> str:
        self.writes += 1
        etag = f"0x{self.writes}"
        self.blobs[key] = (content, headers, etag)
        return etag


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    late: Late
    #: The write that waits.
    waiting: dict[str, tuple[bytes, dict[str, str]]]

    def reply(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body)), "x-ms-request-id": "1"} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def place(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        return parts.path.split("/", 3)[3] if parts.path.count("/") > 2 else "", parse_qs(parts.query)

    def do_GET(self) -> None:
        _, query = self.place()
        if query.get("comp") == ["list"]:
            body = b'<?xml version="1.0"?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>'
            self.reply(200, {"Content-Type": "application/xml"}, body)
        elif query.get("comp") == ["blocklist"]:
            self.reply(404, {"x-ms-error-code": "BlobNotFound"})
        else:
            self.reply(404, {"x-ms-error-code": "BlobNotFound"})

    def do_HEAD(self) -> None:
        key, _ = self.place()
        self.late.looks += 1
        found = self.late.blobs.get(key)
        if found is None:
            self.reply(404, {"x-ms-error-code": "BlobNotFound"})
            return
        content, headers, etag = found
        metadata = {name: value for name, value in headers.items() if name.startswith("x-ms-meta-")}
        told = {"ETag": f'"{etag}"', "Content-Length": str(len(content))}
        self.reply(200, metadata | told | {"Last-Modified": "Fri, 01 Jan 2021 00:00:00 GMT"})

    def do_PUT(self) -> None:
        key, query = self.place()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        stated: dict[str, str] = {
            name: headers[name] for name in ("x-ms-content-crc64", "content-md5") if name in headers
        }
        with self.late.lock:
            if query.get("comp") == ["block"]:
                self.late.blocks[query["blockid"][0]] = body
                self.reply(201, stated)
                return
            if query.get("comp") == ["blocklist"]:
                names = re.findall(r"<Latest>(.*?)</Latest>", body.decode())
                if any(name not in self.late.blocks for name in names):
                    self.reply(400, {"x-ms-error-code": "InvalidBlockList"})
                    return
                body = b"".join(self.late.blocks[name] for name in names)
            if headers.get("if-none-match") == "*" and key in self.late.blobs:
                self.reply(409, {"x-ms-error-code": "BlobAlreadyExists"})
                return
            first = key not in self.waiting
            self.waiting.setdefault(key, (body, headers))
            if first and self.late.when == "before":
                self.late.store(key, body, headers)
                self.late.blocks.clear()
            if first:
                if self.late.within:
                    self.wfile.write(b"HTTP/1.1 2")
                self.close_connection = True
                return
            etag = self.late.store(key, body, headers)
            if self.late.when == "after":
                self.late.store(key, *self.waiting[key])
        self.reply(201, stated | {"ETag": f'"{etag}"'})

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(when: str, *, within: bool) -> Iterator[tuple[Late, str]]:
    late = Late(when, within)
    handler = type("Own", (Handler,), {"late": late, "waiting": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield late, f"http://127.0.0.1:{server.server_port}/devstoreaccount1/box"
        finally:
            server.shutdown()
            thread.join()


def receipt_of(path: Path) -> dict[str, str]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["name"]: line["etag"] for line in lines if line["line"] == "object"}


@pytest.mark.parametrize("size", [1000, 5 * MIB])
@pytest.mark.parametrize("when", ["after", "before"])
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("overwrite", ["if-different", "never"])
def test_a_receipt_has_the_version_that_is_there(
    tmp_path: Path,
    size: int,
    when: str,
    within: bool,
    overwrite: Literal["if-different", "never"],
) -> None:
    source = tmp_path / "data.bin"
    source.write_bytes(bytes(range(256)) * (size // 256 + 1))
    receipt = tmp_path / "receipt.jsonl"
    with serving(when, within=within) as (late, url):
        summary = haulage.copy(
            str(source), f"{url}/data.bin?sv=1&sig=x", receipt=receipt, overwrite=overwrite, checksum="crc64"
        )
        content, _, etag = late.blobs["data.bin"]
    assert content == source.read_bytes()
    assert (summary.objects_done, summary.objects_skipped) == (1, 0)
    assert receipt_of(receipt) == {"data.bin": etag}
    assert late.looks >= 1
