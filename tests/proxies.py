"""A proxy of the tests' own: it leads every name to this machine, and remembers every request."""

from __future__ import annotations

import base64
import http.client
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fake_service
from fake_service import HOST

#: What concerns only one connection, so that a proxy keeps it to itself.
HOP = {"connection", "proxy-connection", "keep-alive", "proxy-authorization", "transfer-encoding"}
# Bytes after which a tunnel may be cut: within one block of what the tests move.
CUT_AFTER = 100_000


@dataclass
class Asked:
    """A request as the proxy saw it, and whether it let it through; neither, as long as it is not decided."""

    method: str
    target: str
    authorization: str
    headers: dict[str, str]
    passed: bool = False
    refused: bool = False


@dataclass
class Proxy:
    """Where it is, how it is, and what it has seen.

    Attributes:
        address: Host and port.
        scheme: How it is spoken to.
        login: ``USER:PASSWORD`` that it wants to hear, if any.
        says: In place of what it should do, it says this and hangs up.
        cuts: So many tunnels it resets: the first ones that have carried 100 kB.
    """

    address: str
    scheme: str
    login: str = ""
    says: bytes = b""
    cuts: int = 0
    seen: list[Asked] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def url(self, login: str = "") -> str:
        """Return its address as variables hold it."""
        return f"{self.scheme}://{login}{'@' if login else ''}{self.address}"

    @property
    def passed(self) -> list[Asked]:
        """What it let through."""
        return [asked for asked in self.seen if asked.passed]

    @property
    def refused(self) -> list[Asked]:
        """What it did not."""
        return [asked for asked in self.seen if asked.refused]

    def cuts_now(self) -> bool:
        """Whether a tunnel that has carried enough is one of those that are cut."""
        with self.lock:
            self.cuts -= 1
            return self.cuts >= 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def handle_any(self) -> None:
        asked = Asked(
            self.command,
            self.path,
            self.headers.get("Proxy-Authorization", ""),
            {name.lower(): value for name, value in self.headers.items()},
        )
        with self.proxy.lock:
            self.proxy.seen.append(asked)
        if self.proxy.says:
            self.close_connection = True
            # Said, or the client may send its next request where nobody reads it any more.
            self.wfile.write(self.proxy.says.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
        elif not self.knows(asked.authorization):
            asked.refused = True
            self.refuse()
        elif self.command == "CONNECT":
            asked.passed = True
            self.tunnel()
        else:
            asked.passed = True
            self.hand_over()

    do_CONNECT = do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = handle_any  # noqa: N815

    def knows(self, authorization: str) -> bool:
        """Whether this is who may come."""
        wanted = base64.b64encode(self.proxy.login.encode()).decode()
        return not self.proxy.login or authorization == f"Basic {wanted}"

    def refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(407)
        self.send_header("Proxy-Authenticate", 'Basic realm="tests"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def tunnel(self) -> None:
        """Carry bytes both ways, whatever they are."""
        self.close_connection = True
        port = int(self.path.rpartition(":")[2])
        with socket.create_connection((HOST, port)) as server:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            carry(self.connection, server, self.proxy.cuts_now)

    def hand_over(self) -> None:
        """Ask the server, as one that speaks for itself."""
        assert self.path.startswith("http://"), self.path
        authority, slash, path = self.path.removeprefix("http://").partition("/")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kept = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
        with closing(http.client.HTTPConnection(HOST, int(authority.rpartition(":")[2]))) as server:
            server.request(self.command, slash + path, body or None, kept)
            answer = server.getresponse()
            content = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP | {"content-length"}:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        if length is not None:
            self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing: what was seen is kept."""


def carry(near: socket.socket, far: socket.socket, is_cut: Callable[[], bool]) -> None:
    """Carry bytes until one side ends; after 100 kB, reset both sides if this one is to be cut."""
    carried, asked = 0, False
    while True:
        # TLS may hold what the socket does not show any more.
        held = [near] if isinstance(near, ssl.SSLSocket) and near.pending() else []
        for one in held or select.select([near, far], [], [])[0]:
            try:
                piece = one.recv(1 << 16)
                other = far if one is near else near
                other.sendall(piece)
            except OSError:
                return
            carried += len(piece)
            if not piece:
                return
            if asked or carried < CUT_AFTER:
                continue
            asked = True
            if is_cut():
                for end in (near, far):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    end.close()
                return


@contextmanager
def proxy(login: str = "", certificate: Path | None = None) -> Iterator[Proxy]:
    """Run a proxy on a free port; of https with a certificate, which then lies at that path."""
    handler = type("Handler", (_Handler,), {})
    with ThreadingHTTPServer((HOST, 0), handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, fake_service.make_certificate(certificate))
            # Hands are shaken by the thread of the request: a client that does not trust us ends only that.
            server.socket = context.wrap_socket(server.socket, True, do_handshake_on_connect=False)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        scheme = "http" if certificate is None else "https"
        made = Proxy(f"{HOST}:{server.server_port}", scheme, login)
        handler.proxy = made  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
