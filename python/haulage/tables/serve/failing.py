"""Errors as answers: JSON with what went wrong and what to do about it."""

from __future__ import annotations

import json

from starlette.responses import JSONResponse

from haulage.errors import HaulageError
from haulage.tables.serve import arrow
from haulage.tables.serve.asking import Format

#: A store that refuses the proxy, fails or does not answer is not the fault of who asks.
_STATUS = {
    "usage": 400,
    "unsupported": 406,
    "permission": 502,
    "not_found": 404,
    "source_changed": 409,
    "no_space": 413,
    "busy": 503,
    "stalled": 504,
    "connection": 502,
    "service": 502,
    "protocol": 502,
    "integrity": 502,
}


def told(error: HaulageError) -> dict[str, str | None]:
    """Return what clients are told of an error."""
    what = f"{error.operation} {error.object}: {error.cause}"
    return {"code": error.code, "error": what, "hint": error.hint}


def answer(error: HaulageError) -> JSONResponse:
    """Return the answer for a request that failed."""
    headers = {"Cache-Control": "no-store"}
    if error.code == "busy":
        headers["Retry-After"] = "1"
    return JSONResponse(told(error), _STATUS.get(error.code, 500), headers)


def refusal(status: int, error: str, hint: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return the answer for a request that never came to a table."""
    body = {"code": "refused", "error": error, "hint": hint}
    return JSONResponse(body, status, {"Cache-Control": "no-store", **(headers or {})})


def last_words(error: HaulageError, format: Format) -> bytes:
    """Return what an answer breaks off with, so that nobody takes it for whole.

    A last line of NDJSON tells the error; Arrow ends within a message, on which every reader fails. JSON and
    Atom are never closed. CSV has no end that could be missing, so that only the cut connection tells.
    """
    if format == "ndjson":
        return json.dumps(told(error), ensure_ascii=False).encode() + b"\n"
    if format == "arrow":
        return arrow.failure(json.dumps(told(error)))
    return b""
