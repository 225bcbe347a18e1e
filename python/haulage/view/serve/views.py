"""What is seen: a map, a series, a mean, a value; and the next step, read before it is asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from haulage.errors import HaulageError, UnsupportedError, UsageError
from haulage.view.cf import axes, grids
from haulage.view.cf.axes import Horizontal
from haulage.view.decode.boxes import Box
from haulage.view.decode.scaling import meant
from haulage.view.decode.slab import MOST_VALUES
from haulage.view.index.model import Chunked, Variable
from haulage.view.index.opening import Opened
from haulage.view.serve.catalogue import said_along
from haulage.view.serve.library import Library

#: What NetCDF's libraries put where floats were never written.
NEVER_WRITTEN = np.float32(9.969209968386869e36)
#: Values of a map that are decoded at once.
_BAND_VALUES = 1 << 22
#: Values from which percentiles are found.
_SAMPLE = 200_000


@dataclass(frozen=True)
class Chosen:
    """One map of a variable: the place along each dimension but y and x."""

    opened: Opened
    variable: Variable
    across: Horizontal
    places: dict[str, int]

    def corners(self, library: Library) -> grids.Corners:
        """Return the corners of its cells; of files that are shown as one, by the coordinates of its own."""
        what = in_one_file(self) if self.across.is_curved else self
        return library.corners(what.opened, what.across, what.places)

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from all others."""
        return (
            self.opened.pinned.url,
            self.opened.pinned.etag,
            self.variable.path,
            *sorted(self.places.items()),
        )

    @property
    def size(self) -> tuple[int, int]:
        """How many cells it has along y and x."""
        lengths = dict(zip(self.variable.dims, self.variable.shape, strict=True))
        return lengths.get(self.across.y_dim, 1), lengths[self.across.x_dim]

    def box(self, y: tuple[int, int], x: tuple[int, int]) -> Box:
        """Return the box of a window of it."""
        windows = {self.across.y_dim: y, self.across.x_dim: x}
        return tuple(
            windows.get(dim) or (self.places[dim], self.places[dim] + 1) for dim in self.variable.dims
        )


@dataclass(frozen=True)
class Slab:
    """The values of a map, and what is said of them."""

    values: np.ndarray[Any, Any]  #: Float32, of shape (ny, nx); NaN where one is missing
    said: dict[str, Any]


def chosen(library: Library, asked: Mapping[str, str], suffix: str = "") -> Chosen:
    """Return what a request asks for: ``name``, ``var``, and ``index=dim:3,dim2:0``, 0 for the rest."""
    opened = library.opened(text(asked, f"name{suffix}"))
    variable = library.variable(opened, text(asked, f"var{suffix}"))
    across = library.across(opened, variable)
    rest = [dim for dim in variable.dims if dim not in (across.y_dim, across.x_dim)]
    return Chosen(opened, variable, across, places(variable, rest, asked.get(f"index{suffix}", "")))


def in_one_file(what: Chosen) -> Chosen:
    """Return the same map in the file that holds it, of several that are shown as one."""
    parts = what.opened.parts
    if parts is None:
        return what
    step, places = what.places.get(parts.dim), what.places
    file = parts.base
    if step is not None:
        file, (within, _) = next(parts.pieces(step, step + 1))
        places = {**places, parts.dim: within}
    its = file.index.variables[what.variable.path]
    return Chosen(file, its, axes.horizontal(file.index, its) or what.across, places)


def places(variable: Variable, dims: list[str], text: str) -> dict[str, int]:
    """Return the place along each of ``dims`` that ``dim:3,dim2:0`` says."""
    said: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        dim, _, number = part.rpartition(":")
        said[dim] = number
    lengths = dict(zip(variable.dims, variable.shape, strict=True))
    return {dim: integer(said.get(dim, "0"), f"index {dim}", lengths[dim]) for dim in dims}


