"""The command ``haul watch``: parse, watch, render."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from haulage.commands import mistakes
from haulage.commands.grammar import command
from haulage.commands.running import run
from haulage.commands.stores import reached, store_options
from haulage.errors import UsageError
from haulage.watch import row_files
from haulage.watch.following import Follower, Source
from haulage.watch.lines import INPUT
from haulage.watch.other_sources import Beside, Nothing, Wanted
from haulage.watch.reading import opened
from haulage.watch.rows import CsvRows, ParquetRows, Rows
from haulage.watch.views import WIDTH, JsonLines, Plain, Quiet, Screen, Summary
from haulage.watch.watching import View, Watching
from haulage.words.printable import printable

#: Talk; what is shown goes to standard output.
STDERR = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)

_EPILOG = """\b
Examples:
  haul watch az://logs/jobs                  the jobs that write to this log, while they run
  haul watch az://logs/jobs --web            the same as a page in the browser
  haul watch az://logs/jobs --once           what is known now
  haul watch az://logs/jobs --csv rows.csv   keep every outcome, error and log line
  haul cp data/ az://c/ --json | haul watch -
  haul watch --record run.parquet --speed 60 a finished job again, a minute in a second
  haul watch --scheduler tcp://head:8786     workers and tasks of a Dask scheduler
  haul watch az://logs/jobs --queue work     the jobs, and how much is left in a queue
  haul watch az://logs/jobs --send bell -q   have a queue ring, with the lines in its messages
  haul watch queue://bell                    the same jobs from its messages

\b
Exit codes:
  0  all ended well, or still run with --once   3    credentials or permission
  1  a job or a worker failed, is silent or     4    no such log, with --once
     lost; or a file could not be written       5    the record is damaged
  2  wrong usage                                130  interrupted
