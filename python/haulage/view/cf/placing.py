"""The horizontal grid of a variable, from its coordinates and its grid mapping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from haulage.errors import UnsupportedError
from haulage.view.cf import grids
from haulage.view.cf.axes import Horizontal
from haulage.view.cf.grids import Corners
from haulage.view.index.model import Index, Variable

_RADIANS = ("radian", "radians", "rad")
#: Grid mappings whose coordinates are angles; ``None`` where there is no mapping.
_OF_ANGLES = (None, "latitude_longitude", "rotated_latitude_longitude")
_KILOMETRES = ("km", "kilometer", "kilometre", "kilometers", "kilometres")
#: Grids of more corners than this are not drawn.
MOST_CORNERS = 1 << 25


def corners(
    index: Index,
    across: Horizontal,
    values: Callable[[Variable], np.ndarray[Any, Any]],
    size: tuple[int, int],
) -> Corners:
    """Return the corners of the cells of a grid.

    Args:
        index: Of the file.
        across: Which coordinates.
        values: Returns the values of a variable, all of them.
        size: How many cells the grid has along y and x.

    Raises:
        UnsupportedError: A projection that is not known, or lacks a parameter.
    """
    if (size[0] + 1) * (size[1] + 1) > MOST_CORNERS:
        cause = f"its grid of {size[0]:,} by {size[1]:,} cells is too large"
        raise UnsupportedError("draw", across.y.path, cause, "copy the file with haul cp to look at it")
    if across.by_index:
        return grids.by_index(size)
    name = across.mapping.attribute("grid_mapping_name") or "unknown" if across.mapping else None
    read = _in_degrees(values) if name in _OF_ANGLES else values
    y, x = read(across.y), read(across.x)
    if across.is_points:
        return grids.points(_valid(x), _valid(y))
    if y.ndim == 2:
        found = grids.curvilinear(_valid(x), _valid(y))
        if across.otherwise is not None and bool(np.isnan(found.lon).all()):
            return corners(index, across.otherwise, values, size)
        return found
    bounds_x, bounds_y = _bounds(index, across.x, read), _bounds(index, across.y, read)
    if across.mapping is None or name == "latitude_longitude":
        x, y = _valid(x), _valid(y)
        if np.isfinite(x).all() and np.isfinite(y).all():
            return grids.rectilinear(x, y, bounds_x, bounds_y)
        # Some are missing: what has a place is drawn, the rest is not.
        lon, lat = np.meshgrid(x, y)
        return grids.curvilinear(lon, lat)
    lon, lat = np.meshgrid(grids.edges(x, bounds_x), grids.edges(y, bounds_y))
    if name == "rotated_latitude_longitude":
        pole = [
            _number(across.mapping, key) for key in ("grid_north_pole_longitude", "grid_north_pole_latitude")
        ]
        north = _number(across.mapping, "north_pole_grid_longitude", 0.0)
        lon, lat = grids.rotated(lon, lat, pole[0], pole[1], north)
    else:
        lon, lat = _projected(across, lon, lat)
    return Corners("curvilinear", grids.continuous(lon), lat, wrap=False, projection=name)


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
        cause = f"its projection cannot be used: {name}: {str(error)[:120]}"
        hint = "draw a variable with longitudes and latitudes of two dimensions"
        raise UnsupportedError("draw", across.mapping.path, cause, hint) from None
    unseen = ~(np.isfinite(lon) & np.isfinite(lat))
    lon[unseen] = lat[unseen] = np.nan
    return lon, lat


def _metres(one: Variable) -> float:
    return 1000.0 if (one.attribute("units") or "").lower() in _KILOMETRES else 1.0


def _is_angle(one: Variable) -> bool:
    return "rad" in (one.attribute("units") or "rad").lower()


def _bounds(
    index: Index, coordinate: Variable, values: Callable[[Variable], np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any] | None:
    name = coordinate.attribute("bounds")
    found = index.near(name, coordinate) if name else None
    if found is None or found.kind != "number" or found.shape != (*coordinate.shape, 2):
        return None
    units = coordinate.attribute("units")
    # Bounds have the units of what they bound, and seldom say so.
    return values(replace(found, attributes={"units": units, **found.attributes}) if units else found)


def _in_degrees(
    values: Callable[[Variable], np.ndarray[Any, Any]],
) -> Callable[[Variable], np.ndarray[Any, Any]]:
    """Return what reads values of variables, those in radians as degrees: ICON writes its places so."""

    def read(one: Variable) -> np.ndarray[Any, Any]:
        found = values(one)
        return np.degrees(found) if (one.attribute("units") or "").lower() in _RADIANS else found

    return read


def _valid(degrees: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return degrees, NaN where they can be none."""
    found = degrees.astype(np.float64)
    found[np.abs(found) > 1080] = np.nan
    return found


def _number(mapping: Variable, name: str, default: float | None = None) -> float:
    value = mapping.attributes.get(name, default)
    if isinstance(value, (int, float)):
        return float(value)
    cause = f"the grid mapping does not say {name}"
    raise UnsupportedError("draw", mapping.path, cause, "add the attribute to the file")
