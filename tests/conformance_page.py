"""Write the table of docs/reference/conformance.md from what the suite found: `make conformance`.

The suite of `crates/haulage/tests/all/conformance` leaves a line of JSON for each of its checks in the folder
that HAUL_CONFORMANCE names. With `--check` nothing is written: the page must be what it would become. Only
stores that the suite runs `apart` may be missing then, and keep the column that they have.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/conformance.md"
SUITE = ROOT / "crates/haulage/tests/all/conformance/mod.rs"
#: What stands between these lines is written anew, the rest by hand.
BEGIN, END = "<!-- table: written by make conformance -->", "<!-- table: end -->"

#: A check and a store, and what the suite said of them.
Cells = Mapping[tuple[str, str], str]


def main() -> int:
    """Write or check the page; 1 where it cannot be written, or would be another."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, help="the folder with the lines")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    args = parser.parse_args()
    found = cells(
        line for file in sorted(args.results.glob("*.jsonl")) for line in file.read_text().splitlines()
    )
    text = PAGE.read_text()
    if args.check:
        found = {**written(text, apart()), **found}
    faults = list(missing(found))
    if not faults and args.check and text != renewed(text, found):
        faults = ["docs/reference/conformance.md says something else (hint: run make conformance)"]
    for fault in faults:
        print(f"conformance: {fault}", file=sys.stderr)
    if not faults and not args.check:
        PAGE.write_text(renewed(text, found))
    return 1 if faults else 0


def cells(lines: Iterable[str]) -> Cells:
    """Read what the suite found: "yes", a note in place of it, or "" where a check failed."""
    results = [json.loads(line) for line in lines]
    return {(one["check"], one["store"]): (one["note"] or "yes") if one["passed"] else "" for one in results}


def written(text: str, columns: Collection[str]) -> Cells:
    """Return what the page says in these columns."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    titles = {title: check for check, title in checks().items()}
    cells = (
        ((titles[title], store), cell)
        for title, *row in rows
        if title in titles
        for store, cell in zip(stores(), row, strict=False)
    )
    return {(check, store): cell for (check, store), cell in cells if store in columns}


def missing(found: Cells) -> Iterator[str]:
    """Say what has failed, or was not run."""
    for check in checks():
        for store in stores():
            if not found.get((check, store)):
                happened = "failed" if (check, store) in found else "was not run"
                yield f"{check} {happened} on {store}"


def renewed(text: str, found: Cells) -> str:
    """Return the page with the table as it must be."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return "\n".join([f"{before}{BEGIN}", "", *table(found), "", f"{END}{after}"])


def table(found: Cells) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| | {' | '.join(stores())} |"
    yield f"|---|{'---|' * len(stores())}"
    for check, title in checks().items():
        yield f"| {title} | {' | '.join(found.get((check, store), '') for store in stores())} |"


def checks() -> dict[str, str]:
    """Return the checks of the suite and their titles, in its order."""
    return dict(re.findall(r'^\s+\w+::(\w+) => "([^"]+)",$', SUITE.read_text(), re.MULTILINE))


def stores() -> list[str]:
    """Return the stores that the suite is run on, in its order."""
    return [store for store, _ in _columns()]


def apart() -> set[str]:
    """Return those of them that only `make conformance` starts."""
    return {store for store, how in _columns() if how}


def _columns() -> list[tuple[str, str]]:
    return re.findall(r'^every_check!\(\w+, "([^"]+)", \w+(, apart)?\);$', SUITE.read_text(), re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main())
