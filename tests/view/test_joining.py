"""Many files as one: values are those of the files, in the order of their times; misfits are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
from playwright.sync_api import Browser

import haulage
from endpoints import Container
from haulage.view.joining.names import series
from sentences import Sentence
from view.paging import Seen
from view.test_coordinates import overwritten
from view.viewing import Viewer, samples, viewing

NY, NX = 6, 8


def write(path: Path, first_day: int, steps: int = 3, **changed: Any) -> np.ndarray[Any, Any]:
    """Write days of a model; return their values."""
    rng = np.random.default_rng(first_day)
    units = changed.get("units", "days since 2000-01-01")
    with netCDF4.Dataset(path, "w", format=changed.get("format", "NETCDF4")) as file:
        for name, length in (("time", None), ("lat", changed.get("ny", NY)), ("lon", NX)):
            file.createDimension(name, length)
        for name, south in (("lat", changed.get("south", -75)), ("lon", 5)):
            made = file.createVariable(name, "f8", (name,), zlib=changed.get("deflated", False))
            made[:] = south + 30.0 * np.arange(made.size)
            made.units = "degrees_north" if name == "lat" else "degrees_east"
        time = file.createVariable("time", "f8", ("time",), zlib=changed.get("deflated", False))
        time.units, time.calendar = units, changed.get("calendar", "360_day")
        per_day = 24 if units.startswith("hours") else 1
        time[:] = (first_day + np.arange(steps) - changed.get("origin", 0)) * per_day
        file.createVariable("height", "f4", ())[:] = 2
        name = changed.get("name", "tas")
        if changed.get("packed"):
            made = file.createVariable(name, "i2", ("time", "lat", "lon"), fill_value=-32768)
            made.scale_factor, made.add_offset = changed["packed"]
        else:
            made = (
                file.createVariable(name, "f4", ("time", "lat", "lon"), chunksizes=(1, 3, 4), zlib=True)
                if "NETCDF3" not in file.data_model
                else file.createVariable(name, "f4", ("time", "lat", "lon"))
            )
        made.units = "K"
        made[:] = rng.random((steps, changed.get("ny", NY), NX)) * 10
        made.set_auto_mask(False)
        return np.asarray(made[:])


def joined(viewer: Viewer, name: str, steps: int, var: str = "tas") -> np.ndarray[Any, Any]:
    maps = [
        viewer.get("/api/slab", name=name, var=var, index=f"time:{step}").framed[1] for step in range(steps)
    ]
    return np.stack(maps).reshape(steps, NY, NX)


def test_names_that_differ_in_numbers_belong_together() -> None:
    assert series(["b/tas_2001.nc", "tas_1.nc", "tas_2.nc", "ua_1.nc", "b/tas_2000.nc", "tas_3.txt"]) == {
        "b/tas_*.nc": ["b/tas_2000.nc", "b/tas_2001.nc"],
        "tas_*.nc": ["tas_1.nc", "tas_2.nc"],
    }


def test_files_are_one_in_the_order_of_their_times(tmp_path: Path) -> None:
    # By name the second comes last in time; it counts hours from another day, and is a NetCDF-3 file.
    expected = [
        write(tmp_path / "tas_1.nc", 0),
        write(tmp_path / "tas_3.nc", 3),
        write(tmp_path / "tas_2.nc", 30, units="hours since 2000-01-11", origin=10, format="NETCDF3_CLASSIC"),
    ]
    with viewing(tmp_path) as viewer:
        found = viewer.get("/api/catalogue").json
        assert found["total"] == 3
        assert [(one["name"], one["files"]) for one in found["series"]] == [("tas_*.nc", 3)]
        file = viewer.file("tas_*.nc")
        assert file["joined"]["along"] == "time"
        assert [(one["name"], one["first"]) for one in file["joined"]["files"]] == [
            ("tas_1.nc", 0), ("tas_3.nc", 3), ("tas_2.nc", 6),
        ]  # fmt: skip
        tas = next(one for one in file["variables"] if one["path"] == "tas")
        assert tas["shape"] == [9, NY, NX]
        labels = tas["axes"][0]["labels"]
        assert (labels[0], labels[5], labels[6], labels[8]) == (
            "2000-01-01", "2000-01-06", "2000-02-01", "2000-02-03",
        )  # fmt: skip
        values = np.concatenate(expected)
        assert np.array_equal(joined(viewer, "tas_*.nc", 9), values)
        asked = {"name": "tas_*.nc", "var": "tas", "y": 4, "x": 2}
        told = viewer.get("/api/series", along="time", **asked).json
        assert np.array_equal(np.array(told["values"], "f4"), values[:, 4, 2])
        # The lines of xarray open the one file that holds the step.
        code = viewer.get("/api/code", index="time:7", **asked).body.decode()
        known: dict[str, Any] = {}
        exec(code, known)
        assert np.array_equal(known["values"].to_numpy(), values[7])
        assert viewer.get("/api/value", index="time:4", **asked).json["value"] == values[4, 4, 2].item()


@pytest.mark.filterwarnings("ignore:.*:zarr.errors.ZarrUserWarning")
def test_files_as_one_are_served_as_zarr(tmp_path: Path) -> None:
    expected = [
        write(tmp_path / "tas_1.nc", 0),
        write(tmp_path / "tas_2.nc", 3, packed=(0.01, 1.0)),
        write(tmp_path / "tas_3.nc", 6, units="hours since 2000-01-01"),
    ]
    with viewing(tmp_path) as viewer, xr.open_zarr(f"{viewer.server.zarr_url}tas_%2A.nc") as served:
        assert np.allclose(served["tas"].to_numpy(), np.concatenate(expected), rtol=1e-6)
        assert [str(time)[:10] for time in served["time"].to_numpy()[[0, 8]]] == ["2000-01-01", "2000-01-09"]
        assert served["lat"].to_numpy().tolist() == [-75, -45, -15, 15, 45, 75]
        assert float(served["height"]) == 2


def test_values_that_are_packed_in_other_ways_are_joined_as_they_are_meant(tmp_path: Path) -> None:
    expected = [
        write(tmp_path / f"tas_{number}.nc", 3 * number, packed=(0.001 * (1 + number), float(number)))
        for number in range(3)
    ]
    with viewing(tmp_path) as viewer:
        assert np.array_equal(joined(viewer, "tas_*.nc", 9), np.concatenate(expected).astype("f4"))


@pytest.mark.parametrize(
    "changed",
    [
        {"ny": 5},
        {"south": -70},
        {"calendar": "noleap"},
        {"name": "uas"},
        {"first_day": 1},
        {"units": "1"},
    ],
)
def test_what_does_not_fit_is_left_out_and_said(
    changed: dict[str, Any], tmp_path: Path, sentence: Sentence
) -> None:
    kept = [write(tmp_path / "tas_1.nc", 0), write(tmp_path / "tas_2.nc", 3)]
    write(tmp_path / "tas_3.nc", **{"first_day": 6, **changed})
    (tmp_path / "tas_4.nc").write_text("no NetCDF at all")
    with viewing(tmp_path) as viewer:
        told = viewer.file("tas_*.nc")["joined"]["left_out"]
        assert list(told) == ["tas_3.nc", "tas_4.nc"]
        sentence(list(told.values()))
        assert np.array_equal(joined(viewer, "tas_*.nc", 6), np.concatenate(kept))


@pytest.mark.parametrize("name", ["lat", "time"])
def test_a_file_whose_coordinate_cannot_be_read_is_left_out(
    name: str, tmp_path: Path, sentence: Sentence
) -> None:
    """No file was shown, then."""
    kept = [write(tmp_path / f"tas_{number}.nc", 3 * number, deflated=True) for number in range(4)]
    with h5py.File(tmp_path / "tas_3.nc", "a") as file:
        file[name].id.write_direct_chunk((0,), b"no zlib", 0)
    overwritten(tmp_path / "tas_2.nc", name)
    with viewing(tmp_path) as viewer:
        told = viewer.file("tas_*.nc")["joined"]["left_out"]
        assert list(told) == ["tas_2.nc", "tas_3.nc"]
        sentence(list(told.values()))
        assert np.array_equal(joined(viewer, "tas_*.nc", 6), np.concatenate(kept[:2]))


def test_files_of_which_no_two_fit(tmp_path: Path, sentence: Sentence) -> None:
    write(tmp_path / "tas_1.nc", 0)
    write(tmp_path / "tas_2.nc", 0)
    with viewing(tmp_path) as viewer:
        answer = viewer.get("/api/file", name="tas_*.nc")
        assert answer.status == 422
        sentence(answer.error["error"])
        sentence(answer.error["hint"])
        assert viewer.get("/api/file", name="ua_*.nc").status == 404


def test_a_file_that_is_replaced_is_a_conflict_and_then_read_anew(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"tas_{number}.nc", 40 * number, steps=30)
    with viewing(tmp_path) as viewer:
        asked = {"name": "tas_*.nc", "var": "tas"}
        viewer.file("tas_*.nc")
        new = write(tmp_path / "tas_1.nc", 41, steps=31)
        assert viewer.get("/api/slab", index="time:35", **asked).status == 409
        assert viewer.file("tas_*.nc")["dimensions"]["time"] == 91
        found = viewer.get("/api/slab", index="time:60", **asked).framed[1]
        assert np.array_equal(found.reshape(NY, NX), new[30])


def test_many_files_are_opened_side_by_side(blobs: Container, tmp_path: Path) -> None:
    for number in range(96):
        write(tmp_path / f"tas_{number}.nc", number, steps=1, format="NETCDF3_CLASSIC")
    haulage.copy(tmp_path, blobs.az())
    with viewing(blobs.az()) as viewer:
        answer = viewer.get("/api/file", name="tas_*.nc")
        # The first 64 KiB of each, by 32 workers: three after another.
        assert (answer.requests, answer.headers["x-haul-round-trips"]) == (96, "3")
        told = viewer.get("/api/series", name="tas_*.nc", var="tas", along="time", y=1, x=1)
        assert len(told.json["values"]) == 96
        assert int(told.headers["x-haul-round-trips"]) <= 14


@pytest.mark.parametrize("timed", [False, True])
def test_places_of_two_dimensions_are_those_of_the_file_that_is_drawn(timed: bool, tmp_path: Path) -> None:
    """They were those of the first file."""
    lat, lon = np.meshgrid(np.arange(0.0, 30, 3), np.arange(0.0, 60, 3), indexing="ij")
    dims = (("time",) if timed else ()) + ("y", "x")
    for number in range(3):
        of = {"lat": lat + 20 * number, "lon": lon + 100 * number}
        if timed:
            of = {name: np.stack([one, one + 1]) for name, one in of.items()}
        xr.Dataset(
            {"v": (("time", "y", "x"), np.ones((2, *lat.shape)))},
            {
                "time": ("time", [2 * number, 2 * number + 1], {"units": "days since 2000-01-01"}),
                "lat": (dims, of["lat"], {"units": "degrees_north"}),
                "lon": (dims, of["lon"], {"units": "degrees_east"}),
            },
        ).to_netcdf(tmp_path / f"tos_{number}.nc", engine="h5netcdf")
    with viewing(tmp_path) as viewer:
        v = next(one for one in viewer.file("tos_*.nc")["variables"] if one["path"] == "v")
        assert v["grid_along"] == ["time"]
        for step in range(6):
            asked: dict[str, Any] = {"name": "tos_*.nc", "index": f"time:{step}"}
            place = 20 * (step // 2) + step % 2 * timed
            _, corners = viewer.get("/api/grid", grid=v["grid"], **asked).framed
            assert np.isclose(corners[len(corners) // 2 :].reshape(11, 21)[5, 10], 13.5 + place, atol=0.2)
            value = viewer.get("/api/value", var="v", y=4, x=5, **asked).json
            assert (value["lat"], value["lon"]) == (
                12 + place,
                (15 + 100 * (step // 2) + step % 2 * timed + 180) % 360 - 180,
            )


def test_nemos_files_are_one_by_a_coordinate_of_another_name() -> None:
    with viewing(samples()) as viewer:
        name = viewer.get("/api/catalogue", search="nemo").json["series"][0]["name"]
        tos = next(one for one in viewer.file(name)["variables"] if one["path"] == "tos")
        assert tos["axes"][0]["labels"] == ["2015-01-16", "2015-02-16", "2015-03-16"]


def test_a_series_of_files_is_opened_and_stepped_through_in_the_page(
    browser: Browser, tmp_path: Path
) -> None:
    for number in range(3):
        write(tmp_path / f"tas_{number}.nc", 3 * number)
    write(tmp_path / "tas_9.nc", 0, ny=5)
    with viewing(tmp_path) as viewer:
        one = Seen(browser, viewer)
        one.page.click("#files .series button")
        one.state("done")
        assert one.text("#found") == "4 files"
        assert one.text("#joined summary") == "3 files joined along time; 1 file does not fit"
        one.page.click("#joined summary")
        assert "tas_9.nc does not fit: its dimension lat has 5 values, not 6" in one.text("#joined")
        assert one.text(".axis[data-dim=time] output") == "2000-01-01"
        for _ in range(4):
            one.page.click(".axis[data-dim=time] button >> nth=1")
        one.until("document.querySelector('.axis[data-dim=time] output').textContent === '2000-01-05'")
        one.page.mouse.click(*one.point(65, -15))
        one.until("document.querySelectorAll('#charts canvas').length === 1")
        assert "9 values" in (one.page.locator("#charts [role=img]").get_attribute("aria-label") or "")
        assert one.said == []
        one.opened.context.close()
