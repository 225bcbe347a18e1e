"""The hostile service is an honest one until it is bent: what fails in a case fails because of the case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hostile.case import TABLE, Case, Line
from hostile.credentials import CREDENTIALS, KEYS
from hostile.judge import faults
from hostile.run import run
from hostile.themes.s3.common import spelled
from hostile.themes.tables.common import IMPORT, READS, whole

LINES = (
    "cp az://data/tree/ down/",
    "cp az://data/large down/ --block-size 64KiB --method ranges",
    "cp up/ az://data/tree/ --overwrite always",
    "cp up/ az://data/new/",
    "cp big az://data/new --block-size 64KiB --method ranges",
    "plan az://data/tree/ down/",
    "verify az://data/tree/ up/",
    "verify up/ az://data/tree/",
    "ls az://data/tree/",
    "ls -r az://data",
    "ls az://",
    "du az://data/tree/",
    "stat az://data/tree/a",
    "cat az://data/large",
    "clean az://data",
    "rm az://data/tree/a",
    "rm -r az://data/tree/",
    Line("rb az://data", code=2, kind="usage"),
    "rb --force az://data",
    "mb az://other",
)
HONEST = Case("honest", "Nothing odd", lines=LINES, code=0)
SECURE = Case("secure", "Nothing odd, over TLS", lines=LINES, code=0, tls="good")
#: The smallest parts that S3 takes are larger.
OF_S3 = tuple(spelled(line) for line in LINES if isinstance(line, str))
BY_S3 = Case(
    "s3",
    "Nothing odd",
    lines=(*OF_S3, "cp s3://data/tree/ s3://data/new/", Line("rb s3://data", code=2, kind="usage")),
    code=0,
    scheme="s3",
)

TABLES = Case(
    "tables",
    "Nothing odd",
    lines=(*READS, IMPORT),
    code=0,
    scheme="az-table",
    blobs=TABLE,
    page_size=4,
    check=whole,
)


@pytest.mark.parametrize(
    ("case", "credential"),
    [
        (HONEST, "key"),
        *((SECURE, credential) for credential in CREDENTIALS),
        *((BY_S3, credential) for credential in KEYS),
        (TABLES, "key"),
        *((replace(TABLES, name="tables-secure", tls="good"), credential) for credential in CREDENTIALS),
        (replace(BY_S3, name="s3-secure", tls="good"), "session"),
    ],
    ids=lambda value: value.name if isinstance(value, Case) else value,
)
def test_every_verb_succeeds(case: Case, credential: str, tmp_path: Path) -> None:
    said = []
    for line in case.all_lines:
        for ran in run(case, line, credential, tmp_path / "case"):
            said += [f"{ran}  - {fault}" for fault in faults(ran)]
            if ran.verb == "cp":
                assert {told["proof"] for told in ran.objects("copied")} == {"crc64"}, ran
    assert not said, "\n".join(said)
