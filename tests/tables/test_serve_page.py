"""The page in a browser, and pages of other origins."""

from __future__ import annotations

import csv
import http.server
import io
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from playwright.sync_api import Browser

from browsing import Opened, check_source
from haulage.errors import NotFoundError
from tables.serving import FORMULA, HOSTILE, ROWS, FakeTable, Proxy, breaking, serving, source, stations

PAGE = Path(__file__).resolve().parents[2] / "python/haulage/tables/serve/page"


@pytest.fixture(scope="module")
def table() -> FakeTable:
    return FakeTable(stations())


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Opened]]:
    all_: list[Opened] = []

    def open_(url: str, **settings: Any) -> Opened:
        all_.append(Opened(browser, url, **settings))
        return all_[-1]

    yield open_
    for one in all_:
        one.context.close()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """Another origin: a server of its own with an empty page."""
    (tmp_path / "index.html").write_text(
        '<!doctype html><title>elsewhere</title><link rel="icon" href="data:,"><p>rows</p>'
    )

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(tmp_path))

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def state(one: Opened, wanted: str) -> str:
    one.page.wait_for_function("wanted => document.body.dataset.state === wanted", arg=wanted, timeout=20_000)
    return one.page.inner_text("#state")


def until(one: Opened, expression: str) -> None:
    # A function, since a bare expression would be evaluated as text, which the page's policy forbids.
    one.page.wait_for_function(f"() => {expression}", timeout=20_000)


#: A page of others that knows nothing of ours but its headers.
PAGER = """
async ([proxy, query]) => {
  const rows = [], sorted = [];
  let more = {}, pages = 0;
  do {
    const url = `${proxy}tables/Stations/rows?${new URLSearchParams({ ...query, ...more })}`;
    const headers = { Authorization: 'Bearer sesame', Accept: 'application/json' };
    const answer = await fetch(url, { headers });
    if (!answer.ok) throw new Error(JSON.stringify(await answer.json()));
    rows.push(...(await answer.json()).value);
    sorted.push(answer.headers.get('Haul-Sorted'));
    pages += 1;
    more = {};
    for (const key of ['NextPartitionKey', 'NextRowKey']) {
      const value = answer.headers.get(`x-ms-continuation-${key}`);
      if (value !== null) more[key] = value;
    }
    if (Boolean(answer.headers.get('Link')) !== Object.keys(more).length > 0) throw new Error('no Link');
  } while (Object.keys(more).length);
  return { keys: rows.map((row) => row.RowKey), elevations: rows.map((row) => row.elevation), pages, sorted };
}
"""


def test_a_page_of_another_origin_pages_filters_and_sorts(
    opened: Callable[..., Opened], elsewhere: str, table: FakeTable
) -> None:
    with serving(source(table), token="sesame", origins=[elsewhere]) as proxy:
        one = opened(elsewhere)
        found = one.page.evaluate(PAGER, [proxy.url, {}])
        assert found["keys"] == [f"{n:06}" for n in range(ROWS)]
        assert found["pages"] == 9
        query = {"$filter": "elevation ge 1500", "$orderby": "elevation desc,RowKey"}
        found = one.page.evaluate(PAGER, [proxy.url, query])
        matching = [n for n in range(ROWS) if n % 9 and n * 37 % 3000 >= 1500]
        assert len(found["keys"]) == len(matching) > 3000
        assert found["elevations"] == sorted(found["elevations"], reverse=True)
        assert found["sorted"][0] == f"{len(matching):,} rows gathered, then sorted"
        assert one.said == []


def test_origins_that_are_not_allowed_read_nothing(
    opened: Callable[..., Opened], elsewhere: str, table: FakeTable
) -> None:
    with serving(source(table)) as proxy:
        one = opened(elsewhere)
        failure = (
            "async (url) => { try { await fetch(url); return 'read'; } catch (e) { return e.message; } }"
        )
        assert one.page.evaluate(failure, f"{proxy.url}tables/Stations/rows") == "Failed to fetch"


