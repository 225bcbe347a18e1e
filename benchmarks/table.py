"""Turns rows of benchmarks into a table in Markdown: `python benchmarks/table.py FILE.jsonl...`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, Any]
BASE = "haul"


def main() -> None:
    """Print the facts and the table of every file named."""
    for name in sys.argv[1:]:
        lines = [json.loads(line) for line in Path(name).read_text().splitlines()]
        print(facts(lines[0]["facts"]), end="\n\n")
        print("\n".join(table(lines[1:])), end="\n\n")


def facts(found: Row) -> str:
    """Say on what machine and with which versions the rows were measured."""
    versions = ", ".join(found["versions"].values())
    machine = f"{found['cores']} cores of {found['cpu']}, {found['memory_gib']} GiB, Linux {found['kernel']}"
    return f"{found['began'][:8]}: {machine}; load at the start {found['load_1min']}; {versions}."


def table(rows: Iterable[Row]) -> list[str]:
    """Return the lines of the table: a line for every task and arm, failed runs counted apart.

    Figures are medians; in parentheses the least and the largest. The ratio compares wall times with
    haul's of the same round, so that what slowed both does not count.
    """
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["task"]["name"], row["arm"]].append(row)
    lines = [
        "| task | tool | wall, s | rate | CPU, s | memory, MiB | wall against haul | n |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (task, arm), group in groups.items():
        good = [row for row in group if row["exit_code"] == 0]
        count = str(len(good)) + (f", {len(group) - len(good)} failed" if len(good) < len(group) else "")
        if not good:
            lines.append(f"| {task} | {arm} | failed | | | | | {count} |")
            continue
        wall, cpu = (spread([row[name] for row in good]) for name in ("wall_s", "cpu_s"))
        memory = f"{max(row['max_rss_mib'] for row in good):.0f}"
        against = ratio(good, groups.get((task, BASE), [])) if arm != BASE else ""
        lines.append(f"| {task} | {arm} | {wall} | {rate(good)} | {cpu} | {memory} | {against} | {count} |")
    return lines


def spread(values: list[float]) -> str:
    """Median with the least and the largest."""
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def rate(rows: list[Row]) -> str:
    """Payload, or objects where there is little or none, over the median wall time."""
    task, wall = rows[0]["task"], median(row["wall_s"] for row in rows)
    if task["size_bytes"] < task["objects"] << 16:
        return f"{task['objects'] / wall:,.0f}/s"
    return f"{task['size_bytes'] * 8 / wall / 1e9:.2f} Gbit/s"


def ratio(rows: list[Row], base: list[Row]) -> str:
    """Wall time over haul's, pair by pair."""
    walls = {row["round"]: row["wall_s"] for row in base if row["exit_code"] == 0}
    pairs = [row["wall_s"] / walls[row["round"]] for row in rows if row["round"] in walls]
    return f"{spread(pairs)} x" if pairs else ""


if __name__ == "__main__":
    main()
