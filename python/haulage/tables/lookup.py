"""Rows that a filter asks for, found by an index table instead of a scan."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

from haulage import _engine
from haulage.errors import HaulageError, UsageError
from haulage.tables.index import PARTITION, ROW, index_plan
from haulage.tables.moving.results import index_table
from haulage.tables.values import BadKeyError
from haulage.transfer import StoreOptions

#: More rows are read sooner by the table's own queries, a thousand at a time.
ROWS_MAX = 5_000
#: Rows that are fetched at a time.
_AT_ONCE = 16
_KEYS = ("PartitionKey", "RowKey")
_ENTRIES_OF_A_PAGE = 1_000

#: Both keys of a row.
Key = tuple[str, str]


@dataclass(frozen=True)
class Led:
    """Where an index leads."""

    index: str  #: its address, without a SAS
    keys: list[Key]  #: of rows that may match, in their order
    requests: int


def lead(
    table: str,
    filter: str,
    options: StoreOptions,
    *,
    skip: Callable[[str], bool] = lambda _: False,
    missing: Callable[[str], None] = lambda _: None,
) -> Led | None:
    """Return the keys of the rows that a filter may ask for; ``None`` where no index helps.

    Args:
        table: Its address.
        filter: What is asked of it; a column that must be equal to a value may have an index.
        options: How to reach the store.
        skip: Whether a column is known to have no index.
        missing: Told of each column that has none.
    """
    for column, value in _equals(filter):
        if skip(column):
            continue
        index = index_table(table, column)
        try:
            key = index_plan(column).partition.render({column: value})
            found = list(islice(_entries(index, key, options), ROWS_MAX + 1))
        except (HaulageError, BadKeyError):
            # There is none, or this credential does not reach it: the table itself has all rows.
            missing(column)
            continue
        if len(found) > ROWS_MAX:
            return None
        requests = len(found) // _ENTRIES_OF_A_PAGE + 1
        return Led(_engine.Table(index, **options).name, sorted(set(found)), requests)
    return None


def rows(
    table: str,
    keys: Sequence[Key],
    filter: str,
    select: Sequence[str],
    options: StoreOptions,
    *,
    level: str = "minimal",
) -> tuple[list[dict[str, Any]], int]:
    """Return the rows with these keys, in their order, and how many bytes that was.

    The filter is asked of each row once more, so that an entry that leads to a row which has changed since
    does no harm. A request for each row.
    """
    asked = _engine.Table(table, **options)
    names = [*_KEYS, *(name for name in select if name not in _KEYS)] if select else None
    found: list[dict[str, Any]] = []
    size = 0

    def fetch(key: Key) -> bytes:
        own = f"PartitionKey eq {literal(key[0])} and RowKey eq {literal(key[1])}"
        return asked.page(filter=f"{own} and ({filter})", select=names, level=level)[0]

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for body in pool.map(fetch, keys):
            found += json.loads(body)["value"]
            size += len(body)
    return found, size


def literal(text: str) -> str:
    """Return a text as the query language writes it.

    >>> literal("o'clock")
    "'o''clock'"
    """
    return "'" + text.replace("'", "''") + "'"


def _equals(filter: str) -> Iterator[tuple[str, str | int | bool]]:
    """Yield columns that all rows of a filter have a known value in."""
    from haulage.tables.serve.filters import Both, Compare, parse

    try:
        parts = [parse(filter)]
    except UsageError:
        # The service says what is wrong with it.
        return
    while parts:
        part = parts.pop(0)
        if isinstance(part, Both) and part.how == "and":
            parts += [part.left, part.right]
        elif isinstance(part, Compare) and part.how == "eq" and part.column not in _KEYS:
            value = part.value
            yield from [(part.column, value)] if isinstance(value, str | int | bool) else []


def _entries(index: str, key: str, options: StoreOptions) -> Iterator[Key]:
    table, place = _engine.Table(index, **options), None
    while True:
        body, _, place = table.page(
            filter=f"PartitionKey eq {literal(key)}", select=[PARTITION, ROW], next=place, level="none"
        )
        for entry in json.loads(body)["value"]:
            yield entry[PARTITION], entry[ROW]
        if place is None:
            return
