"""Rows as variables: which columns are places, times and levels, and how the rest lies along them.

Pure functions of columns. Rows whose places fill at least half of a grid of longitudes and latitudes are
drawn as cells of it, all others as points.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from haulage.errors import UnsupportedError
from haulage.view.cf.axes import LATITUDE, LONGITUDE
from haulage.view.index.model import Index, Variable
from haulage.words.numbers import counted as in_words

_TIME = re.compile(r"(time|date|datetime|day|month|year|valid_?time|observed(_?at)?|t)", re.IGNORECASE)
_LEVEL = re.compile(r"(level|lev|plev|pressure|depth|height|altitude|z)", re.IGNORECASE)
#: What services add, and keys.
_NOT_DATA = frozenset({"Timestamp", "PartitionKey", "RowKey"})
#: Fewer places are points, however they lie.
_LEAST_CELLS = 9
_MOST_STEPS, _MOST_LEVELS, _MOST_VALUES = 20_000, 500, 1 << 25
#: The name of the variable that counts rows.
ROWS = "rows"
#: What it is called in full.
COUNTED = "Number of rows"


@dataclass(frozen=True)
class Gridded:
    """Rows as an index, its values, and what distinguishes them from all others."""

    index: Index
    held: dict[str, np.ndarray[Any, Any]]
    version: str


def gridded(name: str, columns: dict[str, np.ndarray[Any, Any]], rows: int) -> Gridded:
    """Return rows as variables.

    Args:
        name: Of the table, for errors.
        columns: Floats, times or texts, by name.
        rows: How many there are.

    Raises:
        UnsupportedError: There are no rows, or none of their columns says where they are.
    """
    if not rows:
        raise UnsupportedError("draw", name, "it has no rows", "leave --filter out, or check the table")
    lat_name, lon_name = (_named(columns, pattern) for pattern in (LATITUDE, LONGITUDE))
    if lat_name is None or lon_name is None:
        cause = f"no columns of latitude and longitude; it has {', '.join(list(columns)[:12])}"
        raise UnsupportedError(
            "draw", name, cause, "name them lat and lon, or look at it with haul table serve"
        )
    lat, lon = columns[lat_name], columns[lon_name]
    known = np.isfinite(lat) & np.isfinite(lon) & (np.abs(lat) <= 90) & (np.abs(lon) <= 540)
    if not known.any():
        cause = f"none of its rows has degrees in {lat_name} and {lon_name}"
        raise UnsupportedError("draw", name, cause, "check the two columns")
    columns = {key: of[known] for key, of in columns.items()}
    lat, lon = lat[known], lon[known]
    places, place = np.unique(np.stack([lat, lon], 1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    lats, lons = np.unique(lat), np.unique(lon)
    is_grid = (
        len(places) >= _LEAST_CELLS
        and min(len(lats), len(lons)) > 1
        and len(lats) * len(lons) <= 2 * len(places)
    )
    axes: list[_Axis] = []
    for axis in (_times(columns, len(lat)), _levels(columns, place, lat_name, lon_name)):
        if axis is not None:
            axes.append(axis)
    coordinates = {axis.name: axis for axis in axes}
    if is_grid:
        of_lat = np.searchsorted(lats, lat)
        axes += [
            _Axis(lat_name, lats, of_lat, _NORTH),
            _Axis(lon_name, lons, np.searchsorted(lons, lon), _EAST),
        ]
    else:
        axes.append(_Axis("place", np.arange(len(places)), place, {}))
    shape = tuple(len(axis.values) for axis in axes)
    if np.prod([float(length) for length in shape]) > _MOST_VALUES:
        sizes = " by ".join(f"{length:,}" for length in shape)
        cause = f"its rows make a grid of {sizes} values, which is too large"
        raise UnsupportedError("draw", name, cause, "choose some of them with --filter")
    where = np.ravel_multi_index(tuple(axis.of_row for axis in axes), shape)
    dims = tuple(axis.name for axis in axes)
    held: dict[str, np.ndarray[Any, Any]] = {}
    variables: dict[str, Variable] = {}

    def add(
        path: str, values: np.ndarray[Any, Any], along: tuple[str, ...], attributes: dict[str, Any]
    ) -> None:
        held[path] = values
        variables[path] = Variable(path, "number", values.dtype.str, along, values.shape, attributes, None)

    for axis in (*coordinates.values(), *(axes[-2:] if is_grid else ())):
        add(axis.name, axis.values.astype(np.float64), (axis.name,), axis.attributes)
    placed = {} if is_grid else {"coordinates": f"{lon_name} {lat_name}"}
    if not is_grid:
        add(lat_name, places[:, 0], ("place",), _NORTH)
        add(lon_name, places[:, 1], ("place",), _EAST)
    left_out = {}
    for path, values in columns.items():
        if path in variables or path in _NOT_DATA:
            continue
        if values.dtype.kind != "f":
            left_out[path] = "it holds times" if values.dtype.kind == "M" else "it holds text"
            continue
        add(path, _spread(values, where, shape), dims, placed)
    counted = np.bincount(where, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
    add(ROWS if ROWS not in variables else "rows_here", np.where(counted, counted, np.nan), dims, {
        **placed, "units": "1", "long_name": COUNTED,
    })  # fmt: skip
    dimensions = dict(zip(dims, shape, strict=True))
    spread = "on a grid" if is_grid else f"at {in_words(len(places), 'place')}"
    title = f"{in_words(rows, 'row')}, {spread}"
    index = Index("rows", dimensions, {"title": title}, {}, variables, left_out)
    return Gridded(index, held, _version(held))


_NORTH: dict[str, Any] = {"units": "degrees_north", "standard_name": "latitude"}
_EAST: dict[str, Any] = {"units": "degrees_east", "standard_name": "longitude"}


@dataclass(frozen=True)
class _Axis:
    name: str
    values: np.ndarray[Any, Any]
    of_row: np.ndarray[Any, Any]
    attributes: dict[str, Any]


def _named(
    columns: dict[str, np.ndarray[Any, Any]], pattern: re.Pattern[str], kinds: str = "f"
) -> str | None:
    return next(
        (name for name, of in columns.items() if of.dtype.kind in kinds and pattern.fullmatch(name)), None
    )


def _times(columns: dict[str, np.ndarray[Any, Any]], rows: int) -> _Axis | None:
    """Return the times, if several rows share each: else a step would show a row or two."""
    name = _named(columns, _TIME, "M") or next(
        (name for name, of in columns.items() if of.dtype.kind == "M" and name not in _NOT_DATA), None
    )
    values = columns[name] if name else None
    if values is None:
        name, values = _texts_of_times(columns)
    if name is None or values is None or np.isnat(values).any():
        return None
    steps, of_row = np.unique(values, return_inverse=True)
    if len(steps) > min(_MOST_STEPS, max(rows // 2, 1)):
        return None
    seconds = (steps - np.datetime64("1970-01-01", "us")) / np.timedelta64(1, "s")
    units = {"units": "seconds since 1970-01-01", "calendar": "standard", "standard_name": "time"}
    return _Axis(name, seconds, of_row.reshape(-1), units)


def _texts_of_times(
    columns: dict[str, np.ndarray[Any, Any]],
) -> tuple[str | None, np.ndarray[Any, Any] | None]:
    """Return a column of texts such as ``2026-01-31T12:00:00Z`` as times."""
    for name, of in columns.items():
        if of.dtype.kind == "O" and _TIME.fullmatch(name):
            try:
                texts = [str(one).removesuffix("Z") for one in of.tolist()]
                return name, np.array(texts, "M8[us]")
            except ValueError:
                continue
    return None, None


def _levels(
    columns: dict[str, np.ndarray[Any, Any]], place: np.ndarray[Any, Any], lat_name: str, lon_name: str
) -> _Axis | None:
    """Return the levels, if a place has several of them."""
    found = {name: of for name, of in columns.items() if name not in (lat_name, lon_name)}
    name = _named(found, _LEVEL)
    if name is None or not np.isfinite(found[name]).all():
        return None
    values, of_row = np.unique(found[name], return_inverse=True)
    pairs = len(np.unique(place * len(values) + of_row.reshape(-1)))
    # The height of a station is one of its properties, and no level.
    if not 1 < len(values) <= _MOST_LEVELS or pairs < 2 * len(np.unique(place)):
        return None
    return _Axis(name, values, of_row.reshape(-1), {"positive": "down" if name.lower() in _DOWN else "up"})


_DOWN = ("depth", "pressure", "plev")


def _spread(
    values: np.ndarray[Any, Any], where: np.ndarray[Any, Any], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return the values of rows where they belong; of several rows the last one that has a value counts."""
    found = np.full(int(np.prod(shape)), np.nan)
    known = np.isfinite(values)
    found[where[known]] = values[known]
    return found.reshape(shape)


def _version(held: dict[str, np.ndarray[Any, Any]]) -> str:
    digest = hashlib.sha256()
    for path, values in held.items():
        digest.update(f"{path} {values.shape}".encode())
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()[:32]
