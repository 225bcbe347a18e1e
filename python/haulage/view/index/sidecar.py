"""The index of a file as one object beside it: what is in the file, and where every chunk lies.

One request then tells what otherwise takes several, one after another. It belongs to one version of the
file, and says which.

After the magic bytes: how long the head is, the head (JSON), a table for each variable in chunks; deflated.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any

import numpy as np

from haulage.errors import HaulageError
from haulage.view.index.model import FORMAT, Chunked, Index, Inline, Strided
from haulage.view.index.tables import Table, Tables
from haulage.view.reading.faults import OF_THE_FILE
from haulage.view.reading.pinned import Pinned

MAGIC = b"HAULIDX1"
#: What is larger is neither written nor read.
MOST_BYTES = 32 << 20
_MOST_HEAD_BYTES = 64 << 20
#: Chunks of one file whose places are kept. A row of one takes some 50 bytes in memory.
MOST_CHUNKS = 500_000


def body_of(etag: str, index: Index, known: Tables) -> bytes | None:
    """Return the index of a file, with its tables of chunks read whole; ``None`` if it would be too large.

    Args:
        etag: The version of the file.
        index: Of the file.
        known: Where its chunks lie.

    Raises:
        HaulageError: A table cannot be read.
    """
    tables: dict[str, Table] = {}
    left = MOST_CHUNKS
    for path, variable in index.variables.items():
        layout = variable.layout
        if not isinstance(layout, Chunked) or variable.why_not or 0 in variable.shape:
            continue
        left -= math.prod(
            -(-length // size) for length, size in zip(variable.shape, layout.chunk, strict=True)
        )
        if left < 0:
            return None
        last = tuple((length - 1) // size for length, size in zip(variable.shape, layout.chunk, strict=True))
        try:
            found = known.find(variable, (0,) * len(last), last)
        except OF_THE_FILE:
            # The others can be read all the same.
            continue
        rows = [(*chunk.place, chunk.mask, chunk.size, chunk.offset) for chunk in found]
        tables[path] = np.array(rows, np.uint64).reshape(len(rows), len(last) + 3)
    bodies = {path: zlib.compress(table.astype("<u8").tobytes()) for path, table in tables.items()}
    head = {
        "etag": etag,
        "index": index.to_json(),
        "tables": [[path, len(tables[path]), len(body)] for path, body in bodies.items()],
    }
    packed = zlib.compress(json.dumps(head).encode())
    found_body = MAGIC + struct.pack("<I", len(packed)) + packed + b"".join(bodies.values())
    return found_body if len(found_body) <= MOST_BYTES else None


def read(beside: Pinned, etag: str) -> tuple[Index, dict[str, Table]] | None:
    """Return an index and its tables; ``None`` if it is of another version of the file, or makes no sense."""
    if not len(MAGIC) < beside.size <= MOST_BYTES:
        return None
    try:
        body = beside.first() if beside.size <= len(beside.first()) else beside.describing(0, beside.size)
        return _parsed(body, etag)
    except (HaulageError, ValueError, KeyError, TypeError, AttributeError, struct.error, zlib.error):
        # Whatever it is, the file itself tells everything.
        return None


def _parsed(body: bytes, etag: str) -> tuple[Index, dict[str, Table]] | None:
    if body[: len(MAGIC)] != MAGIC:
        return None
    at = len(MAGIC) + 4
    size = struct.unpack_from("<I", body, len(MAGIC))[0]
    head = json.loads(_inflated(body[at : at + size], _MOST_HEAD_BYTES))
    if head["etag"] != etag or head["index"].get("version") != FORMAT:
        return None
    index, at, tables = _checked(Index.from_json(head["index"])), at + size, {}
    left = MOST_CHUNKS
    for path, rows, length in head["tables"]:
        layout = index.variables[path].layout
        if not isinstance(layout, Chunked) or not 0 <= rows <= left:
            raise ValueError(path)
        left -= rows
        columns = len(layout.chunk) + 3
        plain = _inflated(body[at : at + length], rows * columns * 8)
        tables[path] = np.frombuffer(plain, "<u8").reshape(rows, columns).astype(np.uint64)
        at += length
    return index, tables


def _inflated(body: bytes, most: int) -> bytes:
    stream = zlib.decompressobj()
    found = stream.decompress(body, most + 1)
    if len(found) > most or not stream.eof:
        raise ValueError("it is larger than it says")
    return found


def _checked(index: Index) -> Index:
    """Return an index if it is one: whoever may write beside a file may have written anything."""
    for path, one in index.variables.items():
        rank, dtype = len(one.shape), np.dtype(one.dtype)
        good = (
            one.path == path
            and one.kind in ("number", "text", "string", "other")
            and len(one.dims) == rank
            and all(isinstance(dim, str) for dim in one.dims)
            and all(type(length) is int and length >= 0 for length in one.shape)
            and (one.written is None or (len(one.written) == rank and one.fill is not None))
            and all(type(length) is int and length >= 0 for length in one.written or ())
            and isinstance(one.attributes, dict)
            and (dtype.kind in "iuf" if one.kind == "number" else True)
            and (dtype.kind == "S" if one.kind == "text" else True)
            and (one.why_not is None or isinstance(one.why_not, str))
            and (one.fill is None or _holds(dtype, one.fill))
        )
        match one.layout:
            case Chunked(chunk, filters, tree):
                good &= len(chunk) == rank and all(type(length) is int and length > 0 for length in chunk)
                good &= all(type(code) is int for code, _ in filters)
                good &= tree is None or type(tree) is int
            case Strided(offset, stride):
                good &= type(offset) is int and (stride is None or type(stride) is int)
            case Inline():
                good &= len(one.layout.bytes()) == one.size_bytes
            case None:
                pass
            case _:
                good = False
        if not good:
            raise ValueError(path)
    _plain(index.dimensions, int)
    for attributes in (index.attributes, index.groups, index.left_out):
        _plain(attributes, None)
    return index


def _holds(dtype: np.dtype[Any], value: Any) -> bool:
    """Return whether this is a number, and for whole numbers one that the type has."""
    if dtype.kind not in "iu":
        return isinstance(value, (int, float))
    limits = np.iinfo(dtype)
    return type(value) is int and int(limits.min) <= value <= int(limits.max)


def _plain(values: Any, kind: type[Any] | None) -> None:
    if not isinstance(values, dict) or (kind and not all(type(one) is kind for one in values.values())):
        raise TypeError("not what belongs there")
