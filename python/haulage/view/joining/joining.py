"""Files joined: opened, compared, put in order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from haulage.errors import HaulageError, UnsupportedError
from haulage.view.decode.scaling import meant
from haulage.view.index.lagging import usual_fill
from haulage.view.index.model import Variable
from haulage.view.index.opening import Opened
from haulage.view.joining import fitting
from haulage.view.joining.parts import Parts
from haulage.view.reading.faults import OF_THE_FILE
from haulage.view.reading.pinned import Pinned

#: More files than this are not joined.
MOST_FILES = 1000
Read: TypeAlias = "Callable[[Opened, Variable], np.ndarray[Any, Any]]"
_HINT = "open the files one by one"
_T = TypeVar("_T")
_U = TypeVar("_U")


class Together(Protocol):
    """Calls a function with each item, several at once."""

    def __call__(self, call: Callable[[_T], _U], items: Sequence[_T], /) -> list[_U]:
        """Return what it returned, in order."""


def version_of(pins: Sequence[Pinned]) -> str:
    """Return what tells these versions of files from all others."""
    return hashlib.sha256("\n".join(f"{one.url} {one.etag}" for one in pins).encode()).hexdigest()[:32]


def join(
    name: str, pins: Sequence[Pinned], open_one: Callable[[Pinned], Opened], read: Read, together: Together
) -> Opened:
    """Return files as one.

    Args:
        name: How people call it: a pattern.
        pins: The files, in the order of their names.
        open_one: Opens one.
        read: Returns all values of a variable.
        together: Runs calls that wait for the store at once.

    Raises:
        UnsupportedError: No two of them fit together.
    """
    left_out = {pin.name: f"only {MOST_FILES:,} files are joined" for pin in pins[MOST_FILES:]}
    version, pins = version_of(pins), pins[:MOST_FILES]

    def opened(pin: Pinned) -> Opened | str:
        try:
            return open_one(pin)
        except HaulageError as error:
            return error.cause

    files: list[Opened] = []
    for pin, found in zip(pins, together(opened, pins), strict=True):
        if isinstance(found, str):
            left_out[pin.name] = found
        else:
            files.append(found)
    time = next((one for one in (fitting.time_of(file.index) for file in files[:1]) if one), None)
    if time is None:
        cause = (
            f"{files[0].pinned.name} has no dimension of time" if files else "none of the files can be opened"
        )
        raise UnsupportedError("join", name, cause, _HINT)
    base, along = files[0], time.dims[0]
    fit = []
    for file in files:
        why_not = fitting.why_not(base.index, file.index, time)
        if why_not is None:
            fit.append(file)
        else:
            left_out[file.pinned.name] = why_not
    same = together(lambda file: _elsewhere(base, file, along, read), fit)
    left_out.update({file.pinned.name: cause for file, cause in zip(fit, same, strict=True) if cause})
    fit = [file for file, cause in zip(fit, same, strict=True) if not cause]
    timed = list(zip(fit, together(lambda file: _times(base, file, time, read), fit), strict=True))
    left_out.update({file.pinned.name: of for file, of in timed if isinstance(of, str)})
    fit, times = [], []
    for file, of in timed:
        if not isinstance(of, str):
            fit.append(file)
            times.append(of)
    order, wrong = fitting.ordered(
        [(file.pinned.name, one[time.path]) for file, one in zip(fit, times, strict=True)]
    )
    left_out.update(wrong)
    if len(order) < 2:
        first = next(iter(left_out.items()), ("", ""))
        cause = f"no two of its {len(pins):,} files fit together: {first[0]}: {first[1]}"
        raise UnsupportedError("join", name, cause, _HINT)
    chosen = tuple(fit[number] for number in order)
    held = {path: np.concatenate([times[number][path] for number in order]) for path in times[order[0]]}
    starts = np.cumsum([0, *(len(times[number][time.path]) for number in order)]).tolist()
    changed, decoded = (
        {path: fitting.plain(base.index.variables[path], one.dtype) for path, one in held.items()},
        set(),
    )
    for variable in fitting.joined_variables(base.index, along):
        alike = [file.index.variables[variable.path] for file in (base, *chosen)]
        if variable.path not in held and not fitting.packed_alike(alike):
            decoded.add(variable.path)
            changed[variable.path] = fitting.plain(variable, fitting.meant_type(alike))
    parts = Parts(
        along, base, chosen, tuple(starts), held, frozenset(decoded), dict(sorted(left_out.items()))
    )
    for file in files[1:]:
        # A thousand beginnings take much memory; that of the first is read again and again.
        file.pinned.release()
    size = sum(file.pinned.size for file in chosen)
    index = fitting.joined_index(base.index, along, starts[-1], changed)
    return replace(base, pinned=base.pinned.named(name, size, version), index=index, parts=parts)


def _elsewhere(base: Opened, file: Opened, along: str, read: Read) -> str | None:
    """Return which coordinate of a file differs from that of another."""
    for one in fitting.coordinates_of(base.index, along):
        there = file.index.variables.get(one.path)
        if one.path in file.index.left_out:
            return f"its {one.path} cannot be read: {file.index.left_out[one.path]}"
        if file is base or there is None:
            continue
        stored, its_stored = (_stored(read, *pair) for pair in ((base, one), (file, there)))
        if isinstance(stored, str):
            # Nothing is drawn by it.
            continue
        if isinstance(its_stored, str):
            return its_stored
        values, its = meant(stored, one), meant(its_stored, there)
        if values.shape != its.shape or not np.allclose(values, its, rtol=1e-6, equal_nan=True):
            return f"its {one.path} has other values"
    return None


def _stored(read: Read, file: Opened, variable: Variable) -> np.ndarray[Any, Any] | str:
    """Return the values of a variable, or why they cannot be read."""
    try:
        return read(file, variable)
    except OF_THE_FILE as error:
        return f"its {variable.path} cannot be read: {error.cause}"


def _times(base: Opened, file: Opened, time: Variable, read: Read) -> dict[str, np.ndarray[Any, Any]] | str:
    """Return the times of a file, in the units of another; or why they cannot be read."""
    calendar = (time.attribute("calendar") or "standard").lower()
    found = {}
    for one in fitting.times_of(base.index, time):
        there = file.index.variables[one.path]
        # Bounds have the units of what they bound.
        units, wanted = (
            (of.variables[one.path].attribute("units") or of.variables[time.path].attribute("units"))
            for of in (file.index, base.index)
        )
        stored = _stored(read, file, there)
        if isinstance(stored, str):
            return stored
        values = meant(stored, there).astype(np.float64)
        # Times that lag behind their dimension are missing; no calendar has a date for them.
        values[stored == usual_fill(there)] = np.nan
        found[one.path] = fitting.in_units(values, units, wanted, calendar)
    return found