STREAMED = """
async (url) => {
  const began = performance.now(), answer = await fetch(url), reader = answer.body.getReader();
  const text = new TextDecoder();
  let first = null, rest = '', rows = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + text.decode(value, { stream: true })).split('\\n');
    rest = lines.pop();
    rows += lines.length;
    if (first === null && lines.length) { first = performance.now() - began; window.first = rows; }
  }
  return { first, last: performance.now() - began, rows };
}
"""


def test_streamed_rows_are_there_before_the_last_are_read(
    opened: Callable[..., Opened], elsewhere: str, table: FakeTable
) -> None:
    held = threading.Event()
    slow = FakeTable(table.rows, before=lambda number: number < 5 or held.wait(20))
    with serving(source(slow), origins=["*"]) as proxy:
        one = opened(elsewhere)
        url = f"{proxy.url}tables/Stations/all?format=ndjson"
        one.page.evaluate(f"void ({STREAMED})('{url}').then(told => window.told = told)")
        # Rows are on the page while the store is still held up before its fifth page.
        until(one, "window.first > 0")
        assert slow.pages <= 5
        assert not held.is_set()
        held.set()
        until(one, "window.told")
        told = one.page.evaluate("window.told")
        assert told["rows"] == ROWS
        assert told["first"] < told["last"]
        print(f"first rows after {told['first']:.0f} ms, last after {told['last']:.0f} ms")


def test_the_page_shows_rows_times_a_chart_and_a_map(opened: Callable[..., Opened], table: FakeTable) -> None:
    with serving(source(table)) as proxy:
        one = opened(proxy.url)
        assert state(one, "done") == "Page 1: 100 rows; there are more."
        assert one.page.locator("#rows tbody tr").count() == 100
        assert HOSTILE in one.page.inner_text("#rows tbody")
        assert one.page.evaluate("document.title") == "haul table serve"
        assert one.page.locator("img").count() == 0
        assert one.page.locator("#plot canvas").is_visible()
        assert "100 points by lat and lon" in one.page.inner_text("#mapped")
        one.page.fill("#filter", "elevation gt 2900")
        one.page.click("#show")
        until(one, "document.querySelectorAll('#requests tbody tr').length === 2")
        one.page.click("th button:text-is('elevation')")
        until(one, "document.querySelectorAll('#requests tbody tr').length === 3")
        assert "rows gathered, then sorted" in one.page.inner_text("#state")
        numbers = "all => all.map(e => Number(e.textContent))"
        shown = one.page.eval_on_selector_all("#rows tbody td:nth-child(6)", numbers)
        assert shown == sorted(shown)
        assert one.page.get_attribute("th[aria-sort='ascending']", "scope") == "col"
        one.page.click("#after")
        until(one, "document.querySelectorAll('#requests tbody tr').length === 4")
        assert one.page.inner_text("#state").startswith("Page 2: 100 rows")
        heads = one.page.inner_text("#requests thead").split("\t")
        for name in ("Payload", "Store → proxy", "Proxy → browser", "Sum"):
            assert name in heads
        line = one.page.inner_text("#requests tbody tr:last-child").split("\t")
        assert dict(zip(heads, line, strict=True))["Rows"] == "100"
        assert "4 in total" in one.page.inner_text("#requests tfoot")
        one.page.check("#rows tbody tr:nth-child(2) input")
        one.page.check("#rows tbody tr:nth-child(5) input")
        assert one.page.inner_text("#charted") == "2 points, from the selected rows"
        assert one.said == []
        assert [url for url in one.asked if not url.startswith(proxy.url)] == []


