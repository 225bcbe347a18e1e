"""Charts of the page as a browser shows and saves them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from haulage.lab.report.page import write
from haulage.lab.report.palette import COLOURS
from lab import made_runs
from lab.browsers import Opened
from lab.made_runs import SECOND, cell

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def report(reported: Path) -> Path:
    return reported / "report.html"


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    page = Opened(browser, report, accept_downloads=True)
    yield page
    page.context.close()
    assert page.said == []


def saved(opened: Opened, section: str, kind: str) -> bytes:
    with opened.page.expect_download() as download:
        opened.page.click(f"#{section} button:text-is('Save {kind}')")
    assert download.value.suggested_filename == f"{section}.{kind.lower()}"
    return Path(download.value.path()).read_bytes()


def live(opened: Opened, section: str) -> None:
    opened.page.locator(f"#{section} figure").scroll_into_view_if_needed()
    opened.page.wait_for_selector(f"#{section} .stage svg")


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(PNG)
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_a_chart_is_saved_as_it_is_seen(opened: Opened) -> None:
    live(opened, "ledger")
    opened.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    text = saved(opened, "ledger", "SVG").decode()
    root = ElementTree.fromstring(text)
    words = {"".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"One treatment, part by part", "All treatments", "adaptive", "send", "no work"} <= words
    assert "var(" not in text
    assert COLOURS["blue"][1] in text
    width, height = size_of(saved(opened, "ledger", "PNG"))
    shown = float(root.attrib["width"]), float(root.attrib["height"])
    assert (width, height) == (int(2 * shown[0]), int(2 * shown[1]))


@pytest.mark.long
def test_a_tall_chart_is_not_saved_as_an_empty_png(opened: Opened) -> None:
    """Beyond 16,384 pixels a canvas gives nothing, and charts by node size are that high."""
    live(opened, "ledger")
    opened.page.eval_on_selector("#ledger .stage svg", "svg => svg.setAttribute('viewBox', '0 0 900 20000')")
    width, height = size_of(saved(opened, "ledger", "PNG"))
    assert height == 16_000
    assert width == 720


def test_lanes_that_are_saved_name_their_font(opened: Opened) -> None:
    """Other programs took a serif font."""
    assert re.search(r'<svg[^>]*font-family="[^"]*sans-serif', saved(opened, "lanes", "SVG").decode())


@pytest.mark.long
def test_the_lanes_have_their_whole_legend_when_saved(opened: Opened) -> None:
    """The last label ended beyond the picture."""
    text = saved(opened, "lanes", "SVG").decode()
    assert "failed attempt" in text
    ends = opened.page.evaluate(
        """text => {
          const holder = document.createElement("div");
          holder.innerHTML = text;
          document.body.append(holder);
          const svg = holder.querySelector("svg");
          const ends = [...svg.querySelectorAll("text")].map((one) => one.getBBox().x + one.getBBox().width);
          return [svg.viewBox.baseVal.width, Math.max(...ends)];
        }""",
        text,
    )
    assert ends[1] <= ends[0]


def test_lanes_have_no_button_that_does_nothing(opened: Opened) -> None:
    assert opened.page.locator("#lanes button:text-is('Full size')").count() == 0
    assert opened.page.locator("#ledger button:text-is('Full size')").count() == 1


@pytest.mark.long
def test_the_choices_beneath_a_chart_fit_on_a_phone(opened: Opened) -> None:
    """The second of two lists stood outside the screen."""
    opened.page.set_viewport_size({"width": 400, "height": 800})
    live(opened, "ledger")
    for choice in opened.page.query_selector_all("#ledger .vega-bindings select"):
        box = choice.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 400


@pytest.mark.long
def test_pictures_hold_labels_that_are_wider_than_they_were_measured(opened: Opened) -> None:
    """Readers without the font that the picture was laid out with saw labels without their beginning."""
    found = opened.page.evaluate(
        """async () => {
          const waits = () => new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)));
          const svg = document.querySelector("#ledger svg");
          for (const text of svg.querySelectorAll("text")) text.setAttribute("font-size", "20px");
          svg.style.display = "none";
          await waits();
          svg.style.display = "";
          await waits();
          const edges = svg.getBoundingClientRect();
          return [...svg.querySelectorAll("text")].map((text) => text.getBoundingClientRect())
            .filter((text) => text.width)
            .filter((text) => text.left < edges.left - 1 || text.right > edges.right + 1).length;
        }"""
    )
    assert found == 0


@pytest.mark.long
def test_charts_by_node_have_their_legend_on_top(browser: Browser, tmp_path: Path) -> None:
    """It stood beneath the last of twelve rows of charts."""
    cells = [
        cell(
            number,
            method="baseline" if arm == "standard" else "ranges",
            direction="down",
            wall_ns=SECOND * (1 + place),
            factors=f'{{"node": "{node}", "arm": "{arm}", "again": false}}',
            replicate=replicate,
            treatment=f"{arm} @{node}",
        )
        for number, (replicate, (place, node), arm) in enumerate(
            (replicate, node, arm)
            for replicate in range(3)
            for node in enumerate(("small", "large"))
            for arm in ("standard", "sub-file")
        )
    ]
    run = made_runs.write(tmp_path / "run", cells, plan="node-size", factors={"node": ["small", "large"]})
    opened = Opened(browser, write(run))
    opened.see_everything()
    places = opened.page.evaluate(
        """() => {
          const svg = document.querySelector("#nodes .stage svg");
          const top = (one) => one.getBoundingClientRect().top;
          return [top(svg.querySelector(".role-legend")), top(svg.querySelector(".mark-line"))];
        }"""
    )
    assert places[0] < places[1]
    assert opened.said == []
    opened.context.close()
