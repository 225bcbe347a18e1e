"""CRC-64/NVME by its definition, bit by bit: an oracle that shares nothing with the engine."""

from __future__ import annotations

from typing import Any

POLYNOMIAL = 0x9A6C9329AC4BC9B5
ONES = (1 << 64) - 1


def _entry(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)
    return value


TABLE = [_entry(value) for value in range(256)]


#: So many bytes are looked at in so many lanes at once: one by one, a mebibyte takes a quarter of a second.
LARGE, LANES = 1 << 20, 1 << 12


def crc64(data: bytes) -> int:
    """Return the checksum.

    >>> hex(crc64(b"123456789"))
    '0xae8b14860a799888'
    >>> much = bytes(range(251)) * 4500
    >>> crc64(much) == _after(much, ONES) ^ ONES
    True
    """
    if len(data) < LARGE:
        return _after(data, ONES) ^ ONES
    length = len(data) // LANES
    whole = length * LANES
    return _after(data[whole:], _after_lanes(data[:whole], length)) ^ ONES


def _after(data: bytes, value: int) -> int:
    """Return what the register holds after these bytes."""
    for byte in data:
        value = (value >> 8) ^ TABLE[(value ^ byte) & 0xFF]
    return value


def _after_lanes(data: bytes, length: int) -> int:
    """Return the same for lanes of this length, the first begun with ones and the others with zeros: what a
    register held before and what follows do not mix.
    """
    import numpy as np

    table, byte = np.array(TABLE, np.uint64), np.uint64(8)
    held = np.zeros(LANES, np.uint64)
    held[0] = ONES
    # What becomes of each bit of a register while as many zeros follow.
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    for column in np.frombuffer(data, np.uint8).reshape(LANES, length).T.astype(np.uint64):
        held = (held >> byte) ^ table[(held ^ column) & np.uint64(0xFF)]
        bits = (bits >> byte) ^ table[bits & np.uint64(0xFF)]
    while len(held) > 1:
        held = _moved(held[0::2], bits) ^ held[1::2]
        bits = _moved(bits, bits)
    return int(held[0])


def _moved(held: Any, bits: Any) -> Any:
    """Return registers as they are after the zeros that made `bits` of each bit."""
    moved = held & held.dtype.type(0)
    for number, bit in enumerate(bits):
        moved = moved ^ (held >> held.dtype.type(number) & held.dtype.type(1)) * bit
    return moved
