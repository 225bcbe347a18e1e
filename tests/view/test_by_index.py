"""What has no place is drawn by index; what has no values says so; and years are counted from 0."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
import xarray as xr

from haulage.view.cf.times import dates
from haulage.view.joining.fitting import in_units
from sentences import Sentence
from view.paging import Seen
from view.viewing import Viewer, viewing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PLANE = np.add.outer(np.arange(40) * 100.0, np.arange(70.0))


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("by-index")
    xr.Dataset(
        {
            "plane": (("row", "col"), PLANE),
            "stack": (("time", "row", "col"), np.stack([PLANE, -PLANE])),
            "last": (("row", "col", "time"), np.stack([PLANE, -PLANE], axis=-1)),
            "hovmoeller": (("time", "col"), PLANE[:2]),
            "metres": (("y", "x"), PLANE[:3, :4]),
            "empty": (("row", "col"), np.full((40, 70), np.nan)),
            "square": (("row", "row2"), np.eye(40)),
            "line": (("col",), PLANE[0]),
        },
        {
            "time": ("time", [0.0, 59.5], {"units": "days since 0000-01-01"}),
            "y": ("y", [0.0, 1000.0, 2000.0], {"units": "m", "standard_name": "projection_y_coordinate"}),
            "x": ("x", np.arange(4) * 1000.0, {"units": "m", "standard_name": "projection_x_coordinate"}),
        },
    ).to_netcdf(folder / "plain.nc", engine="h5netcdf")
    world = {"lat": ("lat", [-45.0, 45.0], {"units": "degrees_north"})}
    world["lon"] = ("lon", [0.0, 90.0, 180.0], {"units": "degrees_east"})
    nothing = np.full((2, 3), np.nan)
    xr.Dataset({"aside": (("n", "m"), np.eye(3)), "nothing": (("lat", "lon"), nothing)}, world).to_netcdf(
        folder / "nothing.nc", engine="h5netcdf"
    )
    lost = {"latitude": (("j", "i"), nothing, {"units": "degrees_north"})}
    lost["longitude"] = (("j", "i"), nothing, {"units": "degrees_east"})
    xr.Dataset({"lost": (("j", "i"), np.ones((2, 3)))}, lost).to_netcdf(folder / "lost.nc", engine="h5netcdf")
    with viewing(folder) as running:
        yield running


def test_dimensions_without_a_place_are_drawn_by_index(viewer: Viewer, sentence: Sentence) -> None:
    said = {one["path"]: one for one in viewer.file("plain.nc")["variables"]}
    roles = {
        path: [(axis["dim"], axis["role"]) for axis in one["axes"]]
        for path, one in said.items()
        if one["by_index"]
    }
    assert roles == {
        "plane": [("row", "y"), ("col", "x")],
        "stack": [("time", "time"), ("row", "y"), ("col", "x")],
        "last": [("row", "y"), ("col", "x"), ("time", "time")],
        "hovmoeller": [("time", "y"), ("col", "x")],
        "metres": [("y", "y"), ("x", "x")],
        "empty": [("row", "y"), ("col", "x")],
        "square": [("row", "y"), ("row2", "x")],
    }
    assert all(said[path]["drawn"] for path in roles)
    assert said["plane"]["grid"] == said["stack"]["grid"] == said["empty"]["grid"]
    sentence(said["line"]["why_not"])
    head, corners = viewer.get("/api/grid", name="plain.nc", grid=said["plane"]["grid"]).framed
    assert (head["kind"], head["ny"], head["nx"], head["wrap"]) == ("index", 40, 70, False)
    lon, lat = corners.reshape(2, 41, 71)
    # Cells are square, rows go up, and none is near the edge of the world.
    assert np.allclose(np.diff(lon[0]), np.diff(lat[:, 0])[0], rtol=1e-5)
    assert lat[1, 0] > lat[0, 0]
    assert np.abs(corners).max() <= 60


@pytest.mark.parametrize(("path", "index"), [("plane", ""), ("stack", "time:0"), ("last", "time:0")])
def test_values_by_index(viewer: Viewer, path: str, index: str) -> None:
    asked = {"name": "plain.nc", "var": path, "index": index}
    head, values = viewer.get("/api/slab", **asked).framed
    assert head["shape"] == [40, 70]
    assert (values.reshape(40, 70) == PLANE).all()
    one = viewer.get("/api/value", y=7, x=9, **asked).json
    assert (one["value"], one["lon"], one["lat"]) == (709.0, None, None)
    whole = viewer.get("/api/mean", **asked).json
    assert (whole["mean"], whole["cells"]) == (PLANE.mean(), PLANE.size)


def test_windows_by_index_are_exported_with_rows_and_columns(viewer: Viewer) -> None:
    asked = {"name": "plain.nc", "var": "plane", "y0": 3, "y1": 5, "x0": 10, "x1": 12}
    lines = viewer.get("/api/export", format="csv", **asked).body.decode().splitlines()
    assert lines == ["col,row,plane", "10,3,310.0", "11,3,311.0", "10,4,410.0", "11,4,411.0"]
    body = viewer.get("/api/export", format="nc", **asked).body
    with xr.open_dataset(io.BytesIO(body), engine="scipy") as found:
        assert (found["plane"].sel(row=4, col=11).item(), found["row"].values.tolist()) == (411.0, [3.0, 4.0])


def test_a_page_by_index_names_its_axes(viewer: Viewer, browser: Browser) -> None:
    page = Seen(browser, viewer, "file=plain.nc&var=stack&map=north&view=0,0,2")
    assert "drawn by index, because the file does not say where the values are" in page.text("#about")
    assert not page.page.is_visible("#projection")
    assert page.measured() == "Mean of the visible area: 1984.5 (2,800 cells)"
    box = page.page.locator("#main .surface").bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + box["width"] / 2 + 2, box["y"] + box["height"] / 2 - 2)
    page.until("document.getElementById('under').textContent.includes('row')")
    assert page.text("#under") == "row 20, col 35: 2035"
    assert page.said == []
    page.page.close()


@pytest.mark.slow("a browser draws several maps one after another")
def test_a_map_without_values_says_so(viewer: Viewer, browser: Browser) -> None:
    # What has a place is shown first.
    page = Seen(browser, viewer, "file=nothing.nc")
    assert page.text("#title") == "nothing"
    assert page.measured().startswith("Mean of the visible area: no values")
    assert not page.page.is_visible("#legend")
    drawn = "document.querySelector('#main .over')"
    assert _inked(page, drawn)
    page.page.close()
    page = Seen(browser, viewer, "file=plain.nc&var=empty")
    assert not page.page.is_visible("#legend")
    page.page.click("button[data-path=plane]")
    page.state("done")
    page.until("!document.getElementById('legend').hidden")
    page.page.close()
    page = Seen(browser, viewer, "file=lost.nc&var=lost")
    assert page.text("#about").endswith("drawn by index, because latitude has no values")
    assert page.said == []
    page.page.close()


def _inked(page: Seen, canvas: str) -> bool:
    """Whether the middle of a canvas has both paper and ink, as text has; and its corner paper alone."""
    script = (
        f"() => {{ const one = {canvas}, pen = one.getContext('2d'), w = one.width, h = one.height;"
        "const all = (x, y, a, b) => new Set(new Uint32Array(pen.getImageData(x, y, a, b).data.buffer)).size;"
        "return [all(w / 2 - 60 | 0, h / 2 - 20 | 0, 120, 30), all(0, 0, w / 3 | 0, h / 3 | 0)]; }"
    )
    middle, corner = page.page.evaluate(script)
    return bool(middle > 2 and corner == 1)


@pytest.mark.parametrize(
    ("units", "calendar", "shown"),
    [
        ("days since 0000-01-01", "standard", ["0000-01-01", "0001-01-01"]),
        ("days since 0-1-1 00:00:00", "gregorian", ["0000-01-01", "0001-01-01"]),
        ("days since 0000-01-01", "julian", ["0000-01-01", "0001-01-01"]),
        ("days since 0000-01-01", "proleptic_gregorian", ["0000-01-01", "0001-01-01"]),
        ("days since 0000-01-01", "noleap", ["0000-01-01", "0001-01-02"]),
        ("days since 0000-01-01", "360_day", ["0000-01-01", "0001-01-07"]),
        ("months since 0000-01-01", "standard", ["0000-01-01", "0030-07-01"]),
        ("weeks since 0000-01-01", "standard", ["0000-01-01", "0007-01-06"]),
        ("days since 0001-01-01", "standard", ["0001-01-01", "0002-01-02"]),
    ],
)
def test_times_since_the_year_0(
    units: str, calendar: str, shown: list[str], recwarn: pytest.WarningsRecorder
) -> None:
    assert dates(np.array([0.0, 366.0]), units, calendar) == shown
    assert not recwarn.list


def test_times_since_the_year_0_are_joined(recwarn: pytest.WarningsRecorder) -> None:
    found = in_units(np.array([1.0, 2.0]), "days since 0000-01-03", "hours since 0000-01-01", "standard")
    assert found.tolist() == [72.0, 96.0]
    assert (
        in_units(np.array([730_120.0]), "days since 0000-01-01", "days since 2000-01-01", "standard").size
        == 1
    )
    assert not recwarn.list
