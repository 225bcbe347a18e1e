"""The keys of an index table: a second table to find the rows of the first by another column."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from haulage.tables.keys import LONGEST, Field, Template, parse

#: Parts the two keys of the row in the RowKey of the index.
BETWEEN = "|"
#: The properties of an entry that name the row.
PARTITION, ROW = "P", "R"


@dataclass(frozen=True)
class IndexPlan:
    """How the entries of one index are keyed."""

    column: str
    partition: Template

    def keys(self, row: Mapping[str, object], partition_key: str, row_key: str) -> tuple[str, str] | None:
        """Return the keys of the index entry for a row with these keys; ``None`` if the column is missing.

        Raises:
            BadKeyError: The value of the column cannot be a key.

        >>> index_plan("member").keys({"member": 3}, "run|1", "a.nc")
        ('3', 'run%7C1|a.nc')
        """
        if row.get(self.column) is None:
            return None
        return self.partition.render(row), entry_key(partition_key, row_key)


def index_plan(column: str, template: str | None = None) -> IndexPlan:
    """Return the key scheme of an index on a column.

    Args:
        column: The column that queries name.
        template: A template for the PartitionKey, such as ``{member:03}`` for ranges; default: the column
            alone.
    """
    return IndexPlan(column, Template((Field(column),)) if template is None else parse(template))


def entry_key(partition_key: str, row_key: str) -> str:
    """Return the RowKey of an entry: both keys of the row, or their hash if they are too long together.

    >>> entry_key("100%", "b|c"), len(entry_key("p" * 300, "r" * 300))
    ('100%25|b|c', 64)
    """
    first = partition_key.replace("%", "%25").replace(BETWEEN, "%7C")
    key = f"{first}{BETWEEN}{row_key}"
    if len(key.encode("utf-16-le")) // 2 <= LONGEST:
        return key
    return hashlib.sha256(key.encode()).hexdigest()
