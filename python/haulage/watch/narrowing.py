"""Tables that leave columns out where a terminal is too narrow for all of them."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table

#: What the column that takes the rest should have at least.
_REST = 10


class NarrowingTable(Table):
    """A table that shows as many of its columns as there is room for.

    Args:
        columns: Names. One that begins with ``>`` is of numbers, one with ``*`` takes what is left. One that
            ends in ``?`` can be left out, the last ones first.
    """

    def __init__(self, *columns: str) -> None:
        super().__init__(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=True, show_edge=False)
        for column in columns:
            self.add_column(
                column.strip(">*?"),
                justify="right" if column[0] == ">" else "left",
                no_wrap=True,
                overflow="ellipsis",
                ratio=1 if column[0] == "*" else None,
            )
        named = zip(columns, self.columns, strict=True)
        self._dispensable = [column for name, column in named if name.endswith("?")]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it in as many columns as there is room for."""
        every = self.columns
        shown = [column for column in every if column not in self._dispensable]
        room = options.max_width - sum(_width(console, column) for column in shown)
        for column in self._dispensable:
            if _width(console, column) <= room:
                room -= _width(console, column)
                shown.append(column)
        self.columns = [column for column in every if column in shown]
        try:
            yield from super().__rich_console__(console, options)
        finally:
            self.columns = every


def _width(console: Console, column: Column) -> int:
    """Return what a column needs, and the space behind it."""
    wanted = max(console.measure(cell).maximum for cell in (column.header, *column.cells))
    return 2 + (min(wanted, _REST) if column.ratio else wanted)
