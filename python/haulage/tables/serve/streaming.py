"""All rows as one answer: the first piece decides whether there is one, the rest follows as it is read."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from haulage.errors import HaulageError
from haulage.tables.serve import arrow
from haulage.tables.serve.answering import Tally, pieces
from haulage.tables.serve.asking import MEDIA, Asked, Format
from haulage.tables.serve.heading import matches, tag_of_version, zipped
from haulage.tables.serve.sending import Reading, compressed, send_all
from haulage.tables.source import Source
from haulage.web.failing import told

if TYPE_CHECKING:
    from haulage.tables.serve.app import Proxy


class Stream(Response):
    """One answer with all rows.

    Args:
        proxy: Whose it is.
        request: What was asked.
        source: What is read.
        asked: The same request, read.
        key: The name of the request in `/requests/ID`.
        tally: What it takes.
    """

    def __init__(
        self, proxy: Proxy, request: Request, source: Source, asked: Asked, key: str, tally: Tally
    ) -> None:
        super().__init__()
        self._proxy, self._request, self._source, self._asked = proxy, request, source, asked
        self._key, self._tally = key, tally
        self._zips = proxy.zips(request, asked)
        self._reading: Reading | None = None
        self._first = b""
        self._ended = False

    async def begun(self) -> Response:
        """Read the first piece, so that what fails at once is a clear answer; return what sends the rest."""
        proxy, source, asked, tally = self._proxy, self._source, self._asked, self._tally
        tag = tag_of_version(await proxy.wait(source.version, source.name), asked)
        if tag and matches(self._request.headers, tag):
            self.end()
            return Response(None, 304, {"ETag": tag})
        made = pieces(source, asked, proxy.sorting, tally, proxy.limits.bounds)
        made = _with_last_words(made, asked.format)
        self._reading = Reading(compressed(made) if self._zips else made)
        first = await proxy.wait(self._reading.next, source.name)
        self._first = first or b""
        tally.first_seconds = time.monotonic() - tally.began
        headers = proxy.headers(self._key, tally, tally.first_seconds)
        headers["Content-Type"] = MEDIA[asked.format]
        if tag:
            headers["ETag"] = zipped(tag) if self._zips else tag
        if self._zips:
            headers["Content-Encoding"] = "gzip"
        self.raw_headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send all of it."""
        assert self._reading is not None
        limits, tally = self._proxy.limits, self._tally
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            error = await send_all(
                self._reading,
                self._first,
                send,
                receive,
                name=self._source.name,
                timeout=limits.timeout,
                limiter=self._proxy.threads,
            )
            tally.error = told(error) if error else None
            tally.seconds = time.monotonic() - tally.began
        finally:
            self.end()

    def end(self) -> None:
        """Stop reading, and make room for another. May be called again."""
        if not self._ended:
            self._ended = True
            self._proxy.stream_ended()
            if self._reading is not None:
                self._reading.close()


def _with_last_words(made: Generator[bytes], format: Format) -> Generator[bytes]:
    """Yield the pieces; where they fail after the first one, tell so before the answer breaks off."""
    begun = False
    with closing(made):
        try:
            for piece in made:
                yield piece
                begun = True
        except HaulageError as error:
            if begun:
                yield _last_words(error, format)
            raise


def _last_words(error: HaulageError, format: Format) -> bytes:
    """Return what an answer breaks off with, so that nobody takes it for whole.

    A last line of NDJSON tells the error; Arrow ends within a message, on which every reader fails. JSON and
    Atom are never closed. CSV has no end that could be missing, so that only the cut connection tells.
    """
    if format == "ndjson":
        return json.dumps(told(error), ensure_ascii=False).encode() + b"\n"
    if format == "arrow":
        return arrow.failure(json.dumps(told(error)))
    return b""
