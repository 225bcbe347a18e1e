"""What reads rows. Tables are another part of the package, which whoever starts a view brings along."""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np

from haulage.transfer import StoreOptions

#: More rows than this are not drawn.
MOST_ROWS = 500_000


class Columns(Protocol):
    """Rows by column, and what it cost to read them."""

    @property
    def values(self) -> dict[str, np.ndarray[Any, Any]]:
        """Floats (NaN where there is none), times (``M8[us]``), or texts (objects)."""
        ...

    @property
    def rows(self) -> int:
        """How many there are."""
        ...

    @property
    def requests(self) -> int:
        """How many were sent for them."""
        ...

    @property
    def bytes(self) -> int:
        """How many were received."""
        ...


class ReadRows(Protocol):
    """Reads all rows of a table or of a Parquet file, as they are now."""

    def __call__(self, url: str, options: StoreOptions, filter: str | None, most_rows: int) -> Columns:
        """Return them."""
        ...


def is_table(url: str) -> bool:
    """Return whether a URL is that of a table, rather than of objects.

    >>> is_table("az-table://stations"), is_table("https://acc.table.core.windows.net/stations")
    (True, True)
    >>> is_table("az://stations/"), is_table("https://acc.blob.core.windows.net/stations")
    (False, False)
    """
    scheme, there, _ = url.partition("://")
    if scheme.lower() == "az-table":
        return True
    return bool(there) and scheme.lower() in ("http", "https") and ".table." in urlsplit(url).netloc
