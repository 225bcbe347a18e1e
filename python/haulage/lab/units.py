"""Sizes, rates and durations of plans: text with a unit in, plain numbers with the unit in their name out.

They mean what they mean to the engine (``crates/haulage/src/units.rs``): sizes are bytes (``1MiB`` or ``1M``
binary, ``100MB`` decimal), rates bits per second (``20mbit``, ``100MiB/s``), durations nanoseconds (``30s``).
A number without a unit is refused: it is the one that is misread. Only plans add durations in pieces
(``9m30s``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from haulage.errors import UsageError

_SIZES = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
#: Without regard to case; a letter alone is binary, as dd, rclone and AzCopy read it.
_SIZES_READ = {name.lower(): size for name, size in _SIZES.items()} | {
    name[0].lower(): size for name, size in _SIZES.items() if len(name) == 3
}
_RATES = {
    "bit": 1,
    "kbit": 10**3,
    "mbit": 10**6,
    "gbit": 10**9,
    **{name.lower(): 8 * size for name, size in _SIZES.items() if name != "TiB"},
}
_DURATIONS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86_400 * 10**9,
    "w": 7 * 86_400 * 10**9,
}
#: The engine counts in 64 bits.
_MOST = 2**64 - 1
_PARTS = re.compile(r"([0-9.]*)\s*(.*)", re.DOTALL)
_NUMBER = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_PIECES = re.compile(r"(?:(?:\d+(?:\.\d+)?)(?:w|d|h|ms|us|ns|m|s)\s*){2,}", re.ASCII)
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(w|d|h|ms|us|ns|m|s)", re.ASCII)


def parse_size(text: str) -> int:
    """Return bytes for text such as ``"1MiB"``, ``"8M"`` or ``"500KB"``.

    >>> parse_size("1MiB"), parse_size("100MB")
    (1048576, 100000000)

    Raises:
        UsageError: No unit, or none that is known.
    """
    return _parse(text, _SIZES_READ, "size", ("KiB", "MiB"), str.lower)


def parse_rate(text: str) -> int:
    """Return bits per second for text such as ``"20mbit"`` or ``"100MiB/s"``.

    Raises:
        UsageError: No unit, or none that is known.
    """
    return _parse(text, _RATES, "rate", ("mbit", "MiB/s"), lambda unit: unit.lower().removesuffix("/s"))


def parse_duration(text: str, examples: tuple[str, str] = ("s", "m")) -> int:
    """Return nanoseconds for text such as ``"30s"``, ``"200ms"`` or ``"9m30s"``.

    A hint names the units in ``examples``.

    >>> parse_duration("9m30s")
    570000000000

    Raises:
        UsageError: No unit, or none that is known.
    """
    if _PIECES.fullmatch(text.strip()):
        pieces = [parse_duration(number + unit) for number, unit in _PIECE.findall(text)]
        if sum(pieces) <= _MOST:
            return sum(pieces)
    return _parse(text, _DURATIONS, "duration", examples, str)


def _parse(
    text: str, units: Mapping[str, int], what: str, examples: tuple[str, str], read: Callable[[str], str]
) -> int:
    match = _PARTS.fullmatch(text.strip())
    number, unit = (match[1], match[2]) if match else ("", "")
    # Some letters outside ASCII become one of it in lower case.
    scale = units.get(read(unit)) if unit.isascii() else None
    value = _scaled(number, scale) if scale is not None and _NUMBER.fullmatch(number) else None
    if value is not None and value <= _MOST:
        return value
    # A hint with a zero in it would be refused as well.
    shown = number if _NUMBER.fullmatch(number) and float(number) > 0 else "8"
    first, second = (f"{shown}{unit}" for unit in examples)
    hint = f"write {first} or {second}"
    if what == "duration" and unit:
        # Who writes `3months` has never meant three minutes.
        hint = "the units are ms, s, m (minutes), h, d and w: write 30m or 7d"
    raise UsageError("parse", text, f"not a {what} with a unit", hint)


def _scaled(number: str, scale: int) -> int | None:
    """Return the product, rounded half away from zero as the engine rounds; ``None`` far beyond 64 bits."""
    if len(number) > 40:
        return None
    if number.isdecimal():
        return int(number) * scale
    product = float(number) * scale
    whole = math.floor(product)
    return whole + (product - whole >= 0.5)


def spell_size(size_bytes: float) -> str:
    """Return the shortest exact name of a size, for names of treatments and files.

    >>> spell_size(1048576), spell_size(100_000_000), spell_size(512_000)
    ('1MiB', '100MB', '512KB')
    """
    exact = [f"{size_bytes:.0f}B"]
    for unit, scale in _SIZES.items():
        share = size_bytes / scale
        if share >= 1 and share == round(share, 1):
            exact.append(f"{share:.1f}".removesuffix(".0") + unit)
    return min(exact, key=len)


def spell_duration(duration_ns: int) -> str:
    """Return a duration as plans write it, exactly.

    >>> spell_duration(570_000_000_000), spell_duration(100_000_000)
    ('570s', '100ms')
    """
    for unit in ("s", "ms", "us"):
        if duration_ns % _DURATIONS[unit] == 0:
            return f"{duration_ns // _DURATIONS[unit]}{unit}"
    return f"{duration_ns}ns"
