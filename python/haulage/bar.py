"""The progress bar of jobs in notebooks and terminals. Scripts stay quiet unless they ask for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from haulage.display import progress_bar, progress_line, summary_line

if TYPE_CHECKING:
    from haulage.events import Progress, Summary

#: A job that ends sooner shows nothing: a bar that flickers tells nobody anything.
PATIENCE_S = 0.5
#: Between two lines where they cannot be written over, as in a file of a batch system.
LINES_S = 10.0


def shown(progress: bool | None, operation: str) -> Bar | None:
    """Return the bar that fits to where this runs; ``None`` for none.

    Args:
        progress: Whether to show one. ``None``: in a notebook, and in a terminal where a person types.
        operation: What is going on, ``"copy"`` or ``"verify"``.
    """
    if progress is False:
        return None
    display = _notebook()
    if display is not None:
        return Notebook(display, operation)
    interactive = hasattr(sys, "ps1") or sys.flags.interactive
    if progress is None and not (interactive and sys.stderr is not None and sys.stderr.isatty()):
        return None
    return Terminal(sys.stderr) if sys.stderr is not None else None


def _notebook() -> Callable[..., Any] | None:
    """Return what shows things in the notebook that this runs in; ``None`` elsewhere."""
    # What was never imported does not run.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from importlib import import_module

    found: Callable[..., Any] = import_module("IPython.display").display
    return found


class Bar:
    """What is shown of one job: an ``update`` for each sample, and an ``end``."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def update(self, progress: Progress) -> None:
        """Show a sample."""
        if time.monotonic() - self._began >= PATIENCE_S:
            self.show(progress)

    def show(self, progress: Progress) -> None:
        """Show a sample now."""
        raise NotImplementedError

    def end(self, summary: Summary | None) -> None:
        """Show what it came to; ``None`` where that is told elsewhere, as by an exception."""
        raise NotImplementedError


class Terminal(Bar):
    """A line that is written over; one now and then where the output is a file."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out = out
        self._live = out.isatty()
        self._last = float("-inf")
        self._used = False

    def show(self, progress: Progress) -> None:
        """Write the line."""
        now = time.monotonic()
        if not self._live and now - self._last < LINES_S:
            return
        self._last, self._used = now, True
        line = progress_line(progress)
        self._out.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        self._out.flush()

    def end(self, summary: Summary | None) -> None:
        """Write the last line where there was one before."""
        if not self._used:
            return
        last = "" if summary is None else f"{summary_line(summary)}\n"
        self._out.write(f"\r\x1b[K{last}" if self._live else last)
        self._out.flush()


class Notebook(Bar):
    """An element below the cell, which is replaced."""

    def __init__(self, display: Callable[..., Any], operation: str) -> None:
        super().__init__()
        self._operation = operation
        self._display = display
        self._handle: Any = None

    def show(self, progress: Progress) -> None:
        """Replace it."""
        self._put(_Shown(progress_bar(self._operation, progress), progress_line(progress)))

    def end(self, summary: Summary | None) -> None:
        """Leave one line where there was a bar."""
        if self._handle is not None:
            line = "" if summary is None else summary_line(summary)
            self._put(_Shown(f"<div>{line}</div>", line))

    def _put(self, content: _Shown) -> None:
        if self._handle is None:
            self._handle = self._display(content, display_id=True)
        else:
            self._handle.update(content)


class _Shown:
    """The same as HTML and as text: the notebook chooses."""

    def __init__(self, html: str, text: str) -> None:
        self._html, self._text = html, text

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return self._text
