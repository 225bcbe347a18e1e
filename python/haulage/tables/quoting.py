"""Names, texts and files as DuckDB's SQL writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


def quoted(name: str) -> str:
    """Return a name as an identifier of SQL.

    >>> quoted("a b")
    '"a b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a string of SQL.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def listed(files: Iterable[Path]) -> str:
    """Return a list of files, of which none is taken for a pattern.

    >>> listed([Path("a*.csv"), Path("b.csv")])
    "['a[*].csv', 'b.csv']"
    """
    return "[" + ", ".join(literal(re.sub(r"[*?\[]", r"[\g<0>]", str(file))) for file in files) + "]"
