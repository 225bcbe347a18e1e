"""The command ``haul watch``: watch, render."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from haulage.commands.saying import say
from haulage.commands.stores import reached
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


def watch(
    *,
    source: str | None,
    job: str | None,
    everything: bool,
    once: bool,
    follow: bool,
    csv_file: str | None,
    parquet: str | None,
    web: bool,
    port: int | None,
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
    """Show jobs and workers while they run, until all jobs have ended."""
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

                page = Page(port or 0)
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
        # Here, so that the screen is left by now.
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
    say(printable(str(what)))


def _view(once: bool, as_json: bool, hint: str) -> View:
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=WIDTH)
    if as_json:
        return JsonLines(console, once=once)
    if once:
        return Summary(console)
    return Screen(console, hint) if console.is_terminal else Plain(console)


def leave(code: int) -> None:
    """End the process if a store is still waited for: nobody can call that off."""
    if any(thread.name.startswith("haul-watch") for thread in threading.enumerate()):
        sys.stderr.flush()
        os._exit(code)
