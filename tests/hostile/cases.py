"""All cases of hostile services, by what is odd about them."""

from __future__ import annotations

from hostile.themes import (
    bodies,
    deletes,
    differences,
    heads,
    lists,
    names,
    pages,
    reads,
    secrets,
    statuses,
    strangers,
    writes,
)

#: In the order of the documents.
THEMES = (
    ("What is not a list", lists.CASES),
    ("Endless lists, and lists of something else", pages.CASES),
    ("Names", names.CASES),
    ("Statuses", statuses.CASES),
    ("Heads of answers", heads.CASES),
    ("Bodies of answers", bodies.CASES),
    ("Versions, ranges and checksums", reads.CASES),
    ("Uploads", writes.CASES),
    ("Deletes", deletes.CASES),
    ("Differences", differences.CASES),
    ("Secrets that are repeated", secrets.CASES),
    ("TLS with strangers", strangers.CASES),
)
SERVICE = tuple(case for _, cases in THEMES for case in cases)
