"""Places of the next page that lead nowhere, or somewhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hostile.bends import first, on
from hostile.case import ROWS
from hostile.rows import PARTITION, ROW, page
from hostile.run import Ran
from hostile.service import Bend
from hostile.themes.tables.common import EXPORT, case, rewritten
from hostile.wire import Answer, Request

#: It could change what is asked for, if it were not escaped.
CUNNING = "q&$filter=RowKey eq '1'#?%26"


def begins_next(partition: str | None, row: str | None = None) -> Bend:
    """Say where the next page begins."""

    def bent(_: Request, answer: Answer) -> Answer:
        return answer.having(PARTITION, partition).having(ROW, row)

    return bent


def _asked_on(ran: Ran) -> Iterator[str]:
    asked = [request.query for request in ran.service.asked("query") if "NextPartitionKey" in request.query]
    if not asked or asked[0]["NextPartitionKey"] != CUNNING or "$filter" in asked[0]:
        yield f"it asked for {asked[:1]}"


def _beginning(answer: Answer) -> Answer:
    """Return it with a place that is a partition's beginning, which says no row."""
    return answer.having(ROW, "" if answer.header(PARTITION) == "q" else None)


PLACES = (
    case(
        "place-again", "A page that says that it is to be asked for again", on("query", begins_next("p", "0"))
    ),
    case(
        "places-in-a-ring",
        "Pages without rows whose places lead round in a ring",
        on(
            "query",
            rewritten(lambda _: []),
            lambda request, answer: begins_next("p" * (1 + request.turn % 3))(request, answer),
        ),
    ),
    case(
        "rows-in-a-ring",
        "The same, with rows",
        on(
            "query",
            lambda request, _: begins_next("p", str(request.turn % 3))(
                request, page([dict(row) for row in ROWS])
            ),
        ),
    ),
    case("row-of-no-partition", "A next page at a row of no partition", on("query", begins_next(None, "1"))),
    case(
        "place-binary",
        "A next page at bytes that are no text",
        on("query", begins_next("\udcff\udcfe", None)),
    ),
    case(
        "place-control",
        "A next page at control characters",
        on("query", begins_next("a\x01\x1b[2J", None)),
        kind="protocol connection",
        slow=True,
    ),
    case(
        "place-long",
        "A next page at a key of 64 KiB",
        on("query", begins_next("x" * 65536)),
        kind="protocol connection",
        slow=True,
    ),
    replace(
        case(
            "place-cunning",
            "A next page whose place would change the query, were it not escaped",
            on("query", first(1, begins_next(CUNNING, "1"))),
            lines=(EXPORT,),
            must="the query is sent again with the whole place",
        ),
        code=0,
        kind="",
        check=_asked_on,
    ),
    case(
        "place-without-row",
        "A next page at the beginning of a partition, whose row is left out or empty",
        on("query", lambda _, answer: answer if not answer.header(ROW) else _beginning(answer)),
        code=0,
        kind="",
        page_size=3,
    ),
    case(
        "pages-empty",
        "A first page without rows that says where to go on",
        on("query", first(1, lambda *_: page([], ("p", "")))),
        code=0,
        kind="",
    ),
)
