"""The page to which a project's file is uploaded: served on this machine, to whoever knows its address.

What is uploaded is compared in a process of its own (:mod:`haulage.doctor.asked_of_uploads`), never written
to the disk, and forgotten when its answer was sent. Only the corrected file is kept for a while, to be saved.
"""

from __future__ import annotations

import hmac
import re
import secrets
import select
import threading
import time
from collections import OrderedDict
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from haulage.doctor.asking import ask
from haulage.doctor.finding import Finding, Report
from haulage.doctor.page import as_upload_page
from haulage.doctor.project import NODES_S
from haulage.doctor.project.decoding import decoded
from haulage.errors import HaulageError, LocalIOError, StalledError, UsageError
from haulage.web import HEADERS

#: A project's file is smaller than this.
LARGEST = 1 << 20
#: So much of a larger one is read, and thrown away.
DRAINED = 64 << 20
#: Comparisons at once; whoever comes meanwhile is asked to try again.
AT_ONCE = 2
#: Corrected files that can be saved still.
KEPT = 16
_KINDS = (".txt", ".in", ".pip", ".lock", ".toml", ".yml", ".yaml")
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
_HTML, _TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"


class UploadPage:
    """Serves the page; its address holds a secret of 128 bits, without which nothing is told.

    Args:
        port: 0 for a free one.
        scheduler: Address of a cluster whose nodes are asked too.
        scheduler_file: The file of that scheduler, in place of its address.
        timeout_s: For each comparison; default: 30 s.

    Raises:
        LocalIOError: The port is taken.
    """

    def __init__(
        self,
        port: int = 0,
        scheduler: str | None = None,
        scheduler_file: str | None = None,
        timeout_s: float | None = None,
    ) -> None:
        try:
            self._server = _Server(port, (scheduler, scheduler_file), timeout_s or NODES_S)
        except OSError as error:
            hint = "name another with --port, or none"
            raise LocalIOError("serve", f"127.0.0.1:{port}", error.strerror or str(error), hint) from None
        self._stopped = False
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/{self._server.token}/"

    def run(self) -> None:
        """Serve until :meth:`stop`; not at all if that was called before."""
        while not self._stopped:
            # Waits no longer than the server's ``timeout``.
            self._server.handle_request()

    def stop(self) -> None:
        """Have :meth:`run` end; only sets a flag, so that any thread and a signal may call it."""
        self._stopped = True

    def close(self) -> None:
        """Give the address back, after :meth:`run` has ended."""
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    #: How long it waits for somebody to ask before it looks whether it is to stop, in seconds.
    timeout = 0.05

    def __init__(self, port: int, cluster: tuple[str | None, str | None], timeout_s: float) -> None:
        super().__init__(("127.0.0.1", port), _Answer)
        self.token = secrets.token_urlsafe(16)
        port = int(self.server_address[1])
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self.cluster, self.timeout_s = cluster, timeout_s
        self.turns = threading.BoundedSemaphore(AT_ONCE)
        self._corrected: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, name: str, text: str) -> str:
        """Keep a corrected file; return what it is asked for by."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._corrected[key] = (name, text)
            while len(self._corrected) > KEPT:
                self._corrected.popitem(last=False)
        return key

    def corrected(self, key: str) -> tuple[str, str] | None:
        """Return the name and the text of a corrected file, if it is there still."""
        with self._lock:
            return self._corrected.get(key)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a reader that has gone."""


