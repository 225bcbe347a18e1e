"""Answers that say where a bucket is."""

from __future__ import annotations

from collections.abc import Iterable

from hostile.bends import ALL, first, on
from hostile.case import Case
from hostile.run import Ran
from hostile.service import Bend, Said
from hostile.themes.s3.common import CAT, DOWN, LIST, REMOVE, STAT, UP, s3
from hostile.wire import Answer, Request

VERBS = (STAT, CAT, UP, LIST, DOWN, REMOVE)
REGION = "x-amz-bucket-region"


def moved(number: int, code: str, region: str, *, told_in: str = "both", endpoint: str = "") -> Bend:
    """Refuse a request because the bucket is elsewhere."""

    def bent(_request: Request, _answer: Answer) -> Said:
        inside = f"<Region>{region}</Region>" if told_in in ("both", "body") else ""
        inside += f"<Endpoint>{endpoint}</Endpoint><Bucket>data</Bucket>" if endpoint else ""
        text = f"<Error><Code>{code}</Code><Message>It is elsewhere.</Message>{inside}</Error>"
        said = Answer(number, (("Content-Type", "application/xml"),)).with_body(text.encode())
        return said.having(REGION, region) if told_in in ("both", "header") else said

    return bent


def elsewhere(request: Request, answer: Answer) -> Said:
    """Name another host as the endpoint, and as the address of a redirect."""
    host = request.elsewhere.partition("://")[2]
    number = 307 if request.turn % 2 else 301
    said = moved(number, "TemporaryRedirect", "", told_in="none", endpoint=host)(request, answer)
    there = f"{request.elsewhere}{request.target.partition('?')[0]}"
    return said.having("Location", there) if isinstance(said, Answer) else said


def to_and_fro(request: Request, answer: Answer) -> Said:
    """Name another region than the one that the request was signed for."""
    signed = request.headers.get("authorization", "")
    region = "eu-west-1" if "/us-east-1/" in signed else "us-east-1"
    return moved(301, "PermanentRedirect", region)(request, answer)


def asked_twice_at_most(ran: Ran) -> Iterable[str]:
    """Each request is sent once more, to the region that was named, and no more."""
    sent: dict[tuple[str, ...], int] = {}
    for request in ran.requests:
        sent[request.identity] = sent.get(request.identity, 0) + 1
    if sent and max(sent.values()) > 2:
        yield f"it sent a request {max(sent.values())} times"


def signed_for_it(ran: Ran) -> Iterable[str]:
    """What is asked after the first is signed for the region that was named."""
    last = ran.requests[-1].headers.get("authorization", "")
    if "/eu-west-1/s3/" not in last:
        yield f"the last request is signed so: {last[:80]}"


def signed_as_before(ran: Ran) -> Iterable[str]:
    """What is no region becomes part of nothing."""
    signed = {request.headers.get("authorization", "").partition(",")[0] for request in ran.requests}
    if any("/us-east-1/s3/" not in text for text in signed):
        yield f"it signed so: {signed}"


def odd(name: str, does: str, region: str, *, told_in: str = "both") -> Case:
    """Return the case of a region that is none."""
    return s3(
        f"region-{name}",
        does,
        *VERBS,
        bends=on(*ALL, moved(301, "PermanentRedirect", region, told_in=told_in)),
        kind="service protocol",
        must="nobody goes there",
        tries=1,
        credentials=("session",),
        check=signed_as_before,
    )


CASES = (
    s3(
        "region-once",
        "`PermanentRedirect` to another region, once",
        STAT,
        LIST,
        bends=on(*ALL, first(1, moved(301, "PermanentRedirect", "eu-west-1"))),
        code=0,
        must="it is asked again, signed for that region",
        check=signed_for_it,
    ),
    s3(
        "region-in-the-body-alone",
        "`AuthorizationHeaderMalformed` with the region in its text alone, once",
        LIST,
        "du s3://data/tree/",
        bends=on(*ALL, first(1, moved(400, "AuthorizationHeaderMalformed", "eu-west-1", told_in="body"))),
        code=0,
        must="it is asked again, signed for that region",
        check=signed_for_it,
    ),
    s3(
        "region-for-ever",
        "`PermanentRedirect` to the same other region, for everything",
        *VERBS,
        bends=on(*ALL, moved(301, "PermanentRedirect", "eu-west-1")),
        kind="service protocol",
        must="it is asked there once",
        check=asked_twice_at_most,
    ),
    s3(
        "region-to-and-fro",
        "`PermanentRedirect`, each time to another region than was asked",
        *VERBS,
        bends=on(*ALL, to_and_fro),
        kind="service protocol",
        must="it is asked there once",
        check=asked_twice_at_most,
    ),
    odd("that-is-a-host", "A region called `evil.example/`, which would stand in the host", "evil.example/"),
    odd("of-two-hosts", "A region called `x@127.0.0.1`", "x@127.0.0.1"),
    odd("with-dots", "A region called `../../x`", "../../x"),
    odd("of-1-kib", "A region of 1 KiB", "r" * 1024),
    odd("of-nothing", "An empty region", ""),
    odd(
        "in-the-body-that-is-a-host",
        "The same in the text of the error alone",
        "evil.example",
        told_in="body",
    ),
    s3(
        "region-with-an-endpoint",
        "`PermanentRedirect` and `TemporaryRedirect` with the endpoint of another host, and its address",
        *VERBS,
        bends=on(*ALL, elsewhere),
        kind="service protocol",
        must="nobody goes there, with or without a signature",
        tries=1,
        credentials=("session", "unsigned"),
    ),
    s3(
        "region-of-a-denial",
        "Status 403 that names another region, for ever",
        STAT,
        LIST,
        bends=on(*ALL, moved(403, "AccessDenied", "eu-west-1")),
        kind="permission",
        code=3,
        check=asked_twice_at_most,
    ),
)
