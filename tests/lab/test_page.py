"""The page in a browser: from disk, with the network off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from haulage.lab.report.palette import COLOURS
from lab.browsers import Opened

#: What a page may be slow at: drawing 100,000 rows of lanes took 12 to 25 ms on two cores of 2026.
SLOWEST_FRAME_MS = 100


@pytest.fixture
def report(reported: Path) -> Path:
    return reported / "report.html"


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    page = Opened(browser, report)
    yield page
    page.context.close()
    assert page.said == []


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[at : at + 2], 16) for at in (1, 3, 5)))


def test_every_chart_comes_alive_and_nothing_is_asked_of_the_network(opened: Opened) -> None:
    opened.see_everything()
    charts = opened.page.query_selector_all("[data-spec]")
    assert len(charts) >= 8
    for chart in charts:
        assert chart.query_selector(".stage svg") is not None
        assert not chart.query_selector("svg.static").is_visible()  # type: ignore[union-attr]
    assert opened.page.evaluate("document.title") != "owned"


@pytest.mark.long
def test_tabs_work_by_click_and_by_keyboard(opened: Opened) -> None:
    page = opened.page
    page.evaluate("document.querySelectorAll('details.other').forEach(one => { one.open = true; })")
    for section in page.query_selector_all("section.chart"):
        tabs = section.query_selector_all("[role=tab]")
        panels = [page.query_selector(f"#{tab.get_attribute('aria-controls')}") for tab in tabs]
        for tab, panel in zip(tabs, panels, strict=True):
            tab.click()
            assert panel is not None
            assert tab.get_attribute("aria-selected") == "true"
            assert [other is not None and other.is_visible() for other in panels].count(True) == 1
            assert panel.is_visible()
            assert panel.get_attribute("aria-labelledby") == tab.get_attribute("id")
    names = page.eval_on_selector_all("#ledger [role=tab]", "tabs => tabs.map(tab => tab.textContent)")
    assert names == ["Chart", "Query", "Rows", "Method"]
    page.click("#ledger-chart-tab")
    for key, expected in (
        ("ArrowRight", "Query"),
        ("End", "Method"),
        ("ArrowRight", "Chart"),
        ("ArrowLeft", "Method"),
        ("Home", "Chart"),
    ):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.textContent") == expected
        assert page.locator("#ledger [aria-selected=true]").inner_text() == expected


@pytest.mark.long
def test_colours_follow_the_system_and_the_button(browser: Browser, report: Path) -> None:
    for scheme, first, second in (("light", 0, 1), ("dark", 1, 0)):
        opened = Opened(browser, report, color_scheme=scheme)
        paper, ink = COLOURS["paper"], COLOURS["ink"]
        assert opened.colour("body", "backgroundColor") == rgb(paper[first])
        opened.see_everything()
        text = "#ledger .stage svg text"
        assert opened.colour(text, "fill") in (rgb(ink[first]), rgb(COLOURS["muted"][first]))
        opened.page.click("#theme")
        assert opened.colour("body", "backgroundColor") == rgb(paper[second])
        assert opened.colour(text, "fill") in (rgb(ink[second]), rgb(COLOURS["muted"][second]))
        assert opened.said == []
        opened.context.close()


def test_without_javascript_the_pictures_and_the_queries_are_there(browser: Browser, report: Path) -> None:
    opened = Opened(browser, report, java_script_enabled=False)
    pictures = opened.page.locator("section.chart figure svg.static")
    assert pictures.count() >= 9
    for index in range(pictures.count()):
        assert pictures.nth(index).is_visible()
    assert not opened.page.locator(".lanes").is_visible()
    opened.page.locator("#ledger-query summary").click()
    assert opened.page.locator("#ledger-query pre").first.is_visible()
    assert opened.said == []
    opened.context.close()


@pytest.mark.long
def test_in_print_there_are_pictures_and_no_buttons(opened: Opened) -> None:
    opened.see_everything()
    opened.page.emulate_media(media="print")
    for selector in ("#theme", ".tabs", "nav", ".lanes", "[data-spec] .stage"):
        assert not opened.page.locator(selector).first.is_visible()
    assert opened.page.locator("#sweep svg.static").is_visible()
    assert opened.page.locator("#sweep-method").is_visible()
    assert opened.colour("body", "backgroundColor") == rgb(COLOURS["paper"][0])


@pytest.mark.long
def test_a_phone_does_not_scroll_sideways(browser: Browser, report: Path) -> None:
    opened = Opened(browser, report)
    opened.page.set_viewport_size({"width": 375, "height": 700})
    opened.page.evaluate("document.querySelectorAll('details.other').forEach(one => { one.open = true; })")
    opened.see_everything()
    for tab in ("Query", "Rows", "Method"):
        for button in opened.page.query_selector_all(f"[role=tab]:has-text('{tab}')"):
            button.click()
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 375
    opened.context.close()


def test_lanes_pan_zoom_and_tell_of_a_request(opened: Opened) -> None:
    page = opened.page
    page.wait_for_function("document.querySelector('.lanes').lanes")
    page.locator(".lanes").scroll_into_view_if_needed()

    def view() -> tuple[float, float]:
        first, last = page.evaluate("(({t0, t1}) => [t0, t1])(document.querySelector('.lanes').lanes)")
        return first, last

    whole = view()
    page.click(".lanes button[data-act=in]")
    zoomed = view()
    assert zoomed[1] - zoomed[0] == pytest.approx((whole[1] - whole[0]) / 2)
    page.focus(".lanes canvas")
    page.keyboard.press("ArrowRight")
    assert view()[0] > zoomed[0]
    canvas = page.locator(".lanes canvas").bounding_box()
    assert canvas is not None
    page.mouse.move(canvas["x"] + 400, canvas["y"] + 60)
    page.mouse.down()
    page.mouse.move(canvas["x"] + 500, canvas["y"] + 60, steps=3)
    page.mouse.up()
    before = view()
    page.mouse.wheel(0, -200)
    page.wait_for_timeout(100)
    assert view()[1] - view()[0] < before[1] - before[0]
    page.select_option(".lanes select[name=cell]", "0")
    page.evaluate(
        """() => {
          const lanes = document.querySelector('.lanes').lanes, box = lanes.canvas.getBoundingClientRect();
          const at = (lanes.columns.began[0] + lanes.columns.took[0] / 2 - lanes.t0) / (lanes.t1 - lanes.t0);
          const place = { clientX: box.left + 52 + at * lanes.width, clientY: box.top + lanes.top + 3 };
          lanes.canvas.dispatchEvent(new PointerEvent('pointermove', place));
        }"""
    )
    said = page.inner_text(".lanes-tip")
    assert "KiB of payload" in said
    assert "send: " in said
    assert "<script>" in said or "data/" in said
    for mode in ("outcome", "treatment", "phase"):
        page.select_option(".lanes select[name=mode]", mode)
        assert page.locator(".lanes-legend li").count() >= 1


@pytest.mark.long
def test_a_pixel_has_the_colour_of_what_took_most_of_it(opened: Opened) -> None:
    page = opened.page
    page.wait_for_function("document.querySelector('.lanes').lanes")
    shares = page.evaluate(
        """() => {
          const lanes = document.querySelector('.lanes').lanes, seen = {};
          lanes.show(null);
          lanes.paint();
          const kinds = lanes.classes.phase.map(([label, colour]) => [label, colour.join()]);
          const data = lanes.image.data;
          for (let at = 0; at < data.length; at += 4) {
            const colour = [data[at], data[at + 1], data[at + 2]].join();
            const kind = kinds.find(([, one]) => one === colour)?.[0] ?? 'other';
            seen[kind] = (seen[kind] ?? 0) + 1;
          }
          return seen;
        }"""
    )
    # Of this run most of the time is sending; small files wait about as long.
    assert shares["send"] > 0
    assert max((count, kind) for kind, count in shares.items() if kind != "other")[1] in (
        "send",
        "wait for the answer",
    )


@pytest.mark.long
def test_a_frame_is_drawn_quickly(opened: Opened) -> None:
    page = opened.page
    page.wait_for_function("document.querySelector('.lanes').lanes")
    median = page.evaluate(
        """() => {
          const lanes = document.querySelector('.lanes').lanes, took = [];
          for (let frame = 0; frame < 21; frame++) {
            lanes.look(0, lanes.end * (1 - frame / 50));
            const began = performance.now();
            lanes.draw();
            took.push(performance.now() - began);
          }
          return took.sort((a, b) => a - b)[10];
        }"""
    )
    assert median < SLOWEST_FRAME_MS
