"""What is said of a file that cannot be read: that it is not there, may not be read, or is a folder."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

import haulage
from command import HAUL, clean_environment
from endpoints import TableEndpoint
from haulage.tables.moving import import_table, verify
from haulage.tables.packed import check
from haulage.tables.unreadable import check_readable, unreadable
from sentences import Sentence
from tables.moving import at, entities, fresh, put

#: Root without the right to read all files, as anybody else.
AS_A_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
NOT_THERE = (4, "no such file or directory", "check the path")
REFUSED = (3, "permission denied", "check the permissions of the file and its folder")
FOLDER = (2, "this is a folder", "name a file")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with haulage.Emulator() as emulator:
        service = TableEndpoint("emulator", emulator.endpoint)
        name = fresh()
        put(service, name, entities(3), tmp_path_factory.mktemp("rows"))
        yield at(service, name)


def make(kind: tuple[int, str, str], path: Path) -> None:
    if kind == FOLDER:
        path.mkdir()
    elif kind == REFUSED:
        path.write_bytes(b"")
        path.chmod(0)


CASES = [
    *product(["verify"], [".receipt.json", ".parquet", ".csv"], [NOT_THERE, REFUSED, FOLDER]),
    *product(["restore"], [".receipt.json"], [NOT_THERE, REFUSED, FOLDER]),
    *product(["import"], [".parquet", ".csv.gz", ".arrow"], [REFUSED, FOLDER]),
    *product(["serve"], [".parquet"], [NOT_THERE, REFUSED, FOLDER]),
    *product(["plan"], [".parquet", ".csv"], [REFUSED]),
]
#: Runs lines of `haul table`, each as a process of its own would.
RUN = """
import contextlib, io, json, sys
from haulage import _engine
from haulage.__main__ import run
for line in json.load(sys.stdin):
    with contextlib.redirect_stderr(io.StringIO()) as said:
        print(json.dumps([run(*_engine.main(["haul", "table", *line])), said.getvalue()]))
"""


def test_the_message_is_true(table: str, tmp_path: Path) -> None:
    """A receipt that was not there was said not to be one; others ended with a traceback, or were served."""
    lines = []
    for number, (command, end, kind) in enumerate(CASES):
        path = tmp_path / f"{number}{end}"
        make(kind, path)
        rest = {"serve": ["--listen", "127.0.0.1:0"], "plan": []}.get(command, [table])
        lines.append([command, str(path), *rest])
    run = [*AS_A_USER, sys.executable, "-c", RUN]
    done = subprocess.run(
        run,
        check=True,
        env=clean_environment(tmp_path),
        input=json.dumps(lines),
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for (command, end, kind), line, (code, said) in zip(CASES, lines, found, strict=True):
        expected, cause, hint = kind
        whole = said.replace("\n", " ").strip()
        assert whole.endswith(f"open {line[1]}: {cause} (hint: {hint})"), (command, end)
        assert code == expected
        assert str(code) in exit_codes(command), f"haul table {command} --help leaves out {code}"


@cache
def exit_codes(command: str) -> list[str]:
    """Return what the help of a command has below its exit codes."""
    told = [str(HAUL), "table", command, "--help"]
    said = subprocess.run(told, check=True, capture_output=True, text=True).stdout
    return said.split("Exit codes:")[1].split()


def test_a_damaged_file_ends_a_plan_with_a_code_of_its_help(tmp_path: Path) -> None:
    """The help of `haul table plan` left out 3 and 5."""
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 1000)[:-9])
    env = clean_environment(tmp_path)
    plan = [str(HAUL), "table", "plan"]
    done = subprocess.run([*plan, str(tmp_path / "rows.csv.gz")], check=False, env=env, capture_output=True)
    assert done.returncode == 5
    assert {"3", "5"} <= set(exit_codes("plan"))


def test_a_backup_that_is_gone_is_named_and_not_its_receipt(
    table: str, tmp_path: Path, sentence: Sentence
) -> None:
    receipt = tmp_path / "b.parquet.receipt.json"
    receipt.write_text('{"file": "b.parquet", "rows": 1, "hash": "x"}')
    with pytest.raises(haulage.NotFoundError) as gone:
        verify(str(receipt), table)
    assert gone.value.object == str(tmp_path / "b.parquet")
    receipt.write_bytes(b"\xff")
    with pytest.raises(haulage.UsageError) as error:
        verify(str(receipt), table)
    sentence(error.value)


def test_links_that_lead_round(table: str, tmp_path: Path, sentence: Sentence) -> None:
    path = tmp_path / "loop.jsonl"
    path.symlink_to(path)
    with pytest.raises(haulage.LocalIOError) as looped:
        import_table(path, table)
    sentence(looped.value)


def test_a_pipe_is_not_opened_before_it_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_readable(tmp_path / "pipe")


def test_packed_files(tmp_path: Path) -> None:
    with pytest.raises(haulage.NotFoundError):
        check(tmp_path / "none.csv.gz")
    with pytest.raises(haulage.UsageError, match="this is a folder"):
        check(tmp_path)
    assert isinstance(unreadable(tmp_path, OSError(5, "Input/output error")), haulage.LocalIOError)
