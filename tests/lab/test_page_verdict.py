"""What stands with the verdict in the page: shares, phases, the experiments, the ceiling, the cards."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from haulage.causes.evidence import Phase
from haulage.causes.rules import decide
from haulage.causes.sentences import lines
from haulage.causes.verdict import Verdict
from haulage.causes.vocabulary import ADVICE, cause_words
from haulage.lab.analysis import Analysis, analyse
from haulage.lab.analysis.ledger import CATEGORIES
from haulage.lab.analysis.model import Finding
from haulage.lab.finish import finish
from haulage.lab.report.page import write
from haulage.lab.report.palette import LEDGER, LIGHT, steps
from haulage.lab.runs import load
from haulage.lab.target import parse_target
from haulage.lab.why import drawing
from lab.browsers import Opened
from lab.reports import make_run
from lab.test_verdict import MOVING, evidence, gains

pytestmark = pytest.mark.usefixtures("without_charts")

PHASES = (Phase(0.0, 0.4, 3e8), Phase(0.4, 1.0, 1e8))
MIXED = decide(evidence(MOVING, took_ns=11e6), gains(connections=2.0, blocks=1.476))
CHANGED = decide(evidence(MOVING, phases=PHASES), gains())


def trial(name: str, replicate: int, **values: Any) -> dict[str, Any]:
    plain = {
        "name": name,
        "replicate": replicate,
        "factor": 4.0,
        "rate_bits_per_second": 1e8,
        "requests": 12,
        "refused_share": 0.0,
        "answer_ns": None,
        "write_ns": None,
        "cpu_idle_share": 0.8,
        "cores_used": 0.25,
        "outcome": "ok",
    }
    return plain | values


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_run(tmp_path_factory.mktemp("verdict") / "run", sizes=[2**20], attempts=200)
    manifest = json.loads((folder / "manifest.json").read_text())
    bounds = {"up_low_bits_per_second": 3.93e8, "up_high_bits_per_second": 4.06e8, "level": 0.95}
    manifest["ceiling"] |= bounds | {"down_bound_by_machine": True}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    trials = [trial(name, number) for number in range(5) for name in ("base", "connections")]
    slow = trial("requests", 0, rate_bits_per_second=0.0, answer_ns=5e6, write_ns=205e6)
    (folder / "confirmations.json").write_text(json.dumps({"trials": [*trials, slow]}))
    return folder


@pytest.fixture(scope="module")
def analysis(run: Path) -> Analysis:
    return analyse(run)


def page_of(run: Path, analysis: Analysis, **changes: Any) -> str:
    return write(run, replace(analysis, **changes)).read_text(encoding="utf-8")


def words(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def test_shares_of_a_mixed_cause_are_bars_with_intervals(run: Path, analysis: Analysis) -> None:
    """A verdict of 57 % and 43 % was shown as the one word "mixed"."""
    text = page_of(run, analysis, verdict=MIXED)
    bars = re.findall(
        r'class="middle" style="width: ([\d.]+)%.*?class="bounds" style="left: ([\d.]+)%; width: ([\d.]+)%"',
        text,
    )
    shown = [tuple(map(float, bar)) for bar in bars]
    expected = sorted(MIXED.shares.values(), reverse=True)
    assert [bar[0] for bar in shown] == [pytest.approx(100 * middle, abs=0.01) for middle, _, _ in expected]
    for (_, left, width), (_, low, high) in zip(shown, expected, strict=True):
        assert left == pytest.approx(100 * low, abs=0.01)
        assert left + width == pytest.approx(100 * high, abs=0.02)
    assert "a bound on each connection 57% (54% to 61%)" in words(text)
    assert "round trips 43% (39% to 46%)" in words(text)
    assert "<strong>More than one cause</strong>" in text


def test_phases_of_a_changed_path_are_a_table(run: Path, analysis: Analysis) -> None:
    """Rate and cause of each phase were computed and shown nowhere."""
    plain = words(page_of(run, analysis, verdict=CHANGED))
    assert "0% 40% 300 Mbit/s no cause was determined" in plain
    assert "40% 100% 100 Mbit/s the total rate of the path, confirmed Nothing on this side helps" in plain
    assert '<div class="strip"' not in page_of(run, analysis)


def test_causes_are_called_by_their_words_not_by_their_codes(run: Path, analysis: Analysis) -> None:
    shown = {
        code: replace(MIXED, cause=code, shares={}, evidence=[], threshold="", advice="") for code in ADVICE
    }
    others = [replace(one, subject=f"case {number}") for number, one in enumerate(shown.values())]
    for code in ("connection-rate", "total-rate", "changed", "undetermined"):
        verdict = replace(MIXED, cause=code, shares={}, evidence=[], threshold="", advice="")
        page = page_of(run, replace(analysis, verdicts=others), verdict=verdict)
        told = page[page.index('<section id="verdict"') :]
        told = html.unescape(words(told[: told.index("</section>")]))
        begins = cause_words(code)
        assert f"{begins[:1].upper()}{begins[1:]} {verdict.status}" in told
        for number, other in enumerate(shown):
            assert f"case {number} {cause_words(other)} {verdict.status}" in told
        assert "connection-rate" not in told
        assert "total-rate" not in told


@pytest.mark.parametrize("width", [400, pytest.param(1400, marks=pytest.mark.long)])
@pytest.mark.parametrize("verdict", [MIXED, CHANGED], ids=lambda verdict: verdict.cause)
def test_bars_and_phases_fit_on_any_screen(
    browser: Browser, run: Path, analysis: Analysis, verdict: Verdict, width: int
) -> None:
    page_of(run, analysis, verdict=verdict)
    opened = Opened(browser, run / "report.html", java_script_enabled=False)
    opened.page.set_viewport_size({"width": width, "height": 900})
    box = opened.page.locator("div.verdict").bounding_box()
    parts = opened.page.query_selector_all(".share .name, .share .words, .share .track, .strip span")
    assert box is not None
    assert len(parts) == (6 if verdict is MIXED else 2)
    for part in parts:
        inside = part.bounding_box()
        assert inside is not None
        assert inside["width"] > 40
        assert box["x"] <= inside["x"] <= inside["x"] + inside["width"] <= box["x"] + box["width"]
    assert opened.said == []
    opened.context.close()


def test_a_terminal_is_told_shares_and_phases(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("haulage.lab.confirming.confirm", lambda *_, **__: MIXED)
    finish(
        load(run),
        parse_target("emulated:none"),
        confirm=True,
        report=False,
        profile_name=None,
        say=said.append,
    )
    assert "trial: more than one cause, confirmed" in said
    assert (
        "  Of a request's time: 57% a bound on each connection (54% to 61%), 43% round trips (39% to 46%);"
        " intervals at 99%." in said
    )
    assert lines(CHANGED) == [
        "trial: a path that changed during the transfer, seen",
        "  0% to 40% of the time: 300 Mbit/s, no cause was determined.",
        "  40% to 100% of the time: 100 Mbit/s, the total rate of the path, confirmed.",
    ]


def test_the_transfers_of_the_experiments_are_rows(run: Path, analysis: Analysis) -> None:
    """They were kept in a file that the page did not name."""
    text = page_of(run, analysis)
    plain = words(text)
    assert "The transfers of the experiments (11)" in plain
    assert "Twice the connections 4 100 Mbit/s 12 0.0% 80% 0.25 ok" in plain
    assert "Single small requests 0 12 0.0% 5 ms 205 ms 80% 0.25 ok" in plain
    assert 'and <a href="confirmations.json">confirmations.json</a>' in text


def test_the_ceiling_is_stated_with_its_interval(run: Path, analysis: Analysis) -> None:
    """The page said "400 Mbit/s", as if that were known exactly."""
    plain = words(page_of(run, analysis))
    assert "Ceiling up 400 Mbit/s (393 to 406 Mbit/s, 95 % interval)" in plain
    assert "Ceiling down 400 Mbit/s, processors busy" in plain


def test_seventy_cards_do_not_stand_before_the_first_chart(run: Path, analysis: Analysis) -> None:
    cards = [
        Finding(f"Blocks {number}", "They win.", 2.0, "times", None, None, 4, 0.95, "comparisons")
        for number in range(70)
    ]
    text = page_of(run, analysis, findings=cards)
    at_once, later = text.split("All other findings (58)")
    assert at_once.count("<h3>Blocks ") == 12
    assert later.count("<h3>Blocks ") == 58


def test_the_ledger_has_one_table_of_colours() -> None:
    """A slot without work was grey in one page and pale in the other, and two categories shared orange."""
    assert tuple(LEDGER) == CATEGORIES
    assert len({LIGHT[name] for name in LEDGER.values()}) == len(CATEGORIES)
    assert not hasattr(drawing, "_COLOUR")


def test_no_steps_take_no_colour() -> None:
    """The first of the other treatments got the colour of a block size where there was none."""
    assert steps(0) == []
    assert len(steps(1)) == 1
