"""Labels along axes: times by their calendar, numbers, texts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import numpy as np

from haulage.view.cf.axes import is_time
from haulage.view.index.model import Variable

#: Units of months, or of years in the first group: cftime takes them in calendars of 360 days only.
_SINCE = re.compile(r"\s+since\s+", re.IGNORECASE)
_YEAR_ZERO = re.compile(r"\bsince\s+[+-]?0+(?:-|\s|$)", re.IGNORECASE)
_MONTHS = re.compile(r"(?:(years?|yrs?)|months?|mons?)")
#: Units that cftime does not know, as ones that it knows.
_OTHERS = {
    "nanosecond": (1e-3, "microseconds"), "nanoseconds": (1e-3, "microseconds"), "ns": (1e-3, "microseconds"),
    "week": (7.0, "days"), "weeks": (7.0, "days"),
}  # fmt: skip
#: Units in which a number is a date itself, as CDO writes them: ``20000131.5``.
_AS_DIGITS = "day as %Y%m%d"
#: A year of more digits is none.
_MOST_MONTHS = 1e5
#: Whole numbers up to this are written with all their digits.
_WHOLE = 1e15
#: More labels than this are not sent with a file.
MOST_LABELS = 10_000


def labels(values: np.ndarray[Any, Any], variable: Variable) -> list[str]:
    """Return a label for each value of a coordinate; times as dates of the variable's own calendar."""
    units = variable.attribute("units")
    if values.dtype.kind == "S":
        return [text.rstrip() for text in texts(values)]
    if is_time(units) and values.dtype.kind in "iuf":
        assert units is not None
        found = dates(values, units, variable.attribute("calendar") or "standard")
        if found is not None:
            return found
    if units is not None and units.startswith(_AS_DIGITS) and values.dtype.kind in "iuf":
        return [_of_digits(float(value)) for value in values.ravel().tolist()]
    return [_number(value) for value in values.ravel().tolist()]


def dates(values: np.ndarray[Any, Any], units: str, calendar: str) -> list[str] | None:
    """Return times as ``2000-02-30 12:00``, also of 360 days and without leap years.

    >>> dates(np.array([59.5]), "days since 2000-01-01", "360_day")
    ['2000-02-30 12:00']
    >>> dates(np.array([1.0]), "days since the flood", "standard") is None
    True
    >>> dates(np.array([1.0, 9.97e36]), "Hours since 2000-01-01", "standard")
    ['2000-01-01 01:00', '9.97e+36']
    """
    flat = np.asarray(values, np.float64).ravel()
    good, calendar = np.isfinite(flat), calendar.lower()
    numbers = np.where(good, flat, 0)
    with _no_warning():
        return _named(flat, numbers, good, units, calendar)


def why_no_dates(variable: Variable) -> str | None:
    """Return why the times of a variable cannot be dates; ``None`` if they can, or are not times."""
    units, calendar = variable.attribute("units"), variable.attribute("calendar") or "standard"
    if units is None or " since " not in units.lower() or dates(np.zeros(1), units, calendar) is not None:
        return None
    return f"its units are not a time in the calendar {calendar}: {units}"


def _named(
    flat: np.ndarray[Any, Any],
    numbers: np.ndarray[Any, Any],
    good: np.ndarray[Any, Any],
    units: str,
    calendar: str,
) -> list[str] | None:
    found = _dated(numbers, units, calendar)
    if found is None:
        if _dated(np.zeros(1), units, calendar) is None:
            return None
        # One that was never written, say, is beyond all calendars; the others are dates all the same.
        found = [(_dated(numbers[at : at + 1], units, calendar) or [None])[0] for at in range(len(flat))]
    shown = [
        _number(value) if date is None else _shown(date) if known else ""
        for date, known, value in zip(found, good.tolist(), flat.tolist(), strict=True)
    ]
    clocks = [text for text, date in zip(shown, found, strict=True) if text and date is not None]
    if clocks and all(text.endswith(" 00:00") for text in clocks):
        return [text.removesuffix(" 00:00") for text in shown]
    return shown


def _dated(flat: np.ndarray[Any, Any], units: str, calendar: str) -> list[Any] | None:
    """Return numbers as dates of cftime; ``None`` if one of them is none."""
    unit, _, begin = _SINCE.sub(" since ", units, count=1).partition(" since ")
    unit = unit.strip().lower()
    try:
        months = _MONTHS.fullmatch(unit)
        if months and calendar != "360_day":
            flat, units = _in_days(flat * (12 if months[1] else 1), begin, calendar)
        elif unit in _OTHERS:
            times, known = _OTHERS[unit]
            flat, units = flat * times, f"{known} since {begin}"
        found = dates_of(flat, units, calendar)
    except (ValueError, OverflowError, TypeError):
        return None
    dates: list[Any] = np.atleast_1d(found).tolist()
    return dates