def integer(text: str, what: str, length: int) -> int:
    """Return a place along a dimension.

    Raises:
        UsageError: It is no number, or not within the dimension.
    """
    if not text.lstrip("-").isdecimal() or not -length <= int(text) < length:
        raise UsageError(
            "read", f"{what}={text[:40]}", f"not a place from 0 to {length - 1}", "choose another"
        )
    return int(text) % length


def slab(library: Library, what: Chosen, *, ahead: bool = True) -> Slab:
    """Return a map, from what is kept if it is there; the steps beside it are then read in the background."""
    if math.prod(what.size) > _BAND_VALUES:
        with library.large:
            return _read(library, what)
    found: Slab = library.slabs.made(what.key, lambda: _read(library, what))
    if ahead:
        for beside in _beside(what):
            if library.slabs.get(beside.key) is None:

                def read(beside: Chosen = beside) -> None:
                    with suppress(HaulageError):
                        slab(library, beside, ahead=False)

                library.ahead(read)
    return found


def window(library: Library, what: Chosen, y: tuple[int, int], x: tuple[int, int]) -> np.ndarray[Any, Any]:
    """Return the values of a window of a map, as they are meant."""
    values = meant(library.reader.read(what.opened, what.variable, what.box(y, x)), what.variable)
    order = [what.variable.dims.index(dim) for dim in (what.across.y_dim, what.across.x_dim) if dim]
    rest = [place for place in range(values.ndim) if place not in order]
    return values.transpose(*rest, *order).reshape(y[1] - y[0], x[1] - x[0])


def series(library: Library, what: Chosen, along: str, y: int, x: int) -> dict[str, Any]:
    """Return the values at a point along a dimension, with its labels."""
    if along not in what.places:
        hint = "choose one of the dimensions that are neither x nor y"
        raise UsageError("read", f"along={along[:60]}", "the variable does not go along it", hint)
    place = what.variable.dims.index(along)
    box = list(what.box((y, y + 1), (x, x + 1)))
    box[place] = (0, what.variable.shape[place])
    values = meant(library.reader.read(what.opened, what.variable, tuple(box)), what.variable).ravel()
    axis = next(axis for axis in axes.axes(what.opened.index, what.variable) if axis.dim == along)
    labels, _ = said_along(library, what.opened, axis.coordinate)
    return {
        "labels": labels or [str(number) for number in range(axis.size)],
        "values": [_plain(value) for value in values.tolist()],
        "units": what.variable.attribute("units"),
        "role": axis.role,
        "along_units": axis.coordinate.attribute("units") if axis.coordinate else None,
    }


def mean(library: Library, what: Chosen, y: tuple[int, int], x: tuple[int, int]) -> dict[str, Any]:
    """Return the mean of a window, each cell by its area; cells without a value do not count."""
    ny, nx = what.size
    values = (
        slab(library, what, ahead=False).values
        if (y, x) == ((0, ny), (0, nx))
        else window(library, what, y, x)
    )
    areas = grids.areas(what.corners(library))[slice(*y), slice(*x)]
    good = _is_measured(values) & np.isfinite(areas)
    weight = float(areas[good].sum())
    total = float((values[good].astype(np.float64) * areas[good]).sum())
    return {
        "mean": total / weight if weight else None,
        "cells": int(good.sum()),
        "missing": int(good.size - good.sum()),
        "units": what.variable.attribute("units"),
    }


def value(library: Library, what: Chosen, y: int, x: int) -> dict[str, Any]:
    """Return one value exactly, as it is meant and as it is stored, and where it lies."""
    box = what.box((y, y + 1), (x, x + 1))
    stored = library.reader.read(what.opened, what.variable, box)
    found = meant(stored, what.variable)
    one, raw = found.ravel()[0], stored.ravel()[0]
    lon, lat = _centre(what.corners(library), y, x)
    labels = {}
    for axis in axes.axes(what.opened.index, what.variable):
        if axis.dim in what.places and axis.coordinate is not None and axis.size <= 10_000:
            along, _ = said_along(library, what.opened, axis.coordinate)
            labels[axis.dim] = along[what.places[axis.dim]] if along else None
    return {
        "value": _plain(one.item()),
        # As many digits as tell it from its neighbours in its own type.
        "text": str(one),
        "stored": _plain(raw.item()),
        "dtype": found.dtype.name,
        "stored_dtype": stored.dtype.newbyteorder("=").name,
        "units": what.variable.attribute("units"),
        "lon": lon,
        "lat": lat,
        "labels": labels,
    }


