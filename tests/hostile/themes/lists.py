"""Documents that are not the list that was asked for."""

from __future__ import annotations

import gzip

from hostile.bends import body, edit, header, lists, on, status
from hostile.blobs import XML, entry
from hostile.case import Case, Line

#: Every line that reads a list of blobs: none of them may take anything else for one.
EVERYBODY = (
    "ls az://data/tree/",
    "ls -r az://data/tree/",
    "du az://data/tree/",
    "cp az://data/tree/ down/",
    "cp up/ az://data/tree/",
    "verify az://data/tree/ up/",
    "verify up/ az://data/tree/",
    "plan az://data/tree/ down/",
    "clean az://data/tree/",
    "rm -r az://data/tree/",
    "rb az://data",
    "rb --force az://data",
)
SOME = ("ls -r az://data/tree/", "cp az://data/tree/ down/", "rm -r az://data/tree/")
NOTHING = "nothing is copied, counted, compared or deleted"

HTML = b"""<!DOCTYPE html><html><head><title>Welcome to the Wi-Fi</title></head>
<body><p>Please sign in.<br></body></html>"""
XHTML = (
    b'<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml">'
    b"<head><title>Sign in</title></head><body><p>Please sign in.</p></body></html>"
)
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE EnumerationResults ['
    + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10 if n else b"ha") for n in range(12))
    + b"]><EnumerationResults><Blobs><Blob><Name>tree/&a11;</Name></Blob></Blobs>"
    b"<NextMarker /></EnumerationResults>"
)
OUTSIDER = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY passwords SYSTEM "file:///etc/passwd">]><EnumerationResults>'
    b"<Blobs><Blob><Name>tree/&passwords;</Name></Blob></Blobs><NextMarker /></EnumerationResults>"
)
DEEP = "<Blobs>" + "<a>" * 1_000_000 + "</a>" * 1_000_000
ZEROS = gzip.compress(bytes(50_000_000), 9)


def _document(name: str, does: str, data: bytes, content_type: str = XML, **more: object) -> Case:
    """Return the case of another document in place of a list."""
    bend = on("list", body(data, content_type))
    return Case(name, does, lines=SOME, bends=bend, kind="protocol", must=NOTHING, **more)  # type: ignore[arg-type]


def _edited(name: str, does: str, old: str, new: str, *, times: int = -1) -> Case:
    """Return the case of a list with something else in it."""
    return Case(
        name, does, lines=SOME, bends=on("list", edit(old, new, times)), kind="protocol", must=NOTHING
    )


def _with(name: str, does: str, *entries: str, must: str = NOTHING) -> Case:
    """Return the case of a list with an entry that no service writes."""
    return Case(name, does, lines=SOME, bends=on("list", lists(*entries)), kind="protocol", must=must)


DOCUMENTS = (
    _edited("list-with-text", "Text between the elements of a list", "<Blobs>", "Sign in first<Blobs>"),
    _edited(
        "list-with-two-markers",
        "Two markers of the next page",
        "<NextMarker>",
        "<NextMarker></NextMarker><NextMarker>",
    ),
    Case(
        "list-with-bytes-in-folders",
        "Blobs with bytes in them that their metadata calls folders",
        lines=("cp az://data/tree/ down/",),
        bends=on(
            "list", edit("<Metadata></Metadata>", "<Metadata><hdi_isfolder>true</hdi_isfolder></Metadata>")
        ),
        code=0,
        must="they are copied like any other",
    ),
    Case(
        "list-html",
        "A captive portal: an HTML page with status 200 in place of a list",
        lines=EVERYBODY,
        bends=on("list", body(HTML, "text/html")),
        kind="protocol",
        must=NOTHING,
        seen=6,
    ),
    Case(
        "list-xhtml",
        "The same as well-formed XML, and called XML",
        lines=EVERYBODY,
        bends=on("list", body(XHTML, XML)),
        kind="protocol",
        must=NOTHING,
        seen=6,
    ),
    _document("list-json", "A list in JSON", b'{"Blobs": [], "NextMarker": ""}', "application/json"),
    _document("list-of-nothing", "An empty body with status 200", b""),
    _document("list-error", "An error's document with status 200", b"<Error><Code>Busy</Code></Error>"),
    _document("list-laughs", "A document type whose entities unfold to 2 TB", LAUGHS),
    _document("list-entity-of-a-file", "An entity that stands for a file of this machine", OUTSIDER),
    _document("list-utf-16", "A list in UTF-16", "<EnumerationResults />".encode("utf-16")),
    _document("list-text", "A list's words without a single tag", b"EnumerationResults Blobs NextMarker"),
    *(
        Case(
            f"list-status-{number}",
            f"A list with status {number}",
            lines=SOME,
            bends=on("list", status(number)),
            kind="protocol",
            must=NOTHING,
        )
        for number in (201, 202, 203, 206)
    ),
    Case(
        "list-status-204",
        "Status 204 and no body in place of a list",
        lines=SOME,
        bends=on("list", body(b""), status(204), header("Content-Length", None)),
        kind="protocol",
        must=NOTHING,
    ),
    Case(
        "list-called-html",
        "A list whose content type is that of a web page",
        lines=SOME,
        bends=on("list", header("Content-Type", "text/html; charset=utf-8")),
        kind="protocol",
        must=NOTHING,
    ),
    Case(
        "list-gzip",
        "A list in gzip, which nobody asked for",
        lines=SOME,
        bends=on("list", body(gzip.compress), header("Content-Encoding", "gzip")),
        kind="protocol",
        must=NOTHING,
    ),
    Case(
        "list-gzip-bomb",
        "50 MB of zeros in gzip",
        lines=SOME,
        bends=on("list", body(ZEROS), header("Content-Encoding", "gzip")),
        kind="protocol",
        must=NOTHING,
    ),
)

