"""Rows of a Parquet file, on this machine or in a store: only the columns and row groups that are needed."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from haulage.errors import HaulageError, IntegrityError, SourceChangedError, UsageError
from haulage.tables.serve import atom
from haulage.tables.serve.arrow import batch_of
from haulage.tables.serve.encoding import json_page
from haulage.tables.serve.entities import Entity, from_batch, from_json, iso
from haulage.tables.serve.filters import Tree, columns, parse
from haulage.tables.serve.matching import matching, may_match
from haulage.tables.serve.ranges_file import Ranges, RangesFile, ranges_of
from haulage.tables.source import Metadata, Meter, Page, media_type
from haulage.transfer import StoreOptions

#: Rows of a page, unless fewer are asked for: as the table service has it.
PAGE_ROWS = 1000
#: A page ends after this, also with no row yet, as those of the table service do.
PAGE_S = 5.0
_BATCH_ROWS = 8192
#: Row groups of up to this size are kept for the pages that follow, and so much of them altogether.
_KEPT_BYTES, _ALL_KEPT_BYTES = 64 << 20, 128 << 20
_TOKEN = "NextPartitionKey="


class ParquetSource:
    """One Parquet file.

    Args:
        name: What it is served as.
        url: A path, or the URL of an object.
        options: How to reach stores.
    """

    pages_are_native = False

    def __init__(self, name: str, url: str, options: StoreOptions | None = None) -> None:
        self.name = name
        self._url, self._options = url, options or {}
        self._lock = threading.Lock()
        self._opened: tuple[Ranges, pq.FileMetaData] | None = None
        self._kept: OrderedDict[tuple[object, ...], pa.RecordBatch] = OrderedDict()

    def schema(self) -> pa.Schema:
        """Return names and types of the columns."""
        return self._open(Meter())[1].schema.to_arrow_schema()

    def version(self) -> str:
        """Return the ETag of the object, or what stands for it with a file."""
        return self._open(Meter())[0].version

    def page(
        self,
        *,
        filter: str | None,
        select: str | None,
        top: int | None,
        continuation: str | None,
        metadata: Metadata,
    ) -> Page:
        """Return the next rows that match, at most ``top`` or 1,000."""
        began, meter = time.monotonic(), Meter()
        ranges, footer = self._open(meter)
        group, skip = self._place(continuation, ranges, footer)
        wanted, found, after = min(top or PAGE_ROWS, PAGE_ROWS), list[pa.RecordBatch](), None
        tree, names = self._asked(filter, select, footer)
        while group < footer.num_row_groups:
            passed = 0
            for batch in self._matching(ranges, footer, group, tree, names, meter, keep=True):
                fresh = batch.slice(max(0, skip - passed))
                passed += batch.num_rows
                had = sum(one.num_rows for one in found)
                if had + fresh.num_rows > wanted:
                    found.append(fresh.slice(0, wanted - had))
                    after = (group, passed - fresh.num_rows + wanted - had)
                    break
                if fresh.num_rows:
                    found.append(fresh)
            group, skip = group + 1, 0
            if after or (time.monotonic() - began > PAGE_S and group < footer.num_row_groups):
                after = after or (group, 0)
                break
        entities = [entity for batch in found for entity in from_batch(batch)]
        body, kind = self._written(entities, metadata)
        token = f"{_TOKEN}{_digest(ranges.version)}.{after[0]}.{after[1]}" if after else None
        return Page(body, kind, token, meter.seconds, meter.requests, meter.bytes_read)

    def batch(self, page: Page) -> pa.RecordBatch:
        """Return the rows of a page, typed by what it says of them."""
        return batch_of(from_json(page.body, self.name))

    def batches(
        self, *, filter: str | None, select: str | None, meter: Meter | None = None
    ) -> Generator[pa.RecordBatch]:
        """Yield all rows that match, in the order of the file."""
        meter = meter or Meter()
        ranges, footer = self._open(meter)
        tree, names = self._asked(filter, select, footer)
        schema = footer.schema.to_arrow_schema()
        wanted = [schema.field(name) for name in (names or schema.names)]
        yield pa.RecordBatch.from_pylist([], schema=pa.schema(wanted))
        for group in range(footer.num_row_groups):
            yield from self._matching(ranges, footer, group, tree, names, meter, keep=False)

    def _open(self, meter: Meter) -> tuple[Ranges, pq.FileMetaData]:
        """Return the file as it is now; its footer is read again only if it has changed."""
        ranges = ranges_of(self._url, self._options)
        with self._lock:
            if self._opened is None or self._opened[0].version != ranges.version:
                try:
                    footer = pq.read_metadata(RangesFile(ranges, meter))
                except HaulageError:
                    raise
                except (pa.ArrowException, OSError) as error:
                    hint = "check that it is a Parquet file, and whole"
                    raise IntegrityError("read", ranges.name, f"no footer: {error}", hint) from None
                self._opened = (ranges, footer)
                self._kept.clear()
            return self._opened

    def _place(self, token: str | None, ranges: Ranges, footer: pq.FileMetaData) -> tuple[int, int]:
        if token is None:
            return 0, 0
        parts = token.removeprefix(_TOKEN).split("&")[0].split(".")
        if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts[1:]):
            hint = "copy it unchanged from the headers of the previous page"
            raise UsageError("continue", self.name, "this is not a continuation of this table", hint)
        if parts[0] != _digest(ranges.version):
            hint = "ask again from the first page"
            cause = "the rows have changed since the previous page"
            raise SourceChangedError("continue", self.name, cause, hint)
        return min(int(parts[1]), footer.num_row_groups), int(parts[2])

    def _asked(
        self, filter: str | None, select: str | None, footer: pq.FileMetaData
    ) -> tuple[Tree | None, list[str] | None]:
        tree = parse(filter) if filter else None
        names = [name.strip() for name in select.split(",")] if select else None
        known = footer.schema.to_arrow_schema().names
        for name in [*(names or ()), *sorted(columns(tree) if tree else ())]:
            if name not in known:
                hint = f"there are: {', '.join(known[:20])}"
                raise UsageError("select", name[:100], "no such column", hint)
        return tree, list(dict.fromkeys(names)) if names else None

    def _matching(
        self,
        ranges: Ranges,
        footer: pq.FileMetaData,
        group: int,
        tree: Tree | None,
        names: list[str] | None,
        meter: Meter,
        *,
        keep: bool,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a row group that match."""
        if tree and not may_match(tree, lambda column: _bounds(footer.row_group(group), column)):
            return
        if keep and footer.row_group(group).total_byte_size <= _KEPT_BYTES:
            key = (ranges.version, group, repr(tree), tuple(names) if names else None)
            with self._lock:
                kept = self._kept.get(key)
            if kept is None:
                read = list(self._read(ranges, footer, group, tree, names, meter))
                kept = pa.concat_batches(read) if read else None
                if kept is None:
                    return
                self._keep(key, kept)
            yield kept
            return
        yield from self._read(ranges, footer, group, tree, names, meter)

    def _keep(self, key: tuple[object, ...], batch: pa.RecordBatch) -> None:
        with self._lock:
            self._kept[key] = batch
            while sum(one.nbytes for one in self._kept.values()) > _ALL_KEPT_BYTES:
                self._kept.popitem(last=False)

    def _read(
        self,
        ranges: Ranges,
        footer: pq.FileMetaData,
        group: int,
        tree: Tree | None,
        names: list[str] | None,
        meter: Meter,
    ) -> Iterator[pa.RecordBatch]:
        needed = [*names, *sorted(columns(tree) - set(names))] if names and tree else names
        try:
            # Without threads: each read is a request, and the order of the rows is that of the file.
            with pq.ParquetFile(RangesFile(ranges, meter), metadata=footer) as file:
                read = file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=needed, use_threads=False)
                for batch in read:
                    found = matching(batch, tree) if tree else batch
                    yield found.select(names) if names else found
        except HaulageError:
            raise
        except (pa.ArrowException, OSError) as error:
            hint = "check that it is a Parquet file, and whole"
            raise IntegrityError("read", ranges.name, f"row group {group}: {error}", hint) from None

    def _written(self, entities: list[Entity], metadata: Metadata) -> tuple[bytes, str]:
        if metadata == "atom":
            now = iso(time.time_ns() // 10**9 * 10**9)
            return atom.feed(entities, self.name, now), media_type(metadata)
        return json_page(entities, self.name, metadata), media_type(metadata)


def _bounds(group: pq.RowGroupMetaData, name: str) -> tuple[Any, Any] | None:
    """Return the least and the greatest value of a plain column in a row group."""
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema == name:
            statistics = column.statistics
            if statistics is None or not statistics.has_min_max:
                return None
            return statistics.min, statistics.max
    return None


def _digest(version: str) -> str:
    """Return a version as a word that an address may hold."""
    from hashlib import blake2b

    return blake2b(version.encode(), digest_size=6).hexdigest()
