"""Secrets that S3 repeats: wherever it puts them and however it writes them, nobody may read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from xml.sax.saxutils import escape

from hostile.bends import ALL, READS, body, edit, header, on
from hostile.blobs import XML
from hostile.case import Case
from hostile.credentials import SECRET, SESSION, Secret, brought
from hostile.documents import entry, upload_entry
from hostile.objects import CHECKSUM
from hostile.service import Bend, Said
from hostile.themes.s3.common import DOWN, LIST, PARTS, REMOVE, s3
from hostile.themes.secrets import ANY, BLOBS, HIDDEN, WAYS
from hostile.wire import Answer, Request

UP, STAT = "cp up/ s3://data/tree/", "stat s3://data/tree/0"
ASKED = ("get", "head", "put")

Wrap = Callable[[str], str]


def secret(request: Request) -> str:
    """Return a secret of who asks, in a way that differs from object to object."""
    last = request.key[-2:].lstrip("/")
    return written(request, int(last) if last.isdigit() else len(request.key))


def written(request: Request, way: int) -> str:
    """Return a secret of who asks, in one of its ways: what came along, or what it was signed with."""
    own = [*brought(request).forms, *Secret(SESSION).forms, *Secret(SECRET).forms]
    return own[way * 5 % len(own)]


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


def error(code: str = "Odd", message: str = "It is odd.", more: str = "") -> Callable[[Request], str]:
    """Return an error's document with the secret in place of `SECRET`."""
    text = f"<Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>"
    return lambda request: text.replace("SECRET", escape(secret(request)))


def in_list(make: Callable[[str], str], end: str = "</ListBucketResult>") -> Bend:
    """Add an entry to a list for each way to write the secret."""

    def bent(request: Request, answer: Answer) -> Said:
        added = "".join(make(escape(written(request, way))) for way in WAYS)
        return edit(end, added + end)(request, answer)

    return bent


def told(
    name: str, does: str, *bends: Bend, lines: tuple[str, ...] = (DOWN, UP, STAT), **more: object
) -> Case:
    """Return the case of a secret somewhere, for each credential that has one."""
    how: dict[str, object] = {"code": 1, "kind": ""} | more
    return s3(
        f"secret-in-{name}",
        f"The secret of the request in {does}",
        *lines,
        bends=bends,
        must=HIDDEN,
        blobs=BLOBS,
        credentials=("session",),
        tls="good",
        deletes=True,
        **how,
    )


#: What S3 says of a signature that it does not accept.
SIGNED = (
    "<AWSAccessKeyId>HOSTILE-ACCESS</AWSAccessKeyId><StringToSign>AWS4-HMAC-SHA256\nSECRET</StringToSign>"
    "<SignatureProvided>SECRET</SignatureProvided><CanonicalRequest>GET\n/\nSECRET</CanonicalRequest>"
)

