"""What a hostile service does to an honest answer: small functions that a case puts together.

`on("list", body(HTML))` bends the answers to lists alone, `on("get", first(2, cut()))` only the first two.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

from hostile.blobs import page
from hostile.service import Bend, Said, spoken
from hostile.wire import CLOSE, Answer, Piece, Request, Wait

MIB = 1 << 20
#: What an endless answer says at most: enough to fill a memory, not enough to fill the machine.
ENDLESS = 400 * MIB
#: The last of endless pages: who gets there has not noticed.
LAST_PAGE = 20_000

READS, WRITES = ("head", "get"), ("put", "put-block", "commit")
CONTAINERS = ("list", "list-containers", "make", "remove", "uploads")
ALL = (*READS, *WRITES, *CONTAINERS, "delete", "delete-many", "blocks", "begin", "abort", "copy")


def on(*apis_and_bends: str | Bend) -> Bend:
    """Bend the answers to requests of these kinds, by one bend after the other."""
    apis = [item for item in apis_and_bends if isinstance(item, str)]
    bends = [item for item in apis_and_bends if not isinstance(item, str)]

    def bent(request: Request, answer: Answer) -> Said:
        said: Said = answer
        for bend in bends if request.api in apis else ():
            if isinstance(said, Answer):
                said = bend(request, said)
        return said

    return bent


def first(times: int, bend: Bend) -> Bend:
    """Bend only so many answers, then be honest."""
    return lambda request, answer: bend(request, answer) if request.turn <= times else answer


def after(times: int, bend: Bend) -> Bend:
    """Be honest so many times, then bend."""
    return lambda request, answer: bend(request, answer) if request.turn > times else answer


def when(told: Callable[[Request], bool], bend: Bend) -> Bend:
    """Bend the answers to requests of which this holds."""
    return lambda request, answer: bend(request, answer) if told(request) else answer


def status(number: int, reason: str = "Said") -> Bend:
    """Answer with another status."""
    return lambda _, answer: replace(answer, status=number, reason=reason)


def header(name: str, value: str | Callable[[Request, Answer], str] | None) -> Bend:
    """Set a header; `None` leaves it out."""

    def bent(request: Request, answer: Answer) -> Answer:
        return answer.having(name, value(request, answer) if callable(value) else value)

    return bent


def also(name: str, value: str) -> Bend:
    """Add a header beside those that are there."""
    return lambda _, answer: replace(answer, headers=(*answer.headers, (name, value)))


def body(data: bytes | Callable[[bytes], bytes], content_type: str = "") -> Bend:
    """Answer with another body, of a length that is told."""

    def bent(_: Request, answer: Answer) -> Answer:
        bent = answer.with_body(data(answer.body) if callable(data) else data)
        return bent.having("Content-Type", content_type) if content_type else bent

    return bent


def edit(old: str, new: str, times: int = -1) -> Bend:
    """Replace a text in the body."""
    return body(lambda data: data.replace(old.encode(), new.encode("utf-8", "surrogateescape"), times))


def lists(*entries: str) -> Bend:
    """Add entries at the end of a list."""
    return edit("</Blobs>", "".join(entries) + "</Blobs>")


def says(*pieces: Piece) -> Bend:
    """Say exactly this."""
    return lambda _request, _answer: pieces


def begins(*pieces: Piece) -> Bend:
    """Say this, then the answer."""
    return lambda request, answer: itertools.chain(pieces, spoken(request, answer))


def ends(*pieces: Piece) -> Bend:
    """Say the answer, then this."""
    return lambda request, answer: itertools.chain(spoken(request, answer), pieces)


def cut(end: Piece = CLOSE) -> Bend:
    """Break off in the middle of the body."""
    return lambda _, answer: (answer.head() + answer.body[: len(answer.body) // 2], end)


def cut_in_head(end: Piece = CLOSE) -> Bend:
    """Break off in the middle of the head."""
    return lambda _, answer: (answer.head()[:-30], end)


def trickle_head(every: float) -> Bend:
    """Say the head a byte at a time."""

    def bent(request: Request, answer: Answer) -> Iterator[Piece]:
        head = answer.head()
        yield head[:20]
        for place in range(20, len(head)):
            yield from (Wait(every), head[place : place + 1])
        yield b"" if request.method == "HEAD" else answer.body

    return bent


def trickle_body(size: int, every: float) -> Bend:
    """Say the body so many bytes at a time."""

    def bent(_: Request, answer: Answer) -> Iterator[Piece]:
        yield answer.head()
        for place in range(0, len(answer.body), size):
            yield from (Wait(every), answer.body[place : place + size])

    return bent


def stream(pieces: Callable[[Request], Iterator[bytes]], **headers: str) -> Bend:
    """Answer with pieces and tell no length; at the end the connection is closed."""

    def bent(request: Request, answer: Answer) -> Iterator[Piece]:
        said = answer.having("Content-Length", None)
        for name, value in headers.items():
            said = said.having(name.replace("_", "-"), value)
        yield said.head()
        yield from pieces(request)
        yield CLOSE

    return bent


def endless(start: bytes, again: bytes) -> Bend:
    """Answer with a body that goes on and on."""
    piece = again * max(1, MIB // len(again))

    def pieces(_: Request) -> Iterator[bytes]:
        yield start
        yield from itertools.repeat(piece, ENDLESS // len(piece))

    return stream(pieces)


def pages(marker: Callable[[int], str], entries: Callable[[Request], list[str]]) -> Bend:
    """Answer with pages of a list that always name one more: the marker by how many there were."""

    def bent(request: Request, answer: Answer) -> Answer:
        more = marker(request.turn) if request.turn < LAST_PAGE else ""
        return answer.with_body(page(request, entries(request), more))

    return bent


def chunked(*said: bytes, trailer: bytes = b"0\r\n\r\n") -> Callable[[Request, Answer], Iterator[Piece]]:
    """Answer in chunks: these, as they stand, or the body as one; and the trailer."""

    def bent(_: Request, answer: Answer) -> Iterator[Piece]:
        yield answer.having("Content-Length", None).having("Transfer-Encoding", "chunked").head()
        yield from said or (f"{len(answer.body):x}\r\n".encode() + answer.body + b"\r\n",)
        yield trailer

    return bent
