"""Times for people, and text of several lines made fit for a terminal."""

from __future__ import annotations

from datetime import UTC, datetime

from haulage.words.printable import printable


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