"""


@command(epilog=_EPILOG)
@click.argument("source", metavar="[LOG|FILE|QUEUE]", required=False)
@click.option("--job", metavar="JOB", help="Watch this job only.")
@click.option("--all", "everything", is_flag=True, help="Watch all jobs of the log, however old they are.")
@click.option("--once", is_flag=True, help="Print the current state and exit.")
@click.option("--follow", is_flag=True, help="Keep running after all jobs have ended.")
@click.option(
    "--csv", "csv_file", metavar="FILE", help="Write outcomes, errors, warnings and log lines as CSV."
)
@click.option("--parquet", metavar="FILE", help="The same as Parquet; the file is complete at the end.")
@click.option("--web", is_flag=True, help="Also serve a web page, on this machine only; prints its address.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the page; default: a free one.",
)
@click.option("--json", "as_json", is_flag=True, help="Write a line of JSON each second, or one with --once.")
@click.option(
    "--queue",
    "queues",
    metavar="QUEUE",
    multiple=True,
    help="Show the number of messages in this queue; may be repeated.",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Show workers and tasks of the Dask scheduler at this address."
)
@click.option("--scheduler-file", metavar="FILE", help="The same, for the scheduler that wrote this file.")
@click.option(
    "--doorbell", metavar="QUEUE", help="Read LOG when a message arrives, and less often otherwise."
)
@click.option("--send", metavar="QUEUE", help="Also send new lines of LOG to this queue.")
@click.option("--consume", is_flag=True, help="Receive and delete messages, instead of peeking at them.")
@click.option("--record", metavar="FILE", help="Replay a finished job from the record of haul cp --record.")
@click.option(
    "--speed",
    metavar="N",
    type=click.FloatRange(0, 1e6),
    default=1.0,
    help="Speed of the replay; 0: without waiting.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show nothing; for --csv, --parquet and --web.")
@store_options
def watch(
    source: str | None,
    job: str | None,
    everything: bool,
    once: bool,
    follow: bool,
    csv_file: str | None,
    parquet: str | None,
    web: bool,
    port: int,
    as_json: bool,
    queues: tuple[str, ...],
    scheduler: str | None,
    scheduler_file: str | None,
    doorbell: str | None,
    send: str | None,
    consume: bool,
    record: str | None,
    speed: float,
    quiet: bool,
    **reach: Any,
) -> int:
    """Show jobs and workers while they run: nodes, rates, errors by kind, slow objects, time left, log lines.

    LOG is what they write to: a folder, az://container/prefix or s3://bucket/prefix. FILE holds the lines of
    haul cp --json; - is standard input. QUEUE is queue://NAME or the URL of a queue that a log is sent to.
    Exits when all jobs have ended.
    """
    wanted = Wanted(scheduler, scheduler_file, queues, doorbell, send, consume)
    wanted.check(source)
    if (source is not None) + (record is not None) != 1 and (record or source or not wanted.alone):
        hint = "name a log, a file of haul cp --json, or a record with --record"
        raise UsageError("parse", "arguments", "exactly one log, file or record is needed", hint)
    read = [name for name in (source, record, scheduler_file, reach["ca"]) if name and "://" not in name]
    row_files.check(csv_file, parquet, [name for name in read if name != INPUT])
    options = reached(reach)
    # A clock that is set meanwhile would make all of them silent.
    began = time.time_ns() - time.monotonic_ns()
    now: Callable[[], int] = lambda: began + time.monotonic_ns()  # noqa: E731
    try:
        with ExitStack() as stack:
            found: Source
            if record is not None:
                from haulage.watch.record import replay

                found, now = replay(record, 0.0 if once else speed)
            elif source is None:
                found = Nothing(str(wanted.alone))
            else:
                found = opened(source, now, job=job, everything=everything, consume=consume, options=options)
            stack.callback(found.close)
            rows: list[Rows] = []
            for kind, file in ((CsvRows, csv_file), (ParquetRows, parquet)):
                if file is not None:
                    made: Rows = kind(Path(file))
                    rows.append(made)
                    stack.callback(made.close)
            views: list[View] = []
            hint = ""
            if web:
                from haulage.watch.web import Page

                page = Page(port)
                views.append(page)
                stack.callback(page.close)
                STDERR.print(f"page: {page.url}")
                hint = page.url
            view = Quiet(STDERR) if quiet else _view(once, as_json, hint)
            views.append(view)
            stack.callback(view.close)
            follower = Follower(found, now, patient=not once)
            stack.callback(follower.stop)
            beside = Beside(wanted, now, options)
            names = beside.start(follower, stack, source, job)
            watching = Watching(
                follower,
                found.name,
                now,
                time.monotonic,
                rows,
                views,
                once=once,
                follow=follow,
                awaited=names,
            )
            code = watching.run()
            unsent = beside.finish()
            if unsent is not None:
                _say(unsent)
            return code or int(unsent is not None)
    except KeyboardInterrupt:
        # Here, so that the screen is left by now, and before click says something of it.
        _say("interrupted")
        return 130
    except ModuleNotFoundError as error:
        if error.name != "duckdb":
            raise
        cause, hint = "Parquet needs the package duckdb", "pip install 'haulage[lab]'"
        raise UsageError("start", "watch", cause, hint) from None
    except SystemExit:
        # What rich does where whoever read has seen enough.
        return 0


def _say(what: object) -> None:
    """Say something on standard error. It may hold names of others: none of them moves the cursor."""
    mistakes.say(printable(str(what)))


def _view(once: bool, as_json: bool, hint: str) -> View:
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=WIDTH)
    if as_json:
        return JsonLines(console, once=once)
    if once:
        return Summary(console)
    return Screen(console, hint) if console.is_terminal else Plain(console)


def main(arguments: Sequence[str]) -> int:
    """Run ``haul watch`` with these arguments; return the exit code.

    Ends the process where a store is still waited for: nobody can call that off.
    """
    code = run(watch, "watch", arguments, extra="watch")
    import threading

    if any(thread.name.startswith("haul-watch") for thread in threading.enumerate()):
        os._exit(code)
    return code
