"""Values of rows as text of keys: numbers, times and the rest, each in one way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import Literal
from uuid import UUID

#: Ticks of 100 ns in a second, and in a day.
SECOND = 10_000_000
DAY = 86_400 * SECOND
#: Ticks from the year 1 to 1970.
EPOCH = date(1970, 1, 1).toordinal() * DAY - DAY

Kind = Literal["missing", "type", "range", "length", "text"]
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z?")


class BadKeyError(ValueError):
    """A row that gets no key.

    Attributes:
        kind: ``missing``, ``type``, ``range``, ``length`` or ``text``: what is wrong with the value or key.
        column: The column at fault.
        cause: Why, in words.
    """

    def __init__(self, kind: Kind, column: str, cause: str) -> None:
        super().__init__(f"{column}: {cause}" if column else cause)
        self.kind = kind
        self.column = column
        self.cause = cause


@dataclass(frozen=True, order=True)
class Moment:
    """A time in UTC to 100 ns, as the service keeps it; Python's own ends at microseconds.

    >>> iso(Moment.parse("2024-02-03T04:05:06.123456789Z").ticks)
    '2024-02-03T04:05:06.1234567Z'
    """

    ticks: int  #: of 100 ns since the beginning of the year 1

    @classmethod
    def parse(cls, text: str) -> Moment:
        """Return the moment that is written so; digits beyond the seventh are cut off."""
        found = _MOMENT.fullmatch(text)
        if not found:
            raise ValueError(f"no time: {text}")
        whole = as_ticks(datetime.fromisoformat(f"{found[1]}T{found[2]}"))
        return cls(whole + int((found[3] or "").ljust(7, "0")[:7]))


def ticks_of(value: object) -> int | None:
    """Return a time or date as ticks since the year 1, ``None`` if it is neither; without a zone it is UTC.

    Raises:
        BadKeyError: It is outside of the years 1 to 9999 in UTC.
    """
    if isinstance(value, Moment):
        return value.ticks
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            try:
                value = value.astimezone(UTC)
            except OverflowError:
                raise BadKeyError("range", "", "the time is not within the years 1 to 9999") from None
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return (value.toordinal() - 1) * DAY + seconds * SECOND + value.microsecond * 10
    if isinstance(value, date):
        return (value.toordinal() - 1) * DAY
    return None


def as_ticks(value: object) -> int:
    """Return a time or date as ticks since the year 1.

    Raises:
        BadKeyError: It is neither.
    """
    ticks = ticks_of(value)
    if ticks is None:
        raise BadKeyError("type", "", f"{_name(value)} is neither a time nor a date")
    return ticks


def iso(ticks: int) -> str:
    """Return a time as ISO 8601 writes it, with seven digits, in UTC.

    >>> iso(EPOCH)
    '1970-01-01T00:00:00.0000000Z'
    """
    if not 0 <= ticks < 3_155_378_976_000_000_000:
        raise BadKeyError("range", "", "the time is not within the years 1 to 9999")
    days, rest = divmod(ticks, DAY)
    return f"{date.fromordinal(days + 1).isoformat()}T{_clock(rest)}Z"


def _clock(ticks: int) -> str:
    seconds, rest = divmod(ticks, SECOND)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:07}"


def as_integer(value: object) -> int:
    """Return a whole number, also one that is written as a float or decimal.

    Raises:
        BadKeyError: It is none.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and isfinite(value) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    raise BadKeyError("type", "", f"{_name(value)} is not a whole number")


def text_of(value: object) -> str:
    r"""Return a value as text, each type in one way.

    >>> text_of(1e21), text_of(0.1), text_of(True), text_of(b"\x01\xff"), text_of(Decimal("1.50"))
    ('1000000000000000000000', '0.1', 'true', '01ff', '1.50')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, time) and value.tzinfo is None:
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return _clock(seconds * SECOND + value.microsecond * 10)
    ticks = ticks_of(value)
    if ticks is not None:
        return iso(ticks)
    raise BadKeyError("type", "", f"{_name(value)} has no text that can be a key")


def _float(value: float) -> str:
    if not isfinite(value):
        raise BadKeyError("range", "", f"{value} is no number")
    text = format(Decimal(repr(value)), "f").removesuffix(".0")
    return "0" if text == "-0" else text


def _name(value: object) -> str:
    return "the value" if value is None else f"a value of type {type(value).__name__}"
