"""Labels along axes: times by their calendar, numbers, texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from haulage.view.cf.axes import is_time
from haulage.view.index.model import Variable

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
    return [_number(value) for value in values.ravel().tolist()]


def dates(values: np.ndarray[Any, Any], units: str, calendar: str) -> list[str] | None:
    """Return times as ``2000-02-30 12:00``, also of 360 days and without leap years.

    >>> dates(np.array([59.5]), "days since 2000-01-01", "360_day")
    ['2000-02-30 12:00']
    >>> dates(np.array([1.0]), "days since the flood", "standard") is None
    True
    """
    import cftime

    flat = np.asarray(values, np.float64).ravel()
    good = np.isfinite(flat)
    try:
        found = cftime.num2date(
            np.where(good, flat, 0), units, calendar.lower(), only_use_cftime_datetimes=True
        )
    except (ValueError, OverflowError, TypeError):
        return None
    shown = []
    for date, known in zip(np.atleast_1d(found).tolist(), good.tolist(), strict=True):
        if not known:
            shown.append("")
            continue
        seconds = date.second + round(date.microsecond / 1e6)
        day = f"{date.year:04d}-{date.month:02d}-{date.day:02d}"
        clock = f" {date.hour:02d}:{date.minute:02d}" + (f":{seconds:02d}" if 0 < seconds < 60 else "")
        shown.append(day + clock)
    if shown and all(text.endswith(" 00:00") or not text for text in shown):
        return [text.removesuffix(" 00:00") for text in shown]
    return shown


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
    return f"{value:.7g}" if isinstance(value, float) else str(value)
