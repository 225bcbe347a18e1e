"""Ranges of blobs that do not belong together, or are not what was asked for, and checksums of them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from dataclasses import replace

from crc64 import crc64
from hostile.bends import body, edit, first, header, on, status, when
from hostile.blobs import Blob, crc_header, read
from hostile.case import LARGE, TREE as FILES, Case, Line
from hostile.run import Ran
from hostile.service import Said
from hostile.themes.heads import TREE
from hostile.themes.statuses import FILE
from hostile.wire import Answer, Request

DOWN = "cp az://data/large down/ --block-size 64KiB --method ranges"
VERIFY = "verify az://data/large big --block-size 64KiB --method ranges"
READS = (DOWN, "cat az://data/large", VERIFY)
#: Another version of it.
LATER = bytes(255 - byte for byte in LARGE)
#: A CRC64 as an integer of 8 bytes in Base64 has 12 characters; these are none.
UNREADABLE = {
    "short": base64.b64encode(b"1234").decode(),
    "long": base64.b64encode(b"123456789").decode(),
    "not-base64": "not a checksum",
    "empty": "",
    "hexadecimal": "ae8b14860a799888",
}
#: What a list says of the only blob below `tree/deep/`.
LISTED = f"<haulage_crc64>{crc64(FILES['deep/c']):016x}</haulage_crc64>"
CHECKSUM, RANGE, STORED = "x-ms-content-crc64", "Content-Range", "x-ms-meta-haulage_crc64"


def versions(request: Request, answer: Answer) -> Said:
    """Answer with another version of the blob from the second range on, honestly, whatever the condition."""
    if request.range is None or request.turn == 1:
        return answer
    return read(request, Blob(LATER, f"0xVERSION{request.turn}"))


def versions_of_one_name(request: Request, answer: Answer) -> Said:
    """The same, but called the same version."""
    said = versions(request, answer)
    return said.having("ETag", answer.header("ETag")) if isinstance(said, Answer) else said


def shorter(request: Request, answer: Answer) -> Said:
    """Answer with a later version that is shorter."""
    return answer if request.range is None else read(request, Blob(LARGE[:-100], "0xSHORTER"))


def whole(_: Request, answer: Answer) -> Said:
    """Answer with the whole blob to who asked for a range."""
    said = answer.with_body(LARGE).having(RANGE, None).having(CHECKSUM, None)
    return replace(said, status=200)


def in_chunks_too(_: Request, answer: Answer) -> Said:
    """Say the length and then a body in chunks, which has another."""
    said = answer.having(CHECKSUM, None).having("Transfer-Encoding", "chunked")
    return (said.head(), b"3\r\nabc\r\n0\r\n\r\n")


def first_range(request: Request, answer: Answer) -> Said:
    """Answer with the first range, called the one that was asked for."""
    part = LARGE[: len(answer.body)]
    return answer.with_body(part).having(CHECKSUM, crc_header(part)) if request.range else answer


def ranged(change: Callable[[str], str]) -> Callable[[Request, Answer], str]:
    """Return the header of the range, changed."""
    return lambda _, answer: change(answer.header(RANGE))


def one_version(ran: Ran) -> Iterable[str]:
    """What was written to standard output is the beginning of one version."""
    if ran.verb == "cat" and not any(
        v.startswith(ran.stdout) for v in (LARGE, bytes(255 - b for b in LARGE))
    ):
        yield f"the {len(ran.stdout)} bytes that it wrote are of two versions"


VERSIONS = (
    Case(
        "versions-mixed",
        "`If-Match` ignored: each range is of another version, and says so by its ETag",
        # It fits into one range of `cat`, which may be of the version that was asked for.
        lines=(DOWN, Line("cat az://data/large", (0, 6), "source_changed"), VERIFY),
        bends=on("get", versions),
        code=6,
        kind="source_changed",
        must="no file is made of two versions",
        seen=4,
        check=one_version,
    ),
    Case(
        "versions-mixed-under-one-etag",
        "Ranges of two versions with one ETag, of a blob whose CRC64 is stored with it",
        lines=(DOWN,),
        bends=(on("get", versions_of_one_name), on("head", "get", header(STORED, f"{crc64(LARGE):016x}"))),
        code=5,
        kind="integrity",
        must="no file is made of two versions",
        slow=True,
    ),
    Case(
        "version-shorter",
        "A later version that is shorter, and `If-Match` ignored",
        lines=READS,
        bends=on("get", shorter),
        code=6,
        kind="source_changed",
        seen=4,
    ),
)

RANGES = (
    Case(
        "range-in-chunks-with-a-length",
        "A range whose length is told, and that comes in chunks, which hold less",
        lines=(DOWN, FILE, "cat az://data/large", VERIFY),
        bends=on("get", in_chunks_too),
        kind="protocol",
        must="it is not taken for the whole",
    ),
    Case(
        "whole-called-a-range",
        "A range in what is said of a blob in whole, which gives it another size",
        lines=("stat az://data/tree/a",),
        bends=on("head", header(RANGE, "bytes 0-4/5")),
        kind="protocol",
    ),
    Case(
        "range-ignored",
        "The whole blob and status 200 where a range was asked for",
        lines=READS,
        bends=on("get", whole),
        kind="protocol",
    ),
    Case(
        "range-called-whole",
        "A range with status 200",
        lines=READS,
        bends=on("get", when(lambda asked: asked.range is not None, status(200))),
        kind="protocol",
    ),
    Case(
        "range-unsaid",
        "A range that does not say which it is",
        lines=READS,
        bends=on("get", header(RANGE, None)),
        kind="protocol",
    ),
    Case(
        "range-of-another-place",
        "A range that begins a byte later",
        lines=READS,
        bends=on("get", header(RANGE, ranged(lambda text: text.replace("bytes ", "bytes 1")))),
        kind="protocol",
    ),
    Case(
        "range-of-apples",
        "A range that is not counted in bytes",
        lines=READS,
        bends=on("get", header(RANGE, ranged(lambda text: text.replace("bytes", "apples")))),
        kind="protocol",
    ),
    Case(
        "range-of-unknown-whole",
        "A range of a blob of unknown size",
        lines=READS,
        bends=on("get", header(RANGE, ranged(lambda text: text.partition("/")[0] + "/*"))),
        kind="protocol",
    ),
    Case(
        "range-of-a-larger-whole",
        "A range of a blob that has become larger, with the same ETag",
        lines=READS,
        bends=on("get", header(RANGE, ranged(lambda text: text + "0"))),
        code=(1, 5),
        kind="protocol integrity",
        slow=True,
    ),
    Case(
        "range-of-negative-length",
        "A range that ends before it begins",
        lines=READS,
        bends=on("get", header(RANGE, ranged(lambda text: text.replace("-", "-0/1-")))),
        kind="protocol",
    ),
    Case(
        "range-twice",
        "Always the first range, whichever is asked for, with a true checksum; the blob's CRC64 is stored",
        lines=(DOWN,),
        bends=(on("get", first_range), on("head", "get", header(STORED, f"{crc64(LARGE):016x}"))),
        code=5,
        kind="integrity",
        slow=True,
    ),
)

CHECKSUMS = (
    Case(
        "checksum-wrong",
        "A checksum that is not that of the bytes",
        lines=(DOWN, FILE, TREE),
        bends=on("get", header(CHECKSUM, crc_header(b"other bytes"))),
        code=5,
        kind="integrity",
        slow=True,
    ),
    Case(
        "checksum-wrong-once",
        "The same, but only the first two times",
        lines=(DOWN, FILE, "cat az://data/large"),
        bends=on("get", first(2, header(CHECKSUM, crc_header(b"other bytes")))),
        code=0,
        must="it is asked again",
    ),
    Case(
        "bytes-wrong",
        "Bytes that are not those of their checksum",
        lines=(DOWN, FILE, TREE),
        bends=on("get", body(lambda data: data[:-1] + b"?")),
        code=5,
        kind="integrity",
        slow=True,
    ),
    Case(
        "checksum-missing",
        "No checksum, though one was asked for, of blobs that have none stored",
        lines=(DOWN, FILE, TREE),
        bends=on("get", header(CHECKSUM, None)),
        code=0,
        proof="length",
        must="the proof is `length`, and nobody says that bytes were checked",
    ),
    *(
        Case(
            f"checksum-{name}",
            f"A checksum that cannot be read: `{text}`",
            lines=(DOWN, FILE, TREE),
            bends=on("get", header(CHECKSUM, text)),
            code=0,
            proof="length",
            must="the proof is `length`, and nobody says that bytes were checked",
            seen=17,
        )
        for name, text in UNREADABLE.items()
    ),
    Case(
        "checksum-of-the-list-alone",
        "A CRC64 in the list that no answer repeats, and other bytes than it is of",
        lines=("cp az://data/tree/deep/ down/", "cp az://data/tree/deep/ down/ --method ranges"),
        bends=(
            on("list", edit("<Metadata></Metadata>", f"<Metadata>{LISTED}</Metadata>")),
            on("get", header(CHECKSUM, None), body(lambda data: data[:-1] + b"?")),
        ),
        code=5,
        kind="integrity",
        must="what the list states is compared, or it is no proof",
        slow=True,
    ),
    Case(
        "checksum-of-another-list",
        "A CRC64 in the list, and another in the answer, of one version",
        lines=("cp az://data/tree/deep/ down/",),
        bends=(
            on("list", edit("<Metadata></Metadata>", f"<Metadata>{LISTED}</Metadata>")),
            on("get", header(STORED, "00000000000000ff")),
        ),
        code=5,
        kind="integrity",
        slow=True,
    ),
    Case(
        "checksum-stored-wrong",
        "A blob whose stored CRC64 is not that of its bytes",
        lines=(FILE,),
        bends=on("head", "get", header(STORED, "00000000000000ff")),
        code=5,
        kind="integrity",
        slow=True,
    ),
    Case(
        "md5-stored-wrong",
        "A blob whose stored MD5 is not that of its bytes, and no CRC64 for any",
        lines=(FILE,),
        bends=(
            on("head", "get", header("Content-MD5", base64.b64encode(bytes(16)).decode())),
            on("get", header(CHECKSUM, None)),
        ),
        code=5,
        kind="integrity",
        slow=True,
    ),
)

CASES = (*VERSIONS, *RANGES, *CHECKSUMS)
