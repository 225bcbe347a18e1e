"""Coordinates that cannot be read, or that change with time: the rest is shown, nothing in a wrong place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

from haulage.errors import ConnectionLostError
from haulage.view.cf import axes
from haulage.view.index import hdf5
from haulage.view.index.model import Index, Variable
from haulage.view.index.references import references
from haulage.view.index.store_references import store_references
from haulage.view.reading.place import Place
from sentences import Sentence
from view.paging import Seen
from view.test_bad_input import JPEG
from view.test_reading import opened
from view.viewing import Viewer, viewing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAN = np.nan
LAT, LON = np.array([-60.0, -20, 20, 60]), np.array([0.0, 90, 180, 270])
VALUES = np.arange(16.0, dtype="f4").reshape(4, 4)


def world(path: Path, lat: Callable[[h5py.File], None] | None = None) -> Path:
    """Write two variables, the latitudes of which are written by a function."""
    with h5py.File(path, "w") as file:
        file["lon"], file["time"] = LON, [0.0, 1.0]
        (lat or (lambda file: file.create_dataset("lat", data=LAT)))(file)
        file["v"], file["t"] = VALUES, np.stack([VALUES, VALUES + 1])
        units = {"lat": "degrees_north", "lon": "degrees_east", "time": "days since 2000-01-01"}
        for name, said in units.items():
            file[name].attrs["units"] = said
            file[name].make_scale(name)
        for name, dims in (("v", ("lat", "lon")), ("t", ("time", "lat", "lon"))):
            for place, dim in enumerate(dims):
                file[name].dims[place].attach_scale(file[dim])
    return path


def through_jpeg(file: h5py.File) -> None:
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_chunk((4,))
    settings.set_filter(JPEG, h5py.h5z.FLAG_OPTIONAL, (1, 2))
    made = h5py.h5d.create(file.id, b"lat", h5py.h5t.NATIVE_DOUBLE, h5py.h5s.create_simple((4,)), settings)
    made.write_direct_chunk((0,), b"x" * 30, 0)


def damaged(file: h5py.File) -> None:
    file.create_dataset("lat", data=LAT, chunks=(4,), compression="gzip")
    file["lat"].id.write_direct_chunk((0,), b"no zlib", 0)


def overwritten(path: Path, name: str) -> None:
    """Damage the header of an object of HDF5."""
    with h5py.File(path) as file:
        at = h5py.h5o.get_info(file[name].id).addr
    body = bytearray(path.read_bytes())
    body[at : at + 4] = b"\xff" * 4
    path.write_bytes(body)


def cut_short(path: Path) -> None:
    """Write a file of NetCDF-3 whose latitudes come last, and end before the file should."""
    dims = {"lat": 4, "lon": 4, "time": 2}
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        for name, length in dims.items():
            file.createDimension(name, length)
        for name, along, values, units in (
            ("v", ("lat", "lon"), VALUES, "K"),
            ("t", ("time", "lat", "lon"), np.stack([VALUES, VALUES + 1]), "K"),
            ("lon", ("lon",), LON, "degrees_east"),
            ("time", ("time",), [0, 1], "days since 2000-01-01"),
            ("lat", ("lat",), LAT, "degrees_north"),
        ):
            file.createVariable(name, "f8", along)[:] = values
            file[name].units = units
    path.write_bytes(path.read_bytes()[:-12])


def stores(folder: Path) -> list[str]:
    """Write Zarr stores whose latitudes cannot be read, each for another reason."""
    names = []
    for form, document, chunk, root in ((2, ".zarray", "0", ".zgroup"), (3, "zarr.json", "c/0", "zarr.json")):
        for kind in ("chunk", "metadata", "codec"):
            name = f"{kind}{form}.zarr"
            with xr.open_dataset(folder / "whole.h5", decode_times=False) as whole:
                whole.to_zarr(folder / name, zarr_format=form, consolidated=False)
            path = folder / name / "lat" / document
            if kind == "codec":
                path.write_text(path.read_text().replace("blosc", "nonsense").replace("zstd", "nonsense"))
            else:
                (path.parent / chunk if kind == "chunk" else path).write_bytes(b"{ nonsense")
            names.append(f"{name}/{root}")
    return names


UNREADABLE: dict[str, Callable[[h5py.File], Any]] = {
    "filter.h5": through_jpeg,
    "damaged.h5": damaged,
    "compound.h5": lambda file: file.create_dataset("lat", data=np.zeros(4, [("a", "f4"), ("b", "i4")])),
    "texts.h5": lambda file: file.create_dataset("lat", data=np.array(["a", "b", "c", "d"], object)),
    "letters.h5": lambda file: file.create_dataset("lat", data=np.array([b"1N", b"2N", b"3N", b"4N"])),
    "nothing.h5": lambda file: file.create_dataset("lat", data=LAT * NAN),
}


def drawn(viewer: Viewer, name: str, path: str, **asked: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the file says of a variable, and what its grid says."""
    said = next(one for one in viewer.file(name)["variables"] if one["path"] == path)
    return said, viewer.get("/api/grid", name=name, grid=said["grid"], **asked).framed[0]


