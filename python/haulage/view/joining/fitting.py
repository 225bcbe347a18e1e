"""Whether files fit together, and what they are as one: pure functions of their indexes and their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from haulage.view.cf.axes import is_time
from haulage.view.cf.times import dates_of, numbers_of
from haulage.view.decode.scaling import meant
from haulage.view.index.model import PACKING, Index, Variable


def time_of(index: Index) -> Variable | None:
    """Return the coordinate of time: of one dimension, along which files are joined.

    The variable of the dimension's own name comes before others: NEMO's has no units, and another one has.
    """
    found = [
        one
        for one in index.variables.values()
        if len(one.dims) == 1 and one.kind == "number" and not one.why_not and is_time(one.attribute("units"))
    ]
    found.sort(key=lambda one: (one.dims != (one.path,), one.attribute("standard_name") != "time"))
    return found[0] if found else None


def coordinates_of(index: Index, along: str) -> list[Variable]:
    """Return the coordinates of one dimension, but those along ``along``."""
    return [
        one
        for one in index.variables.values()
        if one.dims == (one.path,) and one.path != along and one.kind == "number" and not one.why_not
    ]


def why_not(base: Index, other: Index, time: Variable) -> str | None:
    """Return why a file does not continue another along its coordinate of time; ``None`` if it may."""
    along, its_time = time.dims[0], other.variables.get(time.path)
    if its_time is None or its_time.dims != time.dims or not is_time(its_time.attribute("units")):
        return f"it has no times along {along}"
    calendars = [(one.attribute("calendar") or "standard").lower() for one in (time, its_time)]
    if calendars[0] != calendars[1]:
        return f"its calendar is {calendars[1]}, not {calendars[0]}"
    for variable in joined_variables(base, along):
        there = other.variables.get(variable.path)
        if there is None:
            return f"it has no variable {variable.path}"
        if there.dims != variable.dims or there.kind != variable.kind:
            return f"its variable {variable.path} has other dimensions"
        sizes = [(dim, a, b) for dim, a, b in zip(variable.dims, variable.shape, there.shape, strict=True)]
        for dim, length, its_length in sizes:
            if dim != along and length != its_length:
                return f"its dimension {dim} has {its_length:,} values, not {length:,}"
        units = [one.attribute("units") for one in (variable, there)]
        if units[0] != units[1] and not is_time(units[0]):
            return f"its variable {variable.path} is in {units[1]}, not in {units[0]}"
    return None


def joined_variables(base: Index, along: str) -> list[Variable]:
    """Return the variables of numbers and texts along a dimension, once each."""
    return [
        one
        for one in base.variables.values()
        if one.dims.count(along) == 1 and one.kind in ("number", "text") and not one.why_not
    ]


def times_of(index: Index, time: Variable) -> list[Variable]:
    """Return what is in units of time along its dimension: the coordinate, its bounds, and others."""
    bounds = time.attribute("bounds")
    return [
        one
        for one in joined_variables(index, time.dims[0])
        if one.kind == "number" and (is_time(one.attribute("units")) or one.name == bounds)
    ]


def in_units(
    values: np.ndarray[Any, Any], units: str | None, wanted: str | None, calendar: str
) -> np.ndarray[Any, Any]:
    """Return times in other units.

    >>> in_units(np.array([1.0]), "days since 2000-02-01", "hours since 2000-01-01", "360_day").tolist()
    [744.0]
    """
    if units == wanted or units is None or wanted is None:
        return values
    found = np.full(values.shape, np.nan)
    good = np.isfinite(values)
    if good.any():
        try:
            found[good] = numbers_of(dates_of(values[good], units, calendar), wanted, calendar)
        except (ValueError, OverflowError):
            # Months since different days, or units that are none: the times stay unknown.
            return np.full(values.shape, np.nan)
    return found


def ordered(times: Sequence[tuple[str, np.ndarray[Any, Any]]]) -> tuple[list[int], dict[str, str]]:
    """Return which files follow each other, in the order of their times, and why the others do not.

    >>> ordered([("b", np.array([3.0, 4])), ("a", np.array([1.0, 2])), ("c", np.array([4.0, 5]))])
    ([1, 0], {'c': 'its times overlap those of b'})
    """
    left_out: dict[str, str] = {}
    good = []
    for number, (name, values) in enumerate(times):
        if not values.size or not np.isfinite(values).all():
            left_out[name] = "some of its times are missing"
        elif np.any(np.diff(values) <= 0):
            left_out[name] = "its times do not increase"
        else:
            good.append(number)
    good.sort(key=lambda number: float(times[number][1][0]))
    found: list[int] = []
    for number in good:
        if found and times[number][1][0] <= times[found[-1]][1][-1]:
            left_out[times[number][0]] = f"its times overlap those of {times[found[-1]][0]}"
        else:
            found.append(number)
    return found, left_out


def packed_alike(variables: Sequence[Variable]) -> bool:
    """Return whether the stored values of one variable mean the same in all files.

    If they do not, they are joined as they are meant.
    """
    first = variables[0]
    kinds = [(one.type.newbyteorder("="), one.scale_type, one.offset_type) for one in variables]
    said = [{name: one.attributes.get(name) for name in PACKING} for one in variables]
    return (
        all(kind == kinds[0] for kind in kinds) and all(str(one) == str(said[0]) for one in said)
        if first.kind == "number"
        else all(one.type == first.type for one in variables)
    )


def plain(variable: Variable, dtype: np.dtype[Any]) -> Variable:
    """Return a variable whose values are stored as they are meant."""
    attributes = {name: value for name, value in variable.attributes.items() if name not in PACKING}
    return replace(
        variable, dtype=dtype.str, attributes=attributes, scale_type=None, offset_type=None, fill=None
    )


def meant_type(variables: Sequence[Variable]) -> np.dtype[Any]:
    """Return the type that holds what the values of all of them mean."""
    return np.result_type(*(meant(np.zeros(1, one.type), one).dtype for one in variables))


def joined_index(base: Index, along: str, steps: int, changed: dict[str, Variable]) -> Index:
    """Return the index of files as one.

    Args:
        base: The index of the file whose attributes are shown.
        along: The dimension along which they follow each other.
        steps: How long it is altogether.
        changed: Variables whose values are stored in another way than in ``base``.
    """
    variables, left_out = {}, dict(base.left_out)
    joined = {one.path for one in joined_variables(base, along)}
    for path, variable in base.variables.items():
        one = changed.get(path, variable)
        if along in one.dims:
            if path not in joined:
                left_out[path] = "variable-length texts cannot be joined"
                continue
            place = one.dims.index(along)
            one = replace(one, shape=(*one.shape[:place], steps, *one.shape[place + 1 :]))
        variables[path] = one
    return replace(base, dimensions={**base.dimensions, along: steps}, variables=variables, left_out=left_out)
