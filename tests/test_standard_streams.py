"""Commands in Python whose standard streams are full, closed, or no longer read: no traceback, as in Rust."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from tempfile import TemporaryFile

import pytest

import warm
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


@pytest.fixture(scope="module")
def haul(emulator: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Haul:
    """The command, in a folder with what the lines read, and nothing writes."""
    folder = tmp_path_factory.mktemp("streams")
    haul = Haul(folder, emulator.env)
    (folder / "rows.csv").write_text("day,station,value\n" + "2024-01-02,a,1\n2024-01-03,b,2\n")
    keys = ("--partition-key", "{station}", "--row-key", "{day}")
    haul("table", "import", "rows.csv", "az-table://Rows", "--create", *keys)
    ran = haul("cp", "rows.csv", emulator.container().az("rows.csv"), "--record", "run.parquet", "--json")
    (folder / "events.jsonl").write_bytes(ran.stdout)
    return haul


def run(haul: Haul, line: str, stdout: int | None) -> tuple[int, str]:
    """Run a line; return its exit code and what it wrote, to standard output too if none is given."""
    with TemporaryFile() as said, TemporaryFile() as nothing:
        given = [nothing.fileno(), said.fileno() if stdout is None else stdout, said.fileno()]
        code = warm.run(line.split(), given, env=haul.env, cwd=haul.folder)
        said.seek(0)
        return code, said.read().decode()


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


#: One of each kind: a help, one that follows a file, one that writes rows, one that prints a table.
KINDS = [
    "watch --help",
    "watch events.jsonl --json",
    "table export az-table://Rows - --format csv",
    "lab plans",
]


@pytest.mark.parametrize("lines", [KINDS, pytest.param(LINES, marks=pytest.mark.long)], ids=["kinds", "all"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_break_nothing(closed: str, lines: Sequence[str], haul: Haul) -> None:
    """There was a traceback; a message could get into the output."""
    for line in lines:
        # A process of its own: what Python makes of closed streams is decided when it starts.
        wrap = ["sh", "-c", f'exec "$@" {closed}', "sh"]
        ran = haul(*line.split(), wrap=wrap)
        assert not re.findall("Traceback|Error:|haul: ", ran.stderr + ran.text), line


@pytest.mark.parametrize(
    ("to", "code", "says"),
    [(">/dev/full", 1, "write standard output"), ("| true", 0, ""), ("<&- >&- 2>&-", 0, "")],
    ids=["full", "not read", "closed"],
)
def test_a_process_of_its_own_does_the_same(to: str, code: int, says: str, haul: Haul) -> None:
    line = f'set -o pipefail; "{HAUL}" watch events.jsonl {to}'
    ran = subprocess.run(
        ["bash", "-c", line],
        cwd=haul.folder,
        env=haul.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == code, ran
    assert says in ran.stderr
    assert not re.findall("Traceback|Error:", ran.stdout + ran.stderr), ran
    assert bool(ran.stderr) == bool(says), ran
