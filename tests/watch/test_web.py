"""The page in a browser, and who is let in."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from browsing import Opened, check_source
from haulage.watch.state import State
from haulage.watch.web import READERS, Page
from sentences import Sentence
from watch.test_queues import until
from watch.test_state import Told

PACKAGE = Path(__file__).resolve().parents[2] / "python/haulage"
PAGE, SHARED = PACKAGE / "watch/page", PACKAGE / "web/static"
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


@pytest.fixture
def page() -> Iterator[Page]:
    served = Page()
    yield served
    served.close()


def ask(page: Page, path: str, host: str = "", method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{page.port}")
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def shown_of(told: Told, seconds: float = 1) -> dict[str, Any]:
    return told.look(seconds)


def busy() -> Told:
    """Return what a job of three nodes and a worker looks like, one of them gone."""
    told = Told()
    head = told.writer("head", coordinator=True)
    head.start()
    nodes = [told.writer(f"node-{number}") for number in range(1, 4)]
    for node in nodes:
        node.start()
    worker = told.writer("desk", job="f" * 16)
    worker.say("worker_started", program="regrid", pid=4242)
    for second in range(1, 40):
        told.now += 10**9
        for number, node in enumerate(nodes[: 2 if second > 30 else 3]):
            slow = {
                "object": f"cmip6/tas_{number}.nc",
                "age_ns": second * 10**9,
                "bytes_done": 3 << 20,
                "size_bytes": 9 << 20,
            }
            rate = (90 + 13 * ((second * (number + 3)) % 7)) * 10**6
            node.progress(second, 50, rate_bits_per_second=rate, slowest=[slow], in_flight=12)
        moved = 30 * (second + second % 5) * 10**6
        head.progress(
            3 * second, 150, bytes_done=moved, bytes_total=4500 * 10**6, rate_bits_per_second=31 * 10**7
        )
        worker.say(
            "log",
            level="INFO",
            logger="regrid.main",
            message=f"step {second}",
            file="a.py",
            line=3,
            traceback=None,
        )
        nodes[1].say("attempt", fate="busy", object="cmip6/b.nc", cause="ServerBusy", status=503)
    nodes[0].object(HOSTILE, failure="permission")
    head.say("warning", object="data/link", message="a symlink is left out")
    trace = (
        'Traceback (most recent call last):\n  File "regrid.py", line 12, in <module>\nValueError: no poles'
    )
    worker.say("uncaught", kind="ValueError", message=f"no poles {HOSTILE}", traceback=trace)
    return told


def wait_for(opened: Opened, shown: dict[str, Any]) -> None:
    opened.page.wait_for_function("at => document.body.dataset.drawn === at", arg=str(shown["time_unix_ns"]))


@pytest.fixture
def opened(browser: Browser, page: Page) -> Iterator[Callable[..., Opened]]:
    all_: list[Opened] = []

    def open_(**settings: Any) -> Opened:
        all_.append(Opened(browser, page.url, **settings))
        return all_[-1]

    yield open_
    for one in all_:
        one.context.close()
        assert one.said == []
        assert [url for url in one.asked if not url.startswith(page.url)] == []


def text_of(opened: Opened, selector: str) -> str:
    return opened.page.inner_text(selector)


def test_the_page_shows_nodes_errors_slow_objects_and_messages(
    page: Page, opened: Callable[..., Opened]
) -> None:
    told = busy()
    shown = shown_of(told, 0)
    page.draw(shown, last=False)
    one = opened()
    wait_for(one, shown)
    nodes = text_of(one, "#nodes")
    assert "node-3\t01234567\tSILENT" in nodes
    assert "regrid (4242)" in nodes
    assert "permission" in text_of(one, "#errors")
    assert "503 ServerBusy" in text_of(one, "#errors")
    assert "cmip6/tas_0.nc" in text_of(one, "#slow")
    assert HOSTILE in text_of(one, "#problems")
    assert "step 39" in text_of(one, "#logs")
    assert one.page.locator("#rate canvas").is_visible()
    assert one.page.evaluate("document.title") != "owned"
    assert one.page.locator("img").count() == 0
    # A traceback that was opened stays open when more comes.
    one.page.click("#problems summary")
    told.writer("late").say("warning", object="", message="one more")
    told.writer("late").object("a.nc", failure="busy")
    later = shown_of(told)
    page.draw(later, last=False)
    wait_for(one, later)
    assert one.page.locator("#problems pre").is_visible()
    assert "no poles" in text_of(one, "#problems pre")


def test_rows_say_which_job_they_belong_to(page: Page, opened: Callable[..., Opened]) -> None:
    """No column said it, though several jobs may run on one node."""
    told = busy()
    one, first = opened(), shown_of(told, 0)
    page.draw(first, last=False)
    wait_for(one, first)
    assert "node-1\t01234567\trunning" in text_of(one, "#nodes")
    assert "desk\tffffffff\trunning" in text_of(one, "#nodes")
    assert "node-1\t01234567\tcmip6/tas_0.nc" in text_of(one, "#slow")
    assert "desk ffffffff CRITICAL" in text_of(one, "#problems")
    # Of a single job, its name is at the top.
    alone = Told()
    alone.writer("node-1").start()
    shown = alone.look(1)
    page.draw(shown, last=False)
    wait_for(one, shown)
    assert "node-1\trunning" in text_of(one, "#nodes")


def test_no_table_is_cut(page: Page, opened: Callable[..., Opened]) -> None:
    """At 400 px, half of each table was beyond the right edge."""
    shown = shown_of(busy(), 0)
    page.draw(shown, last=False)
    one = opened()
    wait_for(one, shown)
    cut = "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).length"
    cell = one.page.locator("#nodes td", has_text="SILENT")
    for width in (1200, 640, 400, 320):
        one.page.set_viewport_size({"width": width, "height": 900})
        # The browser answers before it has drawn, and has the new width before the rules for it.
        fits = "width => innerWidth === width && document.documentElement.scrollWidth <= width"
        one.page.wait_for_function(fits, arg=width)
        assert one.page.evaluate(cut) == 0, width
        head = cell.evaluate("one => getComputedStyle(one, '::before').content")
        assert head == ('"State "' if width <= 640 else "none"), width


def test_all_who_look_see_the_same(page: Page, opened: Callable[..., Opened]) -> None:
    shown = shown_of(busy(), 0)
    page.draw(shown, last=False)
    first, second = opened(), opened()
    for one in (first, second):
        wait_for(one, shown)
    assert text_of(first, "body") == text_of(second, "body")


def test_the_last_of_it_stays_on_the_page(page: Page, opened: Callable[..., Opened]) -> None:
    one = opened()
    shown = shown_of(busy(), 0)
    page.draw(shown, last=True)
    page.close()
    wait_for(one, shown)
    assert "haul watch ended at" in text_of(one, "#notice")


def test_a_log_that_is_away_is_said(page: Page, opened: Callable[..., Opened]) -> None:
    told = busy()
    shown = {**shown_of(told, 0), "away": {"cause": "the link is down", "for_ns": 12 * 10**9}}
    page.draw(shown, last=False)
    one = opened()
    wait_for(one, shown)
    assert text_of(one, "#notice") == "The log has been unavailable for 12 s: the link is down"


def test_a_phone_does_not_scroll_sideways(page: Page, opened: Callable[..., Opened]) -> None:
    shown = shown_of(busy(), 0)
    page.draw(shown, last=False)
    one = opened(viewport={"width": 360, "height": 740}, color_scheme="light")
    wait_for(one, shown)
    for paper in ("rgb(254, 254, 254)", "rgb(23, 29, 36)"):
        assert one.page.evaluate("document.documentElement.scrollWidth") <= 360
        assert one.page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
        one.page.emulate_media(color_scheme="dark")


#: The bottoms of the chart with its legend and of what holds it, and the lines and values of the legend.
LEGEND = """
() => {
  const cells = [...document.querySelectorAll('#rate .u-legend th, #rate .u-legend td')];
  return {
    bottom: document.querySelector('#rate .uplot').getBoundingClientRect().bottom,
    room: document.getElementById('rate').getBoundingClientRect().bottom,
    borders: cells.map((cell) => getComputedStyle(cell).borderBottomWidth),
    values: [...document.querySelectorAll('#rate .u-value')].map((cell) => cell.textContent),
  };
}
"""


@pytest.mark.parametrize(
    "width", [240, *(pytest.param(width, marks=pytest.mark.long) for width in (320, 400))]
)
def test_the_legend_of_the_rate_has_room_and_no_lines(
    page: Page, opened: Callable[..., Opened], width: int
) -> None:
    shown = shown_of(busy(), 0)
    page.draw(shown, last=False)
    one = opened(viewport={"width": width, "height": 740})
    wait_for(one, shown)
    legend = one.page.evaluate(LEGEND)
    assert set(legend["borders"]) == {"0px"}
    assert legend["values"] == ["\N{EN DASH}", "\N{EN DASH}"]
    one.page.locator("#rate .u-over").hover()
    assert "\N{EN DASH}" not in one.page.evaluate(LEGEND)["values"]
    # Where text is larger, the legend takes two lines.
    one.page.evaluate("document.querySelector('#rate .u-legend').style.fontSize = '20px'")
    legend = one.page.evaluate(LEGEND)
    assert legend["bottom"] <= legend["room"]


def test_silent_jobs_and_failed_objects_are_counted_by_themselves(
    page: Page, opened: Callable[..., Opened]
) -> None:
    told = Told()
    told.writer("gone", job="a" * 16).start()
    told.look(5)
    running = told.writer("here", job="b" * 16)
    running.start()
    running.progress(12, 20, objects_failed=2)
    shown = told.look(1)
    page.draw(shown, last=False)
    one = opened()
    wait_for(one, shown)
    assert text_of(one, "#about") == "2 jobs: 1 running, 1 silent"
    assert "Objects\n10 / 20+\nFailed\n2 in 1 of 2 jobs" in text_of(one, "#facts")
    assert "\t10 / 20\t2\t" in text_of(one, "#jobs")
    assert "\t10\t2\t" in text_of(one, "#nodes")


def test_the_keyboard_reaches_what_scrolls(page: Page, opened: Callable[..., Opened]) -> None:
    shown = shown_of(busy(), 0)
    page.draw(shown, last=False)
    one = opened()
    wait_for(one, shown)
    one.page.keyboard.press("Tab")
    assert one.page.evaluate("document.activeElement.className") == "skip"
    one.page.keyboard.press("Enter")
    reached = []
    for _ in range(8):
        one.page.keyboard.press("Tab")
        reached.append(one.page.evaluate("document.activeElement.closest('section')?.id"))
    assert [*dict.fromkeys(reached)][:5] == ["nodes", "jobs", "errors", "slow", "problems"]


def test_nothing_is_told_without_the_secret_or_under_another_name(page: Page, sentence: Sentence) -> None:
    page.draw(shown_of(busy(), 0), last=True)
    assert ask(page, f"/{page.token}/")[0] == 200
    assert ask(page, f"/{page.token}/", host=f"localhost:{page.port}")[0] == 200
    for path in (
        "/",
        "/events",
        "//events",
        f"http://127.0.0.1:{page.port}/events",
        "/x/",
        f"/{page.token[:-1]}/",
        f"/{page.token}x/events",
        f"/{page.token}",
    ):
        status, _, body = ask(page, path)
        assert (status, json.loads(body)["code"]) == (403, "permission"), path
        sentence(json.loads(body)["hint"])
    for host in (
        "evil.example",
        f"evil.example:{page.port}",
        "127.0.0.1",
        f"127.0.0.1:{page.port}.evil.example",
    ):
        assert ask(page, f"/{page.token}/events", host=host)[0] == 421, host
    assert ask(page, f"/{page.token}/../page.html")[0] == 404
    assert ask(page, f"/{page.token}/uplot.LICENSE")[0] == 404
    assert ask(page, f"/{page.token}/", method="POST")[0] == 405


def test_the_policy_allows_nothing_from_elsewhere(page: Page) -> None:
    for name in ("", "page.js", "page.css", "base.css", "drawing.js", "uplot.min.js", "uplot.min.css"):
        status, headers, _ = ask(page, f"/{page.token}/{name}")
        assert status == 200
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
    for file in [*PAGE.glob("page.*"), SHARED / "base.css", SHARED / "drawing.js"]:
        check_source(file)


def test_the_license_lies_beside_what_is_not_ours() -> None:
    assert "MIT License" in (SHARED / "uplot.LICENSE").read_text()
    assert (
        (SHARED / "uplot.min.js").read_text().startswith("/*! https://github.com/leeoniya/uPlot (v1.6.32) */")
    )


def test_readers_are_bounded_and_make_room_when_they_leave(page: Page) -> None:
    with ExitStack() as stack:

        def read() -> http.client.HTTPResponse:
            connection = stack.enter_context(
                closing(http.client.HTTPConnection("127.0.0.1", page.port, timeout=10))
            )
            connection.request("GET", f"/{page.token}/events")
            return stack.enter_context(closing(connection.getresponse()))

        readers = [read() for _ in range(READERS)]
        assert {one.status for one in readers} == {200}
        assert read().status == 503
        readers[0].close()
        until(lambda: read().status == 200)


def test_an_empty_log_is_a_page_too(page: Page, opened: Callable[..., Opened]) -> None:
    from haulage.watch.snapshot import snapshot

    shown = json.loads(json.dumps(snapshot(State(), 5, source="log")))
    page.draw(shown, last=False)
    one = opened()
    wait_for(one, shown)
    assert text_of(one, "#about") == "nothing to show yet; waiting"
