"""Pages that are not what was asked for, and rows that cannot be."""

from __future__ import annotations

from hostile.bends import body, on, status, when
from hostile.case import ROWS, Case
from hostile.rows import JSON, refusal
from hostile.themes.lists import HTML, ZEROS
from hostile.themes.tables.common import case, rewritten


def _document(name: str, does: str, text: bytes | str, content_type: str = JSON) -> Case:
    """Return the case of another document in place of a page of rows."""
    data = text.encode() if isinstance(text, str) else text
    return case(name, does, on("query", body(data, content_type)))


def _page(name: str, does: str, rows: str) -> Case:
    """Return the case of a page with these rows."""
    return _document(name, does, f'{{"odata.metadata":"x","value":{rows}}}')


PAGES = (
    _document("html", "A captive portal: an HTML page with status 200 in place of rows", HTML, "text/html"),
    _document("html-called-json", "The same, and called JSON", HTML),
    _document("empty", "An empty body with status 200", b""),
    _document("error", "An error's document with status 200", refusal(503, "ServerBusy").body),
    _document("list", "A list where an object with rows should be", "[]"),
    _document(
        "half", "Half a page, of the length that is told", '{"value":[{"PartitionKey":"p","RowKey":"r","te'
    ),
    _document("more", "A page, and text behind it", '{"value":[]} and more'),
    _document("twice", "Two lists of rows in a page", '{"value":[],"value":[]}'),
    _document("deep", "A million brackets, one in the other", '{"x":' + "[" * 1_000_000),
    _document("utf-16", "A page in UTF-16", '{"value":[]}'.encode("utf-16")),
    _document("gzip", "A page in gzip, which nobody asked for: 50 MB of zeros", ZEROS),
    _document("atom", "A feed of Atom", "<feed/>", "application/atom+xml"),
    _page("numbers", "Numbers where rows should be", "[1,2,3]"),
    _page("keyless", "A row without keys", '[{"n":1}]'),
    _page("number-keys", "A row whose keys are numbers", '[{"PartitionKey":1,"RowKey":2}]'),
    _page(
        "property-twice", "A row that has a property twice", '[{"PartitionKey":"p","RowKey":"r","a":1,"a":2}]'
    ),
    _page("nested", "A property that is an object", '[{"PartitionKey":"p","RowKey":"r","a":{"b":1}}]'),
    _page(
        "odd-type",
        "A property of a type that no table has",
        '[{"PartitionKey":"p","RowKey":"r","a@odata.type":"Edm.\\u001b[2J","a":"1"}]',
    ),
    _page(
        "not-its-type",
        "A number of 64 bits that is none",
        '[{"PartitionKey":"p","RowKey":"r","a@odata.type":"Edm.Int64","a":"9e99"}]',
    ),
    *(
        case(f"status-{number}", f"A page with status {number}", on("query", status(number)))
        for number in (201, 202, 206)
    ),
)

ORDER = (
    case(
        "row-twice",
        "A row that comes twice in a page",
        on("query", rewritten(lambda rows: [rows[0], *rows])),
    ),
    case(
        "row-again",
        "Pages that each begin with the first row of all",
        on("query", rewritten(lambda rows: [dict(ROWS[0]), *[row for row in rows if row != ROWS[0]]])),
    ),
    case("out-of-order", "Rows in the wrong order", on("query", rewritten(lambda rows: rows[::-1]))),
    case(
        "not-asked-for",
        "Rows of a partition that a query left out",
        on("query", when(lambda request: "$filter" in request.query, rewritten(lambda _: [dict(ROWS[0])]))),
        kind="protocol",
        # Nine rows are read by one query; a second one begins when there is something to cut.
        code=(0, 1),
        must="they are not taken",
    ),
)
