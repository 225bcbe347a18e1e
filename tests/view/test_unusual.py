"""Times, coordinates, values and codecs as they are seldom, but are: each was drawn wrongly, or not, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numcodecs
import numpy as np
import pytest
import xarray as xr
from zarr.codecs import numcodecs as of_numcodecs

from haulage.view.cf.times import dates
from haulage.view.reading import place
from sentences import Sentence
from view.viewing import viewing

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*:zarr.errors.ZarrUserWarning",
    "ignore:.*:zarr.errors.UnstableSpecificationWarning",
    "ignore:Numcodecs codecs",
)
LAT, LON = np.arange(-85.0, 90, 10), np.arange(5.0, 360, 10)
RNG = np.random.default_rng(5)


def world(path: Path, **variables: Any) -> netCDF4.Dataset:
    file = netCDF4.Dataset(path, "w")
    for name, values, units in (("lat", LAT, "degrees_north"), ("lon", LON, "degrees_east")):
        file.createDimension(name, len(values))
        file.createVariable(name, "f8", (name,))[:] = values
        file[name].units = units
    for name, (dtype, values) in variables.items():
        made = file.createVariable(name, dtype, ("lat", "lon"))
        if values is not None:
            made[:] = values
    return file


@pytest.mark.parametrize(
    ("units", "calendar", "values", "shown"),
    [
        ("months since 2000-01-31", "standard", [0, 1, 13], ["2000-01-31", "2000-02-29", "2001-02-28"]),
        ("months since 2000-01-01", "noleap", [1.5, -1], ["2000-02-15", "1999-12-01"]),
        ("month since 2000-01-01", "360_day", [14], ["2001-03-01"]),
        ("years since 1850-07-01", "proleptic_gregorian", [0, 150.5], ["1850-07-01", "2001-01-01"]),
        ("day as %Y%m%d.%f", "standard", [20000131, 20001231.25], ["2000-01-31", "2000-12-31 06:00"]),
    ],
)  # fmt: skip
def test_times_in_months_years_and_digits(
    units: str, calendar: str, values: list[float], shown: list[str], tmp_path: Path
) -> None:
    """Months were counted from 0 in all calendars but that of 360 days."""
    with world(tmp_path / "a.nc") as file:
        file.createDimension("time", len(values))
        time = file.createVariable("time", "f8", ("time",))
        time.units, time.calendar = units, calendar
        time[:] = values
        file.createVariable("v", "f4", ("time", "lat", "lon"))[:] = 1
    with viewing(tmp_path) as viewer:
        v = next(one for one in viewer.file("a.nc")["variables"] if one["path"] == "v")
        assert (v["axes"][0]["role"], v["axes"][0]["labels"]) == ("time", shown)


def test_whole_numbers_are_labelled_with_all_their_digits() -> None:
    assert dates(np.array([1e30]), "months since 2000-01-01", "standard") == ["1e+30"]
    from haulage.view.cf.times import _number

    assert [_number(one) for one in (20000101.0, 0.1, 1e20, 101325.0)] == [
        "20000101",
        "0.1",
        "1e+20",
        "101325",
    ]


@pytest.mark.parametrize("wrong", [np.nan, 9.96921e36])
def test_latitudes_that_are_missing_do_not_move_the_others(wrong: float, tmp_path: Path) -> None:
    values = RNG.random((18, 36)).astype("f4")
    with world(tmp_path / "a.nc", v=("f4", values)) as file:
        file["lat"][5] = wrong
    with viewing(tmp_path) as viewer:
        v = next(one for one in viewer.file("a.nc")["variables"] if one["path"] == "v")
        head, found = viewer.get("/api/grid", name="a.nc", grid=v["grid"]).framed
        _, lat, hidden = np.split(found, [19 * 37, 2 * 19 * 37])
        assert head["hidden"]
        assert np.allclose(lat.reshape(19, 37).T, np.arange(-90, 91, 10), atol=1e-4)
        assert np.array_equal(hidden.reshape(18, 36).T, np.tile(np.arange(18) == 5, (36, 1)))
        # Nothing is said of where its values are.
        for form, lines in (("csv", 1 + 17 * 36), ("nc", None)):
            body = viewer.get("/api/export", name="a.nc", var="v", format=form).body
            assert lines is None or len(body.splitlines()) == lines


def test_floats_that_were_never_written_are_no_measures(tmp_path: Path) -> None:
    """They are values, as for xarray, and stretched the range of colours, and the mean, to 1e37."""
    with world(tmp_path / "a.nc", v=("f4", None), w=("f8", None)) as file:
        file["v"][:9] = 1
        file["w"][:9] = 1
    with viewing(tmp_path) as viewer:
        for name in ("v", "w"):
            head, values = viewer.get("/api/slab", name="a.nc", var=name).framed
            assert (head["max"], head["p98"], head["missing"]) == (1, 1, 9 * 36)
            for window in ({}, {"y0": 5, "y1": 12}):
                of = viewer.get("/api/mean", name="a.nc", var=name, **window).json
                assert (of["mean"], of["cells"]) == (1, (4 if window else 9) * 36)
            assert values[-1] == np.float32(9.969209968386869e36)


def test_values_that_no_map_can_hold_are_said(tmp_path: Path, sentence: Sentence) -> None:
    """They were counted as missing."""
    world(tmp_path / "a.nc", v=("f8", 1e300 * RNG.random((18, 36)))).close()
    with viewing(tmp_path) as viewer:
        answer = viewer.get("/api/slab", name="a.nc", var="v")
        assert answer.status == 422
        assert "beyond 3.4e+38" in answer.error["error"]
        sentence(answer.error["hint"])
        assert viewer.get("/api/value", name="a.nc", var="v", y=3, x=4).json["value"] > 1e297


def stores(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Write stores with codecs of numcodecs and with texts; return what each holds."""
    values = RNG.random((6, 18, 36)).astype("f4")
    dims = ("region", "lat", "lon")
    plain = xr.Dataset(
        {"v": (dims, values), "n": (dims, (values * 1000).astype("i4"))},
        {
            "lat": ("lat", LAT, {"units": "degrees_north"}),
            "lon": ("lon", LON, {"units": "degrees_east"}),
            "region": ("region", np.array(["North", "Süd", "", "d", "e", "f"], object)),
        },
    )
    fixed = plain.assign_coords(region=plain["region"].astype("U5"))
    deflated = [of_numcodecs.Shuffle(elementsize=4), of_numcodecs.Zlib(level=3)]
    three: dict[str, Any] = {
        "v": {"compressors": deflated, "chunks": (4, 5, 7)},
        "n": {"filters": [of_numcodecs.Delta(dtype="int32")], "chunks": (4, 5, 7)},
    }  # fmt: skip
    two: dict[str, Any] = {"v": {"compressors": numcodecs.LZ4(), "chunks": (4, 5, 7)}}
    plain.to_zarr(folder / "three.zarr", zarr_format=3, encoding=three)
    plain.to_zarr(folder / "two.zarr", zarr_format=2, encoding=two)
    fixed.to_zarr(folder / "fixed2.zarr", zarr_format=2)
    fixed.to_zarr(folder / "fixed3.zarr", zarr_format=3)
    tree = xr.DataTree.from_dict({"/": plain, "/run/one": plain})
    tree.to_zarr(folder / "tree.zarr", zarr_format=3)
    return {"v": values, "n": (values * 1000).astype("i4").astype("f4")}


