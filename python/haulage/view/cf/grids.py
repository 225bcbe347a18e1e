"""Corners of the cells of a horizontal grid, as longitudes and latitudes: pure functions of coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Degrees over which cells without a place are drawn: less than half of the world, so that none comes twice.
_WIDE = 120.0
#: The share of the cells that may lie elsewhere than between their neighbours: swaths of satellites overlap.
_MOST_TURNED = 0.2
#: What rounding leaves of zero.
_ROUNDING = 1e-12
#: How often cells are left out that lie elsewhere.
_PASSES = 4


@dataclass(frozen=True)
class Corners:
    """The corners of ``ny`` times ``nx`` cells; or points, which have none: one row of ``nx``.

    Those by index have no place; their degrees are only where a map draws them.
    """

    kind: Literal["rectilinear", "curvilinear", "points", "index"]
    lon: Array  #: of shape (nx + 1,), or (ny + 1, nx + 1); of points (1, nx)
    lat: Array  #: of shape (ny + 1,), or as ``lon``
    wrap: bool  #: whether the last column meets the first one, around the world
    projection: str | None = None
    why_by_index: str | None = None  #: why they have no place
    #: Longitudes and latitudes that the file has, NaN where a cell has no place: of shape (nx,) and (ny,),
    #: or both (ny, nx). Without them cells have their middle between their corners.
    middles: tuple[Array, Array] | None = None

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        return sum(one.nbytes for one in (self.lon, self.lat, *(self.middles or ())))

    def centres(self) -> tuple[Array, Array]:
        """Return longitudes and latitudes of the centres, of shape (nx,) and (ny,), or both (ny, nx)."""
        if self.middles is not None:
            return self.middles
        if self.kind == "points":
            return self.lon, self.lat
        if self.lon.ndim == 1:
            return (self.lon[1:] + self.lon[:-1]) / 2, (self.lat[1:] + self.lat[:-1]) / 2
        lon, lat = (
            (one[1:, 1:] + one[:-1, 1:] + one[1:, :-1] + one[:-1, :-1]) / 4 for one in (self.lon, self.lat)
        )
        return lon, lat

    def hidden(self) -> Array | None:
        """Return which cells have corners but no place, of shape (ny, nx); ``None`` for none."""
        if self.middles is None:
            return None
        lon, lat = (~np.isfinite(one) for one in self.middles)
        found: Array = lon | lat if lon.ndim == 2 else lon[None, :] | lat[:, None]
        return found if found.any() else None

    def whole(self) -> tuple[Array, Array]:
        """Return longitudes and latitudes of all corners, of shape (ny + 1, nx + 1)."""
        if self.lon.ndim == 2:
            return self.lon, self.lat
        lon, lat = np.meshgrid(self.lon, self.lat)
        return lon, lat


def points(lon: Array, lat: Array) -> Corners:
    """Return points, such as stations.

    >>> points(np.array([350.0]), np.array([10.0])).lon.tolist()
    [[-10.0]]
    """
    turned = (np.asarray(lon, np.float64) + 180) % 360 - 180
    return Corners("points", turned.reshape(1, -1), np.asarray(lat, np.float64).reshape(1, -1), wrap=False)


def by_index(size: tuple[int, int], why: str | None = None) -> Corners:
    """Return square cells around 0, 0, as wide and high as leaves room around them; rows go up.

    >>> by_index((2, 4)).lon.tolist(), by_index((2, 4)).lat.tolist()
    ([-60.0, -30.0, 0.0, 30.0, 60.0], [-30.0, 0.0, 30.0])
    """
    ny, nx = size
    step = min(_WIDE / max(nx, 1), _WIDE / 2 / max(ny, 1))
    lon, lat = ((np.arange(number + 1) - number / 2) * step for number in (nx, ny))
    return Corners("index", lon, lat, wrap=False, why_by_index=why)


def edges(centres: Array, bounds: Array | None = None) -> Array:
    """Return the edges between cells: those of ``bounds`` if the cells touch, else half-way between centres.

    >>> edges(np.array([1.0, 2.0, 4.0])).tolist()
    [0.5, 1.5, 3.0, 5.0]
    >>> edges(np.array([1.0, 2.0]), np.array([[0.0, 1.2], [1.2, 2.4]])).tolist()
    [0.0, 1.2, 2.4]
    """
    centres = np.asarray(centres, np.float64)
    if bounds is not None and bounds.shape == (len(centres), 2) and np.all(np.isfinite(bounds)):
        bounds = np.asarray(bounds, np.float64)
        turned = np.allclose(bounds[1:, 1], bounds[:-1, 0])
        if len(bounds) > 1 and turned and not np.allclose(bounds[1:, 0], bounds[:-1, 1]):
            bounds = bounds[:, ::-1]
        # Bounds that do not hold their centres are those of other cells.
        least = np.abs(np.diff(bounds, axis=1)).min() / 100
        within = np.all((bounds.min(1) - least <= centres) & (centres <= bounds.max(1) + least))
        if within and np.allclose(bounds[1:, 0], bounds[:-1, 1]):
            return np.append(bounds[:, 0], bounds[-1, 1])
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    between = (centres[1:] + centres[:-1]) / 2
    return np.concatenate(([2 * centres[0] - between[0]], between, [2 * centres[-1] - between[-1]]))


def rectilinear(
    lon: Array, lat: Array, lon_bounds: Array | None = None, lat_bounds: Array | None = None
) -> Corners:
    """Return the corners of a grid whose longitudes and latitudes have one dimension each, and are in order.

    Those that are unknown, NaN, leave a gap.
    """
    told_lon, told_lat = around(np.asarray(lon, np.float64)), np.asarray(lat, np.float64)
    lon, lat = filled(told_lon), filled(told_lat)
    if lon_bounds is not None and lon_bounds.ndim == 2 and lon_bounds.shape[-1] == 2:
        # Bounds may count from another meridian than the centres.
        lon_bounds = lon_bounds + 360 * np.round((lon[:, None] - lon_bounds) / 360)
    x = edges(lon, lon_bounds)
    y = np.clip(edges(lat, lat_bounds), -90, 90)
    half = 180 - abs(lon[-1] - lon[0]) / 2
    if half > 0 and np.array_equal(x, edges(lon)):
        # Around the world the first and the last cell meet half-way too, at most.
        x[0] = lon[0] + np.clip(x[0] - lon[0], -half, half)
        x[-1] = lon[-1] + np.clip(x[-1] - lon[-1], -half, half)
    # Half a cell is less than what rounding leaves of 360.
    wrap = bool(abs(abs(x[-1] - x[0]) - 360) < abs(x[1] - x[0]) / 2)
    shift = 360 * np.round(-(x[0] + x[-1]) / 2 / 360)
    return Corners("rectilinear", x + shift, y, wrap, middles=(told_lon + shift, told_lat))


def in_order(values: Array) -> bool:
    """Return whether values rise or fall from one to the next; those that are unknown do not count.

    >>> [in_order(np.array(one)) for one in ([1.0, 2, 2], [3.0, np.nan, 1], [1.0, 3, 2])]
    [True, True, False]
    """
    steps = np.diff(values[np.isfinite(values)])
    return bool((steps >= 0).all() or (steps <= 0).all())


def around(lon: Array) -> Array:
    """Return longitudes as they rise or fall around the world; as they are if they do neither.

    >>> around(np.array([350.0, 355, 0, 5])).tolist()
    [350.0, 355.0, 360.0, 365.0]
    >>> around(np.array([10.0, 200, 220])).tolist(), around(np.array([200.0, 10, 20])).tolist()
    ([10.0, 200.0, 220.0], [200.0, 370.0, 380.0])
    """
    known = np.isfinite(lon)
    one = lon[known]
    rising, falling = ([0.0, *np.cumsum(np.diff(one) * sign % 360)] for sign in (1, -1))
    ways = [np.unwrap(one, period=360), one]
    ways += [
        one[:1] + sign * np.array(way) for sign, way in ((1, rising), (-1, falling)) if way[-1] <= 360.001
    ]
    found = lon.copy()
    found[known] = next(filter(in_order, ways), one)
    return found


def filled(values: Array) -> Array:
    """Return values with numbers for those that are unknown: as far from their neighbours as places say.

    >>> filled(np.array([np.nan, 1, np.nan, 3])).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    known, places = np.flatnonzero(np.isfinite(values)), np.arange(len(values))
    if len(known) in (0, len(values)):
        return values
    found = np.interp(places, known, values[known])
    for (a, b), beyond in (
        ((known[:2], places < known[0]), (known[-2:], places > known[-1])) if len(known) > 1 else ()
    ):
        found[beyond] = values[b] + (values[b] - values[a]) / (b - a) * (places[beyond] - b)
    return found


