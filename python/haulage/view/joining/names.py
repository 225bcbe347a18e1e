"""Which names belong together: those that differ in their numbers only. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERS = re.compile(r"\d+(?:[-_.T]\d+)*")
#: Endings of files that may be joined.
_ENDINGS = (".nc", ".nc3", ".nc4", ".cdf", ".h5", ".hdf5", ".netcdf")


def pattern_of(name: str) -> str:
    """Return a name with a star for each run of numbers, but those of its folders.

    >>> pattern_of("run1/tas_20000101-20001231.nc")
    'run1/tas_*.nc'
    >>> pattern_of("nemo_1m_20150101-20150201_grid-T.nc")
    'nemo_*m_*_grid-T.nc'
    """
    folder, slash, last = name.rpartition("/")
    stem, dot, ending = last.rpartition(".")
    return folder + slash + (_NUMBERS.sub("*", stem) + dot + ending if dot else _NUMBERS.sub("*", last))


def may_be_joined(name: str) -> bool:
    """Return whether a name is that of a file that can be a part of a series."""
    return name.lower().endswith(_ENDINGS)


def series(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names that belong together, by pattern: two or more, in order.

    >>> series(["a_1.nc", "a_2.nc", "b_1.nc", "a_1.txt", "a_2.txt"])
    {'a_*.nc': ['a_1.nc', 'a_2.nc']}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        if may_be_joined(name):
            found.setdefault(pattern_of(name), []).append(name)
    return {pattern: sorted(members) for pattern, members in sorted(found.items()) if len(members) > 1}
