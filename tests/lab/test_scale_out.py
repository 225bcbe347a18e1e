"""Many nodes at once: real processes, a link for each, an endpoint that is capped in all."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import subprocess
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pytest

from haulage import lab
from haulage.errors import ServiceError, UsageError
from haulage.lab import planfile
from haulage.lab.plan import Plan
from haulage.lab.relay import Narrow, Pace
from haulage.lab.report.charts import dressed
from haulage.lab.report.page import write
from haulage.lab.report.verify import verify
from haulage.lab.runner import RunProgress
from haulage.lab.scale import fleet
from haulage.lab.scale.fleet import Fleet
from haulage.lab.scale.merge import merge
from haulage.lab.scale.wire import Line
from haulage.lab.target import haul as haul_command
from haulage.lab.topics.scaling.chart import SECTIONS as OF_SCALING
from haulage.lab.topics.scaling.rows import ALL_ACTIVE
from haulage.lab.topics.simulated_nodes.chart import SECTIONS as OF_SIMULATION
from haulage.lab.topics.stragglers.chart import SECTIONS as OF_STRAGGLERS
from lab.browsers import Opened
from lab.tiny_plan import run_only, tiny
from sentences import Sentence

CAP = 80e6


#: What takes long enough that rates can be told from each other.
LARGE: dict[str, Any] = {"files": [{"size": "256KiB", "count": 6}]}


def small(**changes: Any) -> Plan:
    """The plan with few nodes and small files, so that a cell takes a third of a second."""
    overrides = {
        "scale.nodes": [1, 3],
        "files": [{"size": "256KiB", "count": 3}],
        "replicates": 2,
        "warm_up": 1,
        "ceiling.measure": False,
        **changes,
    }
    return planfile.load("scale-out", overrides=overrides)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> lab.runs.Run:
    return run_only(small(), directory=tmp_path_factory.mktemp("scale") / "run")


def test_every_set_runs_once_before_any_set_runs_again(run: lab.runs.Run) -> None:
    cells = run.sql("select * from cells where not warmup order by cell")
    for _, part in cells.groupby("replicate"):
        # Two numbers of nodes each way, and one alone twice.
        assert len(part) == part["treatment"].nunique() == 6
    assert list(cells["replicate"]) == sorted(cells["replicate"])
    alone = cells[cells["treatment"].str.contains("on 1 node")]
    assert set(alone["replicate"]) == {0, 1}


def test_nodes_are_processes_of_their_own_with_files_of_their_own(run: lab.runs.Run) -> None:
    nodes = run.table("nodes")
    assert nodes[nodes["cell"] == nodes["cell"].max()]["pid"].is_unique
    assert os.getpid() not in set(nodes["pid"])
    assert set(nodes["outcome"]) == {"ok"}
    for cell, part in nodes.groupby("cell"):
        kept = sorted((run.folder / "nodes" / f"{cell:04}").glob("*.parquet"))
        assert [path.stem for path in kept] == [f"{node:02}" for node in part["node"]]
    # Merged by a glob over all of them: as many requests, each with its node.
    with duckdb.connect() as database:
        own = database.execute(
            "select count(*) from read_parquet(?) where object_id is not null or api = 'ListBlobs'",
            [str(run.folder / "nodes/*/*.parquet")],
        ).fetchone()
    assert own is not None
    assert len(run.attempts) <= own[0]
    assert run.sql("select count(distinct node) as n from attempts")["n"][0] == 3


def test_lanes_of_different_nodes_do_not_meet(run: lab.runs.Run) -> None:
    shared = run.sql(
        "select cell, lane from attempts group by all having count(distinct node) > 1"
        " union all select cell, connection from attempts where connection > 0 group by all"
        " having count(distinct node) > 1"
    )
    assert shared.empty


def test_durations_and_ends_are_in_one_unit_and_on_one_clock(run: lab.runs.Run) -> None:
    """E4 kept durations in seconds and ends in minutes, and drew every bar wrong."""
    moved = run.analysis.results["scale_transfers"].frame
    assert all(
        name.endswith("_ns") for name in moved.columns if name.startswith(("began", "ended", "duration"))
    )
    assert (
        moved["ended_ns"].astype("int64") - moved["began_ns"].astype("int64") == moved["duration_ns"]
    ).all()
    assert (moved["ended_ns"] <= moved["wall_ns"]).all()
    # Against the requests, which come by another way: the first of a file begins it, the last ends it.
    requests = run.sql(
        "select cell, node as name, parse_filename(object) as file, min(slot_ns)::bigint as first,"
        " max(ended_ns)::bigint as last from attempts where object_id is not null group by all"
    )
    moved = moved.assign(file=moved["object"].str.rpartition("/")[2])
    both = moved.merge(requests, on=["cell", "name", "file"])
    assert len(both) == len(moved)
    # On a busy machine something lies between a request and its file; another unit would be a thousand.
    assert ((both["began_ns"].astype("int64") - both["first"]).abs() < both["last"] / 2).all()
    assert ((both["ended_ns"].astype("int64") - both["last"]).abs() < both["last"] / 2).all()


def test_starts_are_printed_with_their_bound(run: lab.runs.Run) -> None:
    cells = run.analysis.results["scale_cells"].frame
    many = cells[cells["node_count"] > 1]
    assert (many["start_bound_ns"] > 0).all()
    assert (many["start_bound_ns"] < 20e6).all()
    card = next(card for card in run.analysis.findings if card.title == "Common start")
    assert "began within" in card.sentence
    assert "known to" in card.sentence


def test_offsets_hold_what_they_say_on_one_machine(run: lab.runs.Run) -> None:
    """Here all clocks are one, so that the offset is known: it must lie within its bound."""
    nodes = run.table("nodes")
    assert (nodes["offset_ns"].abs() <= nodes["offset_bound_ns"]).all()


@pytest.mark.long
def test_the_cap_is_named_within_five_percent(tmp_path: Path) -> None:
    run = run_only(small(**LARGE | {"scale.nodes": [1, 2, 3, 4]}), directory=tmp_path / "run")
    fits = run.analysis.results["scaling_fits"].frame
    for way in ("up", "down"):
        best = fits[fits["is_best"] & (fits["rate"] == ALL_ACTIVE) & (fits["direction"] == way)].iloc[0]
        assert best["model"] == "capped"
        assert best["cap_bits_per_second"] == pytest.approx(CAP, rel=0.05)
        assert 2 < best["linear_until"] < 3.4
    for row in lab.predict(run.folder, [20]):
        assert row["simulated_bits_per_second"] < 1.1 * CAP
    cards = [card.sentence for card in run.analysis.findings if card.title == "Cap"]
    assert all("Mbit/s" in words for words in cards)
    assert len(cards) == 2


@pytest.mark.long
def test_the_page_shows_nodes_and_can_be_made_again(run: lab.runs.Run, browser: Any) -> None:
    write(run.folder)
    assert all(check.ok for check in verify(run.folder))
    opened = Opened(browser, run.folder / "report.html", color_scheme="dark")
    opened.see_everything()
    shown = [section.get_attribute("id") for section in opened.page.query_selector_all("section.chart")]
    wanted = {
        "scale-totals",
        "scale-share",
        "node-lanes",
        "node-heat",
        "transfer-times",
        "stragglers-of-nodes",
    }
    assert wanted | {"simulation", "simulation-2010"} <= set(shown)
    assert not opened.said
    opened.context.close()


def test_charts_of_nodes_fit_the_schema(run: lab.runs.Run) -> None:
    results = run.analysis.results
    for section in (*OF_SCALING, *OF_STRAGGLERS, *OF_SIMULATION):
        assert set(section.needs) <= results.keys(), section.name
        assert dressed(section.draw(results)).to_dict(validate=True)["$schema"]


def test_more_nodes_are_predicted_by_one_call(run: lab.runs.Run, sentence: Sentence) -> None:
    rows = lab.predict(run.folder, [20])
    assert {row["node_count"] for row in rows} == {1, 3, 20}
    for row in rows:
        assert row["role"] in ("calibrates", "predicted")
    with pytest.raises(UsageError, match="not simulated") as caught:
        lab.predict(run.folder, [0])
    sentence(caught.value)
    absent = subprocess.run(
        [*haul_command(), "lab", "predict", str(run.folder), "--nodes", "many"],
        capture_output=True,
        text=True,
    )
    assert (absent.returncode, "hint: write --nodes" in absent.stderr) == (2, True), absent.stderr


def test_a_run_without_nodes_predicts_nothing(tmp_path: Path, sentence: Sentence) -> None:
    done = run_only(tiny(), directory=tmp_path / "run")
    with pytest.raises(UsageError) as caught:
        lab.predict(done.folder, [20])
    sentence(caught.value)


def killing(number: int) -> Any:
    """Return what kills one node as soon as bytes of a cell of three have arrived."""

    def tell(progress: RunProgress) -> None:
        if progress.bytes_done and "on 3 nodes" in (progress.treatment or ""):
            for child in psutil.Process().children():
                # One that has been killed already has no command line.
                with suppress(psutil.Error):
                    if child.cmdline()[-4:][:1] + child.cmdline()[-1:] == [
                        "haulage.lab.scale.node",
                        str(number),
                    ]:
                        child.send_signal(signal.SIGKILL)

    return tell


@pytest.mark.long
def test_a_node_that_is_killed_is_missing_and_not_dropped(tmp_path: Path) -> None:
    changes = {"directions": ["up"], "replicates": 1, "warm_up": 0, "again": ""}
    plan = small(**LARGE | changes)
    plan = dataclasses.replace(plan, own_links=((2, "total=4mbit"),))
    done = run_only(plan, directory=tmp_path / "run", on_progress=killing(2))
    nodes = done.sql(
        "select n.* from nodes n join cells c using (cell)"
        " where c.treatment like '%on 3 nodes%' order by node"
    )
    assert list(nodes["outcome"]) == ["ok", "node_lost", "ok"]
    cell = int(nodes["cell"][0])
    assert sorted(path.stem for path in (done.folder / "nodes" / f"{cell:04}").iterdir()) == ["01", "03"]
    assert done.sql(f"select outcome from cells where cell = {cell}")["outcome"][0] == "node_lost"
    card = next(card for card in done.analysis.findings if card.title == "Missing nodes")
    assert f"node-02 of 3 in cell {cell}" in card.sentence
    # It is in no rate.
    assert 3 not in set(done.analysis.results["scaling_shares"].frame["node_count"])
    write(done.folder)
    assert "node-02 (missing)" in (done.folder / "report.html").read_text()


@pytest.mark.long
def test_a_node_that_is_slowed_is_named_with_its_cost(tmp_path: Path) -> None:
    plan = small(**LARGE | {"scale.nodes": [1, 4], "directions": ["up"], "warm_up": 0, "again": ""})
    plan = dataclasses.replace(plan, own_links=((3, "total=8mbit"),))
    done = run_only(plan, directory=tmp_path / "run")
    late = done.analysis.results["stragglers_by_node"].frame
    assert set(late["name"]) == {"node-03"}
    assert set(late["whose"]) == {"path"}
    # 1.5 MiB at 8 Mbit/s take 1.57 s, beside 0.63 s of the others.
    assert (late["cost_per_cell_ns"] > 0.5e9).all()
    card = next(card for card in done.analysis.findings if card.title == "Straggler")
    assert card.sentence.startswith("node-03 is late in 2 of 2 cells")
    assert "path's" in card.sentence


def test_a_stranger_is_not_let_in() -> None:
    with Fleet() as own:
        host, port = own._listener.getsockname()
        stranger = Line(socket.create_connection((host, port)))
        stranger.say(word="guess", node=1, pid=1, host="elsewhere")
        there = own.ready(1)
        assert [member.pid for member in there] != [1]
        with pytest.raises((EOFError, OSError)):
            stranger.hear()
        stranger.close()
        words = psutil.Process(there[0].pid).cmdline()
        assert own._word not in " ".join(words)
        pid = there[0].pid
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_nodes_that_do_not_come_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "_START_S", 0.2)
    ended: list[int] = []
    empty = Fleet(lambda _host, _port, number, _word: fleet.Handle(lambda _grace_s: ended.append(number)))
    with empty, pytest.raises(ServiceError, match="none of them connected") as caught:
        empty.ready(2)
    assert caught.value.hint == "see what they say"
    assert ended == [1, 2]


def test_nodes_leave_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Fleet() as own:
        own.ready(2)
        own._ask_clock(own._members[1])
        assert len(list(tmp_path.glob("haulage-node-*"))) == 2
    assert list(tmp_path.iterdir()) == []


def test_nodes_that_are_not_let_in_yet_are_ended_by_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []

    def start(host: str, port: int, number: int, _word: str) -> fleet.Handle:
        connection = socket.create_connection((host, port))

        def end(_grace_s: float) -> None:
            connection.close()
            ended.append(number)

        return fleet.Handle(end)

    def interrupted(_line: Line) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Line, "hear", interrupted)
    with Fleet(start) as own, pytest.raises(KeyboardInterrupt):
        own.ready(3)
    assert ended == [1, 2, 3]


def test_a_link_that_a_node_cannot_have_is_refused(sentence: Sentence) -> None:
    with pytest.raises(UsageError, match="more than total= and conn=") as caught:
        small(nodes=[{"name": "far", "link": "rtt=5ms,total=1mbit"}])
    sentence(caught.value)
    with pytest.raises(UsageError, match="no number of nodes") as caught:
        small(**{"scale.nodes": [0, 1]})
    sentence(caught.value)
    with pytest.raises(UsageError, match="there is no node") as caught:
        small(**{"scale.links": {"9": "total=1mbit"}})
    assert caught.value.hint == 'write links = { 2 = "total=5mbit" }'
    with pytest.raises(UsageError) as caught:
        small(fresh_link=True)
    assert caught.value.hint == "write fresh_link = false"
    with pytest.raises(UsageError) as caught:
        small(arms=[{"method": "baseline", "client": "plain", "directions": ["up"]}])
    assert caught.value.hint in ("leave the other arms out", 'write source = "disk"')
    for key, value in (("via", "proxy"), ("cpus", 1)):
        with pytest.raises(UsageError) as caught:
            small(nodes=[{"name": "worker", key: value}])
        sentence(caught.value)
        assert caught.value.hint == "leave it out"
    # One alone is always among them.
    assert small(**{"scale.nodes": [4, 2]}).counts == (1, 2, 4)
    assert planfile.parse(_values(small())) == small()


def _values(plan: Plan) -> dict[str, Any]:
    return tomllib.loads(plan.to_toml())


def test_what_did_not_happen_has_no_time_on_the_common_clock(tmp_path: Path) -> None:
    own = "object_id ubigint, node varchar, lane uinteger, connection ubigint"
    times = "queued_ns ubigint, committed_ns ubigint, backoff_ns ubigint"
    with duckdb.connect() as database:
        for place in (1, 2):
            database.execute(f"create or replace table rows ({own}, {times})")
            database.execute(
                "insert into rows values (0, 'x', 1, 0, 5, null, 7), (1, 'x', 0, 3, 100, 200, null)"
            )
            database.execute(f"copy rows to '{tmp_path}/{place:02d}.parquet' (format parquet)")
        assert merge(tmp_path, tmp_path / "record", {1: 50, 2: -10}) == 4
        columns = "node, queued_ns, committed_ns, backoff_ns"
        found = database.execute(
            f"select {columns} from read_parquet('{tmp_path}/record') order by all"
        ).fetchall()
    assert found == [
        ("node-01", 55, None, 7),
        ("node-01", 150, 250, None),
        ("node-02", 0, None, 7),
        ("node-02", 90, 190, None),
    ]


def test_a_narrow_link_has_one_rate_for_all_and_one_for_each() -> None:
    link = Narrow("total=80mbit,conn=8mbit")
    first, second = link.paces(0), link.paces(0)
    assert len(first) == len(second) == 2
    assert first[0] is not second[0]
    assert first[1] is second[1]
    assert link.paces(1)[1] is not first[1]
    with pytest.raises(OSError, match="total= and conn= alone"):
        Narrow("rtt=5ms")
    assert isinstance(first[0], Pace)


def test_the_command_says_what_nodes_are() -> None:
    haul = [*haul_command(), "lab"]
    ran = subprocess.run(
        [*haul, "run", "scale-out", "--nodes", "1,x"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert "write --nodes 1,2,4" in ran.stderr
    ran = subprocess.run(
        [*haul, "run", "scale-out", "--nodes", "2,5", "--estimate", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert '"cells": 50' in ran.stdout
