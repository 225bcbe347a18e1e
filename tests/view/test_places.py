"""The cells of a grid lie where their coordinates say, or are drawn by index: never in a wrong place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

from haulage.view.cf import grids, placing
from haulage.view.cf.axes import Horizontal
from haulage.view.index.model import Index, Variable

NAN = np.nan
LAT, LON = np.array([-60.0, -20, 20, 60]), np.array([0.0, 90, 180, 270])


def cell_at(edges: np.ndarray[Any, Any], place: float, turn: float = 0) -> int:
    """Return between which edges a place is; -1 for none."""
    for shift in (0, turn, -turn):
        within = (np.minimum(edges[1:], edges[:-1]) <= place + shift) & (
            place + shift < np.maximum(edges[1:], edges[:-1])
        )
        if within.any():
            return int(np.argmax(within))
    return -1


@pytest.mark.parametrize(
    ("lat", "lon"),
    [
        ([-60, -20, 20, 60], [0, 90, 180, 270]),
        ([60, 20, -20, -60], [270, 180, 90, 0]),
        ([-90, -30, 0, 90], [-180, -90, 0, 90]),
        ([-60.5, -60, 10, 80], [350, 355, 0, 5]),
        ([-60.5, -60, 10, 80], [5, 0, 355, 350]),
        ([60, NAN, -20, -60], [10, NAN, 30, 40]),
        ([NAN, -20, 20, 60], [10, 20, 30, NAN]),
        ([-60, -20, 500, 60], [10, 20, 9.97e36, 40]),
        # More than half of the world between two; np.unwrap took them the other way.
        ([-60, -20, 20, 60], [10, 205, 215, 220]),
        ([-60, -20, 20, 60], [200, 10, 20, 30]),
        ([-60, -20, 20, 60], [0, 100, 330, 340]),
    ],
)
def test_the_cell_at_a_place_is_the_nearest_of_xarray(lat: list[float], lon: list[float]) -> None:
    found = placed(lat, lon)
    assert found.kind == "rectilinear"
    lats, lons = (np.array(one, "f8") for one in (lat, lon))
    lats[np.abs(lats) > 90], lons[np.abs(lons) > 360] = NAN, NAN
    cells = xr.DataArray(np.arange(lats.size), coords={"lat": lats}, dims="lat").dropna("lat")
    cells = cells[np.isfinite(lats)].sortby("lat")
    hidden = found.hidden()
    for place in np.arange(-89.0, 90, 7.3):
        row = cell_at(found.lat, place)
        nearest = int(cells.sel(lat=place, method="nearest"))
        gap = row >= 0 and hidden is not None and hidden[row].all()
        assert row in (nearest, -1) or gap, place
    for row in np.flatnonzero(np.isfinite(lats)).tolist():
        assert cell_at(found.lat, np.clip(lats[row], -89.99, 89.99)) == row
        assert hidden is None or not hidden[row].all()
    for place in np.arange(0.5, 360, 7.3):
        column = cell_at(found.lon, place, 360)
        away = np.abs((lons - place + 180) % 360 - 180)
        gap = column >= 0 and hidden is not None and hidden[:, column].all()
        assert column in (-1, int(np.nanargmin(away))) or gap, place
    for column in np.flatnonzero(np.isfinite(lons)).tolist():
        assert cell_at(found.lon, lons[column], 360) == column
    # What is said of a cell is what the file has.
    assert np.array_equal(found.centres()[1], lats, equal_nan=True)
    turns = (found.centres()[0] - lons) / 360
    assert np.allclose(turns, np.round(turns), equal_nan=True)


def placed(lat: Any, lon: Any, mapping: Variable | None = None, **more: Any) -> grids.Corners:
    """Return the corners of a grid of such latitudes and longitudes, of one or two dimensions each."""
    found = {"lat": np.array(lat, "f8"), "lon": np.array(lon, "f8"), **more}
    dims = (
        {"lat": ("lat",), "lon": ("lon",)} if found["lat"].ndim == 1 else dict.fromkeys(found, ("lat", "lon"))
    )
    said = {"lat": {"units": "degrees_north", "bounds": "lat_bnds"}, "lon": {"units": "degrees_east"}}
    variables = {
        name: Variable(
            name, "number", "<f8", dims.get(name, ("lat", "nv")), of.shape, said.get(name, {}), None
        )
        for name, of in found.items()
    }
    size = (found["lat"].shape[0], found["lon"].shape[-1])
    across = Horizontal("lat", "lon", variables["lat"], variables["lon"], mapping)
    index = Index("netcdf4", {}, {}, {}, variables)
    return placing.corners(index, across, lambda one: found[one.path], size)


UNORDERED = np.array([10.0, 30, 20, 40])


@pytest.mark.parametrize(
    ("lat", "lon", "wrong"),
    [
        (UNORDERED, LON, "lat are not in order"),
        ([-60, -20, 0, -10], LON, "lat are not in order"),
        (LAT, [0, 10, 5, 20], "lon are not in order"),
        (*np.meshgrid(UNORDERED, LON / 9, indexing="ij"), "lat and lon are not in order"),
        (*np.meshgrid(LAT, [0, 10, 5, 20], indexing="ij"), "lat and lon are not in order"),
        # Never written; or an idealised run of WRF.
        ([0, 0, 0, NAN], LON, "lat are all the same"),
        (np.zeros((4, 4)), np.zeros((4, 4)), "lat and lon are all the same"),
    ],
)
def test_places_that_are_not_in_order_are_drawn_by_index(lat: Any, lon: Any, wrong: str) -> None:
    """Cells were drawn half-way between their neighbours in the file, wherever those are."""
    found = placed(lat, lon)
    assert (found.kind, found.why_by_index) == ("index", f"the values of {wrong}")


@pytest.mark.parametrize("name", ["rotated_latitude_longitude", "mercator"])
def test_places_of_a_projection_are_in_order_too(name: str) -> None:
    poles = {"grid_north_pole_longitude": 0.0, "grid_north_pole_latitude": 40.0}
    mapping = Variable("crs", "number", "<i4", (), (), {"grid_mapping_name": name, **poles}, None)
    assert placed(LAT, LON, mapping=mapping).projection == name
    hidden = placed([-60, NAN, 20, 60], LON, mapping=mapping).hidden()
    assert hidden is not None
    assert hidden.tolist() == [[row == 1] * 4 for row in range(4)]
    for lat, lon in ((UNORDERED, LON), (LAT, [0, 10, 5, 20])):
        assert "are not in order" in (placed(lat, lon, mapping=mapping).why_by_index or "")


def test_a_cell_of_two_dimensions_whose_place_is_wrong_is_not_drawn() -> None:
    lat, lon = np.meshgrid(np.arange(-30.0, 30, 3), np.arange(0.0, 60, 3), indexing="ij")
    lat[5, 7], lon[9, 9] = 80, NAN
    hidden = placed(lat, lon).hidden()
    assert hidden is not None
    assert np.argwhere(hidden).tolist() == [[5, 7], [9, 9]]
    areas = grids.areas(placed(lat, lon))
    assert np.array_equal(np.isnan(areas), hidden)


@pytest.mark.parametrize("rows", [3, 5, 73])
def test_cells_at_a_pole_have_a_place(rows: int) -> None:
    lat, lon = np.meshgrid(np.linspace(-90, 90, rows), np.arange(0.0, 360, 30), indexing="ij")
    for found in (placed(lat, lon), placed(lat.T, lon.T)):
        assert (found.kind, found.hidden()) == ("curvilinear", None)


def test_bounds_that_are_not_those_of_the_centres_are_not_used() -> None:
    right, wrong = np.stack([LAT - 20, LAT + 20], 1), np.stack([LAT + 20, LAT + 60], 1)
    for bounds in (right, wrong, wrong[:0], right + NAN):
        assert placed(LAT, LON, lat_bnds=bounds).lat.tolist() == [-80, -40, 0, 40, 80]
