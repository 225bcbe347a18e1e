"""`haul lab`: what people type, and what it says and ends with."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

import haulage
from command import Haul, in_process as run
from haulage import lab
from haulage.lab import planfile
from haulage.lab.plan import METHODS
from haulage.lab.progress import Show
from haulage.lab.runner import RunProgress
from haulage.lab.store import CELL_COLUMNS, HOST_COLUMNS, NODE_COLUMNS, TRANSFER_COLUMNS
from lab.in_process import InProcess
from sentences import Sentence

PLAN = """
name = "tiny"
target = "emulated:rtt=2ms"
replicates = 2
warm_up = 0
idle = "1ms"
[ceiling]
measure = false
[[arms]]
method = "baseline"
[[arms]]
method = "blocks"
block_size = "64KiB"
concurrency = 4
[[files]]
size = "300KB"
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(PLAN)
    return path


@pytest.mark.parametrize(
    "options",
    [
        ["--to", "emulated:nonsense"],
        ["--to", "emulated:wan", "--set", "faults=bsy=5%"],
        ["--to", "emulated:nonsense", "--estimate"],
    ],
)
def test_a_bad_link_is_said_before_anything_is_made(
    options: list[str], in_process: InProcess, plan: Path, tmp_path: Path, sentence: Sentence
) -> None:
    """It was said after the files were made, and a run was left behind."""
    ran = in_process("lab", "run", plan, *options, code=2)
    assert ran.stderr.startswith("haul: parse ")
    sentence(ran.stderr)
    assert "(hint: write " in ran.stderr
    assert ran.text == ""
    assert not (tmp_path / "runs").exists()


def test_run_writes_a_run_and_says_where(haul: Haul, plan: Path, tmp_path: Path) -> None:
    ran = haul("lab", "run", plan, "--out", "run", "--no-report", "--no-confirm")
    assert ran.text.strip() == "run"
    assert "free: emulated" in ran.stderr
    assert "6 of 6 cells, complete" in ran.stderr
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["command"][:3] == ["haul", "lab", "run"]
    assert manifest["state"] == "complete"
    # What is there is not overwritten.
    again = haul("lab", "run", plan, "--out", "run", "--no-report", "--no-confirm", code=1)
    assert "there is something already" in again.error_lines[0]


def test_a_target_of_plain_http_on_another_machine(in_process: InProcess, plan: Path, tmp_path: Path) -> None:
    """There was no way to allow it."""
    both = plan.read_text().replace("warm_up = 0", 'warm_up = 0\ndirections = ["up", "down"]')
    plan.write_text(both.replace("[[files]]", '[[arms]]\nmethod = "stream"\n[[files]]'))
    with haulage.Emulator() as emulator:
        sas = emulator.sas("rwdlc", datetime.now(UTC) + timedelta(hours=1))
        haulage.make_container(f"{emulator.endpoint}/lab?{sas}")
        # No address of the loopback by its name, though it leads there.
        target = f"{emulator.endpoint.replace('127.0.0.1', '0.0.0.0')}/lab?{sas}"
        options = ["--replicates", "1", "--no-report", "--no-confirm", "--quiet"]
        refused = in_process("lab", "run", plan, "--to", target, "--out", "no", *options, code=2)
        assert "--insecure-http" in refused.stderr
        in_process("lab", "run", plan, "--to", target, "--insecure-http", "--out", "run", *options)
        cells = duckdb.read_parquet(str(tmp_path / "run/cells.parquet")).fetchdf()
        assert set(cells["outcome"]) == {"ok"}
        # What was allowed is allowed for the same target again.
        in_process("lab", "rerun", "run", "--to", target, "--no-compare", "--quiet")
        elsewhere = target.replace("0.0.0.0", "10.255.0.1")
        refused = in_process("lab", "rerun", "run", "--to", elsewhere, "--no-compare", code=2)
        assert "http://10.255.0.1:" in refused.stderr
        assert "--insecure-http" in refused.stderr


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_run_on_packets_has_links_of_its_own(haul: Haul, plan: Path, tmp_path: Path) -> None:
    before = Path("/proc/net/dev").read_text().count(":")
    target = "packets:rtt=40ms,total=20mbit"
    ran = haul("lab", "run", plan, "--to", target, "--out", "run", "--no-report", "--no-confirm")
    assert "6 of 6 cells, complete" in ran.stderr
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert (manifest["target"], manifest["command"][:3]) == (target, ["haul", "lab", "run"])
    cells = duckdb.read_parquet(str(tmp_path / "run/cells.parquet")).fetchdf()
    assert (cells["outcome"] == "ok").all()
    # A round trip for the connection, one for the request, and 300 kB at the rate, each way.
    assert cells["wall_ns"].min() > 120e6
    assert Path("/proc/net/dev").read_text().count(":") == before
    rest = haul("lab", "rerun", "run", "--no-compare")
    assert "complete" in rest.stderr


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_run_can_be_doubted(haul: Haul, plan: Path, tmp_path: Path) -> None:
    ran = haul("lab", "run", plan, "--out", "run")
    page = ran.text.strip()
    assert page == "run/report.html"
    assert (tmp_path / page).stat().st_size > 100_000
    # What the short transfers after the run have shown is kept, and part of the verdict.
    assert "blocks 64KiB x4, 300 kB up: " in ran.stderr
    trials = json.loads((tmp_path / "run/confirmations.json").read_text())["trials"]
    assert "base" in {trial["name"] for trial in trials}
    assert "as they were" in haul("lab", "verify", "run", "--quick").stderr
    assert " cells, " in haul("lab", "rerun", "run", "--estimate").text
    assert not (tmp_path / "run-rerun-1").exists()
    again = haul("lab", "rerun", "run")
    assert "ratio" in again.text
    assert (tmp_path / "run-rerun-1/manifest.json").is_file()
    pairs = [
        json.loads(line) for line in haul("lab", "compare", "run", "run-rerun-1", "--json").text.splitlines()
    ]
    assert {pair["treatment"] for pair in pairs} == {"baseline", "baseline-again", "blocks 64KiB x4"}
    # A number that was changed by hand does not go unseen.
    index = tmp_path / "run/results/index.json"
    index.write_text(re.sub(r'("rows_sha256": ")[0-9a-f]{8}', r"\g<1>00000000", index.read_text()))
    trials[0]["outcome"] = "failed"
    (tmp_path / "run/confirmations.json").write_text(json.dumps({"trials": trials}))
    differ = [
        line
        for line in haul("lab", "verify", "run", code=5).text.splitlines()
        if line.startswith("differs: ")
    ]
    assert any("index.json" in line for line in differ)
    assert any("confirmations.json" in line for line in differ)