BROKEN = (
    Case(
        "list-half",
        "Half a list, of the length that is told",
        lines=SOME,
        bends=on("list", body(lambda data: data[: len(data) // 2])),
        kind="protocol",
        must=NOTHING,
    ),
    Case(
        "list-not-utf-8",
        "A list whose names are not UTF-8",
        lines=SOME,
        bends=on("list", body(lambda data: data.replace(b"tree/b<", b"tree/\xff\xfe<"))),
        kind="protocol",
        must=NOTHING,
    ),
    Case(
        "list-twice",
        "Two lists in one body",
        lines=SOME,
        bends=on("list", body(lambda data: data * 2)),
        kind="protocol",
        must=NOTHING,
    ),
    _edited("list-without-blobs", "A list without `Blobs`", "Blobs>", "Others>"),
    _edited("list-without-end", "A list without `NextMarker`", "<NextMarker></NextMarker>", ""),
    _edited(
        "list-then-text", "Text after the last element", "</EnumerationResults>", "</EnumerationResults>more"
    ),
    _edited("list-deep", "Elements nested a million deep", "<Blobs>", DEEP + "</Blobs><Blobs>"),
    _edited("list-unknown-entity", "An entity that nobody has defined", "tree/b<", "tree/&nbsp;<"),
    _edited("list-no-such-character", "A character beyond all of Unicode", "tree/b<", "tree/&#x110000;<"),
    _edited("list-nul-character", "The character 0 in a name", "tree/b<", "tree/&#0;b<"),
    _edited("list-cdata", "A name as a CDATA section", "<Name>tree/b<", "<Name><![CDATA[tree/b]]><"),
    _edited("list-unclosed", "An element that is closed by another", "</Name>", "</Prefix>", times=1),
)

ENTRIES = (
    _with("list-size-negative", "A size below zero", entry("tree/x", "-1")),
    _with("list-size-beyond-numbers", "A size of 2^64 bytes", entry("tree/x", 1 << 64)),
    _with("list-size-in-words", "A size that is no number", entry("tree/x", "1e3")),
    _with(
        "list-size-missing",
        "A blob without a size",
        entry("tree/x", "SIZE").replace("<Content-Length>SIZE</Content-Length>", ""),
    ),
    _with("list-etag-missing", "A blob without an ETag", entry("tree/x").replace("<Etag>0xE</Etag>", "")),
    _with("list-name-missing", "A blob without a name", entry("NAME").replace("<Name>NAME</Name>", "")),
    _with("list-name-empty", "A blob of an empty name", entry("")),
    _with(
        "list-name-twice-in-an-entry",
        "A blob of two names, the second outside the prefix",
        entry("tree/b", more="<Name>q/victim</Name>"),
    ),
    Case(
        "list-sizes-beyond-numbers",
        "Blobs that have 2^64 bytes together",
        lines=("du az://data/tree/", "ls -r az://data/tree/", "plan az://data/tree/ down/"),
        bends=on("list", lists(*(entry(f"tree/{n}", (1 << 64) - 1) for n in range(3)))),
        code=(0, 1),
        kind="protocol",
        must="it does not count beyond all numbers",
    ),
    Case(
        "list-size-of-8-tib",
        "A blob that has 8 TiB in the list, and 17 bytes in truth",
        lines=("cp az://data/tree/ down/", Line("du az://data/tree/", (0, 1), "protocol")),
        bends=on("list", edit("<Content-Length>17<", f"<Content-Length>{8 << 40}<")),
        code=(1, 6),
        kind="source_changed protocol no_space io integrity",
        must="no memory or disk is taken for it, and the others are copied",
    ),
)

CASES = (*DOCUMENTS, *BROKEN, *ENTRIES)
