"""Mistakes in command lines: the commands in Python say what those in Rust say, and end with 2."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import pytest

from command import Haul
from haulage.commands.grammar import command
from haulage.commands.running import run

HELP = "haul {} --help shows examples"


@pytest.fixture
def haul(tmp_path: Path) -> Haul:
    """Many commands, so that their packages are loaded once."""
    return Haul(tmp_path, loaded=True)


#: A mistake, in a command in Rust and in each in Python: the command, its line, and what is said of it.
SAME: dict[str, list[tuple[str, str, str]]] = {
    "an unknown option": [
        ("cp", "cp --zzz=1 a b", "--zzz: no such option"),
        ("lab run", "lab run --zzz=1", "--zzz: no such option"),
        ("table export", "table export --zzz=1 t f", "--zzz: no such option"),
        ("watch", "watch --zzz", "--zzz: no such option"),
        ("view", "view -z x", "-z: no such option"),
        ("index", "index -z x", "-z: no such option"),
        ("why", "why --zzz", "--zzz: no such option"),
        ("doctor", "doctor --zzz=1", "--zzz: no such option"),
    ],
    "a missing argument": [
        ("cp", "cp", "SRC DST: missing"),
        ("cp", "cp a", "DST: missing"),
        ("lab compare", "lab compare", "A B: missing"),
        ("lab compare", "lab compare a", "B: missing"),
        ("table export", "table export t", "FILE: missing"),
        ("table serve", "table serve", "[NAME=]SOURCE: missing"),
        ("view", "view", "URL: missing"),
        ("index", "index", "URL: missing"),
        ("why", "why --json", "RECORD: missing"),
    ],
    "one argument too many": [
        ("ls", "ls a https://h/c/b?sig=SECRET", "https://h/c/b: one argument too many"),
        ("lab plans", "lab plans a https://h/c/b?sig=SECRET", "https://h/c/b: one argument too many"),
        ("ls", "ls a http://me:SECRET@h/c", "http://REDACTED@h/c: one argument too many"),
        ("lab plans", "lab plans a http://me:SECRET@h/c", "http://REDACTED@h/c: one argument too many"),
        ("ls", "ls a '?sv=1&sig=SECRET&sp=r'", "?sv=1&sig=REDACTED&sp=r: one argument too many"),
        ("doctor", "doctor a '?sv=1&sig=SECRET&sp=r'", "?sv=1&sig=REDACTED&sp=r: one argument too many"),
        ("table backup", "table backup t f g", "g: one argument too many"),
        ("watch", "watch a b", "b: one argument too many"),
        ("view", "view a b c", "b: one argument too many"),
        ("why", "why a b", "b: one argument too many"),
        ("doctor", "doctor a b", "b: one argument too many"),
    ],
    "no value": [
        ("cp", "cp a b --cap", "--cap: needs a value"),
        ("cp", "cp a b --cap --json", "--cap: needs a value"),
        ("lab run", "lab run --out", "--out: needs a value"),
        ("lab run", "lab run --out --json", "--out: needs a value"),
        ("table export", "table export t - --record --no-index", "--record: needs a value"),
        ("watch", "watch --csv", "--csv: needs a value"),
        ("view", "view --index= x", "--index: needs a value"),
        ("doctor", "doctor --addressing", "--addressing: needs a value"),
        ("doctor", "doctor --job a", "--job: needs a value"),
    ],
    "a value too many": [
        ("ls", "ls --quiet=3", "arguments: unexpected value '3' for '--quiet' found; no more were expected"),
        (
            "why",
            "why --quiet=3",
            "arguments: unexpected value '3' for '--quiet' found; no more were expected",
        ),
        (
            "doctor",
            "doctor --quiet=3",
            "arguments: unexpected value '3' for '--quiet' found; no more were expected",
        ),
    ],
    "given twice": [
        ("cp", "cp a b --cap 1mbit --cap 2mbit", "--cap: given twice"),
        ("lab run", "lab run --seed 1 --seed=2", "--seed: given twice"),
        ("table import", "table import a b --create --create", "--create: given twice"),
        ("doctor", "doctor -q --quiet", "--quiet: given twice"),
    ],
    "none of the choices": [
        ("cp", "cp a b --checksum sha1", "--checksum sha1: not one of crc64, md5, none"),
        ("lab generate", "lab generate x --kind zzz", "--kind zzz: not one of sizes, tree, netcdf"),
        ("doctor", "doctor --addressing x", "--addressing x: not one of auto, path, virtual"),
        ("watch", "watch x --progress x", "--progress x: not one of auto, bar, plain, none"),
    ],
}

#: Lines whose hint is their own.
HINTED = [
    ("cp a b --blok-size 8MiB", "--blok-size: no such option (hint: did you mean --block-size?)"),
    ("lab run --replicats 3", "--replicats: no such option (hint: did you mean --replicates?)"),
    ("watch --insecure-htp", "--insecure-htp: no such option (hint: did you mean --insecure-http?)"),
    ("doctor --insecure-htp", "--insecure-htp: no such option (hint: did you mean --insecure-http?)"),
    ("cp a b --checksum crc46", "--checksum crc46: not one of crc64, md5, none (hint: did you mean crc64?)"),
    (
        "table export t - --format parket",
        "--format parket: not one of parquet, arrow, csv, jsonl (hint: did you mean parquet?)",
    ),
    ("verfy a b", "verfy: no such command (hint: did you mean verify?)"),
    ("lab rum", "rum: no such command (hint: did you mean run?)"),
    ("table exprot", "exprot: no such command (hint: did you mean export?)"),
    ("zzz", "zzz: no such command (hint: haul --help lists the commands)"),
    ("lab zzz", "zzz: no such command (hint: haul lab --help lists the commands)"),
    ("table zzz", "zzz: no such command (hint: haul table --help lists the commands)"),
    ("--json", "arguments: no command (hint: haul --help lists the commands)"),
    ("--json lab", "arguments: no command (hint: haul lab --help lists the commands)"),
    ("lab generate x --count 0", "--count 0: not a valid value (hint: write a whole number from 1)"),
    (
        "table export t f --queries many",
        "--queries many: not a valid value (hint: write a whole number from 1 to 256)",
    ),
    ("lab generate x --scale 0", "--scale 0: not a valid value (hint: write a number greater than 0)"),
    (
        "lab run --ca ca.pem",
        "--ca: no such option (hint: set SSL_CERT_FILE, which the other tools of a run read, too)",
    ),
    (
        "lab rerun x --proxy none",
        "--proxy: no such option (hint: set HTTPS_PROXY, which the other tools of a run read, too)",
    ),
    (
        "lab run --endpoint https://h",
        "--endpoint: no such option (hint: write the whole URL of the container: --to https://HOST/CONTAINER)",
    ),
    ("watch x --speed fast", "--speed fast: not a valid value (hint: write a number from 0 to 1000000)"),
    ("doctor --timeout 5", "--timeout 5: not a valid value (hint: write a duration such as 5s)"),
    ("doctor --port x", "--port x: not a valid value (hint: write a whole number from 0 to 65535)"),
]


@pytest.mark.parametrize("mistake", SAME)
def test_a_mistake_is_said_alike_by_all_commands(haul: Haul, mistake: str) -> None:
    for name, line, said in SAME[mistake]:
        _check(haul, line, f"{said} (hint: {HELP.format(name)})")


@pytest.mark.parametrize(("line", "said"), HINTED, ids=[line for line, _ in HINTED])
def test_a_mistake_has_a_hint(haul: Haul, line: str, said: str) -> None:
    _check(haul, line, said)


def _check(haul: Haul, line: str, said: str) -> None:
    ran = haul(*shlex.split(line), code=2)
    assert ran.stderr == f"haul: parse {said}\n", line
    if "--json" not in line:
        assert ran.text == "", line
        return
    told = json.loads(ran.text)
    where, _, cause = said.partition(": ")
    cause, _, hint = cause.partition(" (hint: ")
    assert told == {
        "event": "error",
        "kind": "usage",
        "operation": "parse",
        "object": where,
        "cause": cause,
        "hint": hint.removesuffix(")"),
        "exit_code": 2,
    }


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
def test_options_of_all_commands_stand_before_and_after_the_name(haul: Haul, name: str) -> None:
    """`haul --json lab plans` said that the Python package is needed, which it was run from."""
    first, *rest = name.split()
    for line in (
        ["--json", "-qv", "--progress", "none", first, *rest, "none", "--zzz"],
        [first, "--json", *rest, "-q", "none", "--progress=plain", "--zzz"],
    ):
        ran = haul(*line, code=2)
        assert ran.error_lines == [f"haul: parse --zzz: no such option (hint: {HELP.format(name)})"], (
            ran.stderr
        )
        assert json.loads(ran.text)["object"] == "--zzz"


def test_the_options_before_the_name_count(haul: Haul) -> None:
    lines = haul("--json", "lab", "plans").text.splitlines()
    assert {"plan", "title"} <= json.loads(lines[0]).keys()
    assert haul("lab", "--json", "plans").text.splitlines() == lines
    assert json.loads(haul("-q", "--json", "doctor").text)["findings"]
    # One after the name counts in place of one before it, as a person with an alias expects.
    twice = haul("--json", "-q", *shlex.split("--progress none lab --json plans --json -vq --progress=bar"))
    assert twice.text.splitlines() == lines


def test_a_package_that_is_missing_is_named_with_its_extra(capsys: pytest.CaptureFixture[str]) -> None:
    @command()
    def view() -> None:
        raise ModuleNotFoundError("No module named 'h5py'", name="h5py")

    assert run(view, "view", [], extra="view") == 2
    said = "haul: start view: the package h5py is missing (hint: pip install 'haulage[view]')"
    assert capsys.readouterr().err.strip() == said


def test_what_click_says_beyond_that_is_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    @command()
    def why() -> None:
        raise click.UsageError("no such day")

    assert run(why, "why", [], extra="lab") == 2
    said = "haul: parse arguments: no such day (hint: haul why --help shows examples)"
    assert capsys.readouterr().err.strip() == said