def test_run_as_json_and_quiet(in_process: InProcess, plan: Path) -> None:
    ran = in_process("lab", "run", plan, "--out", "run", "--no-report", "--no-confirm", "--json", "--quiet")
    values = json.loads(ran.text)
    assert (values["run"], values["state"], values["report"]) == ("run", "complete", None)
    assert ran.stderr == ""


def test_options_change_the_plan(in_process: InProcess, plan: Path, tmp_path: Path) -> None:
    changes = ["--replicates", "1", "--seed", "9", "--size", "10KB", "--size", "20KB", "--set", "idle=2ms"]
    in_process(
        "lab",
        "run",
        plan,
        "--out",
        "run",
        "--no-report",
        "--no-confirm",
        *changes,
        "--set",
        "stop.relative_width=0.5",
    )
    resolved = planfile.parse(tomllib.loads((tmp_path / "run/plan.toml").read_text()))
    assert (resolved.replicates, resolved.seed, resolved.idle_ns) == (1, 9, 2_000_000)
    assert [files.name for files in resolved.files] == ["10KB", "20KB"]
    assert resolved.stop_width == 0.5


def test_estimate_runs_nothing(in_process: InProcess, tmp_path: Path) -> None:
    ran = in_process("lab", "run", "block-upload", "--estimate")
    assert "free: emulated" in ran.text
    assert [path.name for path in tmp_path.iterdir()] == []
    priced = in_process(
        "lab", "run", "block-upload", "--to", "https://a.blob.core.windows.net/c?sig=x", "--estimate"
    )
    assert "USD at the plan's prices" in priced.text


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["run"], 2),
        (["run", "nothing"], 4),
        (["run", "concurency"], 4),
        (["run", "block-upload", "--set", "replicats=1"], 2),
        (["run", "block-upload", "--set", "replicates"], 2),
        (["run", "block-upload", "--set", "idle=100"], 2),
        (["run", "block-upload", "--to", "somewhere"], 2),
        (["run", "block-upload", "--to", "emulated:rtt=60"], 2),
        (["run", "--bogus"], 2),
        (["bogus"], 2),
        (["report", "nothing"], 4),
        (["verify", "nothing"], 4),
        (["rerun", "nothing"], 4),
        (["run", "--continue", "nothing"], 4),
        (["plans", "nothing"], 4),
        (["generate", "mem://x/y"], 2),
        (["generate", "x", "--size", "8"], 2),
    ],
)
def test_errors_have_a_hint_and_a_code(
    in_process: InProcess, args: list[str], code: int, sentence: Sentence
) -> None:
    ran = in_process("lab", *args, code=code)
    assert len(ran.error_lines) == 1
    sentence(ran.stderr)
    assert ran.text == ""


@pytest.mark.parametrize(
    "command", ["", "generate", "plans", "run", "report", "verify", "rerun", "compare", "profile"]
)
def test_help_has_examples_and_exit_codes(in_process: InProcess, command: str) -> None:
    text = in_process("lab", *command.split(), "--help").text
    assert "Examples:" in text
    assert "haul lab" in text.split("Examples:")[1]
    assert "130  interrupted" in text


