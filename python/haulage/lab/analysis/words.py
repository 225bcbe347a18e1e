"""Numbers for people: three digits and a unit. Sizes of files decimal, of blocks binary, rates decimal."""

from __future__ import annotations

import math

DECIMAL = ("B", "kB", "MB", "GB", "TB")
BINARY = ("B", "KiB", "MiB", "GiB", "TiB")


def size_words(size: float) -> str:
    """Return a size in the units in which it is a round number.

    >>> size_words(25_000_000), size_words(262144), size_words(1536)
    ('25 MB', '256 KiB', '1.5 KiB')
    """
    for step, units in ((1000, DECIMAL), (1024, BINARY)):
        value, unit = _scaled(size, step, units)
        if math.isclose(value * 4, round(value * 4), rel_tol=1e-9):
            return f"{value:g} {unit}"
    value, unit = _scaled(size, 1000, DECIMAL)
    return f"{value:.3g} {unit}"


def rate_words(bits_per_second: float) -> str:
    """Return a rate in bits per second.

    >>> rate_words(2_740_000), rate_words(6.9e9)
    ('2.74 Mbit/s', '6.9 Gbit/s')
    """
    value, unit = _scaled(bits_per_second, 1000, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"))
    return f"{value:.3g} {unit}"


def time_words(ns: float) -> str:
    """Return a duration.

    >>> time_words(61_750_000), time_words(111.6e9)
    ('61.8 ms', '112 s')
    """
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def _scaled(value: float, step: int, units: tuple[str, ...]) -> tuple[float, str]:
    place = 0
    while abs(value) >= step and place < len(units) - 1:
        value /= step
        place += 1
    return value, units[place]
