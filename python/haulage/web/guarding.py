"""Who may ask: under the server's own names, with its token, from its own page, and to read only."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from haulage.web.failing import refusal


def local_hosts(port: int) -> tuple[str, ...]:
    """Return the names of what listens on this machine alone.

    Under any other name, a page from elsewhere asks whose name was made to point at this machine.
    """
    return tuple(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))


@dataclass(frozen=True)
class Access:
    """Who may ask.

    hosts: The names under which the server answers; ``None`` for any.
    token: What must be shown; ``None`` for nothing.
    address_hint: For those who ask under another name.
    token_hint: For those without the token, if they may show it as a bearer; they are answered with 401.
        Without one, pages are meant, which show what their address holds: those get 403 and ``address_hint``.
    guarded: Paths that need the token, by how they begin; default all.
    token_after: Paths that begin so have the token as their next part.
    cookie: What the page shows it as. It does not count for paths that have the token in them, as pages from
        elsewhere may ask for these, and the browser would send it along.
    writes: Whether POST is let in.
    """

    hosts: tuple[str, ...] | None
    token: str | None
    address_hint: str
    token_hint: str | None = None
    guarded: tuple[str, ...] = ("",)
    token_after: str | None = None
    cookie: str | None = None
    writes: bool = False


class Guard:
    """Lets requests pass that may."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        refused = self._refused(scope, Headers(scope=scope)) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send)

    def _refused(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        access, path, method = self._access, str(scope["path"]), scope["method"]
        if access.hosts is not None and headers.get("host") not in access.hosts:
            return refusal(421, "nothing is served under this name", access.address_hint)
        # Before they ask for a path that holds the token, other origins' pages ask whether they may.
        asks_first = method == "OPTIONS" and access.cookie is not None and self._has_token(path)
        if method not in ("GET", "HEAD") and not asks_first and not (access.writes and method == "POST"):
            allowed = {"Allow": "GET, HEAD, POST" if access.writes else "GET, HEAD"}
            return refusal(405, f"{method[:20]} is not supported", "ask with GET", allowed)
        if not path.startswith(access.guarded) or access.token is None or asks_first:
            return None
        if access.cookie is not None and not self._has_token(path) and self._is_foreign(headers):
            hint = "open the address in its own tab"
            return refusal(403, "pages from other origins are not allowed", hint)
        shown = self._shown(scope, headers, path)
        if any(hmac.compare_digest(one.encode(), access.token.encode()) for one in shown):
            return None
        error = "the token is wrong" if any(shown) else "there is no token"
        if access.token_hint is None:
            return refusal(403, error, access.address_hint)
        return refusal(401, error, access.token_hint, {"WWW-Authenticate": "Bearer"})

    def _has_token(self, path: str) -> bool:
        return self._access.token_after is not None and path.startswith(self._access.token_after)

    def _is_foreign(self, headers: Headers) -> bool:
        origin, own = headers.get("origin"), {f"http://{host}" for host in self._access.hosts or ()}
        return (origin is not None and origin not in own) or headers.get("sec-fetch-site") == "cross-site"

    def _shown(self, scope: Scope, headers: Headers, path: str) -> list[str]:
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        shown = [bearer.strip()] if kind.lower() == "bearer" else []
        shown += parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if self._has_token(path):
            token, slash, _ = path.removeprefix(str(self._access.token_after)).partition("/")
            return [*shown, token] if slash else shown
        if self._access.cookie is None:
            return shown
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._access.cookie)
        except CookieError:
            cookie = None
        return [*shown, cookie.value] if cookie else shown