def test_plans_are_listed_and_printed(haul: Haul, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("lab", "plans") == 0
    listed = capsys.readouterr().out
    for name in planfile.names():
        assert f"{name} " in listed
        # In this process, where the packages of the lab are loaded once for all of them.
        assert run("lab", "plans", name) == 0
        assert tomllib.loads(capsys.readouterr().out)["name"] == name
    name = min(planfile.names())
    assert tomllib.loads(haul("lab", "plans", name).text)["name"] == name
    assert run("lab", "plans", "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["plan"] for line in lines} == set(planfile.names())


def test_generate_makes_the_same_files_again(in_process: InProcess, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        in_process(
            "lab", "generate", folder, "--size", "10KB", "--size", "1MiB", "--count", "2", "--seed", "4"
        )
    names = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.bin"))
    assert [str(name) for name in names] == [
        "10KB/000000.bin",
        "10KB/000001.bin",
        "1MiB/000000.bin",
        "1MiB/000001.bin",
    ]
    contents = [(tmp_path / "a" / name).read_bytes() for name in names]
    assert contents == [(tmp_path / "b" / name).read_bytes() for name in names]
    assert len(set(contents)) == 4
    scaled = in_process("lab", "generate", "c", "--scale", "0.00001", "--count", "1", "--json")
    assert [json.loads(line)["size_bytes"] for line in scaled.text.splitlines()][-1] == 10_000


def test_the_command_starts_without_the_packages_of_the_lab() -> None:
    """Nothing but `haul lab` may need an extra."""
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in {'numpy', 'duckdb', 'pandas', 'rich', 'psutil'}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from haulage.__main__ import main\n"
        "sys.argv = ['haul', *sys.argv[1:]]\n"
        "sys.exit(main())\n"
    )
    absent = subprocess.run([sys.executable, "-c", code, "lab", "plans"], capture_output=True, text=True)
    assert absent.returncode == 2
    assert "hint: pip install 'haulage[lab]'" in absent.stderr
    assert "Traceback" not in absent.stderr
    fine = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True)
    assert fine.returncode == 0


def test_importing_haulage_imports_no_heavy_package() -> None:
    code = "import sys, haulage, haulage.__main__, haulage.lab; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "pandas", "duckdb", "scipy", "altair", "rich", "psutil"}
    assert not heavy & set(ran.stdout.split())


def test_a_killed_run_leaves_no_emulator(haul: Haul, plan: Path) -> None:
    plan.write_text(PLAN.replace("rtt=2ms", "total=500kbit"))
    process = haul.start("lab", "run", plan, "--out", "run", "--no-report", "--no-confirm")
    try:
        children = wait_for_children(process.pid)
        time.sleep(0.5)
    finally:
        process.terminate()
        process.communicate(timeout=20)
    assert process.returncode == 130
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


def wait_for_children(pid: int) -> list[str]:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if found := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            return found
        time.sleep(0.05)
    raise AssertionError("no child was started")


DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = (DOCS / "reference/lab.md").read_text()
GUIDE = (DOCS / "guides/lab.md").read_text()


def test_every_option_is_in_the_reference(in_process: InProcess) -> None:
    for command in ("generate", "plans", "run", "report", "verify", "rerun", "compare", "profile", "predict"):
        text = in_process("lab", command, "--help").text.split("Examples:")[0]
        options = set(re.findall(r"(?<![\w-])--[a-z][\w-]+", text)) - {"--help"}
        assert options, command
        assert [option for option in sorted(options) if f"`{option}" not in REFERENCE] == [], command


def test_every_column_and_key_is_in_the_reference() -> None:
    columns = {*CELL_COLUMNS, *TRANSFER_COLUMNS, *HOST_COLUMNS, *NODE_COLUMNS, "scale.nodes", "scale.links"}
    resolved = tomllib.loads(planfile.load("node-size").to_toml())
    keys = {f"{key}.{name}" for key in ("stop", "ceiling", "prices") for name in resolved.pop(key)}
    keys |= {
        name for part in ("arms", "files", "nodes", "places") for item in resolved.pop(part) for name in item
    }
    keys |= resolved.keys() | {"leave_out", "stall_timeout", "checksum", "tool"}
    assert [name for name in sorted(columns | keys) if f"`{name}`" not in REFERENCE] == []
    assert [name for name in [*METHODS, *lab.__all__] if f"`{name}" not in REFERENCE] == []
    assert [name for name in planfile.names() if f"`{name}`" not in GUIDE] == []


def test_no_rate_is_shown_before_there_is_one() -> None:
    """A cell that has just begun, and one that asks for tables, said 0 bit/s."""
    console = Console(file=io.StringIO(), width=200)
    with Show(console, "plain") as show:
        show(RunProgress("cells", 0, 4, 0, None, 0, "json", "table", 0, 1000, 0.0))
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "json, table" in said
    assert "bit/s" not in said
    with Show(console, "plain") as show:
        show(RunProgress("cells", 0, 4, 0, None, 0, "json", "table", 10, 1000, 8e6))
    assert "json, table, 8 Mbit/s" in console.file.getvalue()  # type: ignore[attr-defined]
