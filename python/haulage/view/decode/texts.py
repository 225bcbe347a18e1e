"""Texts of any length: of HDF5, and of Zarr."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from haulage.errors import UnsupportedError
from haulage.view.decode import boxes, codecs
from haulage.view.index import hdf5
from haulage.view.index.model import Keyed, Variable
from haulage.view.index.opening import Opened

#: More texts than this are not read: they label axes.
_MOST = 100_000


def texts_of(opened: Opened, variable: Variable) -> list[str]:
    """Return the values of a variable of texts, in order.

    Raises:
        UnsupportedError: There are too many, or they are kept in another way.
    """
    layout = variable.layout
    if not isinstance(layout, Keyed):
        return hdf5.strings(opened.source.pinned, variable.path, variable.shape)
    name = f"{opened.pinned.name}, {variable.path}"
    grid = [-(-length // size) for length, size in zip(variable.shape, layout.chunk, strict=True)]
    if max(math.prod(variable.shape), math.prod(grid), math.prod(layout.chunk)) > _MOST or codecs.sharding(
        layout
    ):
        cause = f"its {math.prod(variable.shape):,} texts are too many, or lie in shards"
        raise UnsupportedError("read", name, cause, "read them with xarray")
    assert opened.objects is not None
    places = list(product(*map(range, grid)))
    found = np.full(variable.shape, "", object)
    box = tuple((0, length) for length in variable.shape)
    for place, body in zip(places, opened.objects.read([layout.key(one) for one in places]), strict=True):
        if body is not None:
            of_chunk, of_box = boxes.piece(place, layout.chunk, box)
            found[of_box] = _decoded(body, layout, variable.type, name)[of_chunk]
    return [
        one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one)
        for one in found.ravel().tolist()
    ]


def _decoded(body: bytes, layout: Keyed, dtype: np.dtype[Any], name: str) -> np.ndarray[Any, Any]:
    if dtype.kind == "U":
        return codecs.decoded(body, layout, dtype, name)
    # The codec that makes texts of bytes is the last one: it becomes one that numcodecs knows.
    if layout.version == 3:
        steps = json.loads(layout.codecs)
        if steps[0]["name"] != "vlen-utf8":
            cause = f"its texts use an unsupported codec: {steps[0]['name']}"
            raise UnsupportedError("read", name, cause, "write it again with xarray")
        packed = json.dumps([{"name": "bytes"}, *steps[1:]])
        plain = codecs.unpacked(body, replace(layout, codecs=packed), name)
        return codecs.array_of(plain, {"id": "vlen-utf8"}, layout, name)
    said = json.loads(layout.codecs)
    *rest, last = said["filters"]
    plain = codecs.unpacked(body, replace(layout, codecs=json.dumps({**said, "filters": rest})), name)
    return codecs.array_of(plain, last, layout, name)
