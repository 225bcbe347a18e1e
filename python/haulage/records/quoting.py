"""Text in SQL."""

from __future__ import annotations

from pathlib import Path


def literal(text: str | Path) -> str:
    """Return text, such as the path of a file, as SQL writes it, quotes and all.

    >>> literal("it's.parquet")
    "'it''s.parquet'"
    """
    return "'" + str(text).replace("'", "''") + "'"
