"""Rows of tables and Parquet files as maps: on a grid, or as points; stations of NetCDF files too."""

from __future__ import annotations

import io
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr
from playwright.sync_api import Browser

import haulage
from command import HAUL, clean_environment
from haulage.tables.moving import import_table
from haulage.tables.reading import columns
from haulage.view.reading.place import Place
from haulage.view.rows.gridding import gridded
from haulage.view.rows.place import TablePlace
from haulage.view.serve.serving import Server
from sentences import Sentence
from view.paging import Seen, fragment
from view.viewing import Viewer

RNG = np.random.default_rng(6)
LATS, LONS = np.arange(-85.0, 90, 10), np.arange(5.0, 360, 10)


@contextmanager
def viewing_rows(place: Place, filter: str | None = None) -> Iterator[Viewer]:
    server = Server(place, None, rows=columns, filter=filter)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield Viewer(server)
    finally:
        server.stop()
        thread.join(10)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A table service with three tables; how to reach it."""
    folder = tmp_path_factory.mktemp("tables")
    north, east = RNG.uniform(35, 70, 60).tolist(), RNG.uniform(-30, 30, 60).tolist()
    stations = [
        {
            "PartitionKey": "no", "RowKey": f"{number:03d}", "lat": lat, "lon": lon,
            "elevation": float(number), "name": f"station {number}",
            **({"depth": 1.5} if number % 2 else {}),
        }
        for number, (lat, lon) in enumerate(zip(north, east, strict=True))
    ]  # fmt: skip
    cells = [
        {
            "PartitionKey": f"{lat}", "RowKey": f"{lon}-{month}", "latitude": lat, "longitude": lon,
            "time@odata.type": "Edm.DateTime", "time": f"2009-0{month}-15T00:00:00Z",
            "tas": lat + lon / 100 + month,
        }
        for lat in LATS for lon in LONS for month in (1, 2, 3) if (lat, lon) != (-85, 5)
    ]  # fmt: skip
    with haulage.Emulator() as emulator:
        notes = [{"PartitionKey": "a", "RowKey": "b", "x": 1}]
        for name, rows in (("stations", stations), ("cells", cells), ("notes", notes)):
            path = folder / f"{name}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            import_table(str(path), f"{emulator.endpoint}/{name}", create=True)
        yield emulator.connection_string


@pytest.fixture
def reached(service: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", service)
    return service


def variables(viewer: Viewer, name: str) -> dict[str, Any]:
    return {one["path"]: one for one in viewer.file(name)["variables"]}


@pytest.mark.usefixtures("reached")
def test_rows_whose_places_make_a_grid() -> None:
    with viewing_rows(TablePlace("az-table://cells", {})) as viewer:
        assert viewer.names() == ["cells"]
        found = variables(viewer, "cells")
        tas = found["tas"]
        assert [axis["role"] for axis in tas["axes"]] == ["time", "y", "x"]
        assert tas["axes"][0]["labels"] == ["2009-01-15", "2009-02-15", "2009-03-15"]
        answer = viewer.get("/api/slab", name="cells", var="tas", index="time:2")
        head, values = answer.framed
        expected = (LATS[:, None] + LONS / 100 + 3).astype("f4")
        expected[0, 0] = np.nan
        assert np.array_equal(values.reshape(18, 36), expected, equal_nan=True)
        assert head["missing"] == 1
        # Rows were read once, for the file.
        assert answer.requests == 0
        series = viewer.get("/api/series", name="cells", var="tas", along="time", y=9, x=4).json
        assert series["values"] == [pytest.approx(5 + 0.45 + month) for month in (1, 2, 3)]
        assert (
            "export_table('az-table://cells'"
            in viewer.get("/api/code", name="cells", var="tas").body.decode()
        )
        body = viewer.get("/api/export", name="cells", var="tas", format="nc").body
        with xr.open_dataset(io.BytesIO(body), engine="scipy") as kept:
            assert kept["tas"].shape == (18, 36)


@pytest.mark.usefixtures("reached")
def test_rows_at_places_of_their_own_are_points() -> None:
    with viewing_rows(TablePlace("az-table://stations", {}), "elevation ge 20") as viewer:
        found = variables(viewer, "stations")
        assert found["elevation"]["shape"] == [40]
        assert viewer.file("stations")["left_out"]["name"] == "it holds text"
        head, places = viewer.get("/api/grid", name="stations", grid=found["elevation"]["grid"]).framed
        assert (head["kind"], head["nx"], head["ny"]) == ("points", 40, 1)
        head, values = viewer.get("/api/slab", name="stations", var="elevation").framed
        assert sorted(values.tolist()) == list(range(20, 60))
        # A property that only some rows have.
        assert viewer.get("/api/slab", name="stations", var="depth").framed[0]["missing"] == 20
        one = viewer.get("/api/value", name="stations", var="elevation", y=0, x=3).json
        assert (one["lon"], one["lat"]) == pytest.approx((places[3], places[43]))
        assert viewer.get("/api/mean", name="stations", var="elevation").json["mean"] == pytest.approx(39.5)
        lines = (
            viewer.get("/api/export", name="stations", var="elevation", format="csv")
            .body.decode()
            .splitlines()
        )
        assert len(lines) == 41
        assert (
            "filter='elevation ge 20'"
            in viewer.get("/api/code", name="stations", var="elevation").body.decode()
        )


@pytest.mark.slow("a page in a browser")
@pytest.mark.usefixtures("reached")
def test_points_on_the_page_and_a_table_that_changes(browser: Browser) -> None:
    with viewing_rows(TablePlace("az-table://stations", {})) as viewer:
        one = Seen(browser, viewer, fragment(file="stations", var="elevation", range="all"))
        assert "(60 points)" in one.measured()
        places = viewer.get(
            "/api/grid", name="stations", grid=variables(viewer, "stations")["elevation"]["grid"]
        ).framed[1]
        # Of one that stands alone.
        away = np.hypot(places[:60, None] - places[:60], places[60:, None] - places[60:]) + np.eye(60) * 99
        alone = int(away.min(0).argmax())
        lon, lat = float(places[alone]), float(places[60 + alone])
        value = float(viewer.get("/api/slab", name="stations", var="elevation").framed[1][alone])
        found, wanted = one.pixel(lon, lat), one.colour(value, *one.range(), scale="viridis")
        assert max(abs(a - b) for a, b in zip(found, wanted, strict=True)) <= 6
        x, y = one.point(lon, lat)
        one.page.mouse.move(x + 2, y)
        one.until(f"document.getElementById('under').textContent.includes(': {value:g}')")
        one.page.mouse.click(x, y)
        one.until("document.getElementById('exact').textContent.includes('Point')")
        one.page.mouse.move(*one.point(lon + away.min(0).max() / 2, lat))
        # Somebody adds a row: the page draws it without being asked.
        import_table_row(RNG.uniform(0, 1))
        one.page.wait_for_function(
            "() => document.getElementById('seen').textContent.includes('61 points')", timeout=30_000
        )
        assert one.said == []
        one.opened.context.close()


def import_table_row(value: float) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write(
            json.dumps({"PartitionKey": "new", "RowKey": "1", "lat": 50.0, "lon": 0.5, "elevation": value})
            + "\n"
        )
        file.flush()
        import_table(file.name, "az-table://stations")


def test_parquet_files_in_a_folder(tmp_path: Path) -> None:
    times = np.repeat(np.array(["2020-01-01", "2020-01-02"], "M8[us]"), 4)
    table = pa.table(
        {
            "lat": [50.0, 51, 52, 53] * 2,
            "lon": [0.0, 5, 1, 7] * 2,
            "when": times,
            "t2m": np.arange(8.0),
            "wet": [True, False] * 4,
        }
    )
    pq.write_table(table, tmp_path / "obs.parquet")
    with viewing_rows(Place(str(tmp_path), {})) as viewer:
        assert viewer.get("/api/catalogue").json["files"][0]["kind"] == "rows"
        found = variables(viewer, "obs.parquet")
        assert found["t2m"]["axes"][0]["labels"] == ["2020-01-01", "2020-01-02"]
        assert viewer.get("/api/slab", name="obs.parquet", var="t2m", index="when:1").framed[1].tolist() == [
            4,
            5,
            6,
            7,
        ]
        assert found["wet"]["drawn"]


@pytest.mark.parametrize(
    ("url", "filter"),
    [
        ("az-table://notes", None),
        ("az-table://stations", "elevation gt 9000"),
        ("az-table://nothing", None),
    ],
)
@pytest.mark.usefixtures("reached")
def test_what_cannot_be_drawn_says_why(url: str, filter: str | None, sentence: Sentence) -> None:
    with viewing_rows(TablePlace(url, {}), filter) as viewer:
        answer = viewer.get("/api/file", name=url.rpartition("/")[2])
        assert answer.status in (404, 422)
        sentence(answer.error["error"])
        sentence(answer.error["hint"])
        other = viewer.get("/api/file", name="other")
        assert (other.status, other.error["hint"]) == (404, "choose the table")


def test_hints_of_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sentence: Sentence) -> None:
    from haulage.errors import UnsupportedError
    from haulage.view.rows import gridding, opening

    lost = {"lat": np.full(3, np.nan), "lon": np.zeros(3)}
    with pytest.raises(UnsupportedError) as caught:
        gridded("t", lost, 3)
    assert caught.value.hint == "check the two columns"
    monkeypatch.setattr(gridding, "_MOST_VALUES", 2)
    with pytest.raises(UnsupportedError) as caught:
        gridded("t", {"lat": np.arange(3.0), "lon": np.arange(3.0)}, 3)
    sentence(caught.value)
    pq.write_table(pa.table({"lat": [1.0, 2]}), tmp_path / "a.parquet")
    with pytest.raises(UnsupportedError) as caught:
        columns(str(tmp_path / "a.parquet"), {}, None, 1)
    sentence(caught.value)
    place = Place(str(tmp_path), {})

    def missing(url: str, options: Any, filter: str | None, most_rows: int) -> Any:  # noqa: ARG001
        raise ModuleNotFoundError("no", name="pyarrow")

    with pytest.raises(UnsupportedError) as caught:
        opening.of_rows(place.pin("a.parquet"), missing, None)
    assert caught.value.hint == "pip install 'haulage[tables]'"


def test_columns_that_differ_from_page_to_page() -> None:
    from haulage.tables.reading import _joined

    one, other = pa.table({"a": [1, 2], "b": ["x", "y"]}), pa.table({"a": ["p"], "c": [1.5]})
    whole = _joined([one, other])
    assert whole.column("a").to_pylist() == ["1", "2", "p"]
    assert whole.column("c").to_pylist() == [None, None, 1.5]


def test_levels_and_times_of_rows() -> None:
    lat, lon, depth = (one.ravel() for one in np.meshgrid(np.arange(4.0), np.arange(4.0), [0.0, 10, 100]))
    made = gridded(
        "t", {"Lat": lat, "Lon": lon, "depth": depth, "salt": depth + lat, "n": np.full(48, 7.0)}, 48
    )
    assert made.index.variables["salt"].dims == ("depth", "Lat", "Lon")
    assert made.held["salt"][2, 3, 0] == 103
    # The height of a station is no level, and times that each row has alone are no steps.
    alone = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[us]")
    made = gridded(
        "t", {"lat": np.arange(3.0), "lon": np.arange(3.0) ** 2, "height": np.arange(3.0), "time": alone}, 3
    )
    assert made.index.variables["height"].dims == ("place",)
    texts = np.array(["2020-01-01T00:00:00Z"] * 2 + ["2020-01-02T00:00:00Z"] * 2, object)
    made = gridded(
        "t",
        {
            "lat": np.array([1.0, 2, 1, 2]),
            "lon": np.array([1.0, 5, 1, 5]),
            "date": texts,
            "v": np.arange(4.0),
        },
        4,
    )
    assert made.held["v"].tolist() == [[0, 1], [2, 3]]


def test_stations_of_netcdf_are_points(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.featureType = "timeSeries"
        for name, length in (("station", 5), ("time", 3)):
            file.createDimension(name, length)
        degrees: dict[str, tuple[str, list[float]]] = {
            "lat": ("degrees_north", [10, 20, 30, 40, np.nan]),
            "lon": ("degrees_east", [0, 10, 350, 180, 5]),
        }
        for name, (units, values) in degrees.items():
            made = file.createVariable(name, "f8", ("station",))
            made.units = units
            made[:] = values
        file.createVariable("time", "f8", ("time",)).units = "days since 2000-01-01"
        file["time"][:] = np.arange(3)
        tas = file.createVariable("tas", "f4", ("station", "time"), chunksizes=(2, 2))
        tas.coordinates = "lat lon"
        tas[:] = np.arange(15.0).reshape(5, 3)
    with viewing_rows(Place(str(tmp_path), {})) as viewer:
        tas_ = variables(viewer, "a.nc")["tas"]
        assert [axis["role"] for axis in tas_["axes"]] == ["x", "time"]
        head, places = viewer.get("/api/grid", name="a.nc", grid=tas_["grid"]).framed
        assert (head["kind"], head["nx"]) == ("points", 5)
        assert places[:4].tolist() == [0, 10, -10, -180]
        head, found = viewer.get("/api/slab", name="a.nc", var="tas", index="time:1").framed
        assert (head["shape"], found.tolist()) == ([1, 5], [1, 4, 7, 10, 13])
        assert viewer.get("/api/mean", name="a.nc", var="tas", index="time:1").json["mean"] == pytest.approx(
            5.5
        )


def test_the_command_draws_a_table(service: str, tmp_path: Path) -> None:
    env = clean_environment(tmp_path) | {"AZURE_STORAGE_CONNECTION_STRING": service}
    process = subprocess.Popen(
        [HAUL, "view", "az-table://cells", "--json"], stdout=subprocess.PIPE, text=True, env=env
    )
    assert process.stdout is not None
    try:
        import urllib.request

        url = json.loads(process.stdout.readline())["url"]
        end = time.monotonic() + 30
        with urllib.request.urlopen(
            url.replace("/?", "/api/slab?") + "&name=cells&var=tas", timeout=end
        ) as answer:
            assert answer.status == 200
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()
    refused = subprocess.run(
        [HAUL, "view", "az-table://cells", "--beside", "x"],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert refused.returncode == 2
    assert "hint: leave --beside out" in refused.stderr


def test_the_code_of_rows_gives_them_whatever_columns_and_files_are_called(tmp_path: Path) -> None:
    name = "obs?1.parquet"
    table = pa.table({"lat": [1.0, 1, 2], "lon": [3.0, 3, 4], "flow m3/s?": [5.0, 6, 7]})
    pq.write_table(table, tmp_path / name)
    with viewing_rows(Place(str(tmp_path), {})) as viewer:
        known: dict[str, Any] = {}
        exec(viewer.get("/api/code", name=name, var="flow m3/s?").body.decode(), known)
        assert known["values"].tolist() == [5, 6, 7]
        exec(viewer.get("/api/code", name=name, var="rows").body.decode(), known)
        assert known["values"].to_dict() == {(1, 3): 2, (2, 4): 1}