def dates_of(numbers: np.ndarray[Any, Any] | float, units: str, calendar: str) -> Any:
    """Return numbers as dates of cftime, one or an array.

    CF has no year 0 in the calendars of the real world, but climatologies count from it all the same: if
    units do, the years are those of astronomers, with a year 0.

    >>> str(dates_of(366.0, "days since 0000-01-01", "standard"))
    '0001-01-01 00:00:00'
    """
    import cftime

    zero = {"has_year_zero": True} if _YEAR_ZERO.search(units) else {}
    with _no_warning():
        return cftime.num2date(numbers, units, calendar, only_use_cftime_datetimes=True, **zero)


@contextmanager
def _no_warning() -> Iterator[None]:
    """Keep cftime from saying that CF has no year 0."""
    import cftime

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cftime.CFWarning)
        yield


def numbers_of(dates: Any, units: str, calendar: str) -> Any:
    """Return dates of cftime as numbers; the inverse of :func:`dates_of`, also in other units."""
    import cftime

    years = {date.has_year_zero for date in np.atleast_1d(dates).ravel().tolist()}
    with _no_warning():
        return cftime.date2num(dates, units, calendar, has_year_zero=years.pop() if len(years) == 1 else None)


def _shown(date: Any) -> str:
    if date.microsecond >= 500_000:
        # What is computed in floats is a little too early as often as too late.
        with suppress(ValueError, OverflowError):
            date += timedelta(microseconds=1_000_000 - date.microsecond)
    day = f"{date.year:04d}-{date.month:02d}-{date.day:02d}"
    return f"{day} {date.hour:02d}:{date.minute:02d}" + (f":{date.second:02d}" if date.second else "")


def _in_days(months: np.ndarray[Any, Any], begin: str, calendar: str) -> tuple[np.ndarray[Any, Any], str]:
    """Return months since a date as days since it, and their units; a part of one is a part of its days."""
    if np.abs(months).max(initial=0) > _MOST_MONTHS:
        raise OverflowError
    units = f"days since {begin}"
    first = dates_of(0.0, units, calendar)
    whole = np.floor(months).astype(np.int64)

    def day(month: int) -> float:
        year, rest = divmod(first.month - 1 + month, 12)
        # The month may be shorter than the one it counts from.
        start = first.replace(year=first.year + year, month=rest + 1, day=1)
        last = start.daysinmonth
        return float(numbers_of(start.replace(day=min(first.day, last)), units, calendar))

    needed = {int(month): 0.0 for month in np.unique(np.concatenate([whole, whole + 1]))}
    known = {month: day(month) for month in needed}
    starts = np.array([known[int(month)] for month in whole])
    ends = np.array([known[int(month) + 1] for month in whole])
    return starts + (months - whole) * (ends - starts), units


def _of_digits(value: float) -> str:
    """Return the date that digits say.

    >>> _of_digits(20000131.5), _of_digits(-1.0)
    ('2000-01-31 12:00', '-1')
    """
    if not 10_000 <= value < 1e8:
        return _number(value)
    day, part = divmod(value, 1)
    year, month, of_month = int(day) // 10_000, int(day) // 100 % 100, int(day) % 100
    minutes = round(part * 1440)
    clock = f" {minutes // 60:02d}:{minutes % 60:02d}" if 0 < minutes < 1440 else ""
    return f"{year:04d}-{month:02d}-{of_month:02d}{clock}"


def texts(values: np.ndarray[Any, Any]) -> list[str]:
    """Return texts of characters: the last dimension of single characters is the length of each text.

    >>> texts(np.array([[b"a", b"b"], [b"c", b""]]))
    ['ab', 'c']
    """
    if values.dtype.itemsize == 1 and values.ndim > 1:
        values = values.reshape(-1, values.shape[-1])
        return [b"".join(row).rstrip(b"\0").decode("utf-8", "replace") for row in values.tolist()]
    if values.dtype.itemsize == 1 and values.ndim == 1:
        return [b"".join(values.tolist()).rstrip(b"\0").decode("utf-8", "replace")]
    return [one.rstrip(b"\0").decode("utf-8", "replace") for one in values.ravel().tolist()]


def _number(value: float | int) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return str(int(value))
    return f"{value:.7g}" if isinstance(value, float) else str(value)
