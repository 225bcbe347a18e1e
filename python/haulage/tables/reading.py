"""All rows of a table, or of a Parquet file, as columns of NumPy: for whoever looks at them as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from haulage.errors import UnsupportedError
from haulage.places import without_signature
from haulage.tables.serve.opening import opened
from haulage.tables.source import Meter, Source
from haulage.transfer import StoreOptions
from haulage.words.numbers import counted


@dataclass(frozen=True)
class Columns:
    """Rows by column, and what it cost to read them."""

    values: dict[str, np.ndarray[Any, Any]]  #: floats (NaN where there is none), times (``M8[us]``), or texts
    rows: int
    requests: int
    bytes: int  #: received


def columns(url: str, options: StoreOptions, filter: str | None, most_rows: int) -> Columns:
    """Return the rows as they are now.

    Args:
        url: ``az-table://TABLE``, the URL of a table, or a Parquet file.
        options: How to reach it.
        filter: An OData expression; ``None`` for all rows.
        most_rows: More than these are refused.

    Raises:
        UnsupportedError: There are more.
    """
    # A name of its own: that of the place need not be one.
    (source,) = opened([f"rows={url}"], options)
    meter, parts, rows = Meter(), list[pa.Table](), 0
    for batch in _batches(source, filter, meter):
        rows += batch.num_rows
        if rows > most_rows:
            cause = f"it has more than {counted(most_rows, 'row')}"
            raise UnsupportedError("draw", without_signature(url), cause, "choose some of them with --filter")
        if batch.num_rows:
            parts.append(pa.Table.from_batches([batch]))
    whole = _joined(parts)
    values = {name: _numpy(whole.column(name)) for name in whole.column_names}
    return Columns(values, rows, meter.requests, meter.bytes_read)


def _batches(source: Source, filter: str | None, meter: Meter) -> Iterator[pa.RecordBatch]:
    if not source.pages_are_native:
        yield from source.batches(filter=filter, select=None, meter=meter)
        return
    # Page by page, since rows of a table need not agree on their columns.
    continuation = None
    while True:
        page = source.page(
            filter=filter, select=None, top=None, continuation=continuation, metadata="minimal"
        )
        meter.count(page)
        yield source.batch(page)
        continuation = page.continuation
        if continuation is None:
            return


def _joined(parts: list[pa.Table]) -> pa.Table:
    """Return tables as one; a column that holds numbers in one and texts in another becomes text."""
    if not parts:
        return pa.table({})
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        kinds: dict[str, set[str]] = {}
        for part in parts:
            for field in part.schema:
                kinds.setdefault(field.name, set()).add(str(field.type))
        mixed = {name for name, of in kinds.items() if len(of) > 1}
        plain = []
        for part in parts:
            for place, name in enumerate(part.column_names):
                if name in mixed:
                    part = part.set_column(place, name, part.column(name).cast(pa.string()))
            plain.append(part)
        return pa.concat_tables(plain, promote_options="default")


def _numpy(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return np.asarray(pc.cast(column, pa.timestamp("us"), safe=False)).astype("M8[us]")
    if pa.types.is_boolean(kind):
        column, kind = pc.cast(column, pa.uint8()), pa.uint8()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.asarray(pc.cast(column, pa.float64(), safe=False), np.float64)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.asarray(column.to_pylist(), object)
    return np.full(len(column), None, object)
