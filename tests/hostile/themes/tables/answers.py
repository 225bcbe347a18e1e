"""Bodies, statuses and secrets that are repeated."""

from __future__ import annotations

from collections.abc import Iterator

from hostile.bends import (
    MIB,
    also,
    body,
    chunked,
    cut,
    endless,
    first,
    header,
    on,
    says,
    status,
    stream,
    trickle_body,
    when,
)
from hostile.case import ROWS
from hostile.credentials import CREDENTIALS
from hostile.rows import page, refusal
from hostile.themes.secrets import written
from hostile.themes.tables.common import IMPORT, NOTHING, READS, VERIFY, case
from hostile.wire import CLOSE, RESET, Answer, Request, Wait


def _long(_: Request) -> Iterator[bytes]:
    yield b'{"value":[{"PartitionKey":"p","RowKey":"r","text":"'
    for _part in range(200):
        yield b"x" * MIB
    yield b'"}]}'


_AGAIN = b'{"PartitionKey":"p","RowKey":"r"},'
BODIES = (
    case(
        "endless",
        "A page that never ends",
        on("query", endless(b'{"value":[', _AGAIN)),
        must=f"no more than 24 MiB of it are read; {NOTHING}",
        slow=True,
    ),
    case(
        "text-endless",
        "A text of 200 MiB in a row",
        on("query", stream(_long)),
        must=f"no more than 24 MiB of it are read; {NOTHING}",
        slow=True,
    ),
    case(
        "cut",
        "The connection is closed in the middle of a page",
        on("query", cut(CLOSE)),
        kind="connection",
        slow=True,
    ),
    case(
        "cut-once",
        "The same, but only the first two times",
        on("query", first(2, cut(RESET))),
        code=0,
        kind="",
        slow=True,
    ),
    case(
        "length-longer",
        "A page that is shorter than its length says",
        on(
            "query",
            lambda _, answer: (
                answer.having("Content-Length", str(len(answer.body) + 5)).head() + answer.body,
                CLOSE,
            ),
        ),
        kind="connection",
        slow=True,
    ),
    case(
        "length-shorter",
        "A page that is longer than its length says",
        on("query", header("Content-Length", "20")),
        kind="protocol connection",
        slow=True,
    ),
    case(
        "length-twice",
        "Two lengths",
        on("query", also("Content-Length", "3")),
        kind="protocol connection",
        slow=True,
    ),
    case("chunks", "A page in chunks, as the service sends it", on("query", chunked()), code=0, kind=""),
    case(
        "20-bytes-a-second",
        "A page that comes at 20 bytes a second",
        on("query", trickle_body(1, 0.05)),
        options="--stall-timeout 500ms",
        kind="stalled",
        must="less than 1 KiB/s is as good as nothing",
        # A slow machine may take a pause for silence, which is tried again as a lost connection is.
        tries=8,
        slow=True,
    ),
    case(
        "silent",
        "No answer at all",
        on("query", says(Wait(1000))),
        options="--stall-timeout 500ms",
        kind="stalled",
        slow=True,
    ),
)

STATUSES = (
    *(
        case(
            f"redirect-{number}",
            f"Status {number} with the address of another host",
            on(
                "query",
                "write",
                "make-table",
                body(b""),
                header("Location", lambda request, _: request.elsewhere),
                status(number),
            ),
            lines=(*READS, IMPORT),
            kind="service protocol",
            must="nobody goes there",
            tries=1,
        )
        for number in (301, 307)
    ),
    case(
        "gone",
        "A table that is gone after the first page",
        on("query", when(lambda request: request.turn > 1, lambda *_: refusal(404, "TableNotFound"))),
        code=4,
        kind="not_found",
    ),
    case(
        "forbidden",
        "Status 403",
        on("query", lambda *_: refusal(403, "AuthorizationFailure")),
        code=3,
        kind="permission",
    ),
    case(
        "busy",
        "Status 503, every time",
        on("query", lambda *_: refusal(503, "ServerBusy")),
        kind="busy",
        slow=True,
    ),
    case(
        "busy-once",
        "Status 503, twice",
        on("query", first(2, lambda *_: refusal(503, "ServerBusy"))),
        code=0,
        kind="",
        slow=True,
    ),
    case(
        "error-odd",
        "An error whose code and message have control characters",
        on("query", lambda *_: refusal(409, "\x1b[2J\u202e", "\x1b]0;x\x07\u202e")),
        kind="service exists protocol",
    ),
    case(
        "error-endless",
        "An error whose text never ends",
        on("query", status(409), endless(b'{"odata.error":{"code":"', b"more")),
        kind="service exists protocol",
        must="no more than 64 KiB of it are read",
    ),
)


def _repeats(request: Request, _: Answer) -> Answer:
    """Refuse, and repeat the secret that came in one of its ways."""
    return refusal(400, "InvalidInput", f"The signature was {written(request, request.turn)}.")


SECRETS = (
    case(
        "repeats-in-error",
        "An error that repeats the signature",
        on("query", "write", "make-table", _repeats),
        lines=(*READS, IMPORT),
        credentials=CREDENTIALS,
        tls="good",
        code=(1, 2, 3),
        kind="usage service permission protocol",
        must="it is in nothing that is printed",
    ),
    case(
        "repeats-in-page",
        "A page that repeats the signature as a text",
        on("query", lambda request, _: page([dict(ROWS[0]) | {"text": written(request, 0)}])),
        lines=(VERIFY,),
        must="it is in nothing that is printed",
    ),
    case(
        "repeats-in-property",
        "A page with a property that no row has, whose name is the signature",
        on("query", lambda request, _: page([dict(ROWS[0]) | {written(request, 0): {"no": "value"}}])),
        must="it is in nothing that is printed",
    ),
)
