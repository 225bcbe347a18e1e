"""The SQL files: each tells what it is, gives the same rows each time, and counts what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from haulage.errors import NotFoundError, UsageError
from haulage.lab.analysis import analyse, query
from haulage.lab.analysis.model import Analysis
from lab import made_runs
from lab.made_runs import SECOND, attempt, cell, sample, transfer
from lab.reports import make_run
from sentences import Sentence


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("queries") / "run")


@pytest.fixture(scope="module")
def analysis(run: Path) -> Analysis:
    return analyse(run)


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    found = {result.name: result.frame for result, _ in query.run(query.open_run(folder), [name])}
    records: list[dict[str, Any]] = found[name].to_dict("records")
    return records


def test_every_query_says_what_it_is_and_orders_its_rows() -> None:
    assert len(query.queries()) >= 18
    for one in query.queries().values():
        assert one.title
        assert one.question.endswith("?"), one.name
        assert one.method, one.name
        assert one.tables, one.name
        assert set(one.tables) <= set(query.TABLES)
        assert set(one.after) <= set(query.queries())
        # Without it the same rows could come in another order, and the hash with them.
        assert re.search(r"order by [^()]*$|order by .*\n.*\Z", one.sql.strip().rsplit("\n\n")[-1]), one.name


def test_columns_carry_their_units(analysis: Analysis) -> None:
    bare = re.compile(r"(duration|latency|wait|elapsed|throughput|speed)$")
    for result in analysis.results.values():
        assert not [name for name in result.columns if bare.search(name)], result.name


def test_the_same_files_give_the_same_hash(run: Path, analysis: Analysis, tmp_path: Path) -> None:
    again = analyse(run, into=tmp_path / "again")
    assert {n: r.rows_sha256 for n, r in again.results.items()} == {
        n: r.rows_sha256 for n, r in analysis.results.items()
    }


def test_the_index_tells_where_every_table_comes_from(run: Path, analysis: Analysis) -> None:
    index = {entry["name"]: entry for entry in json.loads((run / "results/index.json").read_text())}
    assert set(index) == set(analysis.results)
    for name, entry in index.items():
        with duckdb.connect() as database:
            stored = database.execute(f"from '{run / 'results' / name}.parquet'").fetchall()
        assert len(stored) == entry["rows"]
        assert query.rows_sha256(stored) == entry["rows_sha256"], name
        assert entry["inputs"]
        assert len(entry["sql_sha256"]) == 64
        assert entry["kind"] == "query" or entry["made_from"]


def test_a_changed_file_changes_the_hash(tmp_path: Path) -> None:
    first = made_runs.write(tmp_path / "a", [cell(0), cell(1)])
    second = made_runs.write(tmp_path / "b", [cell(0), cell(1, wall_ns=SECOND + 1)])
    hashes = [
        query.run(query.open_run(folder), ["cells_in_order"])[0][0].rows_sha256 for folder in (first, second)
    ]
    assert hashes[0] != hashes[1]


def test_a_query_can_be_run_by_hand_in_the_folder(
    run: Path, analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run)
    for name in ("cells_in_order", "errors", "stragglers", "rates"):
        with duckdb.connect() as database:
            assert len(database.execute(query.queries()[name].sql).fetchall()) == len(
                analysis.results[name].frame
            )


def test_what_is_no_run_and_no_query_is_said(tmp_path: Path, sentence: Sentence) -> None:
    with pytest.raises(NotFoundError, match="no manifest"):
        query.open_run(tmp_path)
    folder = made_runs.write(tmp_path / "run", [cell(0)])
    with pytest.raises(NotFoundError) as error:
        query.run(query.open_run(folder), ["nothing"])
    sentence(error.value)
    with pytest.raises(UsageError, match="header line"):
        query.parse("odd", "-- titel: Wrong\nselect 1")
    with pytest.raises(UsageError, match="no title"):
        query.parse("odd", "select 1")


def test_queries_of_another_plan_or_without_rows_are_left_out(tmp_path: Path) -> None:
    found = analyse(made_runs.write(tmp_path / "run", [cell(0, recorded=False)]))
    assert "ledger" not in found.results
    assert "phases_of_cells" not in found.results
    assert "cells_in_order" in found.results
    assert found.verdict.cause == "undetermined"


def test_pairs_are_of_one_replicate_and_the_a_a_arm_is_marked(tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = []
    for replicate in range(2):
        for treatment, wall in (("baseline", 4), ("baseline-again", 4), ("blocks 1MiB", 1 + replicate)):
            method = "baseline" if "base" in treatment else "blocks"
            cells.append(
                cell(
                    len(cells), replicate=replicate, treatment=treatment, method=method, wall_ns=wall * SECOND
                )
            )
    cells.append(cell(len(cells), replicate=2, treatment="blocks 1MiB"))
    cells.append(cell(len(cells), replicate=-1, treatment="baseline", method="baseline", warmup=True))
    found = rows(made_runs.write(tmp_path / "run", cells), "paired")
    assert [(row["treatment"], row["replicate"], row["ratio"], row["is_again"]) for row in found] == [
        ("baseline-again", 0, 1.0, True),
        ("baseline-again", 1, 1.0, True),
        ("blocks 1MiB", 0, 4.0, False),
        ("blocks 1MiB", 1, 2.0, False),
    ]


def test_gaps_of_a_lane_run_from_an_end_to_the_next_slot(tmp_path: Path) -> None:
    attempts = [
        attempt(slot_ms=0, ended_ms=10),
        attempt(slot_ms=40, ended_ms=50),
        attempt(slot_ms=50.1, ended_ms=60),
        attempt(lane=1, slot_ms=5, ended_ms=20),
    ]
    found = rows(made_runs.write(tmp_path / "run", [cell(0)], {0: attempts}), "lane_gaps")
    assert [(row["lane"], row["began_ns"], row["gap_ns"]) for row in found] == [(0, 10_000_000, 30_000_000)]


def test_stragglers_take_three_times_as_long_as_their_like(tmp_path: Path) -> None:
    usual = [
        attempt(slot_ms=n, connected_ms=n, last_byte_ms=n + 10, ended_ms=n + 10) for n in range(0, 90, 10)
    ]
    slow = attempt(slot_ms=100, connected_ms=100, last_byte_ms=150, ended_ms=150, offset_bytes=7)
    # Five times as long, but five hundred times as large.
    large = attempt(slot_ms=200, connected_ms=200, last_byte_ms=250, ended_ms=250, size_bytes=50_000_000)
    found = rows(made_runs.write(tmp_path / "run", [cell(0)], {0: [*usual, slow, large]}), "stragglers")
    assert [(row["offset_bytes"], row["times_as_long"]) for row in found] == [(7, 5.0)]


def test_bytes_over_time_add_up(tmp_path: Path) -> None:
    attempts = [
        attempt(slot_ms=0, connected_ms=0, last_byte_ms=1000, ended_ms=1000, size_bytes=600_000),
        attempt(lane=1, slot_ms=500, connected_ms=500, last_byte_ms=1000, ended_ms=1000, size_bytes=400_000),
    ]
    found = rows(made_runs.write(tmp_path / "run", [cell(0)], {0: attempts}), "rate_over_time")
    assert len(found) == 100
    assert sum(row["rate_bits_per_second"] for row in found) / 100 / 8 == pytest.approx(1_000_000)
    assert [found[k]["in_flight"] for k in (0, 49, 50, 99)] == pytest.approx([1, 1, 2, 2])
    assert found[0]["rate_bits_per_second"] == pytest.approx(4_800_000)


def test_errors_hold_what_they_cost(tmp_path: Path) -> None:
    attempts = [
        attempt(slot_ms=0, ended_ms=10),
        attempt(slot_ms=10, ended_ms=30, fate="busy", status=503, cause="ServerBusy", backoff_ms=100),
        attempt(slot_ms=130, ended_ms=140, attempt=2),
    ]
    found = rows(made_runs.write(tmp_path / "run", [cell(0)], {0: attempts}), "errors")
    busy = next(row for row in found if row["fate"] == "busy")
    assert (busy["attempts"], busy["lost_ns"], busy["waited_ns"]) == (1, 20_000_000, 100_000_000)
    assert busy["share"] == pytest.approx(1 / 3)


def test_samples_belong_to_the_cell_in_which_they_fall(tmp_path: Path) -> None:
    host = {
        0: [sample(0, cpu_idle_share=0.25, nic_tx_bytes=5), sample(0, cpu_idle_share=0.75, nic_tx_bytes=6)]
    }
    host[1] = [sample(1, cpu_idle_share=0.1)]
    found = rows(made_runs.write(tmp_path / "run", [cell(0), cell(1)], host=host), "host_load")
    assert [(row["samples"], row["cpu_idle_share"]) for row in found] == [(2, 0.5), (1, 0.1)]
    assert found[0]["nic_tx_bytes"] == 11


def test_efficiency_is_against_the_ceiling_of_its_direction(tmp_path: Path) -> None:
    ceiling = {"up_bits_per_second": 16e6, "down_bits_per_second": 80e6, "method": "words"}
    folder = made_runs.write(tmp_path / "run", [cell(0), cell(1, direction="down")], ceiling=ceiling)
    found = {row["direction"]: row["efficiency_share"] for row in rows(folder, "efficiency")}
    assert found == pytest.approx({"up": 0.5, "down": 0.1})


def test_places_count_on_over_the_cells_of_a_treatment(tmp_path: Path) -> None:
    transfers = {number: [transfer(k, cell=number) for k in range(3)] for number in range(2)}
    found = rows(
        made_runs.write(tmp_path / "run", [cell(0), cell(1)], transfers=transfers), "rate_by_transfer"
    )
    assert [row["place"] for row in found] == [0, 1, 2, 3, 4, 5]
    assert {row["rate_bits_per_second"] for row in found} == {8e6}


def test_the_slope_tells_a_shared_link_from_one_bound_each(tmp_path: Path) -> None:
    def waves(shared: bool) -> list[dict[str, Any]]:
        made, at = [], 0.0

        def request(lane: int, took: float, **values: Any) -> dict[str, Any]:
            end = {f"{name}_ms": at + took for name in ("first_byte", "last_byte", "ended")}
            return attempt(lane=lane, slot_ms=at, connected_ms=at, sent_ms=at, **end, **values)

        for n in (2, 4, 8, 4, 2, 8):
            took = 10.0 * n if shared else 40.0
            made += [request(k, took) for k in range(n)]
            at += took + 1
        return [*made, request(0, 0.1, api="Begin", size_bytes=0)]

    cells = [cell(0), cell(1)]
    found = rows(made_runs.write(tmp_path / "run", cells, {0: waves(True), 1: waves(False)}), "evidence")
    assert found[0]["slope"] == pytest.approx(-1, abs=0.05)
    assert found[1]["slope"] == pytest.approx(0, abs=0.05)
    assert {row["judged"] for row in found} == {28}
    assert {row["in_flight"] for row in found} == {8}
