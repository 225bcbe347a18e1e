"""What all commands share: talk on standard error, and progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from haulage.lab.runner import RunProgress

#: Talk; data never goes through it.
STDERR = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)


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
