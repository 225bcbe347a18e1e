"""`haul view` over HTTP: what it answers, what it costs, whom it refuses, what it says of failures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

import endpoints
import haulage
from endpoints import Container
from haulage.view.reading import place
from sentences import Sentence
from view import odd_files
from view.viewing import Viewer, samples, viewing


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    odd_files.netcdf(folder / "model.nc", "NETCDF4")
    odd_files.netcdf(folder / "old.nc", "NETCDF3_CLASSIC", calendar="360_day")
    odd_files.filters(folder / "filters.h5")
    (folder / "notes.txt").write_text("none of these")
    return folder


@pytest.fixture(scope="module")
def viewer(data: Path) -> Iterator[Viewer]:
    with viewing(data) as found:
        yield found


@pytest.fixture(scope="module")
def sample() -> Iterator[Viewer]:
    with viewing(samples()) as found:
        yield found


def test_info_says_that_nothing_is_written(viewer: Viewer) -> None:
    assert viewer.get("/api/info").json["writable"] is False


def test_the_catalogue_searches_and_pages(viewer: Viewer) -> None:
    assert viewer.names() == ["filters.h5", "model.nc", "notes.txt", "old.nc"]
    page = viewer.get("/api/catalogue", limit=2).json
    assert (page["total"], page["next"]) == (4, "model.nc")
    rest = viewer.get("/api/catalogue", limit=2, after=page["next"]).json
    assert [file["name"] for file in rest["files"]] == ["notes.txt", "old.nc"]
    assert [file["name"] for file in viewer.get("/api/catalogue", search="NC mod").json["files"]] == [
        "model.nc"
    ]


def test_a_file_tells_axes_roles_and_calendars(viewer: Viewer) -> None:
    found = {one["path"]: one for one in viewer.file("old.nc")["variables"]}
    packed = found["packed"]
    assert [axis["role"] for axis in packed["axes"]] == ["time", "y", "x"]
    # 31 days of a calendar of 360 days each: the second month has thirty.
    assert packed["axes"][0]["labels"] == ["2000-01-01", "2000-02-02", "2000-03-03", "2000-04-04"]
    assert packed["drawn"]
    assert found["text"]["why_not"] == "it holds text"
    assert viewer.file("model.nc")["variables"][3]["axes"][0]["labels"][1] == "2000-02-01"


def test_a_map_is_scaled_and_has_its_grid(viewer: Viewer, data: Path) -> None:
    head, values = viewer.get("/api/slab", name="model.nc", var="packed", index="time:2").framed
    with xr.open_dataset(data / "model.nc", decode_times=False) as file:
        expected = file["packed"][2].to_numpy()
    expected = np.where(expected > np.float32(95 * np.float32(0.1) + 5), np.nan, expected)
    assert head["shape"] == [7, 5]
    assert np.array_equal(values.reshape(7, 5), expected.astype("f4"), equal_nan=True)
    assert head["missing"] == int(np.isnan(expected).sum())
    grid = next(one for one in viewer.file("model.nc")["variables"] if one["path"] == "packed")["grid"]
    head, corners = viewer.get("/api/grid", name="model.nc", grid=grid).framed
    lon, lat = corners.reshape(2, 8, 6)
    assert (head["kind"], head["nx"], head["ny"], head["wrap"]) == ("rectilinear", 5, 7, True)
    assert lon[0].tolist() == [-36, 36, 108, 180, 252, 324]
    assert lat[:, 0].tolist() == [-70, -50, -30, -10, 10, 30, 50, 70]


def test_series_means_and_values(viewer: Viewer, data: Path) -> None:
    with xr.open_dataset(data / "model.nc", decode_times=False) as file:
        packed = file["packed"].where(file["packed"] <= np.float32(14.5)).to_numpy().astype("f8")
        lat = file["lat"].to_numpy()
    asked = {"name": "model.nc", "var": "packed"}
    found = viewer.get("/api/series", along="time", y=3, x=2, **asked).json
    assert found["labels"][0] == "2000-01-01"
    assert np.allclose(np.array(found["values"], "f8"), packed[:, 3, 2], equal_nan=True)
    mean = viewer.get("/api/mean", index="time:1", **asked).json
    edges = np.linspace(-70, 70, 8)
    weights = np.broadcast_to(np.diff(np.sin(np.deg2rad(edges)))[:, None], (7, 5))
    good = np.isfinite(packed[1])
    assert mean["mean"] == pytest.approx(float(np.average(packed[1][good], weights=weights[good])), rel=1e-6)
    part = viewer.get("/api/mean", index="time:1", y0=2, y1=3, x0=1, x1=2, **asked).json
    assert part["mean"] == pytest.approx(packed[1, 2, 1])
    value = viewer.get("/api/value", index="time:1", y=2, x=1, **asked).json
    assert (value["stored_dtype"], value["dtype"]) == ("int16", "float32")
    assert value["value"] == pytest.approx(value["stored"] * 0.1 + 5)
    assert (value["lon"], value["lat"]) == (72, pytest.approx(float(lat[2])))


def test_exports_hold_what_is_seen(viewer: Viewer, tmp_path: Path) -> None:
    asked = {"name": "model.nc", "var": "packed", "index": "time:1"}
    _, values = viewer.get("/api/slab", **asked).framed
    (tmp_path / "out.nc").write_bytes(viewer.get("/api/export", format="nc", **asked).body)
    with xr.open_dataset(tmp_path / "out.nc") as file:
        assert np.array_equal(file["packed"].to_numpy().ravel(), values, equal_nan=True)
        assert file["packed"].attrs["units"] == "K"
    lines = viewer.get("/api/export", format="csv", **asked).body.decode().splitlines()
    assert lines[0] == "longitude,latitude,packed"
    assert len(lines) - 1 == int(np.isfinite(values).sum())
    assert viewer.get("/api/export", format="exe", **asked).status == 400


def test_the_lines_of_xarray_give_the_same(viewer: Viewer) -> None:
    code = viewer.get("/api/code", name="old.nc", var="plain").body.decode()
    names: dict[str, xr.DataArray] = {}
    exec(code, names)
    _, values = viewer.get("/api/slab", name="old.nc", var="plain").framed
    assert np.array_equal(names["values"].to_numpy().ravel().astype("f4"), values)


def test_a_difference_needs_one_grid(viewer: Viewer, sentence: Sentence) -> None:
    asked = {"name": "model.nc", "var": "packed", "index": "time:1"}
    head, values = viewer.get(
        "/api/difference", **asked, name2="old.nc", var2="packed", index2="time:1"
    ).framed
    assert head["equal"]
    assert np.nanmax(np.abs(values)) == 0
    with viewing(samples()) as other:
        one = {"name": "A1B_north_america.nc", "var": "air_temperature"}
        refused = other.get("/api/difference", **one, name2="ostia_monthly.nc", var2="surface_temperature")
    assert refused.status == 400
    sentence(refused.error["hint"])


@pytest.mark.parametrize(
    ("name", "variable", "projection", "west", "east"),
    [
        ("rotated_pole.nc", "air_pressure_at_sea_level", "rotated_latitude_longitude", -90, 71),
        ("toa_brightness_stereographic.nc", "data", None, -103, 47),
        ("hybrid_height.nc", "surface_altitude", "rotated_latitude_longitude", -3.2, -3.0),
        ("space_weather.nc", "TEC", "rotated_latitude_longitude", -156, 156),
        ("orca2_votemper.nc", "votemper", None, -340, 110),
    ],
)
def test_grids_of_other_projections(
    sample: Viewer, name: str, variable: str, projection: str | None, west: float, east: float
) -> None:
    found = next(one for one in sample.file(name)["variables"] if one["path"] == variable)
    head, corners = sample.get("/api/grid", name=name, grid=found["grid"]).framed
    shape = (2, head["ny"] + 1, head["nx"] + 1)
    lon, lat = corners[: np.prod(shape)].reshape(shape)
    assert (head["kind"], head["projection"]) == ("curvilinear", projection)
    # Inland, where ORCA's grid is cut.
    assert corners[np.prod(shape) :].sum() == (5 if name.startswith("orca2") else 0)
    assert west <= np.nanmin(lon) < np.nanmax(lon) <= east
    assert np.nanmax(np.abs(lat)) <= 90
    torn = (np.abs(np.diff(lon, axis=0)) > 180)[:, :-1] | (np.abs(np.diff(lon, axis=1)) > 180)[:-1]
    # One cell at each of ORCA's folds holds the pole.
    assert torn.sum() <= (2 if head["wrap"] else 0)


def test_a_mesh_is_named_and_not_drawn(sample: Viewer) -> None:
    found = {one["path"]: one for one in sample.file("mesh_C4_synthetic_float.nc")["variables"]}
    assert "unstructured mesh" in found["synthetic"]["why_not"]
    assert sample.get("/api/slab", name="mesh_C4_synthetic_float.nc", var="synthetic").status == 404


def test_every_sample_opens_or_says_why_not(sample: Viewer) -> None:
    names, drawn = sample.names(), 0
    assert len(names) == 172
    for name in names:
        answer = sample.get("/api/file", name=name)
        if not name.endswith(".nc"):
            assert answer.status == 422
            assert re.search("Unified Model|GRIB|text", answer.error["error"]), name
            continue
        for variable in answer.json["variables"]:
            asked = {"name": name, "var": variable["path"]}
            assert variable["drawn"] or variable["why_not"], asked
            if variable["drawn"]:
                assert sample.get("/api/grid", name=name, grid=variable["grid"]).status == 200, asked
                assert sample.get("/api/slab", **asked).status == 200, asked
                drawn += 1
    assert drawn > 20


def test_an_answer_that_the_reader_has_costs_nothing(viewer: Viewer) -> None:
    asked = {"name": "model.nc", "var": "packed", "index": "time:0"}
    first = viewer.get("/api/slab", **asked)
    again = viewer.get("/api/slab", {"If-None-Match": first.headers["etag"]}, **asked)
    assert (again.status, again.body, again.requests) == (304, b"", 0)
    assert viewer.get("/api/slab", **asked).requests == 0


@pytest.mark.parametrize(
    "path", ["/api/info", "/api/catalogue", "/api/slab?name=model.nc&var=packed", "/zarr/x/y"]
)
def test_without_the_token_nothing_is_told(viewer: Viewer, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": f"haul-view-{viewer.server.port}=no"}):
        answer = viewer.raw(path, headers)
        assert answer.status == 403
        assert answer.error["code"] == "permission"
    assert viewer.raw("/api/info", {"Authorization": f"Bearer {viewer.server.token}"}).status == 200
    cookie = {"Cookie": f"haul-view-{viewer.server.port}={viewer.server.token}"}
    assert viewer.raw("/api/info", cookie).status == 200
    # A page from elsewhere could send it along.
    assert viewer.raw("/zarr/x/model.nc/zarr.json", cookie).status == 403


def test_a_chunk_is_found_without_a_list_of_all_names(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request for one made a set of all names, and waited a second while they were listed."""
    assert viewer.get("/api/file", name="model.nc").status == 200
    monkeypatch.delattr(place.Place, "names")
    assert viewer.get(f"/zarr/{viewer.server.token}/model.nc/zarr.json").status == 200
    assert viewer.get(f"/zarr/{viewer.server.token}/other/zarr.json").status == 404


