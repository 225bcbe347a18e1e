"""Bodies of answers: endless, slow, cut short, too long, or in odd pieces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

from hostile.bends import (
    ALL,
    MIB,
    WRITES,
    body,
    chunked,
    cut,
    first,
    header,
    on,
    stream,
    trickle_body,
)
from hostile.case import Case
from hostile.service import Bend, Said
from hostile.themes.heads import GARBAGE, LIST, QUIET, REMOVE, TREE
from hostile.themes.lists import ZEROS
from hostile.themes.statuses import CAT, FILE, UP, refuse
from hostile.wire import CLOSE, RESET, Answer, Piece, Request, Wait

BLOCKS = "cp big az://data/tree/new --block-size 64KiB --method ranges"
#: Half a list, then nothing more: a client may not take it for all there is.
LISTS = (LIST, TREE, REMOVE, "rb --force az://data", "verify up/ az://data/tree/")
ZIPPED = {"data/tree/a": ZEROS}


def chunks(name: str, does: str, *said: bytes, trailer: bytes = b"0\r\n\r\n") -> Case:
    """Return the case of a list in chunks that are none."""
    return Case(
        name,
        does,
        lines=(LIST, REMOVE),
        bends=on(
            "list", lambda asked, answer: chain(chunked(*said, trailer=trailer)(asked, answer), (CLOSE,))
        ),
        kind=GARBAGE,
        slow=True,
    )


def goes_on(piece: bytes) -> Bend:
    """Say the answer with a body that goes on and on."""
    return stream(lambda _: repeat(piece * (MIB // len(piece)), 400))


def trailers(request: Request, answer: Answer) -> Iterator[Piece]:
    """Say a list in chunks, and trailers without end."""
    yield from chunked(trailer=b"0\r\n")(request, answer)
    yield from repeat(b"x-more: x\r\n" * 10_000, 1000)


def forged(request: Request, answer: Answer) -> Said:
    """Say the answer and, in one breath with it, one that nobody asked for."""
    said = answer.head() + (b"" if request.method == "HEAD" else answer.body)
    return (said + b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforged!",)


def chunks_and_length(_: Request, answer: Answer) -> Said:
    """Say a body in chunks, with a length that is not theirs."""
    head = answer.having("Content-Length", "3").having("Transfer-Encoding", "chunked").head()
    return (head, f"{len(answer.body):x}\r\n".encode(), answer.body, b"\r\n0\r\n\r\n")


SLOW = (
    Case(
        "body-of-2-bytes-a-second",
        "A blob that comes at 2 bytes a second",
        lines=(FILE, CAT, TREE, "verify az://data/tree/ up/"),
        bends=on("get", trickle_body(1, 0.5)),
        options=QUIET,
        kind="stalled",
        must="less than 1 KiB/s is as good as nothing",
        seen=21,
        slow=True,
    ),
    Case(
        "list-of-2-bytes-a-second",
        "A list that comes at 2 bytes a second",
        lines=(LIST, REMOVE, "rb --force az://data", "cp up/ az://data/tree/"),
        bends=on("list", trickle_body(1, 0.5)),
        options=QUIET,
        kind="stalled",
        seen=21,
        slow=True,
    ),
    Case(
        "error-of-2-bytes-a-second",
        "An error whose text comes at 2 bytes a second",
        lines=(CAT, FILE, LIST, UP),
        bends=on("get", "list", "put", refuse(409, "Odd"), trickle_body(1, 0.5)),
        options=QUIET,
        kind="service stalled protocol exists",
        seen=21,
        slow=True,
    ),
    Case(
        "body-stops",
        "A blob that stops in the middle, on an open connection, three times",
        lines=(FILE, CAT),
        bends=on("get", first(3, lambda _, answer: (answer.head() + answer.body[:5], Wait(1000)))),
        options="--stall-timeout 1s",
        code=0,
        must="it is asked again, and comes",
        slow=True,
    ),
    Case(
        "upload-drunk-in-sips",
        "An upload of which the service takes 64 bytes every half second",
        lines=("cp big az://data/tree/new --method whole",),
        sip=Wait(0.5),
        options="--stall-timeout 1s",
        kind="stalled",
        must="less than 1 KiB/s is as good as nothing",
        seen=21,
        tries=10,
        slow=True,
    ),
)

ENDLESS = (
    Case(
        "error-endless",
        "An error whose text never ends",
        lines=(CAT, FILE, LIST, UP),
        bends=on("get", "list", "put", refuse(409, "Odd"), goes_on(b"<Message>more ")),
        kind="service exists protocol",
        must="no more than 64 KiB of it are read",
        seen=7,
    ),
    Case(
        "created-endless",
        "An upload that is answered with 201 and a body that never ends",
        lines=(UP, BLOCKS, "mb az://other"),
        bends=on(*WRITES, "make", goes_on(b"created ")),
        code=(0, 1),
        kind="protocol",
        must="the body is not read",
    ),
    Case(
        "blob-endless",
        "A blob that never ends, whose length nobody states",
        lines=(FILE, CAT, TREE),
        bends=on("get", goes_on(b"more ")),
        code=5,
        kind="integrity",
        must="no more of it is read than was listed",
        slow=True,
    ),
)

SHORT = (
    Case(
        "body-cut",
        "The connection is closed in the middle of a blob",
        lines=(FILE, TREE),
        bends=on("get", cut(CLOSE)),
        kind="connection",
        slow=True,
    ),
    Case(
        "body-reset",
        "The connection is reset in the middle of a blob",
        lines=(FILE, CAT),
        bends=on("get", cut(RESET)),
        kind="connection",
        slow=True,
    ),
    Case(
        "body-cut-once",
        "The same, but only the first two times",
        lines=(FILE, CAT, TREE),
        bends=on("get", first(2, cut(RESET))),
        code=0,
        must="it is asked again",
    ),
    Case(
        "list-cut",
        "The connection is closed in the middle of a list",
        lines=LISTS,
        bends=on("list", cut(CLOSE)),
        kind="connection protocol",
        must="nothing is copied, called extra or deleted",
        slow=True,
    ),
    Case(
        "list-reset",
        "The connection is reset in the middle of a list",
        lines=LISTS,
        bends=on("list", cut(RESET)),
        kind="connection protocol",
        must="nothing is copied, called extra or deleted",
        slow=True,
    ),
    Case(
        "list-cut-in-http-1.0",
        "Half a list, without a length, ended by the end of the connection",
        lines=(LIST, TREE, REMOVE),
        bends=on("list", header("Content-Length", None), cut(CLOSE)),
        kind="protocol",
        must="half of it is no list",
    ),
)

LONG = (
    Case(
        "body-with-more",
        "A blob, and behind it bytes that nobody asked for",
        lines=(FILE, CAT, TREE, BLOCKS),
        bends=on(*ALL, forged),
        code=0,
        must="they are never taken for an answer",
    ),
    Case(
        "body-longer",
        "A blob of 5 bytes more than were asked for, which its length says too",
        lines=(FILE, TREE),
        bends=on("get", body(lambda data: data + b"12345")),
        code=(1, 5),
        kind="protocol integrity",
        slow=True,
    ),
    Case(
        "body-shorter",
        "A blob of 5 bytes less than were asked for, which its length says too",
        lines=(FILE, TREE),
        bends=on("get", body(lambda data: data[:-5])),
        code=(1, 5),
        kind="protocol integrity",
        slow=True,
    ),
    Case(
        "body-in-gzip",
        "A blob that says it is in gzip: 50 MB of zeros",
        lines=(FILE, CAT, TREE),
        bends=on("get", header("Content-Encoding", "gzip")),
        blobs=ZIPPED,
        code=0,
        must="it is copied as it lies there, not unpacked",
    ),
)

CHUNKS = (
    Case(
        "chunks",
        "A list in chunks, as the service may give it",
        lines=(LIST, TREE),
        bends=on("list", chunked()),
        code=0,
    ),
    Case(
        "chunks-of-a-blob",
        "A blob in chunks, whose length nobody states",
        lines=(FILE, CAT),
        bends=on("get", chunked()),
        code=0,
        must="it is as long as it was listed",
    ),
    Case(
        "chunks-and-length",
        "A blob in chunks that states a length besides, and a wrong one",
        lines=(FILE, CAT),
        bends=on("get", chunks_and_length),
        code=(1, 5),
        kind=f"{GARBAGE} integrity",
        slow=True,
    ),
    Case(
        "chunks-with-a-trailer",
        "A list in chunks with a trailer that states another checksum",
        lines=(LIST, TREE),
        bends=on("list", chunked(trailer=b"0\r\nx-ms-content-crc64: AAAAAAAAAAA=\r\n\r\n")),
        code=0,
        must="the trailer is passed over",
    ),
    chunks("chunk-of-odd-size", "A chunk whose size is no number", b"zz\r\n"),
    chunks("chunk-beyond-numbers", "A chunk of 2^68 bytes", b"FFFFFFFFFFFFFFFFF\r\n"),
    chunks("chunk-below-zero", "A chunk of less than no bytes", b"-1\r\n"),
    chunks("chunk-longer", "A chunk that is longer than it says", b"5\r\n<Enumeration\r\n"),
    chunks("chunk-with-a-story", "A chunk with an extension of 1 MiB", b"5;x=" + b"x" * MIB + b"\r\n"),
    chunks("chunks-without-end", "Chunks, and then the end of the connection", trailer=b""),
    Case(
        "trailers-endless",
        "A list in chunks with trailers that never end",
        lines=(LIST, REMOVE),
        bends=on("list", trailers),
        kind=GARBAGE,
        slow=True,
    ),
)

CASES = (*SLOW, *ENDLESS, *SHORT, *LONG, *CHUNKS)
