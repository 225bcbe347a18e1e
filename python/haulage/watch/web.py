"""The page: served on this machine only, to whoever knows its address, as many as look.

All readers get the same bytes: what is shown is made once and pushed to each as a server-sent event. A reader
that is slow misses some and gets the latest.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from haulage.errors import LocalIOError
from haulage.watch.state import Message
from haulage.web import HEADERS, page_files

#: Whoever opens more pages than this is told to close some.
READERS = 32
#: How long the end waits for the pages to get the last of it.
LAST_S = 2.0

_EVENTS = "events"


class Page:
    """Serves what is shown; its address holds a secret of 128 bits, without which nothing is told.

    Args:
        port: 0 for a free one.

    Raises:
        LocalIOError: The port is taken.
    """

    def __init__(self, port: int = 0) -> None:
        self.token = secrets.token_urlsafe(16)
        try:
            self._server = _Server(port, self.token)
        except OSError as error:
            hint = "name another with --port, or none"
            raise LocalIOError("serve", f"127.0.0.1:{port}", error.strerror or str(error), hint) from None
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}/{self.token}/"
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="haul-page", daemon=True
        ).start()

    def say(self, message: Message) -> None:
        """Leave it to the next push."""

    def draw(self, shown: dict[str, Any], *, last: bool) -> None:
        """Push it to all that look."""
        self._server.push(json.dumps({**shown, "last": last}).encode(), last=last)

    def close(self) -> None:
        """Stop serving, once those that look have the last of it."""
        self._server.finish()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """Holds what is shown, and the readers that wait for the next."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, token: str) -> None:
        super().__init__(("127.0.0.1", port), _Answer)
        self.token = token
        port = int(self.server_address[1])
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self.bodies = page_files("haulage.watch")
        self.changed = threading.Condition()
        self.number = 0
        self.shown = b"{}"
        self.over = False
        self.readers = 0

    def push(self, shown: bytes, *, last: bool) -> None:
        """Hand it to all readers."""
        with self.changed:
            self.number += 1
            self.shown, self.over = shown, last
            self.changed.notify_all()

    def after(self, seen: int) -> tuple[bytes | None, int, bool]:
        """Wait for something newer than that number; return it, its number, and whether it is the last."""
        with self.changed:
            self.changed.wait_for(lambda: self.number != seen or self.over, 15)
            return (self.shown if self.number != seen else None), self.number, self.over

    def finish(self) -> None:
        """Wait for the readers to leave, :data:`LAST_S` at most."""
        with self.changed:
            self.over = True
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.readers == 0, LAST_S)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a reader that has gone."""


class _Answer(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "haul", ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer, if whoever asks knows the secret and has not been led here under another name."""
        if self.headers.get("Host") not in self.server.hosts:
            # A page from elsewhere whose name was made to point at this machine.
            return self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
        token, slash, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not slash or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            return self._refuse(HTTPStatus.FORBIDDEN)
        if name == _EVENTS:
            return self._events()
        if name not in self.server.bodies:
            return self._refuse(HTTPStatus.NOT_FOUND)
        body, kind = self.server.bodies[name]
        return self._send(HTTPStatus.OK, kind, body)

    def _events(self) -> None:
        server = self.server
        with server.changed:
            if server.readers >= READERS:
                return self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            server.readers += 1
        try:
            self._begin(HTTPStatus.OK, "text/event-stream; charset=utf-8", {"Connection": "close"})
            seen = -1
            while True:
                shown, seen, over = server.after(seen)
                # A line of comment finds out whether anybody is there still.
                self.wfile.write(b"data: " + shown + b"\n\n" if shown is not None else b":\n\n")
                self.wfile.flush()
                if over:
                    return None
        except OSError:
            return None
        finally:
            self.close_connection = True
            with server.changed:
                server.readers -= 1
                server.changed.notify_all()

    def _refuse(self, status: HTTPStatus) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{status.value} {status.phrase}\n".encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self._begin(status, kind, {"Content-Length": str(len(body))})
        self.wfile.write(body)

    def _begin(self, status: HTTPStatus, kind: str, more: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **HEADERS, **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the address holds the secret."""
