"""The command itself: help, version, start-up, signals."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Endpoint

COMMANDS = ["cp", "ls", "stat", "du", "rm", "cat", "mb", "rb", "verify", "plan", "emulate"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_holds_examples_and_exit_codes(tmp_path: Path, command: str) -> None:
    text = Haul(tmp_path)(command, "--help").text
    assert "Usage: haul" in text
    assert f"haul {command}" in text.split("Examples:")[1]
    if command != "emulate":
        assert "130  interrupted" in text


def test_help_names_every_command(tmp_path: Path) -> None:
    text = Haul(tmp_path)("--help").text
    for command in COMMANDS:
        assert f"  {command} " in text


def test_version_is_that_of_the_package(tmp_path: Path) -> None:
    import haulage

    assert Haul(tmp_path)("--version").text.strip() == f"haul {haulage.__version__}"


@pytest.mark.long
def test_start_costs_little_more_than_python(tmp_path: Path) -> None:
    haul = Haul(tmp_path)
    python = [sys.executable, "-c", "import re, sys"]

    def fastest(run: Callable[[], object]) -> float:
        def once() -> float:
            began = time.perf_counter()
            run()
            return time.perf_counter() - began

        return min(once() for _ in range(15))

    bare = fastest(lambda: subprocess.run(python, env=haul.env, capture_output=True, check=True))
    whole = fastest(lambda: haul("--version"))
    assert whole - bare < 0.010, f"{whole * 1e3:.1f} ms against {bare * 1e3:.1f} ms"


def test_the_command_imports_nothing_but_the_engine() -> None:
    code = """import sys, haulage.__main__
sys.argv[1:] = ["--version"]
assert haulage.__main__.main() == 0
print(*sorted(n for n in sys.modules if n.startswith("haulage") or n in ("re", "typing")))"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.splitlines()[-1].split() == [
        "haulage",
        "haulage.__main__",
        "haulage._engine",
        "haulage.lazy",
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_cp_at_once_and_it_resumes(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path, number: signal.Signals
) -> None:
    endpoint = start_emulator(link="rtt=5ms,total=40mbit")
    container = endpoint.container()
    haul = haul_at(endpoint)
    trees.random_file(tmp_path / "file.bin", 8 << 20)
    running = haul.start("cp", "file.bin", container.az("file.bin"), "--json", "--block-size", "256KiB")
    assert running.stdout is not None
    next(line for line in running.stdout if b'"PutBlock"' in line)

    began = time.monotonic()
    running.send_signal(number)
    _, said = running.communicate(timeout=10)
    took = time.monotonic() - began
    assert running.returncode == 130
    assert b"Traceback" not in said
    assert b"same command again" in said
    assert took < 0.5, f"{took:.3f} s"
    assert haul("cp", "file.bin", container.az("file.bin"), "--json").summary["exit_code"] == 0


def test_parts_of_the_package_need_no_import_and_no_extra() -> None:
    code = """import sys
class NothingElse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "haulage"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NothingElse())
import haulage
assert not [name for name in sys.modules if name.startswith("haulage.") and name != "haulage.lazy"]
haulage.cluster, haulage.events, haulage.lab, haulage.tables.account, haulage.tables.moving, haulage.watch
assert {"cluster", "filesystem"} <= {*dir(haulage)}
for find in (lambda: haulage.filesystem.ZarrStore, lambda: haulage.tables.plan.choose):
    try:
        find()
    except ModuleNotFoundError as error:
        print(*error.__notes__)
assert not hasattr(haulage, "filesystems")"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["hint: pip install 'haulage[fsspec]'", "hint: pip install 'haulage[tables]'"]
