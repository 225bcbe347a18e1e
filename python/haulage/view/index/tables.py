"""Where the chunks lie that are needed, in few round trips: nodes of B-trees are read level by level."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from haulage.errors import ProtocolError, UnsupportedError
from haulage.view.index import hdf5, headers
from haulage.view.index.cache import NodesKept
from haulage.view.index.model import Chunked, Variable
from haulage.view.reading.pinned import Pinned
from haulage.view.reading.ranges import Span

#: Levels that a B-tree of HDF5 can have are far fewer.
_MOST_LEVELS = 12
#: Nodes that are read at once; each takes a few kilobytes.
_MOST_NODES = 8192


#: A row for each chunk: its place in the grid, mask, size, offset.
Table: TypeAlias = "np.ndarray[Any, Any]"


class Chunk(NamedTuple):
    """Where one chunk lies."""

    place: tuple[int, ...]  #: in the grid of chunks
    mask: int  #: the filters that it did not pass, a bit each
    size: int
    offset: int


class Tables:
    """The chunks of the variables of one file. Threads may share it.

    Args:
        pinned: The file.
        nodes: What is kept of its B-trees.
        whole: Tables that are known already, by variable.
    """

    def __init__(self, pinned: Pinned, nodes: NodesKept, whole: dict[str, Table] | None = None) -> None:
        self._pinned, self._nodes, self._whole = pinned, nodes, whole or {}

    def find(self, variable: Variable, first: tuple[int, ...], last: tuple[int, ...]) -> list[Chunk]:
        """Return the chunks that were written between two places of the grid of chunks, both included."""
        layout = variable.layout
        assert isinstance(layout, Chunked)
        if variable.path in self._whole:
            return _between(self._whole[variable.path], first, last)
        if layout.tree is None:
            return self._by_library(variable, layout, first, last)
        chunk = np.array(layout.chunk, np.uint64)
        low, high = np.array(first, np.uint64) * chunk, np.array(last, np.uint64) * chunk
        found: list[Chunk] = []
        level = [layout.tree]
        for _ in range(_MOST_LEVELS):
            if not level:
                return found
            below: list[int] = []
            for node in self._read(variable, level, len(layout.chunk)):
                if node.level:
                    below += node.children[_may_hold(node.places, low, high)].tolist()
                else:
                    places = node.places[:-1]
                    inside = np.all((places >= low) & (places <= high), axis=1)
                    rows = np.flatnonzero(inside)
                    grid = (places[rows] // chunk).tolist()
                    found += [
                        Chunk(
                            tuple(place), int(node.masks[row]), int(node.sizes[row]), int(node.children[row])
                        )
                        for place, row in zip(grid, rows.tolist(), strict=True)
                    ]
            if len(below) > _MOST_NODES:
                cause = (
                    f"its table of chunks is too large: more than {_MOST_NODES:,} nodes are needed at once"
                )
                raise UnsupportedError("read", variable.path, cause, "ask for less of it at once")
            level = below
        raise self._broken(variable)

    def _read(self, variable: Variable, addresses: list[int], rank: int) -> list[headers.Node]:
        """Return nodes; all that are not known are read at once."""
        bodies = {address: self._nodes.get(address) for address in addresses}
        missing = [address for address, body in bodies.items() if body is None]
        size = headers.node_bytes(rank)
        if missing:
            spans = [Span(address, max(min(size, self._pinned.size - address), 0)) for address in missing]
            for address, body in zip(missing, self._pinned.read(spans), strict=True):
                bodies[address] = body
                self._nodes.put(address, body)
        found = []
        for address, kept in bodies.items():
            body = kept or b""
            try:
                node = headers.node(body, rank)
            except ValueError as larger:
                needed = int(larger.args[0])
                body = self._pinned.describing(address, needed)
                self._nodes.put(address, body)
                node = headers.node(body, rank) if len(body) >= needed else None
            if node is None:
                raise self._broken(variable)
            found.append(node)
        return found

    def _by_library(
        self, variable: Variable, layout: Chunked, first: tuple[int, ...], last: tuple[int, ...]
    ) -> list[Chunk]:
        self._nodes.tables_of(variable.path)
        table = self._nodes.table(variable.path)
        if table is None:
            table = hdf5.table(self._pinned, variable.path, layout.chunk)
            self._nodes.put_table(variable.path, table)
        return _between(table, first, last)

    def _broken(self, variable: Variable) -> ProtocolError:
        cause = f"the table of the chunks of {variable.path} is broken"
        return ProtocolError("read", self._pinned.name, cause, "copy it again from an intact original")


def _between(table: Table, first: tuple[int, ...], last: tuple[int, ...]) -> list[Chunk]:
    """Return the chunks of a table between two places, both included."""
    rank = len(first)
    places = table[:, :rank]
    low, high = np.array(first, np.uint64), np.array(last, np.uint64)
    rows = table[np.all((places >= low) & (places <= high), axis=1)].tolist()
    return [Chunk(tuple(row[:rank]), row[rank], row[rank + 1], row[rank + 2]) for row in rows]


def _may_hold(
    places: np.ndarray[Any, Any], low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return which entries of a node may hold chunks between two places; chunks are in order.

    Entry ``i`` holds what lies from ``places[i]`` on and before ``places[i + 1]``.
    """
    keys = [tuple(row) for row in places.tolist()]
    lowest, highest = tuple(low.tolist()), tuple(high.tolist())
    return np.array([before <= highest and lowest <= after for before, after in pairwise(keys)], bool)
