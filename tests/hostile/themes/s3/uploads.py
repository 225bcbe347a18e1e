"""Uploads that begin oddly, and parts and uploads that are said to be there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

from hostile.bends import body, edit, endless, on, status, stream
from hostile.blobs import XML
from hostile.case import HUGE, Case
from hostile.documents import crc_header, part_entry, parts_page, upload_entry, uploads_page
from hostile.objects import PART, pieces
from hostile.run import Ran
from hostile.service import Bend, Said
from hostile.themes.lists import HTML, XHTML
from hostile.themes.s3.common import PARTS, s3
from hostile.themes.s3.writes import error, is_there, ok
from hostile.wire import Answer, Request

PIECES = pieces(HUGE)
#: An id could change what is asked for, if it were not escaped.
CUNNING = "x&partNumber=9&uploads=/../other#%26+"
Part = tuple[object, object, str, str]


def left(*parts: Part, algorithm: str = "CRC64NVME", key: str = "tree/new", upload: str = "left") -> Bend:
    """Tell of an upload that is left, and of these parts of it: number, size, ETag and checksum."""
    return left_as(
        lambda asked: parts_page(asked, (part_entry(*part) for part in parts), algorithm=algorithm),
        key,
        upload,
    )


def left_as(told: Callable[[Request], bytes], key: str = "tree/new", upload: str = "left") -> Bend:
    """Tell of an upload that is left, and this of its parts."""

    def bent(request: Request, answer: Answer) -> Said:
        if request.api == "uploads":
            return ok(uploads_page(request, [upload_entry(key, upload)]))(request, answer)
        # The answer to a list of parts of an upload that is not there is a refusal.
        return ok(told(request))(request, answer)

    return on("uploads", "blocks", bent)


def true_part(number: int) -> Part:
    """Return a part as it would be if it had arrived."""
    piece = PIECES[number - 1]
    return number, len(piece), hashlib.md5(piece).hexdigest(), crc_header(piece)


def parts_case(name: str, does: str, *parts: Part, **more: object) -> Case:
    """Return the case of parts that are said to be there."""
    told: dict[str, object] = {"code": 0, "must": "they are sent again", "check": is_there} | more
    return s3(f"parts-{name}", does, PARTS, bends=left(*parts), **told)


def broken(name: str, does: str, told: Callable[[Request], bytes]) -> Case:
    """Return the case of a list of parts that is none."""
    return s3(f"parts-{name}", does, PARTS, bends=left_as(told))


def begun_as(upload: str) -> Bend:
    """Answer to the beginning of an upload with another id."""

    def bent(request: Request, answer: Answer) -> Said:
        if request.api == "begin":
            root = "InitiateMultipartUploadResult"
            return ok(f"<{root}><UploadId>{upload}</UploadId></{root}>".encode())(request, answer)
        return answer

    return bent


def _a_million(_: Request) -> Iterator[bytes]:
    yield b"<ListPartsResult><IsTruncated>false</IsTruncated>"
    for start in range(1, 60_000, 1000):
        yield "".join(part_entry(n, 1) for n in range(start, start + 1000)).encode()
    yield b"</ListPartsResult>"


def _asks_with_the_id(ran: Ran) -> Iterable[str]:
    for request in ran.service.asked("put-block", "commit", "abort"):
        if request.query.get("uploadId") != CUNNING.replace("&amp;", "&") or request.key != "tree/new":
            yield f"it asked for {request.target}"


#: Of what was begun nobody tells, so that it cannot be gone on with.
FRESH = on("uploads", lambda asked, said: said.with_body(uploads_page(asked, ())))

BEGUN = (
    *(
        s3(
            f"begin-status-{number}",
            f"Status {number} for a new upload, where 200 is the only success",
            PARTS,
            bends=(on("begin", status(number)), FRESH),
        )
        for number in (201, 202, 204)
    ),
    s3(
        "begin-html",
        "An HTML page for a new upload",
        PARTS,
        bends=(on("begin", body(HTML, "text/html")), FRESH),
    ),
    s3(
        "begin-xhtml",
        "The same as well-formed XML, and called XML",
        PARTS,
        bends=(on("begin", body(XHTML)), FRESH),
    ),
    s3(
        "begin-of-another",
        "A new upload of another object",
        PARTS,
        bends=(on("begin", edit("tree/new", "q/victim")), FRESH),
    ),
    s3(
        "begin-with-200-and-an-error",
        "Status 200 and an error for a new upload",
        PARTS,
        bends=(on("begin", body(error("AccessDenied"))), FRESH),
        code=(1, 3),
        kind="permission service protocol",
    ),
    *(
        s3(f"begin-with-id-{name}", f"A new upload whose id is {what}", PARTS, bends=(begun_as(text), FRESH))
        for name, what, text in (
            ("of-nothing", "empty", ""),
            ("of-5000-bytes", "5,000 bytes long", "u" * 5000),
            ("with-a-line-break", "two lines, the second a header", "u&#13;&#10;x-amz-acl: public-read"),
            ("with-a-mark", "the name of another upload", "u?uploadId=other"),
            ("of-u-202e", "a character that turns text round", "u\u202e"),
        )
    ),
    s3(
        "begin-with-id-cunning",
        "A new upload whose id says `&partNumber=9` and `/../`",
        PARTS,
        bends=(begun_as(CUNNING.replace("&", "&amp;")), FRESH),
        code=(1, 4),
        kind="service not_found protocol",
        must="it is sent back as it is, and changes nothing else",
        check=_asks_with_the_id,
    ),
)

LEFT = (
    s3(
        "uploads-html",
        "An HTML page in place of a list of uploads",
        PARTS,
        "clean s3://data/tree/",
        "clean s3://data",
        bends=on("uploads", body(HTML, "text/html")),
    ),
    s3(
        "uploads-xhtml",
        "The same as well-formed XML, and called XML",
        PARTS,
        "clean s3://data/tree/",
        bends=on("uploads", body(XHTML)),
    ),
    s3(
        "uploads-endless",
        "A list of uploads that never ends",
        PARTS,
        "clean s3://data/tree/",
        bends=on("uploads", endless(b"<ListMultipartUploadsResult>", upload_entry("tree/new", "u").encode())),
    ),
    s3(
        "uploads-without-end",
        "A list of uploads that does not say whether more follow",
        PARTS,
        "clean s3://data/tree/",
        bends=on("uploads", edit("<IsTruncated>false</IsTruncated>", "")),
    ),
    s3(
        "uploads-that-lead-nowhere",
        "A list of uploads that says more follow, and not where",
        PARTS,
        "clean s3://data/tree/",
        bends=on("uploads", edit("<IsTruncated>false", "<IsTruncated>true")),
    ),
    s3(
        "uploads-marker-repeats",
        "Each page of a list of uploads names the same next page",
        "clean s3://data/tree/",
        "rb --force s3://data",
        blobs={"data/q": b""},
        bends=on("uploads", lambda asked, said: said.with_body(uploads_page(asked, [], ("tree/x", "u")))),
        deletes=True,
        must="it ends",
    ),
    s3(
        "uploads-always-new",
        "The same upload on page after page, each with a new marker",
        "clean s3://data/tree/",
        "rb --force s3://data",
        blobs={"data/q": b""},
        bends=on(
            "uploads",
            lambda asked, said: said.with_body(
                uploads_page(asked, [upload_entry("tree/x", "u")], (f"tree/{asked.turn}", "u"))
            ),
        ),
        deletes=True,
        must="it ends",
    ),
    s3(
        "uploads-outside",
        "An upload that does not lie below the prefix that was asked for",
        PARTS,
        "clean s3://data/tree/",
        bends=on(
            "uploads",
            body(lambda data: data.replace(b"</List", upload_entry("q/victim", "u").encode() + b"</List")),
        ),
        must="it is not removed",
    ),
    *(
        s3(
            f"uploads-with-id-{name}",
            f"An upload whose id is {what}",
            PARTS,
            "clean s3://data/tree/",
            bends=on(
                "uploads",
                body(
                    lambda data, text=text: data.replace(  # type: ignore[misc]
                        b"</List", upload_entry("tree/new", text).encode() + b"</List"
                    )
                ),
            ),
        )
        for name, what, text in (
            ("of-nothing", "empty", ""),
            ("of-5000-bytes", "5,000 bytes long", "u" * 5000),
            ("with-a-line-break", "two lines", "u\r\nx: y"),
            ("with-a-mark", "the name of another upload", "u?uploadId=other"),
        )
    ),
    s3(
        "uploads-of-nobody",
        "An upload that is said to be left, and is not there",
        PARTS,
        code=0,
        bends=on(
            "uploads",
            body(lambda data: data.replace(b"</List", upload_entry("tree/new", "gone").encode() + b"</List")),
        ),
        must="another is begun",
        check=is_there,
    ),
)

STAGED = (
    broken("html", "An HTML page in place of a list of parts", lambda _: HTML),
    broken("xhtml", "The same as well-formed XML", lambda _: XHTML),
    broken("half", "Half a list of parts", lambda asked: parts_page(asked, [part_entry(1, PART)])[:-30]),
    broken(
        "without-end",
        "A list of parts that does not say whether more follow",
        lambda asked: parts_page(asked, []).replace(b"<IsTruncated>false</IsTruncated>", b""),
    ),
    broken(
        "of-another-upload",
        "The parts of another upload",
        lambda asked: parts_page(asked, []).replace(b"<UploadId>left", b"<UploadId>other"),
    ),
    broken(
        "of-another-object",
        "The parts of another object",
        lambda asked: parts_page(asked, []).replace(b"<Key>tree/new", b"<Key>q/victim"),
    ),
    broken(
        "that-lead-nowhere",
        "A page of parts that names the same next page for ever",
        lambda asked: parts_page(asked, [part_entry(1, PART)], 1),
    ),
    broken(
        "that-go-back",
        "A page of parts whose next begins before its last",
        lambda asked: parts_page(asked, [part_entry(1, PART), part_entry(2, PART)], 1),
    ),
    broken(
        "of-empty-pages",
        "Pages of no part, each with a new marker",
        lambda asked: parts_page(asked, [], int(asked.query.get("part-number-marker", "0")) + 1),
    ),
    broken("twice", "The same part twice", lambda asked: parts_page(asked, [part_entry(1, PART)] * 2)),
    broken("number-0", "A part of number 0", lambda asked: parts_page(asked, [part_entry(0, PART)])),
    broken(
        "number-beyond",
        "A part of number 65,536",
        lambda asked: parts_page(asked, [part_entry(1 << 16, PART)]),
    ),
    broken(
        "size-beyond-numbers",
        "A part of 2^64 bytes",
        lambda asked: parts_page(asked, [part_entry(1, 1 << 64)]),
    ),
    broken(
        "size-missing",
        "A part of no size",
        lambda asked: parts_page(asked, [part_entry(1, "S").replace("<Size>S</Size>", "")]),
    ),
    broken(
        "without-etag", "A part without an ETag", lambda asked: parts_page(asked, [part_entry(1, PART, "")])
    ),
    s3(
        "parts-a-million",
        "60,000 parts on a page, where an upload may have 10,000",
        PARTS,
        bends=(left(), on("blocks", stream(_a_million, Content_Type=XML))),
    ),
    s3(
        "parts-endless",
        "A list of parts that never ends",
        PARTS,
        bends=(left(), on("blocks", endless(b"<ListPartsResult>", part_entry(1, 1).encode()))),
        must="no more than 4 MiB of it are read",
    ),
    parts_case(
        "without-checksums",
        "Parts without the checksum that was declared for them",
        *((number, len(PIECES[number - 1]), "e", "") for number in (1, 2)),
    ),
    parts_case(
        "of-odd-sizes",
        "Parts of sizes that no upload of this object has",
        (1, 3, "e", "AAAAAAAAAAA="),
        (2, 1 << 40, "e", "AAAAAAAAAAA="),
        (9999, 7, "e", "AAAAAAAAAAA="),
    ),
    parts_case(
        "of-other-bytes",
        "Parts of the right sizes, with checksums of other bytes",
        *((number, len(PIECES[number - 1]), "e", crc_header(b"other")) for number in (1, 2, 3)),
        code=(0, 1),
        kind="service",
        must="they are sent again, or the upload fails by name",
    ),
    parts_case(
        "that-are-not-there",
        "Parts that are said to be there, with the right checksums, and are not",
        *(true_part(number) for number in (1, 2, 3)),
        code=(0, 1),
        kind="service",
        must="the object is whole, or nobody says that it was stored",
    ),
    s3(
        "parts-with-checksums-unreadable",
        "Parts whose checksums cannot be read",
        PARTS,
        bends=left(*((number, len(PIECES[number - 1]), "e", "odd") for number in (1, 2))),
        code=0,
        must="they are sent again",
        check=is_there,
    ),
    s3(
        "parts-of-another-algorithm",
        "Parts of an upload for which another checksum was declared",
        PARTS,
        bends=left(true_part(1), algorithm="MD4"),
        code=0,
        must="another upload is begun",
        check=is_there,
    ),
)


CASES: tuple[Case, ...] = (*BEGUN, *LEFT, *STAGED)
