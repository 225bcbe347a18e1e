"""Write the tables of docs/reference/hostile.md from the cases: `python tests/hostile_page.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from hostile.case import Case, codes
from hostile.cases import THEMES

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/hostile.md"
#: Where so many exit codes are right, none is told: it is not about them.
SEVERAL = 5
#: What stands between these lines is written anew, the rest by hand.
BEGIN, END = "<!-- service: written by tests/hostile_page.py -->", "<!-- service: end -->"


def main() -> None:
    """Write the page."""
    PAGE.write_text(renewed(PAGE.read_text()))


def renewed(text: str) -> str:
    """Return the page with the tables as they must be."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return "\n".join([f"{before}{BEGIN}", *tables(), f"{END}{after}"])


def tables() -> Iterator[str]:
    """Yield the lines of a table for each theme."""
    for title, cases in THEMES:
        yield from ("", f"### {title}", "", "| case | what must happen | test |", "|---|---|---|")
        yield from (row(case) for case in cases)
    yield ""


def row(case: Case) -> str:
    """Return the line of a case."""
    cells = (case.does, outcome(case), f"`test_case[{case.name}]`")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def outcome(case: Case) -> str:
    """Say how the command ends, and what must hold besides."""
    told = [either(f"`{kind}`" for kind in case.kind.split())] if case.kind else []
    if len(codes(case.code)) < SEVERAL:
        told.append(f"exit code {either(map(str, codes(case.code)))}")
    return "; ".join(filter(None, [", ".join(told), case.must]))


def either(words: Iterable[str]) -> str:
    """Join words that are all right."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


if __name__ == "__main__":
    main()