def _read(library: Library, what: Chosen) -> Slab:
    ny, nx = what.size
    if ny * nx > MOST_VALUES:
        cause = f"a map of {ny:,} by {nx:,} values is too large: {MOST_VALUES:,} are drawn at most"
        hint = "copy the file with haul cp, or read parts of it with xarray"
        raise UnsupportedError("draw", f"{what.opened.pinned.name}, {what.variable.path}", cause, hint)
    values = np.empty((ny, nx), np.float32)
    rows = max(_BAND_VALUES // max(nx, 1), 1)
    layout = what.variable.layout
    if isinstance(layout, Chunked) and not what.across.is_points:
        # Whole chunks, so that none is read twice.
        height = layout.chunk[what.variable.dims.index(what.across.y_dim)]
        rows = max(rows // height, 1) * height
    for start in range(0, ny, rows):
        stop = min(start + rows, ny)
        found = window(library, what, (start, stop), (0, nx))
        with np.errstate(over="ignore", invalid="ignore"):
            values[start:stop] = found
        if found.dtype == np.float64 and (np.isinf(values[start:stop]) & np.isfinite(found)).any():
            cause = f"some of its values are beyond {np.finfo(np.float32).max:.1e}, which a map cannot hold"
            name = f"{what.opened.pinned.name}, {what.variable.path}"
            raise UnsupportedError("draw", name, cause, "read them with xarray, or write them in other units")
    return Slab(values, {"shape": [ny, nx], **statistics(values), "units": what.variable.attribute("units")})


def statistics(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return what is said of values: the least, the largest, two percentiles, and how many are missing."""
    finite = _is_measured(values)
    missing = values.size - int(finite.sum())
    if missing == values.size:
        return {"min": None, "max": None, "p2": None, "p98": None, "missing": missing}
    step = max(math.isqrt(values.size // _SAMPLE), 1)
    sample = values[::step, ::step][finite[::step, ::step]]
    if not sample.size:
        sample = values[finite]
    low, high = np.percentile(sample, [2, 98])
    return {
        "min": float(values.min(initial=np.inf, where=finite)),
        "max": float(values.max(initial=-np.inf, where=finite)),
        "p2": float(low),
        "p98": float(high),
        "missing": missing,
    }


def _is_measured(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # What was never written is a value, as for xarray, unless it is said to be missing; but no measure.
    found: np.ndarray[Any, Any] = np.isfinite(values) & (values != NEVER_WRITTEN)
    return found


def _beside(what: Chosen) -> list[Chosen]:
    """Return the next and the previous step in time; without times, along the first dimension."""
    rest = [axis for axis in axes.axes(what.opened.index, what.variable) if axis.dim in what.places]
    along = next((axis for axis in rest if axis.role == "time"), rest[0] if rest else None)
    if along is None or math.prod(what.size) > _BAND_VALUES:
        return []
    here = what.places[along.dim]
    return [
        Chosen(what.opened, what.variable, what.across, {**what.places, along.dim: there})
        for there in (here + 1, here - 1)
        if 0 <= there < along.size
    ]


def _centre(corners: grids.Corners, y: int, x: int) -> tuple[float | None, float | None]:
    if corners.kind == "index":
        return None, None
    lons, lats = corners.centres()
    lon, lat = (lons[x], lats[y]) if lons.ndim == 1 else (lons[y, x], lats[y, x])
    return _plain((float(lon) + 180) % 360 - 180), _plain(float(lat))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def text(asked: Mapping[str, str], name: str) -> str:
    """Return what a request says under a name.

    Raises:
        UsageError: It says nothing.
    """
    if not asked.get(name):
        raise UsageError("read", name, "the request does not say it", f"add {name}=...")
    return asked[name]
