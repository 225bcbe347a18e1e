"""Copies that the service makes by itself, and that are answered oddly."""

from __future__ import annotations

from collections.abc import Iterable

from hostile.bends import body, cut, edit, first, on, status
from hostile.case import HUGE, TREE, Case
from hostile.documents import copied
from hostile.run import Ran
from hostile.service import Bend, Said
from hostile.themes.lists import HTML, XHTML
from hostile.themes.s3.common import s3
from hostile.themes.s3.writes import error, ok
from hostile.themes.statuses import refuse
from hostile.wire import CLOSE, Answer, Request

SMALL = "cp s3://data/tree/ s3://data/new/"
LARGE = "cp s3://data/huge s3://data/new/huge --block-size 5MiB"
BLOBS = {f"data/tree/{name}": content for name, content in TREE.items()} | {"data/huge": HUGE}
WANTED = {f"new/{name}": content for name, content in TREE.items()} | {"new/huge": HUGE}
FAILURES = "service protocol integrity busy connection"


def is_copied(ran: Ran) -> Iterable[str]:
    """What is said to be copied is at the service as it should be."""
    there = ran.service.blobs.containers["data"]
    for told in ran.objects("copied"):
        key = told["destination"].removeprefix("s3://data/")
        if key not in there or there[key].content != WANTED[key]:
            yield f"it says that {key} was copied, and it is not there as it should be"


def case(name: str, does: str, bend: Bend, **more: object) -> Case:
    """Return the case of an answer to requests for copies."""
    told: dict[str, object] = {"code": (0, 1, 5), "kind": FAILURES, "check": is_copied} | more
    told = {"must": "it is copied in another way, or nobody says that it was"} | told
    return s3(f"copy-{name}", does, SMALL, LARGE, bends=on("copy", "copy-part", bend), blobs=BLOBS, **told)


def of_other_bytes(request: Request, answer: Answer) -> Said:
    """Say that the copy has other bytes."""
    root = "CopyObjectResult" if request.api == "copy" else "CopyPartResult"
    return answer.with_body(copied(root, "e", b"other bytes"))


CASES = (
    case("honest", "Nothing odd", lambda _, answer: answer, code=0, kind="", must="the service copies"),
    *(
        case(f"status-{number}", f"Status {number} for a copy, where 200 is the only success", status(number))
        for number in (201, 202, 204)
    ),
    case("html", "An HTML page for a copy", body(HTML, "text/html")),
    case("xhtml", "The same as well-formed XML, and called XML", body(XHTML)),
    case("of-nothing", "An empty body for a copy", body(b"")),
    case("failed-with-200", "Status 200 for a copy, and an error", ok(error("AccessDenied")), kind=""),
    case(
        "failed-with-200-for-ever",
        "Status 200 for a copy, and an error to be tried again, for ever",
        ok(error("InternalError")),
        kind="",
        slow=True,
    ),
    case("failed-with-200-once", "The same, once", first(1, ok(error("InternalError"))), code=0, kind=""),
    case(
        "cut",
        "The connection is closed in the middle of the answer to a copy",
        first(1, cut(CLOSE)),
        code=0,
        kind="",
    ),
    case(
        "without-etag",
        "A copy without an ETag",
        edit("<ETag>", "<Tag>"),
        must="it is refused, or copied in another way",
    ),
    case(
        "of-other-bytes", "A copy that states the checksum of other bytes", of_other_bytes, kind="", slow=True
    ),
    case("refused", "Status 403 for a copy", refuse(403, "AccessDenied"), code=(0, 1, 3), kind=""),
    case("unknown", "Status 501 for a copy", refuse(501, "NotImplemented"), kind=""),
    case(
        "of-what-changed",
        "Status 412 for a copy: another version of the source",
        refuse(412, "PreconditionFailed"),
        code=6,
        kind="source_changed",
        must="it is named",
    ),
)
