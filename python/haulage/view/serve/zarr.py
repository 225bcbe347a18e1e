"""Any file as Zarr, version 3: metadata made of the index, chunks as they are stored where codecs allow."""

from __future__ import annotations

import base64
import json
import math
import re
import struct
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from haulage.errors import NotFoundError
from haulage.view.decode import filters
from haulage.view.index.lagging import filled_beyond, reaches_beyond
from haulage.view.index.model import Chunked, Keyed, Strided, Variable
from haulage.view.index.opening import Opened
from haulage.view.reading.ranges import Span
from haulage.view.serve.library import Library

#: Values that are not in chunks are cut into pieces of about this size.
_PIECE_BYTES = 4 << 20
_TYPES = {"i": "int", "u": "uint", "f": "float"}
#: What ends the path of a URL, or stands for something else in it.
_CUT = re.compile(r"[?#]|%[0-9A-Fa-f]{2}")
#: What Zarr says by other means, or what makes no sense in it.
_SAID = frozenset({"_FillValue"})


def answer(library: Library, opened: Opened, key: str) -> tuple[bytes, str]:
    """Return what lies under a key of the store, and its content type.

    Raises:
        NotFoundError: Nothing does; for a chunk this means that all of it is fill value.
    """
    if opened.parts is not None:
        # Chunks of several files need not end together: values are cut anew.
        cut = {name: replace(one, layout=Strided(0)) for name, one in opened.index.variables.items()}
        opened = replace(opened, index=replace(opened.index, variables=cut))
    path, _, last = key.rpartition("/")
    if last == "zarr.json" or key == "zarr.json":
        return _metadata(opened, path), "application/json"
    for name, variable in opened.index.variables.items():
        if key == f"{name}/c" or key.startswith(f"{name}/c/"):
            return _chunk(
                library, opened, variable, key[len(name) + 2 :].strip("/")
            ), "application/octet-stream"
    raise _nothing(opened, key)


def served(variable: Variable) -> bool:
    """Return whether a variable can be served: numbers that can be read, under a name that arrives.

    A coordinate that clients cannot read keeps them from opening the rest. Clients do not quote names: a
    chunk that is asked for by half of its name is not found, and what is not found is fill value to them.
    """
    readable = variable.kind == "number" and variable.why_not is None
    if isinstance(variable.layout, Chunked) and filters.missing(variable.layout):
        return False
    return readable and not _CUT.search(variable.path)


def chunk_shape(variable: Variable) -> tuple[int, ...]:
    """Return the shape of the chunks that a variable is served in.

    >>> from haulage.view.index.model import Variable
    >>> chunk_shape(Variable("a", "number", "<f8", ("t", "x"), (100, 1 << 16), {}, Strided(0)))
    (8, 65536)
    """
    if isinstance(variable.layout, Chunked | Keyed):
        return variable.layout.chunk
    chunk = [max(length, 1) for length in variable.shape]
    if isinstance(variable.layout, Strided) and variable.layout.record_stride is not None and chunk:
        chunk[0] = 1
    for place in range(len(chunk)):
        rest = math.prod(chunk[place + 1 :]) * variable.type.itemsize
        if chunk[place] * rest <= _PIECE_BYTES:
            break
        chunk[place] = max(_PIECE_BYTES // rest, 1)
    return tuple(chunk)


def _metadata(opened: Opened, path: str) -> bytes:
    index = opened.index
    variable = index.variables.get(path)
    if variable is not None and served(variable):
        found = _array(variable)
    elif path == "":
        groups = {name: _group(attributes) for name, attributes in index.groups.items()}
        arrays = {name: _array(one) for name, one in index.variables.items() if served(one)}
        whole = {"kind": "inline", "must_understand": False, "metadata": {**groups, **arrays}}
        found = {**_group(index.attributes), "consolidated_metadata": whole}
    elif path in index.groups:
        found = _group(index.groups[path])
    else:
        raise _nothing(opened, path)
    return json.dumps(found, allow_nan=False).encode()


def _group(attributes: dict[str, Any]) -> dict[str, Any]:
    return {"zarr_format": 3, "node_type": "group", "attributes": _plain(attributes)}


def _array(variable: Variable) -> dict[str, Any]:
    attributes = {name: value for name, value in variable.attributes.items() if name not in _SAID}
    if "_FillValue" in variable.attributes:
        attributes["_FillValue"] = _fill_attribute(variable.attributes["_FillValue"], variable)
    codecs: list[dict[str, Any]] = [{"name": "bytes"}]
    if variable.type.itemsize > 1:
        codecs = [{"name": "bytes", "configuration": {"endian": _endian(variable.type)}}]
    match _passed(variable):
        case "gzip":
            codecs.append({"name": "gzip", "configuration": {"level": 1}})
        case "zstd":
            codecs.append({"name": "zstd", "configuration": {"level": 0, "checksum": False}})
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(variable.shape),
        "data_type": _TYPES[variable.type.kind] + str(variable.type.itemsize * 8),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk_shape(variable))}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": _fill(variable),
        "codecs": codecs,
        "dimension_names": [dim.rpartition("/")[2] for dim in variable.dims],
        "attributes": _plain(attributes),
    }