class _Answer(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "haul", ""
    timeout = 30

    def do_GET(self) -> None:
        """Send the page, or a corrected file."""
        name = self._name()
        if name is None:
            return
        if name == "":
            self._send(HTTPStatus.OK, as_upload_page(None))
            return
        found = self.server.corrected(name.removeprefix("corrected/"))
        if found is None:
            self._refuse(HTTPStatus.NOT_FOUND, "that file no longer exists: upload it again")
            return
        named = {"Content-Disposition": f'attachment; filename="{found[0]}"'}
        self._send(HTTPStatus.OK, found[1], _TEXT, named)

    def do_POST(self) -> None:
        """Compare what was uploaded."""
        if self._name() is None:
            return
        try:
            name, text = self._uploaded()
        except HaulageError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"{error.object}: {error.cause}", error.hint)
            return
        if not self.server.turns.acquire(blocking=False):
            self._refuse(
                HTTPStatus.SERVICE_UNAVAILABLE, "other files are being compared: try again in a moment"
            )
            return
        try:
            report = self._compared(name, text)
        except HaulageError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"{error.object}: {error.cause}", error.hint)
            return
        finally:
            self.server.turns.release()
        key = None if report.corrected is None else self.server.keep(f"corrected-{name}", report.corrected)
        self._send(HTTPStatus.OK, as_upload_page(report, saved=key and f"corrected/{key}"))

    def _name(self) -> str | None:
        """Return what is asked for; refuse whoever does not know the secret, or was led here."""
        if self.headers.get("Host") not in self.server.hosts:
            # A page from elsewhere whose name was made to point at this machine.
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "this page has another address")
            return None
        token, slash, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not slash or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN, "use the address that haul doctor printed")
            return None
        return name

    def _uploaded(self) -> tuple[str, str]:
        """Return the name of what was uploaded, fit to be shown, and its text."""
        length = self.headers.get("Content-Length", "")
        hint = "choose the project's requirements.txt, pyproject.toml or environment.yml"
        if not (length.isascii() and length.isdigit()):
            raise UsageError("read", "the upload", "the request does not state its length", hint)
        # With room for what a form adds.
        if len(length) > 12 or int(length) > LARGEST + 4096:
            self._drain()
            raise UsageError("read", "the upload", "it is larger than 1 MiB", hint)
        kind = self.headers.get("Content-Type", "")
        body = self.rfile.read(int(length))
        given, content = _part(kind, body)
        if not given:
            raise UsageError("read", "the upload", "no file was chosen", hint)
        name = _shown(given)
        if not name.lower().endswith(_KINDS):
            raise UsageError("read", name, "not a file of a project", hint)
        try:
            return name, decoded(content)
        except UnicodeDecodeError:
            raise UsageError("read", name, "it is not UTF-8 text", hint) from None

    def _drain(self) -> None:
        """Take in some of what is too much, so that a browser reads the answer before the line is closed."""
        left = DRAINED
        while left > 0 and (piece := self.rfile.read1(min(left, 1 << 16))):
            left -= len(piece)
            if len(piece) < 1 << 16 and not self._is_more():
                break

    def _is_more(self) -> bool:
        return bool(select.select([self.connection], [], [], 0.2)[0])

    def _compared(self, name: str, text: str) -> Report:
        began, made = time.monotonic(), datetime.now(UTC)
        scheduler, scheduler_file = self.server.cluster
        seconds = self.server.timeout_s
        answer = ask(
            "uploaded",
            seconds,
            name=name,
            text=text,
            wait_s=seconds,
            scheduler=scheduler,
            scheduler_file=scheduler_file,
        )
        if answer.error is not None:
            if isinstance(answer.error, StalledError):
                cause = f"comparing it took longer than {seconds:g} s"
                raise UsageError("read", name, cause, "allow more with --timeout 60s")
            raise answer.error
        findings = tuple(Finding(**one) for one in answer.value["findings"])
        stamp, taken = f"{made:%Y-%m-%dT%H:%M:%SZ}", time.monotonic() - began
        return Report(name, findings, taken, stamp, answer.value["corrected"])

    def _refuse(self, status: HTTPStatus, text: str, hint: str | None = None) -> None:
        # What was sent and not read would be taken for the next request.
        self.close_connection = True
        self._send(status, as_upload_page(None, refused=(text, hint)))

    def _send(
        self, status: HTTPStatus, text: str, kind: str = _HTML, more: dict[str, str] | None = None
    ) -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Security-Policy": _POLICY, **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing of each request."""


def _part(kind: str, body: bytes) -> tuple[str, bytes]:
    r"""Return the name and the bytes of the file of a form; nothing where there is none.

    >>> _part("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="file"; '
    ...       b'filename="a.txt"\r\n\r\nnumpy\r\n--x--\r\n')
    ('a.txt', b'numpy')
    """
    boundary = re.search(r'boundary="?([^";,\s]{1,100})', kind)
    if not kind.lower().startswith("multipart/form-data") or boundary is None:
        return "", b""
    for part in (b"\r\n" + body).split(f"\r\n--{boundary[1]}".encode())[1:]:
        head, blank, content = part.partition(b"\r\n\r\n")
        named = re.search(rb'^content-disposition:[^\r\n]*[ ;]name="file"[^\r\n]*', head, re.I | re.M)
        file = named and re.search(rb'filename="([^"\r\n]{1,300})"', named[0])
        if blank and file:
            return file[1].decode("utf-8", "replace"), content
    return "", b""


def _shown(name: str) -> str:
    r"""Return a name that may be shown and saved under: no path, and nothing but plain letters.

    >>> _shown("../../etc/requirements.txt"), _shown('C:\\a"<b>.toml')
    ('requirements.txt', 'a__b_.toml')
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^A-Za-z0-9._-]", "_", last)[-80:].lstrip(".") or "file"
