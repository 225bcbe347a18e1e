"""Writes the table of hostile folders and files into the documents: `python -m hostile.trees_table`, in
`tests`.

A test's docstring is its row: what is met, a colon, what must happen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "reference" / "hostile.md"
BEGIN, END = "<!-- trees -->\n", "<!-- /trees -->\n"

#: The files whose tests have a row, with what they are about.
FILES = {
    "test_trees_meaning.py": "What a name means",
    "test_trees_sources.py": "Sources",
    "test_trees_links.py": "Links and permissions",
    "test_trees_names.py": "Names",
    "test_trees_destinations.py": "Destinations",
    "test_trees_race.py": "Others at the same time",
    "test_trees_sidecars.py": "Leftovers, true and planted",
    "test_trees_times.py": "Times",
    "test_trees_spelled.py": "Other spellings, and what lies beside",
    "test_trees_disk.py": "Disks",
    "test_trees_faults.py": "Disks that fail, and somebody in between",
    "test_trees_verify.py": "Differences, and nothing at all",
    "test_trees_deleting.py": "Verbs that delete",
    "test_outputs.py": "Records, receipts and standard output",
    "test_arguments.py": "Arguments",
}


@dataclass(frozen=True)
class Row:
    """A case, what must happen, and the test that shows it."""

    case: str
    must: str
    test: str

    def __str__(self) -> str:
        cells = (self.case, self.must, f"`{self.test}`")
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def rows(file: str) -> Iterator[Row]:
    """Yield the rows of a file, in the order of its tests."""
    for node in ast.parse((HERE / file).read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            told = " ".join((ast.get_docstring(node) or "").split())
            case, colon, must = told.partition(": ")
            assert colon, f"the docstring of {file}::{node.name} is no row: {told!r}"
            yield Row(case, must.rstrip("."), f"tests/hostile/{file}::{node.name}")


def table() -> str:
    """Return all that stands between the marks."""
    parts = []
    for file, title in FILES.items():
        lines = "\n".join(map(str, rows(file)))
        parts.append(f"### {title}\n\n| case | what must happen | test |\n|---|---|---|\n{lines}\n")
    return "\n" + "\n".join(parts) + "\n"


def main() -> None:
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(before + BEGIN + table() + END + after)


if __name__ == "__main__":
    main()