def curvilinear(lon: Array, lat: Array) -> Corners | None:
    """Return the corners of a grid whose longitudes and latitudes have two dimensions, such as ORCA's.

    Corners are half-way between centres on the sphere, so that neither date line nor pole is in the way.
    Along each row longitudes go on across 180 degrees; where they cannot, next to a pole, no cell spans more.
    ``None`` if many cells do not lie between their neighbours; single ones have no place.
    """
    lon, lat = (np.array(one, np.float64) for one in (lon, lat))
    for _ in range(_PASSES):
        points = _points(lon, lat)
        good, turned = np.all(np.isfinite(points), axis=-1), _turned(points)
        if turned.sum() > _MOST_TURNED * good.sum():
            return None
        lon[~good] = np.nan
        points = np.where(good[..., None], points, 0)
        padded = np.pad(_grown(points), ((0, 0), (0, 0), (0, 0)))
        corners = padded[1:, 1:] + padded[:-1, 1:] + padded[1:, :-1] + padded[:-1, :-1]
        astray = _astray(points, corners, turned)
        if not (astray > 1).any():
            break
        # The one that is farthest off has taken its neighbours along.
        lon[(astray > 1) & (astray == _around(astray))] = np.nan
    x, y, z = np.moveaxis(corners, -1, 0)
    corner_lat = np.rad2deg(np.arctan2(z, np.hypot(x, y)))
    corner_lon = np.rad2deg(np.arctan2(y, x))
    corner_lon[np.all(corners == 0, axis=-1)] = np.nan
    corner_lat[np.isnan(corner_lon)] = np.nan
    corner_lon = continuous(corner_lon)
    # The columns at the ends of a grid around the world are neighbours, or the same.
    gaps = _apart(points[:, 0], points[:, -1])
    steps = _apart(points[:, 1:], points[:, :-1]) if points.shape[1] > 1 else gaps
    wrap = bool(points.shape[1] > 2 and np.median(gaps) < 2.5 * np.median(steps))
    return Corners("curvilinear", corner_lon, corner_lat, wrap, middles=(lon, lat))


