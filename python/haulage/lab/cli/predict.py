"""Command predict: what more nodes would bring, by the simulation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from haulage.commands.grammar import command
from haulage.errors import UsageError
from haulage.lab.cli.output import examples, output_options
from haulage.lab.units import parse_rate
from haulage.words.numbers import format_rate


@command(
    short_help="Predict what more nodes would gain.",
    epilog=examples(
        "haul lab predict runs/scale-out-1                    20 and 100 nodes",
        "haul lab predict runs/scale-out-1 --nodes 16,32,64",
        "haul lab predict runs/scale-out-1 --nodes 100 --limit 60gbit --requests 20000",
    ),
)
@click.argument("directory")
@click.option("--nodes", default="20,100", show_default=True, metavar="N,N,...", help="How many.")
@click.option("--limit", metavar="RATE", help="Rate of the account.  [default: as found with up to 4 nodes]")
@click.option("--requests", type=click.IntRange(1), help="Requests a second that the account accepts.")
@output_options
def predict(
    directory: str, nodes: str, limit: str | None, requests: int | None, quiet: bool, as_json: bool
) -> None:
    """Simulate more nodes than were run in DIRECTORY, a run of scale-out.

    The simulation is calibrated on 1 to 4 nodes of the run, and says how far it is off with the others.
    """
    from haulage import lab as library

    try:
        counts = [int(word) for word in nodes.split(",")]
    except ValueError:
        raise UsageError("parse", f"--nodes {nodes}", "no list of numbers", "write --nodes 20,100") from None
    rows = library.predict(
        Path(directory),
        counts,
        limit_bits_per_second=None if limit is None else parse_rate(limit),
        requests_per_second=requests,
    )
    if as_json:
        click.echo(json.dumps(rows))
        return
    for row in rows:
        click.echo(_line(row))
    if not quiet and any(row["bound_bits_per_second"] is None for row in rows):
        click.echo(
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
