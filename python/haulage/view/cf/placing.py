"""The horizontal grid of a variable, from its coordinates and its grid mapping."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from haulage.errors import UnsupportedError
from haulage.view.cf import grids
from haulage.view.cf.axes import Horizontal
from haulage.view.cf.grids import Corners
from haulage.view.index.model import Index, Variable
from haulage.view.reading.faults import OF_THE_FILE

_RADIANS = ("radian", "radians", "rad")
#: Grid mappings whose coordinates are angles; ``None`` where there is no mapping.
_OF_ANGLES = (None, "latitude_longitude", "rotated_latitude_longitude")
_KILOMETRES = ("km", "kilometer", "kilometre", "kilometers", "kilometres")
#: Grids of more corners than this are not drawn.
MOST_CORNERS = 1 << 25
#: No latitude is farther from the equator, but for rounding; and no longitude this far.
_MOST_NORTH, _MOST_EAST = 90.01, 1080
Values: TypeAlias = "Callable[[Variable], np.ndarray[Any, Any]]"


class Unplaced(Exception):  # noqa: N818
    """Why cells have no place, to follow "because"."""


def corners(
    index: Index,
    across: Horizontal,
    values: Values,
    size: tuple[int, int],
) -> Corners:
    """Return the corners of the cells of a grid; by index, and why, if their coordinates cannot be used.

    Args:
        index: Of the file.
        across: Which coordinates.
        values: Returns the values of a variable: all of them, at one place along the steps of ``across``.
        size: How many cells the grid has along y and x.

    Raises:
        UnsupportedError: There are too many.
    """
    if (size[0] + 1) * (size[1] + 1) > MOST_CORNERS:
        cause = f"its grid of {size[0]:,} by {size[1]:,} cells is too large"
        raise UnsupportedError("draw", across.y.path, cause, "copy the file with haul cp to look at it")
    why = across.why_by_index
    for one in (across, across.otherwise):
        if one is None or one.by_index:
            continue
        try:
            return _placed(index, one, values)
        except Unplaced as unplaced:
            why = why or str(unplaced)
    return grids.by_index(size, why)


def _placed(index: Index, across: Horizontal, values: Values) -> Corners:
    name = across.mapping.attribute("grid_mapping_name") or "unknown" if across.mapping else None
    read = _readable(_in_degrees(values) if name in _OF_ANGLES else values)
    y, x = (_on_plane(read(one), one, across) for one in (across.y, across.x))
    geographic = across.mapping is None or name == "latitude_longitude"
    if geographic:
        x, y = _valid(x, _MOST_EAST), _valid(y, _MOST_NORTH)
    for one, along in ((across.y, y), (across.x, x)):
        if not np.isfinite(along).any():
            raise Unplaced(f"{one.path} has no values")
    if across.is_points:
        return grids.points(x, y)
    same = [
        one.path for one, along in ((across.y, y), (across.x, x)) if along.size > 1 and not _spread(along)
    ]
    if len(same) >= y.ndim:
        raise Unplaced(f"the values of {' and '.join(same)} are all the same")
    if y.ndim == 2:
        found = grids.curvilinear(x, y)
        if found is None:
            raise Unplaced(f"the values of {across.y.path} and {across.x.path} are not in order")
        return found
    if name in _OF_ANGLES:
        x = grids.around(x.astype(np.float64))
    for one, along in ((across.y, y), (across.x, x)):
        if not grids.in_order(along):
            raise Unplaced(f"the values of {one.path} are not in order")
    bounds_x, bounds_y = _bounds(index, across.x, read), _bounds(index, across.y, read)
    if geographic:
        return grids.rectilinear(x, y, bounds_x, bounds_y)
    assert across.mapping is not None
    known = np.isfinite(y)[:, None] & np.isfinite(x)
    lon, lat = np.meshgrid(grids.edges(grids.filled(x), bounds_x), grids.edges(grids.filled(y), bounds_y))
    if name == "rotated_latitude_longitude":
        pole = [
            _number(across.mapping, key) for key in ("grid_north_pole_longitude", "grid_north_pole_latitude")
        ]
        north = _number(across.mapping, "north_pole_grid_longitude", 0.0)
        lon, lat = grids.rotated(lon, lat, pole[0], pole[1], north)
    else:
        lon, lat = _projected(across, lon, lat)
    found = Corners("curvilinear", grids.continuous(lon), lat, wrap=False, projection=name)
    if known.all():
        return found
    lon, lat = (np.where(known, one, np.nan) for one in found.centres())
    return replace(found, middles=(lon, lat))


def _projected(
    across: Horizontal, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    import pyproj

    assert across.mapping is not None
    name = across.mapping.attribute("grid_mapping_name") or "unknown"
    factors = [_metres(one) for one in (across.x, across.y)]
    try:
        crs = pyproj.CRS.from_cf(dict(across.mapping.attributes))
        if name == "geostationary":
            # Its coordinates are angles, which PROJ wants multiplied with the height.
            height = _number(across.mapping, "perspective_point_height")
            micro = 1e-6 if "micro" in (across.x.attribute("units") or "") else 1.0
            factors = [height * micro if _is_angle(one) else 1.0 for one in (across.x, across.y)]
        to = pyproj.Transformer.from_crs(crs, crs.geodetic_crs, always_xy=True)
        lon, lat = to.transform(x * factors[0], y * factors[1])
    except (pyproj.exceptions.ProjError, KeyError, ValueError, TypeError) as error:
        raise Unplaced(f"its projection cannot be used: {name}: {str(error)[:120]}") from None
    unseen = ~(np.isfinite(lon) & np.isfinite(lat))
    lon[unseen] = lat[unseen] = np.nan
    return lon, lat


def _metres(one: Variable) -> float:
    return 1000.0 if (one.attribute("units") or "").lower() in _KILOMETRES else 1.0


def _is_angle(one: Variable) -> bool:
    return "rad" in (one.attribute("units") or "rad").lower()


def _bounds(index: Index, coordinate: Variable, values: Values) -> np.ndarray[Any, Any] | None:
    name = coordinate.attribute("bounds")
    found = index.near(name, coordinate) if name else None
    if found is None or found.kind != "number" or found.shape != (*coordinate.shape, 2):
        return None
    units = coordinate.attribute("units")
    # Bounds have the units of what they bound, and seldom say so.
    with suppress(Unplaced):
        return values(replace(found, attributes={"units": units, **found.attributes}) if units else found)
    return None


def _readable(values: Values) -> Values:
    """Return what reads values of variables of numbers, and says of all others why there are none."""

    def read(one: Variable) -> np.ndarray[Any, Any]:
        try:
            if one.kind in ("text", "string"):
                raise Unplaced(f"{one.path} holds text")
            return values(one)
        except OF_THE_FILE as error:
            raise Unplaced(f"{one.path} cannot be read: {error.cause}") from None

    return read


def _on_plane(values: np.ndarray[Any, Any], one: Variable, across: Horizontal) -> np.ndarray[Any, Any]:
    """Return the values of a coordinate along y and x alone; along other dimensions they must not change."""
    plane = [dim for dim in (across.y_dim, across.x_dim) if dim in one.dims]
    others = [dim for dim in one.dims if dim not in plane]
    if not others:
        return values
    values = values.transpose([one.dims.index(dim) for dim in (*others, *plane)])
    values = values.reshape(-1, *values.shape[len(others) :])
    if not len(values):
        raise Unplaced(f"{one.path} has no values")
    if not np.array_equal(
        values, np.broadcast_to(values[:1], values.shape), equal_nan=values.dtype.kind == "f"
    ):
        raise Unplaced(f"{one.path} changes along {', '.join(others)}")
    first: np.ndarray[Any, Any] = values[0]
    return first


def _spread(values: np.ndarray[Any, Any]) -> float:
    return float(np.nanmax(values) - np.nanmin(values))


def _in_degrees(values: Values) -> Values:
    """Return what reads values of variables, those in radians as degrees: ICON writes its places so."""

    def read(one: Variable) -> np.ndarray[Any, Any]:
        found = values(one)
        return np.degrees(found) if (one.attribute("units") or "").lower() in _RADIANS else found

    return read


def _valid(degrees: np.ndarray[Any, Any], most: float) -> np.ndarray[Any, Any]:
    """Return degrees, NaN where they can be none."""
    found = degrees.astype(np.float64)
    found[~(np.abs(found) <= most)] = np.nan
    return found


def _number(mapping: Variable, name: str, default: float | None = None) -> float:
    value = mapping.attributes.get(name, default)
    if isinstance(value, (int, float)):
        return float(value)
    raise Unplaced(f"the grid mapping {mapping.path} does not say {name}")
