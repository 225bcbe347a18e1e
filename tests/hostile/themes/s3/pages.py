"""Lists of S3 without end, in one page or in many, and lists that are not of what was asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from xml.sax.saxutils import escape

from hostile.bends import LAST_PAGE, MIB, body, edit, endless, on, stream, when
from hostile.blobs import XML
from hostile.case import Line
from hostile.documents import entry, folder, page
from hostile.run import Ran
from hostile.service import Bend
from hostile.themes.lists import HTML, XHTML
from hostile.themes.s3.common import DOWN, EMPTY, LIST, NOTHING, REMOVE, lists, s3
from hostile.themes.s3.lists import ALL, FALSE, OPENING, SOME, TRUE
from hostile.wire import Answer, Request

#: A copy begins while the list goes on, and finds that what was listed is not there so.
MADE_UP = (LIST, Line(DOWN, (1, 6), "protocol source_changed"), REMOVE)
ENTRY = entry("tree/again").encode()
#: The token of one page could change what the next one is asked for, if it were not escaped.
CUNNING = "x&prefix=q/&list-type=1#?%26+\r\nx-amz-acl: public-read"
NEXT = (
    f"<NextContinuationToken>{escape(CUNNING, {chr(13): '&#13;', chr(10): '&#10;'})}</NextContinuationToken>"
)


def leading(token: Callable[[int], str], entries: Callable[[Request], list[str]] = lambda _: []) -> Bend:
    """Answer with pages that always name one more."""

    def bent(request: Request, answer: Answer) -> Answer:
        more = token(request.turn) if request.turn < LAST_PAGE else ""
        return answer.with_body(page(request, entries(request), more))

    return bent


def _opening(request: Request) -> bytes:
    return page(request, ()).partition(b"</ListBucketResult>")[0]


def _crowd(request: Request) -> Iterator[bytes]:
    """A quarter of a million short entries: a page within bounds whose objects need not be."""
    yield _opening(request)
    for start in range(0, 200_000, 5_000):
        many = (
            f"<Contents><Key>tree/{n}</Key><ETag>1</ETag><Size>1</Size></Contents>"
            for n in range(start, start + 5_000)
        )
        yield "".join(many).encode()
    yield b"</ListBucketResult>"


def _long_name(request: Request) -> Iterator[bytes]:
    before, _, rest = entry("NAME").encode().partition(b"NAME")
    yield _opening(request) + before + b"tree/"
    yield from itertools.repeat(b"x" * MIB, 10)
    yield rest + b"</ListBucketResult>"


def _cunning(request: Request, answer: Answer) -> Answer:
    """Answer with two pages, of which the first names the second by a token that is a trap."""
    if "continuation-token" not in request.query:
        return answer.with_body(answer.body.replace(FALSE.encode(), (TRUE + NEXT).encode()))
    return answer.with_body(f"<ListBucketResult>{FALSE}</ListBucketResult>".encode())


def _asks_on(ran: Ran) -> Iterable[str]:
    """The second page is asked for with the whole token, and nothing else has changed."""
    asked = ran.service.asked("list")
    if len(asked) < 2:
        yield "the second page was not asked for"
    for request in asked[1:2]:
        if request.query.get("continuation-token") != CUNNING or request.query.get("prefix") != "tree/":
            yield f"it asked for {request.query}"
        if "x-amz-acl" in request.headers or request.query.get("list-type") != "2":
            yield "the token has become something else"


def _other(request: Request) -> bytes:
    """Return a list of another prefix, as a cache between us might have kept it."""
    other = Request(
        request.method, request.target.replace("prefix=tree%2F", "prefix=q%2F"), {}, b"", container="data"
    )
    return page(other, [entry("q/victim", 22)])


ENDLESS = (
    s3(
        "page-endless",
        "A page that never ends",
        *SOME,
        EMPTY,
        bends=on("list", endless(OPENING, ENTRY)),
        must=f"no more than 16 MiB of it are read; {NOTHING}",
    ),
    s3(
        "page-endless-name",
        "A name that never ends",
        *SOME,
        must=NOTHING,
        bends=on("list", endless(OPENING + b"<Contents><Key>tree/", b"x")),
    ),
    s3(
        "page-endless-space",
        "Spaces that never end, as of a service that does not know yet",
        *SOME,
        must=NOTHING,
        bends=on("list", endless(b'<?xml version="1.0"?>', b" \n")),
    ),
    s3("page-name-of-10-mib", "A name of 10 MiB", *SOME, must=NOTHING, bends=on("list", stream(_long_name))),
    s3(
        "page-of-200000",
        "A page of 200,000 objects, where a service gives 1,000",
        "du s3://data/tree/",
        "rm -r s3://data/tree/ --dry-run",
        must=NOTHING,
        bends=on("list", stream(_crowd)),
        large=True,
    ),
)

MARKERS = (
    s3(
        "token-repeats",
        "Each page names the same next page",
        *ALL,
        must=NOTHING,
        bends=on("list", leading(lambda _: "again")),
    ),
    s3(
        "token-cycles",
        "Two pages that name each other as the next",
        *MADE_UP,
        must=NOTHING,
        bends=on("list", leading(lambda turn: "ab"[turn % 2], lambda _: [entry("tree/a", 17)])),
    ),
    s3(
        "token-always-new",
        "The same objects on page after page, each with a new token",
        *MADE_UP,
        must=NOTHING,
        bends=on("list", leading(str, lambda _: [entry("tree/a", 17)])),
    ),
    s3(
        "token-of-empty-pages",
        "Empty pages without end, each with a new token",
        REMOVE,
        must=NOTHING,
        bends=on("list", leading(str)),
        costly=True,
        large=True,
    ),
    s3(
        "token-that-leads-back",
        "Page after page with a new token and new names, which come before those of the page before",
        "du s3://data/tree/",
        must=NOTHING,
        large=True,
        bends=on("list", leading(str, lambda asked: [entry(f"tree/{LAST_PAGE - asked.turn:06}")])),
    ),
    s3(
        "token-of-1-mib",
        "A token of 1 MiB",
        *SOME,
        must=NOTHING,
        bends=on("list", leading(lambda _: "m" * MIB)),
    ),
    s3(
        "token-cunning",
        "A token that says `&prefix=` and has line breaks in it",
        LIST,
        "du s3://data/tree/",
        bends=on("list", _cunning),
        code=0,
        must="it is sent back as it is, and changes nothing else",
        check=_asks_on,
    ),
)

OTHERS = (
    s3(
        "name-outside",
        "An object that does not lie below the prefix that was asked for",
        *ALL[:-2],
        must=NOTHING,
        bends=on("list", when(lambda asked: "prefix" in asked.query, lists(entry("q/victim", 22)))),
    ),
    s3(
        "name-outside-escaped",
        "The same, with the name percent-encoded",
        *SOME,
        must=NOTHING,
        bends=on("list", lists(entry("NAME").replace("NAME", "%71%2Fvictim"))),
    ),
    s3(
        "name-outside-by-dots",
        "An object called `tree/../q/victim`, and a list that says nothing of escapes",
        Line(LIST, 0),
        DOWN,
        kind="unsupported",
        must="that one fails",
        bends=on("list", edit("<EncodingType>url</EncodingType>", ""), lists(entry("tree/../q/victim", 22))),
    ),
    s3(
        "name-outside-by-a-letter",
        "An object whose name only begins like the prefix: `treeX` for `tree/`",
        *SOME,
        must=NOTHING,
        bends=on("list", lists(entry("treeX"))),
    ),
    s3(
        "folder-outside",
        "A folder that does not lie below the prefix",
        "ls s3://data/tree/",
        bends=on("list", lists(folder("q/"))),
    ),
    s3(
        "list-of-another-prefix",
        "The list of another prefix, as a cache may give it",
        *ALL[:-2],
        must=NOTHING,
        bends=on(
            "list",
            when(lambda asked: "prefix" in asked.query, lambda asked, said: said.with_body(_other(asked))),
        ),
    ),
    s3(
        "list-of-another-bucket",
        "The list of another bucket",
        *SOME,
        must=NOTHING,
        bends=on("list", edit("<Name>data</Name>", "<Name>other</Name>")),
    ),
    s3(
        "list-of-another-page",
        "A page that says that it begins at another token than the one that was sent",
        *SOME,
        must=NOTHING,
        bends=on("list", edit(FALSE, FALSE + "<ContinuationToken>zzz</ContinuationToken>")),
    ),
    s3(
        "page-with-a-name-three-times",
        "The same object three times on one page",
        *SOME,
        must=NOTHING,
        bends=on("list", lists(*[entry("tree/again", 5)] * 3)),
    ),
    s3(
        "folder-ignored",
        "A list of one folder that holds objects of folders below it",
        "ls s3://data/tree/",
        bends=on("list", lists(entry("tree/deep/d"))),
    ),
)

#: As many buckets as none has, in order, a thousand on each page.
CROWD = 3_000
THOUSAND = "".join(f"<Bucket><Name>bNUMBER-{n:03}</Name></Bucket>" for n in range(1000))


def _buckets(request: Request, answer: Answer) -> Answer:
    """Answer with a page of buckets that names one more, in order."""
    number = int(request.query.get("continuation-token", "0"))
    names = THOUSAND.replace("NUMBER", f"{number:06}")
    token = f"<ContinuationToken>{number + 1}</ContinuationToken>" if number < CROWD else ""
    text = f"<ListAllMyBucketsResult><Buckets>{names}</Buckets>{token}</ListAllMyBucketsResult>"
    return answer.with_body(text.encode())


ACCOUNT = ("ls s3://", "du s3://")
ACCOUNTS = (
    s3(
        "account-html",
        "An HTML page with status 200 in place of the list of buckets",
        *ACCOUNT,
        bends=on("list-containers", body(HTML, "text/html")),
    ),
    s3(
        "account-xhtml",
        "The same as well-formed XML, and called XML",
        *ACCOUNT,
        bends=on("list-containers", body(XHTML, XML)),
    ),
    s3(
        "account-cut",
        "A list of buckets without `Buckets`",
        *ACCOUNT,
        bends=on(
            "list-containers", body(b"<ListAllMyBucketsResult><Owner></Owner></ListAllMyBucketsResult>")
        ),
    ),
    s3(
        "account-endless",
        "A list of buckets that never ends",
        *ACCOUNT,
        bends=on(
            "list-containers",
            endless(b"<ListAllMyBucketsResult><Buckets>", b"<Bucket><Name>abc</Name></Bucket>"),
        ),
    ),
    s3(
        "account-token-repeats",
        "A list of buckets each page of which names the same next page",
        *ACCOUNT,
        bends=on(
            "list-containers", edit("</Buckets>", "</Buckets><ContinuationToken>again</ContinuationToken>")
        ),
    ),
    s3(
        "account-of-millions",
        "Three million buckets, in order",
        *ACCOUNT,
        bends=on("list-containers", _buckets),
        costly=True,
        large=True,
        must="no account has as many, and their names are not all held",
    ),
    s3(
        "account-odd-names",
        "Buckets called `..`, `a/../b` and `A?x=`",
        *ACCOUNT,
        must="none of them is asked for",
        bends=on(
            "list-containers",
            edit(
                "</Buckets>",
                "".join(f"<Bucket><Name>{name}</Name></Bucket>" for name in ("..", "a/../b", "A?x="))
                + "</Buckets>",
            ),
        ),
    ),
    s3(
        "account-counted",
        "Nothing odd: two buckets, and `haul du s3://`",
        "du s3://",
        code=0,
        must="the objects of all buckets are counted",
        blobs={"data/a": b"1", "data/b/c": b"22", "more/d": b"333"},
        check=lambda ran: (
            [] if ran.events[-1]["objects"] == 3 else [f"it counts {ran.events[-1]['objects']}, not 3"]
        ),
    ),
    s3(
        "account-removed",
        "Nothing odd: verbs that write, delete or compare, given the whole account",
        "rm -r s3://",
        "rb s3://",
        EMPTY.replace("data", ""),
        "mb s3://",
        "clean s3://",
        "stat s3://",
        "cat s3://",
        "cp up/ s3://",
        "cp s3:// down/",
        "verify s3:// up/",
        "plan s3:// down/",
        code=2,
        kind="usage",
        must="no request is sent",
        check=lambda ran: [f"it sent {request.target}" for request in ran.requests],
    ),
    s3(
        "no-bucket-but-a-key",
        "Nothing odd: a key without a bucket, and what is no bucket name",
        "rm -r s3:///",
        "rm -r s3:///tree/",
        "rb --force s3:///",
        "rm -r s3://../data/",
        "rm -r s3://data:80/tree/",
        "rm -r s3://%64ata/tree/",
        "rb --force s3://data/tree/",
        "rm s3://data",
        "rm s3://data/",
        "rm s3://data/tree/",
        code=2,
        kind="usage",
        must="no request is sent",
        check=lambda ran: [f"it sent {request.target}" for request in ran.requests],
    ),
)

CASES = (*ENDLESS, *MARKERS, *OTHERS, *ACCOUNTS)
