"""Documents of S3 that are not the list that was asked for, and lists without end."""

from __future__ import annotations

import gzip

from hostile.bends import body, edit, header, on, status
from hostile.blobs import XML
from hostile.case import Case, Line
from hostile.documents import entry
from hostile.themes.lists import DEEP, EVERYBODY, HTML, XHTML, ZEROS
from hostile.themes.s3.common import DOWN, LIST, NOTHING, REMOVE, lists, s3

#: What interrupted uploads have left is another list.
ALL = tuple(line.replace("az://", "s3://") for line in EVERYBODY if not line.startswith("clean"))
SOME = (LIST, DOWN, REMOVE)
OPENING = b"<ListBucketResult><IsTruncated>false</IsTruncated>"
FALSE, TRUE = "<IsTruncated>false</IsTruncated>", "<IsTruncated>true</IsTruncated>"

LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE ListBucketResult ['
    + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10 if n else b"ha") for n in range(12))
    + b"]>"
    + OPENING
    + entry("NAME").encode().replace(b"NAME", b"tree/&a11;")
    + b"</ListBucketResult>"
)
OUTSIDER = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY passwords SYSTEM "file:///etc/passwd">]>'
    + OPENING
    + entry("NAME").encode().replace(b"NAME", b"tree/&passwords;")
    + b"</ListBucketResult>"
)


def document(name: str, does: str, data: bytes, content_type: str = XML, **more: object) -> Case:
    """Return the case of another document in place of a list."""
    return s3(f"list-{name}", does, *SOME, bends=on("list", body(data, content_type)), must=NOTHING, **more)


def edited(name: str, does: str, old: str, new: str, times: int = -1) -> Case:
    """Return the case of a list with something else in it."""
    return s3(f"list-{name}", does, *SOME, bends=on("list", edit(old, new, times)), must=NOTHING)


def holding(name: str, does: str, *entries: str) -> Case:
    """Return the case of a list with an entry that no service writes."""
    return s3(f"list-{name}", does, *SOME, bends=on("list", lists(*entries)), must=NOTHING)