#: The most points of one row of the map that are neither empty nor its grid, as a share of its width.
DENSEST = """
() => {
  const canvas = document.getElementById('world'), pen = canvas.getContext('2d');
  const muted = getComputedStyle(document.documentElement).getPropertyValue('--muted').trim();
  const probe = document.createElement('canvas').getContext('2d');
  probe.fillStyle = muted;
  probe.fillRect(0, 0, 1, 1);
  const wanted = probe.getImageData(0, 0, 1, 1).data;
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  let most = 0;
  for (let y = 0; y < canvas.height; y += 1) {
    let found = 0;
    for (let x = 0; x < canvas.width; x += 1) {
      const at = 4 * (y * canvas.width + x);
      if (data[at + 3] > 90 && [0, 1, 2].every((n) => Math.abs(data[at + n] - wanted[n]) < 40)) found += 1;
    }
    most = Math.max(most, found);
  }
  return most / canvas.width;
}
"""


def test_a_map_of_the_world_has_no_coast_across_it(opened: Callable[..., Opened]) -> None:
    places = {"lat": [-80.0, 80.0, 0.0], "lon": [-170.0, 170.0, 0.0], "v": [1, 2, 3]}
    rows = pa.RecordBatch.from_pydict({"PartitionKey": ["p"] * 3, "RowKey": ["a", "b", "c"], **places})
    with serving(source(FakeTable(rows))) as proxy:
        one = opened(proxy.url, viewport={"width": 1280, "height": 900})
        state(one, "done")
        assert one.page.evaluate(DENSEST) < 0.5


#: Where each label of the lowest line of the map begins and ends.
LABELS = """
async () => {
  const found = [], own = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    if (this.canvas.id === 'world') found.push([y, x, x + this.measureText(text).width]);
    return own.call(this, text, x, y);
  };
  dispatchEvent(new Event('resize'));
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  const lowest = Math.max(...found.map(([y]) => y));
  return found.filter(([y]) => y === lowest).map(([, start, end]) => [start, end]);
}
"""


@pytest.mark.parametrize("lon", [[-170.0, 170.0], [-140.0, -104.0]])
def test_the_degrees_of_a_map_have_room(opened: Callable[..., Opened], lon: list[float]) -> None:
    rows = pa.RecordBatch.from_pydict(
        {"PartitionKey": ["p"] * 2, "RowKey": ["a", "b"], "lat": [-8.0, 8.0], "lon": lon}
    )
    with serving(source(FakeTable(rows))) as proxy:
        one = opened(proxy.url, viewport={"width": 1280, "height": 900})
        state(one, "done")
        for width in (1280, 400, 320):
            one.page.set_viewport_size({"width": width, "height": 900})
            labels = one.page.evaluate(LABELS)
            assert len(labels) > 2
            assert all(end + 8 < start for (_, end), (start, _) in itertools.pairwise(labels)), width


def test_all_rows_stream_into_the_page_and_what_is_seen_is_downloaded(
    opened: Callable[..., Opened], table: FakeTable, tmp_path: Path
) -> None:
    with serving(source(table)) as proxy:
        one = opened(proxy.url, accept_downloads=True)
        state(one, "done")
        one.page.click("#all")
        until(one, "document.body.innerText.includes('All 8,100 rows')")
        assert "7,100 more" in one.page.inner_text("#rows .beyond")
        assert "8,100 points" in one.page.inner_text("#mapped")
        found = {}
        for kind in ("csv", "ndjson"):
            with one.page.expect_download() as downloading:
                one.page.click(f"#{kind}")
            downloading.value.save_as(tmp_path / f"rows.{kind}")
            found[kind] = (tmp_path / f"rows.{kind}").read_text()
        lines = [json.loads(line) for line in found["ndjson"].splitlines()]
        assert [line["RowKey"] for line in lines] == [f"{n:06}" for n in range(ROWS)]
        rows = list(csv.DictReader(io.StringIO(found["csv"], newline="")))
        assert len(rows) == ROWS
        assert rows[4]["station"] == "'" + FORMULA
        assert one.said == []


