"""Who may ask: by host, by origin, by token, and to read only."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from haulage.tables.serve.failing import refusal

#: Rows and what is known of them; the page and the description of the interface tell nothing of either.
_GUARDED = ("/tables", "/requests")
EXPOSED = (
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


@dataclass(frozen=True)
class Access:
    """Who may ask.

    hosts: The names under which the proxy answers; ``None`` for any. On this machine alone they keep out
        pages from elsewhere whose names were made to point here.
    token: What must be shown; ``None`` for nothing.
    origins: Other origins whose pages may read answers; ``"*"`` for all.
    """

    hosts: tuple[str, ...] | None = None
    token: str | None = None
    origins: tuple[str, ...] = ()


class Guard:
    """Lets requests pass that may."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        await (refused or self._app)(scope, receive, send)

    def _refused(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        if scope["method"] not in ("GET", "HEAD"):
            return refusal(405, "this proxy is read-only", "ask with GET", {"Allow": "GET, HEAD, OPTIONS"})
        if not scope["path"].startswith(_GUARDED) or self._access.token is None:
            return None
        shown = headers.get("authorization", "").partition(" ")
        given = shown[2].strip() if shown[0].lower() == "bearer" else None
        if given is None:
            query = parse_qs(scope["query_string"].decode("latin-1"))
            given = query.get("token", [""])[0]
        if hmac.compare_digest(given.encode(), self._access.token.encode()):
            return None
        error = "the token is wrong" if given else "there is no token"
        hint = "send the header Authorization: Bearer TOKEN, or ?token=TOKEN"
        return refusal(401, error, hint, {"WWW-Authenticate": "Bearer"})


class HostGuard:
    """Answers under its own names only."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._hosts = app, access.hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and self._hosts and Headers(scope=scope).get("host") not in self._hosts:
            hint = "ask under the address that the proxy printed, or start it with --listen ADDRESS"
            await refusal(421, "nothing is served under this name", hint)(scope, receive, send)
            return
        await self._app(scope, receive, send)
