"""Secrets that a service repeats: wherever it puts them and however it writes them, nobody may read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from xml.sax.saxutils import escape

from hostile.bends import ALL, READS, WRITES, begins, edit, header, on
from hostile.blobs import XML, entry
from hostile.case import Case
from hostile.credentials import CREDENTIALS, KEY, brought
from hostile.service import Bend, Said
from hostile.wire import Answer, Request, Wait

#: One blob for each way in which a secret can be written: the answer for it has the secret in that way.
WAYS = range(12)
BLOBS = {f"data/tree/{n}": f"content {n}".encode() for n in WAYS}
DOWN, UP, LIST = "cp az://data/tree/ down/", "cp up/ az://data/tree/", "ls -r az://data/tree/"
STAT = "stat az://data/tree/0"
HIDDEN = "it is in nothing that is printed, recorded or received"

Wrap = Callable[[str], str]


def secret(request: Request) -> str:
    """Return the secret that came with a request, in a way that differs from blob to blob."""
    last = request.key[-2:].lstrip("/")
    return written(request, int(last) if last.isdigit() else len(request.key))


def written(request: Request, way: int) -> str:
    """Return the secret that came with a request, in one of its ways."""
    own, header = brought(request).forms, request.headers.get("authorization", "")
    if header:
        own = (*own, header)
    if header.startswith("SharedKey"):
        own = (*own, KEY)
    return own[way % len(own)]


def said(wrap: Wrap = str) -> Callable[[Request, Answer], str]:
    """Return what makes a header's value of the secret."""
    return lambda request, _: wrap(secret(request))


def failing(text: Callable[[Request], str], *, kind: str = XML, status: int = 409, **headers: str) -> Bend:
    """Refuse with a body, and headers that may have the secret in place of `SECRET`."""

    def bent(request: Request, _: Answer) -> Answer:
        answer = Answer(status, (("Content-Type", kind),)).with_body(text(request).encode())
        for name, value in headers.items():
            answer = answer.having(name.replace("_", "-"), value.replace("SECRET", secret(request)))
        return answer

    return bent


def error(code: str = "Odd", message: str = "It is odd.") -> Callable[[Request], str]:
    """Return an error's document with the secret in place of `SECRET`."""
    return lambda request: f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".replace(
        "SECRET", escape(secret(request))
    )


def in_list(make: Callable[[str], str], end: str = "</Blobs>") -> Bend:
    """Add an entry to a list for each way to write the secret."""

    def bent(request: Request, answer: Answer) -> Said:
        added = "".join(make(escape(written(request, way))) for way in WAYS)
        return edit(end, added + end)(request, answer)

    return bent


def told(
    name: str,
    does: str,
    *bends: Bend,
    lines: tuple[str, ...] = (DOWN, UP, STAT),
    code: int | tuple[int, ...] = 1,
) -> Case:
    """Return the case of a secret somewhere, for each credential."""
    return Case(
        f"secret-in-{name}",
        f"The secret of the request in {does}",
        lines=lines,
        bends=bends,
        code=code,
        must=HIDDEN,
        blobs=BLOBS,
        credentials=CREDENTIALS,
        tls="good",
        deletes=True,
        seen=8,
    )


ANY = (0, 1, 2, 3, 4, 5, 6)
ASKED = ("get", "head", "put")

CASES = (
    told("a-message", "an error's message", on(*ASKED, failing(error(message="It was SECRET")))),
    told(
        "a-refusal",
        "the message of an error 403",
        on(*ASKED, failing(error("AuthenticationFailed", "Signed SECRET"), status=403)),
        code=3,
    ),
    told("a-code", "an error's code", on(*ASKED, failing(error(code="SECRET")))),
    told(
        "a-code-header",
        "the header of an error's code",
        on(*ASKED, failing(error(), x_ms_error_code="SECRET")),
    ),
    told("a-text", "an error that is plain text", on(*ASKED, failing(secret, kind="text/plain"))),
    told(
        "a-page",
        "an error that is an HTML page",
        on(*ASKED, failing(lambda asked: f"<html><body>{secret(asked)}</body></html>", kind="text/html")),
    ),
    told(
        "a-reason",
        "the words beside the status",
        on(*ASKED, lambda asked, answer: replace(answer, status=409, reason=secret(asked))),
    ),
    told(
        "a-redirect",
        "the address of a redirect",
        on(*ASKED, failing(error(), status=307, Location="http://127.0.0.1:9/?SECRET")),
    ),
    told(
        "a-wait",
        "`Retry-After`",
        on(*ASKED, failing(error(), status=409, Retry_After="SECRET", WWW_Authenticate="Bearer SECRET")),
    ),
    told(
        "a-request-id",
        "the request's id",
        on(*ALL, header("x-ms-request-id", said())),
        code=0,
        lines=(DOWN, UP, STAT, LIST),
    ),
    told(
        "a-request-id-of-an-error",
        "the id of a request that fails",
        on(*ASKED, failing(error(), x_ms_request_id="SECRET", x_ms_client_request_id="SECRET")),
    ),
    told("an-etag", "the ETag", on(*READS, *WRITES, header("ETag", said('"{}"'.format))), code=ANY),
    told("a-type", "the content type", on(*READS, header("Content-Type", said())), code=ANY),
    told(
        "a-range",
        "the range",
        on("get", header("Content-Range", said("bytes {}".format))),
        code=ANY,
    ),
    told("a-checksum", "the checksum", on("get", "put", header("x-ms-content-crc64", said())), code=ANY),
    told("a-time", "the stored time", on(*READS, header("x-ms-meta-mtime", said())), code=ANY),
    told(
        "a-name",
        "names of blobs",
        on("list", in_list(lambda text: entry("NAME").replace("NAME", f"tree/{text}"))),
        lines=(
            LIST,
            "ls az://data/tree/",
            DOWN,
            "verify up/ az://data/tree/",
            "plan az://data/tree/ down/",
            "rm -r az://data/tree/",
        ),
        code=ANY,
    ),
    told(
        "a-slow-name",
        "names of blobs that are long on their way, as progress tells",
        on("list", in_list(lambda text: entry("NAME").replace("NAME", f"tree/{text}"))),
        on("get", begins(Wait(1.5))),
        lines=(DOWN,),
        code=ANY,
    ),
    told(
        "a-listed-etag",
        "ETags and content types of a list",
        on("list", in_list(lambda text: entry("tree/new", 1, text).replace("text/plain", text))),
        lines=(LIST, DOWN),
        code=ANY,
    ),
    told(
        "an-entity",
        "a list that cannot be read, where it goes wrong",
        on("list", in_list(lambda text: f"<Blob><Name>tree/&{text};</Name></Blob>")),
        lines=(LIST, DOWN, UP),
    ),
    told(
        "an-element",
        "the name of an element that is never closed",
        on("list", in_list(lambda text: f"<{text}>")),
        lines=(LIST, DOWN, UP),
    ),
    told(
        "a-size",
        "a size in a list",
        on("list", in_list(lambda text: entry("tree/new", text))),
        lines=(LIST, DOWN, UP),
    ),
    told(
        "a-container",
        "names of containers",
        on(
            "list-containers",
            in_list("<Container><Name>{}</Name></Container>".format, "</Containers>"),
        ),
        lines=("ls az://", "du az://"),
        code=ANY,
    ),
)
