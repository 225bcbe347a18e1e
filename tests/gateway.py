"""A second address of an endpoint that speaks Azure's protocol, which can spoil pages of lists and reads."""

from __future__ import annotations

import re
import socket
import socketserver
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import endpoints
from endpoints import Endpoint


class Gateway:
    """Passes requests on to an endpoint, and spoils the page of a list or the read that it is told to."""

    def __init__(self, target: str) -> None:
        self.target, self.pages, self.spoil, self.how = target, 0, 0, "cut"
        self.reads, self.flip = 0, 0
        #: Whether what is written is damaged on its way, and nobody hears of its checksum.
        self.damages = False


@contextmanager
def gateway(endpoint: Endpoint) -> Iterator[tuple[Gateway, str]]:
    base = endpoint.url.rsplit("/", 1)[0]
    state, lock = Gateway(base), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
            path = self.path
            damaged = state.damages and self.command == "PUT" and "comp=blocklist" not in path and body
            if damaged:
                body = bytes([body[0] ^ 1]) + body[1:]
                headers = {
                    k: v for k, v in headers.items() if not k.lower().endswith(("md5", "content-crc64"))
                }
            if "comp=list" in path:
                # A SAS does not sign it, so that a few names are several pages.
                path = re.sub(r"&maxresults=\d+", "", path) + "&maxresults=100"
            sent = urllib.request.Request(
                base + path, data=body or None, headers=headers, method=self.command
            )
            try:
                with urllib.request.urlopen(sent) as answer:
                    status, told, data = answer.status, answer.headers, answer.read()
            except urllib.error.HTTPError as error:
                status, told, data = error.code, error.headers, error.read()
            hit = flips = False
            if "comp=list" in self.path and self.command == "GET":
                with lock:
                    state.pages += 1
                    hit = state.pages == state.spoil
            if "comp=" not in self.path and self.command == "GET":
                with lock:
                    state.reads += 1
                    flips = state.reads == state.flip
                data = bytes([data[0] ^ 1]) + data[1:] if flips else data
            if hit and state.how == "refuse":
                status, data = 404, b""
            self.send_response(status)
            for name, value in told.items():
                vouches = (flips or damaged) and name.lower().endswith(("md5", "crc64"))
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

        do_GET = do_PUT = do_HEAD = do_DELETE = serve  # noqa: N815

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


@contextmanager
def relay(target: str, before: Callable[[bytes], None]) -> Iterator[str]:
    """Pass bytes on to `target`, an http URL; `before` sees what a client sends before that goes on."""
    host, _, port = target.rpartition("/")[2].partition(":")

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection((host, int(port))) as service:
                back = threading.Thread(target=carry, args=(service, self.request, lambda _: None))
                back.start()
                carry(self.request, service, before)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def carry(source: socket.socket, sink: socket.socket, before: Callable[[bytes], None]) -> None:
    """Pass on what comes until nothing more does."""
    try:
        while data := source.recv(65536):
            before(data)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        # Either side may cut a connection whenever it likes.
        pass
