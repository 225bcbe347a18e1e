"""Command predict: what more nodes would bring, by the simulation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from haulage.commands.saying import echo
from haulage.lab.units import parse_rate
from haulage.words.numbers import format_rate


def predict(
    *,
    directory: str,
    nodes: tuple[int, ...],
    limit: str | None,
    requests: int | None,
    quiet: bool,
    as_json: bool,
    **_: Any,
) -> None:
    """Simulate more nodes than were run in DIRECTORY, a run of scale-out."""
    from haulage import lab as library

    rows = library.predict(
        Path(directory),
        nodes,
        limit_bits_per_second=None if limit is None else parse_rate(limit),
        requests_per_second=requests,
    )
    if as_json:
        echo(json.dumps(rows))
        return
    for row in rows:
        echo(_line(row))
    if not quiet and any(row["bound_bits_per_second"] is None for row in rows):
        echo(
            "hint: 4 nodes reached no limit of the service, so this is the most that may be; give --limit",
            err=True,
        )


def _line(row: dict[str, Any]) -> str:
    words = [
        f"{row['direction']:<5}{row['node_count']:>4} {'node ' if row['node_count'] == 1 else 'nodes'}",
        f"{format_rate(row['simulated_bits_per_second']):>12}",
        f"{row['simulated_share_of_linear']:>5.0%} of linear",
        row["role"],
    ]
    if row["error"] is not None:
        words.append(f"measured {format_rate(row['measured_bits_per_second'])}, off by {row['error']:+.1%}")
    return "  ".join(words)
