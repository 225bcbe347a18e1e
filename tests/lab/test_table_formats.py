"""The plan table-formats: rows of a table by form, answer and way, as E8 asked for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from haulage import lab
from haulage.errors import IntegrityError, ServiceError, UsageError
from haulage.lab import planfile, served_table
from haulage.lab.analysis import analyse
from haulage.lab.arms.table_rows import rows_in
from haulage.lab.report.page import write
from haulage.lab.schedule import schedule
from haulage.lab.served_table import ServedTable
from haulage.lab.target import Endpoint
from lab import made_runs
from lab.made_runs import SECOND, cell
from sentences import Sentence

ROWS: dict[str, Any] = {
    "name": "table-formats",
    "directions": ["down"],
    "again": "",
    "warm_up": 0,
    "idle": "1ms",
    "ceiling": {"measure": False},
    "arms": [{"method": "table-rows"}],
    "files": [{"kind": "rows", "count": 2_100}],
}


def test_the_plan_has_every_form_answer_and_way_that_there_is() -> None:
    plan = planfile.load("table-formats")
    arms = {(arm.format, arm.gathered, arm.way) for arm in plan.arms}
    forms = ("atom", "json-full", "json-minimal", "json-none", "arrow")
    proxy = {(form, gathered, "proxy") for form in forms for gathered in (False, True)}
    # A store gives pages, and no Arrow; both at once are an export.
    assert arms == proxy | {(form, False, "direct") for form in forms[:4]} | {("arrow", True, "direct")}
    assert (plan.files[0].count, plan.replicates) == (8_100, 20)
    assert [node.name for node in plan.nodes] == ["0 ms", "20 ms", "60 ms"]
    assert len([one for one in schedule(plan) if not one.warm_up]) == 20 * 3 * (15 + 1)


@pytest.mark.parametrize(
    "change",
    [
        {"arms": [{"method": "table-rows", "format": "xml"}]},
        {"arms": [{"method": "table-rows", "gathered": 1}]},
        {"arms": [{"method": "table-rows", "format": "arrow", "gathered": False, "way": "direct"}]},
        {"directions": ["up"]},
        {"ceiling": {"measure": True}},
        {"target": "packets:rtt=5ms"},
        {"files": [{"size": "1MB"}]},
    ],
)
def test_a_plan_of_rows_that_makes_no_sense_is_refused(change: dict[str, Any], sentence: Sentence) -> None:
    with pytest.raises(UsageError) as caught:
        planfile.parse(ROWS | change)
    sentence(caught.value)


@pytest.mark.long
def test_every_way_brings_all_rows_and_the_report_says_what_they_cost(tmp_path: Path) -> None:
    nodes = [{"name": "near"}, {"name": "far", "link": "rtt=20ms,total=200mbit"}]
    plan = planfile.parse(ROWS | {"replicates": 1, "nodes": nodes})
    run = lab.run(plan, directory=tmp_path / "run", confirm=False, report=False)
    cells = run.cells.set_index("treatment")
    assert set(cells["outcome"]) == {"ok"}
    assert len(cells) == 2 * 15
    for node in ("near", "far"):
        payload = {name.removesuffix(f" @{node}"): size for name, size in cells["wire_bytes"].items()}
        assert payload["atom, paged, direct"] > 2 * payload["json-minimal, paged, direct"]
        assert payload["json-full, paged, direct"] > payload["json-minimal, paged, direct"]
        assert payload["json-minimal, paged, direct"] > payload["json-none, paged, direct"]
        assert payload["json-none, paged, proxy"] > 2 * payload["arrow, gathered, proxy"]
    requests = cells["requests"]
    assert requests["atom, paged, direct @near"] == requests["arrow, paged, proxy @far"] == 3
    assert requests["json-none, gathered, proxy @far"] == 1
    # A round trip to connect, and one for each page.
    assert cells["wall_ns"]["json-none, paged, direct @far"] >= 4 * 20e6
    found = analyse(tmp_path / "run")
    times = found.results["format_times"].frame
    assert len(times) == 2 * 15
    assert list(dict.fromkeys(times["node"])) == ["near", "far"]
    page = write(tmp_path / "run")
    assert "Rows of a table" in Path(page).read_text(encoding="utf-8")


def test_the_ratios_are_those_of_pairs_and_say_whether_it_is_as_in_2009(tmp_path: Path) -> None:
    wall = {"atom": 1.0, "json-minimal": 0.5}
    factor = {("paged", "direct"): 1.0, ("paged", "proxy"): 1.02, ("gathered", "proxy"): 1.3}
    cells: list[dict[str, Any]] = []
    for replicate in range(8):
        for form, seconds in wall.items():
            for (answers, way), times in factor.items():
                factors = {
                    "node": "here",
                    "format": form,
                    "gathered": answers == "gathered",
                    "way": way,
                    "again": False,
                }
                cells.append(
                    cell(
                        len(cells),
                        replicate=replicate,
                        method="table-rows",
                        direction="down",
                        treatment=f"{form}, {answers}, {way}",
                        size_bytes=None,
                        wall_ns=int(seconds * times * (1 + 0.001 * replicate) * SECOND),
                        wire_bytes=int(seconds * 1_000_000),
                        requests=9,
                        factors=json.dumps(factors),
                    )
                )
    run = made_runs.write(tmp_path / "run", cells, plan="table-formats", factors={"node": ["here"]})
    found = analyse(run)
    ratios = found.results["format_ratios"].frame
    form = ratios[(ratios["question"] == "form beside Atom") & (ratios["way"] == "direct")].iloc[0]
    assert form["time_ratio"] == pytest.approx(0.5, rel=1e-6)
    assert form["payload_ratio"] == pytest.approx(0.5)
    assert (form["says"], form["low"] <= form["time_ratio"] <= form["high"]) == ("quicker", True)
    said = {card.title: card.sentence for card in found.findings}
    assert (
        "takes 0.5 (0.5 to 0.5) times Atom's time, with 0.5 times the bytes. As in 2009"
        in said["Form beside Atom"]
    )
    assert "takes 1.27" in said["Gathered beside paged"]
    assert "Other than in 2009" in said["Gathered beside paged"]
    assert "As in 2009" in said["Proxy beside direct"]


@pytest.mark.parametrize(
    ("form", "body"), [("json-none", b"<html>"), ("json-full", b"{}"), ("arrow", b"rows")]
)
def test_answers_of_another_form_are_no_rows(form: str, body: bytes) -> None:
    with pytest.raises(IntegrityError) as caught:
        rows_in(body, form)
    assert caught.value.hint == "run it again"


def test_a_table_that_cannot_be_filled_or_served_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"PartitionKey": "a/b", "RowKey": "r"}\n')
    with pytest.raises(ServiceError) as caught:
        ServedTable(rows)
    assert "1 row was refused" in caught.value.cause
    sentence(caught.value)
    served_table.write_rows(rows, 5, seed=1)
    # As where its packages are missing.
    monkeypatch.setattr(served_table, "_fill", lambda *_: None)
    monkeypatch.setattr(served_table, "haul", lambda: ["false"])
    monkeypatch.setattr(served_table, "start_emulator", lambda **_: Endpoint("http://127.0.0.1:1/a", ""))
    with pytest.raises(ServiceError) as caught:
        ServedTable(rows)
    sentence(caught.value)
