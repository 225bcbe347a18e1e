"""The filters of HDF5, backwards: from the bytes of a chunk to its values."""

from __future__ import annotations

import bz2
import math
import struct
import zlib
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

import h5py
import numpy as np

from haulage.errors import HaulageError, IntegrityError, UnsupportedError
from haulage.view.index.hdf5 import _LOCK as LIBRARY
from haulage.view.index.model import Chunked

DEFLATE, SHUFFLE, FLETCHER32, BZIP2, LZ4, BLOSC, ZSTD = 1, 2, 3, 307, 32004, 32001, 32015
#: What people call the filters that no wheel of ours has.
_NAMES = {4: "szip", 5: "nbit", 6: "scaleoffset", 32000: "lzf", 32008: "bitshuffle", 32013: "zfp",
          32017: "sz", 32019: "jpeg", 32024: "sz3", 32026: "blosc2"}  # fmt: skip
#: What some writers state as the ratio at which a chunk expands is a bound for others.
MOST_CHUNK_BYTES = 128 << 20


def decoded(body: bytes, mask: int, layout: Chunked, dtype: np.dtype[Any], name: str) -> np.ndarray[Any, Any]:
    """Return the values of one chunk.

    Args:
        body: As it is stored.
        mask: The filters that it did not pass, a bit each.
        layout: The filters, and the shape of a chunk.
        dtype: Of the values.
        name: Of the variable, for errors.

    Raises:
        UnsupportedError: A filter that is not there, or a chunk that is too large.
        IntegrityError: The bytes are not those of their checksum, or not what their filter writes.
    """
    size = math.prod(layout.chunk) * dtype.itemsize
    if size > MOST_CHUNK_BYTES:
        cause = f"its chunks are too large: {size:,} bytes each, {MOST_CHUNK_BYTES:,} at most"
        raise UnsupportedError("read", name, cause, "write it again with smaller chunks, with nccopy -c")
    passed = [one for place, one in enumerate(layout.filters) if not mask >> place & 1]
    try:
        if any(code not in _KNOWN for code, _ in passed):
            return _by_library(body, mask, layout, dtype, name)
        for code, values in reversed(passed):
            body = _KNOWN[code](body, values, size + 64, dtype.itemsize)
    except HaulageError:
        raise
    except (
        ValueError,
        RuntimeError,
        zlib.error,
        OSError,
        struct.error,
        LookupError,
        ArithmeticError,
        MemoryError,
    ) as error:
        raise _broken(name, str(error)) from None
    if len(body) != size:
        raise _broken(name, f"a chunk has {len(body)} bytes, not {size}")
    return np.frombuffer(body, dtype).reshape(layout.chunk)


def missing(layout: Chunked) -> str | None:
    """Return the name of the first filter that is not there; ``None`` if all are."""
    _add_plugins()
    for code, _ in layout.filters:
        if code not in _KNOWN and not h5py.h5z.filter_avail(code):
            return f"{_NAMES.get(code, 'number')} ({code})" if code in _NAMES else f"number {code}"
    return None


@cache
def _add_plugins() -> None:
    """Have HDF5 know the filters of hdf5plugin, if that is installed: importing it is enough."""
    with suppress(ImportError):
        import_module("hdf5plugin")


def _deflate(body: bytes, _values: tuple[int, ...], most: int, _item: int) -> bytes:
    stream = zlib.decompressobj()
    found = stream.decompress(body, most)
    if not stream.eof and len(found) < most:
        raise ValueError("its compressed bytes end too early")
    return found


def _shuffle(body: bytes, values: tuple[int, ...], _most: int, item: int) -> bytes:
    width = values[0] if values else item
    if width < 2 or len(body) < width:
        return body
    whole = len(body) // width * width
    planes = np.frombuffer(body[:whole], np.uint8).reshape(width, -1)
    return planes.T.tobytes() + body[whole:]


def _fletcher32(body: bytes, _values: tuple[int, ...], _most: int, _item: int) -> bytes:
    data, stated = body[:-4], struct.unpack("<I", body[-4:])[0]
    if stated not in (fletcher32(data), _swapped(fletcher32(data))):
        raise ValueError("the checksum of a chunk is wrong")
    return data


