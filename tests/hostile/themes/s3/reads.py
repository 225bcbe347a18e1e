"""Ranges of objects that do not belong together, or are not what was asked for, and checksums of them."""

from __future__ import annotations

from dataclasses import replace

from hostile.bends import READS, also, body, first, header, on, status, when
from hostile.case import LARGE, Case, Line
from hostile.documents import crc_header
from hostile.objects import CHECKSUM, KIND, Object, read
from hostile.service import Said
from hostile.themes import reads
from hostile.themes.differences import finds
from hostile.themes.reads import LATER, RANGE, UNREADABLE, one_version, ranged
from hostile.themes.s3.common import CAT, DOWN as TREE, FILE, of_s3, s3, spelled
from hostile.wire import Answer, Request

#: To compare an object with a file, S3's checksum of the whole is enough, so that nobody reads ranges.
DOWN, VERIFY = spelled(reads.DOWN), "verify"
LOOKS = (DOWN, "cat s3://data/large")


def versions(request: Request, answer: Answer) -> Said:
    """Answer with another version from the second range on, honestly, whatever the condition."""
    if request.range is None or request.turn == 1:
        return answer
    return read(request, Object(LATER, f"version-{request.turn}"))


def versions_of_one_name(request: Request, answer: Answer) -> Said:
    """The same, but called the same version."""
    said = versions(request, answer)
    return said.having("ETag", answer.header("ETag")) if isinstance(said, Answer) else said


def shorter(request: Request, answer: Answer) -> Said:
    """Answer with a later version that is shorter."""
    return answer if request.range is None else read(request, Object(LARGE[:-100], "shorter"))


def whole(_: Request, answer: Answer) -> Said:
    """Answer with the whole object to who asked for a range."""
    return replace(answer.with_body(LARGE).having(RANGE, None), status=200)


def first_range(request: Request, answer: Answer) -> Said:
    """Answer with the first range, called the one that was asked for."""
    return answer.with_body(LARGE[: len(answer.body)]) if request.range else answer


def of_another(_: Request, answer: Answer) -> Said:
    """Answer with another object of the same size, all of it honest."""
    other = LARGE[: len(answer.body)]
    return answer.with_body(other).having("ETag", '"other"').having(CHECKSUM, crc_header(other))


def of_parts(_: Request, answer: Answer) -> Said:
    """State a checksum of the checksums of parts."""
    return answer.having(CHECKSUM, f"{crc_header(b'other')}-3").having(KIND, "COMPOSITE")


VERSIONS = (
    s3(
        "versions-mixed",
        "`If-Match` ignored: each range is of another version, and says so by its ETag",
        DOWN,
        Line("cat s3://data/large", (0, 6), "source_changed"),
        bends=on("get", versions),
        code=6,
        kind="source_changed",
        must="no file is made of two versions",
        check=one_version,
    ),
    s3(
        "versions-mixed-under-one-etag",
        "Ranges of two versions with one ETag, of an object whose CRC64 is stored with it",
        DOWN,
        bends=on("get", versions_of_one_name),
        code=5,
        kind="integrity",
        must="no file is made of two versions",
        slow=True,
    ),
    s3(
        "version-shorter",
        "A later version that is shorter, and `If-Match` ignored",
        *LOOKS,
        bends=on("get", shorter),
        code=6,
        kind="source_changed",
    ),
    s3(
        "answer-to-another",
        "Another object than the one that was asked for, of the same size, with its own ETag and checksum",
        FILE,
        CAT,
        TREE,
        bends=on("get", of_another),
        code=6,
        kind="source_changed",
        must="no file has its content",
    ),
)

RANGES = (
    *(
        replace(case, lines=tuple(line for line in case.lines if VERIFY not in str(line)))
        for case in of_s3(
            reads.RANGES, "range-twice", "range-ignored", "range-of-a-larger", "range-in-chunks"
        )
    ),
    s3(
        "range-ignored",
        "The whole object and status 200 where a range was asked for",
        *LOOKS,
        bends=on("get", whole),
    ),
    s3(
        "range-of-a-larger-whole",
        "A range of an object that has become larger, with the same ETag",
        *LOOKS,
        bends=on(
            "get", when(lambda asked: asked.range is not None, header(RANGE, ranged(lambda text: text + "0")))
        ),
        code=(1, 5, 6),
        kind="protocol integrity source_changed",
        slow=True,
    ),
    s3(
        "range-twice",
        "Always the first range, whichever is asked for; the object's CRC64 is stored",
        DOWN,
        bends=on("get", first_range),
        code=5,
        kind="integrity",
        slow=True,
    ),
)

CHECKSUMS = (
    s3(
        "checksum-wrong",
        "A checksum that is not that of the bytes",
        DOWN,
        FILE,
        TREE,
        bends=on(*READS, header(CHECKSUM, crc_header(b"other bytes"))),
        code=5,
        kind="integrity",
        slow=True,
    ),
    s3(
        "bytes-wrong",
        "Bytes that are not those of the checksum that is stored with them",
        DOWN,
        FILE,
        TREE,
        bends=on("get", body(lambda data: data[:-1] + b"?")),
        code=5,
        kind="integrity",
        slow=True,
    ),
    s3(
        "bytes-wrong-once",
        "The same, but only the first two times",
        FILE,
        TREE,
        bends=on("get", first(2, body(lambda data: data[:-1] + b"?"))),
        code=0,
        must="they are asked for again",
    ),
    s3(
        "checksum-missing",
        "No checksum, though one was asked for",
        DOWN,
        FILE,
        TREE,
        bends=on(*READS, header(CHECKSUM, None)),
        code=0,
        proof="length",
        must="the proof is `length`, and nobody says that bytes were checked",
    ),
    s3(
        "checksum-of-parts",
        "A checksum of the checksums of parts, which says nothing of the whole",
        DOWN,
        FILE,
        TREE,
        bends=on(*READS, of_parts),
        code=0,
        proof="length",
        must="the proof is `length`, and nobody says that bytes were checked",
    ),
    *(
        s3(
            f"checksum-{name}",
            f"A checksum that cannot be read: `{text}`",
            FILE,
            TREE,
            bends=on(*READS, header(CHECKSUM, text)),
            code=0,
            proof="length",
            must="the proof is `length`, and nobody says that bytes were checked",
        )
        for name, text in UNREADABLE.items()
    ),
    *(
        s3(
            f"twice-{name.lower()}",
            f"`{name}` twice, with two values",
            FILE,
            bends=on("get", also(name, value)),
            must="the first is not believed",
        )
        for name, value in (("ETag", '"other"'), (CHECKSUM, crc_header(b"12345678")))
    ),
)

DIFFERENCES = (
    s3(
        "difference-unknown",
        "An object that cannot be read while it is compared",
        "verify s3://data/tree/ up/",
        "verify up/ s3://data/tree/",
        bends=on("get", when(lambda asked: asked.key == "tree/b", status(409))),
        kind="service exists",
        must="it is called `failed`, not different",
        check=finds(failed=1),
    ),
)

CASES: tuple[Case, ...] = (*VERSIONS, *RANGES, *CHECKSUMS, *DIFFERENCES)
