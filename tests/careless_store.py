"""A store of few words: it speaks a little S3, looks at no checksum and states none.

It keeps other bytes than it was given, or nothing, where it is told to.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

DATE = "Thu, 01 Jan 2026 00:00:00 GMT"


class Store:
    """What it holds by key, and how it treats what it is given."""

    def __init__(self) -> None:
        self.url = ""
        #: Each with its ETag, that of what was given.
        self.objects: dict[str, tuple[bytes, str]] = {}
        #: ``"keeps"``, ``"damages"``, ``"loses"``, and ``"clings"``: damages, and refuses to delete.
        self.how = "keeps"

    def take(self, key: str, body: bytes) -> str:
        """Keep a body as it is told to; return the ETag."""
        known = f'"{hashlib.md5(body).hexdigest()}"'
        kept = {"keeps": body, "loses": None}.get(self.how, b"?" + body[1:] if body else body)
        if kept is None:
            self.objects.pop(key, None)
        else:
            self.objects[key] = (kept, known)
        return known


@contextmanager
def careless_store() -> Iterator[Store]:
    """Serve a bucket ``b`` on this machine."""
    state = Store()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            self.send_header("x-amz-request-id", "1")
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def key(self) -> str:
            return unquote(urlsplit(self.path).path).removeprefix("/b").removeprefix("/")

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.answer(200, ETag=state.take(self.key(), body))

        def do_GET(self) -> None:
            key = self.key()
            if not key:
                wanted = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
                listed = (
                    f"<Contents><Key>{escape(name)}</Key><LastModified>2026-01-01T00:00:00Z</LastModified>"
                    f"<ETag>{escape(known)}</ETag><Size>{len(body)}</Size></Contents>"
                    for name, (body, known) in sorted(state.objects.items())
                    if name.startswith(wanted)
                )
                page = (
                    f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(listed)}</ListBucketResult>"
                )
                return self.answer(200, page.encode(), Content_Type="application/xml")
            if key not in state.objects:
                return self.answer(
                    404, b"<Error><Code>NoSuchKey</Code></Error>", Content_Type="application/xml"
                )
            body, known = state.objects[key]
            return self.answer(200, body, ETag=known, Last_Modified=DATE)

        do_HEAD = do_GET  # noqa: N815

        def do_DELETE(self) -> None:
            if state.how == "clings":
                return self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
            state.objects.pop(self.key(), None)
            return self.answer(204)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.answer(501, b"<Error><Code>NotImplemented</Code></Error>")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