def _turned(points: Array) -> Array:
    """Return which points are not between the one before and the next, along rows or along columns."""
    found = np.zeros(points.shape[:2], bool)
    for of, rows in ((found, points), (found.T, points.swapaxes(0, 1))):
        steps = np.diff(rows, axis=0)
        lengths = np.linalg.norm(steps, axis=-1)
        ahead = np.einsum("ijk,ijk->ij", steps[:-1], steps[1:])
        # More than around a circle of three.
        of[1:-1] |= ahead < -0.7 * lengths[:-1] * lengths[1:]
    return found


def _astray(points: Array, corners: Array, suspected: Array) -> Array:
    """Return how far points are from the middle of their cell, whose farthest corner is at 1; 0 for most."""
    found = np.zeros(points.shape[:2])
    y, x = np.nonzero(suspected)
    around = np.stack([corners[y + a, x + b] for a in (0, 1) for b in (0, 1)])
    around /= np.maximum(np.linalg.norm(around, axis=-1, keepdims=True), _ROUNDING)
    middle = around.mean(axis=0)
    found[y, x] = _apart(points[y, x], middle) / np.maximum(_apart(around, middle).max(axis=0), _ROUNDING)
    return found


def _around(values: Array) -> Array:
    """Return the largest of each value and the eight around it."""
    ny, nx = values.shape
    padded = np.pad(values, 1)
    found: Array = np.maximum.reduce([padded[y : y + ny, x : x + nx] for y in range(3) for x in range(3)])
    return found


