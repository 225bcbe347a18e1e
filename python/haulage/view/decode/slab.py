"""A box of values of a variable, as they are stored."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from haulage.errors import UnsupportedError
from haulage.view.decode import boxes, codecs, filters
from haulage.view.decode.boxes import Box
from haulage.view.decode.scaling import meant
from haulage.view.index.lagging import filled_beyond
from haulage.view.index.model import Chunked, Inline, Keyed, Strided, Variable
from haulage.view.index.opening import Opened
from haulage.view.index.tables import Chunk
from haulage.view.joining.parts import Parts
from haulage.view.reading.cost import side_by_side
from haulage.view.reading.pinned import Pinned
from haulage.view.reading.ranges import Span
from haulage.view.reading.value_cache import Kept

#: More values than this are not read at once: 32 million, which is a map of 0.05 degrees.
MOST_VALUES = 1 << 25
#: Bytes of chunks that are read for one box.
MOST_BYTES = 512 << 20
#: Bytes of chunks, as stored, that are held while they are decoded.
_HELD_BYTES = 32 << 20
#: Bytes of the chunks of Zarr that are decoded for one box: how large they are as stored is not known before.
_MOST_DECODED_BYTES = 2 << 30
#: Objects of Zarr that are held while they are decoded.
_OBJECTS = 64
#: Files that are shown as one and read at once.
_FILES_AT_ONCE = 16


class Reader:
    """Reads boxes of values; chunks that were decoded lately are kept. Threads may share it."""

    def __init__(self, kept_bytes: int) -> None:
        self._chunks: Kept[np.ndarray[Any, Any]] = Kept(kept_bytes, lambda values: values.nbytes)

    def read(self, opened: Opened, variable: Variable, box: Box) -> np.ndarray[Any, Any]:
        """Return the values of a box, in the type that they are stored in.

        Raises:
            UnsupportedError: They cannot be read, or there are too many.
        """
        shape = boxes.shape_of(box)
        name = f"{opened.pinned.name}, {variable.path}"
        if variable.why_not is not None or variable.kind not in ("number", "text"):
            cause = variable.why_not or "its values are variable-length texts"
            raise UnsupportedError("read", name, cause, "choose another variable")
        if math.prod(shape) > MOST_VALUES:
            cause = f"{math.prod(shape):,} values are too many at once; {MOST_VALUES:,} are not"
            raise UnsupportedError(
                "read", name, cause, "copy the file with haul cp, or read parts of it with xarray"
            )
        if opened.held is not None:
            return opened.held[variable.path][tuple(slice(*one) for one in box)]
        if opened.parts is not None:
            return self._joined(opened.parts, variable, box)
        match variable.layout:
            case Inline():
                whole = np.frombuffer(variable.layout.bytes(), variable.type).reshape(variable.shape)
                return whole[tuple(slice(*one) for one in box)]
            case Strided():
                spans = boxes.runs(variable.layout, variable.shape, box, variable.type.itemsize)
                if spans is None:
                    cause = f"these values lie in more than {boxes.MOST_RUNS:,} places of the file"
                    raise UnsupportedError("read", name, cause, "choose fewer of them")
                body = b"".join(opened.pinned.read(spans))
                return np.frombuffer(body, variable.type).reshape(shape)
            case Chunked():
                return self._chunked(opened, variable, variable.layout, box, name)
            case Keyed():
                return self._keyed(opened, variable, variable.layout, box, name)
            case _:
                return _filled(variable, shape)

    def _joined(self, parts: Parts, variable: Variable, box: Box) -> np.ndarray[Any, Any]:
        """Return a box of files that are shown as one; several files are read at once."""
        if parts.dim not in variable.dims:
            return self.read(parts.base, parts.base.index.variables[variable.path], box)
        held, place = parts.held.get(variable.path), variable.dims.index(parts.dim)
        if held is not None:
            return held[tuple(slice(*one) for one in box)]

        def part(piece: tuple[Opened, tuple[int, int]]) -> np.ndarray[Any, Any]:
            file, steps = piece
            its = file.index.variables[variable.path]
            values = self.read(file, its, (*box[:place], steps, *box[place + 1 :]))
            return meant(values, its).astype(variable.type) if variable.path in parts.decoded else values

        pieces = list(parts.pieces(*box[place]))
        if len(pieces) == 1:
            return part(pieces[0])
        with ThreadPoolExecutor(_FILES_AT_ONCE) as threads:
            found = side_by_side(threads, _FILES_AT_ONCE, part, pieces)
        return np.concatenate(found, axis=place) if found else np.empty(boxes.shape_of(box), variable.type)

    def _chunked(
        self, opened: Opened, variable: Variable, layout: Chunked, box: Box, name: str
    ) -> np.ndarray[Any, Any]:
        found = _filled(variable, boxes.shape_of(box))
        if not found.size:
            return found
        chunks = opened.tables.find(variable, *boxes.chunk_bounds(layout.chunk, box))
        version = (opened.pinned.url, opened.pinned.etag, variable.path)

        def place(chunk: Chunk, values: np.ndarray[Any, Any]) -> None:
            of_chunk, of_box = boxes.piece(chunk.place, layout.chunk, box)
            found[of_box] = values[of_chunk]

        missing: list[Chunk] = []
        for chunk in chunks:
            values = self._chunks.get((version, chunk.place))
            if values is None:
                missing.append(chunk)
            else:
                place(chunk, values)
        # In the order of the file, so that what lies together is read together.
        missing.sort(key=lambda chunk: chunk.offset)
        needed = sum(chunk.size for chunk in missing)
        if needed > MOST_BYTES:
            cause = f"{needed:,} bytes would have to be read for it, {MOST_BYTES:,} at most"
            raise UnsupportedError("read", name, cause, "choose fewer values, or copy the file with haul cp")
        spans = [Span(chunk.offset, chunk.size) for chunk in missing]
        for batch in boxes.batches(spans, _HELD_BYTES):
            bodies = opened.pinned.read([spans[at] for at in batch])
            for at, body in zip(batch, bodies, strict=True):
                values = filters.decoded(body, missing[at].mask, layout, variable.type, name)
                place(missing[at], values)
                self._chunks.put((version, missing[at].place), values)
        return filled_beyond(variable, found, tuple(start for start, _ in box))

    def _keyed(
        self, opened: Opened, variable: Variable, layout: Keyed, box: Box, name: str
    ) -> np.ndarray[Any, Any]:
        """Return a box of an array of Zarr; chunks that are not there hold the fill value."""
        found = _filled(variable, boxes.shape_of(box))
        shard = codecs.sharding(layout)
        inner = replace(layout, chunk=shard.chunk, codecs=shard.codecs) if shard else layout
        version = (opened.pinned.url, opened.pinned.etag, variable.path)
        first, last = boxes.chunk_bounds(inner.chunk, box)
        number = math.prod(b - a + 1 for a, b in zip(first, last, strict=True)) if found.size else 0
        needed = number * math.prod(inner.chunk) * variable.type.itemsize
        if number > boxes.MOST_RUNS or needed > _MOST_DECODED_BYTES:
            cause = f"{needed:,} bytes of {number:,} chunks would have to be read for it"
            raise UnsupportedError("read", name, cause, "choose fewer values, or copy the file with haul cp")
        missing = []
        for place in product(*(range(a, b + 1) for a, b in zip(first, last, strict=True))) if number else ():
            values = self._chunks.get((version, place))
            if values is None:
                missing.append(place)
            else:
                of_chunk, of_box = boxes.piece(place, inner.chunk, box)
                found[of_box] = values[of_chunk]
        assert opened.objects is not None
        for start in range(0, len(missing), _OBJECTS):
            batch = missing[start : start + _OBJECTS]
            bodies = (
                self._from_shards(opened, layout, shard, batch)
                if shard
                else opened.objects.read([layout.key(place) for place in batch])
            )
            for place, body in zip(batch, bodies, strict=True):
                if body is None:
                    continue
                values = codecs.decoded(body, inner, variable.type, name)
                self._chunks.put((version, place), values)
                of_chunk, of_box = boxes.piece(place, inner.chunk, box)
                found[of_box] = values[of_chunk]
        return found

    def _from_shards(
        self, opened: Opened, layout: Keyed, shard: codecs.Shard, places: list[tuple[int, ...]]
    ) -> list[bytes | None]:
        """Return chunks that lie several in one object, found by the table in it."""
        assert opened.objects is not None
        ratio = [whole // part for whole, part in zip(layout.chunk, shard.chunk, strict=True)]
        within = [
            (
                tuple(at // times for at, times in zip(place, ratio, strict=True)),
                tuple(at % times for at, times in zip(place, ratio, strict=True)),
            )
            for place in places
        ]
        outer = list(dict.fromkeys(of for of, _ in within))

        def table(pinned: Pinned) -> list[Span]:
            return [Span(pinned.size - shard.table_bytes if shard.at_end else 0, shard.table_bytes)]

        read = opened.objects.parts([(layout.key(of), table) for of in outer])
        tables = {
            of: codecs.shard_table(body, shard, layout.chunk) if body is not None else {}
            for of, body in zip(outer, read, strict=True)
        }
        spans = [tables[of].get(place) for of, place in within]
        wanted = [
            (layout.key(of), lambda _, span=span: [Span(*span)])
            for (of, _), span in zip(within, spans, strict=True)
            if span is not None
        ]
        bodies = iter(opened.objects.parts(wanted))
        return [next(bodies) if span is not None else None for span in spans]


def _filled(variable: Variable, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.full(shape, b"" if variable.kind == "text" else (variable.fill or 0), variable.type)


def whole(variable: Variable) -> Box:
    """Return the box of all values of a variable."""
    return tuple((0, length) for length in variable.shape)
