"""What failed beside other tests is run once more by itself, and named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: Fails the first time in each folder, and passes the second.
ONCE = """
import pathlib, pytest
@pytest.mark.parametrize("word", ["a - b", "c"])
def test_flaky(word):
    there = pathlib.Path(f"ran {word}")
    if not there.exists():
        there.touch()
        raise AssertionError("first - time")
"""
ALWAYS = "def test_wrong():\n    assert False\n"
MANY = "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_wrong(n):\n    assert False\n"


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (
            ONCE,
            0,
            [
                f"failed beside others, passed alone: test_it.py::test_flaky[{word}]"
                for word in ("a - b", "c")
            ],
        ),
        (ALWAYS, 1, ["1 failed; once more, each by itself"]),
        (ONCE + ALWAYS, 1, ["3 failed; once more", "passed alone: test_it.py::test_flaky[c]"]),
        (MANY, 1, []),
        ("def test_right():\n    pass\n", 0, ["1 passed"]),
        ("raise OSError\n", 2, ["ERROR test_it.py"]),
    ],
    ids=["flaky", "wrong", "both", "many", "right", "broken"],
)
def test_once_more(text: str, code: int, says: list[str], tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(text)
    spread = ["-n", "2"] if text is ONCE else []
    # Of what else is installed here, nothing is looked at: that takes longer than the tests.
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    command = [
        sys.executable,
        str(ROOT / "scripts/once_more.py"),
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *spread,
    ]
    command += ["-p", "no:cacheprovider"]
    ran = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    for line in says:
        assert line in ran.stdout
    assert ("once more" in ran.stdout) == ("\nFAILED " in ran.stdout and text is not MANY)


FLAKY = """
#[test]
fn flaky() {
    if !std::path::Path::new("ran").exists() {
        std::fs::write("ran", "").unwrap();
        panic!("first");
    }
}
"""
WRONG = "#[test]\nfn wrong() { panic!(); }\n"
#: Panics of others do not keep it from running, and it names no test.
ABORTS = "#[test]\nfn aborts() { std::process::abort(); }\n"


@pytest.mark.parametrize(
    ("first", "second", "code", "says"),
    [
        (FLAKY, "", 0, ["1 failed; once more", "failed beside others, passed alone: flaky"]),
        (FLAKY, WRONG, 101, ["2 failed; once more", "passed alone: flaky", "test wrong ... FAILED"]),
        (FLAKY, ABORTS, 101, ["SIGABRT"]),
        (FLAKY, "fn broken(", 101, ["could not compile"]),
        ("", "#[test]\nfn right() {}\n", 0, ["test right ... ok"]),
    ],
    ids=["flaky", "wrong", "aborts", "broken", "right"],
)
def test_once_more_in_rust(first: str, second: str, code: int, says: list[str], tmp_path: Path) -> None:
    package = '[package]\nname = "tried"\nedition = "2024"\n[workspace]\n[lib]\npath = "lib.rs"\n'
    (tmp_path / "Cargo.toml").write_text(package)
    (tmp_path / "lib.rs").write_text("")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/first.rs").write_text(first)
    (tmp_path / "tests/second.rs").write_text(second)
    command = [sys.executable, str(ROOT / "scripts/once_more.py"), "cargo", "test"]
    env = os.environ | {"CARGO_TARGET_DIR": str(tmp_path / "target")}
    ran = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    for line in says:
        assert line in ran.stdout
    assert ("once more" in ran.stdout) == (" failed; " in says[0])
