"""Deletes: after a list that is not complete there are none, and each must be answered as it should."""

from __future__ import annotations

from collections.abc import Iterable

from hostile.bends import after, body, cut, header, on, status
from hostile.case import TREE, Case, Line
from hostile.run import Ran
from hostile.service import Bend
from hostile.themes.lists import HTML, XHTML
from hostile.themes.statuses import refuse
from hostile.wire import CLOSE, RESET

REMOVE, EMPTY = "rm -r az://data/tree/", "rb --force az://data"
EXTRA = "verify up/ az://data/tree/"
NOTHING = "nothing is deleted or called extra"
#: What `up` has, and more: some are extra.
MANY = {f"data/tree/{name}": content for name, content in TREE.items()}
MANY |= {f"data/tree/{name}": name.encode() for name in ("c", "d", "e", "f")}


def nothing_extra(ran: Ran) -> Iterable[str]:
    """Nothing is called extra."""
    if ran.summary.get("objects_extra") or ran.objects("extra"):
        yield f"it calls {ran.summary.get('objects_extra')} objects extra"


def second_page(name: str, does: str, *bends: Bend, kind: str, code: int = 1, slow: bool = False) -> Case:
    """Return the case of a second page that is not what it should be."""
    return Case(
        f"second-page-{name}",
        does,
        lines=(REMOVE, EMPTY, Line(EXTRA, (1, code), kind)),
        bends=on("list", *(after(1, bend) for bend in bends)),
        code=code,
        kind=kind,
        must=NOTHING,
        blobs=MANY,
        page_size=2,
        slow=slow,
        check=nothing_extra,
    )


CUT_SHORT = (
    second_page(
        "cut",
        "The connection is closed in the middle of the second page of a list",
        cut(CLOSE),
        kind="connection protocol",
        slow=True,
    ),
    second_page("reset", "It is reset there", cut(RESET), kind="connection protocol", slow=True),
    second_page(
        "half",
        "Half of the second page, of the length that is told",
        body(lambda data: data[: len(data) // 2]),
        kind="protocol",
    ),
    second_page("html", "An HTML page for the second page", body(HTML, "text/html"), kind="protocol"),
    second_page("xhtml", "The same as well-formed XML, and called XML", body(XHTML), kind="protocol"),
    second_page("of-nothing", "An empty body for the second page", body(b""), kind="protocol"),
    second_page(
        "gone",
        "Status 404 for the second page",
        refuse(404, "ContainerNotFound"),
        code=4,
        kind="not_found",
    ),
    second_page(
        "refused",
        "Status 403 for the second page",
        refuse(403, "AuthorizationFailure"),
        code=3,
        kind="permission",
    ),
    second_page(
        "busy",
        "Status 503 for the second page, for ever",
        refuse(503, "ServerBusy", Retry_After="0"),
        kind="busy",
    ),
)

ANSWERS = (
    *(
        Case(
            f"delete-status-{number}",
            f"Status {number} for a delete, where 202 is the only success",
            lines=("rm az://data/tree/a", REMOVE, "rb --force az://data"),
            bends=on("delete", "remove", status(number)),
            kind="protocol",
            must="nobody says that it was removed",
            seen=12,
            deletes=True,
        )
        for number in (200, 201, 204)
    ),
    Case(
        "delete-html",
        "An HTML page with status 200 for a delete",
        lines=("rm az://data/tree/a", REMOVE, "rb --force az://data"),
        bends=on("delete", "remove", body(HTML, "text/html"), status(200)),
        kind="protocol",
        seen=12,
        deletes=True,
    ),
    Case(
        "delete-gone",
        "Status 404 for a delete: somebody else was quicker",
        lines=(Line("rm az://data/tree/a", (0, 4), "not_found"), Line(REMOVE)),
        bends=on("delete", refuse(404, "BlobNotFound")),
        code=(0, 4),
        kind="not_found",
        must="`rm -r` takes it for removed",
        deletes=True,
    ),
    Case(
        "delete-of-a-proxy",
        "Status 404 for a delete, which does not say that the blob is gone",
        lines=("rm az://data/tree/a", REMOVE),
        bends=on("delete", refuse(404, "ResourceNotFound")),
        code=(1, 4),
        kind="not_found",
        must="nobody says that it was removed",
        deletes=True,
    ),
    Case(
        "delete-refused",
        "Status 403 for a delete",
        lines=("rm az://data/tree/a", Line(REMOVE, (1, 3), "permission")),
        bends=on("delete", refuse(403, "AuthorizationFailure")),
        code=3,
        kind="permission",
        deletes=True,
    ),
    Case(
        "head-html-before-a-delete",
        "An HTML page with status 200 for what is known of a blob that is to be removed",
        lines=("rm az://data/tree/a",),
        bends=on("head", body(HTML, "text/html"), header("ETag", None)),
        kind="protocol",
        must="it is not removed",
        seen=6,
    ),
)

CASES = (*CUT_SHORT, *ANSWERS)
