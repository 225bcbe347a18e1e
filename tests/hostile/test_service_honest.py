"""The hostile service is an honest one until it is bent: what fails in a case fails because of the case."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostile.case import Case, Line
from hostile.credentials import CREDENTIALS
from hostile.judge import faults
from hostile.run import run

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


@pytest.mark.parametrize(
    ("case", "credential"),
    [(HONEST, "key"), *((SECURE, credential) for credential in CREDENTIALS)],
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
