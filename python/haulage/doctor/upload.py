"""The page to which a project's file is uploaded: served on this machine, to whoever knows its address.

What is uploaded is compared in a process of its own (:mod:`haulage.doctor.upload_question`), never written
to the disk, and forgotten when its answer was sent. Only the corrected file is kept for a while, to be saved.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from haulage.doctor.asking import ask
from haulage.doctor.finding import Finding, Report
from haulage.doctor.page import as_upload_page
from haulage.doctor.project import NODES_S
from haulage.doctor.project.decoding import decoded
from haulage.errors import HaulageError, StalledError, UsageError
from haulage.web import HEADERS
from haulage.web.failing import handlers
from haulage.web.guarding import Access, Guard, local_hosts
from haulage.web.serving import Serving, here

#: A project's file is smaller than this.
LARGEST = 1 << 20
#: So much of a larger one is read, and thrown away.
DRAINED = 64 << 20
#: Seconds that it may take to arrive.
BODY_S = 30
#: Comparisons at once; whoever comes meanwhile is asked to try again.
AT_ONCE = 2
#: Corrected files that can be saved still.
KEPT = 16
#: How long the end waits for answers that are being sent, in seconds.
LAST_S = 1
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
        address = here(port)
        self.url = f"http://127.0.0.1:{address.port}/{address.token}/"
        self._cluster, self._timeout_s = (scheduler, scheduler_file), timeout_s or NODES_S
        self.turns = threading.BoundedSemaphore(AT_ONCE)
        self._corrected: OrderedDict[str, tuple[str, str]] = OrderedDict()
        routes = [
            Route("/{token}/", self._page),
            Route("/{token}/", self._upload, methods=["POST"]),
            Route("/{token}/corrected/{key}", self._save),
        ]
        app = Starlette(routes=routes, exception_handlers=handlers(None))
        hint = "use the address that haul doctor printed"
        access = Access(local_hosts(address.port), address.token, hint, token_after="/", writes=True)
        self._serving = Serving(Guard(app, access), address.held, LAST_S)

    def run(self) -> None:
        """Serve until :meth:`stop`; not at all if that was called before."""
        self._serving.run()

    def stop(self) -> None:
        """Have :meth:`run` end; only sets a flag, so that any thread and a signal may call it."""
        self._serving.stop()

    async def _page(self, _: Request) -> Response:
        return _sent(HTTPStatus.OK, as_upload_page(None))

    async def _save(self, request: Request) -> Response:
        found = self._corrected.get(request.path_params["key"])
        if found is None:
            return _refused(HTTPStatus.NOT_FOUND, "that file no longer exists: upload it again")
        named = {"Content-Disposition": f'attachment; filename="{found[0]}"', "Content-Type": _TEXT}
        return _sent(HTTPStatus.OK, found[1], named)

    async def _upload(self, request: Request) -> Response:
        """Compare what was uploaded."""
        try:
            name, text = await _uploaded(request)
            if not self.turns.acquire(blocking=False):
                cause = "other files are being compared: try again in a moment"
                return _refused(HTTPStatus.SERVICE_UNAVAILABLE, cause)
            try:
                report = await _beside(partial(self._compared, name, text))
            finally:
                self.turns.release()
        except HaulageError as error:
            return _refused(HTTPStatus.BAD_REQUEST, f"{error.object}: {error.cause}", error.hint)
        key = None if report.corrected is None else self._keep(f"corrected-{name}", report.corrected)
        return _sent(HTTPStatus.OK, as_upload_page(report, saved=key and f"corrected/{key}"))

    def _keep(self, name: str, text: str) -> str:
        """Keep a corrected file; return what it is asked for by."""
        key = secrets.token_urlsafe(16)
        self._corrected[key] = (name, text)
        while len(self._corrected) > KEPT:
            self._corrected.popitem(last=False)
        return key

    def _compared(self, name: str, text: str) -> Report:
        began, made = time.monotonic(), datetime.now(UTC)
        scheduler, scheduler_file = self._cluster
        seconds = self._timeout_s
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


async def _beside(call: Callable[[], Report]) -> Report:
    """Return what a call returns; its thread keeps no process from ending, as those of a pool would."""
    report: Future[Report] = Future()

    def run() -> None:
        try:
            report.set_result(call())
        except BaseException as error:
            report.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(report)


async def _uploaded(request: Request) -> tuple[str, str]:
    """Return the name of what was uploaded, fit to be shown, and its text."""
    length = request.headers.get("content-length", "")
    hint = "choose the project's requirements.txt, pyproject.toml or environment.yml"
    if not (length.isascii() and length.isdigit()):
        raise UsageError("read", "the upload", "the request does not state its length", hint)
    body = b""
    # With room for what a form adds. Some of what is too much is read, so that a browser reads the answer.
    most, taken = LARGEST + 4096, 0
    try:
        async with asyncio.timeout(BODY_S):
            async for piece in request.stream():
                taken += len(piece)
                if taken <= most:
                    body += piece
                if taken > DRAINED:
                    break
    except TimeoutError:
        if taken <= most:
            raise UsageError(
                "read", "the upload", f"it has not arrived within {BODY_S} s", "try again"
            ) from None
    if taken > most:
        raise UsageError("read", "the upload", "it is larger than 1 MiB", hint)
    given, content = _part(request.headers.get("content-type", ""), body)
    if not given:
        raise UsageError("read", "the upload", "no file was chosen", hint)
    name = _shown(given)
    if not name.lower().endswith(_KINDS):
        raise UsageError("read", name, "not a file of a project", hint)
    try:
        return name, decoded(content)
    except UnicodeDecodeError:
        raise UsageError("read", name, "it is not UTF-8 text", hint) from None


def _refused(status: HTTPStatus, text: str, hint: str | None = None) -> Response:
    # What was sent and not read would be taken for the next request.
    return _sent(status, as_upload_page(None, refused=(text, hint)), {"Connection": "close"})


def _sent(status: HTTPStatus, text: str, more: dict[str, str] | None = None) -> Response:
    headers = {**HEADERS, "Content-Security-Policy": _POLICY, "Content-Type": _HTML, **(more or {})}
    return Response(text.encode("utf-8", "replace"), status, headers)


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