def test_codecs_of_numcodecs_texts_and_coordinates_of_groups_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The folder of a store is listed again each time that it is opened.
    monkeypatch.setattr(place, "FRESH_S", 0.0)
    expected = stores(tmp_path)
    with viewing(tmp_path) as viewer:
        names = viewer.names()
        assert len(names) == 5
        for name in names * 2:
            file = viewer.file(name)
            drawn = [one for one in file["variables"] if one["drawn"]]
            assert len(drawn) == (4 if name.startswith("tree") else 2)
            for one in drawn:
                assert one["axes"][0]["labels"] == ["North", "Süd", "", "d", "e", "f"], (name, one["path"])
                found = viewer.get(
                    "/api/slab", name=name, var=one["path"], index=f"{one['dims'][0]}:5"
                ).framed[1]
                assert np.array_equal(found.reshape(18, 36), expected[one["name"]][5]), (name, one["path"])


def test_texts_of_a_store_that_are_too_many(tmp_path: Path) -> None:
    made = xr.Dataset({"s": ("x", np.full(100_001, "a", object))})
    made.to_zarr(tmp_path / "w.zarr", zarr_format=3)
    with viewing(tmp_path) as viewer:
        answer = viewer.get("/api/labels", name="w.zarr/zarr.json", var="s")
        assert answer.status == 422
        assert answer.error["hint"] == "read them with xarray"


