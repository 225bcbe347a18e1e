"""NetCDF-4 variables with fewer records than their unlimited dimension are as long as it, as in NetCDF."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import h5netcdf  # type: ignore[import-untyped]
import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr

from command import HAUL, clean_environment
from haulage.view.decode.texts import texts_of
from haulage.view.index import sidecar
from haulage.view.index.opening import open_file
from haulage.view.reading.place import Place
from sentences import Sentence
from view.viewing import viewing

pytestmark = pytest.mark.filterwarnings("ignore:.*:zarr.errors.ZarrUserWarning")

#: Steps of the longest variable.
STEPS = 4


def by_netcdf4(path: Path) -> Path:
    """Write variables of all kinds that lag behind one of four steps, or were never written."""
    with netCDF4.Dataset(path, "w") as file:
        for name, length in (("time", None), ("member", None), ("lat", 2), ("lon", 3)):
            file.createDimension(name, length)
        for name, units in (("lat", "degrees_north"), ("lon", "degrees_east")):
            made = file.createVariable(name, "f4", (name,))
            made.units, made[:] = units, np.arange(made.size) * 10
        time = file.createVariable("time", "f8", ("time",))
        time.units, time[:] = "days since 2000-01-01", np.arange(STEPS)
        grid: Any = ("time", "lat", "lon")
        file.createVariable("full", "f4", grid, fill_value=-9)[:] = np.arange(24).reshape(4, 2, 3)
        file.createVariable("lagging", "f4", grid, fill_value=-9)[0:2] = 1
        file.createVariable("in_chunks", "i4", grid, chunksizes=(3, 2, 2), zlib=True)[0:1] = 7
        file.createVariable("packed", "f8", grid, chunksizes=(3, 2, 2), zlib=True, fill_value=False)[0:1] = 7
        file.createVariable("no_fill", "f4", grid, fill_value=False)[0:1] = 3
        file.createVariable("bytes", "i1", grid)[0:1] = 2
        file.createVariable("unsigned", "u8", ("time",))[0:1] = 2
        file.createVariable("never", "i2", grid, fill_value=-9)
        file.createVariable("never_filled", "f4", grid)
        file.createVariable("never_read", "f8", ("member", "lon"))
        file.createVariable("by_member", "f4", ("member",))[:] = np.arange(5)
        file.createVariable("letters", "S1", ("time", "lon"))[0] = list("abc")
        file.createVariable("names", str, ("time",))[0] = "first"
        group = file.createGroup("group")
        group.createVariable("below", "f8", grid, fill_value=-5)[0:1] = 2
        group.createDimension("step", None)
        group.createVariable("own", "f4", ("step",))[:] = np.arange(2)
        group.createVariable("own_lagging", "f4", ("step", "lon"))[0:1] = 4
    return path


def by_h5netcdf(path: Path) -> Path:
    """Write the same as a file that says no fill values, of which chunks hold zeros in their place."""
    with h5netcdf.File(path, "w", libver="latest") as file:
        file.dimensions = {"time": None, "member": None, "lon": 3}
        file.resize_dimension("time", STEPS)
        for name, dims, dtype, shape, options in (
            ("full", ("time", "lon"), "f4", (4, 3), {}),
            ("lagging", ("time", "lon"), "f4", (1, 3), {"fillvalue": -9.0, "chunks": (3, 3)}),
            ("no_fill", ("time", "lon"), "f8", (2, 3), {"chunks": (3, 2)}),
            ("packed", ("time", "lon"), "i4", (2, 3), {"chunks": (3, 2), "compression": "gzip"}),
            ("never", ("time", "lon"), "i2", (0, 3), {"chunks": (2, 3)}),
            ("time", ("time",), "f8", (2,), {}),
        ):
            made = file.create_variable(name, dims, dtype, **options)
            made._h5ds.resize(shape)
            if shape[0]:
                made._h5ds[...] = np.arange(np.prod(shape)).reshape(shape) + 7
    return path


def same(found: xr.Dataset, local: xr.Dataset) -> int:
    """Compare numbers; return how many variables were."""
    numbers = [name for name in local.variables if local[name].dtype.kind in "iuf"]
    for name in numbers:
        assert found[name].dims == local[name].dims, name
        assert found[name].dtype == local[name].dtype, name
        assert np.array_equal(found[name].to_numpy(), local[name].to_numpy()), name
    return len(numbers)


@pytest.mark.parametrize("make", [by_netcdf4, by_h5netcdf])
def test_xarray_reads_what_netcdf_reads_from_the_server(make: Any, tmp_path: Path) -> None:
    path = make(tmp_path / "lag.nc")
    with viewing(tmp_path) as viewer:
        url = f"{viewer.server.zarr_url}lag.nc"
        with h5py.File(path) as file:
            groups = [None, "group"] if "group" in file else [None]
        for group in groups:
            with (
                xr.open_zarr(url, group=group, decode_cf=False) as served,
                xr.open_dataset(path, group=group, engine="netcdf4", decode_cf=False) as local,
            ):
                assert same(served, local) >= 3
        with xr.open_zarr(url, decode_times=False) as served:
            assert served.sizes["time"] == STEPS


@pytest.mark.parametrize("make", [by_netcdf4, by_h5netcdf])
def test_xarray_reads_what_netcdf_reads_by_references(make: Any, tmp_path: Path) -> None:
    path = make(tmp_path / "lag.nc")
    run = subprocess.run(
        [HAUL, "index", str(path), "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        env=clean_environment(tmp_path),
        check=False,
    )
    assert run.returncode == 0, run.stderr
    refused = "its last records were never written, and it has no fill value"
    left_out = {line.split(", ")[1].split(":")[0] for line in run.stderr.splitlines() if refused in line}
    # Zeros of the file would stand in place of fill values.
    assert left_out == ({"packed"} if make is by_netcdf4 else {"no_fill", "packed", "time"})
    options = {"fo": str(tmp_path / "lag.nc.json"), "remote_protocol": "file"}
    kwargs = {"consolidated": False, "storage_options": options, "zarr_format": 2}
    with (
        xr.open_dataset("reference://", engine="zarr", backend_kwargs=kwargs, decode_cf=False) as found,
        xr.open_dataset(path, engine="netcdf4", decode_cf=False) as local,
    ):
        assert same(found, local.drop_vars(left_out)) >= 3
        if "letters" in local:
            assert (found["letters"].to_numpy() == local["letters"].to_numpy()).all()


def test_all_steps_are_drawn_and_texts_are_empty_where_none_was_written(tmp_path: Path) -> None:
    path = by_netcdf4(tmp_path / "lag.nc")
    with viewing(tmp_path) as viewer:
        told = viewer.file("lag.nc")
        assert told["dimensions"]["time"] == STEPS
        about = {one["name"]: one for one in told["variables"]}
        for name in ("lagging", "never", "never_filled", "packed"):
            assert about[name]["shape"] == [STEPS, 2, 3], name
            assert about[name]["why_not"] is None, name
            values = viewer.get("/api/slab", name="lag.nc", var=name, index="time:3").framed[1]
            assert values.shape == (6,), name
        assert np.isnan(viewer.get("/api/slab", name="lag.nc", var="never", index="time:3").framed[1]).all()
        first = viewer.get("/api/slab", name="lag.nc", var="lagging", index="time:0").framed[1]
        assert (first == 1).all()
    opened = open_file(Place(str(path), {}).pin(path.name), None)
    assert texts_of(opened, opened.index.variables["names"]) == ["first", "", "", ""]


def test_two_unlimited_dimensions_may_both_have_grown(tmp_path: Path) -> None:
    path = tmp_path / "two.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("member", None)
        file.createVariable("time", "f8", ("time",))[:] = np.arange(3)
        file.createVariable("member", "f8", ("member",))[:] = np.arange(4)
        both = file.createVariable("both", "f4", ("time", "member"), fill_value=-9, chunksizes=(2, 3))
        both[0:1, 0:2] = 5
    expected = np.full((3, 4), -9, "f4")
    expected[0, :2] = 5
    # Not by netcdf4: where both have grown, it returns memory that nobody has filled.
    with xr.open_dataset(path, engine="h5netcdf", decode_cf=False) as local:
        assert np.array_equal(local["both"].to_numpy(), expected)
    with (
        viewing(tmp_path) as viewer,
        xr.open_zarr(f"{viewer.server.zarr_url}two.nc", decode_cf=False) as found,
    ):
        assert np.array_equal(found["both"].to_numpy(), expected)


def test_what_cannot_grow_is_not_served_and_the_rest_is(tmp_path: Path, sentence: Sentence) -> None:
    path = tmp_path / "fixed.h5"
    with h5py.File(path, "w") as file:
        time = file.create_dataset("time", data=np.arange(4.0), maxshape=(None,), chunks=(4,))
        time.make_scale("time")
        for name, many, chunks in (("contiguous", 2, None), ("chunked", 2, (2,)), ("whole", 4, None)):
            made = file.create_dataset(name, data=np.arange(many) + 1.0, chunks=chunks)
            made.dims[0].attach_scale(time)
    with viewing(tmp_path) as viewer:
        group = zarr.open_group(f"{viewer.server.zarr_url}fixed.h5", mode="r")
        assert sorted(group.array_keys()) == ["chunked", "time", "whole"]
        with xr.open_zarr(f"{viewer.server.zarr_url}fixed.h5", decode_cf=False) as found:
            assert found["whole"].to_numpy().tolist() == [1, 2, 3, 4]
            assert found["chunked"].to_numpy()[:2].tolist() == [1, 2]
        about = {one["name"]: one["why_not"] for one in viewer.file("fixed.h5")["variables"]}
        sentence(about["contiguous"])


def days(path: Path, first: int, *, written: int, times: int = 3) -> Path:
    with netCDF4.Dataset(path, "w") as file:
        for name, length in (("time", None), ("lat", 2), ("lon", 3)):
            file.createDimension(name, length)
        time = file.createVariable("time", "f8", ("time",))
        time.units, time[:] = "days since 2000-01-01", first + np.arange(times)
        made = file.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=-9, chunksizes=(2, 2, 2))
        made[0:written] = first
        file.createVariable("steps", "i4", ("time",))[0:3] = np.arange(3)
    return path


def test_files_that_lag_are_joined_with_fill_values_between_them(tmp_path: Path) -> None:
    paths = [days(tmp_path / f"day_{first}.nc", first, written=first % 4) for first in (1, 4, 7)]
    days(tmp_path / "day_20.nc", 20, written=3, times=2)
    with xr.concat(
        [xr.open_dataset(one, engine="netcdf4", decode_cf=False) for one in paths], "time"
    ) as local:
        assert (local["tas"].to_numpy() == -9).any()
        with viewing(tmp_path) as viewer:
            name = "day_*.nc"
            with xr.open_zarr(f"{viewer.server.zarr_url}{name}", decode_cf=False) as found:
                assert np.array_equal(found["tas"].to_numpy(), local["tas"].to_numpy())
            told = json.dumps(viewer.file(name))
            assert "some of its times are missing" in told, "of the file whose times lag"


def test_an_index_that_was_kept_knows_what_was_written(tmp_path: Path) -> None:
    path = by_h5netcdf(tmp_path / "lag.nc")
    place = Place(str(path), {})
    with xr.open_dataset(path, engine="netcdf4", decode_cf=False) as local:
        expected = local["no_fill"].to_numpy()
    pinned = place.pin(path.name)
    opened = open_file(pinned, tmp_path / "cache")
    again = open_file(pinned, tmp_path / "cache")
    assert again.index == opened.index
    body = sidecar.body_of(pinned.etag, opened.index, opened.tables)
    assert body is not None
    told = sidecar._parsed(body, pinned.etag)
    assert told is not None
    assert told[0].variables["no_fill"].written == (2, 3)
    assert told[0].variables["no_fill"].shape == expected.shape