def test_others_are_refused(viewer: Viewer, sentence: Sentence) -> None:
    assert viewer.get("/api/info", {"Host": "evil.example:80"}).status == 421
    foreign = viewer.get("/api/info", {"Origin": "https://evil.example"})
    assert foreign.status == 403
    sentence(foreign.error["hint"])
    assert viewer.get("/api/info", {"Sec-Fetch-Site": "cross-site"}).status == 403
    assert viewer.raw(f"/api/info?token={viewer.server.token}", method="POST").status == 405
    assert viewer.raw(f"/api/info?token={viewer.server.token}", method="DELETE").status == 405


@pytest.mark.parametrize("name", ["../model.nc", "/etc/hostname", "%2e%2e/x", "a/../../b", "no.nc", ""])
def test_no_name_leads_out_of_what_is_viewed(viewer: Viewer, name: str) -> None:
    answer = viewer.get("/api/file", name=name)
    assert answer.status == (404 if name else 400)
    assert answer.error["hint"]
    assert viewer.get(f"/zarr/{viewer.server.token}/{name}/zarr.json").status == 404


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"var": "nothing"}, 404),
        ({"var": "packed", "index": "time:4"}, 400),
        ({"var": "packed", "index": "time:x"}, 400),
        ({"var": "time"}, 404),
        ({}, 400),
    ],
)
def test_what_makes_no_sense_is_said(viewer: Viewer, asked: dict[str, Any], status: int) -> None:
    answer = viewer.get("/api/slab", name="model.nc", **asked)
    assert answer.status == status
    assert answer.error["error"]
    assert answer.error["hint"]


