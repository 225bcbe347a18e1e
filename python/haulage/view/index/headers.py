"""Where the chunks of a variable of HDF5 lie: the message in its header, and the nodes of its B-tree.

HDF5's library reads a B-tree one node after another, each a round trip. Here all nodes of one level that are
needed are read at once. Layouts of version 3 have such trees, which is what NetCDF's library writes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

#: Returns bytes that describe the file: from where, and how many.
Describing: TypeAlias = Callable[[int, int], bytes]
_LAYOUT, _CONTINUATION = 0x08, 0x10
_NOWHERE = 2**64 - 1
#: What a node holds at most unless its file says otherwise.
_ENTRIES = 64


class Node(NamedTuple):
    """A node of a B-tree of chunks."""

    level: int  #: 0 for a leaf
    places: np.ndarray[
        Any, Any
    ]  #: of the first chunk of each entry, in values, not chunks; one row more at the end
    sizes: np.ndarray[Any, Any]  #: of each chunk in bytes; in leaves
    masks: np.ndarray[Any, Any]  #: the filters that each chunk did not pass
    children: np.ndarray[Any, Any]  #: where each entry lies


def tree_of(address: int, describing: Describing) -> int | None:
    """Return where the B-tree of a variable begins, by the header of its object; ``None`` if it has none."""
    start = describing(address, 16)
    if start[:4] == b"OHDR":
        flags = start[5]
        at = address + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        size = int.from_bytes(describing(at, width), "little")
        return _find(describing, at + width, size, entry=6 if flags & 4 else 4, version=2)
    if start[:1] == b"\x01":
        size = struct.unpack_from("<I", start, 8)[0]
        return _find(describing, address + 16, size, entry=8, version=1)
    return None


def node_bytes(rank: int) -> int:
    """Return how many bytes of a node hold all of its entries, unless its file has made nodes larger."""
    key = 8 + 8 * (rank + 1)
    return 24 + _ENTRIES * 8 + (_ENTRIES + 1) * key


def node(body: bytes, rank: int) -> Node | None:
    """Return the node that begins with ``body``; ``None`` if it is none, or is larger.

    Raises:
        ValueError: It needs more bytes; the error's first argument is how many.
    """
    if len(body) < 24 or body[:4] != b"TREE" or body[4] != 1:
        return None
    level, used = body[5], struct.unpack_from("<H", body, 6)[0]
    key = 8 + 8 * (rank + 1)
    needed = 24 + used * (key + 8) + key
    if len(body) < needed:
        raise ValueError(needed)
    entry = np.dtype(
        [("size", "<u4"), ("mask", "<u4"), ("place", "<u8", (rank,)), ("of_value", "<u8"), ("child", "<u8")]
    )
    # The key at the end has no child: it is read as if it had, from bytes that are not looked at.
    found = np.frombuffer(body[24:needed] + bytes(8), entry)
    rows = found[:-1]
    return Node(level, found["place"].astype(np.uint64), rows["size"], rows["mask"], rows["child"])


def _find(describing: Describing, at: int, size: int, *, entry: int, version: int) -> int | None:
    """Return the address of the tree in the messages of a header, and of its continuations."""
    blocks, seen = [(at, size)], 0
    while blocks and seen < 64:
        at, size = blocks.pop(0)
        seen += 1
        body = describing(at, min(size, 1 << 20))
        place = 0
        while place + entry <= len(body):
            if version == 1:
                kind, length = struct.unpack_from("<HH", body, place)
            else:
                kind, length = body[place], struct.unpack_from("<H", body, place + 1)[0]
            message = body[place + entry : place + entry + length]
            if kind == _CONTINUATION and len(message) >= 16:
                where, how_long = struct.unpack_from("<QQ", message)
                # Blocks of version 2 have a signature before and a checksum after.
                blocks.append((where, how_long) if version == 1 else (where + 4, how_long - 8))
            elif kind == _LAYOUT and len(message) >= 11 and message[0] == 3 and message[1] == 2:
                address: int = struct.unpack_from("<Q", message, 3)[0]
                return None if address == _NOWHERE else address
            place += entry + length
    return None
