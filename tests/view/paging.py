"""The page of `haul view` in a browser: opened, waited for, and what is on its maps."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import numpy as np
import xarray as xr
from playwright.sync_api import Browser

from browsing import Opened
from view.viewing import Viewer

#: Complaints of the software that draws, when pictures are taken of what it has drawn.
_DRIVER = "GL Driver Message"
TIMES, LEVELS, NY, NX = 24, 3, 18, 36


def field(time: int, level: int, *, shift: float = 0.0) -> np.ndarray[Any, Any]:
    """Return temperatures of which no two cells have the same, with some of them missing."""
    lat, lon = np.meshgrid(np.arange(NY), np.arange(NX), indexing="ij")
    found = (250 + 40 * np.sin(lat / NY * np.pi) + lon / 4 + lat / 100 + time / 2 - 10 * level + shift).astype("f4")
    found[2:4, 5:8] = np.nan
    return found


def write_world(path: Path, *, shift: float = 0.0) -> None:
    """Write a NetCDF file of the whole world, 10 degrees a cell, in months of 360 days a year."""
    values = np.stack([[field(time, level, shift=shift) for level in range(LEVELS)] for time in range(TIMES)])
    dims = ("time", "plev", "lat", "lon")
    dataset = xr.Dataset(
        {
            "ta": (dims, values, {"units": "K", "long_name": "Air temperature", "cell_methods": "time: mean"}),
            "uas": (("time", "lat", "lon"), values[:, 0] - 280, {"units": "m s-1", "standard_name": "eastward_wind"}),
        },
        {
            "time": ("time", np.arange(TIMES) * 30.0 + 15, {"units": "days since 2000-01-01", "calendar": "360_day"}),
            "plev": ("plev", [1000.0, 500.0, 100.0], {"units": "hPa", "positive": "down", "standard_name": "air_pressure"}),
            "lat": ("lat", np.arange(-85.0, 90, 10), {"units": "degrees_north"}),
            "lon": ("lon", np.arange(5.0, 360, 10), {"units": "degrees_east"}),
        },
        {"title": "Made for a test"},
    )
    dataset.to_netcdf(path, engine="h5netcdf")


def write_across(path: Path) -> None:
    """Write a curvilinear grid that lies across the date line: columns from 160° E to 160° W, slightly turned."""
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
        self.page.wait_for_timeout(250)
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

    def pixel(self, lon: float, lat: float, figure: str = "#main") -> tuple[int, int, int]:
        """Return the colour on the screen at a place."""
        x, y = self.point(lon, lat, figure)
        image = png(self.page.screenshot(clip={"x": round(x), "y": round(y), "width": 1, "height": 1}))
        red, green, blue = (int(one) for one in image[0, 0, :3])
        return red, green, blue

    def colour(self, value: float, low: float, high: float, *, scale: str = "heat") -> tuple[int, int, int]:
        """Return the colour that the page's own scale has for a value."""
        code = "async ([scale, at]) => Array.from((await import('./colours.js')).tableOf(scale, false).slice(at * 4, at * 4 + 3))"
        at = min(255, int(max(0.0, min(1.0, (value - low) / (high - low))) * 256))
        red, green, blue = self.page.evaluate(code, [scale, at])
        return red, green, blue

    def range(self) -> tuple[float, float]:
        return float(self.page.input_value("#low")), float(self.page.input_value("#high"))


def near(one: tuple[int, int, int], other: tuple[int, int, int], most: int = 4) -> bool:
    """Return whether colours are the same but for the step of the scale beside it."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) <= most


def fragment(**parts: object) -> str:
    return urlencode({key.rstrip("_"): value for key, value in parts.items()}, safe=",:/")


def png(data: bytes) -> np.ndarray[Any, Any]:
    """Return the pixels of a PNG of 8 bits a channel, of shape (height, width, channels)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    stream, packed, shape = io.BytesIO(data[8:]), b"", (0, 0, 0)
    while head := stream.read(8):
        length, kind = struct.unpack(">I4s", head)
        body = stream.read(length)
        stream.read(4)
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack(">IIBB", body[:10])
            assert depth == 8
            shape = (height, width, {2: 3, 6: 4}[colours])
        elif kind == b"IDAT":
            packed += body
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(shape[0], 1 + shape[1] * shape[2])
    found = np.zeros((shape[0], shape[1] * shape[2]), np.uint8)
    for number, row in enumerate(rows):
        found[number] = _unfiltered(int(row[0]), row[1:], found[number - 1] if number else None, shape[2])
    return found.reshape(shape)


def _unfiltered(
    kind: int, row: np.ndarray[Any, Any], above: np.ndarray[Any, Any] | None, channels: int
) -> np.ndarray[Any, Any]:
    up = np.zeros_like(row) if above is None else above
    if kind in (0, 2):
        return row + up * (kind == 2)
    found = row.astype(int)
    for at in range(len(row)):
        left, corner = (found[at - channels], int(up[at - channels])) if at >= channels else (0, 0)
        over = int(up[at])
        if kind == 1:
            guess = int(left)
        elif kind == 3:
            guess = (int(left) + over) // 2
        else:
            guess = min((int(left), over, corner), key=lambda one: abs(int(left) + over - corner - one))
        found[at] = (found[at] + guess) % 256
    return found.astype(np.uint8)
