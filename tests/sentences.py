"""Whole sentences that people read, in one file: `tests/sentences.json`.

A test asserts the kind of an error, its object, and that there is a hint; it hands the sentence itself to the
fixture `sentence`, which compares it with the file. To change a sentence is one edit in the product and
`make sentences ARGS=tests/test_NAME.py`, which writes the file anew; the diff shows what people will read.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("sentences.json")
#: Set to `write` to keep what is said now.
MODE = "HAUL_SENTENCES"
ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\]):\d+")

Sentence = Callable[[object], None]


@pytest.fixture
def sentence(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sentence]:
    """Return what compares a sentence with the one that the file has for this test, in their order."""
    test = f"{request.path.relative_to(FILE.parent)}::{request.node.name}"
    expected: list[str] = [] if writing() else read().get(test, [])
    said: list[str] = []

    def compare(text: object) -> None:
        said.append(ADDRESS.sub("{host}", str(text).replace(str(tmp_path), "{tmp}")))
        if not writing():
            hint = f"make sentences ARGS={request.path.relative_to(FILE.parent.parent)}"
            assert expected[len(said) - 1 : len(said)] == said[-1:], f"if it is meant: {hint}"

    yield compare
    if writing():
        write(test, said)
    else:
        assert len(said) == len(expected), "some sentences of this test were not said"


def writing() -> bool:
    """Whether the file is written anew."""
    return os.environ.get(MODE) == "write"


def read() -> dict[str, list[str]]:
    """Return the sentences of each test."""
    found: dict[str, list[str]] = json.loads(FILE.read_text("utf-8"))
    return found


def write(test: str, said: list[str]) -> None:
    """Keep the sentences of a test, whatever other processes keep at the same time."""
    with FILE.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        kept = json.load(file) | {test: said}
        file.seek(0)
        file.truncate()
        json.dump({test: kept[test] for test in sorted(kept)}, file, indent=1, ensure_ascii=False)
        file.write("\n")
