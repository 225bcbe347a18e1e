"""CRC-64/NVME by its definition, bit by bit: an oracle that shares nothing with the engine."""

from __future__ import annotations

POLYNOMIAL = 0x9A6C9329AC4BC9B5
ONES = (1 << 64) - 1


def _entry(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)
    return value


TABLE = [_entry(value) for value in range(256)]


def crc64(data: bytes) -> int:
    """Return the checksum.

    >>> hex(crc64(b"123456789"))
    '0xae8b14860a799888'
    """
    value = ONES
    for byte in data:
        value = (value >> 8) ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ ONES
