"""Rows as an Arrow stream, and entities as Arrow."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import pyarrow as pa

from haulage.errors import ProtocolError
from haulage.tables.serve.encoding import number
from haulage.tables.serve.entities import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    EDM_KEY,
    GUID,
    INT32,
    INT64,
    STRING,
    TIME,
    Entity,
    names_of,
)

#: How the buffers within the stream are compressed.
Buffers = Literal["none", "lz4", "zstd"]

_TYPES: dict[str, pa.DataType] = {
    STRING: pa.string(),
    INT32: pa.int32(),
    INT64: pa.int64(),
    DOUBLE: pa.float64(),
    BOOLEAN: pa.bool_(),
    TIME: pa.timestamp("ns", tz="UTC"),
    # As text, which compares and prints as everybody expects; the metadata of the column tells the rest.
    GUID: pa.string(),
    BINARY: pa.binary(),
}
_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?")
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def stream(batches: Iterable[pa.RecordBatch], schema: pa.Schema, buffers: Buffers) -> Iterator[bytes]:
    """Yield the bytes of an Arrow IPC stream: the schema, each batch, the end."""
    sink = _Sink()
    options = pa.ipc.IpcWriteOptions(compression=None if buffers == "none" else buffers)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        yield sink.take()
        for batch in batches:
            writer.write_batch(batch)
            yield sink.take()
    yield sink.take()


def failure(text: str) -> bytes:
    """Return what ends a stream that failed: a message that breaks off, so that every reader fails on it."""
    told = text.encode()
    return struct.pack("<Ii", 0xFFFFFFFF, len(told) + 8) + told


def batch_of(entities: Sequence[Entity]) -> pa.RecordBatch:
    """Return entities as a batch; a column whose values are of several types becomes text."""
    fields, columns = [], []
    for name in names_of(entities):
        typed = [entity.get(name) for entity in entities]
        kinds = {one[0] for one in typed if one is not None}
        edm = kinds.pop() if len(kinds) == 1 else STRING
        kind, convert = _TYPES.get(edm, pa.string()), _CONVERT.get(edm, str)
        try:
            values = [None if one is None else convert(one[1]) for one in typed]
            try:
                columns.append(pa.array(values, kind))
            except OverflowError:
                # A time too far away for nanoseconds, or a number without a sign: as it is written.
                kind = pa.string()
                columns.append(pa.array([None if one is None else str(one[1]) for one in typed], kind))
        except (ValueError, OverflowError, pa.ArrowException) as error:
            hint = "check which server is at the address of the table"
            raise ProtocolError("read", name, f"a value is not of type {edm}: {error}", hint) from None
        metadata = (
            {EDM_KEY: edm.encode()} if kind == pa.string() and edm in _TYPES and edm != STRING else None
        )
        fields.append(pa.field(name, kind, metadata=metadata))
    if not fields:
        return pa.record_batch({})
    return pa.record_batch(columns, schema=pa.schema(fields))


def nanoseconds(text: str) -> int:
    """Return a time as nanoseconds since 1970.

    >>> nanoseconds("1970-01-01T00:00:01.0000001Z")
    1000000100
    """
    found = _TIME.fullmatch(text)
    if not found:
        raise ValueError(f"no time: {text}")
    zone = (found[3] or "Z").replace("Z", "+00:00")
    whole = datetime.fromisoformat(found[1] + zone) - _EPOCH
    fraction = int((found[2] or "").ljust(9, "0"))
    return (whole.days * 86_400 + whole.seconds) * 10**9 + fraction


_CONVERT: dict[str, Callable[[Any], Any]] = {
    INT32: int,
    INT64: int,
    DOUBLE: lambda value: number(value) if isinstance(value, str) else float(value),
    BOOLEAN: bool,
    TIME: nanoseconds,
    GUID: lambda value: str(UUID(value)),
    BINARY: lambda value: base64.b64decode(value, validate=True),
}


class _Sink:
    """Keeps what is written until it is taken."""

    closed = False

    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def write(self, data: Any) -> int:
        self._kept.append(bytes(data))
        return len(self._kept[-1])

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Nothing to close."""

    def take(self) -> bytes:
        kept, self._kept = b"".join(self._kept), []
        return kept
