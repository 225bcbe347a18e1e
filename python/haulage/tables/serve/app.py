"""The proxy as an application of ASGI: who asks, for which table, and what the answer says of itself."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from haulage.errors import BusyError, HaulageError, NotFoundError, UnsupportedError
from haulage.tables.serve.answering import Bounds, Tally, page
from haulage.tables.serve.asking import FORMATS, MEDIA, PAGE_ROWS, Asked, asked
from haulage.tables.serve.entities import edm_of
from haulage.tables.serve.heading import matches, next_page, of_tally, tag_of, tag_of_version, timing, zipped
from haulage.tables.serve.openapi import document
from haulage.tables.serve.sending import compressed, in_thread
from haulage.tables.serve.sorting import Sorting, is_sorted
from haulage.tables.serve.streaming import Stream
from haulage.tables.source import Source
from haulage.web.failing import answer, handlers, told
from haulage.web.files import PageFiles
from haulage.web.guarding import Access, Guard
from haulage.words.numbers import counted

_T = TypeVar("_T")
#: What was asked lately, of which `/requests/ID` tells.
REMEMBERED = 256
_HINT = "/openapi.json lists what is there"
#: What pages of other origins may read of an answer's head.
_EXPOSED = (
    "x-ms-continuation-NextPartitionKey",
    "x-ms-continuation-NextRowKey",
    "Link",
    "ETag",
    "Server-Timing",
    "Retry-After",
    "Haul-Request",
    "Haul-Rows",
    "Haul-Sorted",
    "Haul-Store",
)
#: Smaller answers are not worth compressing.
_COMPRESSED_BYTES = 1024


@dataclass(frozen=True)
class Limits:
    """What answers may take."""

    timeout: float = 30.0  #: seconds that a store may take for a piece, and a client to take one
    streams: int = 8  #: answers with all rows at once
    sorted_rows: int = 1_000_000  #: rows that are gathered to be sorted
    bounds: Bounds = field(default_factory=Bounds)
    compress: bool = True


class Proxy:
    """Serves tables.

    Args:
        sources: What is served; their names differ.
        access: Who may ask.
        limits: What answers may take.
        origins: Other origins whose pages may read answers; ``"*"`` for all.
    """

    def __init__(
        self, sources: Sequence[Source], access: Access, limits: Limits, origins: Sequence[str] = ()
    ) -> None:
        self._sources = {source.name: source for source in sources}
        self._access, self.limits, self._origins = access, limits, tuple(origins)
        self.sorting = Sorting(limits.sorted_rows)
        self._tallies: OrderedDict[str, Tally] = OrderedDict()
        self._streams = 0
        self.threads = anyio.CapacityLimiter(40)

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route("/tables", self._list),
            Route("/tables/{name}", self._describe),
            Route("/tables/{name}/rows", self._rows),
            Route("/tables/{name}/all", self._all),
            Route("/requests/{key}", self._request),
            Route("/openapi.json", self._openapi),
            Route("/{file:path}", PageFiles("haulage.tables.serve").answer),
        ]
        # Answers to refusals are readable from other origins too. A preflight never shows a token, and is
        # answered under any name; what follows it is not.
        middleware = [
            Middleware(
                CORSMiddleware,
                allow_origins=list(self._origins),
                allow_methods=["GET", "HEAD"],
                allow_headers=["Authorization", "If-None-Match", "Accept"],
                expose_headers=list(_EXPOSED),
                allow_private_network=True,
                max_age=600,
            ),
            Middleware(Guard, access=self._access),
        ]
        errors = handlers(_HINT)
        errors[HaulageError] = _failed
        return Starlette(routes=routes, middleware=middleware, exception_handlers=errors)

    async def _list(self, _: Request) -> Response:
        tables = [{"name": name, "rows": f"tables/{quote(name)}/rows"} for name in self._sources]
        limits = {"page_rows": PAGE_ROWS, "sorted_rows": self.limits.sorted_rows}
        limits |= {"streams": self.limits.streams}
        bounds = {"rows": self.limits.bounds.rows, "bytes": self.limits.bounds.bytes}
        return JSONResponse({"tables": tables, "formats": FORMATS, "limits": limits, "bounds": bounds})

    async def _describe(self, request: Request) -> Response:
        source = self._source(request)
        schema = await self.wait(source.schema, source.name)
        columns = [{"name": one.name, "type": edm_of(one), "arrow": str(one.type)} for one in schema or ()]
        return JSONResponse({"name": source.name, "columns": columns if schema is not None else None})

    async def _rows(self, request: Request) -> Response:
        source, wanted = self._source(request), _asked(request, page=True)
        key, tally = self._tally(source.name)

        def read() -> tuple[bytes, str | None, str]:
            known = None if is_sorted(wanted) else tag_of_version(source.version(), wanted)
            if known and matches(request.headers, known):
                return b"", None, known
            body, continuation = page(source, wanted, self.sorting, tally)
            tally.body_bytes = len(body)
            self.limits.bounds.check(tally)
            return body, continuation, known or tag_of(body, continuation)

        try:
            body, continuation, tag = await self.wait(read, source.name)
        except HaulageError as error:
            tally.error = told(error)
            raise
        tally.seconds = time.monotonic() - tally.began
        headers = self.headers(key, tally, tally.seconds)
        headers |= next_page(request.url.path, request.url.query, continuation)
        if matches(request.headers, tag):
            return Response(None, 304, headers | {"ETag": tag})
        headers |= {"ETag": tag, "Haul-Rows": str(tally.rows)}
        if self.zips(request, wanted) and len(body) > _COMPRESSED_BYTES:
            body = b"".join(compressed(piece for piece in (body,)))
            headers |= {"ETag": zipped(tag), "Content-Encoding": "gzip"}
        return Response(body, 200, headers | {"Content-Type": MEDIA[wanted.format]})

    async def _all(self, request: Request) -> Response:
        source, wanted = self._source(request), _asked(request, page=False)
        if request.scope["http_version"] == "1.0" and wanted.format == "csv":
            hint = "ask with HTTP/1.1, or for ndjson"
            cause = "over HTTP/1.0, a client could not tell that CSV broke off"
            raise UnsupportedError("ask", source.name, cause, hint)
        if request.method == "HEAD":
            return Response(None, 200, media_type=MEDIA[wanted.format])
        if self._streams >= self.limits.streams:
            hint = "try again, ask for pages, or start the proxy with a larger --max-streams"
            cause = f"{self._streams} streams of all rows are already being sent"
            raise BusyError("read", source.name, cause, hint)
        self._streams += 1
        key, tally = self._tally(source.name)
        stream = Stream(self, request, source, wanted, key, tally)
        try:
            return await stream.begun()
        except BaseException as error:
            stream.end()
            if isinstance(error, HaulageError):
                tally.error = told(error)
            raise

    def stream_ended(self) -> None:
        """Make room for another answer with all rows."""
        self._streams -= 1

    async def _request(self, request: Request) -> Response:
        tally = self._tallies.get(request.path_params["key"])
        if tally is None:
            hint = f"the last {REMEMBERED} are known, by the header Haul-Request of their answers"
            raise NotFoundError("ask", "the request", "it is unknown, or no longer kept", hint)
        return JSONResponse(of_tally(tally), headers={"Cache-Control": "no-store"})

    async def _openapi(self, _: Request) -> Response:
        return JSONResponse(document(list(self._sources), with_token=self._access.token is not None))

    def _source(self, request: Request) -> Source:
        name = request.path_params["name"]
        if name not in self._sources:
            hint = f"there are: {', '.join(list(self._sources)[:20])}"
            raise NotFoundError("ask", name[:100], "no such table is served", hint)
        return self._sources[name]

    def _tally(self, name: str) -> tuple[str, Tally]:
        key, tally = secrets.token_hex(8), Tally(name)
        self._tallies[key] = tally
        while len(self._tallies) > REMEMBERED:
            self._tallies.popitem(last=False)
        return key, tally

    def headers(self, key: str, tally: Tally, seconds: float) -> dict[str, str]:
        """Return what the head of every answer with rows says."""
        headers = {
            "Cache-Control": "private, no-cache",
            "Vary": "Accept, Accept-Encoding, Authorization",
            "X-Content-Type-Options": "nosniff",
            "Haul-Request": key,
            **timing(tally, seconds),
        }
        if self._origins:
            headers["Timing-Allow-Origin"] = ", ".join(self._origins)
        if tally.gathered is not None:
            headers["Haul-Sorted"] = f"{counted(tally.gathered, 'row')} gathered, then sorted"
        return headers

    def zips(self, request: Request, wanted: Asked) -> bool:
        """Return whether HTTP compresses the answer: never where its buffers are compressed already."""
        accepted = request.headers.get("accept-encoding", "").split(",")
        taken = "gzip" in [one.split(";")[0].strip() for one in accepted]
        return taken and self.limits.compress and wanted.buffers == "none"

    async def wait(self, call: Callable[[], _T], name: str) -> _T:
        """Return what a call returns that reads from a source."""
        return await in_thread(call, self.limits.timeout, name, self.threads)


def _asked(request: Request, *, page: bool) -> Asked:
    return asked(request.query_params, request.headers.get("accept", ""), page=page)


async def _failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, HaulageError)
    return answer(error, {"unsupported": 406})
