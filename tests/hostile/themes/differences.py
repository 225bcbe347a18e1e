"""A difference is a finding: `verify` names it, and does not ask for the same bytes again and again."""

from __future__ import annotations

from collections.abc import Iterable

from hostile.bends import body, first, header, on, when
from hostile.case import Case, Check
from hostile.run import Ran
from hostile.themes.reads import CHECKSUM
from hostile.themes.statuses import refuse

FILES = 300
MANY = {f"data/many/{n:03}": f"the content of {n:03}".encode() for n in range(FILES)}
OTHER = {f"data/other/{n:03}": f"the content of {n:03}".upper().encode() for n in range(FILES)}
MISSING = 20


def finds(*, differ: int = 0, missing: int = 0, failed: int = 0, reads: int = 0) -> Check:
    """Return the check that so many are told, and so many reads were sent at most."""

    def check(ran: Ran) -> Iterable[str]:
        for name, number in {"differ": differ, "missing": missing, "failed": failed}.items():
            if ran.summary.get(f"objects_{name}") != number:
                yield f"objects_{name} is {ran.summary.get(f'objects_{name}')}, not {number}"
        for outcome, number in {"differs": differ, "missing": missing, "failed": failed}.items():
            if len(ran.objects(outcome)) != number:
                yield f"{len(ran.objects(outcome))} objects have the outcome {outcome}, not {number}"
        sent = len(ran.service.asked("get"))
        if reads and sent > reads:
            yield f"it sent {sent} reads, not {reads} at most"

    return check


CASES = (
    Case(
        "differences-many",
        f"{FILES} small blobs that differ from those they are compared with, and no checksum of them",
        lines=("verify az://data/many/ az://data/other/",),
        bends=on("get", header(CHECKSUM, None)),
        blobs=MANY | OTHER,
        code=5,
        must="each is read once more at most, and called `differs`",
        seen=26,
        check=finds(differ=FILES, reads=4 * FILES),
    ),
    Case(
        "differences-vouched",
        "The same with a checksum of every answer",
        lines=("verify az://data/many/ az://data/other/ --method ranges",),
        blobs=MANY | OTHER,
        code=5,
        must="they are called `differs`",
        seen=26,
        check=finds(differ=FILES, reads=4 * FILES),
    ),
    Case(
        "differences-and-missing",
        f"{MISSING} of these blobs are missing on the other side",
        lines=("verify az://data/many/ az://data/other/",),
        blobs=MANY | {name.replace("many", "other"): data for name, data in list(MANY.items())[MISSING:]},
        code=5,
        must="they are called `missing`, and nothing else is",
        check=finds(missing=MISSING),
    ),
    Case(
        "difference-on-the-way",
        "A blob whose bytes differ the first time they are read, and no checksum of them",
        lines=("verify az://data/tree/ up/",),
        bends=on("get", header(CHECKSUM, None), first(1, body(lambda data: data.swapcase()))),
        code=0,
        must="it is looked at again, and equal",
    ),
    Case(
        "difference-unknown",
        "A blob that cannot be read while it is compared",
        lines=("verify az://data/tree/ up/", "verify up/ az://data/tree/"),
        bends=on("get", when(lambda asked: asked.key == "tree/b", refuse(409, "Odd"))),
        kind="service",
        must="it is called `failed`, not different",
        check=finds(failed=1),
    ),
)