CASES = (
    told("a-message", "an error's message", on(*ASKED, failing(error(message="It was SECRET")))),
    told(
        "a-signature-that-does-not-match",
        "what is said of a signature that is not accepted",
        on(*ASKED, failing(error("SignatureDoesNotMatch", "It was SECRET", SIGNED), status=403)),
        code=3,
    ),
    told(
        "a-token-that-is-none",
        "what is said of a session token that is not accepted",
        on(*ASKED, failing(error("InvalidToken", "It was", "<Token-0>SECRET</Token-0>"), status=400)),
        code=(1, 3),
    ),
    told(
        "a-refusal",
        "the message of an error 403",
        on(*ASKED, failing(error("AccessDenied", "Signed SECRET"), status=403)),
        code=3,
    ),
    told("a-code", "an error's code", on(*ASKED, failing(error(code="SECRET")))),
    told(
        "a-region",
        "the region that an error names",
        on(*ASKED, failing(error("PermanentRedirect", "No", "<Region>SECRET</Region>"), status=301)),
    ),
    told(
        "a-region-header",
        "the header of a region",
        on(*ASKED, failing(error(), status=301, x_amz_bucket_region="SECRET")),
    ),
    told("a-text", "an error that is plain text", on(*ASKED, failing(secret, kind="text/plain"))),
    told(
        "a-reason",
        "the words beside the status",
        on(*ASKED, lambda asked, answer: replace(answer, status=409, reason=secret(asked))),
    ),
    told(
        "a-request-id",
        "the request's ids",
        on(*ALL, header("x-amz-request-id", said()), header("x-amz-id-2", said())),
        code=0,
        lines=(DOWN, UP, STAT, LIST),
    ),
    told(
        "a-request-id-of-an-error",
        "the id of a request that fails",
        on(*ASKED, failing(error(), x_amz_request_id="SECRET", x_amz_id_2="SECRET")),
    ),
    told("an-etag", "the ETag", on(*READS, "put", header("ETag", said('"{}"'.format))), code=ANY),
    told("a-type", "the content type", on(*READS, header("Content-Type", said())), code=ANY),
    told("a-range", "the range", on("get", header("Content-Range", said("bytes {}".format))), code=ANY),
    told("a-checksum", "the checksum", on("get", "put", header(CHECKSUM, said())), code=ANY, slow=True),
    told("a-time", "the stored time", on(*READS, header("x-amz-meta-mtime", said())), code=ANY),
    told(
        "metadata",
        "metadata",
        on(*READS, header("x-amz-meta-note", said()), header("Cache-Control", said())),
        code=ANY,
    ),
    told(
        "a-name",
        "names of objects",
        on("list", in_list(lambda text: entry("NAME").replace("NAME", f"tree/{text}"))),
        lines=(
            LIST,
            "ls s3://data/tree/",
            DOWN,
            "verify up/ s3://data/tree/",
            "plan s3://data/tree/ down/",
            REMOVE,
        ),
        code=ANY,
    ),
    told(
        "a-listed-etag",
        "ETags of a list",
        on("list", in_list(lambda text: entry("tree/new", 1, text))),
        lines=(LIST, DOWN),
        code=ANY,
    ),
    told(
        "an-entity",
        "a list that cannot be read, where it goes wrong",
        on("list", in_list(lambda text: f"<Contents><Key>tree/&{text};</Key></Contents>")),
        lines=(LIST, DOWN, UP),
    ),
    told(
        "an-element",
        "the name of an element that is never closed",
        on("list", in_list("<{}>".format)),
        lines=(LIST, DOWN, UP),
    ),
    told(
        "a-size",
        "a size in a list",
        on("list", in_list(lambda text: entry("tree/new", text))),
        lines=(LIST, DOWN, UP),
    ),
    told(
        "an-encoding",
        "the encoding of a list",
        on("list", in_list("<EncodingType>{}</EncodingType>".format)),
        lines=(LIST, DOWN, UP),
    ),
    told(
        "an-upload",
        "names and ids of uploads",
        on(
            "uploads",
            in_list(
                lambda text: upload_entry("tree/NAME", "ID").replace("NAME", text).replace("ID", text),
                "</List",
            ),
        ),
        lines=("clean s3://data/tree/", PARTS),
        code=ANY,
    ),
    told(
        "a-new-upload",
        "the id of a new upload",
        on(
            "begin",
            edit("<UploadId>", "<UploadId>SECRET"),
            lambda asked, said: said.with_body(said.body.replace(b"SECRET", escape(secret(asked)).encode())),
        ),
        lines=(PARTS,),
        code=ANY,
    ),
    told(
        "what-became-of-objects",
        "the codes and messages of objects that were not deleted",
        on(
            "delete-many",
            lambda asked, answer: body(
                answer.body.replace(b"<Deleted>", b"<Error>").replace(
                    b"</Key></Deleted>",
                    f"</Key><Code>{secret(asked)}</Code><Message>{escape(secret(asked))}</Message></Error>".encode(),
                )
            )(asked, answer),
        ),
        lines=(REMOVE,),
        code=ANY,
    ),
    told(
        "a-commit",
        "what a finished upload is called",
        on(
            "commit",
            edit("</Key><ETag>", "</Key><ETag>SECRET"),
            lambda asked, said: said.with_body(said.body.replace(b"SECRET", escape(secret(asked)).encode())),
        ),
        lines=(PARTS,),
        code=ANY,
    ),
    told(
        "a-bucket",
        "names of buckets",
        on("list-containers", in_list("<Bucket><Name>{}</Name></Bucket>".format, "</Buckets>")),
        lines=("ls s3://", "du s3://"),
        code=ANY,
    ),
)
