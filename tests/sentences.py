"""Whole sentences that people read, in one file: `tests/sentences.json`.

A test asserts the kind of an error, its object, and that there is a hint; it hands the sentence itself to the
fixture `sentence`, which compares it with the file: an error, a text such as `said.stderr`, or several texts.
To change a sentence is one edit in the product and `make sentences ARGS=tests/test_NAME.py`, which writes the
file anew; the diff shows what people will read.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("sentences.json")
#: Set to `write` to keep what is said now.
MODE = "HAUL_SENTENCES"
#: Whether the part of a test that ran last has passed.
PASSED = pytest.StashKey[bool]()
#: What the file has for tests that were not collected.
LEFT_OVER = pytest.StashKey[set[str]]()

#: What differs from run to run, and what stands for it.
VARIES = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"(?:127\.0\.0\.1|localhost|\[::1\]|\bstore\.test):[3-6]\d{4}\b", "{host}"),
        (r"\btest-\d+\b", "test-{n}"),
        (r"\.[0-9a-f]{8}(?=/)", ".{n}"),
        (r"/(?:var/)?tmp/tmp\w{8}\b", "{tmp}"),
        (r"(?m)^chosen: .*\n?", ""),
        (r"\b\d+(?:\.\d+)? (?:[um]?s|min) \(\d+(?:\.\d+)? [kMG]?bit/s\)", "{time}"),
        (r"\bversion \d+\.\d+\.\d+\b", "version {n}"),
        (r"\b\d+\.\d+ (m?s)\b", r"{n} \1"),
        (r"\b\d+(?:\.\d+)? ([kMGT]i)?B are free\b", "{n} free"),
    )
]

Sentence = Callable[[object], None]


@pytest.fixture
def sentence(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sentence]:
    """Return what compares a sentence with the one that the file has for this test, in their order.

    What a test says again, as in a loop, the file has once.
    """
    test = name_of(request.node)
    expected: list[str] = [] if writing() else kept().get(test, [])
    said: list[str] = []
    base = tmp_path_factory.getbasetemp()
    meant = f"if it is meant: make sentences ARGS={request.path.relative_to(FILE.parent.parent)}"

    def compare(text: object) -> None:
        assert getattr(text, "hint", "none needed"), f"no hint: {text}"
        assert text, "nothing was said"
        texts = map(str, text) if isinstance(text, (set, list)) else [str(text)]
        now = constant("\n".join(sorted(texts)).strip(), base)
        if now in said:
            return
        said.append(now)
        if not writing():
            before = "\n".join(expected[len(said) - 1 : len(said)]) or "nothing"
            assert now == before, f"{test} said\n\n{before}\n\nand now\n\n{now}\n\n{meant}"

    yield compare
    if not request.node.stash[PASSED]:
        return
    if writing():
        change({test: said} if said else {}, set() if said else {test})
    else:
        assert len(said) == len(expected), f"{test} no longer says\n\n{expected[-1]}\n\n{meant}"


def constant(text: str, base: Path) -> str:
    """Return a text with names in place of what differs from run to run; `base` has the tests' folders."""
    text = re.sub(rf"{re.escape(str(base))}/[\w.-]*?(?=\d*(?:[^\w.-]|$))\d*", "{tmp}", text)
    for pattern, name in VARIES:
        text = pattern.sub(name, text)
    return text


def line_with(text: str, word: str) -> str:
    """Return the only line of a long text that has this word."""
    (line,) = {line for line in text.splitlines() if word in line}
    return line


def name_of(item: pytest.Item) -> str:
    return f"{item.path.relative_to(FILE.parent)}::{item.name}"


def left_over(items: Iterable[pytest.Item]) -> set[str]:
    """Return what the file has for tests that are not among these, of their files."""
    saying: dict[str, set[str]] = {}
    for item in items:
        if item.path.is_relative_to(FILE.parent):
            names = saying.setdefault(str(item.path.relative_to(FILE.parent)), set())
            names |= {name_of(item)} if "sentence" in getattr(item, "fixturenames", ()) else set()
    return {test for test in read() if test not in saying.get(test.partition("::")[0], {test})}


def writing() -> bool:
    """Whether the file is written anew."""
    return os.environ.get(MODE) == "write"


def read() -> dict[str, list[str]]:
    """Return the sentences of each test."""
    found: dict[str, list[str]] = json.loads(FILE.read_text("utf-8"))
    return found


kept = cache(read)


def change(said: dict[str, list[str]], gone: set[str]) -> None:
    """Keep the sentences of tests, and drop those of others, whatever other processes do at the same time."""
    # Not `FILE.open`: some tests replace it.
    with open(FILE, "r+", encoding="utf-8") as file:  # noqa: PTH123
        fcntl.flock(file, fcntl.LOCK_EX)
        known = json.load(file) | said
        file.seek(0)
        file.truncate()
        sorted_ = {test: known[test] for test in sorted(known) if test not in gone}
        json.dump(sorted_, file, indent=1, ensure_ascii=False)
        file.write("\n")
