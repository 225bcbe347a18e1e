"""The map: colours are those of the values, at their places, in each projection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from view.paging import NX, NY, Colour, Seen, field, fragment, near, write_across, write_world
from view.viewing import Viewer, viewing


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("maps")
    write_world(folder / "world.nc")
    write_across(folder / "across.nc")
    with viewing(folder) as found:
        yield found


@pytest.fixture(scope="module")
def seen(browser: Browser, viewer: Viewer, request: pytest.FixtureRequest) -> Iterator[Seen]:
    """A page for all tests of one address: to open one is dear."""
    one = Seen(browser, viewer, request.param)
    yield one
    assert one.said == []
    one.opened.context.close()


WORLD = fragment(file="world.nc", var="ta", at="time:3,plev:1", range="all")


def centre(j: int, i: int) -> tuple[float, float]:
    # Beside the middle, where no meridian runs.
    return 10.0 * i + 3, -90 + 10.0 * j + 3


def colours_of(
    seen: Seen,
    cells: list[tuple[int, int]],
    place: Callable[[int, int], tuple[float, float]],
    around: Sequence[tuple[float, float]],
) -> list[list[Colour]]:
    """Return the colours at places around those of cells, from one picture of the screen."""
    places = [(lon + dx, lat + dy) for lon, lat in starmap(place, cells) for dx, dy in around]
    found = seen.pixels(places)
    return [found[at : at + len(around)] for at in range(0, len(found), len(around))]


@pytest.mark.parametrize("seen", [WORLD], indirect=True)
def test_colours_on_the_flat_map_are_those_of_the_values(seen: Seen) -> None:
    values = field(3, 1)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    assert np.allclose(seen.range(), (low, high), rtol=1e-4)
    cells = [(5, 1), (8, 10), (0, 20), (17, 30), (9, 17), (9, 18), (12, 35), (3, 25), (14, 0)]
    # A coast may cross one of the pixels around, but not all of them.
    around = [(0, 0), (2, 1), (1, 3), (3, 2)]
    drawn = colours_of(seen, cells, centre, around)
    wrong = []
    for (j, i), found in zip(cells, drawn, strict=True):
        expected = seen.colour(float(values[j, i]), low, high)
        if not any(near(one, expected) for one in found):
            wrong.append((j, i, expected, found))
    assert wrong == []
    missing = seen.pixels([centre(2, 6), centre(3, 7)])
    assert near(missing[0], (0xDF, 0xE3, 0xE7)) or near(missing[1], (0xDF, 0xE3, 0xE7))


@pytest.mark.parametrize(
    "seen",
    [
        f"{WORLD}&map=north&view=0,0,1.9",
        pytest.param(f"{WORLD}&map=south&view=0,0,1.9", marks=pytest.mark.long),
    ],
    indirect=True,
)
def test_colours_around_the_poles_are_those_of_the_values(seen: Seen) -> None:
    values = field(3, 1)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    rows = [13, 15, 16] if "map=north" in seen.page.url else [1, 4, 2]
    cells = [(j, i) for j in rows for i in (4, 13, 22, 31) if not np.isnan(values[j, i])]
    drawn = colours_of(seen, cells, centre, [(0, 0), (3, 1), (1, 3)])
    for (j, i), found in zip(cells, drawn, strict=True):
        expected = seen.colour(float(values[j, i]), low, high)
        assert any(near(one, expected) for one in found), (j, i, expected, found)


@pytest.mark.parametrize("seen", [fragment(file="across.nc", range="all")], indirect=True)
def test_cells_across_the_date_line_are_not_smeared(seen: Seen) -> None:
    seen.page.wait_for_timeout(300)
    # The map fits them in the middle, rather than at both ends of the world.
    assert "view=" in seen.page.url
    west, east = (seen.point(lon, 0)[0] for lon in (165, -165))
    assert 300 < east - west < 900
    cells = [(3, 5), (10, 19), (10, 20), (15, 35)]
    drawn = colours_of(
        seen,
        cells,
        lambda j, i: (160.5 + i + j / 10, -9.5 + j + i / 20),
        [(0, 0), (0.2, 0.2), (-0.2, 0.2)],
    )
    for (j, i), found in zip(cells, drawn, strict=True):
        expected = seen.colour(i + 100 * j, 0, 1939, scale="viridis")
        assert any(near(one, expected) for one in found), (j, i, expected, found)
    assert near(seen.pixel(162, 12), (0xDF, 0xE3, 0xE7))
    seen.page.mouse.move(*seen.point(160.5 + 30 + 0.5, -9.5 + 5 + 1.5))
    assert "530 m" in seen.text("#under")


@pytest.mark.parametrize("seen", [WORLD], indirect=True)
def test_the_mean_is_that_of_the_cells_seen_by_their_area(seen: Seen) -> None:
    values = field(3, 1).astype("f8")
    lat = np.arange(-90, 91, 10)
    areas = np.repeat(np.diff(np.sin(np.radians(lat)))[:, None], NX, axis=1)
    good = np.isfinite(values)
    mean = (values[good] * areas[good]).sum() / areas[good].sum()
    assert f"{mean:.6g} K" in seen.measured()
    assert f"{NY * NX - 6} cells by area, 6 missing" in seen.text("#seen")
    # Zoomed in on the middle only some are seen.
    seen.page.goto(f"{seen.page.url.partition('#')[0]}#{WORLD}&map=flat&view=45,5,40")
    seen.page.wait_for_timeout(500)
    text = seen.measured()
    window = values[8:11, 3:6]
    assert "K (" in text
    number = float(text.split(": ")[1].split(" K")[0])
    assert np.nanmin(window) - 5 < number < np.nanmax(window) + 5
    assert int(text.split("(")[1].split(" cells")[0]) < 30


@pytest.mark.parametrize("seen", [WORLD], indirect=True)
def test_scales_read_without_red_and_green(seen: Seen) -> None:
    for name in ("viridis", "plasma", "inferno", "Blues", "gray"):
        rgb = seen.table(name)[:, :3]
        lab = oklab(rgb / 255)
        lightness = lab[:, 0] if name != "Blues" else lab[::-1, 0]
        assert np.all(np.diff(lightness[::4]) > 0), name
    for name in ("RdBu_r", "BrBG"):
        rgb = seen.table(name)[:, :3]
        lab = oklab(rgb / 255)
        assert 126 <= int(lab[:, 0].argmax()) <= 129
        assert np.allclose(lab[:128:8, 0], lab[:127:-8, 0], atol=0.08)
        # Seen without the cones for red, or for green, the two sides still differ.
        for blind in (PROTAN, DEUTAN):
            ends = oklab(np.clip(linear(rgb[[48, 207]] / 255) @ blind.T, 0, 1) ** (1 / 2.2))
            assert np.linalg.norm(ends[0] - ends[1]) > 0.1, name


#: What people without one kind of cone see, in linear light (Viénot, Brettel and Mollon 1999).
PROTAN = np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]])
DEUTAN = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])


def linear(
    rgb: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(
    rgb: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return lightness, green to red and blue to yellow of colours (Ottosson 2020)."""
    cones = linear(rgb) @ np.array(
        [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
         [0.0883024619, 0.2817188376, 0.6299787005]]
    ).T  # fmt: skip
    found: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.cbrt(cones) @ np.array(
        [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
         [0.0259040371, 0.7827717662, -0.8086757660]]
    ).T  # fmt: skip
    return found


@pytest.mark.long
def test_a_grid_of_millions_of_cells_draws(browser: Browser, tmp_path: Path) -> None:
    import xarray as xr

    values = np.arange(1600 * 2400, dtype="f4").reshape(1600, 2400)
    xr.Dataset(
        {"v": (("lat", "lon"), values)},
        {
            "lat": ("lat", np.linspace(-89.9, 89.9, 1600), {"units": "degrees_north"}),
            "lon": ("lon", np.linspace(0.075, 359.925, 2400), {"units": "degrees_east"}),
        },
    ).to_netcdf(tmp_path / "large.nc", engine="h5netcdf")
    with viewing(tmp_path) as viewer:
        one = Seen(browser, viewer, "file=large.nc&range=all")
        one.page.wait_for_timeout(1500)
        assert "One of 4 cells is shown" in one.text("#seen")
        expected = one.colour(float(values[800 + 440, 200]), 0, float(values.max()), scale="viridis")
        found = one.pixels([(30, 49.5), (31, 49.5)])
        assert any(near(each, expected) for each in found), (expected, found)
        assert one.said == []
        one.opened.context.close()
