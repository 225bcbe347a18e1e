"""The command ``haul table plan``: parse, propose, render."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from haulage.commands.grammar import QUIET, command
from haulage.commands.interrupts import interrupted_by_term
from haulage.errors import UsageError

#: Columns of what is printed where it goes to no terminal.
_WIDTH = 120

_EPILOG = """\b
Examples:
  haul table plan obs.parquet                                       keys for what is usually asked
  haul table plan obs.parquet --query 'station = ? and time between ? and ?'
  haul table plan obs.parquet --query 'station, time within 7d *10' --query 'id'
  haul table plan obs.parquet --query 'station order by time desc limit 1'
  haul table plan obs.parquet --partition-key '{station}' --row-key '{time:reversed}'
  haul table plan events/ --json                                    for machines

\b
Exit codes:
  0  keys that keep all rows are proposed      4    no such file
  1  no choice keeps all rows, or a file       5    a file is damaged
     could not be read or written              130  interrupted
  2  wrong usage
  3  a file may not be read
"""


@command(
    "plan",
    epilog=_EPILOG,
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--query",
    "queries",
    metavar="QUERY",
    multiple=True,
    help="A query that the table will get; may be repeated.",
)
@click.option("--table", metavar="NAME", default="TABLE", help="The table, for the command that is printed.")
@click.option("--partition-key", metavar="TEMPLATE", help="Judge these keys instead of proposing some.")
@click.option("--row-key", metavar="TEMPLATE", help="The other of them.")
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Measure this many choices on all rows, and show them.",
)
@click.option(
    "--sample",
    metavar="ROWS",
    type=click.IntRange(1_000),
    default=50_000,
    show_default=True,
    help="Rank the choices by this many rows.",
)
@click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(1, 100),
    default=8,
    show_default=True,
    help="Judge each query with this many sets of values from the rows.",
)
@click.option(
    "--seed", metavar="N", type=int, default=0, show_default=True, help="Seed of the sample and the draws."
)
@click.option(
    "--memory",
    metavar="SIZE",
    default="512MiB",
    show_default=True,
    help="Use at most this much memory; the rest goes to a temporary folder.",
)
@click.option("--plot", "plot_file", metavar="FILE", help="Draw the spread: .html, .png or .svg.")
@click.option("--json", "as_lines", is_flag=True, help="Print one object of JSON.")
@QUIET
def plan(
    files: tuple[str, ...],
    queries: tuple[str, ...],
    table: str,
    partition_key: str | None,
    row_key: str | None,
    top: int,
    sample: int,
    draws: int,
    seed: int,
    memory: str,
    plot_file: str | None,
    as_lines: bool,
    quiet: bool,  # noqa: ARG001  # all commands take it, and this one prints its result only
) -> int:
    """Propose PartitionKey and RowKey for the rows of Parquet, CSV or JSON lines, and say what they cost.

    FILE is a file, or a folder of them. QUERY names columns and what is asked of them. Nothing is sent.
    """
    from haulage.tables.plan.plotting import plot
    from haulage.tables.plan.proposing import propose
    from haulage.tables.plan.rendering import as_json, show

    if (partition_key is None) != (row_key is None):
        hint = "name both --partition-key and --row-key, or neither"
        raise UsageError("parse", "arguments", "one key without the other", hint)
    keys = None if partition_key is None or row_key is None else (partition_key, row_key)
    with interrupted_by_term():
        found = propose(
            files[0] if len(files) == 1 else files,
            queries,
            keys=keys,
            top=top,
            sample_rows=sample,
            draws=draws,
            seed=seed,
            memory=memory,
        )
    if plot_file is not None:
        plot(found, Path(plot_file))
    if as_lines:
        click.echo(json.dumps(as_json(found, table=table), ensure_ascii=False, allow_nan=False))
    else:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        if not console.is_terminal:
            console = Console(highlight=False, markup=False, soft_wrap=True, width=_WIDTH)
        show(found, console, table=table, choices=top)
    return 0 if found.best.spread.unique else 1