DOCUMENTS = (
    s3(
        "list-html",
        "A captive portal: an HTML page with status 200 in place of a list",
        *ALL,
        bends=on("list", body(HTML, "text/html")),
        must=NOTHING,
    ),
    s3(
        "list-xhtml",
        "The same as well-formed XML, and called XML",
        *ALL,
        bends=on("list", body(XHTML, XML)),
        must=NOTHING,
    ),
    document("json", "A list in JSON", b'{"Contents": [], "IsTruncated": false}', "application/json"),
    document("of-nothing", "An empty body with status 200", b""),
    document(
        "error",
        "An error's document with status 200",
        b"<Error><Code>Odd</Code></Error>",
        kind="service protocol",
    ),
    document(
        "of-buckets",
        "The list of the buckets in place of one of objects",
        b"<ListAllMyBucketsResult><Buckets></Buckets></ListAllMyBucketsResult>",
    ),
    document("laughs", "A document type whose entities unfold to 2 TB", LAUGHS),
    document("entity-of-a-file", "An entity that stands for a file of this machine", OUTSIDER),
    document("utf-16", "A list in UTF-16", "<ListBucketResult />".encode("utf-16")),
    document("empty-element", "A list that is one empty element", b"<ListBucketResult/>"),
    *(
        s3(
            f"list-status-{number}",
            f"A list with status {number}",
            *SOME,
            bends=on("list", status(number)),
            must=NOTHING,
        )
        for number in (201, 202, 203, 206)
    ),
    s3(
        "list-status-204",
        "Status 204 and no body in place of a list",
        *SOME,
        must=NOTHING,
        bends=on("list", body(b""), status(204), header("Content-Length", None)),
    ),
    s3(
        "list-called-html",
        "A list whose content type is that of a web page",
        *SOME,
        must=NOTHING,
        bends=on("list", header("Content-Type", "text/html; charset=utf-8")),
    ),
    s3(
        "list-gzip",
        "A list in gzip, which nobody asked for",
        *SOME,
        must=NOTHING,
        bends=on("list", body(gzip.compress), header("Content-Encoding", "gzip")),
    ),
    s3(
        "list-gzip-bomb",
        "50 MB of zeros in gzip",
        *SOME,
        must=NOTHING,
        bends=on("list", body(ZEROS), header("Content-Encoding", "gzip")),
    ),
    s3(
        "list-half",
        "Half a list, of the length that is told",
        *SOME,
        must=NOTHING,
        bends=on("list", body(lambda data: data[: len(data) // 2])),
    ),
    s3(
        "list-not-utf-8",
        "A list whose names are not UTF-8",
        *SOME,
        must=NOTHING,
        bends=on("list", body(lambda data: data.replace(b"tree/b<", b"tree/\xff\xfe<"))),
    ),
    s3(
        "list-twice",
        "Two lists in one body",
        *SOME,
        must=NOTHING,
        bends=on("list", body(lambda data: data * 2)),
    ),
)

BROKEN = (
    edited("with-text", "Text between the elements of a list", "<Contents>", "Sign in first<Contents>", 1),
    edited("without-end", "A list that does not say whether more follows", FALSE, ""),
    edited("truncated-without-token", "A list that says more follows, and not where", FALSE, TRUE),
    edited(
        "truncated-with-empty-token",
        "The same with an empty token",
        FALSE,
        TRUE + "<NextContinuationToken></NextContinuationToken>",
    ),
    edited("truncated-twice", "A list that says twice whether more follows", FALSE, TRUE + FALSE),
    edited(
        "truncated-perhaps",
        "A list that says `perhaps` where it should say whether more follows",
        "false",
        "perhaps",
    ),
    edited(
        "two-tokens",
        "Two tokens of the next page",
        FALSE,
        TRUE
        + "<NextContinuationToken>a</NextContinuationToken><NextContinuationToken>b</NextContinuationToken>",
    ),
    edited("then-text", "Text after the last element", "</ListBucketResult>", "</ListBucketResult>more"),
    edited(
        "deep",
        "Elements nested a million deep",
        "<Contents>",
        DEEP.replace("Blobs", "More") + "</More><Contents>",
        1,
    ),
    edited("unknown-entity", "An entity that nobody has defined", "tree/b<", "tree/&nbsp;<"),
    edited("no-such-character", "A character beyond all of Unicode", "tree/b<", "tree/&#x110000;<"),
    edited("escape-not-utf-8", "A name whose escapes are not UTF-8", "tree/b<", "tree/%FF%FE<"),
    edited("nul-character", "The character 0 in a name", "tree/b<", "tree/&#0;b<"),
    edited("cdata", "A name as a CDATA section", "<Key>tree/b<", "<Key><![CDATA[tree/b]]><"),
    edited("unclosed", "An element that is closed by another", "</Key>", "</Prefix>", 1),
    holding(
        "in-a-list", "A list within a list", f"<ListBucketResult>{FALSE}{entry('tree/x')}</ListBucketResult>"
    ),
    holding(
        "entry-in-an-entry",
        "An object within an object",
        entry("tree/x").replace("</Contents>", entry("tree/y") + "</Contents>"),
    ),
)

ENTRIES = (
    holding("size-negative", "A size below zero", entry("tree/x", "-1")),
    holding("size-beyond-numbers", "A size of 2^64 bytes", entry("tree/x", 1 << 64)),
    holding("size-in-words", "A size that is no number", entry("tree/x", "1e3")),
    holding("size-missing", "An object without a size", entry("tree/x", "S").replace("<Size>S</Size>", "")),
    holding(
        "size-twice", "An object of two sizes", entry("tree/x").replace("<Size>", "<Size>5</Size><Size>")
    ),
    holding(
        "etag-missing",
        "An object without an ETag",
        entry("tree/x", etag="").replace("<ETag>&quot;&quot;</ETag>", ""),
    ),
    holding("etag-empty", "An object with an empty ETag", entry("tree/x", etag="")),
    holding("etag-of-5000-bytes", "An ETag of 5,000 bytes", entry("tree/x", etag="e" * 5000)),
    holding("name-missing", "An object without a name", entry("NAME").replace("<Key>NAME</Key>", "")),
    holding("name-empty", "An object of an empty name", entry("")),
    holding(
        "name-twice-in-an-entry",
        "An object of two names, the second outside the prefix",
        entry("tree/x").replace("</Key>", "</Key><Key>q/victim</Key>"),
    ),
    holding("name-of-5000-bytes", "A name of 5,000 bytes", entry("tree/" + "x" * 5000)),
    s3(
        "list-sizes-beyond-numbers",
        "Objects that have 2^64 bytes together",
        "du s3://data/tree/",
        LIST,
        "plan s3://data/tree/ down/",
        bends=on("list", lists(*(entry(f"tree/{n}", (1 << 64) - 1) for n in range(3)))),
        code=(0, 1),
        must="it does not count beyond all numbers",
    ),
    s3(
        "list-size-of-8-tib",
        "An object that has 8 TiB in the list, and 17 bytes in truth",
        DOWN,
        Line("du s3://data/tree/", (0, 1), "protocol"),
        bends=on("list", edit("<Size>17<", f"<Size>{8 << 40}<")),
        code=(1, 6),
        kind="source_changed protocol no_space io integrity",
        must="no memory or disk is taken for it, and the others are copied",
    ),
    s3(
        "list-folder-without-a-name",
        "A folder that has no name",
        "ls s3://data/tree/",
        bends=on("list", lists("<CommonPrefixes><Owner>x</Owner></CommonPrefixes>")),
    ),
)

CASES = (*DOCUMENTS, *BROKEN, *ENTRIES)