def test_a_reload_shows_what_has_replaced_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "FRESH_S", 0.0)
    path = odd_files.netcdf(tmp_path / "a.nc", "NETCDF4")
    with viewing(tmp_path) as viewer:
        before = viewer.file("a.nc")
        odd_files.netcdf(tmp_path / "b.nc", "NETCDF4", steps=9).replace(path)
        after = viewer.file("a.nc")
        assert (before["dimensions"]["time"], after["dimensions"]["time"]) == (4, 9)
        path.unlink()
        assert viewer.get("/api/file", name="a.nc").status == 404


def test_a_blob_that_is_replaced_is_a_conflict(blobs: Container, sentence: Sentence) -> None:
    rng = np.random.default_rng(1)
    old, new = (_large(rng.random((40, 200, 300)).astype("f4")) for _ in range(2))
    haulage.put(blobs.az("a.nc"), old)
    with viewing(blobs.az()) as viewer:
        asked = {"name": "a.nc", "var": "v"}
        assert viewer.file("a.nc")
        assert viewer.get("/api/slab", index="time:0", **asked).status == 200
        haulage.put(blobs.az("a.nc"), new)
        answer = viewer.get("/api/slab", index="time:30", **asked)
        assert answer.status == 409
        sentence(answer.error["error"])
        sentence(answer.error["hint"])
        blobs.client.delete_blob("a.nc")


