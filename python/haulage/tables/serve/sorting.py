"""Rows in another order than that of their source: gathered, sorted, and kept for the pages that follow."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from haulage.errors import SourceChangedError, StorageFullError, UsageError
from haulage.tables.serve.asking import PAGE_ROWS, Asked, Order
from haulage.tables.source import Meter, Source

#: What the kept tables may take together.
KEPT_BYTES = 256 << 20
_TOKEN = "NextPartitionKey="
_MARK = "sorted."


@dataclass(frozen=True)
class Sorted:
    """Rows in order, as they were when they were gathered."""

    rows: pa.Table
    first: int  #: the number of the first one among all
    gathered: int  #: how many were sorted
    continuation: str | None


def is_sorted(asked: Asked) -> bool:
    """Return whether this is answered from here."""
    return bool(asked.order) or bool(asked.continuation and asked.continuation.startswith(_TOKEN + _MARK))


class Sorting:
    """Sorts, within bounds.

    Args:
        most_rows: No more are gathered.
    """

    def __init__(self, most_rows: int) -> None:
        self._most = most_rows
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, pa.Table] = OrderedDict()

    def page(self, source: Source, asked: Asked, meter: Meter) -> Sorted:
        """Return a page. The first one gathers and sorts; those that follow are of the same rows.

        Raises:
            StorageFullError: There are more rows than may be gathered.
            SourceChangedError: The rows of the page before are no longer kept.
        """
        if asked.continuation:
            key, start = self._place(asked.continuation)
            with self._lock:
                rows = self._kept.get(f"{source.name}.{key}")
            if rows is None:
                hint = "ask again from the first page"
                raise SourceChangedError("continue", source.name, "the sorted rows are no longer kept", hint)
        else:
            rows, start = self.rows(source, asked, meter), 0
            key = ""
        end = start + min(asked.top or PAGE_ROWS, PAGE_ROWS)
        token = None
        if end < rows.num_rows:
            token = f"{_TOKEN}{_MARK}{key or self._keep(source.name, rows)}.{end}"
        return Sorted(rows.slice(start, end - start), start, rows.num_rows, token)

    def rows(self, source: Source, asked: Asked, meter: Meter) -> pa.Table:
        """Gather all rows that match and sort them.

        Raises:
            StorageFullError: There are more than may be gathered.
            UsageError: A column to sort by is not there.
        """
        wanted = [name.strip() for name in asked.select.split(",")] if asked.select else None
        select = asked.select
        if wanted is not None:
            select = ",".join([*wanted, *(one.column for one in asked.order if one.column not in wanted)])
        with closing(source.batches(filter=asked.filter, select=select, meter=meter)) as batches:
            gathered = pa.Table.from_batches(self._bounded(source, batches))
        found = _in_order(gathered, asked.order)
        return found.select([name for name in wanted if name in found.schema.names]) if wanted else found

    def _bounded(self, source: Source, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = size = 0
        for batch in batches:
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows > self._most or size > KEPT_BYTES:
                cause = f"more than {min(rows, self._most):,} rows would have to be gathered to sort them"
                hint = "narrow them with $filter, or leave out $orderby"
                raise StorageFullError("sort", source.name, cause, hint)
            yield batch

    def _keep(self, name: str, rows: pa.Table) -> str:
        key = secrets.token_hex(8)
        with self._lock:
            self._kept[f"{name}.{key}"] = rows
            while sum(one.nbytes for one in self._kept.values()) > KEPT_BYTES and len(self._kept) > 1:
                self._kept.popitem(last=False)
        return key

    def _place(self, continuation: str) -> tuple[str, int]:
        parts = continuation.removeprefix(_TOKEN + _MARK).split("&")[0].split(".")
        if len(parts) != 2 or not (parts[1].isascii() and parts[1].isdigit()):
            hint = "copy it unchanged from the headers of the previous page"
            raise UsageError(
                "continue", "NextPartitionKey", "this is not a continuation of sorted rows", hint
            )
        return parts[0], int(parts[1])


def _in_order(rows: pa.Table, order: Sequence[Order]) -> pa.Table:
    """Return the rows in order; text by its bytes, what is missing last, equal ones as they came."""
    for one in order:
        if one.column not in rows.schema.names:
            hint = f"there are: {', '.join(rows.schema.names[:20])}"
            raise UsageError("sort", one.column[:100], "no such column", hint)
    keys = [(one.column, "descending" if one.descending else "ascending", "at_end") for one in order]
    try:
        return rows.take(pc.sort_indices(rows, sort_keys=keys))
    except pa.ArrowException as error:
        hint = "sort by a column of numbers, times or text"
        raise UsageError("sort", order[0].column, str(error), hint) from None
