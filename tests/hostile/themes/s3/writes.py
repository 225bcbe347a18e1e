"""Uploads that are answered oddly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, repeat

from hostile.bends import MIB, body, cut, edit, first, header, on, status
from hostile.blobs import XML
from hostile.case import HUGE, Case
from hostile.documents import crc_header
from hostile.objects import CHECKSUM
from hostile.run import Ran
from hostile.service import Bend
from hostile.themes.lists import HTML, XHTML
from hostile.themes.reads import UNREADABLE
from hostile.themes.s3.common import PARTS, UP, UPLOADS, s3
from hostile.themes.statuses import refuse
from hostile.wire import CLOSE, Answer, Piece, Request

MADE = ("put", "put-block")


def ok(data: bytes, content_type: str = XML) -> Bend:
    """Answer with a document and status 200, whatever the honest answer is."""
    answer = Answer(200, (("Content-Type", content_type),)).with_body(data)
    return lambda _request, _answer: answer


def error(code: str, before: str = "") -> bytes:
    """Return an error's document."""
    return f"{before}<Error><Code>{code}</Code><Message>It failed after all.</Message></Error>".encode()


def is_there(ran: Ran) -> Iterable[str]:
    """What was uploaded is whole at the service."""
    there = ran.service.blobs.containers["data"].get("tree/new")
    if ran.code == 0 and (there is None or there.content != HUGE):
        yield "it ended with 0, and tree/new is not at the service as it should be"


def _never_done(_: Request, answer: Answer) -> Iterator[Piece]:
    """Say spaces for ever, as a service does that has not finished yet."""
    head = answer.having("Content-Length", None).head()
    return chain([head, b'<?xml version="1.0"?>'], repeat(b" " * MIB, 400), (CLOSE,))


STATUSES = (
    *(
        s3(
            f"{name}-status-{number}",
            f"Status {number} for {what}, where 200 is the only success",
            *lines,
            bends=on(api, status(number)),
            must="nobody says that it was stored",
        )
        for name, what, api, lines in (
            ("put", "an object", "put", (UP, "cp up/ s3://data/new/")),
            ("part", "a part", "put-block", (PARTS,)),
            ("commit", "the completion of an upload", "commit", (PARTS,)),
            ("make", "a new bucket", "make", ("mb s3://other",)),
        )
        for number in (201, 202, 204)
    ),
    s3(
        "put-html",
        "An HTML page with status 200 for an upload",
        *UPLOADS,
        bends=on(*MADE, "commit", body(HTML, "text/html")),
    ),
    s3(
        "put-error",
        "An error's document with status 200 for an upload or a part",
        *UPLOADS,
        bends=on(*MADE, body(error("InternalError"))),
        kind="protocol service",
    ),
    s3("stored-without-etag", "No ETag for what was stored", *UPLOADS, bends=on(*MADE, header("ETag", None))),
)

CHECKSUMS = (
    s3(
        "echo-missing",
        "No word of what was received: no checksum in the answers to uploads",
        UP,
        "cp up/ s3://data/new/",
        bends=on(*MADE, header(CHECKSUM, None)),
        code=0,
        proof="sent",
        must="the proof is `sent`, and nobody says that bytes were checked",
    ),
    *(
        s3(
            f"echo-{name}",
            f"A checksum of what was received that cannot be read: `{text}`",
            UP,
            bends=on(*MADE, header(CHECKSUM, text)),
            code=0,
            proof="sent",
            must="the proof is `sent`, and nobody says that bytes were checked",
        )
        for name, text in UNREADABLE.items()
    ),
    s3(
        "echo-wrong",
        "A checksum of what was received that is not that of what was sent",
        *UPLOADS,
        bends=on(*MADE, header(CHECKSUM, crc_header(b"other bytes"))),
        code=5,
        kind="integrity",
        slow=True,
    ),
    s3(
        "echo-wrong-once",
        "The same, but only the first time",
        *UPLOADS,
        bends=on(*MADE, first(1, header(CHECKSUM, crc_header(b"other bytes")))),
        code=0,
        must="it is sent again",
    ),
)

COMPLETED = (
    *(
        s3(
            f"commit-failed-with-200-{name}",
            f"Status 200 for the completion of an upload, and {what}",
            PARTS,
            bends=on("commit", ok(data)),
            code=(1, 5),
            kind=kind,
            must="nobody says that it was stored",
            **more,
        )
        for name, what, data, kind, more in (
            ("at-once", "an error: `InvalidPartOrder`", error("InvalidPartOrder"), "service", {"tries": 1}),
            (
                "after-spaces",
                "after spaces and a declaration an error",
                error("InvalidPartOrder", "<?xml version='1.0'?>\n" + " " * 10_000),
                "service",
                {"tries": 1},
            ),
            (
                "for-ever",
                "an error to be tried again, `InternalError`, for ever",
                error("InternalError"),
                "service",
                {"slow": True, "tries": 10},
            ),
            (
                "busy",
                "an error to be tried again, `SlowDown`, for ever",
                error("SlowDown"),
                "busy",
                {"slow": True, "tries": 10},
            ),
            (
                "cut",
                "half an error",
                error("InternalError")[:-30],
                "protocol service",
                {"slow": True, "tries": 10},
            ),
            ("of-nothing", "nothing more", b"", "protocol", {}),
            ("xhtml", "a page of XHTML", XHTML, "protocol", {}),
            (
                "of-another",
                "what a copy comes to",
                b"<CopyObjectResult><ETag>e</ETag></CopyObjectResult>",
                "protocol",
                {},
            ),
            (
                "without-etag",
                "no ETag",
                b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>",
                "protocol",
                {},
            ),
        )
    ),
    s3(
        "commit-failed-with-200-once",
        "Status 200 for the completion of an upload, and an error, once",
        PARTS,
        bends=on("commit", first(1, ok(error("InternalError")))),
        code=(0, 1),
        kind="service",
        must="it is asked for again; what was made by then is looked at",
        check=is_there,
    ),
    s3(
        "commit-of-other-bytes",
        "An upload whose completion states another checksum than that of its parts",
        PARTS,
        bends=on(
            "commit",
            edit("<ChecksumCRC64NVME>", "<ChecksumCRC64NVME>AAAAAAAAAAA=</ChecksumCRC64NVME><Other>"),
            edit("=</ChecksumCRC64NVME><ChecksumType>", "=</Other><ChecksumType>"),
        ),
        code=5,
        kind="integrity",
        slow=True,
    ),
    s3(
        "commit-endless",
        "Spaces without end for the completion of an upload",
        PARTS,
        bends=on("commit", status(200), _never_done),
        must="no more than 1 MiB of them is read",
    ),
    s3(
        "commit-cut",
        "The connection is closed in the middle of the answer to the completion",
        PARTS,
        bends=on("commit", first(1, cut(CLOSE))),
        code=0,
        must="it is asked for again, and what was made by then is looked at",
        check=is_there,
    ),
    s3(
        "commit-upload-gone",
        "Status 404, `NoSuchUpload`, for the completion, of an object that is there",
        PARTS,
        bends=on("commit", refuse(404, "NoSuchUpload")),
        code=0,
        must="it is looked at, and is whole",
        check=is_there,
    ),
    s3(
        "commit-upload-gone-and-another-there",
        "The same, and what is there has another checksum",
        PARTS,
        bends=(on("commit", refuse(404, "NoSuchUpload")), on("head", header(CHECKSUM, crc_header(b"other")))),
        kind="service",
        must="nobody says that it was stored",
    ),
)

CASES: tuple[Case, ...] = (*STATUSES, *CHECKSUMS, *COMPLETED)
