"""The codecs of Zarr, backwards: from the bytes of a chunk to its values."""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

from haulage.errors import HaulageError, IntegrityError, UnsupportedError
from haulage.view.decode.filters import MOST_CHUNK_BYTES
from haulage.view.index.model import Keyed

_HINT = "copy the store again from an intact original"
#: The codecs of version 3 that numcodecs decodes under the same name, with nothing to configure.
_BYTES = frozenset({"gzip", "zstd", "blosc", "zlib", "lz4", "bz2"})
#: What names the codecs of numcodecs itself in version 3.
_OTHERS = "numcodecs."
_CHECKSUM_BYTES = 4
#: What codecs of others raise for bytes that are not theirs.
_DAMAGED = (
    ValueError,
    ArithmeticError,
    LookupError,
    RuntimeError,
    OSError,
    TypeError,
    EOFError,
    AttributeError,
    MemoryError,
    zlib.error,
    struct.error,
)


class Shard(NamedTuple):
    """How the chunks within an object of several lie."""

    chunk: tuple[int, ...]  #: the shape of each
    codecs: str  #: of each, as JSON
    at_end: bool  #: whether the table of them comes last
    table_bytes: int
    checked: bool  #: whether a checksum follows the table


def decoded(body: bytes, layout: Keyed, dtype: np.dtype[Any], name: str) -> np.ndarray[Any, Any]:
    """Return the values of one chunk.

    Args:
        body: As it is stored.
        layout: The codecs, and the shape of a chunk.
        dtype: Of the values.
        name: Of the variable, for errors.

    Raises:
        UnsupportedError: A codec that is not there, or a chunk that is too large.
        IntegrityError: The bytes are not what their codec writes.
    """
    size = math.prod(layout.chunk) * dtype.itemsize
    if size > MOST_CHUNK_BYTES:
        cause = f"its chunks are too large: {size:,} bytes each, {MOST_CHUNK_BYTES:,} at most"
        raise UnsupportedError("read", name, cause, "write it again with smaller chunks, with xarray")
    codecs = json.loads(layout.codecs)
    try:
        if layout.version == 2:
            return _version_2(body, codecs, layout.chunk, dtype, name)
        return _version_3(body, codecs, layout.chunk, dtype, name)
    except HaulageError:
        raise
    except _DAMAGED as error:
        raise IntegrityError("read", name, f"its bytes are damaged: {str(error)[:120]}", _HINT) from None


def unpacked(body: bytes, layout: Keyed, name: str) -> bytes:
    """Return the bytes of a chunk before they were compressed.

    Raises:
        UnsupportedError: A codec that is not there.
        IntegrityError: The bytes are not what their codec writes.
    """
    said = json.loads(layout.codecs)
    try:
        if layout.version == 3:
            return _plain_3(body, said[1:], name)
        return _plain_2(body, said, name)
    except HaulageError:
        raise
    except _DAMAGED as error:
        raise IntegrityError("read", name, f"its bytes are damaged: {str(error)[:120]}", _HINT) from None


def array_of(body: bytes, config: dict[str, Any], layout: Keyed, name: str) -> np.ndarray[Any, Any]:
    """Return the values that a codec of numcodecs makes of bytes.

    Raises:
        IntegrityError: The bytes are not what it writes.
    """
    try:
        number = math.prod(layout.chunk)
        # The count stands first, and is believed no further than it fits: room is made for so many.
        if str(config.get("id")).startswith("vlen") and int.from_bytes(body[:4], "little") != number:
            raise ValueError(f"it does not hold {number:,} texts")
        return np.asarray(_codec(config, name).decode(body), object).reshape(layout.chunk)
    except _DAMAGED as error:
        raise IntegrityError("read", name, f"its bytes are damaged: {str(error)[:120]}", _HINT) from None