@pytest.mark.parametrize("damage", ["cut", "count"])
def test_damaged_chunks_of_other_codecs_are_said(damage: str, tmp_path: Path, sentence: Sentence) -> None:
    """The errors of zlib, and a count of texts for which no memory suffices, were faults of the server."""
    made = xr.Dataset(
        {"v": (("region", "lat", "lon"), RNG.random((2, 18, 36)).astype("f4"))},
        {
            "lat": ("lat", LAT, {"units": "degrees_north"}),
            "lon": ("lon", LON, {"units": "degrees_east"}),
            "region": ("region", np.array(["a", "b"], object)),
        },
    )
    encoding: dict[str, Any] = {"v": {"compressors": numcodecs.Zlib(3)}, "region": {"compressors": None}}
    made.to_zarr(tmp_path / "w.zarr", zarr_format=2, encoding=encoding, consolidated=False)
    asked = {"name": "w.zarr/.zgroup", "var": "v" if damage == "cut" else "region"}
    path = tmp_path / ("w.zarr/v/0.0.0" if damage == "cut" else "w.zarr/region/0")
    body = path.read_bytes()
    path.write_bytes(body[:100] + b"x" + body[101:] if damage == "cut" else b"\xff\xff\xff\x7f" + body[4:])
    with viewing(tmp_path) as viewer:
        answer = viewer.get("/api/slab" if damage == "cut" else "/api/labels", **asked)
        assert (answer.status, answer.error["code"]) == (422, "integrity")
        sentence(answer.error["hint"])


@pytest.mark.parametrize(
    ("units", "values", "shown"),
    [
        # A time that was never written beside others that were.
        ("days since 2000-01-01", [0, 9.969209968386869e36], ["2000-01-01", "9.96921e+36"]),
        ("months since 2000-01-01", [1, 1e15, np.nan], ["2000-02-01", "1e+15", ""]),
        # Fractions of days that floats hold a little too small.
        ("days since 1850-01-01", [60000 + np.nextafter(13 / 24, 0) - 7e-12], ["2014-04-11 13:00"]),
        ("hours since 2000-01-01", [23.9999], ["2000-01-02"]),
        ("Days Since 2000-01-01", [1, 2], ["2000-01-02", "2000-01-03"]),
        ("nanoseconds since 1970-01-01", [86_400_000_000_000, 0], ["1970-01-02", "1970-01-01"]),
        ("weeks since 2000-01-01", [1, 2], ["2000-01-08", "2000-01-15"]),
    ],
)  # fmt: skip
def test_times_that_cannot_be_dates_leave_the_others_dates(
    tmp_path: Path, units: str, values: list[float], shown: list[str]
) -> None:
    with world(tmp_path / "a.nc") as file:
        file.createDimension("time", len(values))
        time = file.createVariable("time", "f8", ("time",), fill_value=False)
        time.units, time[:] = units, values
        file.createVariable("v", "f4", ("time", "lat", "lon"))[:] = 1
    with viewing(tmp_path) as viewer:
        v = next(one for one in viewer.file("a.nc")["variables"] if one["path"] == "v")
        assert v["axes"][0]["labels"] == shown


