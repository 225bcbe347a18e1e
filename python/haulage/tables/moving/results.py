"""The results of exports, imports and comparisons of tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Progress:
    """The progress of an export or import."""

    rows: int  #: rows received or written
    requests: int  #: requests completed
    bytes_wire: int  #: bytes on the wire, both directions


@dataclass(frozen=True)
class Exported:
    """The result of an export."""

    table: str
    path: str
    rows: int
    columns: list[str]
    #: Properties with several types, with these types: each has a column ``NAME@TYPE``.
    mixed: list[tuple[str, list[str]]]
    requests: int
    retries: int
    bytes_wire: int
    seconds: float
    #: Hash of the rows, independent of their order; without timestamps, which the service sets.
    hash: str
    #: The index table that was used to find rows, if any.
    index: str | None = None
    #: Rows that an earlier run had already fetched.
    resumed_rows: int = 0
    #: When the first rows were asked for, perhaps by an earlier run, in seconds since 1970.
    since_unix_s: int = 0
    #: Values in a CSV file that were prefixed with an apostrophe, because a spreadsheet would run them.
    disarmed: int = 0


@dataclass(frozen=True)
class Imported:
    """The result of an import."""

    table: str
    path: str
    rows: int
    written: int
    refused: int
    dead_letters: str | None  #: the file of the refused rows
    resumed_from: int  #: rows that an earlier run had already written
    requests: int
    retries: int
    bytes_wire: int
    seconds: float


@dataclass(frozen=True)
class Difference:
    """A row that differs between the two sides."""

    kind: Literal["missing", "extra", "changed"]
    partition: str
    row: str
    properties: list[str]  #: the properties that changed


@dataclass(frozen=True)
class Compared:
    """The result of comparing two tables, or files of them."""

    rows: int
    rows_other: int
    equal: int
    missing: int  #: rows missing from the second
    extra: int  #: rows only in the second
    changed: int
    differences: list[Difference]  #: the first 1,000
    hash: str
    hash_other: str
    seconds: float

    @property
    def same(self) -> bool:
        """Whether both hold the same rows."""
        return self.missing == self.extra == self.changed == 0


def index_table(table: str, column: str) -> str:
    """Return the address of the table by which rows are found by a column: ``TABLEByCOLUMN``.

    >>> index_table("az-table://stations", "name")
    'az-table://stationsByname'
    >>> index_table("https://a.table.core.windows.net/obs?sig=x", "t_max")
    'https://a.table.core.windows.net/obsBytmax?sig=x'
    """
    base, mark, query = table.partition("?")
    letters = "".join(letter for letter in column if letter.isascii() and letter.isalnum())
    return f"{base.rstrip('/')}By{letters}{mark}{query}"