def sharding(layout: Keyed) -> Shard | None:
    """Return how several chunks lie in one object; ``None`` if each is an object of its own."""
    codecs = json.loads(layout.codecs) if layout.version == 3 else []
    if not codecs or codecs[0]["name"] != "sharding_indexed":
        return None
    said = codecs[0]["configuration"]
    chunk = tuple(map(int, said["chunk_shape"]))
    number = math.prod(whole // part for whole, part in zip(layout.chunk, chunk, strict=True))
    checked = any(one["name"] == "crc32c" for one in said.get("index_codecs", []))
    size = number * 16 + (_CHECKSUM_BYTES if checked else 0)
    return Shard(chunk, json.dumps(said["codecs"]), said.get("index_location", "end") == "end", size, checked)


def shard_table(body: bytes, shard: Shard, whole: tuple[int, ...]) -> dict[tuple[int, ...], tuple[int, int]]:
    """Return where each chunk of a shard that was written lies: its first byte and its size."""
    grid = tuple(length // part for length, part in zip(whole, shard.chunk, strict=True))
    rows = np.frombuffer(body[: math.prod(grid) * 16], "<u8").reshape(*grid, 2)
    if shard.checked and crc32c(body[:-_CHECKSUM_BYTES]) != struct.unpack("<I", body[-_CHECKSUM_BYTES:])[0]:
        raise IntegrityError("read", "shard", "the checksum of its table is wrong", _HINT)
    return {
        place: (int(rows[place][0]), int(rows[place][1]))
        for place in np.ndindex(*grid)
        if rows[place][0] != 2**64 - 1
    }


def crc32c(body: bytes) -> int:
    """Return the checksum of Castagnoli, of short texts: byte by byte.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    found = 0xFFFFFFFF
    for byte in body:
        found ^= byte
        for _ in range(8):
            found = found >> 1 ^ (0x82F63B78 if found & 1 else 0)
    return found ^ 0xFFFFFFFF


def _codec(config: dict[str, Any], name: str) -> Any:
    import numcodecs
    from numcodecs.errors import UnknownCodecError

    try:
        return numcodecs.get_codec(dict(config))
    except (UnknownCodecError, ImportError):
        cause = f"it is compressed with a codec that is not installed: {config.get('id')}"
        raise UnsupportedError("read", name, cause, "write it again with zstd") from None


def _version_2(
    body: bytes, codecs: dict[str, Any], chunk: tuple[int, ...], dtype: np.dtype[Any], name: str
) -> np.ndarray[Any, Any]:
    values = np.frombuffer(_plain_2(body, codecs, name), dtype)
    return values.reshape(chunk, order=codecs["order"] or "C")


def _plain_2(body: bytes, codecs: dict[str, Any], name: str) -> bytes:
    found: Any = body
    for config in [codecs["compressor"], *reversed(codecs["filters"] or [])]:
        if config is not None:
            found = _codec(config, name).decode(found)
    return found if isinstance(found, bytes) else np.ascontiguousarray(found).tobytes()


def _version_3(
    body: bytes, codecs: list[dict[str, Any]], chunk: tuple[int, ...], dtype: np.dtype[Any], name: str
) -> np.ndarray[Any, Any]:
    names = [one["name"] for one in codecs]
    place = names.index("bytes")
    body = _plain_3(body, codecs[place + 1 :], name)
    endian = codecs[place].get("configuration", {}).get("endian", "little")
    # What the values pass before they are bytes, in order: how they were turned, or the codec.
    passed: list[tuple[int, ...] | Any] = []
    shape, stored = chunk, dtype
    for one in codecs[:place]:
        if one["name"] == "transpose":
            order = tuple(map(int, one["configuration"]["order"]))
            passed.append(order)
            shape = tuple(shape[axis] for axis in order)
        elif one["name"].startswith(_OTHERS):
            config = {key: value for key, value in one.get("configuration", {}).items() if value is not None}
            passed.append(_codec({**config, "id": one["name"].removeprefix(_OTHERS)}, name))
            stored = np.dtype(config.get("astype") or config.get("dtype") or stored)
        else:
            cause = f"its values use an unsupported codec: {one['name']}"
            raise UnsupportedError("read", name, cause, "write it again without it")
    values = np.frombuffer(body, stored.newbyteorder(">" if endian == "big" else "<")).reshape(shape)
    for step in reversed(passed):
        if isinstance(step, tuple):
            values = values.transpose(np.argsort(step))
        else:
            values = np.asarray(step.decode(values.astype(stored, copy=False))).reshape(values.shape)
    return values.astype(dtype, copy=False)


def _plain_3(body: bytes, codecs: list[dict[str, Any]], name: str) -> bytes:
    for one in reversed(codecs):
        if one["name"] == "crc32c":
            body = _checked(body, name)
        elif one["name"] in _BYTES or one["name"].startswith(_OTHERS):
            config = one.get("configuration", {}) if one["name"].startswith(_OTHERS) else {}
            found = _codec({**config, "id": one["name"].removeprefix(_OTHERS)}, name).decode(body)
            body = found if isinstance(found, bytes) else np.ascontiguousarray(found).tobytes()
        else:
            cause = f"it is compressed with an unsupported codec: {one['name']}"
            raise UnsupportedError("read", name, cause, "write it again with zstd")
    return body


def _checked(body: bytes, name: str) -> bytes:
    """Return bytes without the checksum after them, which they must have."""
    try:
        from google_crc32c import value
    except ImportError:
        cause = "its checksums are CRC-32C (Castagnoli)"
        raise UnsupportedError("read", name, cause, "pip install google-crc32c") from None
    if value(body[:-_CHECKSUM_BYTES]) != struct.unpack("<I", body[-_CHECKSUM_BYTES:])[0]:
        raise ValueError("the checksum of a chunk is wrong")
    return body[:-_CHECKSUM_BYTES]
