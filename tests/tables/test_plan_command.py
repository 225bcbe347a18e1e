"""`haul table plan` as people run it: what it prints, its exit codes, its hints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from command import in_process
from haulage.errors import HaulageError
from haulage.tables.plan import predict, propose
from haulage.tables.plan.data import Data
from tables.making import make

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guides/table-keys.md"


class Plan(Protocol):
    def __call__(self, *arguments: str, code: int = 0) -> Said: ...


class Said(NamedTuple):
    """What the command wrote."""

    stdout: str
    stderr: str


@pytest.fixture
def plan(capfd: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The command, in this process, in the folder with files."""
    monkeypatch.chdir(folder)

    def run(*arguments: str, code: int = 0) -> Said:
        ended = in_process("table", "plan", *arguments)
        said = Said(*capfd.readouterr())
        assert ended == code, said
        return said

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plan")
    make(made, "weather", 5_000)
    (made / "alike.csv").write_text("a,b\n1,x\n1,x\n2,y\n")
    (made / "damaged.parquet").write_bytes(b"PAR1 and nothing more")
    (made / "empty.csv").write_text("a,b\n")
    (made / "notes.txt").write_text("no rows")
    (made / "list.jsonl").write_text('{"a": [1], "t": "2024-01-01T00:00:00", "n": 1}\n')
    return made


def test_what_it_prints(plan: Plan) -> None:
    said = plan("weather.parquet", "--query", "station, time within 7d", "--table", "obs").stdout
    assert "PartitionKey  {station}\nRowKey        {time:reversed}\n" in said
    assert re.search(r"station = \? and time within 7d +range in one partition +43 +43 +43 +1\n", said)
    assert "50 partitions; the largest, 'st000', has 100 rows (2 % of all, " in said
    assert "all rows were measured, so the numbers are exact" in said
    assert re.search(r"^st000  █+ 100$", said, re.MULTILINE)
    assert said.splitlines()[-1] == (
        "haul table import weather.parquet az-table://obs "
        "--partition-key '{station}' --row-key '{time:reversed}'"
    )


def test_assumed_queries_and_indexes_are_said_in_english(plan: Plan) -> None:
    said = plan("weather.parquet").stdout
    assert (
        "no --query was given, so the keys are for queries that are typical for such data:\n"
        "  rows with a given station and time (weight 10)\n"
        "  rows with a given station, in a range of time (weight 5)\n"
    ) in said
    one, several = "temperature = ?", "station = ? and temperature > 0"
    said = plan("weather.parquet", "--query", one, "--query", several).stdout
    told = [line for line in said.splitlines() if line.startswith("an index on ")]
    assert told
    for line in told:
        found = re.search(
            r" is (?:not )?worth it: it reads [\d,]+ rows? instead of [\d,]+( \(\d+(?:\.\d+)? % less\))?, "
            "in ",
            line,
        )
        assert found, line
    assert "-1e+02" not in said


def test_json(plan: Plan) -> None:
    said = json.loads(plan("weather.parquet", "--query", "station, time", "--json").stdout)
    assert (said["partition_key"], said["row_key"]) == ("{station}", "{time:reversed}")
    assert said["candidates"][0]["queries"][0]["rows_read"] == 1
    assert said["candidates"][0]["spread"]["largest_share"] == 0.02
    assert [column["edm"] for column in said["columns"]] == ["Edm.String", "Edm.DateTime", "Edm.Double"]
    assert said["assumed_queries"] is False


def test_rows_that_are_alike_end_with_one(plan: Plan) -> None:
    said = plan("alike.csv", code=1).stdout
    assert "warning: not unique: 1 of 3 rows (33 %) would replace another row with the same keys; " in said


def test_a_plot_needs_nothing_from_elsewhere(plan: Plan, folder: Path) -> None:
    plan("weather.parquet", "--plot", "spread.svg")
    assert (folder / "spread.svg").read_text().startswith("<svg")
    plan("weather.parquet", "--plot", "spread.html")
    page = (folder / "spread.html").read_text()
    assert 'src="http' not in page
    assert "{station} / {time:reversed}" in page


def test_names_with_marks_of_patterns_are_names(plan: Plan, folder: Path) -> None:
    (folder / "a[1]*?.csv").write_text("id,n\nx,1\ny,2\n")
    assert "2 rows, 2 columns" in plan("a[1]*?.csv").stdout


