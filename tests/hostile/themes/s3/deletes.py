"""Deletes: after a list that is not complete there are none, and each must be answered as it should."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hostile.bends import body, edit, first, header, on, status
from hostile.case import Case, nothing_more
from hostile.objects import named_in
from hostile.run import Ran
from hostile.service import Bend, Said
from hostile.themes import deletes
from hostile.themes.lists import HTML, XHTML
from hostile.themes.s3.common import EMPTY, REMOVE, of_s3, s3
from hostile.themes.statuses import refuse
from hostile.wire import Answer, Request

BOTH = (REMOVE, EMPTY)
ERROR = "<Error><Code>{}</Code><Message>No.</Message></Error>"


def told(*each: str, more: str = "") -> Bend:
    """Answer with what became of each object, in turn by these, where `{}` is its name; and with more."""

    def bent(request: Request, answer: Answer) -> Said:
        names = named_in(request.body)
        text = "".join(each[at % len(each)].replace("{}", name) for at, name in enumerate(names))
        return answer.with_body(f"<DeleteResult>{text}{more}</DeleteResult>".encode())

    return on("delete-many", bent)


GONE = "<Deleted><Key>{}</Key></Deleted>"


def failed(code: str) -> str:
    """Return what is said of an object that was not deleted."""
    return "<Error><Key>{}</Key><Code>" + code + "</Code><Message>No.</Message></Error>"


def odd(
    name: str,
    does: str,
    bend: Bend,
    *,
    kind: str = "protocol",
    code: int | tuple[int, ...] = 1,
    **more: object,
) -> Case:
    """Return the case of an answer to a request that deletes many."""
    told = {"must": "nobody says that they were removed", "deletes": True, "check": the_bucket_stays} | more
    return s3(f"deletes-{name}", does, *BOTH, bends=bend, kind=kind, code=code, **told)


def the_bucket_stays(ran: Ran) -> Iterable[str]:
    """A bucket of which not everything is known to be gone is not removed."""
    if ran.service.asked("remove"):
        yield "it asked for the bucket to be removed"


def nothing_is_deleted(ran: Ran) -> Iterable[str]:
    """No object is deleted, and no upload removed."""
    yield from (
        f"it sent {asked.method} {asked.target}"
        for asked in ran.service.asked("delete", "delete-many", "abort")
    )


def those_not_listed_stay(ran: Ran) -> Iterable[str]:
    """What came after the list is still there."""
    for key in ("large", "q/victim"):
        if key not in ran.service.blobs.containers.get("data", {}):
            yield f"{key} was deleted"


def nobody_home(request: Request, answer: Answer) -> Said:
    """Answer with an empty list."""
    del request
    return answer.with_body(b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")


def without(*keys: str) -> Bend:
    """Leave these out of a list."""

    def bent(_: Request, answer: Answer) -> Said:
        text = answer.body.decode()
        for key in keys:
            at = text.find(f"<Contents><Key>{key}</Key>")
            text = text[:at] + text[text.find("</Contents>", at) + len("</Contents>") :]
        return answer.with_body(text.encode())

    return bent


MANY = (
    odd(
        "html",
        "An HTML page for the answer to a request that deletes many",
        on("delete-many", body(HTML, "text/html")),
    ),
    odd("xhtml", "The same as well-formed XML, and called XML", on("delete-many", body(XHTML))),
    odd(
        "of-nothing",
        "No word of any object",
        told(""),
        code=(0, 1),
        check=nothing_more,
        must="each is asked for by itself",
    ),
    odd("half", "Half an answer", on("delete-many", body(lambda data: data[: len(data) // 2]))),
    odd(
        "status-204",
        "Status 204, where 200 is the only success",
        on("delete-many", body(b""), header("Content-Length", None), status(204)),
    ),
    odd(
        "error-with-200",
        "Status 200 and an error",
        on("delete-many", body(ERROR.format("AccessDenied").encode())),
        kind="permission protocol service",
        code=(1, 3),
    ),
    odd(
        "of-others",
        "Word of an object besides that was not to be deleted",
        told(GONE, more="<Deleted><Key>other/victim</Key></Deleted>"),
    ),
    odd(
        "hidden-error",
        "An error for an object, and then that it was deleted",
        told(failed("AccessDenied") + GONE),
    ),
    odd(
        "hidden-success", "That an object was deleted, and then an error", told(GONE + failed("AccessDenied"))
    ),
    odd(
        "without-a-name",
        "An object that was deleted and has no name",
        told(GONE, more="<Deleted><VersionId>1</VersionId></Deleted>"),
    ),
    odd(
        "one-left-out",
        "No word of one of the objects",
        on(
            "delete-many",
            lambda _, answer: answer.with_body(
                answer.body.replace(b"<Deleted><Key>tree/b</Key></Deleted>", b"")
            ),
        ),
        code=(0, 1),
        must="it is asked for by itself",
        check=nothing_more,
    ),
    odd(
        "refused",
        "Each object refused: `AccessDenied`",
        told(failed("AccessDenied")),
        kind="permission",
        code=(1, 3),
    ),
    odd(
        "one-refused",
        "One of the objects refused",
        on(
            "delete-many",
            lambda _, answer: answer.with_body(
                answer.body.replace(
                    b"<Deleted><Key>tree/b</Key></Deleted>", failed("AccessDenied").format("tree/b").encode()
                )
            ),
        ),
        kind="permission",
        code=(1, 3),
        must="it is named",
    ),
    odd(
        "refused-oddly",
        "Each object refused with a code that is no word",
        told(failed("\u202e two words")),
        kind="service",
    ),
)

BUCKETS = (
    s3(
        "bucket-empty-at-first",
        "A bucket that is said to be empty when `rb` looks, and holds objects when it removes it",
        "rb s3://data",
        bends=on("list", first(1, nobody_home)),
        kind="service",
        deletes=True,
        must="nothing is deleted: that takes `--force`",
        check=nothing_is_deleted,
    ),
    s3(
        "bucket-fuller-than-listed",
        "A bucket that holds more than its list when `rb --force --max-delete` removes it",
        "rb --force --max-delete 3 s3://data",
        "rb --force s3://data",
        bends=on("list", without("large", "q/victim")),
        kind="service",
        deletes=True,
        must="what was not in the list is not deleted, and the bucket stays",
        check=those_not_listed_stay,
    ),
    s3(
        "bucket-with-uploads",
        "Nothing odd: `rb` of an empty bucket in which somebody is writing",
        "rb s3://data",
        bends=on("uploads", edit("</List", "<Upload><Key>a</Key><UploadId>u</UploadId></Upload></List")),
        blobs={"data/": b""},
        code=(0, 1),
        kind="service usage",
        must="what they write is not removed: that takes `--force`",
        deletes=True,
        check=nothing_is_deleted,
    ),
    s3(
        "bucket-never-gone",
        "An empty bucket that is refused for ever: `BucketNotEmpty`",
        EMPTY,
        bends=on("remove", refuse(409, "BucketNotEmpty")),
        kind="service",
        deletes=True,
        tries=1,
    ),
)

ONE = "rm s3://data/tree/a"
ANSWERS = (
    *(replace(case, lines=(ONE,)) for case in of_s3(deletes.ANSWERS, "delete-status", "delete-gone")),
    *(
        s3(
            f"delete-status-{number}",
            f"Status {number} for a delete, where 204 is the only success",
            ONE,
            EMPTY,
            bends=on("delete", "remove", status(number)),
            must="nobody says that it was removed",
            deletes=True,
        )
        for number in (200, 201, 202)
    ),
    s3(
        "delete-gone",
        "Status 404, `NoSuchKey`, for a delete: somebody else was quicker",
        ONE,
        bends=on("delete", refuse(404, "NoSuchKey")),
        code=(0, 4),
        kind="not_found",
        deletes=True,
    ),
)

CASES: tuple[Case, ...] = (
    *of_s3(deletes.CUT_SHORT),
    *ANSWERS,
    *MANY,
    *BUCKETS,
)
