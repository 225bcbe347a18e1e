"""What all commands share: options, talk on standard error, and progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console

if TYPE_CHECKING:
    from haulage.lab.runner import RunProgress

#: Talk; data never goes through it.
STDERR = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)

EXIT_CODES = """\b
Exit codes:
  0  all done                   4    not found
  1  something failed           5    files or results differ from what they were
  2  wrong usage                130  interrupted; --continue resumes
  3  credentials or permission
"""

F = TypeVar("F", bound=Callable[..., Any])


def examples(*lines: str) -> str:
    """Return the end of a help: examples, then the exit codes."""
    return "\b\nExamples:\n" + "".join(f"  {line}\n" for line in lines) + "\n" + EXIT_CODES


def output_options(command: F) -> F:
    """Add what every command takes."""
    quiet = click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
    as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output.")
    return quiet(as_json(command))


def progress_option(command: F) -> F:
    """Add the option that says how progress is shown."""
    return click.option(
        "--progress",
        type=click.Choice(["auto", "bar", "plain", "none"]),
        default="auto",
        show_default=True,
        help="Progress on standard error: auto (a bar on a terminal, else plain), bar, plain (a line every"
        " 10 s) or none.",
    )(command)


class Talk:
    """Says things on standard error unless it is to be quiet."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet

    def __call__(self, text: str) -> None:
        """Say it."""
        if not self._quiet:
            STDERR.print(text)


def progress_of(how: str, quiet: bool) -> AbstractContextManager[Callable[[RunProgress], None]]:
    """Return what shows progress while it is entered."""
    from haulage.lab.progress import Show

    return Show(STDERR, "none" if quiet else how)