def test_a_phone_does_not_scroll_sideways(opened: Callable[..., Opened], table: FakeTable) -> None:
    with serving(source(table)) as proxy:
        one = opened(proxy.url, viewport={"width": 360, "height": 740}, color_scheme="light")
        state(one, "done")
        for paper in ("rgb(254, 254, 254)", "rgb(23, 29, 36)"):
            assert one.page.evaluate("document.documentElement.scrollWidth") <= 360
            assert one.page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
            one.page.emulate_media(color_scheme="dark")


def test_the_keyboard_reaches_everything(opened: Callable[..., Opened], table: FakeTable) -> None:
    with serving(source(table)) as proxy:
        one = opened(proxy.url)
        state(one, "done")
        one.page.keyboard.press("Tab")
        assert one.page.evaluate("document.activeElement.className") == "skip"
        reached = []
        for _ in range(9):
            one.page.keyboard.press("Tab")
            reached.append(one.page.evaluate("document.activeElement.id"))
        assert reached[:7] == ["table", "filter", "select", "top", "format", "show", "all"]
        one.page.focus("#filter")
        one.page.keyboard.type("RowKey eq '000003'")
        one.page.keyboard.press("Enter")
        until(one, "document.querySelectorAll('#rows tbody tr').length === 1")
        unnamed = "all => all.filter(e => !e.labels?.length && !e.getAttribute('aria-label')).length"
        assert one.page.eval_on_selector_all("input, select", unnamed) == 0


def test_a_wrong_token_is_said_and_another_can_be_given(
    opened: Callable[..., Opened], table: FakeTable
) -> None:
    with serving(source(table), token="sesame") as proxy:
        one = opened(f"{proxy.url}#token=wrong")
        state(one, "failed")
        assert "the token is wrong" in one.page.inner_text("#notice")
        one.page.fill("#token", "sesame")
        one.page.keyboard.press("Enter")
        state(one, "done")
        assert one.page.is_hidden("#notice")
        assert one.page.is_hidden("#pass")
        assert not [url for url in one.asked if "sesame" in url]
        for mark in "#?":
            good = opened(f"{proxy.url}{mark}token=sesame")
            assert state(good, "done").startswith("Page 1: 100 rows")
            assert good.page.url == f"{proxy.url}#token=sesame"


def test_a_table_that_is_gone_is_said(opened: Callable[..., Opened], table: FakeTable) -> None:
    gone = NotFoundError("read", "Stations", "404 TableNotFound", "list the tables that are there")
    with serving(source(FakeTable(table.rows, before=breaking(2, gone)))) as proxy:
        one = opened(proxy.url)
        state(one, "done")
        one.page.click("#show")
        assert "Incomplete: received only" in state(one, "failed")
        notice = "read Stations: 404 TableNotFound (list the tables that are there)"
        assert one.page.inner_text("#notice") == notice


def test_a_store_that_fails_midway_is_said(opened: Callable[..., Opened], table: FakeTable) -> None:
    with serving(source(FakeTable(table.rows, before=breaking(4)))) as proxy:
        one = opened(proxy.url)
        state(one, "done")
        one.page.click("#all")
        # What came last before the cut, the browser may drop.
        assert re.fullmatch(
            r"Incomplete: received only [\d,]+ rows\.|No rows received\.", state(one, "failed")
        )
        assert one.page.inner_text("#notice") == "read Stations: 503 ServerBusy (try again later)"


def test_a_proxy_that_stops_midway_is_said(opened: Callable[..., Opened], table: FakeTable) -> None:
    go = threading.Event()
    held = FakeTable(table.rows, before=lambda number: number < 5 or go.wait(20))
    with serving(source(held)) as proxy:
        one = opened(proxy.url)
        state(one, "done")
        one.page.click("#all")
        state(one, "streaming")
        stop(proxy)
        assert "Incomplete: received only" in state(one, "failed")
        assert "The connection broke after" in one.page.inner_text("#notice")
        go.set()
        one.page.click("#show")
        until(one, "document.body.innerText.includes('does not respond')")


def stop(proxy: Proxy) -> None:
    proxy.server.stop()


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    for file in PAGE.iterdir():
        check_source(file)
