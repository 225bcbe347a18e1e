"""A table as a place: it lists one name, and has another version each time that it is asked for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from urllib.parse import unquote

from haulage.errors import NotFoundError
from haulage.transfer import StoreOptions
from haulage.view.reading.pinned import Pinned
from haulage.view.reading.place import Entry, Place

_READS = count()


class TablePlace(Place):
    """One table of a table service.

    Args:
        url: ``az-table://TABLE``, or the URL of a table.
        options: How to reach it.
    """

    def __init__(self, url: str, options: StoreOptions) -> None:
        super().__init__(url, options)
        self.name = unquote(url.split("?")[0].rstrip("/").rpartition("/")[2])

    @property
    def is_live(self) -> bool:
        """Return ``True``: rows are read anew each time."""
        return True

    def begin(self, *, again: bool = False) -> None:
        """Do nothing: there is nothing to list."""

    def names(self, wait_s: float = 20.0) -> tuple[Sequence[Entry], bool]:  # noqa: ARG002
        """Return the table."""
        return [Entry(self.name, 0, time.time_ns(), "")], True

    def first_of(self, names: Sequence[str]) -> str | None:
        """Return the table, if it is one of these."""
        return self.name if self.name in names else None

    def check(self, wait_s: float) -> None:
        """Do nothing: the rows are read when they are looked at."""

    def pin(self, name: str, *, fresh: bool = False, lean: bool = False) -> Pinned:  # noqa: ARG002
        """Return what stands for the rows of now."""
        if name != self.name:
            raise NotFoundError("open", name[:200], f"it is not {self.shown}", "choose the table")
        return Pinned(name, self.url, self.options, 0, f"read {next(_READS)}", server=self._server)

    def series(self, pattern: str) -> list[str]:  # noqa: ARG002
        """Return none."""
        return []

    def url_of(self, name: str) -> str:  # noqa: ARG002
        """Return the URL of the table, without a signature."""
        return self.shown
