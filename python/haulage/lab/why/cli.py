"""The command ``haul why``: parse, one call, render."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from haulage.commands.grammar import command
from haulage.commands.running import run
from haulage.errors import LocalIOError
from haulage.lab.cli.output import STDERR

#: Columns where the output is no terminal.
WIDTH = 110

_EPILOG = """\b
Examples:
  haul cp data/ az://climate/ --record run.parquet   record a job
  haul why run.parquet                               where its time went, and what limited it
  haul why run.parquet --html why.html               the same as a page
  haul cp data/ az://climate/ --json > run.jsonl     lines of events will do as well
  haul why run.jsonl --json | jq .cause
  ssh node cat run.parquet | haul why -              a record from standard input

\b
Exit codes:
  0  explained, also where it is undetermined   4    not found
  1  the page could not be written, or the      5    the record is damaged or cut short
     record may not be read                     130  interrupted
  2  wrong usage, or not a record
"""


@command(epilog=_EPILOG)
@click.argument("record", metavar="RECORD")
@click.option("--html", metavar="FILE", help="Write a page to this file, to open in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the finding and the experiment.")
def why(record: str, html: str | None, as_json: bool, quiet: bool) -> None:
    """Say where the time of a job went, what limited it, how sure that is, and what would settle it.

    RECORD is a file of haul cp --record, or the lines of haul cp --json; - is standard input.
    """
    from haulage.lab.why.answer import as_dict
    from haulage.lab.why.drawing import page
    from haulage.lab.why.experiment import experiment
    from haulage.lab.why.explaining import explain
    from haulage.lab.why.text import show
    from haulage.lab.why.words import paragraph, title
    from haulage.outputs import check_page

    if html is not None:
        # Before the work, not after it.
        check_page(html, [record])
    found = explain(record)
    if html is not None:
        try:
            Path(html).write_text(page(found), encoding="utf-8")
        except OSError as error:
            hint = "name another file for the page"
            raise LocalIOError("write page", html, error.strerror or str(error), hint) from None
        if not quiet:
            STDERR.print(f"page written: {html}")
    if as_json:
        click.echo(json.dumps(as_dict(found), ensure_ascii=True))
    elif quiet:
        settle = experiment(found)
        click.echo(" ".join([f"{title(found.whole, found.phases)}.", *paragraph(found)]))
        if settle is not None:
            click.echo(f"To settle it: {settle.command}: {settle.outcome}")
    elif html is None:
        console = Console(highlight=False, markup=False)
        # Through a pipe there is no width to keep to but that of a page.
        show(found, console if console.is_terminal else Console(highlight=False, markup=False, width=WIDTH))


def main(arguments: Sequence[str]) -> int:
    """Run ``haul why`` with these arguments; return the exit code."""
    return run(why, "why", arguments, extra="lab")