def fletcher32(data: bytes) -> int:
    """Return the checksum that HDF5 computes of a chunk: two sums of words of 16 bits, modulo 65535.

    >>> hex(fletcher32(b"abcd"))
    '0x2629c4c6'
    """
    words = np.frombuffer(data[: len(data) // 2 * 2], ">u2").astype(np.uint64)
    if len(data) % 2:
        words = np.append(words, np.uint64(data[-1] << 8))
    number = len(words)
    first = int(words.sum())
    # Each word is in as many of the sums as there are words from it on.
    weights = np.arange(number, 0, -1, dtype=np.uint64) % np.uint64(65535)
    second = int(((words * weights) % np.uint64(65535)).sum())
    return _folded(second) << 16 | _folded(first)


def _folded(total: int) -> int:
    # 65535 stands for zero unless all words were zero.
    return total % 65535 or (65535 if total else 0)


def _swapped(sums: int) -> int:
    # HDF5 before 1.6.3 swapped the bytes of each sum on small-endian machines.
    return int.from_bytes(struct.pack("<HH", *struct.unpack(">HH", struct.pack(">I", sums))), "big")


def _bzip2(body: bytes, _values: tuple[int, ...], most: int, _item: int) -> bytes:
    return bz2.BZ2Decompressor().decompress(body, most)


def _zstd(body: bytes, _values: tuple[int, ...], most: int, _item: int) -> bytes:
    from numcodecs import zstd

    return bytes(zstd.decompress(body, bytearray(most - 64)))


def _blosc(body: bytes, _values: tuple[int, ...], most: int, _item: int) -> bytes:
    from numcodecs import blosc

    # The header tells the size of what comes out, which is believed no further than it fits.
    if struct.unpack_from("<I", body, 4)[0] > most:
        raise ValueError("a chunk is larger than it should be")
    return bytes(blosc.decompress(body))


def _lz4(body: bytes, _values: tuple[int, ...], most: int, _item: int) -> bytes:
    from numcodecs import lz4

    total, block = struct.unpack_from(">QI", body)
    if total > most or block == 0:
        raise ValueError("a chunk is larger than it should be")
    at, left, found = 12, total, []
    while left:
        size, whole = struct.unpack_from(">I", body, at)[0], min(block, left)
        part = body[at + 4 : at + 4 + size]
        found.append(part if size == whole else bytes(lz4.decompress(struct.pack("<I", whole) + part)))
        at, left = at + 4 + size, left - whole
    return b"".join(found)


_KNOWN = {
    DEFLATE: _deflate, SHUFFLE: _shuffle, FLETCHER32: _fletcher32, BZIP2: _bzip2, ZSTD: _zstd,
    BLOSC: _blosc, LZ4: _lz4,
}  # fmt: skip


def _by_library(
    body: bytes, mask: int, layout: Chunked, dtype: np.dtype[Any], name: str
) -> np.ndarray[Any, Any]:
    """Decode a chunk with HDF5's own filters: it becomes the only one of a file in memory."""
    absent = missing(layout)
    if absent is not None:
        cause = f"it is compressed with a filter that is not installed: {absent}"
        raise UnsupportedError("read", name, cause, "pip install hdf5plugin, or write it again with deflate")
    with LIBRARY, h5py.File("chunk", "w", driver="core", backing_store=False) as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(layout.chunk)
        for code, values in layout.filters:
            plist.set_filter(code, h5py.h5z.FLAG_OPTIONAL, values)
        kind = h5py.h5t.py_create(dtype)
        made = h5py.h5d.create(file.id, b"chunk", kind, h5py.h5s.create_simple(layout.chunk), plist)
        made.write_direct_chunk((0,) * len(layout.chunk), body, mask)
        return np.asarray(h5py.Dataset(made)[()])


def _broken(name: str, cause: str) -> IntegrityError:
    hint = "copy the file again from an intact original, and compare with haul verify"
    return IntegrityError("read", name, f"its bytes are damaged: {cause}", hint)
