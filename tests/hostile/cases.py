"""All cases of hostile services, by what is odd about them."""

from __future__ import annotations

from hostile.chosen import chosen
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
from hostile.themes.s3 import (
    copies as s3_copies,
    deletes as s3_deletes,
    lists as s3_lists,
    names as s3_names,
    pages as s3_pages,
    reads as s3_reads,
    regions as s3_regions,
    secrets as s3_secrets,
    uploads as s3_uploads,
    writes as s3_writes,
)
from hostile.themes.tables import (
    answers as table_answers,
    pages as table_pages,
    places as table_places,
    writes as table_writes,
)

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
    ("S3: what is not a list", s3_lists.CASES),
    ("S3: endless lists, and lists of something else", s3_pages.CASES),
    ("S3: names", s3_names.NAMES),
    ("S3: statuses, heads and bodies", s3_names.WIRE),
    ("S3: regions and redirects", s3_regions.CASES),
    ("S3: versions, ranges and checksums", s3_reads.CASES),
    ("S3: uploads", s3_writes.CASES),
    ("S3: parts and unfinished uploads", s3_uploads.CASES),
    ("S3: copies by the service", s3_copies.CASES),
    ("S3: deletes and buckets", s3_deletes.CASES),
    ("S3: secrets that are repeated", s3_secrets.CASES),
    ("S3: TLS with strangers", s3_names.STRANGERS),
    ("Tables: pages that are none", table_pages.PAGES),
    ("Tables: rows in no order, and places that lead nowhere", (*table_pages.ORDER, *table_places.PLACES)),
    ("Tables: bodies of answers", table_answers.BODIES),
    (
        "Tables: statuses, redirects and secrets that are repeated",
        (*table_answers.STATUSES, *table_answers.SECRETS),
    ),
    ("Tables: transactions", table_writes.WRITES),
)
SERVICE = tuple(case for _, cases in THEMES for case in cases)
#: The runs that `make test` has, by case.
CHOSEN = {name: runs for _, cases in THEMES for name, runs in chosen(cases).items()}
