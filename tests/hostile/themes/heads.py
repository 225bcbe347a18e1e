"""Heads of answers: endless, slow, huge, broken, or at odds with what follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, repeat

from hostile.bends import (
    ALL,
    MIB,
    READS,
    also,
    begins,
    body,
    cut_in_head,
    ends,
    first,
    header,
    on,
    says,
    trickle_head,
)
from hostile.blobs import crc_header, entry, page
from hostile.case import BLOBS, Case, Line
from hostile.run import Ran
from hostile.service import Bend, Said, spoken
from hostile.themes.statuses import CAT, FILE, LOOKS, STAT, UP
from hostile.wire import CLOSE, RESET, Answer, Request, Wait

LIST, TREE, REMOVE = "ls -r az://data/tree/", "cp az://data/tree/ down/", "rm -r az://data/tree/"
QUIET = "--stall-timeout 2s"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
OK, NO_BODY = b"HTTP/1.1 200 OK\r\n", b"Content-Length: 0\r\n\r\n"
HTTP_2 = b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x80\0\4\0\1\0\0\0\5\0\xff\xff\xff"
#: What is no answer at all may also be called a broken connection.
GARBAGE = "protocol connection"
FORGED = b"forged by who was not asked"


def many(piece: bytes, times: int) -> Bend:
    """Say a piece so many times before the answer."""
    return lambda request, answer: chain(repeat(piece, times), spoken(request, answer))


def garbage(name: str, does: str, said: bytes, *lines: str) -> Case:
    """Return the case of what is said in place of the head of an answer."""
    return Case(
        name,
        does,
        lines=lines or (STAT, LIST),
        bends=on(*ALL, says(said, CLOSE)),
        kind=GARBAGE,
        slow=True,
    )


def lengths(name: str, does: str, *values: str) -> Case:
    """Return the case of a blob with these lengths."""
    bends = [header("Content-Length", None), *(also("Content-Length", value) for value in values)]
    return Case(name, does, lines=(FILE, CAT), bends=on("get", *bends), kind=GARBAGE, slow=True)


def of_another(_: Request, answer: Answer) -> Said:
    """Answer with another blob of the same size, all of it honest."""
    other = BLOBS["data/large"][: len(answer.body)]
    return answer.with_body(other).having("ETag", '"0xOTHER"').having("x-ms-content-crc64", None)


def forged_blob(_: Request, answer: Answer) -> Said:
    """Say after the head what the answer to the read that follows would be."""
    size = int(answer.header("Content-Length"))
    content = FORGED[:size]
    said = replace(answer, status=206).with_body(content).having("x-ms-content-crc64", crc_header(content))
    said = said.having("Content-Range", f"bytes 0-{size - 1}/{size}")
    return (answer.head() + said.head() + said.body,)


def forged_page(request: Request, answer: Answer) -> Said:
    """Say after a page what the next page shall be taken for."""
    forged = replace(answer).with_body(page(request, [entry("tree/forged")]))
    return (answer.head() + answer.body + forged.head() + forged.body,)


def no_forgery(ran: Ran) -> Iterable[str]:
    """What nobody asked for is not taken for an answer."""
    if any(request.key == "tree/forged" for request in ran.requests):
        yield "it believed a page that it had not asked for"
    if FORGED[:10] in b"".join(ran.down.values()) + ran.stdout:
        yield "it believed a blob that it had not asked for"


INTERIM = (
    *(
        Case(
            f"interim-{name}-endless",
            f"{does} a million times before the answer",
            lines=(*LOOKS, LIST, TREE, UP, REMOVE),
            bends=on(*ALL, many(piece, 1_000_000)),
            kind="protocol",
            must="it is given up after 1 MiB",
            seen=21,
        )
        for name, does, piece in (
            ("continue", "`100 Continue`", CONTINUE),
            ("hints", "`103 Early Hints`", HINTS),
        )
    ),
    Case(
        "interim-twice",
        "`100 Continue` and `103 Early Hints` before the answer",
        lines=(*LOOKS, LIST, TREE, UP),
        bends=on(*ALL, begins(CONTINUE, HINTS)),
        code=0,
        must="they are passed over",
    ),
    Case(
        "interim-switch",
        "`101 Switching Protocols`",
        lines=(STAT, LIST),
        bends=on(
            *ALL, says(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n")
        ),
        kind="protocol connection service",
        slow=True,
    ),
)

PATIENCE = (
    Case(
        "head-byte-by-byte",
        "A head that is said a byte in half a second",
        lines=(STAT, FILE, LIST, UP),
        bends=on(*ALL, trickle_head(0.5)),
        options=QUIET,
        kind="protocol stalled",
        must="its time is over after a while, whatever moves",
        seen=21,
        slow=True,
    ),
    Case(
        "head-interim-now-and-then",
        "`100 Continue` every half second, and never an answer",
        lines=(STAT, LIST),
        bends=on(*ALL, lambda _request, _answer: chain.from_iterable(repeat((CONTINUE, Wait(0.5))))),
        options=QUIET,
        kind="protocol stalled",
        seen=21,
        slow=True,
    ),
    Case(
        "head-never",
        "No answer at all",
        lines=(STAT, LIST, UP, REMOVE),
        bends=on(*ALL, says(Wait(1000))),
        options=QUIET,
        kind="stalled",
        slow=True,
    ),
)

HUGE = (
    garbage(
        "head-of-1-mib", "A header of 1 MiB", b"HTTP/1.1 200 OK\r\nx-ms-meta-x: " + b"x" * MIB + b"\r\n\r\n"
    ),
    garbage(
        "head-of-10000-headers",
        "10,000 headers",
        OK + b"".join(b"x-ms-meta-%d: x\r\n" % n for n in range(10_000)) + b"\r\n",
    ),
    Case(
        "head-endless",
        "A header that never ends",
        lines=(STAT, LIST),
        bends=on(*ALL, lambda _request, _answer: chain([OK + b"x: "], repeat(b"x" * MIB, 400))),
        kind=GARBAGE,
        slow=True,
    ),
)

BROKEN = (
    garbage("head-http-0.9", "A body without a head, as HTTP/0.9 had it", b"<html>Hello</html>\r\n"),
    garbage("head-ssh", "The greeting of an SSH server", b"SSH-2.0-OpenSSH_9.6\r\n"),
    garbage(
        "head-http-2",
        "The first bytes of HTTP/2",
        b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x80\0\4\0\1\0\0\0\5\0\xff\xff\xff",
    ),
    garbage("head-http-9", "A version of HTTP that there is not", b"HTTP/9.9 200 OK\r\n" + NO_BODY),
    garbage("head-status-42", "A status of two digits", b"HTTP/1.1 42 What\r\n" + NO_BODY),
    garbage(
        "head-nul",
        "The character 0 in a header",
        b'HTTP/1.1 200 OK\r\nETag: "\0"\r\nContent-Length: 0\r\n\r\n',
    ),
    garbage("head-without-colon", "A header without a colon", OK + b"Content-Length 0\r\n\r\n"),
    garbage("head-closed", "The connection is closed without a word", b"", STAT, LIST, UP, REMOVE),
    Case(
        "head-reset",
        "The connection is reset in the middle of the head",
        lines=(*LOOKS, LIST, UP, REMOVE),
        bends=on(*ALL, cut_in_head(RESET)),
        kind="connection",
        slow=True,
    ),
    Case(
        "head-reset-once",
        "The same, but only the first two times",
        lines=(*LOOKS, LIST, TREE, UP),
        bends=on(*ALL, first(2, cut_in_head(RESET))),
        code=0,
        must="it is asked again",
    ),
)

LENGTHS = (
    Case(
        "length-missing-in-head",
        "No length in what is known of a blob",
        lines=(STAT, FILE, "rm az://data/tree/a"),
        bends=on("head", header("Content-Length", None)),
        code=0,
        must="the answer to a range tells it",
    ),
    Case(
        "length-missing",
        "A blob of no stated length, ended by the end of the connection",
        lines=(FILE, CAT, TREE),
        bends=on("get", header("Content-Length", None), ends(CLOSE)),
        code=0,
        must="it is as long as it was listed",
    ),
    Case(
        "length-missing-and-cut",
        "The same, but the last byte never comes",
        lines=(FILE, CAT, TREE),
        bends=on("get", header("Content-Length", None), body(lambda data: data[:-1]), ends(CLOSE)),
        code=5,
        kind="integrity",
        slow=True,
    ),
    lengths("lengths-differ", "Two lengths that differ", "17", "3"),
    lengths("length-negative", "A length below zero", "-17"),
    lengths("length-in-words", "A length that is no number", "many"),
    lengths("length-beyond-numbers", "A length of 2^64", str(1 << 64)),
    Case(
        "lengths-equal",
        "The same length twice",
        lines=(FILE, CAT),
        bends=on("get", also("Content-Length", "17")),
        code=(0, 1),
        kind=GARBAGE,
        must="the file is whole, or the answer is refused",
        slow=True,
    ),
    Case(
        "length-of-4-eib",
        "A blob that says it has 4 EiB, and has 17 bytes",
        lines=(FILE, Line(STAT, (0, 1), "protocol")),
        bends=on("head", header("Content-Length", str(1 << 62))),
        code=(1, 5, 6),
        kind="source_changed protocol no_space io integrity",
        must="no memory or disk is taken for it",
    ),
    Case(
        "length-of-a-list",
        "A list that is longer than it says",
        lines=(LIST, TREE, REMOVE),
        bends=on("list", header("Content-Length", "100")),
        kind="protocol",
        must="half of it is no list",
    ),
)

OLD = (
    Case(
        "http-1.0",
        "HTTP/1.0, which closes the connection after each answer",
        lines=(*LOOKS, LIST, TREE, UP),
        bends=on(*ALL, lambda _, answer: replace(answer, version="HTTP/1.0")),
        code=0,
    ),
    Case(
        "http-1.0-without-length",
        "A list in HTTP/1.0 without a length",
        lines=(LIST, TREE),
        bends=on("list", header("Content-Length", None), lambda _, said: replace(said, version="HTTP/1.0")),
        code=0,
        must="the list says by itself that it is whole",
    ),
    Case(
        "closed-each-time",
        "Each connection is closed after one answer, without a word",
        lines=(*LOOKS, LIST, TREE, UP),
        bends=on(*ALL, ends(CLOSE)),
        code=0,
    ),
)

STATES = (
    *(
        Case(
            f"etag-{name}",
            f"{does} where a blob, or what is known of it, was asked for",
            lines=(FILE, CAT, TREE),
            bends=on(*READS, header("ETag", value)),
            code=0,
            must="its time tells whether the next answer is of the same blob",
        )
        for name, does, value in (("missing", "No ETag", None), ("empty", "An empty ETag", '""'))
    ),
    Case(
        "version-missing",
        "No ETag and no time where a blob, or what is known of it, was asked for",
        lines=(FILE, CAT, TREE),
        bends=on(*READS, header("ETag", None), header("Last-Modified", None)),
        kind="protocol",
        must="nobody can know whether the next answer is of the same blob",
        seen=4,
    ),
    Case(
        "etag-weak",
        "A weak ETag",
        lines=(FILE, CAT),
        bends=on(*READS, header("ETag", lambda _, answer: f"W/{answer.header('ETag')}")),
        code=0,
        must="it is copied: a proxy may have made it weak",
    ),
    Case(
        "etag-changes",
        "Another ETag when a blob is read than when it was looked at, and `If-Match` ignored",
        lines=(FILE, CAT, TREE),
        bends=on("get", header("ETag", '"0xOTHER"')),
        code=6,
        kind="source_changed",
        seen=4,
    ),
    Case(
        "answer-to-another",
        "Another blob than the one that was asked for, of the same size, with its own ETag",
        lines=(FILE, CAT, TREE),
        bends=on("get", of_another),
        code=6,
        kind="source_changed",
        must="no file has its content",
        seen=4,
    ),
    *(
        Case(
            f"time-{name}",
            f"`Last-Modified: {value}`",
            lines=(*LOOKS, TREE),
            bends=on(*ALL, header("Last-Modified", value), body(lambda data: data)),
            code=0,
            must="the content is copied",
        )
        for name, value in (
            ("in-words", "yesterday"),
            ("before-1970", "Mon, 01 Jan 1601 00:00:00 GMT"),
            ("far-off", "Fri, 31 Dec 9999 23:59:59 GMT"),
        )
    ),
)

TWICE = tuple(
    Case(
        f"twice-{name.lower()}",
        f"`{name}` twice, with two values",
        lines=lines,
        bends=on("get", "list", "put", also(name, value)),
        kind="protocol",
        must="the first is not believed",
    )
    for name, value, lines in (
        ("ETag", '"0xOTHER"', (FILE, CAT)),
        ("x-ms-content-crc64", crc_header(b"12345678"), (FILE, CAT, UP)),
        ("Content-Range", "bytes 0-1/2", (FILE, CAT)),
        ("Content-Type", "text/html", (LIST, REMOVE)),
    )
)

FORGERIES = (
    Case(
        "head-with-body",
        "A body after `HEAD` that looks like the answer to the next request",
        lines=(FILE, CAT, STAT),
        bends=on("head", forged_blob),
        code=(0, 1),
        must="it is never taken for an answer",
        check=no_forgery,
    ),
    Case(
        "page-with-another",
        "A page of a list, and after it what looks like the next page",
        lines=(LIST, TREE, REMOVE, "du az://data/tree/"),
        bends=on("list", first(1, forged_page)),
        code=(0, 1),
        page_size=1,
        must="it is never taken for an answer",
        check=no_forgery,
    ),
)

CASES = (*INTERIM, *PATIENCE, *HUGE, *BROKEN, *LENGTHS, *OLD, *STATES, *TWICE, *FORGERIES)
