"""The comparison: as a table, as sentences, as JSON."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from collection import Collection
from ledger import Ledger, Step
from verdict import Link, Verdict


@dataclass(frozen=True)
class Act:
    """One transfer of the whole collection, and what its record says."""

    name: str
    way: str  #: `up` or `down`; only the same way compares
    command: str
    wall_s: float  #: from start to exit of the process
    goodput_bits_per_second: float
    link_share: float
    ledger: Ledger
    throughput: list[Step]
    verdict: Verdict
    record: str  #: the file with a row for every request


def times_faster(before: Act, after: Act) -> float | None:
    """How many times less wall time ``after`` took; None for the baseline and for another way."""
    return before.wall_s / after.wall_s if after is not before and after.way == before.way else None


def show(console: Console, acts: list[Act]) -> None:
    """Print the table and, beneath it, what limited each act. The first act is the baseline."""
    table = Table(title="The same files over the same link", title_justify="left", title_style="bold")
    for heading in ("", "wall", "goodput", "of the link", "faster"):
        table.add_column(heading, justify="left" if not heading else "right")
    for act in acts:
        times = times_faster(acts[0], act)
        faster = f"[bold green]{times:.1f} x[/]" if times else ""
        goodput = f"{act.goodput_bits_per_second / 1e6:.1f} Mbit/s"
        table.add_row(act.name, f"{act.wall_s:.1f} s", goodput, f"{act.link_share:.1%}", faster)
    console.print()
    console.print(table)
    console.print("[bold]What limited each[/], from a row for every request:")
    for act in acts:
        console.print(f"  {act.name}: [bold]{act.verdict.cause}[/]: {escape(act.verdict.evidence)}")


def save(path: Path, collection: Collection, terms: str, link: Link, acts: list[Act]) -> None:
    """Write all figures as JSON, units in the names."""
    document = {
        "collection": {
            "title": collection.title,
            "files": collection.files,
            "size_bytes": collection.size_bytes,
        },
        "endpoint": terms,
        "link": {
            "rtt_s": link.rtt_s,
            "connection_bits_per_second": link.connection,
            "total_bits_per_second": link.total,
        },
        "machine": {"system": platform.platform(terse=True), "python": platform.python_version()},
        "acts": [{**asdict(act), "times_faster": times_faster(acts[0], act)} for act in acts],
    }
    path.write_text(json.dumps(document, indent=2) + "\n")
