"""Rows of a source in the form that was asked for: one page, or all of them piece by piece."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pyarrow as pa

from haulage.errors import ProtocolError, StorageFullError
from haulage.tables.serve import arrow, atom, encoding
from haulage.tables.serve.asking import METADATA, PAGE_ROWS, Asked
from haulage.tables.serve.entities import Entity, from_batch, from_json, iso, names_of
from haulage.tables.serve.sorting import Sorting, is_sorted
from haulage.tables.source import Metadata, Meter, Page, Source

_VALUE = re.compile(rb'"value"\s*:\s*\[')
_ENTRY = re.compile(rb"<entry[\s>]")


@dataclass
class Tally:
    """What one answer has taken so far."""

    name: str  #: of the table
    began: float = field(default_factory=time.monotonic)
    meter: Meter = field(default_factory=Meter)
    rows: int = 0
    body_bytes: int = 0  #: before HTTP compresses them
    first_seconds: float | None = None  #: until the first rows were there
    seconds: float | None = None  #: until all were sent; ``None`` before
    gathered: int | None = None  #: rows that were sorted, where they were
    error: dict[str, str | None] | None = None


@dataclass(frozen=True)
class Bounds:
    """What one answer may hold."""

    rows: int | None = None
    bytes: int | None = None

    def check(self, tally: Tally) -> None:
        """Fail where an answer has grown beyond them.

        Raises:
            StorageFullError: It has.
        """
        if self.rows is not None and tally.rows > self.rows:
            hint = "narrow them with $filter or $top, or start the proxy with a larger --max-rows"
            raise StorageFullError("read", tally.name, f"there are more than {self.rows:,} rows", hint)
        if self.bytes is not None and tally.body_bytes > self.bytes:
            hint = "narrow them with $filter or $select, or start the proxy with a larger --max-bytes"
            raise StorageFullError("read", tally.name, f"the rows take more than {self.bytes:,} bytes", hint)


def page(source: Source, asked: Asked, sorting: Sorting, tally: Tally) -> tuple[bytes, str | None]:
    """Return one page, and the continuation to the next one."""
    if is_sorted(asked):
        found = sorting.page(source, asked, tally.meter)
        tally.gathered, tally.rows = found.gathered, found.rows.num_rows
        entities = [entity for batch in found.rows.to_batches() for entity in from_batch(batch)]
        names, table = found.rows.schema.names, found.rows
        return _whole(entities, names, source.name, asked, table), found.continuation
    metadata = METADATA.get(asked.format, "minimal")
    found_page = source.page(
        filter=asked.filter,
        select=asked.select,
        top=asked.top,
        continuation=asked.continuation,
        metadata=metadata,
    )
    tally.meter.count(found_page)
    if asked.format in METADATA:
        tally.rows = _rows_of(found_page, source.name)
        return found_page.body, found_page.continuation
    if asked.format == "arrow" and (batch := _typed(source, asked, found_page)) is not None:
        tally.rows = batch.num_rows
        return b"".join(arrow.stream([batch], batch.schema, asked.buffers)), found_page.continuation
    entities = from_json(found_page.body, source.name)
    tally.rows = len(entities)
    schema = source.schema()
    known = schema.names if schema is not None else names_of(entities)
    wanted = [name.strip() for name in asked.select.split(",")] if asked.select else known
    return _whole(entities, wanted, source.name, asked, None), found_page.continuation


def _typed(source: Source, asked: Asked, found: Page) -> pa.RecordBatch | None:
    """Return the rows of a page as the source types them; ``None`` where they came without their keys."""
    if asked.select is None or {"PartitionKey", "RowKey"} <= {one.strip() for one in asked.select.split(",")}:
        return source.batch(found)
    return None


def pieces(source: Source, asked: Asked, sorting: Sorting, tally: Tally, bounds: Bounds) -> Generator[bytes]:
    """Yield all rows, piece by piece; each is read when it is asked for.

    Closing it ends the reading. Every piece but the first and the last one holds whole rows.
    """
    if asked.format in METADATA or asked.format == "ndjson":
        if source.pages_are_native and not asked.order:
            made = _of_pages(source, asked, tally)
        else:
            made = _of_batches(source, asked, sorting, tally)
    else:
        made = _of_batches(source, asked, sorting, tally)
    with closing(made):
        for piece in made:
            tally.body_bytes += len(piece)
            bounds.check(tally)
            yield piece


def _whole(
    entities: list[Entity], names: list[str], table: str, asked: Asked, rows: pa.Table | None
) -> bytes:
    match asked.format:
        case "ndjson":
            return encoding.ndjson(entities)
        case "csv":
            return encoding.csv_rows(entities, names, first=True, disarm=asked.disarm)
        case "arrow":
            batches = [arrow.batch_of(entities)] if rows is None else rows.to_batches()
            schema = batches[0].schema if rows is None else rows.schema
            return b"".join(arrow.stream(batches, schema, asked.buffers))
        case "atom":
            return atom.feed(entities, table, _now())
        case _:
            return encoding.json_page(entities, table, METADATA[asked.format])


def _of_pages(source: Source, asked: Asked, tally: Tally) -> Generator[bytes]:
    """Yield what the pages of a store hold, as they come, joined to one answer."""
    metadata = METADATA.get(asked.format, "minimal")
    continuation, left, begun, joint = None, asked.top, False, b""
    while True:
        top = None if left is None else min(left, PAGE_ROWS)
        found = source.page(
            filter=asked.filter, select=asked.select, top=top, continuation=continuation, metadata=metadata
        )
        tally.meter.count(found)
        number = _rows_of(found, source.name)
        tally.rows += number
        if asked.format == "ndjson":
            yield encoding.ndjson(from_json(found.body, source.name))
        else:
            head, rows = _taken_apart(found, source.name, metadata)
            yield (b"" if begun else head) + (joint + rows if number else b"")
            begun = True
            joint = b"," if metadata != "atom" and (number or joint) else b""
        continuation = found.continuation
        left = None if left is None else left - number
        if continuation is None or left == 0:
            break
    if asked.format != "ndjson":
        yield atom.TAIL if metadata == "atom" else b"]}"


def _of_batches(source: Source, asked: Asked, sorting: Sorting, tally: Tally) -> Generator[bytes]:
    batches = _limited(_batches(source, asked, sorting, tally), asked.top, tally)
    with closing(batches):
        # A source begins with an empty batch, which tells the schema as soon as it is known.
        first = next(batches)
        schema = first.schema
        rest = _chain(first, batches)
        match asked.format:
            case "arrow":
                yield from arrow.stream((one for one in rest if one.num_rows), schema, asked.buffers)
            case "csv":
                yield encoding.csv_rows([], schema.names, first=True, disarm=asked.disarm)
                for batch in rest:
                    yield encoding.csv_rows(from_batch(batch), schema.names, first=False, disarm=asked.disarm)
            case "ndjson":
                for batch in rest:
                    yield encoding.ndjson(from_batch(batch))
            case "atom":
                now = _now()
                yield atom.head(source.name, now)
                for batch in rest:
                    yield atom.entries(from_batch(batch), source.name, now)
                yield atom.TAIL
            case _:
                metadata = METADATA[asked.format]
                yield b'{"value":[' if metadata == "none" else encoding.head(source.name)
                joint = b""
                for batch in rest:
                    if batch.num_rows:
                        yield joint + encoding.json_entities(from_batch(batch), source.name, metadata)
                        joint = b","
                yield b"]}"


def _batches(source: Source, asked: Asked, sorting: Sorting, tally: Tally) -> Generator[pa.RecordBatch]:
    if asked.order:
        rows = sorting.rows(source, asked, tally.meter)
        tally.gathered = rows.num_rows
        yield pa.RecordBatch.from_pylist([], schema=rows.schema)
        yield from rows.to_batches(max_chunksize=PAGE_ROWS)
        return
    with closing(source.batches(filter=asked.filter, select=asked.select, meter=tally.meter)) as batches:
        yield from batches


def _limited(batches: Generator[pa.RecordBatch], top: int | None, tally: Tally) -> Generator[pa.RecordBatch]:
    with closing(batches):
        for batch in batches:
            wanted = batch if top is None else batch.slice(0, top - tally.rows)
            tally.rows += wanted.num_rows
            yield wanted
            if tally.rows == top:
                return


def _chain(first: pa.RecordBatch, rest: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _rows_of(found: Page, name: str) -> int:
    if "xml" in found.content_type:
        return len(_ENTRY.findall(found.body))
    try:
        return len(json.loads(found.body)["value"])
    except (ValueError, KeyError, TypeError) as error:
        raise _unread(name, str(error)) from None


def _taken_apart(found: Page, name: str, metadata: Metadata) -> tuple[bytes, bytes]:
    """Return what stands before the rows of a page, and its rows."""
    body = found.body.rstrip()
    if "xml" in found.content_type:
        begun, ended = _ENTRY.search(body), body.rfind(b"</entry>")
        if begun:
            return body[: begun.start()], body[begun.start() : ended + len(b"</entry>")]
        return body[: body.rfind(b"</feed>")], b""
    # A quotation mark within a text has a backslash before it, so this is the name of a member.
    value = _VALUE.search(body)
    if value and body.endswith(b"]}"):
        return body[: value.end()], body[value.end() : -2].strip()
    entities = from_json(body, name)
    begun_by = b'{"value":[' if metadata == "none" else encoding.head(name)
    return begun_by, encoding.json_entities(entities, name, metadata)


def _unread(name: str, cause: str) -> ProtocolError:
    hint = "check which server is at the address of the table"
    return ProtocolError("read", name, f"the page is not the JSON of OData: {cause}", hint)


def _now() -> str:
    return iso(time.time_ns() // 10**9 * 10**9)
