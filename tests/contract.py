"""The contract: every stable name, from the command's help, the engine, the package and the sources.

`tests/contract.txt` lists them, `docs/reference/stability.md` says what they promise, and
`tests/test_contract.py` compares the list with what is there. `make contract` prints what differs and writes
the list. Once a version is released it refuses to drop a name, because that breaks somebody's script, unless
it is given `--remove`.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import haulage
from haulage import _engine
from haulage.errors import BY_CODE
from haulage.events import BY_NAME

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "tests/contract.txt"
CHANGELOG = ROOT / "CHANGELOG.md"
VARIABLES = ROOT / "docs/reference/environment.md"
DEFAULTS = ROOT / "crates/haulage-cli/src/defaults.rs"
HAUL = Path(sys.executable).parent / "haul"

#: What is public of the package. Modules that are not here may change at any time.
MODULES = {
    "haulage": haulage.__all__,
    "haulage.cluster": ["copy", "start"],
    "haulage.filesystem": ["AzureFileSystem", "S3FileSystem", "ZarrStore", "zarr_store"],
    "haulage.events": ["parse"],
    "haulage.lab": None,  # all that it exports
    "haulage.objects": ["ObjectReader", "ObjectWriter"],
    "haulage.tables.account": ["create_table", "list_tables", "remove_table"],
    "haulage.tables.moving": ["backup", "copy_table", "export_table", "import_table", "verify"],
    "haulage.tables.plan": ["choose", "predict", "propose"],
    "haulage.watch": ["Handler", "Sent", "lines", "send", "worker"],
}
#: Made by other calls, so its constructor is nobody's.
NOT_CONSTRUCTED = {"haulage.Job"}
#: Set by our own tests and experiments.
INTERNAL_VARIABLES = {
    "HAULAGE_SLOW_BYTES_PER_SECOND",
    "HAULAGE_SLOW_FOLDER",
    "HAULAGE_ENDS_WITH",
    "HAUL_LAB_NETWORK",
    "HAUL_TEST_TIME_SCALE",
}

WIDTH = 118
LISTED = re.compile(r"^ {2,4}([a-z][a-z-]*)(?: {2,}|$)", re.MULTILINE)
#: An option at the beginning of its line in the help: its short name, its long name, its value.
OPTION = re.compile(
    r"^ {2,12}(?:(?P<short>-\w)(?: [A-Z<|.{,}\w]+)?(?:, )?)?(?P<long>--[a-z][\w-]*)?"
    r"(?: / (?P<no>--no-[\w-]+))?",
    re.MULTILINE,
)
#: The name of a variable as the sources write it; a part of a name, such as a prefix, ends in `_`.
VARIABLE = re.compile(
    r'"((?:AZURE|AWS|HAULAGE|HAUL|XDG|SSL|SYSTEM)_[A-Z_]*[A-Z]|(?:ALL|HTTPS?|NO)_PROXY|NO_COLOR|TMPDIR)"'
)


def help_of(*command: str) -> str:
    # Texts break where the terminal ends.
    env = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    ran = subprocess.run([HAUL, *command, "--help"], check=True, capture_output=True, text=True, env=env)
    return ran.stdout


def commands() -> Iterator[tuple[str, ...]]:
    """Yield every command, and below it its own commands."""
    for name in listed(help_of()):
        yield (name,)
        yield from ((name, inner) for inner in listed(help_of(name)))


def listed(text: str) -> list[str]:
    _, found, rest = text.partition("\nCommands:\n")
    return [name for name in LISTED.findall(rest.split("\n\n")[0]) if name != "help"] if found else []


def options(text: str) -> set[str]:
    """Return the options of a help, long and short."""
    body = re.split(r"^ *Examples:$", text, flags=re.MULTILINE)[0]
    _, _, body = body.partition("\n\n")
    found = [hit[name] for hit in OPTION.finditer(body) for name in ("short", "long", "no")]
    return set(filter(None, found))


#: A thing that users name, and a part of it: a command and its option, an event and its field.
Item = tuple[str, str]


def of_the_command() -> Iterator[Item]:
    for command in commands():
        text = help_of(*command)
        yield from ((f"command {' '.join(command)}", option) for option in options(text))
    table = help_of("cp").split("Exit codes:")[1]
    for code, meaning in re.findall(r"(?<![\w])(\d+) {2,}(\S+(?: \S+)*)", table):
        yield "exit codes", f"{code} {meaning}"


def of_the_engine() -> Iterator[Item]:
    for code, exit_code in _engine.error_kinds().items():
        yield "errors", f"{code} {exit_code} {BY_CODE[code].__name__}"
    for name, kind in BY_NAME.items():
        yield from ((f"event {name}", field.name) for field in dataclasses.fields(kind))


def of_the_files() -> Iterator[Item]:
    """Yield the columns of a record and the fields of a receipt, of a copy that wrote both."""
    import duckdb

    with tempfile.TemporaryDirectory() as work, haulage.Emulator() as emulator:
        record, receipt, source = Path(work, "r.parquet"), Path(work, "r.jsonl"), Path(work, "file")
        source.write_bytes(b"hello")
        place = f"{emulator.endpoint}/contract"
        credential = haulage.AzureCredential(connection_string=emulator.connection_string)
        with haulage.Session(credential) as session:
            haulage.make_container(place, session=session)
            haulage.copy(source, f"{place}/file", record=record, receipt=receipt, session=session)
        yield from (("record", name) for name in duckdb.read_parquet(str(record)).columns)
        parts = ("receipt, first line", "receipt, object", "receipt, last line")
        for part, line in zip(parts, receipt.read_text().splitlines(), strict=True):
            yield from ((part, name) for name in json.loads(line))


def of_the_package() -> Iterator[Item]:
    for path, names in MODULES.items():
        module = importlib.import_module(path)
        for name in names if names is not None else module.__all__:
            yield path, name
            yield from of_an_object(f"{path}.{name}", getattr(module, name))


def of_an_object(name: str, value: object) -> Iterator[Item]:
    if not inspect.isclass(value):
        if callable(value):
            yield from ((name, parameter) for parameter in parameters(value))
        return
    own = "__init__" in vars(value) and not dataclasses.is_dataclass(value)
    if own and name not in NOT_CONSTRUCTED:
        yield from ((name, parameter) for parameter in parameters(vars(value)["__init__"]))
    kinds = [kind for kind in value.__mro__ if kind.__module__.startswith("haulage")]
    members = {name: held for kind in reversed(kinds) for name, held in vars(kind).items()}
    fields = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
    public = {member for member in {*members, *fields} if not member.startswith("_")}
    for member in sorted(member for member in public if not hasattr(object, member)):
        yield name, f".{member}"
        held = getattr(members.get(member), "__func__", members.get(member))
        if inspect.isfunction(held):
            yield from of_an_object(f"{name}.{member}", held)


def parameters(function: object) -> Iterator[str]:
    """Yield each parameter with its default, and its place if it may be given by place."""
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):  # type: ignore[arg-type]
        if parameter.name in ("self", "cls") or parameter.name.startswith("_"):
            continue
        by_place = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        yield f"{f'{place}:' if by_place else ''}{parameter.name}{default}"


def of_the_environment() -> Iterator[Item]:
    yield from (("variables", name) for name in variables_of_the_sources() | variables_of_the_page())
    settable = re.search(r"const SETTABLE[^=]+= \[([^\]]+)\]", DEFAULTS.read_text(encoding="utf-8"))
    assert settable, DEFAULTS
    yield from (("configuration, [defaults]", name) for name in re.findall(r'"(\w+)"', settable[1]))


def variables_of_the_sources() -> set[str]:
    """Return the variables that the engine, the command and the package name themselves."""
    sources = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/**/*.py")]
    texts = [path.read_text(encoding="utf-8").split("#[cfg(test)]")[0] for path in sources]
    return {name for text in texts for name in VARIABLE.findall(text)} - INTERNAL_VARIABLES


def variables_of_the_page() -> set[str]:
    """Return the variables that the reference names: some are read by libraries."""
    page = VARIABLES.read_text(encoding="utf-8").partition("\n## Not read")[0]
    return set(re.findall(r"`([A-Z]+_[A-Z_0-9]+|TMPDIR)`", page))


def items() -> set[Item]:
    """Return what is there."""
    parts = (of_the_command, of_the_engine, of_the_files, of_the_package, of_the_environment)
    return {item for part in parts for item in part()}


def written() -> set[Item]:
    """Return what the file lists."""
    return set(parse(CONTRACT.read_text(encoding="utf-8"))) if CONTRACT.exists() else set()


def parse(text: str) -> Iterator[Item]:
    r"""Yield the items of a file.

    >>> list(parse("command cp\n  --cap\n  --json  -q\n"))
    [('command cp', '--cap'), ('command cp', '--json'), ('command cp', '-q')]
    """
    thing = ""
    for line in text.splitlines():
        if line.startswith("  "):
            yield from ((thing, part) for part in line.strip().split("  "))
        else:
            thing = line


def render(found: Iterable[Item]) -> str:
    r"""Return the file: each thing, and its parts below it, with two spaces between them.

    >>> render([("errors", "io 1"), ("errors", "busy 1")])
    'errors\n  busy 1  io 1\n'
    """
    parts = defaultdict(list)
    for thing, part in sorted(found):
        parts[thing].append(part)
    return "".join(f"{thing}\n{filled(inner)}\n" for thing, inner in parts.items())


def filled(parts: list[str]) -> str:
    lines = [""]
    for part in parts:
        if len(lines[-1]) + len(part) + 2 > WIDTH:
            lines.append("")
        lines[-1] += f"  {part}"
    return "\n".join(lines)


def released(changelog: str) -> bool:
    r"""Return whether any version is released: its heading in the changelog has a date.

    >>> released("## [Unreleased] 0.1.0\n"), released("## [0.2.0] - 2027-01-31\n")
    (False, True)
    """
    return re.search(r"^## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE) is not None


def main() -> int:
    """Print what differs and write the file; fail if a released name would go and `--remove` is not given."""
    found, before = items(), written()
    gone, added = before - found, found - before
    if gone:
        print("removed or changed:", render(gone), sep="\n", file=sys.stderr)
    if added:
        print("added:", render(added), sep="\n", file=sys.stderr)
    if gone and "--remove" not in sys.argv[1:] and released(CHANGELOG.read_text(encoding="utf-8")):
        print("hint: users rely on it: bring it back, or run: make contract ARGS=--remove", file=sys.stderr)
        return 1
    CONTRACT.write_text(render(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
