"""A stored file beside its local source: one scale, their difference, and proof that all values are equal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import netCDF4
import numpy as np
import pytest
from playwright.sync_api import Browser

import haulage
from endpoints import Container
from haulage.view.reading.pairs import MARK, Beside
from haulage.view.reading.place import Place
from view.paging import Seen, fragment, write_noise, write_world
from view.viewing import Viewer, viewing_place


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    write_world(folder / "same.nc")
    write_world(folder / "warmer.nc")
    write_noise(folder / "large.nc", seed=1)
    write_world(folder / "only_here.nc")
    return folder


@pytest.fixture
def viewer(blobs: Container, sources: Path, tmp_path: Path) -> Iterator[Viewer]:
    for name in ("same.nc", "large.nc"):
        haulage.copy(sources / name, blobs.az(f"run/{name}"))
    write_world(tmp_path / "warmer.nc", shift=0.25)
    haulage.copy(tmp_path / "warmer.nc", blobs.az("run/warmer.nc"))
    with haulage.Session() as session:
        place = Beside(blobs.az("run/"), {"session": session}, Place(str(sources), {"session": session}))
        with viewing_place(place) as found:
            yield found


def totals(viewer: Viewer, name: str, var: str) -> tuple[int, int, float | None, bool, int]:
    """Compare a variable with its source, stretch by stretch."""
    values = different = answers = 0
    largest: float | None = None
    identical = True
    next_: int | None = 0
    while next_ is not None:
        told = viewer.get(
            "/api/equal", name=name, var=var, name2=MARK + name, var2=var, **{"from": next_}
        ).json
        values, different, answers = values + told["values"], different + told["different"], answers + 1
        largest = told["largest"] if told["largest"] is not None else largest
        identical, next_ = identical and told["identical"], told["next"]
    return values, different, largest, identical, answers


def test_both_places_are_listed_and_compared(viewer: Viewer, sources: Path) -> None:
    assert viewer.get("/api/info").json["beside"] == MARK
    assert viewer.names() == [
        *(f"beside:{name}" for name in ("large.nc", "only_here.nc", "same.nc", "warmer.nc")),
        "large.nc", "same.nc", "warmer.nc",
    ]  # fmt: skip
    assert totals(viewer, "same.nc", "ta") == (24 * 3 * 18 * 36, 0, None, True, 1)
    assert totals(viewer, "large.nc", "v")[1:4] == (0, None, True)
    with netCDF4.Dataset(sources / "warmer.nc") as file:
        number = int(np.ma.count(np.ma.masked_invalid(file["ta"][:])))
    values, different, largest, identical, _ = totals(viewer, "warmer.nc", "ta")
    assert (values, different, identical) == (24 * 3 * 18 * 36, number, False)
    assert largest == pytest.approx(0.25, rel=1e-3)
    asked = {"name": "same.nc", "var": "ta", "name2": MARK + "same.nc"}
    assert viewer.get("/api/equal", var2="uas", **asked).status == 400
    assert viewer.get("/api/equal", var2="ta", **asked, **{"from": 99}).status == 400
    assert viewer.get("/api/file", name="beside:../same.nc").status == 404


def test_a_prefix_without_a_slash_finds_the_same_names(
    viewer: Viewer, blobs: Container, sources: Path
) -> None:
    assert viewer.names()
    place = Beside(blobs.az("run"), {}, Place(str(sources), {}))
    assert [meta.key for meta in place.names()[0] if not meta.key.startswith(MARK)] == [
        f"run/{name}" for name in ("large.nc", "same.nc", "warmer.nc")
    ]
    assert place.pin(f"{MARK}run/same.nc").size == (sources / "same.nc").stat().st_size
    assert place.url_of(f"{MARK}run/same.nc") == str(sources / "same.nc")


def test_values_that_are_packed_in_another_way_may_be_equal(tmp_path: Path) -> None:
    for name, kind in (("a.nc", "i2"), ("b.nc", "f8")):
        with netCDF4.Dataset(tmp_path / name, "w") as file:
            file.createDimension("x", 5)
            made = file.createVariable("v", kind, ("x",), fill_value=-99)
            if kind == "i2":
                made.scale_factor = 0.5
            made[:] = np.ma.array([1.5, 2, 0, 4, -7], mask=np.array([False, False, True, False, False]))
    with viewing_place(Place(str(tmp_path), {})) as viewer:
        told = viewer.get("/api/equal", name="a.nc", var="v", name2="b.nc", var2="v").json
        assert told == {"values": 5, "different": 0, "largest": None, "identical": False, "next": None}


@pytest.mark.slow("a browser draws several maps one after another")
def test_the_page_compares_a_file_with_its_source(browser: Browser, viewer: Viewer) -> None:
    one = Seen(browser, viewer, fragment(file="same.nc", var="ta"))
    one.page.click("#source")
    one.until("!document.getElementById('difference').hidden")
    assert one.text("#other figcaption").startswith("beside:same.nc")
    one.page.click("#prove")
    one.until("document.getElementById('proven').textContent.startsWith('Equal')")
    assert ", bit for bit." in one.text("#proven")
    one.page.click("button[data-name='warmer.nc']")
    one.until("document.getElementById('about').textContent.startsWith('warmer.nc')")
    assert one.text("#proven") == ""
    one.page.click("#alone")
    one.page.click("#source")
    one.until("document.querySelector('#other figcaption').textContent.startsWith('beside:warmer.nc')")
    one.state("done")
    one.page.click("#prove")
    one.until("document.getElementById('proven').textContent.startsWith('Not equal')")
    assert "values differ, by up to 0.25" in one.text("#unequal")
    assert [text for text in one.said if "status of 4" not in text] == []
    one.opened.context.close()
