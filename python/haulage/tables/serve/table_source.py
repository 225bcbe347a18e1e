"""Rows of a table service: its pages as they come, and its rows typed by the engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Protocol
from urllib.parse import parse_qs, quote, urlencode

import pyarrow as pa

from haulage.errors import ProtocolError, ServiceError, UnsupportedError, UsageError
from haulage.tables.serve import atom
from haulage.tables.serve.arrow import batch_of
from haulage.tables.serve.entities import from_json, iso
from haulage.tables.serve.indexes import Indexes
from haulage.tables.source import Metadata, Meter, Page, media_type

#: What the service itself sends at most, and refuses to be asked for more of.
PAGE_ROWS = 1000
_KEYS = ("NextPartitionKey", "NextRowKey")


#: Where a page begins: the keys that the one before it named.
Place = tuple[str, str | None]


class Table(Protocol):
    """What the engine does with one table; ``haulage._engine.Table`` is one."""

    def page(
        self,
        *,
        filter: str | None = None,
        select: list[str] | None = None,
        top: int | None = None,
        next: Place | None = None,
        level: str = "minimal",
    ) -> tuple[bytes, str, Place | None]:
        """Return the body of one page, its media type, and where the next one begins."""
        ...


class TableSource:
    """One table of a table service.

    Args:
        name: What it is served as.
        table: The engine's end of it.
        to_batch: Makes a batch of a page of JSON.
        indexes: Those of the table; ``None`` to ask the table itself whatever the filter.
    """

    pages_are_native = True

    def __init__(
        self,
        name: str,
        table: Table,
        to_batch: Callable[[bytes], pa.RecordBatch] | None = None,
        indexes: Indexes | None = None,
    ) -> None:
        self.name = name
        self._table = table
        self._to_batch = to_batch or (lambda body: batch_of(from_json(body, name)))
        self._indexes = indexes
        # Services from 2016 on do not write Atom; then it is made here of JSON.
        self._writes_atom = True

    def schema(self) -> pa.Schema | None:
        """Return ``None``: each row has properties of its own."""
        return None

    def version(self) -> str | None:
        """Return ``None``: only reading all rows could tell."""
        return None

    def page(
        self,
        *,
        filter: str | None,
        select: str | None,
        top: int | None,
        continuation: str | None,
        metadata: Metadata,
    ) -> Page:
        """Return the page that the service sends, untouched, or one of rows that an index has led to."""
        names = [name.strip() for name in select.split(",")] if select else None
        if self._indexes is not None:
            found = self._indexes.page(
                filter=filter, select=names, top=top, continuation=continuation, metadata=metadata
            )
            if found is not None:
                return found
        place = self._place(continuation) if continuation else None

        def read(level: str) -> tuple[bytes, str, Place | None]:
            return self._table.page(
                filter=filter, select=names, top=top and min(top, PAGE_ROWS), next=place, level=level
            )

        began, requests = time.monotonic(), 1
        if metadata != "atom":
            body, kind, after = read(metadata)
        elif not self._writes_atom:
            body, kind, after = read("full")
        else:
            try:
                body, kind, after = read("atom")
            except (UnsupportedError, UsageError, ServiceError, ProtocolError):
                # Where this is not about Atom, it fails the same way again.
                requests = 2
                body, kind, after = read("full")
                self._writes_atom = False
        seconds, size = time.monotonic() - began, len(body)
        if metadata == "atom" and "json" in kind:
            now = iso(time.time_ns() // 10**9 * 10**9)
            body, kind = atom.feed(from_json(body, self.name), self.name, now), media_type("atom")
        there = zip(_KEYS, after or (), strict=False)
        token = urlencode({key: value for key, value in there if value is not None}, quote_via=quote)
        return Page(body, kind, token or None, seconds, requests, size)

    def batch(self, page: Page) -> pa.RecordBatch:
        """Return the rows of a page, typed by the engine."""
        return self._to_batch(page.body)

    def batches(
        self, *, filter: str | None, select: str | None, meter: Meter | None = None
    ) -> Generator[pa.RecordBatch]:
        """Yield all rows, a batch for each page, with the columns of the first page that has rows.

        Raises:
            UnsupportedError: A later page has other columns, or values of other types in them.
        """
        continuation, schema = None, None
        names = [name.strip() for name in select.split(",")] if select else None
        # Every row has its keys, and the engine wants to see them.
        needed = ",".join(dict.fromkeys([*names, "PartitionKey", "RowKey"])) if names else None
        while True:
            page = self.page(
                filter=filter, select=needed, top=None, continuation=continuation, metadata="minimal"
            )
            if meter is not None:
                meter.count(page)
            batch = self.batch(page)
            if names is not None:
                batch = batch.select([name for name in names if name in batch.schema.names])
            continuation = page.continuation
            if schema is None and (batch.num_rows or continuation is None):
                schema = batch.schema
                yield pa.RecordBatch.from_pylist([], schema=schema)
            if schema is not None and batch.num_rows:
                yield self._fitted(batch, schema)
            if continuation is None:
                return

    def _fitted(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        known = set(schema.names)
        for field in batch.schema:
            if field.name not in known:
                cause = "the rows at the beginning do not have it, so that the stream has no column for it"
                hint = "ask for ndjson, which needs no columns, or leave it out by $select"
                raise UnsupportedError("read", f"{self.name}.{field.name}", cause, hint)
            if field.type != schema.field(field.name).type:
                cause = f"it holds {schema.field(field.name).type} at first and {field.type} later"
                hint = "ask for ndjson, which takes any type, or leave it out by $select"
                raise UnsupportedError("read", f"{self.name}.{field.name}", cause, hint)
        there = set(batch.schema.names)
        columns = [
            batch.column(field.name) if field.name in there else pa.nulls(batch.num_rows, field.type)
            for field in schema
        ]
        return pa.record_batch(columns, schema=schema)

    def _place(self, continuation: str) -> Place:
        found = parse_qs(continuation, keep_blank_values=True)
        if not set(found) <= set(_KEYS) or "NextPartitionKey" not in found:
            hint = "copy it unchanged from the headers of the previous page"
            raise UsageError("continue", self.name, "this is not a continuation of this table", hint)
        return found["NextPartitionKey"][0], found.get("NextRowKey", [None])[0]
