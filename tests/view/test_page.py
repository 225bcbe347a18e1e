"""The page by clicks and keys: files, steps, places, comparison, what is taken along, links, errors."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from playwright.sync_api import Browser, Download, Route

import haulage
from browsing import check_source
from endpoints import Container
from view.paging import (
    LEVELS,
    TIMES,
    Seen,
    field,
    fragment,
    near,
    write_across,
    write_noise,
    write_world,
)
from view.viewing import Viewer, viewing

PAGE = Path(__file__).resolve().parents[2] / "python/haulage/view/page"
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
DRAWN = pytest.mark.slow("a browser draws many maps one after another, each of which is waited for")
WORLD = fragment(file="world.nc", var="ta", range="all")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pages")
    write_world(found / "world.nc")
    write_world(found / "warmer.nc", shift=3)
    write_across(found / "across.nc")
    xr.Dataset(
        {
            "index": ("time", np.array([1.5, -2, 0.25], "f4"), {"long_name": HOSTILE}),
            "cells": (("time", "face"), np.zeros((3, 5)), {"units": "K"}),
        },
        {"time": ("time", [0, 1, 2], {"units": "days since 2001-01-01"})},
    ).to_netcdf(found / "lines.nc", engine="h5netcdf")
    (found / "notes.nc").write_text("no NetCDF at all")
    return found


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    with viewing(folder) as found:
        yield found


@pytest.fixture
def opened(browser: Browser, viewer: Viewer) -> Iterator[Callable[..., Seen]]:
    all_: list[Seen] = []

    def open_(fragment: str = "", **settings: Any) -> Seen:
        all_.append(Seen(browser, viewer, fragment, **settings))
        return all_[-1]

    yield open_
    for one in all_:
        one.opened.context.close()
        assert [text for text in one.said if "status of 4" not in text] == []
        assert [url for url in one.opened.asked if not url.startswith(("http://127.0.0.1", "blob:"))] == []


def test_files_are_searched_and_their_variables_listed(opened: Callable[..., Seen]) -> None:
    one = opened()
    one.until("document.querySelectorAll('#files li').length === 5")
    assert one.text("#found") == "5 files"
    one.page.fill("#search", "wor")
    one.until("document.querySelectorAll('#files li').length === 1")
    assert one.text("#found") == "1 file"
    # From the list by keys alone.
    one.page.focus("#files button")
    one.page.keyboard.press("Enter")
    one.state("done")
    assert one.text("#title") == "Air temperature"
    main = one.page.locator("#variables > ul button")
    assert [text.replace("\u00d7", "by") for text in main.all_inner_texts()] == [
        "Air temperature\nta, in K\ntime 24 by plev 3 by lat 18 by lon 36 · time: mean",
        "eastward wind\nuas, in m s-1\ntime 24 by lat 18 by lon 36",
    ]
    assert one.page.input_value("#scale") == "inferno"
    main.nth(0).focus()
    one.page.keyboard.press("ArrowDown")
    one.page.keyboard.press("Enter")
    one.until("document.getElementById('title').textContent === 'eastward wind'")
    # A wind diverges around zero.
    assert one.page.input_value("#scale") == "RdBu_r"
    low, high = one.range()
    assert low == -high
    one.page.click("#attributes-title + details summary")
    assert "Made for a test" in one.text("#attributes")


def test_time_play_and_colours_are_seen_without_scrolling(opened: Callable[..., Seen]) -> None:
    one = opened(WORLD)
    one.page.set_viewport_size({"width": 1280, "height": 820})
    for what in ("#steps", "#main .surface", "#legend"):
        box = one.page.locator(what).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 820, what


@DRAWN
def test_steps_levels_and_range_by_keys_and_sliders(opened: Callable[..., Seen]) -> None:
    one = opened(WORLD)
    assert one.text(".axis[data-dim=time] output").startswith("2000-01-16")
    assert one.text(".axis[data-dim=plev] output") == "1000 hPa"
    before = one.range()
    one.page.focus("#main .surface")
    one.page.keyboard.press(".")
    one.until("document.querySelector('.axis[data-dim=time] output').textContent.startsWith('2000-02-1')")
    # The range stays while one steps in time, so that colours can be compared.
    assert one.range() == before
    one.page.keyboard.press(",")
    one.page.keyboard.press(",")
    last = "2001-12-1"
    one.until(f"document.querySelector('.axis[data-dim=time] output').textContent.startsWith('{last}')")
    one.page.keyboard.press("PageUp")
    one.until("document.querySelector('.axis[data-dim=plev] output').textContent === '500 hPa'")
    one.state("done")
    values = field(TIMES - 1, 1)
    assert np.allclose(one.range(), (np.nanmin(values), np.nanmax(values)), rtol=1e-4)
    # The sliders take keys of their own.
    one.page.focus("#axis-plev")
    one.page.keyboard.press("End")
    one.until("document.querySelector('.axis[data-dim=plev] output').textContent === '100 hPa'")
    one.page.fill("#low", "240")
    one.page.fill("#high", "300")
    one.page.keyboard.press("Tab")
    one.until("location.hash.includes('range=240,300')")
    assert one.page.input_value("#how") == "typed"
    value = float(field(TIMES - 1, LEVELS - 1)[9, 17])
    assert near(one.pixel(173, 3), one.colour(value, 240, 300))
    one.page.check("#reversed")
    one.page.wait_for_timeout(200)
    assert not near(one.pixel(173, 3), one.colour(value, 240, 300))
    one.page.select_option("#how", "percentiles")
    assert one.range() != (240, 300)


@DRAWN
def test_play_goes_on_until_stopped(opened: Callable[..., Seen]) -> None:
    one = opened(WORLD)
    one.page.select_option("#rate", "20")
    one.page.focus("#main .surface")
    one.page.keyboard.press(" ")
    one.until("document.querySelector('#axis-time').valueAsNumber > 6")
    assert one.page.get_attribute(".axis[data-dim=time] .buttons button:last-child", "aria-pressed") == "true"
    one.page.keyboard.press(" ")
    one.page.wait_for_timeout(300)
    here = one.page.input_value("#axis-time")
    one.page.wait_for_timeout(300)
    assert one.page.input_value("#axis-time") == here
    values = field(int(here), 0)
    low, high = one.range()
    assert near(one.pixel(173, 3), one.colour(float(values[9, 17]), low, high))


def test_a_place_gives_its_value_its_series_and_its_profile(opened: Callable[..., Seen]) -> None:
    one = opened(f"{WORLD}&at=time:2,plev:1")
    x, y = one.point(83, 23)
    one.page.mouse.move(x, y)
    value = float(field(2, 1)[11, 8])
    assert float(re.search(r"E: ([\d.]+) K", one.text("#under")).group(1)) == pytest.approx(value, rel=1e-6)  # type: ignore[union-attr]
    one.page.mouse.click(x, y)
    one.until("document.querySelectorAll('#charts canvas').length === 2")
    assert f"{np.float32(value)!s} K" in one.text("#exact")
    assert "25.00° N, 85.00° E" in one.text("#exact")
    labels = one.page.locator("#charts [role=img]")
    series = [float(field(time, 1)[11, 8]) for time in range(TIMES)]
    told = re.fullmatch(
        r"Series along time: 24 values from ([\d.]+) to ([\d.]+) .*",
        labels.nth(0).get_attribute("aria-label") or "",
    )
    assert told
    assert [float(one) for one in told.groups()] == pytest.approx([min(series), max(series)], rel=1e-6)
    assert "Profile along plev" in one.text("#charts")
    assert "3 values" in (labels.nth(1).get_attribute("aria-label") or "")
    # By keys: a cross that is moved, its value said, then the same charts.
    one.page.focus("#main .surface")
    one.page.keyboard.press("Shift+ArrowRight")
    one.until("document.getElementById('under').textContent.includes(' K')")
    said = one.text("#under")
    one.page.keyboard.press("Enter")
    one.until("location.hash.includes('point=')")
    where = said.partition(":")[0]
    one.until(f"document.getElementById('exact').textContent.includes('{where}')")


@DRAWN
def test_zoom_pan_and_projections_by_mouse_and_keys(opened: Callable[..., Seen]) -> None:
    one = opened(WORLD)

    def view(once: Callable[[list[float]], bool] = lambda _: True) -> list[float]:
        """Return the view that the address says, once it is as it has to become."""
        for _again in range(60):
            one.page.wait_for_timeout(300)
            found = re.search(r"view=([^&]*)", one.page.url)
            seen = [float(part) for part in found.group(1).split(",")] if found else []
            if seen and once(seen):
                break
        assert seen
        return seen

    whole = view()
    x, y = one.point(60, 40)
    one.page.mouse.move(x, y)
    one.page.mouse.wheel(0, -600)
    zoomed = view(lambda seen: seen[2] < whole[2] / 2)
    assert zoomed[2] < whole[2] / 2
    # What was under the pointer still is.
    assert one.point(60, 40) == pytest.approx((x, y), abs=2)
    one.page.mouse.down()
    one.page.mouse.move(x + 50, y + 30, steps=4)
    one.page.mouse.up()
    assert one.point(60, 40) == pytest.approx((x + 50, y + 30), abs=2)
    # A drag is no click.
    assert "point=" not in one.page.url
    one.page.focus("#main .surface")
    before = view()
    one.page.keyboard.press("ArrowRight")
    assert view(lambda seen: seen[0] > before[0])[0] > before[0]
    one.page.keyboard.press("+")
    assert view(lambda seen: seen[2] < before[2])[2] < before[2]
    one.page.keyboard.press("0")
    assert view(lambda seen: seen == whole) == whole
    one.page.keyboard.press("n")
    assert view(lambda seen: seen[:2] == [0, 0])[:2] == [0, 0]
    assert one.page.input_value("#projection") == "north"
    one.page.select_option("#projection", "south")
    view(lambda _: "map=south" in one.page.url)
    assert "map=south" in one.page.url
    one.page.click("#in")
    one.page.click("#fit")
    one.page.keyboard.press("?")
    assert one.page.locator("#keys").is_visible()
    one.page.keyboard.press("Escape")
    one.page.keyboard.press("/")
    assert one.page.evaluate("() => document.activeElement.id") == "search"


@DRAWN
def test_two_data_sets_on_one_scale_and_their_difference(opened: Callable[..., Seen]) -> None:
    one = opened(f"{WORLD}&at=time:1,plev:0")
    one.page.click("#beside")
    one.until("!document.getElementById('other').hidden")
    one.page.click("button[data-name='warmer.nc']")
    one.until("document.querySelector('#main figcaption').textContent.startsWith('warmer.nc')")
    one.state("done")
    left, right = field(1, 0, shift=3), field(1, 0)
    low, high = one.range()
    assert (low, high) == pytest.approx((np.nanmin(right), np.nanmax(left)), rel=1e-4)
    for figure, values in (("#main", left), ("#other", right)):
        found = one.pixels([(173, 3), (175, 5), (176, 3)], figure)
        assert any(near(each, one.colour(float(values[9, 17]), low, high)) for each in found), figure
    ends = one.page.get_attribute("#difference-legend canvas", "aria-label") or ""
    assert ends.startswith("Colours from -3 to 3 K")
    one.page.mouse.move(*one.point(173, 3))
    assert "difference 3 K" in one.text("#under")
    assert "Difference: 3 K" in one.measured()
    # Both step together.
    one.page.click(".axis[data-dim=time] button >> nth=1")
    one.until("document.querySelector('#other figcaption').textContent.includes('2000-03')")
    one.page.mouse.click(*one.point(173, 3))
    one.until("document.querySelectorAll('#charts .u-legend .u-series').length >= 6")
    link = one.page.url
    again = opened(link.partition("#")[2])
    again.until("!document.getElementById('difference').hidden")
    assert again.text("#other figcaption") == one.text("#other figcaption")
    again.opened.context.close()
    one.page.click("#alone")
    one.until("document.getElementById('other').hidden")
    # Other grids are compared without a difference.
    one.page.goto(f"{one.page.url.partition('#')[0]}#{WORLD}&file2=across.nc&var2=h")
    one.until("document.getElementById('state').textContent.includes('No difference map: the units differ.')")
    assert one.page.locator("#other").is_visible()
    assert not one.page.locator("#difference").is_visible()


def saved(one: Seen, button: str) -> tuple[str, bytes]:
    found: list[Download] = []
    with one.page.expect_download() as waiting:
        one.page.click(button)
    found.append(waiting.value)
    return found[0].suggested_filename, found[0].path().read_bytes()


def test_what_is_seen_is_taken_along(opened: Callable[..., Seen], tmp_path: Path) -> None:
    one = opened(f"{WORLD}&at=time:4,plev:1&map=flat&view=90,20,60")
    name, picture = saved(one, "#png")
    assert name == "world-ta-time4-plev1.png"
    image = one.decoded(picture)
    assert image.shape[1] > 700
    colour = one.colour(float(field(4, 1)[11, 9]), *one.range())
    assert (np.abs(image[..., :3].astype(int) - colour).max(axis=-1) < 5).sum() > 1000
    _, text = saved(one, "#csv")
    rows = list(csv.DictReader(io.StringIO(text.decode())))
    assert {float(row["longitude"]) for row in rows} == {65, 75, 85, 95, 105, 115}
    for row in rows:
        j, i = round((float(row["latitude"]) + 85) / 10), round((float(row["longitude"]) - 5) / 10)
        assert np.float32(row["ta"]) == field(4, 1)[j, i]
    name, netcdf = saved(one, "#nc")
    (tmp_path / name).write_bytes(netcdf)
    with xr.open_dataset(tmp_path / name, engine="scipy") as dataset:
        assert dataset["ta"].size == len(rows)
    one.page.click("#code")
    one.page.wait_for_selector("#lines:not([hidden])")
    known: dict[str, Any] = {}
    exec(one.text("#lines"), known)
    values = known["values"].values
    assert values.size == len(rows)
    assert np.array_equal(np.sort(values.ravel()), np.sort([np.float32(row["ta"]) for row in rows]))


@DRAWN
def test_a_link_brings_the_view_back(opened: Callable[..., Seen]) -> None:
    one = opened(f"{WORLD}&at=time:5,plev:2&map=north&view=0.1,-0.1,0.8")
    one.page.select_option("#scale", "gray")
    one.page.fill("#low", "230")
    one.page.keyboard.press("Tab")
    one.page.check("#reversed")
    one.page.mouse.click(*one.point(20, 70))
    one.until("location.hash.includes('point=')")
    one.page.wait_for_timeout(300)
    again = opened(one.page.url.partition("#")[2])
    again.until("document.querySelectorAll('#charts canvas').length === 2")
    for selector in ("#about", "#title", "#exact", ".axis[data-dim=time] output"):
        assert again.text(selector) == one.text(selector)
    for selector in ("#scale", "#low", "#high", "#how", "#projection"):
        assert again.page.input_value(selector) == one.page.input_value(selector)
    assert again.page.is_checked("#reversed")
    assert again.pixel(20, 60) == one.pixel(20, 60)
    # Nonsense in a link is no way to break the page.
    again.page.goto(
        again.page.url.partition("#")[0]
        + "#file=world.nc&var=ta&at=time:9999&view=a,b&map=__proto__&range=3,1"
    )
    again.page.reload()
    again.state("done")
    assert again.page.input_value("#projection") == "flat"


def test_lines_and_what_is_not_drawn(opened: Callable[..., Seen]) -> None:
    one = opened("file=lines.nc&var=index")
    assert one.text("#title") == HOSTILE
    label = one.page.get_attribute("#line-chart [role=img]", "aria-label") or ""
    assert "3 values from -2 to 1.5" in label
    assert one.page.evaluate("() => document.title") != "owned"
    assert one.page.locator("img").count() == 0
    one.page.click("button[data-path$=cells]")
    one.until("document.getElementById('about').textContent.includes('drawn by index')")


def test_errors_are_said_with_a_hint_and_can_be_tried_again(
    opened: Callable[..., Seen], browser: Browser, viewer: Viewer
) -> None:
    one = opened()
    one.page.click("button[data-name='notes.nc']")
    one.state("failed")
    told = one.text("#notice p")
    assert "notes.nc" in told
    assert "hint:" in told
    one.page.click("button[data-name='world.nc']")
    one.state("done")
    assert not one.page.locator("#notice").is_visible()
    # The network goes away, and comes back.
    one.opened.context.set_offline(True)
    one.page.click("button[data-name='across.nc']")
    one.state("failed")
    assert one.text("#notice p").startswith("haul view does not respond.")
    one.opened.context.set_offline(False)
    one.page.click("button[data-name='across.nc']")
    one.state("done")
    # Without the token nothing is told.
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{viewer.server.port}/")
    page.wait_for_function("() => document.body.dataset.state === 'failed'")
    assert "there is no token\nhint: open the address that haul view has printed" in page.inner_text(
        "#notice p"
    )
    context.close()
    one.opened.said.clear()


def test_a_slow_answer_is_said_to_be_slow(opened: Callable[..., Seen]) -> None:
    one = opened(WORLD)
    held: list[Route] = []
    # The first is held; those that are read ahead may pass.
    one.page.route("**/api/slab*", lambda route: held.append(route), times=1)
    one.page.click(".axis[data-dim=plev] button >> nth=1")
    one.until("document.getElementById('state').textContent.startsWith('Still reading')")
    held[0].continue_()
    one.state("done")
    assert "500 hPa" in one.text("#about")


def test_a_view_says_what_it_cost_and_a_blob_that_was_replaced(
    browser: Browser, blobs: Container, tmp_path: Path
) -> None:
    write_noise(tmp_path / "noise.nc", seed=1)
    haulage.copy(str(tmp_path / "noise.nc"), blobs.az("noise.nc"))
    with viewing(blobs.az()) as viewer:
        one = Seen(browser, viewer, "file=noise.nc")
        told = re.search(
            r"This view: (\d+) requests? to the store, ([\d.]+) [KM]iB, \d+ ms\.", one.text("#state")
        )
        assert told
        assert 1 <= int(told.group(1)) <= 8
        one.page.click("#cost")
        one.until("document.querySelector('#requests tbody')?.innerText.includes('grid')")
        write_noise(tmp_path / "noise.nc", seed=2)
        haulage.copy(str(tmp_path / "noise.nc"), blobs.az("noise.nc"), overwrite="always")
        one.page.focus("#axis-time")
        one.page.keyboard.press("End")
        one.state("failed")
        assert "hint:" in one.text("#notice p")
        one.page.click("#again")
        one.state("done")
        assert not one.page.locator("#notice").is_visible()
        assert one.range()[0] > 15
        one.opened.context.close()


def test_nothing_is_asked_from_elsewhere_nor_written_as_markup() -> None:
    for file in PAGE.iterdir():
        check_source(file)
        assert file.read_text().count("\n") < 400, file


def contrast(one: Seen, first: str, second: str) -> float:
    code = """([first, second]) => {
      const light = (name) => {
        const probe = document.createElement('canvas').getContext('2d');
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
        const parts = [1, 3, 5].map((at) => parseInt(probe.fillStyle.slice(at, at + 2), 16) / 255);
        const [r, g, b] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const [a, b] = [light(first), light(second)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    }"""
    return float(one.page.evaluate(code, [first, second]))


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (360, "dark"),
        (1600, "light"),
        pytest.param(360, "light", marks=pytest.mark.long),
        pytest.param(1600, "dark", marks=pytest.mark.long),
    ],
)
def test_it_can_be_read_and_reached_in_any_width_and_light(
    opened: Callable[..., Seen], scheme: str, width: int
) -> None:
    one = opened(
        WORLD, color_scheme=scheme, viewport={"width": width, "height": 900}, reduced_motion="reduce"
    )
    for name in ("--ink", "--muted", "--warn", "--bad", "--blue"):
        assert contrast(one, name, "--paper") >= 4.5, name
    assert one.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    unnamed = one.page.evaluate(
        "() => [...document.querySelectorAll('button, input, select')].filter((one) =>"
        " !one.textContent.trim() && !one.labels?.length && !one.ariaLabel).map((one) => one.id)"
    )
    assert unnamed == []
    seen = set()
    for _ in range(60):
        one.page.keyboard.press("Tab")
        seen.add(one.page.evaluate("() => document.activeElement.id || document.activeElement.className"))
    assert {"search", "projection", "scale", "low", "in", "surface", "axis-time", "png", "link"} <= seen
    assert json.loads(one.page.evaluate("() => JSON.stringify(document.getAnimations().length)")) == 0