@pytest.mark.filterwarnings("ignore:.*:zarr.errors.UnstableSpecificationWarning")
def test_what_can_be_read_is_shown_and_the_rest_is_named(tmp_path: Path, sentence: Sentence) -> None:
    """One coordinate that could not be read made the whole file fail to open."""
    world(tmp_path / "whole.h5")
    overwritten(world(tmp_path / "header.h5"), "lat")
    cut_short(tmp_path / "cut.nc")
    for name, lat in UNREADABLE.items():
        world(tmp_path / name, lat)
    names = [*UNREADABLE, "header.h5", "cut.nc", *stores(tmp_path)]
    said: list[str] = []
    with viewing(tmp_path) as viewer:
        for name in names:
            variable, grid = drawn(viewer, name, "t")
            assert grid["kind"] == "index", name
            said.append(f"{name}: {grid['why_by_index']}")
            time = next(axis for axis in variable["axes"] if axis["role"] == "time")
            assert time["labels"] == ["2000-01-01", "2000-01-02"], name
            asked: Any = {"name": name, "var": "t", "index": "time:1"}
            assert np.array_equal(viewer.get("/api/slab", **asked).framed[1], VALUES.ravel() + 1), name
            value = viewer.get("/api/value", y=1, x=2, **asked).json
            assert (value["value"], value["lat"], value["lon"]) == (7, None, None)
            assert viewer.get("/api/series", along="time", y=1, x=2, **asked).json["values"] == [6, 7]
            lines = viewer.get("/api/export", format="csv", **asked).body.decode().splitlines()
            assert lines[1] == "0,0,1.0"
            assert viewer.get("/api/mean", **asked).json["mean"] == 8.5
        with xr.open_zarr(f"{viewer.server.zarr_url}filter.h5") as served:
            assert set(served.variables) == {"lon", "time", "v", "t"}
    sentence(said)


def test_what_hdf5_cannot_read_is_left_out_alone(tmp_path: Path) -> None:
    """A group that could not be read was not mentioned, or nothing of the file could be read."""
    for name in ("group", "group/deep", "other"):
        path = tmp_path / f"{name.replace('/', '-')}.h5"
        with h5py.File(world(path), "a") as file:
            file["group/deep"] = file["other"] = VALUES
        overwritten(path, name)
        index = opened(tmp_path, path.name).index
        assert set(index.left_out) == {name}
        assert {"v", "t", "lat", "lon", "time"} <= set(index.variables)
        assert set(references(opened(tmp_path, path.name), "a.h5")[1]) == {name}


def test_values_whose_attributes_cannot_be_read_are_not_drawn(tmp_path: Path, sentence: Sentence) -> None:
    """They were drawn as if they had none."""
    with h5py.File(world(tmp_path / "a.h5"), "a") as file:
        file["v"].attrs["scale_factor"] = file["t"].attrs["note"] = np.zeros((), [("a", "f4")])
    with viewing(tmp_path) as viewer:
        found = {one["path"]: one for one in viewer.file("a.h5")["variables"]}
        assert (found["v"]["drawn"], found["t"]["drawn"]) == (False, True)
        sentence(found["v"]["why_not"])


def test_what_the_store_does_not_answer_is_not_left_out(tmp_path: Path) -> None:
    """It was, for good: the index is kept."""
    world(tmp_path / "a.h5")
    pinned = Place(str(tmp_path), {}).pin("a.h5")
    describing, left = pinned.describing, [10_000]

    def failing(start: int, size: int) -> bytes:
        left[0] -= 1
        if not left[0]:
            raise ConnectionLostError("read", "a.h5", "the connection was lost")
        return describing(start, size)

    pinned.describing = failing  # type: ignore[method-assign]
    whole = hdf5.read(pinned)
    for number in range(1, 10_001 - left[0]):
        left[0] = number
        with pytest.raises(ConnectionLostError):
            hdf5.read(pinned)
    left[0] = 10_000
    assert hdf5.read(pinned) == whole


