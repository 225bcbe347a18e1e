"""Mistakes in command lines: they are said alike of all commands, and end with 2."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import NoReturn

import pytest

from command import Haul
from haulage.commands.running import run
from sentences import Sentence


@pytest.fixture
def haul(tmp_path: Path) -> Haul:
    """Many commands, so that their packages are loaded once."""
    return Haul(tmp_path, loaded=True)


#: A mistake, in lines of a command in Rust and of each in Python.
SAME = {
    "an unknown option": [
        "cp --zzz=1 a b",
        "lab run --zzz=1",
        "table export --zzz=1 t f",
        "watch --zzz",
        "view -z x",
        "index -z x",
        "why --zzz",
        "doctor --zzz=1",
    ],
    "a missing argument": [
        "cp",
        "cp a",
        "lab compare",
        "lab compare a",
        "table export t",
        "table serve",
        "view",
        "index",
        "why --json",
    ],
    "one argument too many": [
        "mb a https://h/c/b?sig=SECRET",
        "lab plans a https://h/c/b?sig=SECRET",
        "mb a http://me:SECRET@h/c",
        "lab plans a http://me:SECRET@h/c",
        "mb a '?sv=1&sig=SECRET&sp=r'",
        "doctor a '?sv=1&sig=SECRET&sp=r'",
        "table backup t f g",
        "watch a b",
        "view a b c",
        "why a b",
        "doctor a b",
    ],
    "no value": [
        "cp a b --cap",
        "cp a b --cap --json",
        "lab run --out",
        "lab run --out --json",
        "table export t - --record --no-index",
        "watch --csv",
        "view --index= x",
        "doctor --addressing",
        "doctor --job a",
    ],
    "a value too many": [
        "ls --quiet=3",
        "why --quiet=3",
        "doctor --quiet=3",
    ],
    "given twice": [
        "cp a b --cap 1mbit --cap 2mbit",
        "lab run --seed 1 --seed=2",
        "table import a b --create --create",
        "doctor -q --quiet",
    ],
    "none of the choices": [
        "cp a b --checksum sha1",
        "lab generate x --kind zzz",
        "doctor --addressing x",
        "watch x --progress x",
    ],
}

#: Lines whose hint is their own.
HINTED = [
    "cp a b --blok-size 8MiB",
    "lab run --replicats 3",
    "watch --insecure-htp",
    "doctor --insecure-htp",
    "cp a b --checksum crc46",
    "table export t - --format parket",
    "verfy a b",
    "lab rum",
    "table exprot",
    "zzz",
    "lab zzz",
    "table zzz",
    "--json",
    "--json lab",
    "lab generate x --count 0",
    "table export t f --queries many",
    "lab generate x --scale 0",
    "lab run --ca ca.pem",
    "lab rerun x --proxy none",
    "lab run --endpoint https://h",
    "watch x --speed fast",
    "doctor --timeout 5",
    "doctor --port x",
]


@pytest.mark.parametrize("mistake", SAME)
def test_a_mistake_is_said_alike_by_all_commands(haul: Haul, mistake: str, sentence: Sentence) -> None:
    for line in SAME[mistake]:
        sentence(_refused(haul, line))


@pytest.mark.parametrize("line", HINTED)
def test_a_mistake_has_a_hint(haul: Haul, line: str, sentence: Sentence) -> None:
    sentence(_refused(haul, line))


def _refused(haul: Haul, line: str) -> str:
    """Return what is said of a line that is not understood, to people and to programs alike."""
    ran = haul(*shlex.split(line), code=2)
    assert ran.hints, line
    if "--json" not in line:
        assert ran.text == "", line
        return ran.stderr
    told = json.loads(ran.text)
    assert ran.stderr == f"haul: parse {told['object']}: {told['cause']} (hint: {told['hint']})\n"
    assert (told["event"], told["kind"], told["operation"]) == ("error", "usage", "parse")
    assert told["exit_code"] == 2
    return ran.stderr


def test_every_failure_is_a_line_for_programs(haul: Haul) -> None:
    """Only `haul table` said with --json why it had failed."""
    lines = (
        "lab report none",
        "why none.parquet",
        "watch none --once",
        "table plan none.parquet",
        "view none.nc",
        "index none.nc",
    )
    for line in lines:
        told = json.loads(haul(*line.split(), "--json", code=4).text.splitlines()[-1])
        assert (told["event"], told["kind"], told["exit_code"]) == ("error", "not_found", 4), line


@pytest.mark.parametrize("name", ["lab plans", "table plan", "why", "watch", "view", "index", "doctor"])
def test_options_of_all_commands_stand_before_and_after_the_name(
    haul: Haul, name: str, sentence: Sentence
) -> None:
    """`haul --json lab plans` said that the Python package is needed, which it was run from."""
    first, *rest = name.split()
    for line in (
        ["--json", "-qv", "--progress", "none", first, *rest, "none", "--zzz"],
        [first, "--json", *rest, "-q", "none", "--progress=plain", "--zzz"],
    ):
        ran = haul(*line, code=2)
        sentence(ran.error_lines)
        assert json.loads(ran.text)["object"] == "--zzz"


def test_the_options_before_the_name_count(haul: Haul) -> None:
    lines = haul("--json", "lab", "plans").text.splitlines()
    assert {"plan", "title"} <= json.loads(lines[0]).keys()
    assert haul("lab", "--json", "plans").text.splitlines() == lines
    assert json.loads(haul("-q", "--json", "doctor").text)["findings"]
    # One after the name counts in place of one before it, as a person with an alias expects.
    twice = haul("--json", "-q", *shlex.split("--progress none lab --json plans --json -vq --progress=bar"))
    assert twice.text.splitlines() == lines


def test_a_package_that_is_missing_is_named_with_its_extra(
    capsys: pytest.CaptureFixture[str], sentence: Sentence
) -> None:
    def load() -> NoReturn:
        raise ModuleNotFoundError("No module named 'h5py'", name="h5py")

    assert run(load, "view", "view", {"as_json": False}) == 2
    sentence(capsys.readouterr().err.strip())


@pytest.mark.parametrize("option", ["--proxy", "--token"])
@pytest.mark.parametrize("value", ["--SECRETTOK", "-secrettok"])
def test_a_secret_that_looks_like_an_option_is_not_printed(haul: Haul, option: str, value: str) -> None:
    line, code = (["cp", "a", "b"], 2) if option == "--proxy" else (["table", "serve", "none.parquet"], 4)
    went = haul(*line, "--json", option, value, code=code)
    assert "secret" not in (str(went.stdout) + went.stderr).lower()