def rotated(
    x: Array, y: Array, pole_lon: float, pole_lat: float, north_lon: float = 0.0
) -> tuple[Array, Array]:
    """Return longitudes and latitudes of points of a rotated pole.

    Args:
        x: Their longitudes in the rotated system, in degrees.
        y: Their latitudes.
        pole_lon: Where the rotated north pole lies.
        pole_lat: As ``pole_lon``.
        north_lon: The longitude of the true north pole in the rotated system.

    >>> lon, lat = rotated(np.array([0.0]), np.array([0.0]), 180.0, 40.0)
    >>> lon.round(6).tolist(), lat.round(6).tolist()
    ([0.0], [50.0])
    """
    lam, phi = np.deg2rad(np.asarray(x, np.float64) - north_lon), np.deg2rad(np.asarray(y, np.float64))
    pole = np.deg2rad(pole_lat)
    sine = np.sin(phi) * np.sin(pole) + np.cos(phi) * np.cos(lam) * np.cos(pole)
    lat = np.rad2deg(np.arcsin(np.clip(sine, -1, 1)))
    east = np.cos(phi) * np.sin(lam)
    north = np.cos(phi) * np.cos(lam) * np.sin(pole) - np.sin(phi) * np.cos(pole)
    lon = np.rad2deg(np.arctan2(east, north)) + pole_lon + 180
    turned: Array = (lon + 180) % 360 - 180
    return turned, lat


def areas(corners: Corners) -> Array:
    """Return the areas of cells, of shape (ny, nx), for weights; NaN where a corner is unknown.

    Points weigh the same, and so do cells by index.
    """
    if corners.kind == "index":
        return np.ones((len(corners.lat) - 1, len(corners.lon) - 1))
    if corners.kind == "points":
        return np.where(np.isfinite(corners.lon) & np.isfinite(corners.lat), 1.0, np.nan)
    if corners.lon.ndim == 1:
        bands = np.abs(np.diff(np.sin(np.deg2rad(corners.lat))))
        found: Array = np.outer(bands, np.abs(np.diff(corners.lon)))
    else:
        p = _points(corners.lon, corners.lat)
        one = np.cross(p[1:, 1:] - p[:-1, :-1], p[1:, :-1] - p[:-1, 1:])
        found = np.linalg.norm(one, axis=-1) / 2
    hidden = corners.hidden()
    return found if hidden is None else np.where(hidden, np.nan, found)


def _points(lon: Array, lat: Array) -> Array:
    lam, phi = np.deg2rad(lon), np.deg2rad(lat)
    return np.stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)], axis=-1)


def _grown(points: Array) -> Array:
    """Return points with one more on each side, as far beyond the edge as the next one is within it."""
    for axis in (0, 1):
        points = np.moveaxis(points, axis, 0)
        first, last = points[:1], points[-1:]
        if len(points) > 1:
            first, last = 2 * points[:1] - points[1:2], 2 * points[-1:] - points[-2:-1]
        else:
            # One row alone gets the height of a degree.
            away = np.array([0.0, 0.0, 0.0175])
            first, last = points[:1] - away, points[-1:] + away
        points = np.moveaxis(np.concatenate([first, points, last]), 0, axis)
    return points


def continuous(lon: Array) -> Array:
    """Return longitudes that go on along rows and from row to row, by less than 180 degrees if possible."""
    known = np.deg2rad(np.where(np.isnan(lon), 0, lon))
    # Where a grid folds, as ORCA's do in the north, its last row goes on from the one below it.
    ways = [np.unwrap(np.unwrap(known, axis=1), axis=0)]
    ways.append(np.unwrap(np.concatenate([np.unwrap(known[:1], axis=1), known[1:]]), axis=0))
    found: Array = np.rad2deg(min(ways, key=_torn))
    found += 360 * np.round(-np.median(found) / 360)
    found[np.isnan(lon)] = np.nan
    return found


def _torn(radians: Array) -> int:
    """Return between how many neighbours there are more than 180 degrees."""
    return sum(int((np.abs(np.diff(radians, axis=axis)) > np.pi).sum()) for axis in (0, 1))


def _apart(a: Array, b: Array) -> Array:
    found: Array = np.linalg.norm(a - b, axis=-1)
    return found
