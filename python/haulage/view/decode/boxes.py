"""Which bytes, and which chunks, hold a box of values: pure functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from haulage.view.index.model import Strided
from haulage.view.reading.ranges import Span

#: The first value and the one after the last, along each dimension.
Box: TypeAlias = tuple[tuple[int, int], ...]
#: A box that is made of more pieces than this is not read.
MOST_RUNS = 100_000


def shape_of(box: Box) -> tuple[int, ...]:
    """Return the lengths of a box.

    >>> shape_of(((0, 1), (2, 5)))
    (1, 3)
    """
    return tuple(stop - start for start, stop in box)


def runs(layout: Strided, shape: Sequence[int], box: Box, item: int) -> list[Span] | None:
    """Return the ranges of a box, in the order of its values; ``None`` if there are too many.

    >>> runs(Strided(100), (4, 5), ((1, 3), (0, 5)), 4)
    [Span(start=120, size=40)]
    >>> runs(Strided(100), (4, 5), ((1, 3), (2, 4)), 4)
    [Span(start=128, size=8), Span(start=148, size=8)]
    """
    if 0 in shape_of(box):
        return []
    strides = [math.prod(shape[place + 1 :]) * item for place in range(len(shape))]
    if layout.record_stride is not None:
        strides[0] = layout.record_stride
    # Values follow each other over the last dimensions as far as these are whole.
    inner = len(shape)
    size = item
    while inner > 0 and strides[inner - 1] == size:
        inner -= 1
        start, stop = box[inner]
        size *= stop - start
        if (start, stop) != (0, shape[inner]):
            break
    outer = box[:inner]
    if math.prod(shape_of(outer)) > MOST_RUNS:
        return None
    base = layout.offset + sum(box[place][0] * strides[place] for place in range(inner, len(shape)))
    return [
        Span(base + sum(at * stride for at, stride in zip(place, strides, strict=False)), size)
        for place in itertools.product(*(range(start, stop) for start, stop in outer))
    ]


class Piece(NamedTuple):
    """What a chunk gives to a box."""

    within_chunk: tuple[slice, ...]
    within_box: tuple[slice, ...]


def chunk_bounds(chunk: Sequence[int], box: Box) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the first and the last place, in the grid of chunks, that a box touches.

    >>> chunk_bounds((10, 10), ((5, 25), (0, 10)))
    ((0, 0), (2, 0))
    """
    first = tuple(start // length for (start, _), length in zip(box, chunk, strict=True))
    last = tuple((stop - 1) // length for (_, stop), length in zip(box, chunk, strict=True))
    return first, last


def piece(place: Sequence[int], chunk: Sequence[int], box: Box) -> Piece:
    """Return which part of the chunk at ``place`` goes where in a box.

    >>> piece((1,), (10,), ((5, 25),))
    Piece(within_chunk=(slice(0, 10, None),), within_box=(slice(5, 15, None),))
    """
    of_chunk, of_box = [], []
    for at, length, (start, stop) in zip(place, chunk, box, strict=True):
        begin, end = max(at * length, start), min((at + 1) * length, stop)
        of_chunk.append(slice(begin - at * length, end - at * length))
        of_box.append(slice(begin - start, end - start))
    return Piece(tuple(of_chunk), tuple(of_box))


def batches(spans: Sequence[Span], most: int) -> Iterator[list[int]]:
    """Yield the places of spans, in stretches of at most ``most`` bytes each, but of one span at least."""
    batch: list[int] = []
    size = 0
    for place, span in enumerate(spans):
        if batch and size + span.size > most:
            yield batch
            batch, size = [], 0
        batch.append(place)
        size += span.size
    if batch:
        yield batch
