"""Sizes, rates, durations and counts for people.

A value is shown in the largest unit that it reaches once it is rounded: 999.6 kbit/s are 1 Mbit/s. Sizes are
binary, but for those that people write in decimal units; rates are decimal, in bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
DECIMAL = ("B", "kB", "MB", "GB", "TB")
RATES = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s")
TIMES = ("ns", "us", "ms", "s")


def format_size(size_bytes: float) -> str:
    """Return a size in binary units, with one decimal.

    >>> format_size(3 * 2**30), format_size(1536), format_size(12), format_size(2**20 - 1)
    ('3.0 GiB', '1.5 KiB', '12 B', '1.0 MiB')
    """
    value, unit = _scaled(size_bytes, 1024, BINARY, lambda value: round(value, 1))
    return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"


def round_size(size_bytes: float) -> str:
    """Return a size in the units, binary or decimal, in which it is a round number.

    >>> round_size(25_000_000), round_size(262144), round_size(1536), round_size(999_999)
    ('25 MB', '256 KiB', '1.5 KiB', '1 MB')
    """
    for step, units in ((1000, DECIMAL), (1024, BINARY)):
        value, unit = _scaled(size_bytes, step, units, float)
        if math.isclose(value * 4, round(value * 4), rel_tol=1e-9):
            return f"{value:g} {unit}"
    return in_units(size_bytes, DECIMAL)


def format_rate(bits_per_second: float) -> str:
    """Return a rate.

    >>> format_rate(2_740_000), format_rate(940e6), format_rate(999.6e6), format_rate(0)
    ('2.74 Mbit/s', '940 Mbit/s', '1 Gbit/s', '0 bit/s')
    """
    return in_units(bits_per_second, RATES)


def format_duration(duration_ns: float) -> str:
    """Return a duration, from a minute on in two units.

    >>> [format_duration(seconds * 1e9) for seconds in (0.06, 4.23, 59.97, 95, 93_784)]
    ['60 ms', '4.2 s', '1 min 0 s', '1 min 35 s', '1 d 2 h']
    """
    milliseconds = round(max(0.0, duration_ns) / 1e6)
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1000:.1f} s"
    seconds = max(60, milliseconds // 1000)
    for unit, long, below, short in (("d", 86_400, "h", 3600), ("h", 3600, "min", 60)):
        if seconds >= long:
            return f"{seconds // long} {unit} {seconds % long // short} {below}"
    return f"{seconds // 60} min {seconds % 60} s"


def format_time(duration_ns: float) -> str:
    """Return a duration in one unit, with three digits.

    >>> format_time(61_750_000), format_time(111.6e9), format_time(999.6e6), format_time(3)
    ('61.8 ms', '112 s', '1 s', '3 ns')
    """
    return in_units(duration_ns, TIMES)


def time_words(ns: float) -> str:
    """Return a duration; from a hundred seconds on in minutes and hours.

    >>> time_words(2.5e9), time_words(6250e9)
    ('2.5 s', '1 h 44 min')
    """
    return format_duration(ns) if ns >= 100e9 else format_time(ns)


def in_units(value: float, units: Sequence[str]) -> str:
    """Return a value with three digits, in the largest of units, each a thousand of the one before.

    >>> in_units(1e7, TIMES), in_units(123_456e9, TIMES)
    ('10 ms', '123,456 s')
    """
    scaled, unit = _scaled(value, 1000, units, lambda value: float(f"{value:.3g}"))
    return f"{digits(scaled)} {unit}"


def _scaled(
    value: float, step: int, units: Sequence[str], rounded: Callable[[float], float]
) -> tuple[float, str]:
    place = 0
    while abs(rounded(value)) >= step and place < len(units) - 1:
        value /= step
        place += 1
    return value, units[place]


def digits(value: float) -> str:
    """Return three digits, without an exponent where people do without.

    >>> digits(12345.6), digits(1.2345), digits(0.0001234), digits(1e-9), digits(0)
    ('12,346', '1.23', '0.000123', '1.00e-09', '0')
    """
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.3g}"
    return text if "e" not in text else f"{value:.2e}"


def format_count(number: float) -> str:
    """Return a whole number with separators.

    >>> format_count(1234567)
    '1,234,567'
    """
    return f"{number:,.0f}"


def percent(share: float) -> str:
    """Return a share in words: never 0 % or 100 % of what is neither."""
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.995 <= share < 1:
        return "over 99 %"
    return f"{share:.0%}".replace("%", " %")


def counted(number: float, one: str, several: str | None = None) -> str:
    """Return a number of things in words; ``several`` is the plural if it is not ``one`` with an ``s``.

    >>> counted(1, "request"), counted(1234, "row"), counted(0, "query", "queries")
    ('1 request', '1,234 rows', '0 queries')
    """
    return f"{format_count(number)} {one if number == 1 else several or one + 's'}"
