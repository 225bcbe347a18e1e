"""The page of `haul view` in a browser: opened, waited for, and what is on its maps."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.parse import urlencode

import numpy as np
import xarray as xr
from playwright.sync_api import Browser

from browsing import Opened
from view.viewing import Viewer

#: Complaints of the software that draws, when pictures are taken of what it has drawn.
_DRIVER = "GL Driver Message"
_DECODE = """async (text) => {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const pen = new OffscreenCanvas(image.width, image.height).getContext('2d', { willReadFrequently: true });
  pen.drawImage(image, 0, 0);
  const { data } = pen.getImageData(0, 0, image.width, image.height), parts = [];
  for (let at = 0; at < data.length; at += 8192)
    parts.push(String.fromCharCode(...data.subarray(at, at + 8192)));
  return [image.width, image.height, btoa(parts.join(''))];
}"""
Colour: TypeAlias = tuple[int, int, int]
TIMES, LEVELS, NY, NX = 24, 3, 18, 36


def field(time: int, level: int, *, shift: float = 0.0) -> np.ndarray[Any, Any]:
    """Return temperatures of which no two cells have the same, with some of them missing."""
    lat, lon = np.meshgrid(np.arange(NY), np.arange(NX), indexing="ij")
    found = (
        250 + 40 * np.sin(lat / NY * np.pi) + lon / 4 + lat / 100 + time / 2 - 10 * level + shift
    ).astype("f4")
    found[2:4, 5:8] = np.nan
    return found


def write_world(path: Path, *, shift: float = 0.0) -> None:
    """Write a NetCDF file of the whole world, 10 degrees a cell, in months of 360 days a year."""
    values = np.stack([[field(time, level, shift=shift) for level in range(LEVELS)] for time in range(TIMES)])
    dims = ("time", "plev", "lat", "lon")
    dataset = xr.Dataset(
        {
            "ta": (
                dims,
                values,
                {"units": "K", "long_name": "Air temperature", "cell_methods": "time: mean"},
            ),
            "uas": (
                ("time", "lat", "lon"),
                values[:, 0] - 280,
                {"units": "m s-1", "standard_name": "eastward_wind"},
            ),
        },
        {
            "time": (
                "time",
                np.arange(TIMES) * 30.0 + 15,
                {"units": "days since 2000-01-01", "calendar": "360_day"},
            ),
            "plev": (
                "plev",
                [1000.0, 500.0, 100.0],
                {"units": "hPa", "positive": "down", "standard_name": "air_pressure"},
            ),
            "lat": ("lat", np.arange(-85.0, 90, 10), {"units": "degrees_north"}),
            "lon": ("lon", np.arange(5.0, 360, 10), {"units": "degrees_east"}),
        },
        {"title": "Made for a test"},
    )
    dataset.to_netcdf(path, engine="h5netcdf")


def write_noise(path: Path, *, seed: int) -> None:
    """Write a NetCDF file too large to be read at once: 60 steps, each a chunk of 130 KiB."""
    values = np.random.default_rng(seed).normal(size=(60, 180, 180)).astype("f4") + 10 * seed
    dataset = xr.Dataset(
        {"v": (("time", "lat", "lon"), values, {"units": "K"})},
        {
            "time": ("time", np.arange(60), {"units": "days since 2000-01-01"}),
            "lat": ("lat", np.linspace(-89.5, 89.5, 180), {"units": "degrees_north"}),
            "lon": ("lon", np.linspace(1.0, 359, 180), {"units": "degrees_east"}),
        },
    )
    dataset.to_netcdf(path, engine="h5netcdf", encoding={"v": {"chunksizes": (1, 180, 180)}})


def write_across(path: Path) -> None:
    """Write a curvilinear grid that lies across the date line: from 160° E to 160° W, slightly turned."""
    y, x = np.meshgrid(np.arange(20.0), np.arange(40.0), indexing="ij")
    lon, lat = 160.5 + x + y / 10, -9.5 + y + x / 20
    dataset = xr.Dataset(
        {"h": (("y", "x"), (x + 100 * y).astype("f4"), {"units": "m"})},
        {
            "lon": (("y", "x"), (lon + 180) % 360 - 180, {"units": "degrees_east"}),
            "lat": (("y", "x"), lat, {"units": "degrees_north"}),
        },
    )
    dataset.to_netcdf(path, engine="h5netcdf")


class Seen:
    """The page, and what is on it."""

    def __init__(self, browser: Browser, viewer: Viewer, fragment: str = "", **settings: Any) -> None:
        address = f"{viewer.server.url}{'#' if fragment else ''}{fragment}"
        self.opened = Opened(browser, address, **settings)
        self.page = self.opened.page
        self._tables: dict[str, np.ndarray[Any, Any]] = {}
        self.state("done" if fragment else None)

    @property
    def said(self) -> list[str]:
        """What the browser complained of."""
        return [text for text in self.opened.said if _DRIVER not in text]

    def state(self, wanted: str | None) -> str:
        """Wait until the page is in a state, any for ``None``; return what it says."""
        expression = "wanted => wanted ? document.body.dataset.state === wanted : document.body.dataset.state"
        self.page.wait_for_function(expression, arg=wanted, timeout=20_000)
        return self.page.inner_text("#state")

    def until(self, expression: str) -> None:
        # A function, since a bare expression would be evaluated as text, which the page's policy forbids.
        self.page.wait_for_function(f"() => {expression}", timeout=20_000)

    def measured(self) -> str:
        """Wait until the mean is that of what is drawn; return it."""
        self.page.wait_for_timeout(300)
        return self.page.inner_text("#seen")

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def point(self, lon: float, lat: float, figure: str = "#main") -> tuple[float, float]:
        """Return where a place is on the screen, by the view in the address."""
        self.settled(figure)
        return self._point(lon, lat, figure)

    def settled(self, figure: str = "#main") -> None:
        """Wait until the address is that of the view, which is on the screen."""
        self.page.wait_for_timeout(250)
        self.page.locator(f"{figure} .surface").scroll_into_view_if_needed()

    def _point(self, lon: float, lat: float, figure: str) -> tuple[float, float]:
        parts = dict(part.split("=", 1) for part in self.page.url.partition("#")[2].split("&"))
        x, y, span = (float(one) for one in parts["view"].split(","))
        box = cast("dict[str, float]", self.page.locator(f"{figure} .surface .over").bounding_box())
        if parts["map"] == "flat":
            px, py = lon + 360 * round((x - lon) / 360), lat
        else:
            sign = 1 if parts["map"] == "north" else -1
            radius, angle = np.tan(np.radians(90 - sign * lat) / 2), np.radians(lon)
            px, py = radius * np.sin(angle), -sign * radius * np.cos(angle)
        unit = box["width"] / span
        return (
            box["x"] + box["width"] / 2 + (px - x) * unit,
            box["y"] + box["height"] / 2 - (py - y) * unit,
        )

    def pixels(self, places: list[tuple[float, float]], figure: str = "#main") -> list[Colour]:
        """Return the colours on the screen at places, from one picture of it."""
        self.settled(figure)
        points = [self._point(lon, lat, figure) for lon, lat in places]
        image = self.decoded(self.page.screenshot())
        return [_colour(image[round(y), round(x)]) for x, y in points]

    def pixel(self, lon: float, lat: float, figure: str = "#main") -> Colour:
        return self.pixels([(lon, lat)], figure)[0]

    def decoded(self, picture: bytes) -> np.ndarray[Any, Any]:
        """Return the pixels of a picture, of shape (height, width, 4), as the browser reads it."""
        width, height, pixels = self.page.evaluate(_DECODE, base64.b64encode(picture).decode())
        return np.frombuffer(base64.b64decode(pixels), np.uint8).reshape(height, width, 4)

    def colour(self, value: float, low: float, high: float, *, scale: str = "inferno") -> Colour:
        """Return the colour that the page's own scale has for a value."""
        at = min(255, int(max(0.0, min(1.0, (value - low) / (high - low))) * 256))
        return _colour(self.table(scale)[at])

    def table(self, scale: str) -> np.ndarray[Any, Any]:
        """Return the 256 colours of a scale."""
        if scale not in self._tables:
            code = "async (scale) => Array.from((await import('./colours.js')).tableOf(scale, false))"
            self._tables[scale] = np.array(self.page.evaluate(code, scale), np.uint8).reshape(256, 4)
        return self._tables[scale]

    def range(self) -> tuple[float, float]:
        return float(self.page.input_value("#low")), float(self.page.input_value("#high"))


def _colour(pixel: np.ndarray[Any, Any]) -> Colour:
    red, green, blue = (int(one) for one in pixel[:3])
    return red, green, blue


def near(one: Colour, other: Colour, most: int = 4) -> bool:
    """Return whether colours are the same but for the step of the scale beside it."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) <= most


def fragment(**parts: object) -> str:
    return urlencode({key.rstrip("_"): value for key, value in parts.items()}, safe=",:/")
