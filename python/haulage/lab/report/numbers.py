"""Numbers as the cards print them: with a unit that reads well, and with what bounds them."""

from __future__ import annotations

from haulage.lab.report.charts import scale_of
from haulage.words.numbers import digits, round_size

#: A unit of the analysis, and the one of :func:`scale_of` that it is.
_SCALED = {"bits_per_second": "bit/s", "bit/s": "bit/s", "ns": "ns"}


def number(value: float | None, unit: str) -> tuple[str, str]:
    """Return a value and its unit as people write them.

    >>> number(262144000.0, "bit/s"), number(None, "ns")
    (('262', 'Mbit/s'), ('not determined', ''))
    """
    if value is None:
        return "not determined", ""
    if unit in _SCALED:
        divisor, name = scale_of([abs(value)], _SCALED[unit])
        return digits(value / divisor), name
    if unit in ("bytes", "B"):
        text, _, name = round_size(round(value)).partition(" ")
        return text, name
    if unit == "share":
        return digits(value * 100), "%"
    return digits(value), unit


def interval(value: float | None, low: float | None, high: float | None, unit: str, level: float) -> str:
    """Return the bounds in the unit of the value, and their level; or that there are none.

    >>> interval(2e8, 1.9e8, 2.2e8, "bit/s", 0.969)
    '190 to 220 Mbit/s, 97 % interval'
    """
    if value is None or low is None or high is None:
        return "no interval"
    if unit in _SCALED:
        divisor, name = scale_of([abs(value)], _SCALED[unit])
        return f"{digits(low / divisor)} to {digits(high / divisor)} {name}, {level:.0%} interval".replace(
            "%", " %"
        )
    below, above = number(low, unit), number(high, unit)
    first = below[0] if below[1] == above[1] else " ".join(below)
    return f"{first} to {' '.join(above).strip()}, {level * 100:.0f} % interval"
