"""Answers that are no success, or a success that the request does not have."""

from __future__ import annotations

from hostile.bends import ALL, READS, body, first, header, on, status
from hostile.case import Case
from hostile.credentials import CREDENTIALS
from hostile.service import Bend
from hostile.themes.lists import EVERYBODY, HTML
from hostile.wire import Answer, Request

STAT, FILE, CAT = "stat az://data/tree/a", "cp az://data/tree/a down/", "cat az://data/tree/a"
LOOKS = (STAT, FILE, CAT)
UP = "cp up/a az://data/tree/new"
BLOCKS = "cp big az://data/tree/new --block-size 64KiB --method ranges"
VERBS = (*LOOKS, UP, BLOCKS, "rm az://data/tree/a", "mb az://other", *EVERYBODY)
DAY = "86400"
NEVER = ((503, "ServerBusy", "busy"), (500, "InternalError", "service"), (429, "", "busy"))


def _elsewhere(request: Request, _: Answer) -> str:
    return f"{request.elsewhere}{request.target.partition('?')[0]}"


def refuse(number: int, code: str, **headers: str) -> Bend:
    """Refuse a request as the service would."""

    def bent(_request: Request, _answer: Answer) -> Answer:
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>No.</Message></Error>"
        said = Answer(number, (("Content-Type", "application/xml"), ("x-ms-error-code", code)))
        for name, value in headers.items():
            said = said.having(name.replace("_", "-"), value)
        return said.with_body(text.encode())

    return bent


REDIRECTS = tuple(
    Case(
        f"redirect-{number}",
        f"Status {number} with the address of another host, for everything",
        lines=VERBS,
        bends=on(*ALL, body(b""), header("Location", _elsewhere), status(number)),
        kind="service protocol",
        must="nobody goes there, with or without a credential",
        tries=1,
        # A token is sent over TLS alone.
        credentials=CREDENTIALS,
        tls="good",
        every_family=True,
    )
    for number in (301, 302, 303, 307, 308)
)

WRONG = (
    Case(
        "everything-html",
        "A captive portal: every request is answered with an HTML page and status 200",
        lines=VERBS,
        bends=on(*ALL, body(HTML, "text/html"), header("ETag", None), header("x-ms-request-id", None)),
        kind="protocol",
        must="nothing succeeds, and nothing is deleted",
        seen=6,
        deletes=False,
    ),
    *(
        Case(
            f"read-status-{number}",
            f"Status {number} where a blob, or what is known of it, was asked for",
            lines=LOOKS,
            bends=on(*READS, status(number)),
            kind="protocol",
        )
        for number in (201, 202, 203)
    ),
    Case(
        "read-status-204",
        "Status 204 and no body",
        lines=LOOKS,
        bends=on(*READS, body(b""), header("Content-Length", None), status(204)),
        kind="protocol",
    ),
    Case(
        "head-status-206",
        "Status 206 where nothing was asked in part",
        lines=LOOKS,
        bends=on("head", status(206)),
        kind="protocol",
    ),
    Case(
        "read-status-304",
        "Status 304, though nothing was asked for in case it changed",
        lines=LOOKS,
        bends=on(*READS, body(b""), status(304)),
        kind="protocol service",
    ),
    Case(
        "read-status-999",
        "Status 999",
        lines=LOOKS,
        bends=on(*READS, status(999)),
        kind="protocol service",
    ),
    Case(
        "gone-in-between",
        "A blob that is in the list, and 404 when it is read",
        lines=("cp az://data/tree/ down/",),
        bends=on(
            "get",
            lambda asked, said: refuse(404, "BlobNotFound")(asked, said) if asked.key.endswith("b") else said,
        ),
        kind="not_found source_changed",
        must="it fails, the others are copied",
        code=(1, 4, 6),
    ),
    Case(
        "condition-never-met",
        "Status 412 for every read",
        lines=(FILE, CAT, "cp az://data/tree/ down/"),
        bends=on("get", refuse(412, "ConditionNotMet")),
        code=6,
        kind="source_changed",
        tries=1,
    ),
    Case(
        "condition-nobody-made",
        "Status 412 for an upload that has no condition",
        lines=(UP, BLOCKS),
        bends=on("put", "put-block", refuse(412, "ConditionNotMet")),
        kind="exists protocol service",
    ),
    Case(
        "range-never-there",
        "Status 416 for every range",
        lines=("cp az://data/large down/ --block-size 64KiB --method ranges", "cat az://data/large"),
        bends=on("get", refuse(416, "InvalidRange")),
        code=6,
        kind="source_changed",
        tries=1,
    ),
)

BUSY = (
    *(
        Case(
            f"busy-{name}",
            f"Status 503 with `Retry-After: {value}`",
            lines=(STAT, FILE, UP, "ls az://data/tree/", "rm az://data/tree/a"),
            bends=on(*ALL, refuse(503, "ServerBusy", Retry_After=value)),
            kind="busy",
            must="nobody waits",
            tries=1,
        )
        for name, value in {
            "for-a-day": DAY,
            "for-ever": "9" * 40,
            "until-9999": "Fri, 31 Dec 9999 23:59:59 GMT",
        }.items()
    ),
    *(
        Case(
            f"busy-{name}",
            f"Status 503 with `Retry-After: {value}`, once",
            lines=(STAT, FILE, UP, "ls az://data/tree/", "rm az://data/tree/a"),
            bends=on(*ALL, first(1, refuse(503, "ServerBusy", Retry_After=value))),
            code=0,
            must="it is asked again after a while",
        )
        for name, value in {
            "until-before": "-1",
            "until-garbage": "soon",
            "until-half": "0.5",
            "until-1970": "Thu, 01 Jan 1970 00:00:00 GMT",
        }.items()
    ),
    *(
        Case(
            f"never-but-{number}",
            f"Status {number} for ever, to be tried again at once",
            lines=(STAT, FILE, UP, "ls az://data/tree/", "rm -r az://data/tree/"),
            bends=on(*ALL, refuse(number, code, Retry_After="0")),
            kind=kind,
            must="it is tried ten times at most",
            tries=10,
        )
        for number, code, kind in (
            (503, "ServerBusy", "busy"),
            (500, "InternalError", "service"),
            (429, "", "busy"),
        )
    ),
    Case(
        "never-but-503-unsaid",
        "Status 503 for ever, and no word when to come again",
        lines=(STAT, "cp az://data/tree/ down/", UP),
        bends=on(*ALL, refuse(503, "ServerBusy")),
        kind="busy",
        must="it is tried ten times at most",
        tries=10,
        slow=True,
    ),
)

CASES = (*REDIRECTS, *WRONG, *BUSY)