def _large(values: np.ndarray[tuple[int, int, int], np.dtype[np.float32]]) -> bytes:
    file = netCDF4.Dataset("made", "w", format="NETCDF3_64BIT_OFFSET", memory=values.nbytes + 10_000)
    for name, length in zip(("time", "lat", "lon"), values.shape, strict=True):
        file.createDimension(name, length)
    file.createVariable("lat", "f4", ("lat",))[:] = np.linspace(-80, 80, values.shape[1])
    file.createVariable("lon", "f4", ("lon",))[:] = np.linspace(0, 350, values.shape[2])
    file["lat"].units, file["lon"].units = "degrees_north", "degrees_east"
    file.createVariable("v", "f4", ("time", "lat", "lon"))[:] = values
    return bytes(file.close())


@pytest.mark.usefixtures("blobs")
def test_a_container_that_is_not_there() -> None:
    with viewing("az://not-there/") as viewer:
        answer = viewer.get("/api/catalogue")
        assert answer.status == 404
        assert answer.error["hint"]
        assert viewer.get("/api/info").status == 200


def test_a_variable_of_a_hundred_gigabytes(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF4") as file:
        for name, length in (("time", 1000), ("lat", 5000), ("lon", 5000)):
            file.createDimension(name, length)
        for name in ("lat", "lon"):
            file.createVariable(name, "f4", (name,))[:] = np.linspace(0, 80, 5000)
        file["lat"].units, file["lon"].units = "degrees_north", "degrees_east"
        file.createVariable("v", "f4", ("time", "lat", "lon"), chunksizes=(1, 500, 500), zlib=True)
        file["v"][7, :500, :500] = 1
    with viewing(tmp_path) as viewer:
        head, values = viewer.get("/api/slab", name="a.nc", var="v", index="time:7").framed
        assert head["shape"] == [5000, 5000]
        assert float(values[0]) == 1
        with netCDF4.Dataset(tmp_path / "b.nc", "w", format="NETCDF4") as file:
            file.createDimension("lat", 160_000)
            file.createDimension("lon", 160_000)
            for name in ("lat", "lon"):
                file.createVariable(name, "f4", (name,)).units = {
                    "lat": "degrees_north",
                    "lon": "degrees_east",
                }[name]
            file.createVariable("v", "f4", ("lat", "lon"), chunksizes=(500, 500), zlib=True)
        viewer.get("/api/catalogue", refresh=1)
        answer = viewer.get("/api/slab", name="b.nc", var="v")
        assert answer.status == 422
        assert "too large" in answer.error["error"]
        assert answer.error["hint"]


def test_a_store_that_is_away_when_it_is_listed_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = endpoints.Emulator(tmp_path, store=str(tmp_path / "store"))
    try:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", running.endpoint.connection_string)
        container = running.endpoint.container()
        haulage.put(container.az("a.nc"), _large(np.zeros((1, 20, 30), "f4")))
        running.process.kill()
        running.process.wait()
        with viewing(container.az()) as viewer:
            answer = viewer.get("/api/catalogue")
            assert answer.status == 502
            assert answer.error["hint"].endswith("is the server running?")
            assert viewer.get("/api/info").status == 200
            running.restart(0)
            assert viewer.names() == ["a.nc"]
            assert viewer.get("/api/slab", name="a.nc", var="v").status == 200
    finally:
        running.kill()


@pytest.mark.long
def test_a_store_that_is_away_while_it_is_read_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = endpoints.Emulator(tmp_path, store=str(tmp_path / "store"))
    try:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", running.endpoint.connection_string)
        container = running.endpoint.container()
        haulage.put(
            container.az("a.nc"), _large(np.random.default_rng(1).random((20, 200, 300)).astype("f4"))
        )
        with viewing(container.az(), stall_timeout="2s") as viewer:
            asked = {"name": "a.nc", "var": "v"}
            assert viewer.get("/api/slab", index="time:0", **asked).status == 200
            running.process.kill()
            running.process.wait()
            # The engine tries for half a minute.
            answer = viewer.get("/api/slab", index="time:15", **asked)
            assert answer.status in (502, 503, 504)
            assert answer.error["error"]
            assert viewer.get("/api/info").status == 200
            running.restart(0)
            assert viewer.get("/api/slab", index="time:15", **asked).status == 200
    finally:
        running.kill()
