"""What the cases of S3 have in common, and those of a Blob service that are tried on it as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from hostile.bends import edit
from hostile.case import Case, Line
from hostile.objects import Object, read
from hostile.service import Bend, Said
from hostile.wire import Answer, Request

DOWN, UP = "cp s3://data/tree/ down/", "cp up/a s3://data/tree/new"
STAT, FILE, CAT = "stat s3://data/tree/a", "cp s3://data/tree/a down/", "cat s3://data/tree/a"
LIST, REMOVE, EMPTY = "ls -r s3://data/tree/", "rm -r s3://data/tree/", "rb --force s3://data"
LOOKS = (STAT, FILE, CAT)
#: In three parts, each as small as may be.
PARTS = "cp huge s3://data/tree/new --block-size 5MiB"
UPLOADS = (UP, PARTS)
NOTHING = "nothing is copied, counted, compared or deleted"

#: The words of the documents.
WORDS = {
    "blobs": "objects",
    "blob": "object",
    "Blobs": "Objects",
    "Blob": "Object",
    "containers": "buckets",
    "container": "bucket",
    "Containers": "Buckets",
    "blocks": "parts",
    "block": "part",
    "az://": "s3://",
}
PATTERN = re.compile("|".join(f"\\b{word}\\b" if word.isalpha() else word for word in WORDS))
#: Who writes parts writes larger ones.
SIZES = {"cp big": "cp huge", "--block-size 64KiB --method ranges": "--block-size 5MiB"}


def s3(name: str, does: str, *lines: str | Line, bends: Bend | tuple[Bend, ...] = (), **more: Any) -> Case:
    """Return a case of S3."""
    told: dict[str, Any] = {"credentials": ("keys",), "kind": "protocol"} | more
    if told.get("code") == 0:
        told["kind"] = ""
    return Case(f"s3-{name}", does, lines=lines, bends=bends, scheme="s3", **told)


def of_s3(cases: Iterable[Case], *but: str) -> tuple[Case, ...]:
    """Return cases of a Blob service as they are tried on S3, but those that begin with these."""
    return tuple(_of_s3(case) for case in cases if not but or not case.name.startswith(but))


def _of_s3(case: Case) -> Case:
    return replace(
        case,
        name=f"s3-{case.name}",
        does=_worded(case.does),
        must=_worded(case.must),
        lines=tuple(
            replace(line, text=spelled(line.text)) if isinstance(line, Line) else spelled(line)
            for line in case.lines
        ),
        scheme="s3",
        credentials=("keys",),
        # What once went wrong there went wrong there alone.
        seen=0,
    )


def _worded(text: str) -> str:
    return re.sub(PATTERN, lambda found: WORDS[found[0]], text)


def spelled(text: str) -> str:
    """Return a line of a Blob service as one of S3."""
    text = text.replace("az://", "s3://")
    if "cp big" in text:
        for old, new in SIZES.items():
            text = text.replace(old, new)
    return text


def lists(*entries: str) -> Bend:
    """Add entries at the end of a list."""
    return edit("</ListBucketResult>", "".join(entries) + "</ListBucketResult>")


def of_version(make: Callable[[Request], Object]) -> Bend:
    """Answer with another version from the second range on, honestly, whatever the condition."""

    def bent(request: Request, answer: Answer) -> Said:
        return answer if request.range is None or request.turn == 1 else read(request, make(request))

    return bent
