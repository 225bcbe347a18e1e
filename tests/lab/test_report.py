"""What stands in report.html, without a browser."""

from __future__ import annotations

import base64
import gzip
import importlib
import io
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from haulage.errors import NotFoundError
from haulage.lab.analysis import Analysis, analyse
from haulage.lab.analysis.model import Finding
from haulage.lab.report.charts import NotShownError, dressed
from haulage.lab.report.page import SECTIONS, write
from haulage.lab.report.palette import LIGHT, PHASES
from haulage.lab.report.rows import table
from lab import synthetic
from lab.reports import copied, make_report, make_run


class Page(HTMLParser):
    """Collects the elements of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.scripts: dict[str, str] = {}
        self._script: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.elements.append((tag, values))
        if "id" in values:
            self.ids.append(str(values["id"]))
        if tag == "script":
            self._script = str(values.get("id") or len(self.scripts))

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data

    def named(self, tag: str, kind: str) -> list[dict[str, str | None]]:
        return [values for name, values in self.elements if name == tag and kind in str(values.get("class"))]


@pytest.fixture(scope="module")
def run(reported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of all, where tests of this module may write."""
    return copied(reported, tmp_path_factory.mktemp("report") / "run")


@pytest.fixture(scope="module")
def analysis(run: Path) -> Analysis:
    return analyse(run)


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Draw no other charts."""
    page = importlib.import_module("haulage.lab.report.page")
    monkeypatch.setattr(page, "SECTIONS", [section for section in SECTIONS if section.name in names])


@pytest.fixture(scope="module")
def text(run: Path) -> str:
    return (run / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_charts_come_in_order_each_with_four_panels(page: Page) -> None:
    sections = [str(values["id"]) for values in page.named("section", "chart")]
    shown = [name for name in sections if not name.startswith("query-")]
    order = [section.name for section in SECTIONS]
    order.insert(order.index("ledger") + 1, "lanes")
    assert shown == [name for name in order if name in shown]
    assert {"ledger", "lanes", "heat", "rates", "sweep", "scaling", "order", "paired", "errors"} <= set(shown)
    for name in shown:
        assert {f"{name}-chart", f"{name}-query", f"{name}-rows", f"{name}-method"} <= set(page.ids)


def test_ids_are_there_once(page: Page) -> None:
    assert sorted(page.ids) == sorted(set(page.ids))


def test_nothing_is_fetched(page: Page, text: str) -> None:
    for tag, values in page.elements:
        assert tag not in ("link", "iframe", "img", "object", "base")
        assert "src" not in values
        assert not re.match(r"\s*(https?:)?//", str(values.get("href") or ""))
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert styles
    assert not any("url(" in style or "@import" in style for style in styles)
    assert "default-src 'none'" in text


def test_vega_is_in_it_once(text: str) -> None:
    assert len(re.findall(r"window\.vegaEmbed ?=[^=]", text)) == 1
    assert 0.8e6 < len(text) < 6e6


def test_every_chart_has_a_picture_that_follows_the_colours(page: Page, text: str) -> None:
    pictures = re.findall(r'<div class="picture"[^>]*>(<svg.*?</svg>)', text, re.DOTALL)
    assert len(pictures) == len([name for name in page.ids if name.endswith("-chart")])
    for picture in pictures:
        assert "var(--ink)" in picture
        assert not any(colour in picture for colour in LIGHT.values())


def test_names_from_the_data_stay_text(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "<script>document" not in text
    assert "&lt;script&gt;document" in text
    hostile = tmp_path / "hostile"
    only(monkeypatch, "ledger", "errors")
    evil = synthetic.Treatment("</script><img src=x onerror=alert(1)>", "baseline", 1, None)
    others = [item for item in synthetic.TREATMENTS if item.name in ("baseline", "adaptive")]
    make_run(hostile, treatments=[evil, *others], sizes=[2**20], attempts=200, replicates=3)
    manifest = json.loads((hostile / "manifest.json").read_text())
    (hostile / "manifest.json").write_text(json.dumps(manifest | {"target": "<b onclick=x>", "plan": "<i>"}))
    write(hostile)
    page = Page((hostile / "report.html").read_text(encoding="utf-8"))
    tags = {tag for tag, _ in page.elements}
    assert not {"img", "b"} & tags
    assert not any(name.startswith("on") for _, values in page.elements for name in values)


def test_queries_rows_and_hashes_stand_beside_the_chart(text: str, run: Path) -> None:
    index = json.loads((run / "results/index.json").read_text())
    assert index
    for entry in index:
        assert entry["sql_sha256"] in text
        assert entry["rows_sha256"] in text
        for digest in entry["inputs"].values():
            assert digest in text


def test_rows_can_be_taken_away_as_csv(page: Page, analysis: Analysis) -> None:
    links = {
        values["download"]: str(values["href"])
        for tag, values in page.elements
        if values.get("download") and tag == "a"
    }
    data = links["comparisons.csv"].split("base64,")[1]
    frame = pd.read_csv(io.BytesIO(base64.b64decode(data)))
    expected = analysis.results["comparisons"].frame
    assert len(frame) == len(expected) > 0
    assert np.allclose(frame["times_as_fast"], expected["times_as_fast"].astype(float), equal_nan=True)


def test_only_the_first_rows_are_shown_and_the_total_is_said(analysis: Analysis, text: str) -> None:
    result = analysis.results["rate_over_time"]
    shown = table(result)
    assert len(shown.rows) == 40 < shown.total == len(result.frame)
    assert f"The first 40 of {len(result.frame):,} rows" in text


@pytest.mark.usefixtures("without_charts")
def test_cards_say_unit_interval_n_and_query(run: Path, analysis: Analysis) -> None:
    cards = [
        Finding(
            "Rate",
            "Adaptive is 82% to 90.5% quicker, loss=1%.",
            2.5e8,
            "bit/s",
            2.2e8,
            2.7e8,
            6,
            0.969,
            "rates",
        ),
        Finding("Tail", "p99: n too small.", None, "ns", None, None, 42, 0.95, "percentiles"),
        Finding("Blocks", "No use.", None, "bytes", None, None, 6, 0.95, "run_order", "no gain"),
        Finding("Steps", "There is no step.", None, "steps", None, None, 158, 0.95, "run_order"),
    ]
    known = Analysis(run, analysis.results, analysis.verdict, cards, [])
    text = write(run, known).read_text(encoding="utf-8")
    found = re.search(r'<ul class="cards">(.*?)</ul>', text, re.DOTALL)
    assert found is not None
    words = re.sub(r"<[^>]+>|\s+", " ", found[1])
    plain = re.sub(r" +", " ", words)
    assert "Rate 250 Mbit/s 220 to 270 Mbit/s, 97 % interval" in plain
    assert "Adaptive is 82 % to 90.5 % quicker, loss=1%. n = 6 · query rates" in plain
    assert "Tail n too small p99: n too small. n = 42 · query percentiles" in plain
    assert "Blocks no gain No use. n = 6" in plain
    assert "Steps not determined There is no step. n = 158" in plain


def test_what_does_not_apply_is_left_out_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "sweep", "scaling")
    plain = [item for item in synthetic.TREATMENTS if item.name.startswith("baseline")]
    make_report(tmp_path / "run", treatments=plain, sizes=[2**20], attempts=200)
    page_text = (tmp_path / "run/report.html").read_text(encoding="utf-8")
    assert 'id="sweep"' not in page_text
    missing = re.search(r'<section id="missing".*?</section>', page_text, re.DOTALL)
    assert missing is not None
    assert "<strong>Block size</strong>: no treatment moved files in blocks beside a baseline." in missing[0]
    assert "<strong>Requests in flight</strong>: no treatment" in missing[0]


@pytest.mark.usefixtures("without_charts")
def test_a_stopped_run_says_so(reported: Path, analysis: Analysis, tmp_path: Path) -> None:
    run = copied(reported, tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text())
    changed = {"state": "stopped", "stopped_because": "time", "cells_done": 5}
    (run / "manifest.json").write_text(json.dumps(manifest | changed))
    assert "This run is stopped because of: time. It has 5 of" in write(run, analysis).read_text(
        encoding="utf-8"
    )


def test_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"manifest\.json"):
        write(tmp_path)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_charts_fit_the_schema(section: Any, analysis: Analysis) -> None:
    if not set(section.needs) <= analysis.results.keys():
        assert section.applies, "a chart that can be missing must say when"
        return
    try:
        chart = section.draw(analysis.results)
    except NotShownError:
        return  # the page says why, which another test reads
    assert dressed(chart).to_dict(validate=True)["config"]["background"] == LIGHT["paper"]


def test_lanes_hold_every_attempt_and_its_phases(page: Page, analysis: Analysis) -> None:
    given = json.loads(page.scripts["lanes-data"])
    plain = np.frombuffer(gzip.decompress(base64.b64decode(given["data"])), np.uint8)
    rows, names = given["rows"], given["columns"]
    planes = plain.reshape(len(names), 4, rows).transpose(0, 2, 1)
    columns = {name: np.ascontiguousarray(planes[at]).view("<i4").ravel() for at, name in enumerate(names)}
    frame = analysis.results["lanes_of_run"].frame
    assert columns["attempts"].sum() == frame["attempts"].sum() == len(analysis.results["lanes_of_run"].frame)
    quantum = given["quantum_ns"]
    for phase in PHASES:
        assert columns[phase].sum() * quantum == pytest.approx(frame[f"{phase}_ns"].sum(), rel=0.01)
    began = np.cumsum(columns["began"], dtype=np.int64)
    assert began.max() * quantum == pytest.approx(frame["began_ns"].max(), abs=quantum)
    assert {cell[0] for cell in given["cells"]} == set(frame["cell"])


def test_the_page_is_the_same_each_time(run: Path, analysis: Analysis, text: str) -> None:
    assert write(run, analysis).read_text(encoding="utf-8") == text


MEASURED = """
import json, resource, sys
from pathlib import Path
from haulage.lab.report.page import write
write(Path(sys.argv[1]))
used = resource.getrusage(resource.RUSAGE_SELF)
# Not ru_maxrss: it counts what the test's own process held when it made this one.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(json.dumps({"bytes": int(peak.split()[1]) * 1024, "processor_s": used.ru_utime + used.ru_stime}))
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_million_attempts_take_less_than_a_gibibyte_and_a_minute(tmp_path: Path) -> None:
    run = synthetic.write(tmp_path / "run", attempts=1_000_000)
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, str(run)], capture_output=True, text=True, check=True
    )
    used = json.loads(ran.stdout)
    assert used["bytes"] < 2**30
    # Of the processor, not of the clock on the wall: nothing here waits, but others may run beside it.
    assert used["processor_s"] < 60
    assert (run / "report.html").stat().st_size < 12 * 2**20
