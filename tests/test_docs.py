"""The documents are true: what is marked runs, what is listed exists, what is linked is there.

A block of `sh` or `python` runs if `<!-- run -->` stands on the line before it; the lines of a
`<!-- setup ... -->` comment run before, unseen by the reader. The blocks of a page run in order, in one
folder, against one emulator of their own.
"""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

import haulage
from command import HAUL, Haul, clean_environment
from endpoints import Endpoint
from haulage import _engine
from haulage.errors import BY_CODE
from haulage.events import BY_NAME

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs/reference"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

BLOCK = re.compile(
    r"^<!-- setup\n(?P<setup>.*?)^-->$"
    r"|(?P<run>^<!-- run -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    language: str
    code: str


def blocks_to_run(page: Path) -> list[Block]:
    found = []
    for match in BLOCK.finditer(page.read_text()):
        if match["setup"]:
            found.append(Block("sh", match["setup"]))
        elif match["run"]:
            found.append(Block(match["language"], match["code"]))
    return found


class StartEmulator(Protocol):
    def __call__(self) -> Endpoint: ...


def as_dear_as_it_is(page: Path) -> object:
    """Return a page as a parameter; a run of the lab takes a minute, a cluster some seconds."""
    dear = page.name in ("lab.md", "lab-report.md", "scale-out.md")
    return pytest.param(page, id=name_of(page), marks=[pytest.mark.long] if dear else [])


@pytest.mark.slow("runs all that a page shows")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", [as_dear_as_it_is(page) for page in PAGES if blocks_to_run(page)])
def test_blocks_run(page: Path, start_emulator: StartEmulator, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    env = clean_environment(folder) | start_emulator().env
    env["PATH"] = f"{HAUL.parent}:{env['PATH']}"
    for block in blocks_to_run(page):
        command = {"sh": ["sh", "-euc"], "python": [sys.executable, "-c"]}[block.language]
        ran = subprocess.run(
            [*command, block.code],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        said = f"{block.code}\nended with {ran.returncode}:\n{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
        assert ran.returncode == 0, said
        assert "panicked at" not in ran.stderr, said


def test_the_pages_that_teach_are_run() -> None:
    for name in ("README.md", "docs/guides/first-copy.md", "docs/guides/pipes.md", "docs/guides/python.md"):
        assert blocks_to_run(ROOT / name), name


def anchor(heading: str) -> str:
    """Return what a renderer makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(heading) for heading in re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_into_a_page_name_a_heading(page: Path) -> None:
    """That the page is there is for `scripts/check_files.py`."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for link in LINK.findall(prose):
        path, _, fragment = link.partition("#")
        if fragment and "://" not in link:
            assert fragment in anchors((page.parent / path).resolve() if path else page), link


def test_every_page_is_in_the_table_of_contents() -> None:
    index = ROOT / "docs/index.md"
    listed = {(index.parent / link).resolve() for link in LINK.findall(index.read_text())}
    pages = set(ROOT.glob("docs/**/*.md")) - {index}
    assert listed == pages


def test_the_readme_names_its_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text


# The reference of the command against its help.

#: Commands whose defaults the page tells in other words. The lab has a page of its own.
IN_PYTHON = {"lab", "why", "watch", "table", "view", "index", "doctor"}


def sections(page: Path, level: str = "##") -> dict[str, str]:
    """Return the text below each heading of this level."""
    parts = re.split(rf"^{level} (.+)$", page.read_text(), flags=re.MULTILINE)
    titles, texts = parts[1::2], parts[2::2]
    ends = [re.split(r"^# ", text, flags=re.MULTILINE)[0] for text in texts]
    return dict(zip(titles, ends, strict=True))


def rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of all tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    split = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    cells = [[cell.strip().replace(r"\|", "|") for cell in row] for row in split]
    heads = {place - 1 for place, row in enumerate(cells) if all(set(cell) <= {"-"} for cell in row)}
    return [
        row
        for place, row in enumerate(cells)
        if place not in heads and not all(set(cell) <= {"-"} for cell in row)
    ]


def documented_options() -> dict[str, dict[str, str]]:
    """Return for each command its options with their defaults, those of the groups it takes included."""
    pages = sections(REFERENCE / "command.md")

    def own(text: str) -> Iterator[tuple[str, str]]:
        for name, default, _ in (row for row in rows(text) if len(row) == 3):
            for option in re.findall(r"(?<![\w-])--?[a-z][\w-]*", name):
                yield option, default.strip("`")

    options = {}
    for title, text in pages.items():
        # Those that move rows of tables are told of together.
        if title.startswith("haul ") and title != "haul lab" and "," not in title:
            taken = re.search(r"^Takes: (.+)$", text, re.MULTILINE)
            assert taken, title
            groups = "\n".join(pages[group] for group in taken[1].split(", "))
            options[title.removeprefix("haul ")] = dict(own(text + groups))
    return options


def options_of_help(text: str) -> dict[str, str]:
    """Return the options in a help with their defaults."""
    body = re.split(r"^Examples:$", text, flags=re.MULTILINE)[0]
    entries = re.split(r"^ +(?=-)", body, flags=re.MULTILINE)[1:]
    options = {}
    for entry in entries:
        one_line = " ".join(entry.split())
        default = re.search(r"\[default: ([^\]]+)\]", one_line)
        names = re.match(r"(-\w)?(?:, )?(--[\w-]+)?", one_line)
        assert names, entry
        for option in filter(None, names.groups()):
            options[option] = default[1] if default else ""
    return options


def commands(haul: Haul) -> set[str]:
    listed = haul("--help").text.split("Commands:")[1].split("Options:")[0]
    return set(re.findall(r"^  (\w+)", listed, re.MULTILINE)) - {"help"}


def test_options_agree_with_the_help(haul: Haul) -> None:
    documented = documented_options()
    assert {command.split()[0] for command in documented} == commands(haul) - {"lab"}
    for command, options in documented.items():
        told = options_of_help(haul(*command.split(), "--help").text)
        assert options.keys() == told.keys(), command
        assert options == told or command.split()[0] in IN_PYTHON, command


def test_exit_codes_agree_with_the_help(haul: Haul) -> None:
    table = haul("cp", "--help").text.split("Exit codes:")[1]
    told = dict(re.findall(r"(?<![\w])(\d+) {2,}(\S+(?: \S+)*)", table))
    written = dict(rows(sections(REFERENCE / "command.md")["Exit codes"]))
    assert written == told


@pytest.mark.parametrize(
    "command", ["why", "watch", "table export", "table plan", "table serve", "view", "index", "lab"]
)
def test_exit_codes_of_commands_in_python_agree_with_their_help(command: str, haul: Haul) -> None:
    """`haul doctor` ends with those of a copy."""
    told = haul(*command.split(), "--help").text.split("Exit codes:")[1]
    if command == "lab":
        written = {code for code, _ in rows(sections(REFERENCE / "lab.md")["Exit codes"])}
    else:
        pages = sections(REFERENCE / "command.md")
        (text,) = (text for title, text in pages.items() if title.startswith(f"haul {command}"))
        sentence = re.search(r"^Exit codes: (.+?)(?:\.\s|\.\Z)", text, re.MULTILINE | re.DOTALL)
        assert sentence
        written = set(re.findall(r"(?:^|;\s)(\d+) ", sentence[1]))
    assert written == set(re.findall(r"(?<!\w)(\d+) {2,}\S", told))


def test_kinds_of_error_agree_with_the_engine() -> None:
    page = ROOT / "docs/concepts/errors-and-retries.md"
    written = {row[0].strip("`"): (int(row[1]), row[2].strip("`")) for row in rows(sections(page)["Kinds"])}
    assert {code: exit_code for code, (exit_code, _) in written.items()} == _engine.error_kinds()
    assert {code: name for code, (_, name) in written.items()} == {
        code: kind.__name__ for code, kind in BY_CODE.items()
    }


# The reference of events against what is printed, and against Python.


def documented_fields() -> dict[str, set[str]]:
    pages = sections(REFERENCE / "events.md")
    return {kind: {row[0].strip("`") for row in rows(pages[kind])} for kind in BY_NAME}


def test_events_agree_with_what_is_printed(haul: Haul, emulator: Endpoint, tmp_path: Path) -> None:
    container = emulator.container()
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "large").write_bytes(bytes(5_000_000))
    (folder / "small").write_bytes(b"hello")
    (folder / "link").symlink_to("small")
    events = haul("cp", folder, container.az(), "--json", "--cap", "100mbit").events
    seen = {event["event"]: set(event) for event in events}
    assert seen == documented_fields()
    assert {event["event"] for event in events[:1] + events[-1:]} == {"job_started", "summary"}


def test_events_agree_with_python() -> None:
    for kind, fields in documented_fields().items():
        in_python = {field.name for field in dataclasses.fields(BY_NAME[kind])}
        assert in_python == fields - {"event"}, kind


def test_columns_of_the_record_agree(haul: Haul, emulator: Endpoint, tmp_path: Path) -> None:
    import duckdb

    (tmp_path / "file").write_bytes(b"hello")
    haul("cp", "file", emulator.container().az(), "--record", "run.parquet")
    columns = duckdb.read_parquet(str(tmp_path / "run.parquet")).columns
    page = ROOT / "docs/guides/recording.md"
    assert {row[0].strip("`") for row in rows(sections(page)["Columns"])} == set(columns)


def test_every_name_of_the_package_is_in_the_reference() -> None:
    text = (REFERENCE / "python.md").read_text()
    assert [name for name in haulage.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_every_variable_the_engine_reads_is_in_the_reference() -> None:
    source = (ROOT / "crates/haulage/src/store/azure/settings.rs").read_text()
    read = set(re.findall(r'get\("([A-Z_]+)"\)', source))
    assert read
    text = (REFERENCE / "environment.md").read_text()
    assert [name for name in sorted(read) if f"`{name}`" not in text] == []


def test_measured_numbers_are_filled_in() -> None:
    """A placeholder is a claim that nobody has measured."""
    # Not a part of another word, as in the name of a variable.
    placeholder = re.compile(r"(?<![A-Z])FIGURE")
    assert [name_of(page) for page in PAGES if placeholder.search(page.read_text())] == []


def test_every_guarantee_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "reference" / "guarantees.md").read_text()
    rows = [line for line in page.split("## What is not promised")[0].splitlines() if line.startswith("| ")]
    promises = [row for row in rows if not row.startswith("| promise")]
    assert len(promises) > 20
    for row in promises:
        named = re.search(r"`([^`]+\.(?:py|rs))::(\w+)` \|$", row)
        assert named, f"names no test: {row}"
        source = (ROOT / named[1]).read_text()
        assert re.search(rf"\b(?:def|fn) {named[2]}\(", source), f"{named[1]} has no test {named[2]}"
