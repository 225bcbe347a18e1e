"""References to the chunks of a file, in the form of kerchunk, which fsspec and VirtualiZarr read."""

from __future__ import annotations

import base64
import json
import math
import zlib
from typing import Any

import numpy as np

from haulage.errors import UnsupportedError
from haulage.view.index.lagging import reaches_beyond, usual_fill
from haulage.view.index.model import Chunked, Inline, Strided, Variable
from haulage.view.index.opening import Opened
from haulage.view.reading.faults import OF_THE_FILE

#: Values that are not in chunks are cut into pieces of at most this size, where they can be.
_PIECE_BYTES = 16 << 20
#: Values that were never written stand in the references up to this size, which takes a thousandth of it.
_UNWRITTEN_BYTES = 16 << 20
#: The filters of HDF5 that numcodecs has, by HDF5's number.
_CODECS = {1: "zlib", 2: "shuffle", 3: "fletcher32", 307: "bz2", 32001: "blosc", 32015: "zstd"}


def references(opened: Opened, url: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the references of all variables of a file, and why some have none.

    Args:
        opened: The file.
        url: The URL that readers open.
    """
    index = opened.index
    refs: dict[str, Any] = {".zgroup": _text({"zarr_format": 2}), ".zattrs": _text(index.attributes)}
    for path, attributes in index.groups.items():
        refs[f"{path}/.zgroup"] = _text({"zarr_format": 2})
        refs[f"{path}/.zattrs"] = _text(attributes)
    left_out = dict(index.left_out)
    for path, variable in index.variables.items():
        try:
            refs.update(_variable(opened, variable, url))
        except OF_THE_FILE as error:
            left_out[path] = error.cause
    return {"version": 1, "refs": refs}, left_out


def _variable(opened: Opened, variable: Variable, url: str) -> dict[str, Any]:
    if variable.why_not or variable.kind == "string":
        cause = (
            variable.why_not or "its values are variable-length texts, which have no location of their own"
        )
        raise UnsupportedError("index", variable.path, cause)
    chunk, codecs, places = _places(opened, variable, url)
    if not places and _is_short(variable):
        chunk, codecs, places = _unwritten(variable)
    dims = [dim.rpartition("/")[2] for dim in variable.dims]
    array = {
        "zarr_format": 2,
        "shape": list(variable.shape),
        "chunks": list(chunk),
        "dtype": variable.dtype if variable.type.itemsize > 1 else variable.type.str,
        "compressor": None,
        "filters": codecs or None,
        "fill_value": _fill(variable, whole=len(places) == _count(variable, chunk)),
        "order": "C",
    }
    attributes = {**variable.attributes, "_ARRAY_DIMENSIONS": dims}
    path = variable.path
    return {
        f"{path}/.zarray": _text(array),
        f"{path}/.zattrs": _text(attributes),
        **{f"{path}/{place}": where for place, where in places.items()},
    }


def _places(
    opened: Opened, variable: Variable, url: str
) -> tuple[tuple[int, ...], list[dict[str, Any]], dict[str, Any]]:
    """Return the shape of the chunks, their filters, and where each lies by its key."""
    layout, shape, item = variable.layout, variable.shape, variable.type.itemsize
    one = "0" if not shape else ".".join("0" * len(shape))
    whole = tuple(max(length, 1) for length in shape)
    match layout:
        case Inline():
            return whole, [], {one: "base64:" + base64.b64encode(layout.bytes()).decode()}
        case Chunked():
            codecs = [_codec(code, values, variable) for code, values in layout.filters]
            last = tuple((length - 1) // size for length, size in zip(shape, layout.chunk, strict=True))
            if 0 in shape:
                return layout.chunk, codecs, {}
            found = opened.tables.find(variable, (0,) * len(shape), last)
            if any(chunk.mask for chunk in found):
                raise UnsupportedError("index", variable.path, "some of its chunks did not pass all filters")
            if any(reaches_beyond(variable, layout, chunk.place) for chunk in found):
                cause = "its last records were never written, and it has no fill value"
                raise UnsupportedError("index", variable.path, cause)
            return (
                layout.chunk,
                codecs,
                {".".join(map(str, chunk.place)): [url, chunk.offset, chunk.size] for chunk in found},
            )
        case Strided() if 0 not in shape:
            record = layout.record_stride
            row = math.prod(shape[1:]) * item
            if not shape:
                return (), [], {"0": [url, layout.offset, item]}
            # All pieces have the same shape, so that the last one is as long as the others.
            rows = 1 if record is not None else _divisor(shape[0], max(_PIECE_BYTES // max(row, 1), 1))
            stride = record if record is not None else row * rows
            rest = ".0" * (len(shape) - 1)
            return (
                (rows, *shape[1:]),
                [],
                {
                    f"{at}{rest}": [url, layout.offset + at * stride, rows * row]
                    for at in range(shape[0] // rows)
                },
            )
    return whole, [], {}


def _is_short(variable: Variable) -> bool:
    """Whether the values of a variable that was never written are short enough to stand in the references.

    Readers of Zarr's format 2 take the fill value of an array for its ``_FillValue``, so that a grid mapping
    without a value, as most are, became NaN.
    """
    size = math.prod(variable.shape) * variable.type.itemsize
    number = isinstance(variable.fill, (int, float)) and variable.type.kind in "iufb"
    return number and "_FillValue" not in variable.attributes and 0 < size <= _UNWRITTEN_BYTES


def _unwritten(variable: Variable) -> tuple[tuple[int, ...], list[dict[str, Any]], dict[str, Any]]:
    """Return as :func:`_places` the one chunk of a variable of which nothing is stored: its fill value."""
    values = np.full(variable.shape, variable.fill, dtype=variable.type)
    one = ".".join("0" * len(variable.shape)) or "0"
    packed = base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()
    return variable.shape, [{"id": "zlib", "level": 9}], {one: f"base64:{packed}"}


def _divisor(length: int, most: int) -> int:
    """Return the largest number up to ``most`` that divides ``length``.

    >>> _divisor(12, 5), _divisor(7, 3)
    (4, 1)
    """
    return next(number for number in range(min(most, length), 0, -1) if length % number == 0)


def _codec(code: int, values: tuple[int, ...], variable: Variable) -> dict[str, Any]:
    if code not in _CODECS:
        raise UnsupportedError("index", variable.path, f"numcodecs has no filter like HDF5's number {code}")
    name = _CODECS[code]
    if name == "shuffle":
        return {"id": name, "elementsize": values[0] if values else variable.type.itemsize}
    return {"id": name, **({"level": values[0] if values else 1} if name in ("zlib", "bz2") else {})}


def _count(variable: Variable, chunk: tuple[int, ...]) -> int:
    return math.prod(-(-length // size) for length, size in zip(variable.shape, chunk, strict=True))


def _fill(variable: Variable, *, whole: bool) -> Any:
    """Return the fill value, which xarray takes for ``_FillValue``: none where none is needed.

    Without one, readers have zeros where nothing was written, as zarr-python has from version 3 on.

    Raises:
        UnsupportedError: Readers would take values for missing that were written.
    """
    value = variable.attributes.get("_FillValue")
    if value is None and not whole and variable.fill:
        value = variable.fill
        if value == value and value != usual_fill(variable):
            cause = f"where nothing was written it holds {value}, which readers of Zarr take for missing"
            raise UnsupportedError("index", variable.path, cause)
    if not isinstance(value, (int, float)) or variable.kind == "text":
        return None
    if variable.type.kind == "f" and not np.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value)