def test_valid_range_of_unsigned_and_of_unpacked_values(tmp_path: Path) -> None:
    """GOES states 0 to -6 for unsigned integers of 16 bits, which means 0 to 65530."""
    stored = np.resize(np.array([0, 1, -6, -5, -1, 32767], "i2"), (18, 36))
    with world(tmp_path / "a.nc") as file:
        limits: dict[str, dict[str, Any]] = {
            "unsigned": {"_Unsigned": "true", "valid_range": np.array([0, -6], "i2")},
            "most": {"_Unsigned": "true", "valid_max": np.int16(-6)},
            "meant": {"scale_factor": 0.5, "valid_range": np.array([-2.5, 0.25])},
            "packed": {"scale_factor": 0.5, "valid_range": np.array([-5, 0], "i2")},
        }
        for name, said in limits.items():
            one = file.createVariable(name, "i2", ("lat", "lon"))
            one.set_auto_maskandscale(False)
            one.setncatts(said)
            one[:] = stored
    nan = np.nan
    with viewing(tmp_path) as viewer:
        for name, shown in {
            "unsigned": [0, 1, 65530, nan, nan, 32767],
            "most": [0, 1, 65530, nan, nan, 32767],
            "meant": [0, nan, nan, -2.5, -0.5, nan],
            "packed": [0, nan, nan, -2.5, -0.5, nan],
        }.items():
            values = viewer.get("/api/slab", name="a.nc", var=name).framed[1]
            assert np.array_equal(values, np.resize(np.array(shown, "f4"), 18 * 36), equal_nan=True), name


def test_names_that_are_not_ascii_or_that_a_url_cuts(tmp_path: Path) -> None:
    names = ("温度", "a?b", "a#b", "a%20b", "RH%", "a b")
    with world(tmp_path / "a.nc") as file:
        for name in names:
            file.createVariable(name, "f4", ("lat", "lon"))[:] = 7
    with viewing(tmp_path) as viewer:
        for name in names:
            for form in ("csv", "nc"):
                answer = viewer.get("/api/export", name="a.nc", var=name, format=form)
                assert answer.status == 200, answer.body
        assert "filename*=UTF-8''a_b.nc" not in answer.headers["content-disposition"]
        said = viewer.get("/api/export", name="a.nc", var="温度", format="csv").headers["content-disposition"]
        assert said == "attachment; filename=\"__.csv\"; filename*=UTF-8''%E6%B8%A9%E5%BA%A6.csv"
        # Clients would read fill values in place of those.
        with xr.open_zarr(f"{viewer.server.zarr_url}a.nc") as served:
            assert set(served.data_vars) == {"温度", "RH%", "a b"}
            assert all((served[name] == 7).all() for name in served.data_vars)


def test_places_in_radians(tmp_path: Path) -> None:
    """They were taken for degrees: the whole world was drawn near 0° N, 0° E."""
    places = np.array([(-60.0, -170.0), (0.0, 10.0), (45.5, 170.0)])
    with netCDF4.Dataset(tmp_path / "icon.nc", "w") as file:
        file.createDimension("ncells", len(places))
        file.createDimension("vertices", 3)
        for name, standard, values in zip(("clat", "clon"), ("latitude", "longitude"), places.T, strict=True):
            file.createVariable(name, "f8", ("ncells",))[:] = np.radians(values)
            file[name].standard_name, file[name].units, file[name].bounds = (
                standard,
                "radian",
                f"{name}_vertices",
            )
            file.createVariable(f"{name}_vertices", "f8", ("ncells", "vertices"))[:] = np.radians(values)[
                :, None
            ]
        file.createVariable("tas", "f4", ("ncells",))[:] = [1, 2, 3]
        file["tas"].coordinates, file["tas"].CDI_grid_type = "clat clon", "unstructured"
    with world(tmp_path / "grid.nc", tas=("f4", RNG.random((18, 36)))) as file:
        for name, standard, values in (("lat", "latitude", LAT), ("lon", "longitude", LON)):
            file[name][:], file[name].units, file[name].standard_name = (
                np.radians(values),
                "radians",
                standard,
            )
    with viewing(tmp_path) as viewer:
        grids = {}
        for name in ("icon.nc", "grid.nc"):
            tas = next(one for one in viewer.file(name)["variables"] if one["path"] == "tas")
            grids[name] = viewer.get("/api/grid", name=name, grid=tas["grid"]).framed
        _, found = grids["icon.nc"]
        assert np.allclose(found.reshape(2, 3).T[:, ::-1], places, atol=1e-4)
        head, corners = grids["grid.nc"]
        assert head["kind"] == "rectilinear"
        lon, lat = corners.reshape(2, 19, 37)
        assert np.allclose(lon, np.arange(0, 361, 10), atol=1e-4)
        assert np.allclose(lat.T, np.arange(-90, 91, 10), atol=1e-4)
