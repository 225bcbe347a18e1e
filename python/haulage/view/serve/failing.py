"""Errors as answers: JSON with what went wrong and what to do about it."""

from __future__ import annotations

from starlette.responses import JSONResponse

from haulage.errors import HaulageError

#: A store that refuses, fails or does not answer is not the fault of who asks.
_STATUS = {
    "usage": 400, "unsupported": 422, "protocol": 422, "integrity": 422, "permission": 502, "not_found": 404,
    "source_changed": 409, "busy": 503, "stalled": 504, "connection": 502, "service": 502,
}  # fmt: skip


def answer(error: HaulageError) -> JSONResponse:
    """Return the answer for a request that failed."""
    return refusal(
        _STATUS.get(error.code, 500),
        error.code,
        f"{error.operation} {error.object}: {error.cause}",
        error.hint,
    )


def refusal(status: int, code: str, message: str, hint: str | None) -> JSONResponse:
    """Return the answer for a request that was not let in, or led nowhere."""
    body = {"error": {"code": code, "message": message, "hint": hint}}
    return JSONResponse(body, status, {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})
