"""Lists without end: in one page, in many, in one name; and lists that are not of what was asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape

from hostile.bends import LAST_PAGE, MIB, body, edit, endless, first, lists, on, pages, stream, when
from hostile.blobs import entry, page
from hostile.case import Case, Line
from hostile.run import Ran
from hostile.themes.lists import EVERYBODY, NOTHING, SOME
from hostile.wire import Request

#: A copy begins while the list goes on, and finds that what was listed is not there so.
MADE_UP = (SOME[0], Line(SOME[1], (1, 6), "protocol source_changed"), SOME[2])

ENTRY = entry("tree/again").encode()
AGAIN = "<NextMarker>again</NextMarker>"
#: The marker of one page could change what the next one is asked for, if it were not escaped.
CUNNING = "x&prefix=q/&comp=list#?%26\r\nx-ms-version: 1"
TWICE = "<BlobPrefix><Name>tree/x/</Name><Name>tree/y/</Name></BlobPrefix>"
EMPTY_OTHER = (
    b'<?xml version="1.0" encoding="utf-8"?>'
    b'<EnumerationResults ServiceEndpoint="http://blobs/" ContainerName="data">'
    b"<Prefix>q/</Prefix><Blobs /><NextMarker /></EnumerationResults>"
)


def _opening(request: Request) -> bytes:
    return page(request, ()).partition(b"</Blobs>")[0]


def _crowd(request: Request) -> Iterator[bytes]:
    """Half a million short entries: a page within bounds whose blobs need not be."""
    yield _opening(request)
    for start in range(0, 500_000, 5_000):
        many = (f"<Blob><Name>tree/{n}</Name><Properties><Etag>1</Etag>" for n in range(start, start + 5_000))
        closing = "<Content-Length>1</Content-Length></Properties></Blob>"
        yield "".join(text + closing for text in many).encode()
    yield b"</Blobs><NextMarker /></EnumerationResults>"


def _long_name(request: Request) -> Iterator[bytes]:
    yield _opening(request) + b"<Blob><Name>tree/"
    yield from itertools.repeat(b"x" * MIB, 60)
    rest = entry("NAME").encode().partition(b"NAME")[2]
    yield rest + b"</Blobs><NextMarker /></EnumerationResults>"


def _asks_on(ran: Ran) -> Iterable[str]:
    """The second page is asked for with the whole marker, and nothing else has changed."""
    asked = ran.service.asked("list")
    if len(asked) < 2:
        yield "the second page was not asked for"
    for request in asked[1:2]:
        if request.query.get("marker") != CUNNING or request.query.get("prefix") != "tree/":
            yield f"it asked for {request.query}"
        if request.headers.get("x-ms-version") != asked[0].headers.get("x-ms-version"):
            yield "the marker has become a header"


def _other(request: Request) -> bytes:
    """Return a list of another prefix, as a cache between us might have kept it."""
    asked = "prefix=tree%2F"
    other = Request(request.method, request.target.replace(asked, "prefix=q%2F"), request.headers, b"")
    return page(other, [entry("q/victim", 22)])


ENDLESS = (
    Case(
        "page-endless",
        "A page that never ends",
        lines=(*SOME, "rb --force az://data"),
        bends=on("list", endless(b"<EnumerationResults><Blobs>", ENTRY)),
        kind="protocol",
        must=f"no more than 64 MiB of it are read; {NOTHING}",
        seen=7,
    ),
    Case(
        "page-endless-name",
        "A name that never ends",
        lines=SOME,
        bends=on("list", endless(b"<EnumerationResults><Blobs><Blob><Name>tree/", b"x")),
        kind="protocol",
        must=NOTHING,
        seen=7,
    ),
    Case(
        "page-endless-space",
        "Empty lines that never end",
        lines=SOME,
        bends=on("list", endless(b"<EnumerationResults>", b"\n")),
        kind="protocol",
        must=NOTHING,
        seen=7,
    ),
    Case(
        "page-name-of-60-mib",
        "A name of 60 MiB",
        lines=SOME,
        bends=on("list", stream(_long_name)),
        kind="protocol",
        must=NOTHING,
    ),
    Case(
        "page-of-500000",
        "A page of 500,000 blobs, where a service gives 5,000",
        lines=("du az://data/tree/", "rm -r az://data/tree/ --dry-run"),
        bends=on("list", stream(_crowd)),
        kind="protocol",
        must=NOTHING,
        large=True,
    ),
)

MARKERS = (
    Case(
        "marker-repeats",
        "Each page names the same next page",
        lines=EVERYBODY,
        bends=on("list", pages(lambda _: "again", lambda _: [])),
        kind="protocol",
        must=NOTHING,
        seen=7,
    ),
    Case(
        "marker-cycles",
        "Two pages that name each other as the next",
        lines=MADE_UP,
        bends=on("list", pages(lambda turn: "ab"[turn % 2], lambda _: [entry("tree/a", 17)])),
        kind="protocol",
        must=NOTHING,
        seen=7,
    ),
    Case(
        "marker-always-new",
        "The same blobs on page after page, each with a new marker",
        lines=MADE_UP,
        bends=on("list", pages(str, lambda _: [entry("tree/a", 17)])),
        kind="protocol",
        must=NOTHING,
        seen=7,
    ),
    Case(
        "marker-of-empty-pages",
        "Empty pages without end, each with a new marker",
        lines=("rm -r az://data/tree/",),
        bends=on("list", pages(str, lambda _: [])),
        kind="protocol",
        must=NOTHING,
        seen=7,
        large=True,
    ),
    Case(
        "marker-that-leads-back",
        "Page after page with a new marker and new names, which come before those of the page before",
        lines=("du az://data/tree/",),
        bends=on("list", pages(str, lambda asked: [entry(f"tree/{LAST_PAGE - asked.turn:06}")])),
        kind="protocol",
        must=NOTHING,
        large=True,
    ),
    Case(
        "marker-of-1-mib",
        "A marker of 1 MiB",
        lines=SOME,
        bends=on("list", pages(lambda _: "m" * MIB, lambda _: [])),
        kind="protocol",
        must=NOTHING,
    ),
    Case(
        "marker-cunning",
        "A marker that says `&prefix=` and has line breaks in it",
        lines=("ls -r az://data/tree/", "du az://data/tree/"),
        bends=on(
            "list",
            when(
                lambda asked: "marker" not in asked.query,
                edit("<NextMarker>", "<NextMarker>" + escape(CUNNING, {"\r": "&#13;", "\n": "&#10;"})),
            ),
        ),
        code=0,
        must="it is sent back as it is, and changes nothing else",
        check=_asks_on,
    ),
)

OTHERS = (
    Case(
        "name-outside",
        "A blob that does not lie below the prefix that was asked for",
        lines=EVERYBODY[:-2],
        bends=on("list", when(lambda asked: "prefix" in asked.query, lists(entry("q/victim", 22)))),
        kind="protocol",
        must=NOTHING,
        seen=5,
    ),
    Case(
        "name-outside-escaped",
        "The same, with the name percent-encoded",
        lines=SOME,
        bends=on("list", lists(entry("NAME").replace("<Name>NAME", '<Name Encoded="true">%71%2Fvictim'))),
        kind="protocol",
        must=NOTHING,
        seen=5,
    ),
    Case(
        "name-outside-by-a-letter",
        "A blob whose name only begins like the prefix: `treeX` for `tree/`",
        lines=SOME,
        bends=on("list", lists(entry("treeX"))),
        kind="protocol",
        must=NOTHING,
        seen=5,
    ),
    Case(
        "folder-outside",
        "A folder that does not lie below the prefix",
        lines=("ls az://data/tree/",),
        bends=on("list", lists("<BlobPrefix><Name>q/</Name></BlobPrefix>")),
        kind="protocol",
        seen=5,
    ),
    Case(
        "list-of-another-prefix",
        "The list of another prefix, as a cache may give it",
        lines=EVERYBODY[:-2],
        bends=on(
            "list",
            when(lambda asked: "prefix" in asked.query, lambda asked, said: said.with_body(_other(asked))),
        ),
        kind="protocol",
        must=NOTHING,
        seen=5,
    ),
    Case(
        "list-of-another-container",
        "The list of another container",
        lines=SOME,
        bends=on("list", edit('ContainerName="data"', 'ContainerName="other"')),
        kind="protocol",
        must=NOTHING,
    ),
    Case(
        "list-of-another-page",
        "A page that says that it begins at another marker than the one that was sent",
        lines=SOME,
        bends=on("list", edit("<Blobs>", "<Marker>zzz</Marker><Blobs>")),
        kind="protocol",
        must=NOTHING,
    ),
    Case(
        "page-with-a-name-three-times",
        "The same blob three times on one page",
        lines=SOME,
        bends=on("list", lists(*[entry("tree/again", 5)] * 3)),
        kind="protocol",
        must=NOTHING,
    ),
    Case(
        "folder-ignored",
        "A list of one folder that holds blobs of folders below it",
        lines=("ls az://data/tree/",),
        bends=on("list", lists(entry("tree/deep/d"))),
        kind="protocol",
    ),
    Case(
        "folder-without-a-name",
        "A folder that has no name, and one that has two",
        lines=("ls az://data/tree/",),
        bends=on(
            "list", lists("<BlobPrefix><Properties><Etag>a</Etag></Properties></BlobPrefix>", *[TWICE] * 2)
        ),
        kind="protocol",
    ),
    Case(
        "list-of-another-empty-prefix",
        "An empty list that says it is of another prefix",
        lines=(*SOME, "verify up/ az://data/tree/", "cp up/ az://data/tree/"),
        bends=on("list", body(EMPTY_OTHER)),
        kind="protocol",
        must=NOTHING,
    ),
)

ACCOUNTS = (
    Case(
        "account-html",
        "An HTML page with status 200 in place of the list of containers",
        lines=("ls az://", "du az://"),
        bends=on("list-containers", body(b"<html><body>Sign in</body></html>", "text/html")),
        kind="protocol",
        seen=6,
    ),
    Case(
        "account-endless",
        "A list of containers that never ends",
        lines=("ls az://", "du az://"),
        bends=on(
            "list-containers",
            endless(b"<EnumerationResults><Containers>", b"<Container><Name>a</Name></Container>"),
        ),
        kind="protocol",
        seen=7,
    ),
    Case(
        "account-marker-repeats",
        "A list of containers each page of which names the same next page",
        lines=("ls az://", "du az://"),
        bends=on(
            "list-containers", first(LAST_PAGE, edit("<NextMarker />", "<NextMarker>again</NextMarker>"))
        ),
        kind="protocol",
        seen=7,
    ),
    Case(
        "account-odd-names",
        "Containers called `..`, `a/../b` and `A?x=`",
        lines=("ls az://", "du az://"),
        bends=on(
            "list-containers",
            edit(
                "</Containers>",
                "".join(f"<Container><Name>{n}</Name></Container>" for n in ("..", "a/../b", "A?x="))
                + "</Containers>",
            ),
        ),
        kind="protocol",
        must="none of them is asked for",
    ),
    Case(
        "account-counted",
        "Nothing odd: two containers, and `haul du az://`",
        lines=("du az://",),
        code=0,
        must="the objects of all containers are counted",
        blobs={"data/a": b"1", "data/b/c": b"22", "more/d": b"333"},
        seen=25,
        check=lambda ran: (
            [] if ran.events[-1]["objects"] == 3 else [f"it counts {ran.events[-1]['objects']}, not 3"]
        ),
    ),
    Case(
        "account-removed",
        "Nothing odd: verbs that write, delete or compare, given the whole account",
        lines=(
            "rm -r az://",
            "rb az://",
            "rb --force az://",
            "mb az://",
            "clean az://",
            "stat az://",
            "cat az://",
            "cp up/ az://",
            "cp az:// down/",
            "verify az:// up/",
            "plan az:// down/",
        ),
        code=2,
        kind="usage",
        must="no request is sent",
        seen=25,
        check=lambda ran: [f"it sent {request.target}" for request in ran.requests],
    ),
)

CASES = (*ENDLESS, *MARKERS, *OTHERS, *ACCOUNTS)
