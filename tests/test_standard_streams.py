"""Commands in Python whose standard streams are full, closed, or no longer read: no traceback, as in Rust."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from command import HAUL, Haul
from endpoints import Endpoint

HELP = ["watch", "doctor", "table", "table import", "lab", "lab run", "view", "index", "why"]
WORK = [
    "watch events.jsonl",
    "watch events.jsonl --json",
    "doctor --json",
    "table export az-table://Rows - --format jsonl",
    "table export az-table://Rows - --format csv",
    "table plan rows.csv",
    "table plan rows.csv --json",
    "lab plans",
    "why run.parquet",
    "why run.parquet --json",
]
LINES = [f"{words} --help" for words in HELP] + WORK


@pytest.fixture
def haul(emulator: Endpoint, tmp_path: Path) -> Haul:
    """The command, in a folder with what the lines read."""
    haul = Haul(tmp_path, emulator.env)
    (tmp_path / "rows.csv").write_text("day,station,value\n" + "2024-01-02,a,1\n2024-01-03,b,2\n")
    keys = ("--partition-key", "{station}", "--row-key", "{day}")
    haul("table", "import", "rows.csv", "az-table://Rows", "--create", *keys)
    ran = haul("cp", "rows.csv", emulator.container().az("rows.csv"), "--record", "run.parquet", "--json")
    (tmp_path / "events.jsonl").write_bytes(ran.stdout)
    return haul


def run(haul: Haul, line: str, stdout: int) -> tuple[int, str]:
    ran = subprocess.run(
        [HAUL, *line.split()],
        cwd=haul.folder,
        env=haul.env,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.returncode, ran.stderr


def test_a_full_device_is_a_failure_that_is_said_once(haul: Haul) -> None:
    """There was a traceback, or nothing at all and exit code 120."""
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        for line in LINES:
            code, said = run(haul, line, full)
            assert code == 1, (line, said)
            assert "Traceback" not in said, (line, said)
            found = re.findall(r"haul: write (?:standard output|-): no space left on device", said)
            assert len(found) == 1, (line, said)
    finally:
        os.close(full)


def test_a_reader_that_has_seen_enough_is_no_failure(haul: Haul) -> None:
    for line in LINES:
        reads, writes = os.pipe()
        os.close(reads)
        try:
            code, said = run(haul, line, writes)
        finally:
            os.close(writes)
        assert (code, re.findall("Traceback|Error|write", said)) == (0, []), (line, said)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_break_nothing(closed: str, haul: Haul) -> None:
    """There was a traceback; a message could get into the output."""
    for line in LINES:
        ran = subprocess.run(
            ["sh", "-c", f'"{HAUL}" {line} {closed}'],
            cwd=haul.folder,
            env=haul.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, (line, ran)
        assert not re.findall("Traceback|Error:|haul: ", ran.stdout + ran.stderr), (line, ran)
