"""A table opened: its rows, read now, as variables."""

from __future__ import annotations

from haulage.errors import missing_package
from haulage.view.index.cache import NodesKept
from haulage.view.index.opening import Opened
from haulage.view.index.tables import Tables
from haulage.view.reading import cost
from haulage.view.reading.pinned import Pinned
from haulage.view.rows.gridding import gridded
from haulage.view.rows.reading import MOST_ROWS, ReadRows


def of_rows(pinned: Pinned, read: ReadRows, filter: str | None) -> Opened:
    """Return a table as it is now; its version is that of what was read.

    Args:
        pinned: The table, or a Parquet file.
        read: Reads rows.
        filter: Which, as an OData expression; ``None`` for all.

    Raises:
        UnsupportedError: There is nothing to draw.
    """
    try:
        found = pinned.asked(lambda url, options: read(url, options, filter, MOST_ROWS))
    except ModuleNotFoundError as error:
        raise missing_package("open", pinned.name, error.name, "tables") from None
    cost.count(found.requests, found.bytes)
    made = gridded(pinned.name, found.values, found.rows)
    now = pinned.named(pinned.name, pinned.size, made.version)
    return Opened(now, made.index, Tables(now, NodesKept(None)), held=made.held)
