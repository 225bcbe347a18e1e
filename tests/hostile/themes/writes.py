"""Uploads that are answered oddly, and blocks that are said to be there."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat

from crc64 import crc64
from hostile.bends import WRITES, body, first, header, on, status, stream
from hostile.blobs import XML, block_list, block_list_pieces, crc_header
from hostile.case import LARGE, Case
from hostile.run import Ran
from hostile.service import Bend, Said, spoken
from hostile.themes.lists import HTML, XHTML
from hostile.themes.reads import CHECKSUM, UNREADABLE
from hostile.themes.statuses import BLOCKS, UP, refuse
from hostile.wire import RESET, Answer, Request

#: Where blocks begin, and how long they are.
OVERLAPPING = ((0, 70_000), (60_000, 70_000), (1 << 40, 1), ((1 << 64) - 1, 1 << 31), (0, 0))
UPLOADS = (UP, BLOCKS, "cp up/ az://data/new/")


def block_id(offset: int, size: int, crc64: int = 0) -> str:
    """Return the id of a block as we write it."""
    return base64.b64encode(f"h1{offset:016x}{size:08x}{crc64:016x}".encode()).decode()


def lists_blocks(blocks: Iterable[tuple[str, int]]) -> Bend:
    """List these blocks, in a body whose length is told."""
    return _ok(block_list(blocks))


def _ok(data: bytes, content_type: str = XML) -> Bend:
    answer = Answer(200, (("Content-Type", content_type),)).with_body(data)
    return lambda _request, _answer: answer


def a_million(_: Request) -> Iterator[bytes]:
    """List a million blocks, where a blob may have 50,000."""
    pieces = block_list_pieces((block_id(n, 1), 1) for n in range(1_000_000))
    while many := b"".join(islice(pieces, 10_000)):
        yield many


def without_end(_: Request) -> Iterator[bytes]:
    """List blocks without end."""
    piece = f"<Block><Name>{block_id(0, 1)}</Name><Size>1</Size></Block>".encode() * 10_000
    return chain([b"<BlockList><CommittedBlocks /><UncommittedBlocks>"], repeat(piece, 400))


def refused_early(request: Request, answer: Answer) -> Said:
    """Refuse, and reset the connection."""
    said = refuse(409, "Odd")(request, answer)
    return chain(spoken(request, said), (RESET,)) if isinstance(said, Answer) else said


def in_chunks(_: Request, answer: Answer) -> Said:
    """Say the answer with a page in chunks, where no body belongs."""
    said = answer.having("Content-Length", None).having("Transfer-Encoding", "chunked")
    return (said.head(), b"6\r\n<html>\r\n0\r\n\r\n")


def is_there(ran: Ran) -> Iterable[str]:
    """What was uploaded is whole at the service."""
    there = {key: blob.content for key, blob in ran.service.blobs.containers["data"].items()}
    wanted = {"tree/new": LARGE} if "big" in ran.line.text else {}
    wrong = [key for key, content in wanted.items() if ran.code == 0 and there.get(key) != content]
    if wrong:
        yield f"it ended with 0, and {wrong[0]} is not at the service as it should be"


STATUSES = (
    *(
        Case(
            f"{name}-status-{number}",
            f"Status {number} for {what}, where 201 is the only success",
            lines=lines,
            bends=on(api, status(number)),
            kind="protocol",
            must="nobody says that it was stored",
            seen=12,
        )
        for name, what, api, lines in (
            ("put", "a blob", "put", (UP, "cp up/ az://data/new/")),
            ("block", "a block", "put-block", (BLOCKS,)),
            ("commit", "the commit of blocks", "commit", (BLOCKS,)),
            ("make", "a new container", "make", ("mb az://other",)),
        )
        for number in (200, 202, 204)
    ),
    Case(
        "put-html",
        "An HTML page with status 200 for an upload",
        lines=UPLOADS,
        bends=on(*WRITES, body(HTML, "text/html"), status(200)),
        kind="protocol",
        seen=12,
    ),
    Case(
        "put-with-a-body-in-chunks",
        "An upload that is confirmed, with an HTML page in chunks",
        lines=UPLOADS,
        bends=on(*WRITES, in_chunks),
        kind="protocol",
    ),
    Case(
        "put-refused-early",
        "An upload refused before it has arrived, and the connection reset",
        lines=("cp big az://data/tree/new --method whole",),
        bends=on("put", refused_early),
        kind="service connection exists",
        slow=True,
    ),
)

CHECKSUMS = (
    Case(
        "echo-missing",
        "No word of what was received: no checksum in the answers to uploads",
        lines=UPLOADS,
        bends=on(*WRITES, header(CHECKSUM, None)),
        code=0,
        proof="sent",
        must="the proof is `sent`, and nobody says that bytes were checked",
        seen=12,
    ),
    *(
        Case(
            f"echo-{name}",
            f"A checksum of what was received that cannot be read: `{text}`",
            lines=UPLOADS,
            bends=on(*WRITES, header(CHECKSUM, text)),
            code=0,
            proof="sent",
            must="the proof is `sent`, and nobody says that bytes were checked",
            seen=17,
        )
        for name, text in UNREADABLE.items()
    ),
    Case(
        "echo-wrong",
        "A checksum of what was received that is not that of what was sent",
        lines=UPLOADS,
        bends=on(*WRITES, header(CHECKSUM, crc_header(b"other bytes"))),
        code=5,
        kind="integrity",
        slow=True,
    ),
    Case(
        "echo-wrong-once",
        "The same, but only the first time",
        lines=UPLOADS,
        bends=on(*WRITES, first(1, header(CHECKSUM, crc_header(b"other bytes")))),
        code=0,
        must="it is sent again",
        check=is_there,
    ),
    Case(
        "stored-without-etag",
        "No ETag for what was stored",
        lines=UPLOADS,
        bends=on("put", "commit", header("ETag", None)),
        kind="protocol",
    ),
)

STAGED = (
    Case(
        "blocks-a-million",
        "A million blocks that are said to be staged",
        lines=(BLOCKS,),
        bends=on("blocks", status(200), stream(a_million, Content_Type=XML)),
        kind="protocol",
        must="no more than 32 MiB of the list are read",
        seen=7,
        costly=True,
        large=True,
    ),
    Case(
        "blocks-endless",
        "A list of blocks that never ends",
        lines=(BLOCKS,),
        bends=on("blocks", status(200), stream(without_end, Content_Type=XML)),
        kind="protocol",
        must="no more than 32 MiB of it are read",
        seen=7,
    ),
    Case(
        "blocks-html",
        "An HTML page in place of a list of blocks",
        lines=(BLOCKS,),
        bends=on("blocks", _ok(HTML, "text/html")),
        kind="protocol",
        seen=6,
    ),
    Case(
        "blocks-xhtml",
        "The same as well-formed XML, and called XML",
        lines=(BLOCKS,),
        bends=on("blocks", _ok(XHTML)),
        kind="protocol",
        seen=6,
    ),
    Case(
        "blocks-half",
        "Half a list of blocks",
        lines=(BLOCKS,),
        bends=on("blocks", _ok(block_list([(block_id(0, 5), 5)])[:-20])),
        kind="protocol",
    ),
    Case(
        "blocks-foreign",
        "Blocks whose names are not of our kind, or nearly",
        lines=(BLOCKS,),
        bends=on(
            "blocks",
            lists_blocks(
                (name, 5)
                for name in ("", "AAAA", "!", block_id(0, 5)[:-4], block_id(0, 5) + "AAAA", "x" * 10_000)
            ),
        ),
        code=0,
        must="they are passed over",
        check=is_there,
    ),
    Case(
        "blocks-that-overlap",
        "Blocks that overlap, lie beyond the end, or end beyond all numbers",
        lines=(BLOCKS,),
        bends=on(
            "blocks",
            lists_blocks(
                (block_id(offset, size), size)
                for offset, size in (
                    (0, 70_000),
                    (60_000, 70_000),
                    (1 << 40, 1),
                    ((1 << 64) - 1, 1 << 31),
                    (0, 0),
                )
            ),
        ),
        code=(0, 1),
        kind="service protocol integrity source_changed",
        must="the blob is whole, or nothing is committed",
        check=is_there,
    ),
    Case(
        "blocks-of-another-size",
        "Blocks whose names are right, and whose sizes are not what the names say",
        lines=(BLOCKS,),
        bends=on(
            "blocks",
            lists_blocks(
                (block_id(n << 16, 1 << 16, crc64(LARGE[n << 16 : (n + 1) << 16])), 3) for n in range(3)
            ),
        ),
        code=0,
        must="they are sent again",
        check=is_there,
    ),
    Case(
        "blocks-that-are-not-there",
        "Blocks that are said to be staged, with the right checksums, and are not there",
        lines=(BLOCKS,),
        bends=on(
            "blocks",
            lists_blocks(
                (block_id(n << 16, 1 << 16, crc64(LARGE[n << 16 : (n + 1) << 16])), 1 << 16) for n in range(3)
            ),
        ),
        code=(0, 1),
        kind="service",
        must="the blob is whole, or nothing is committed",
        check=is_there,
    ),
)

CASES = (*STATUSES, *CHECKSUMS, *STAGED)
