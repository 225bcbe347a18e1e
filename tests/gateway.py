"""A second address of an endpoint, for Azure and S3, which can spoil pages of lists and reads."""

from __future__ import annotations

import re
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import endpoints
import s3_clients
from endpoints import Endpoint, S3Endpoint

#: Names on a page, so that a few are several pages.
PAGE = 100


class Gateway:
    """Passes requests on to an endpoint, and spoils the page of a list or the read that it is told to."""

    def __init__(self, target: str) -> None:
        self.target, self.pages, self.spoil, self.how = target, 0, 0, "cut"
        self.reads, self.flip = 0, 0


def page_of(target: str, path: str) -> str:
    """Return where the same page of a list is, with fewer names: no SAS signs how many, but S3 signs all."""
    at = urllib.parse.urlsplit(path)
    query = urllib.parse.parse_qs(at.query, keep_blank_values=True)
    if "comp" in query:
        return target + re.sub(r"&maxresults=\d+", "", path) + f"&maxresults={PAGE}"
    asked = {"Bucket": at.path.strip("/"), "MaxKeys": PAGE, "EncodingType": "url"}
    for name, word in (
        ("prefix", "Prefix"),
        ("continuation-token", "ContinuationToken"),
        ("delimiter", "Delimiter"),
    ):
        if name in query:
            asked[word] = query[name][0]
    signed: str = s3_clients.connect(
        S3Endpoint("", target, (endpoints.ACCOUNT, endpoints.KEY))
    ).generate_presigned_url("list_objects_v2", Params=asked)
    return signed


@contextmanager
def gateway(endpoint: Endpoint) -> Iterator[tuple[Gateway, str]]:
    base = endpoint.url.rsplit("/", 1)[0]
    state, lock = Gateway(base), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {k: v for k, v in self.headers.items() if k.lower() != "connection"}
            lists = self.command == "GET" and ("comp=list" in self.path or "list-type=2" in self.path)
            url = page_of(base, self.path) if lists else base + self.path
            if "list-type" in url:
                headers = {}
            # With the name of this server, which S3 signs.
            sent = urllib.request.Request(url, data=body or None, headers=headers, method=self.command)
            try:
                with urllib.request.urlopen(sent) as answer:
                    status, told, data = answer.status, answer.headers, answer.read()
            except urllib.error.HTTPError as error:
                status, told, data = error.code, error.headers, error.read()
            hit = flips = False
            if lists:
                with lock:
                    state.pages += 1
                    hit = state.pages == state.spoil
            if not lists and "comp=" not in self.path and self.command == "GET":
                with lock:
                    state.reads += 1
                    flips = state.reads == state.flip
                data = bytes([data[0] ^ 1]) + data[1:] if flips else data
            if hit and state.how == "refuse":
                status, data = 404, b""
            self.send_response(status)
            for name, value in told.items():
                vouches = flips and name.lower().endswith(("md5", "crc64"))
                if name.lower() not in ("content-length", "transfer-encoding", "connection") and not vouches:
                    self.send_header(name, value)
            if not (hit and state.how == "end"):
                self.send_header(
                    "Content-Length",
                    told.get("Content-Length", "0") if self.command == "HEAD" else str(len(data)),
                )
            else:
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data[: len(data) // 2] if hit and state.how != "refuse" else data)
            if hit:
                self.close_connection = True

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = serve  # noqa: N815

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        # A client that has cut a connection needs no report.
        def handle_error(self, *_: object) -> None: ...

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state, f"http://127.0.0.1:{server.server_port}/{endpoints.ACCOUNT}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
