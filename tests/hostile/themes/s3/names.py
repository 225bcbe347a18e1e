"""Objects whose names are traps, and answers that are as odd as those of any service may be."""

from __future__ import annotations

from hostile.bends import on
from hostile.case import Case
from hostile.documents import entry
from hostile.themes import bodies, heads, names, statuses, strangers
from hostile.themes.s3.common import DOWN, LIST, REMOVE, lists, of_s3, s3

#: What the list of a Blob service says in its own way, and those that need it.
NAMES = (
    *of_s3(names.CASES, "name-twice", "name-not-utf-8", "name-of-1025"),
    s3(
        "name-of-1025-bytes",
        "A name of 1,025 bytes, one more than S3 takes",
        DOWN,
        LIST,
        code=(0, 1),
        kind="protocol unsupported",
        must="it fails, or the list is refused",
        blobs={**names.GOOD, "data/tree/" + "/".join(["d" * 202] * 5) + "x" * 6: b"far down"},
    ),
    s3(
        "name-twice",
        "The same object twice in a list, with other versions",
        DOWN,
        LIST,
        REMOVE,
        bends=on("list", lists(entry("tree/good", 15, "other"))),
        blobs=names.GOOD,
    ),
    s3(
        "name-of-nul-and-more",
        "Names with the character 0, percent-encoded as S3 does",
        DOWN,
        bends=on("list", lists(entry("tree/a\0b"), entry("tree/\0"))),
        kind="unsupported",
        must="these fail, the others are copied",
        blobs=names.GOOD,
        check=names.the_good_arrives,
    ),
)

#: The wire is the same, so that a few of these do.
WIRE: tuple[Case, ...] = (
    *of_s3(statuses.CASES, "condition-nobody-made"),
    *of_s3(
        heads.CASES, "twice-", "head-with-body", "page-with-another", "answer-to-another", "interim-hints"
    ),
    *of_s3(bodies.CASES, "created-endless"),
)
STRANGERS = of_s3(strangers.CASES)
