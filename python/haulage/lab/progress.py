"""What a person sees of a run while it goes on: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from haulage.lab.runner import RunProgress
from haulage.words.numbers import format_duration, format_rate, format_size

_STAGES = {
    "prepare": "making files",
    "ceiling": "measuring what the path carries",
    "confirm": "short transfers that confirm a cause or rule it out",
}
_PLAIN_S = 10.0
_REDRAW_S = 0.1


class Show(AbstractContextManager[Callable[[RunProgress], None]]):
    """Shows progress on standard error; use as a context and call it with each sample."""

    def __init__(self, console: Console, how: str) -> None:
        bar = how == "bar" or (how == "auto" and console.is_terminal)
        self._console = console
        self._how = "none" if how == "none" else "bar" if bar else "plain"
        self._live: Live | None = None
        self._last_s = 0.0
        self._rate = 0.0

    def __enter__(self) -> Callable[[RunProgress], None]:
        if self._how == "bar":
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self._show

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def _show(self, progress: RunProgress) -> None:
        # The rate of the cell before says nothing of this one.
        if progress.rate_bits_per_second or not progress.bytes_done:
            self._rate = progress.rate_bits_per_second
        now = time.monotonic()
        if self._how == "none" or now - self._last_s < (_REDRAW_S if self._how == "bar" else _PLAIN_S):
            return
        self._last_s = now
        if self._live is not None:
            self._live.update(self._picture(progress), refresh=True)
        else:
            self._console.print(_line(progress), highlight=False)

    def _picture(self, progress: RunProgress) -> RenderableType:
        head = Table.grid(padding=(0, 1))
        head.add_row(
            ProgressBar(total=max(1, progress.cells_planned), completed=progress.cells_done, width=30),
            Text(_made(progress), style="bold"),
            Text(_left(progress)),
        )
        if progress.treatment is None:
            return Group(head, Text(_STAGES.get(progress.stage, "between two cells"), style="dim"))
        cell = Table.grid(padding=(0, 1))
        cell.add_row(
            ProgressBar(total=max(1, progress.bytes_total), completed=progress.bytes_done, width=30),
            Text(f"{progress.treatment}, {progress.files}", style="cyan"),
            Text(f"{format_size(progress.bytes_done)} of {format_size(progress.bytes_total)}"),
            Text(_rate(self._rate), style="green"),
            Text(_replicate(progress), style="dim"),
        )
        return Group(head, cell)


def _line(progress: RunProgress) -> str:
    what = (
        _STAGES.get(progress.stage, "between two cells")
        if progress.treatment is None
        else ", ".join(
            filter(None, (progress.treatment, progress.files, _rate(progress.rate_bits_per_second)))
        )
    )
    return f"{_made(progress)}, {_left(progress)}: {what}"


def _rate(bits_per_second: float) -> str:
    """Return the rate if there is one: a cell that has just begun has none, and one of tables never has."""
    return format_rate(bits_per_second) if bits_per_second else ""


def _made(progress: RunProgress) -> str:
    made = "transfers" if progress.stage == "confirm" else "cells"
    return f"{progress.cells_done}/{progress.cells_planned} {made}"


def _left(progress: RunProgress) -> str:
    if progress.remaining_ns is None:
        return f"{format_duration(progress.elapsed_ns)} so far"
    return f"{format_duration(progress.remaining_ns)} left"


def _replicate(progress: RunProgress) -> str:
    if progress.replicate is None:
        return ""
    return "warm-up" if progress.replicate < 0 else f"replicate {progress.replicate + 1}"
