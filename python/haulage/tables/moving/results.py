"""What exports, imports and comparisons of tables have done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Progress:
    """How far an export or import is."""

    rows: int  #: that have come or are done
    requests: int  #: that have ended
    bytes_wire: int  #: both ways


@dataclass(frozen=True)
class Exported:
    """What an export has done."""

    table: str
    path: str
    rows: int
    columns: list[str]
    #: Names of properties with several types, and these: each has a column ``NAME@TYPE``.
    mixed: list[tuple[str, list[str]]]
    requests: int
    retries: int
    bytes_wire: int
    seconds: float
    #: Over the rows, whatever their order; not over time stamps, which the service sets.
    hash: str
    #: The index table by which rows were found, if there is one.
    index: str | None = None
    #: Rows that an earlier run had fetched.
    resumed_rows: int = 0
    #: Texts of a CSV file that got an apostrophe in front, because a spreadsheet would run them as formulas.
    disarmed: int = 0


@dataclass(frozen=True)
class Imported:
    """What an import has done."""

    table: str
    path: str
    rows: int
    written: int
    refused: int
    dead_letters: str | None  #: the file of the refused rows
    resumed_from: int  #: rows that an earlier run had done
    requests: int
    retries: int
    bytes_wire: int
    seconds: float


@dataclass(frozen=True)
class Difference:
    """A row that is not the same on both sides."""

    kind: Literal["missing", "extra", "changed"]
    partition: str
    row: str
    properties: list[str]  #: those that changed


@dataclass(frozen=True)
class Compared:
    """How two tables, or files of them, compare."""

    rows: int
    rows_other: int
    equal: int
    missing: int  #: from the second
    extra: int  #: in the second
    changed: int
    differences: list[Difference]  #: the first thousand
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
