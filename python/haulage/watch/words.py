"""Sizes, rates, durations and times for people, and text of several lines made fit for a terminal."""

from __future__ import annotations

from datetime import UTC, datetime

from haulage.printable import printable
from haulage.units import BYTES, in_units


def size(size_bytes: float) -> str:
    """Return a size, in binary units.

    >>> size(3 * 2**30), size(1536), size(12)
    ('3.0 GiB', '1.5 KiB', '12 B')
    """
    return in_units(size_bytes, BYTES, "B", ".1f")


def duration(duration_ns: float) -> str:
    """Return a duration with two units at most.

    >>> duration(95e9), duration(4.2e9), duration(60e6), duration(93_784e9)
    ('1 min 35 s', '4.2 s', '60 ms', '1 d 2 h')
    """
    seconds = max(0.0, duration_ns / 1e9)
    whole = int(seconds)
    if whole >= 86_400:
        return f"{whole // 86_400} d {whole % 86_400 // 3600} h"
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60} s"
    if seconds >= 10:
        return f"{seconds:.0f} s"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.0f} ms"


def count(number: int) -> str:
    """Return a number with separators.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,}"


def stamp(unix_ns: int) -> str:
    """Return a moment in UTC to the microsecond, as RFC 3339 writes it.

    >>> stamp(1_700_000_000_123_456_789)
    '2023-11-14T22:13:20.123456Z'
    """
    seconds, rest = divmod(unix_ns, 1_000_000_000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"


def clock(unix_ns: int) -> str:
    """Return the local time of day; empty where it is no time.

    >>> len(clock(1_700_000_000_123_456_789))
    8
    """
    try:
        return datetime.fromtimestamp(unix_ns // 1_000_000_000).strftime("%H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return ""


def block(text: str) -> str:
    """Return text of several lines made printable, its lines kept."""
    return "\n".join(printable(line) for line in text.splitlines())