@pytest.mark.parametrize(("form", "document"), [(2, ".zarray"), (3, "zarr.json")])
def test_metadata_that_are_none_leave_out_their_array_alone(form: Any, document: str, tmp_path: Path) -> None:
    made = xr.Dataset(dict.fromkeys("abcd", (("lat", "lon"), VALUES)), {"lat": LAT, "lon": LON})
    for group in (None, "g"):
        made.to_zarr(tmp_path / "w.zarr", zarr_format=form, consolidated=False, group=group)
    for name, text in (("a", "{"), ("b", "[]"), ("c", "{}"), ("g/d", "{")):
        (tmp_path / "w.zarr" / name / document).write_text(text)
    (tmp_path / "w.zarr/g" / (".zgroup" if form == 2 else document)).write_text("{")
    if form == 2:
        (tmp_path / "w.zarr/.zmetadata").write_text("{")
        (tmp_path / "w.zarr/.zattrs").write_text("{")
    with viewing(tmp_path) as viewer:
        root = f"w.zarr/{'.zgroup' if form == 2 else document}"
        found = viewer.file(root)
        place = Place(str(tmp_path), {})
        while not place.names()[1]:
            pass
        assert found["left_out"] == store_references(place, root)[1]
        assert set(found["left_out"]) - {".zattrs", ".zmetadata"} == {"a", "b", "c", "g", "g/d"}
        assert [group["path"] for group in found["groups"]] == ["g"]
        assert viewer.get("/api/slab", name=root, var="g/a").status == 200
        assert {one["path"] for one in found["variables"]} >= {"d", "lat", "lon", "g/a", "g/lat"}


@pytest.mark.parametrize(
    ("units", "calendar"),
    [
        ("days since 0000-00-00", "360_day"),
        ("days since 0000-00-00", "noleap"),
        ("fortnights since 2000-01-01", "standard"),
        ("days since 2000-01-01", "lunar"),
    ],
)
def test_times_that_are_no_dates_say_why(
    units: str, calendar: str, tmp_path: Path, sentence: Sentence
) -> None:
    with h5py.File(world(tmp_path / "a.h5"), "a") as file:
        file["time"].attrs["units"], file["time"].attrs["calendar"] = units, calendar
    with viewing(tmp_path) as viewer:
        variable, grid = drawn(viewer, "a.h5", "t")
        axis = variable["axes"][0]
        assert (grid["kind"], variable["by_index"]) == ("rectilinear", False)
        assert axis["labels"] == ["0", "1"]
        sentence(axis["why_not"])


def wrf(path: Path, form: Any = "NETCDF4", *, moves: bool = False, units: bool = True) -> None:
    """Write what WRF writes: places for each time, on three staggered grids, named by `coordinates` alone."""
    sizes = {"Time": None, "south_north": 6, "west_east": 8, "south_north_stag": 7, "west_east_stag": 9}
    with netCDF4.Dataset(path, "w", format=form) as file:
        for name, length in sizes.items():
            file.createDimension(name, length)
        file.createVariable("XTIME", "f4", ("Time",))[:] = [0, 60, 120]
        file["XTIME"].units = "minutes since 2000-01-01 00:00:00"
        for ending, rows, columns in (("", 6, 8), ("_U", 6, 9), ("_V", 7, 8)):
            dims = ("Time", f"south_north{'_stag' * (rows == 7)}", f"west_east{'_stag' * (columns == 9)}")
            y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
            step = np.arange(3)[:, None, None] * 1.5 * moves
            for name, of, unit in (
                (f"XLAT{ending}", 30 + y * 0.3 + x * 0.02 + step, "degree_north"),
                (f"XLONG{ending}", -100 + x * 0.35 - y * 0.03 + step, "degree_east"),
                (f"T{ending}", np.arange(3 * rows * columns).reshape(3, rows, columns), "K"),
            ):
                made = file.createVariable(name, "f4", dims)
                made[:] = of
                made.coordinates = f"XLONG{ending} XLAT{ending} XTIME"
                if units:
                    made.units = unit
        file.createVariable("HGT", "f4", ("south_north", "west_east"))[:] = 1
        file["HGT"].coordinates = "XLONG XLAT"


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("form", ["NETCDF4", "NETCDF3_64BIT_OFFSET", "zarr 2", "zarr 3"])
def test_places_of_wrf_are_those_of_the_time_that_is_drawn(form: str, moves: bool, tmp_path: Path) -> None:
    """Coordinates of three dimensions gave no map."""
    name = "wrfout.nc"
    wrf(tmp_path / name, "NETCDF4" if form.startswith("zarr") else form, moves=moves, units=form[-1] != "T")
    with xr.open_dataset(tmp_path / name, decode_times=False) as local:
        if form.startswith("zarr"):
            local.to_zarr(tmp_path / "w.zarr", zarr_format=int(form[-1]), consolidated=False)
            name = f"w.zarr/{'.zgroup' if form[-1] == '2' else 'zarr.json'}"
        with viewing(tmp_path) as viewer:
            for path in ("T", "T_U", "T_V"):
                for step in range(3):
                    variable, grid = drawn(viewer, name, path, index=f"Time:{step}")
                    assert variable["grid_along"] == ["Time"]
                    assert [axis["role"] for axis in variable["axes"]] == ["time", "y", "x"]
                    assert variable["axes"][0]["labels"][1] == "2000-01-01 01:00"
                    assert (grid["kind"], grid["hidden"]) == ("curvilinear", False)
                    one = viewer.get("/api/value", name=name, var=path, index=f"Time:{step}", y=4, x=5).json
                    expected = local[path].isel({local[path].dims[0]: step}).values[4, 5]
                    places = [local[f"{of}{path[1:]}"].values[step, 4, 5] for of in ("XLAT", "XLONG")]
                    assert one["value"] == expected
                    assert np.allclose([one["lat"], one["lon"]], places)
            # What does not go along time has a place if that does not change.
            _, grid = drawn(viewer, name, "HGT")
            assert grid["why_by_index"] == ("XLAT changes along Time" if moves else None)


