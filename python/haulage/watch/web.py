"""The page: served on this machine only, to whoever knows its address, as many as look.

All readers get the same bytes: what is shown is made once and pushed to each as a server-sent event. A reader
that is slow misses some and gets the latest.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from haulage.watch.state import Message
from haulage.web import HEADERS
from haulage.web.failing import handlers, refusal
from haulage.web.files import PageFiles
from haulage.web.guarding import Access, Guard, local_hosts
from haulage.web.serving import Serving, here

#: Whoever opens more pages than this is told to close some.
READERS = 32
#: How long the end waits for the pages to get the last of it, in seconds.
LAST_S = 2
#: How long nothing is sent before a line of comment finds out whether anybody is there still.
_QUIET_S = 15.0


class Page:
    """Serves what is shown; its address holds a secret of 128 bits, without which nothing is told.

    Args:
        port: 0 for a free one.

    Raises:
        LocalIOError: The port is taken.
    """

    def __init__(self, port: int = 0) -> None:
        address, self._feed = here(port), _Feed()
        self.port, self.token = address.port, address.token
        self.url = f"http://127.0.0.1:{self.port}/{self.token}/"
        file = PageFiles("haulage.watch").answer
        routes = [Route("/{token}/events", self._events), Route("/{token}/{file:path}", file)]
        app = Starlette(routes=routes, exception_handlers=handlers(None))
        hint = "open the address that haul watch has printed"
        access = Access(local_hosts(self.port), self.token, hint, token_after="/")
        self._serving = Serving(Guard(app, access), address.held, LAST_S)
        self._thread = threading.Thread(target=self._serving.run, name="haul-page", daemon=True)
        self._thread.start()

    def say(self, message: Message) -> None:
        """Leave it to the next push."""

    def draw(self, shown: dict[str, Any], *, last: bool) -> None:
        """Push it to all that look."""
        self._feed.push(json.dumps({**shown, "last": last}).encode(), last=last)

    def close(self) -> None:
        """Stop serving, once those that look have the last of it."""
        self._feed.end()
        self._serving.stop()
        self._thread.join()

    async def _events(self, _: Request) -> Response:
        if len(self._feed.readers) >= READERS:
            return refusal(503, f"{READERS} pages are open already", "close some of them")
        return _Events(self._feed)


class _Feed:
    """What is shown now, for any number of readers; another thread pushes it."""

    def __init__(self) -> None:
        #: What is shown, its number, and whether nothing follows; replaced as one.
        self._now: tuple[bytes, int, bool] = (b"{}", 0, False)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.readers: set[asyncio.Event] = set()

    def push(self, shown: bytes, *, last: bool) -> None:
        """Hand it to all readers."""
        self._now = (shown, self._now[1] + 1, last)
        self._tell()

    def end(self) -> None:
        """Have the readers leave when they have what is shown."""
        shown, number, _ = self._now
        self._now = (shown, number, True)
        self._tell()

    def _tell(self) -> None:
        # Without a loop nobody has come to read.
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for came in self.readers:
            came.set()

    def join(self) -> asyncio.Event:
        """Count one more reader; return what is set when there is something new for it."""
        self._loop = asyncio.get_running_loop()
        came = asyncio.Event()
        self.readers.add(came)
        return came

    async def events(self, came: asyncio.Event) -> AsyncIterator[bytes]:
        """Yield what is shown, whenever it changes."""
        seen, over = -1, False
        while not over:
            came.clear()
            shown, number, over = self._now
            yield b":\n\n" if number == seen else b"data: " + shown + b"\n\n"
            seen = number
            if not over:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(came.wait(), _QUIET_S)


class _Events(StreamingResponse):
    """What is shown, sent to one reader until it leaves or nothing follows."""

    def __init__(self, feed: _Feed) -> None:
        self._feed, self._came = feed, feed.join()
        kind = {"Content-Type": "text/event-stream; charset=utf-8", "Connection": "close"}
        super().__init__(feed.events(self._came), headers={**HEADERS, **kind})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feed.readers.discard(self._came)
