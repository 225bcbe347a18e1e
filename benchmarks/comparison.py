"""Writes the figures of docs/comparison.md and README.md from the raw rows in results/.

`python benchmarks/comparison.py` writes them; with `--check` it fails if a page says something else. Of the
runs that a mover made of a case, those in the last file count. `--keep` first puts the rows that count
into the newest file of the campaign and removes the other files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from cases import BY_NAME
from figures import Groups, Row, good
from table import read

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks/results"
#: Case, and its title on the page.
AZURE = {
    "version": "print the version",
    "tiny": "upload one file of 1 KiB",
    "up": "upload 1 GiB",
    "up-https": "upload 1 GiB, https",
    "down": "download 4 GiB",
    "small-up": "upload 10,000 files of 4 KiB",
    "small-down": "download 10,000 files of 4 KiB",
    "list": "list 1,000,000 names",
    "wan-up": "upload 1 GiB, long link",
    "wan-up-50": "upload 50 files of 20 MiB, long link",
    "wan-down-50": "download 50 files of 20 MiB, long link",
    "busy-up": "upload 1 GiB, 30 % of requests refused",
    "nginx-up": "upload 1 GiB, to nginx",
    "nginx-down": "download 4 GiB, from nginx",
}
S3 = {
    "s3-null-up": "upload 1 GiB",
    "s3-null-down": "download 1 GiB",
    "s3-null-small-up": "upload 10,000 files of 4 KiB",
    "s3-null-small-down": "download 10,000 files of 4 KiB",
}
#: What the first page that somebody sees has room for.
SHORT = ["up", "down", "small-up", "small-down", "wan-up", "wan-up-50", "busy-up"]
#: Page, place on it, cases, movers.
PLACES: list[tuple[str, str, dict[str, str], list[str]]] = [
    ("docs/comparison.md", "azure", AZURE, ["haul", "AzCopy", "rclone", "obstore"]),
    ("docs/comparison.md", "s3", S3, ["haul", "s5cmd", "rclone", "obstore"]),
    ("README.md", "figures", {name: AZURE[name] for name in SHORT}, ["haul", "AzCopy", "rclone", "obstore"]),
]


def main() -> int:
    """Write the figures into the pages, or compare them."""
    if "--keep" in sys.argv[1:]:
        keep(campaigns())
    stale = []
    for page in sorted({page for page, *_ in PLACES}):
        path = ROOT / page
        old = path.read_text(encoding="utf-8")
        new = filled(page, old)
        if new != old:
            stale.append(page)
            if "--check" not in sys.argv[1:]:
                path.write_text(new, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        print(f"{', '.join(stale)}: the figures are not those of benchmarks/results", file=sys.stderr)
        print("hint: run: python benchmarks/comparison.py", file=sys.stderr)
        return 1
    return 0


def campaigns() -> list[Path]:
    """Return the files of the campaign, oldest first."""
    return sorted(RESULTS.glob("campaign-2*.jsonl"))


def keep(paths: Sequence[Path]) -> None:
    """Put the rows that count into the last file, each run's below its facts, and remove the others."""
    runs: list[tuple[Row, list[Row]]] = []
    for path in paths:
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if "facts" in row:
                runs.append((row, []))
            else:
                runs[-1][1].append(row)
    last = {
        (row["case"], row["arm"]): facts for facts, rows in runs for row in rows if row.get("case") in BY_NAME
    }
    kept: list[Row] = []
    for facts, rows in runs:
        counting = [row for row in rows if last.get((row.get("case"), row.get("arm"))) is facts]
        kept += [facts, *counting] if counting else []
    *others, newest = paths
    newest.write_text("".join(f"{json.dumps(row)}\n" for row in kept), encoding="utf-8")
    for path in others:
        path.unlink()


def filled(page: str, text: str) -> str:
    """Return a page with the figures of today's rows between its marks."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for path in campaigns():
        groups |= read([path])[1]
    for of, place, cases, movers in PLACES:
        if of == page:
            begin, end = f"<!-- begin {place} -->", f"<!-- end {place} -->"
            before, _, rest = text.partition(begin)
            _, found, after = rest.partition(end)
            assert found, f"{page} has no place for {place}"
            text = "\n".join([before + begin, *table(groups, cases, movers), end + after])
    return text


def table(groups: Groups, cases: dict[str, str], movers: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table: seconds of wall and of CPU time, medians, the quickest in bold."""
    yield f"| seconds: wall; CPU | {' | '.join(movers)} |"
    yield "|---" * (len(movers) + 1) + "|"
    for name, title in cases.items():
        assert name in BY_NAME, name
        found = [figures(groups, name, mover.lower()) for mover in movers]
        quickest = min(wall for wall, _ in filter(None, found))
        cells = [cell(pair, pair is not None and pair[0] == quickest) for pair in found]
        yield f"| {title} | {' | '.join(cells)} |"


def figures(groups: Groups, case: str, mover: str) -> tuple[float, float] | None:
    """Return the medians of wall and CPU seconds, or None where the mover has no run of this case."""
    rows = good(groups.get((case, mover), []))
    if not rows:
        return None
    return median(row["wall_s"] for row in rows), median(row["cpu_s"] for row in rows)


def cell(pair: tuple[float, float] | None, quickest: bool) -> str:
    """Return what stands in a cell."""
    if pair is None:
        return "not run"
    wall = f"{pair[0]:.2f}"
    return f"{f'**{wall}**' if quickest else wall}; {pair[1]:.2f}"


if __name__ == "__main__":
    sys.exit(main())