def _passed(variable: Variable) -> str:
    """Return the codec in which chunks go on as they are stored: none, ``gzip`` or ``zstd``."""
    layout = variable.layout
    if isinstance(layout, Chunked) and len(layout.filters) == 1:
        return {filters.DEFLATE: "gzip", filters.ZSTD: "zstd"}.get(layout.filters[0][0], "")
    return ""


def _chunk(library: Library, opened: Opened, variable: Variable, place: str) -> bytes:
    parts = place.split("/") if place else []
    if (
        not served(variable)
        or len(parts) != len(variable.shape)
        or not all(part.isdecimal() for part in parts)
    ):
        raise _nothing(opened, f"{variable.path}/{place}")
    grid, shape = tuple(map(int, parts)), chunk_shape(variable)
    if any(at * length >= size for at, length, size in zip(grid, shape, variable.shape, strict=True)):
        raise _nothing(opened, f"{variable.path}/{place}")
    if isinstance(variable.layout, Chunked):
        return _stored(opened, variable, variable.layout, grid)
    box = tuple(
        (at * length, min((at + 1) * length, size))
        for at, length, size in zip(grid, shape, variable.shape, strict=True)
    )
    values = library.reader.read(opened, variable, box)
    if values.shape != shape:
        # Chunks at the edge are whole too.
        values = np.pad(
            values, [(0, length - size) for length, size in zip(shape, values.shape, strict=True)]
        )
    return values.astype(variable.type, copy=False).tobytes()


def _stored(opened: Opened, variable: Variable, layout: Chunked, grid: tuple[int, ...]) -> bytes:
    found = opened.tables.find(variable, grid, grid)
    if not found:
        raise _nothing(opened, f"{variable.path}/{grid}")
    chunk, codec = found[0], _passed(variable)
    body = opened.pinned.read([Span(chunk.offset, chunk.size)])[0]
    changed = reaches_beyond(variable, layout, grid)
    as_stored = not chunk.mask and not changed
    if codec == "zstd" and as_stored:
        return body
    values = filters.decoded(
        body, chunk.mask, layout, variable.type, f"{opened.pinned.name}, {variable.path}"
    )
    if changed:
        starts = tuple(at * length for at, length in zip(grid, layout.chunk, strict=True))
        values = filled_beyond(variable, values, starts)
    plain = values.tobytes()
    if codec == "gzip" and as_stored:
        # The same deflated bytes in the other envelope.
        end = struct.pack("<II", zlib.crc32(plain), len(plain) & 0xFFFFFFFF)
        return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + body[2:-4] + end
    if codec == "gzip":
        return zlib.compress(plain, 1, wbits=31)
    if codec == "zstd":
        from numcodecs import zstd

        return bytes(zstd.compress(plain, 1))
    return plain


def _fill(variable: Variable) -> Any:
    value = variable.fill
    if value is None:
        value = 0
    if variable.type.kind == "f":
        return _plain(float(value))
    return int(value)


def _fill_attribute(value: Any, variable: Variable) -> Any:
    """Return a fill value as xarray writes it into attributes: floats as the bytes of a double."""
    if variable.type.kind == "f" and isinstance(value, (int, float)):
        return base64.b64encode(struct.pack("<d", float(value))).decode()
    return int(value) if isinstance(value, (int, float)) and value == value else value


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: no NaN, no infinity."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def _endian(dtype: np.dtype[Any]) -> str:
    return "big" if dtype.byteorder == ">" else "little"


def _nothing(opened: Opened, key: str) -> NotFoundError:
    return NotFoundError(
        "read", f"{opened.pinned.name}/{key[:100]}", "nothing is here", "begin with zarr.json"
    )
