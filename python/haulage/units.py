"""Values with units, in human-readable form."""

from __future__ import annotations

#: Units of bytes, and of rates in bits a second, the largest first.
BYTES = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
BITS = (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3))


def in_units(value: float, units: tuple[tuple[str, float], ...], one: str, digits: str) -> str:
    """Return a value in the largest unit that it reaches, or as a whole number of ``one``.

    >>> in_units(3 * 2**30, BYTES, "B", ".1f"), in_units(12, BYTES, "B", ".1f")
    ('3.0 GiB', '12 B')
    """
    for unit, scale in units:
        if value >= scale:
            return f"{value / scale:{digits}} {unit}"
    return f"{value:.0f} {one}"


def counted(number: float, one: str, several: str | None = None) -> str:
    """Return a number of things in words; ``several`` is the plural if it is not ``one`` with an ``s``.

    >>> counted(1, "request"), counted(1234, "row"), counted(0, "query", "queries")
    ('1 request', '1,234 rows', '0 queries')
    """
    return f"{number:,.0f} {one if number == 1 else several or one + 's'}"


def format_rate(bits_per_second: float) -> str:
    """Return a human-readable rate, with a decimal unit.

    >>> format_rate(2.5e9), format_rate(940e6), format_rate(0)
    ('2.5 Gbit/s', '940 Mbit/s', '0 bit/s')
    """
    return in_units(bits_per_second, BITS, "bit/s", ".3g")
