"""Errors as answers: JSON with a code, what went wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from haulage.errors import HaulageError

#: A store that refuses, fails or does not answer is not the fault of whoever asks.
_STATUS = {
    "usage": 400, "unsupported": 422, "protocol": 502, "integrity": 502, "permission": 502, "not_found": 404,
    "source_changed": 409, "no_space": 413, "busy": 503, "stalled": 504, "connection": 502, "service": 502,
}  # fmt: skip
#: What a request is called that never reached what is served.
_CODE = {401: "permission", 403: "permission", 404: "not_found", 500: "service", 503: "busy"}


def told(error: HaulageError) -> dict[str, str | None]:
    """Return what clients are told of an error."""
    what = f"{error.operation} {error.object}: {error.cause}"
    return {"code": error.code, "error": what, "hint": error.hint}


def answer(error: HaulageError, statuses: dict[str, int] | None = None) -> JSONResponse:
    """Return the answer for a request that failed; ``statuses`` go before the usual ones, by code."""
    headers = {"Retry-After": "1"} if error.code == "busy" else {}
    return _json(told(error), {**_STATUS, **(statuses or {})}.get(error.code, 500), headers)


def refusal(status: int, error: str, hint: str | None, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return the answer for a request that was not let in, or led nowhere."""
    return _json({"code": _CODE.get(status, "refused"), "error": error, "hint": hint}, status, headers or {})


def handlers(hint: str | None) -> dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]]:
    """Return what Starlette is to call for errors; ``hint`` is for those who ask for what is not there."""

    async def unknown(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return refusal(status, f"there is nothing at {request.url.path[:200]}", hint)

    async def broken(_: Request, error: Exception) -> Response:
        return refusal(500, f"the server itself failed: {type(error).__name__}", "please report it")

    return {HTTPException: unknown, Exception: broken}


def _json(body: dict[str, str | None], status: int, headers: dict[str, str]) -> JSONResponse:
    kept = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return JSONResponse(body, status, {**kept, **headers})
