"""Turns rows of the campaign into tables in Markdown: `python benchmarks/table.py FILE.jsonl...`.

Several files are taken as one campaign; of a case that is in more than one, the last file counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from cases import BY_NAME, Case
from figures import BASE, Groups, Row, best, good, grouped, ratios, share, verdict


def main() -> None:
    """Print the facts of every file named, then one table of all their rows and one of the targets."""
    heads, groups, quick = read([Path(name) for name in sys.argv[1:]])
    for line in facts(heads):
        print(line, end="\n\n")
    print("\n".join(table(groups)), end="\n\n")
    print("Rows of --quick are judged by no target." if quick else "\n".join(verdicts(groups)))


def read(paths: list[Path]) -> tuple[list[Row], Groups, bool]:
    """Return the first lines, the rows by case and arm, and whether any is of --quick."""
    heads: list[Row] = []
    groups: dict[tuple[str, str], list[Row]] = {}
    for path in paths:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        heads += [row["facts"] for row in rows if "facts" in row]
        new = grouped(row for row in rows if row.get("case") in BY_NAME)
        again = {case for case, _ in new}
        groups = {key: value for key, value in groups.items() if key[0] not in again} | new
    return heads, groups, any(row["quick"] for rows in groups.values() for row in rows)


def facts(heads: list[Row]) -> Iterator[str]:
    """Say on what machines and with which versions the rows were measured, a line for each."""
    runs: dict[str, list[Row]] = {}
    for found in heads:
        size = f"{found['cores']} cores of {found['cpu']}, {found['memory_gib']} GiB"
        runs.setdefault(f"{found['began'][:8]}: {size}, Linux {found['kernel']}", []).append(found)
    for where, of in runs.items():
        loads = [found["load_1min"] for found in of]
        versions = dict(pair for found in of for pair in found["versions"].items())
        said = [text if name in text.lower() else f"{name} {text}" for name, text in versions.items()]
        load = f"{min(loads)} to {max(loads)}" if len(set(loads)) > 1 else f"{loads[0]}"
        yield f"{where}; {len(of)} runs; load at the start {load}; {', '.join(said)}."


def table(groups: Groups) -> list[str]:
    """Return the lines of the table: a line for every case and arm, failed runs counted apart.

    Figures are medians; in parentheses the least and the largest. The ratio compares wall times with
    haul's of the same round. The quickest peer is in bold.
    """
    lines = [
        "| case | tool | wall, s | rate | CPU, s | memory, MiB | wall against haul | n |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in in_order(groups):
        arms = sorted((arm for name, arm in groups if name == case.name), key=case.arms.index)
        lines += [_line(case, arm, groups) for arm in arms]
    return lines


def _line(case: Case, arm: str, groups: Groups) -> str:
    rows = groups[case.name, arm]
    done, title = good(rows), case.title + (", quick" if rows[0]["quick"] else "")
    # Beside no run of ours, there is nothing to be the best of.
    name = f"**{arm}**" if (case.name, BASE) in groups and arm == best(case, groups) else arm
    count = ", ".join([str(len(done)), *_failures(rows)])
    if not done:
        return f"| {title} | {name} | none | | | | | {count} |"
    wall, cpu = (spread([row[column] for row in done]) for column in ("wall_s", "cpu_s"))
    memory = f"{max(row['max_rss_mib'] for row in done):.0f}"
    pairs = ratios(rows, groups.get((case.name, BASE), [])) if arm != BASE else []
    against = f"{spread(pairs)} x" if pairs else ""
    return f"| {title} | {name} | {wall} | {rate(case, done)} | {cpu} | {memory} | {against} | {count} |"


def _failures(rows: list[Row]) -> Iterator[str]:
    late = [row for row in rows if row["timed_out"]]
    failed = len(rows) - len(good(rows)) - len(late)
    if late:
        yield f"{len(late)} not finished in {late[0]['wall_s']:.0f} s"
    if failed:
        yield f"{failed} failed"


def verdicts(groups: Groups) -> list[str]:
    """Return the lines of the table of targets."""
    lines = ["| case | targets |", "|---|---|"]
    for case in in_order(groups):
        if case.targets and (case.name, BASE) in groups:
            said = "; ".join(verdict(case, target, groups) for target in case.targets)
            lines.append(f"| {case.title} | {said} |")
    return lines


def in_order(groups: Groups) -> list[Case]:
    """Return the cases that have rows, in the campaign's order."""
    there = {name for name, _ in groups}
    return [case for name, case in BY_NAME.items() if name in there]


def spread(values: list[float]) -> str:
    """Median with the least and the largest."""
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def rate(case: Case, rows: list[Row]) -> str:
    """Payload, or objects where there is little or none, over the median wall time; of a link, the share."""
    task, wall = rows[0]["task"], median(row["wall_s"] for row in rows)
    if task["size_bytes"] < task["objects"] << 16:
        return f"{task['objects'] / wall:,.0f}/s"
    bits = task["size_bytes"] * 8
    part = f", {share(case.link, bits, wall):.0%} of the link" if case.link != "none" else ""
    return f"{bits / wall / 1e9:.3g} Gbit/s{part}"


if __name__ == "__main__":
    main()
