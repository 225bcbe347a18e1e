"""Who may ask: under the server's own names, with its token, from its own page; and to read only."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from haulage.view.serve.failing import refusal

#: What the page is made of tells nothing of what is viewed.
_GUARDED = ("/api/", "/zarr/")


class Guard:
    """Lets requests pass that may.

    Args:
        app: What answers them.
        port: Where it listens.
        token: What must be shown: as a cookie, as ``?token=``, as a bearer, or after ``/zarr/``.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self.cookie = f"haul-view-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope, Headers(scope=scope))
        await (refused or self._app)(scope, receive, send)

    def _refused(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        if headers.get("host") not in self._hosts:
            hint = "open the address that haul view has printed"
            return refusal(421, "refused", "nothing is served under this name", hint)
        path: str = scope["path"]
        zarr = path.startswith("/zarr/")
        if scope["method"] not in ("GET", "HEAD") and not (zarr and scope["method"] == "OPTIONS"):
            return refusal(405, "refused", "this server is read-only", "ask with GET")
        origin = headers.get("origin")
        own = {f"http://{host}" for host in self._hosts}
        foreign = (origin is not None and origin not in own) or headers.get("sec-fetch-site") == "cross-site"
        if foreign and not zarr and path.startswith(_GUARDED):
            return refusal(
                403, "refused", "pages from other origins are not allowed", "open the address in its own tab"
            )
        if not path.startswith(_GUARDED) or scope["method"] == "OPTIONS":
            return None
        shown = self._shown(scope, headers, path)
        if any(hmac.compare_digest(one.encode(), self._token.encode()) for one in shown):
            return None
        message = "the token is wrong" if any(shown) else "there is no token"
        return refusal(403, "permission", message, "open the address that haul view has printed")

    def _shown(self, scope: Scope, headers: Headers, path: str) -> list[str]:
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        shown = [bearer.strip()] if kind.lower() == "bearer" else []
        shown += parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if path.startswith("/zarr/"):
            # Not the cookie: pages from elsewhere may ask for this, and the browser would send it along.
            return [*shown, path.split("/")[2]]
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            cookie = None
        return [*shown, cookie.value] if cookie else shown