HINTS: list[tuple[int, list[str], str]] = [
    (4, ["nowhere.parquet"], "name a Parquet, CSV or JSON lines file"),
    (2, ["notes.txt"], "name files of one kind that end in .parquet, .csv, .tsv, .jsonl or .ndjson"),
    (2, ["damaged.parquet"], "check that the file is whole, and that values are of their column's type"),
    (2, ["empty.csv"], "keys are chosen by the data"),
    (2, ["weather.parquet", "--memory", "512"], "write 512MiB or 2GiB"),
    (
        2,
        ["weather.parquet", "--query", "a b"],
        "write it like: station = ? and time between ? and ? order by time desc limit 10 *5",
    ),
    (2, ["weather.parquet", "--query", "id"], "the columns are station, time, temperature"),
    (2, ["list.jsonl", "--query", "a"], "name columns of text, numbers or times"),
    (
        2,
        ["weather.parquet", "--query", "time = soon"],
        "write numbers plainly, and times like 2024-02-03T04:05:06Z",
    ),
    (
        2,
        ["weather.parquet", "--query", "time within 7"],
        "write a number, or for times 30s, 15min, 36h or 7d",
    ),
    (
        2,
        ["weather.parquet", "--partition-key", "{station}"],
        "name both --partition-key and --row-key, or neither",
    ),
    (
        2,
        ["weather.parquet", "--partition-key", "{id}", "--row-key", "a"],
        "the columns are station, time, temperature",
    ),
    (
        2,
        ["weather.parquet", "--partition-key", "{station:02}", "--row-key", "a"],
        "docs/reference/table-keys.md says which formats go with which types",
    ),
    (2, ["weather.parquet", "--plot", "spread.gif"], "name a file that ends in .html, .png or .svg"),
    (2, ["weather.parquet", "--nothing"], "haul table plan --help shows examples"),
]


@pytest.mark.parametrize(("code", "arguments", "hint"), HINTS, ids=[" ".join(line) for _, line, _ in HINTS])
def test_hint(plan: Plan, code: int, arguments: list[str], hint: str) -> None:
    said = plan(*arguments, code=code).stderr
    assert f"(hint: {hint})" in said
    assert len(said.splitlines()) == 1


def hint_of(call: Callable[[], object]) -> str | None:
    with pytest.raises(HaulageError) as caught:
        call()
    return caught.value.hint


def test_hints_of_calls(folder: Path) -> None:
    found = propose(folder / "weather.parquet", ["station"])
    assert hint_of(lambda: predict(found, "station = ?")) == (
        "give a value for each ? in its order, and two for each within"
    )
    assert hint_of(lambda: propose(folder / "weather.parquet", memory="64KiB")) == (
        "give it more with --memory, or fewer rows with --sample"
    )
    assert hint_of(lambda: propose({})) == "keys are chosen by the data"
    assert hint_of(lambda: predict(propose({"n": [1, 2]}), "n = ?", ["many"])) == (
        "check that the file is whole, and that values are of their column's type"
    )
    with Data({"n": [1]}) as data:
        assert hint_of(lambda: data.one("SELECT 1 FROM read_parquet('/nowhere/at.parquet')")) == (
            "check the file, and that the folder for temporary files has room"
        )


def test_a_file_that_is_damaged_within_is_an_error_not_a_crash(plan: Plan, folder: Path) -> None:
    whole = bytearray((folder / "weather.parquet").read_bytes())
    for place in range(4, len(whole) // 2):
        whole[place] ^= 0x5A
    (folder / "within.parquet").write_bytes(whole)
    assert "(hint: check " in plan("within.parquet", code=2).stderr


@pytest.mark.parametrize("module", ["duckdb", "altair"])
def test_a_package_that_is_missing_is_named(folder: Path, module: str) -> None:
    script = (
        f"import sys; sys.modules['{module}'] = None; from haulage.__main__ import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", script, "table", "plan", "weather.parquet", "--plot", "a.svg"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert ran.returncode == 2
    hints = {"duckdb": "pip install 'haulage[tables]'", "altair": "pip install 'haulage[lab]'"}
    assert f"(hint: {hints[module]})" in ran.stderr


def test_the_group_names_what_is_there() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "haulage.tables", "--help"], capture_output=True, text=True, check=True
    )
    assert re.search(r"^  plan  +Propose PartitionKey", ran.stdout, re.MULTILINE)