@pytest.mark.parametrize(
    ("named", "place", "why"),
    [
        ("g/la g/lo", "g/", None),
        ("/g/la /g/lo", "g/", None),
        ("la lo", "g/", None),
        ("la lo", "", None),
        ("la lo", "other/", "the file does not have la, lo"),
        ("la lo gone", "", None),
        ("gone", "", "the file does not have gone"),
        ("", "g/", axes.UNSAID),
    ],
)
def test_coordinates_that_are_elsewhere_or_nowhere(named: str, place: str, why: str | None) -> None:
    def variable(path: str, dims: tuple[str, ...], **said: Any) -> Variable:
        return Variable(path, "number", "<f8", dims, (2, 3), said, None)

    found = [variable("v", ("y", "x"), coordinates=named)]
    for group in (place, "third/") if place == "other/" else (place,):
        found.append(variable(f"{group}la", ("y", "x"), units="degrees_north"))
        found.append(variable(f"{group}lo", ("y", "x"), units="degrees_east"))
    index = Index("netcdf4", {"y": 2, "x": 3}, {}, {}, {one.path: one for one in found})
    across = axes.horizontal(index, found[0])
    assert across is not None
    assert across.why_by_index == why


def test_the_page_names_what_cannot_be_read_and_follows_a_nest(tmp_path: Path, browser: Browser) -> None:
    with h5py.File(world(tmp_path / "a.h5", damaged), "a") as file:
        file["group/deep"] = VALUES
    overwritten(tmp_path / "a.h5", "group/deep")
    wrf(tmp_path / "wrf.nc", moves=True)
    with viewing(tmp_path) as viewer:
        page = Seen(browser, viewer, "file=a.h5&var=v")
        assert "drawn by index, because lat cannot be read: its bytes are damaged" in page.text("#about")
        assert "lat cannot be read: its bytes are damaged" in page.text("#variables button[data-path=v]")
        assert page.text("#unread li").startswith("group/deep")
        assert not page.page.is_visible("#projection")
        page.page.click("button[data-name='wrf.nc']")
        page.until("document.getElementById('title').textContent === 'T'")
        page.state("done")
        assert page.page.is_visible("#projection")
        for step, low in enumerate((0, 48)):
            # The middle of a cell, which has moved.
            place = (-100 + 3 * 0.35 - 3 * 0.03 + 1.5 * step, 30 + 3 * 0.3 + 3 * 0.02 + 1.5 * step)
            page.page.mouse.move(*page.point(*place))
            page.until(f"document.getElementById('under').textContent.endsWith(' {low + 27} K')")
            page.page.click("[data-dim=Time] button >> nth=1")
            page.state("done")
            page.page.click("#fit")
        assert page.said == []
        page.page.close()
