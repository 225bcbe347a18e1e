"""The plans against the experiments that they follow: what those who made them would ask for is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from markupsafe import escape

import haulage
from haulage.errors import UsageError
from haulage.lab import planfile
from haulage.lab.analysis import analyse
from haulage.lab.analysis.tables import source_of
from haulage.lab.arms import Item, Moved, Work
from haulage.lab.arms.methods import method_of
from haulage.lab.generate import generate
from haulage.lab.plan import Plan
from haulage.lab.report.page import write
from haulage.lab.schedule import same_as, schedule
from haulage.lab.target import Endpoint, start_emulator
from haulage.lab.topics.collapse import rows as collapse
from lab import made_runs
from lab.made_runs import SECOND, cell
from lab.tiny_plan import run_only

KB, MB = 1000, 1_000_000


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    found = start_emulator(store="memory", link="rtt=2ms")
    yield found
    found.close()


def plan_of(arms: list[dict[str, Any]], files: list[dict[str, Any]], **more: Any) -> Plan:
    plain = {"name": "one", "again": "", "warm_up": 0, "idle": "1ms", "ceiling": {"measure": False}}
    return planfile.parse(plain | {"arms": arms, "files": files} | more)


def move(endpoint: Endpoint, folder: Path, sizes: list[int], **keys: Any) -> Moved:
    arm = plan_of([keys], [{"size": "1MB"}]).arms[0]
    items = []
    for number, size in enumerate(sizes):
        path = folder / f"{number}.bin"
        generate(path, size, number)
        items.append(Item(f"up/{arm.name.replace(' ', '-')}/{number}.bin", str(path), size))
    (folder / "scratch").mkdir()
    work = Work(arm, "up", tuple(items), endpoint, folder / "record.parquet", folder / "scratch")
    return method_of(arm)(work, lambda *_: None)


def rows(folder: Path, words: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as database:
        return database.execute(f"select {words} from '{folder / 'record.parquet'}'").fetchall()


# E1


def test_a_block_larger_than_the_file_is_cut_and_committed_all_the_same(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    moved = move(endpoint, tmp_path, [100 * KB], method="put-blocks", block_size="1MiB", concurrency=4)
    assert moved.outcome == "ok"
    assert [api for (api,) in rows(tmp_path, "api")] == ["PutBlock", "PutBlockList"]


def test_the_blocks_of_one_file_travel_side_by_side(endpoint: Endpoint, tmp_path: Path) -> None:
    moved = move(endpoint, tmp_path, [MB, MB], method="put-blocks", block_size="128KiB", concurrency=4)
    assert (moved.requests, moved.lanes) == (2 * (8 + 1), 4)
    spans = [(row["began_ns"], row["ended_ns"]) for row in moved.transfers]
    assert spans[0][1] <= spans[1][0]


def test_the_full_plan_takes_one_file_after_another_in_random_order_over_all_sizes() -> None:
    plan = planfile.load("block-upload", variant="full")
    assert {files.count for files in plan.files} == {1}
    assert len(plan.files) == 15
    assert plan.replicates == 50
    cells = [one for one in schedule(plan) if not one.warm_up and one.replicate == 0]
    order = [one.files.size_bytes or 0 for one in cells]
    assert order != sorted(order)
    blocks = {one.arm.block_size_bytes for one in cells if one.arm.method == "put-blocks"}
    small = {
        one.arm.block_size_bytes
        for one in cells
        if one.arm.method == "put-blocks" and one.files.size_bytes == 2 * KB
    }
    assert small == blocks
    assert len(blocks) == 5


def test_x16_x32_and_x64_are_run_once_for_a_file_of_eight_blocks() -> None:
    arms: list[dict[str, Any]] = [
        {"method": "blocks", "block_size": "256KiB", "concurrency": [2, 4, 8, 16, 32, 64]},
        {"method": "adaptive"},
    ]
    plan = plan_of(arms, [{"size": "2MiB"}], replicates=1)
    assert [one.treatment for one in sorted(schedule(plan), key=lambda one: plan.arms.index(one.arm))] == [
        "blocks 256KiB x2",
        "blocks 256KiB x4",
        "blocks 256KiB x8",
        "adaptive",
    ]
    assert same_as(plan) == {
        f"blocks 256KiB x{n}, 2MiB": "the same as blocks 256KiB x8 for these files" for n in (16, 32, 64)
    }


def test_what_is_not_run_because_it_is_the_same_stands_in_the_manifest(tmp_path: Path) -> None:
    arms: list[dict[str, Any]] = [
        {"method": "baseline"},
        {"method": "blocks", "block_size": "1MiB", "concurrency": 4},
    ]
    plan = plan_of(arms, [{"size": "10KB"}], replicates=1)
    run = run_only(plan, directory=tmp_path / "run")
    assert list(run.cells["treatment"]) == ["baseline"]
    assert run.manifest["left_out"] == {"blocks 1MiB x4, 10KB": "the same as baseline for these files"}


def test_the_a_a_arm_is_the_one_that_is_kept() -> None:
    arms: list[dict[str, Any]] = [{"method": "blocks", "block_size": "1MiB", "concurrency": [4, 16]}]
    plan = plan_of(arms, [{"size": "4MiB"}], again="blocks 1MiB x16", replicates=1)
    assert sorted(one.treatment for one in schedule(plan)) == ["blocks 1MiB x16", "blocks 1MiB x16-again"]


def test_the_knee_is_no_number_that_never_was_in_flight(tmp_path: Path) -> None:
    cells = [
        cell(
            place,
            replicate=place // 4,
            treatment=f"blocks x{n}",
            concurrency=n,
            block_size_bytes=125_000,
            wall_ns=SECOND // min(n, 8),
        )
        for place, n in enumerate([1, 2, 4, 32] * 6)
    ]
    found = analyse(made_runs.write(tmp_path / "run", cells, plan="concurrency"))
    assert set(found.results["concurrency"].frame["concurrency"]) == {1, 2, 4, 8}


def sweep(folder: Path) -> Path:
    cells: list[dict[str, Any]] = []
    for replicate in range(6):
        for size in (100_000, 1_000_000, 10_000_000):
            common = {"replicate": replicate, "size_bytes": size, "bytes": size}
            cells.append(cell(len(cells), treatment="baseline", method="baseline", **common))
            for block, gain in ((262_144, size / 1e6), (1_048_576, size / 2e6)):
                wall = int(SECOND / gain * (1 + 0.01 * replicate))
                more = {"treatment": f"put-blocks {block}", "method": "put-blocks", "concurrency": 32}
                cells.append(cell(len(cells), block_size_bytes=block, wall_ns=wall, **more, **common))
    return made_runs.write(folder, cells, plan="block-upload")


def test_the_block_that_is_best_on_average_is_named_with_its_deviation(tmp_path: Path) -> None:
    found = analyse(sweep(tmp_path / "run"))
    average = found.results["block_average"].frame.set_index("block_size_bytes")
    best = average.loc[262_144]
    assert bool(best["is_best"])
    assert not bool(average.loc[1_048_576, "is_best"])
    assert best["mean_times_as_fast"] == pytest.approx((0.1 + 1 + 10) / 3, rel=0.03)
    assert best["sd_times_as_fast"] == pytest.approx(5.5, rel=0.05)
    assert best["file_sizes_slower"] == 2
    card = next(card for card in found.findings if card.title == "Best on average")
    assert "256 KiB" in card.sentence
    one = found.results["improvement"].frame.iloc[0]
    assert one["mean_times_as_fast"] == pytest.approx(one["times_as_fast"], rel=0.02)
    assert one["sd_times_as_fast"] > 0


# E6


def test_a_request_that_is_not_done_within_its_window_is_lost_although_it_moves(tmp_path: Path) -> None:
    slow = start_emulator(store="null", link="rtt=2ms,total=1mbit")
    try:
        (tmp_path / "large").mkdir()
        (tmp_path / "small").mkdir()
        keys = {"method": "put-blocks", "concurrency": 1, "window": "400ms"}
        large = move(slow, tmp_path / "large", [MB // 4, MB // 4], block_size="1MiB", **keys)
        small = move(slow, tmp_path / "small", [16 * KB], block_size="8KiB", **keys)
    finally:
        slow.close()
    assert [row["outcome"] for row in large.transfers] == ["connection", "connection"]
    assert (large.bytes, large.cause) == (0, "no answer within 0.4 s")
    assert (small.outcome, small.bytes) == ("ok", 16 * KB)


def test_files_that_were_lost_have_no_rate_and_are_counted(tmp_path: Path) -> None:
    transfers = {
        0: [
            made_runs.transfer(n, outcome="ok" if n < 7 else "connection", duration_ns=SECOND + n)
            for n in range(10)
        ]
    }
    found = analyse(made_runs.write(tmp_path / "run", [cell(0)], transfers=transfers, plan="failing-link"))
    assert len(found.results["rate_by_transfer"].frame) == 7
    gone = found.results["lost_files"].frame.iloc[0]
    assert (gone["lost"], gone["first_lost"], gone["bytes_before_the_first_loss"]) == (3, 8, 7 * MB)
    card = next(card for card in found.findings if card.title == "Files lost")
    assert "lost 3 of 10 files; 70% of the bytes" in card.sentence


def test_the_failing_link_has_the_window_the_sweeps_and_one_job_across_the_fall() -> None:
    plan = planfile.load("failing-link", variant="full")
    windows = {arm.name: arm.window_ns for arm in plan.arms if arm.window_ns}
    assert set(windows.values()) == {90 * SECOND}
    assert {arm.block_size_bytes for arm in plan.arms if arm.name.startswith("sweep")} == {
        1 << 18,
        1 << 20,
        2 << 20,
    }
    assert not any(arm.sequence for arm in plan.arms)
    points = next(files for files in plan.files if files.link)
    assert points.count == 10


def test_a_window_is_for_the_plain_client() -> None:
    with pytest.raises(UsageError) as caught:
        plan_of([{"method": "blocks", "window": "90s"}], [{"size": "1MB"}])
    assert caught.value.hint == 'write client = "plain"'


# E5


@pytest.mark.parametrize(
    ("keys", "apis"),
    [
        ({"method": "single-put", "body": "bytes"}, ["PutBlob"] * 2),
        ({"method": "single-put", "body": "file"}, ["PutBlob"] * 2),
        ({"method": "single-put", "body": "stream"}, ["PutBlob"] * 2),
        ({"method": "blocks", "block_size": "4MiB"}, ["PutBlock", "PutBlockList"] * 2),
    ],
)
def test_each_way_to_write_overwrites_one_blob(
    endpoint: Endpoint, tmp_path: Path, keys: dict[str, Any], apis: list[str]
) -> None:
    moved = move(
        endpoint, tmp_path, [150 * KB, 150 * KB], client="plain", one_blob=True, concurrency=1, **keys
    )
    assert (moved.outcome, moved.bytes) == ("ok", 300 * KB)
    assert [api for (api,) in rows(tmp_path, "api")] == apis
    back = tmp_path / "back"
    lab_copy(endpoint.url("up/one-blob"), back)
    assert back.read_bytes() == (tmp_path / "1.bin").read_bytes()


def lab_copy(url: str, path: Path) -> None:
    haulage.copy(url, path, overwrite="always")


def test_the_local_disk_is_written_and_timed(endpoint: Endpoint, tmp_path: Path) -> None:
    moved = move(endpoint, tmp_path, [150 * KB, 50 * KB], method="local-disk")
    assert (moved.outcome, moved.bytes, moved.recorded) == ("ok", 200 * KB, False)
    assert sorted(path.stat().st_size for path in (tmp_path / "scratch").iterdir()) == [50 * KB, 150 * KB]


def test_small_blobs_have_all_ten_sizes_and_writers_up_to_100_mb() -> None:
    plan = planfile.load("small-blob")
    sizes = {files.size_bytes for files in plan.files}
    assert sizes >= {50 * KB * n for n in range(1, 11)}
    for size in (50 * KB, MB, 10 * MB, 100 * MB):
        names = {one.treatment for one in schedule(plan) if one.files.size_bytes == size}
        assert {"local-disk", "put bytes", "put stream", "write stream"} <= names
        assert {"8 writers, put stream", "8 writers, write stream"} <= names


# E2, E3


def nodes(folder: Path) -> Path:
    cells: list[dict[str, Any]] = []
    for replicate in range(3):
        for number, node in enumerate(("small", "large")):
            for arm, gain in (("standard", 1.0), ("sub-file", 0.8)):
                # One run of three came out 75 % better than its twins.
                odd = 1.75 if (replicate, node, arm) == (1, "large", "standard") else 1.0
                wall = int(SECOND / gain / (number + 1) / odd * (1 + 0.001 * replicate))
                method = "baseline" if arm == "standard" else "ranges"
                factors = f'{{"node": "{node}", "arm": "{arm}", "again": false}}'
                network = {} if method == "baseline" else {"phase_network_ns": int(0.9 * wall)}
                common = {"replicate": replicate, "direction": "down", "treatment": f"{arm} @{node}"}
                cells.append(
                    cell(len(cells), method=method, wall_ns=wall, factors=factors, **network, **common)
                )
    return made_runs.write(folder, cells, plan="node-size", factors={"node": ["small", "large"]})


def test_the_odd_run_is_shown_with_and_without(tmp_path: Path) -> None:
    found = analyse(nodes(tmp_path / "run"))
    table = found.results["by_node"].frame.set_index(["node", "arm", "runs"])
    with_all, without = (table.loc[("large", "standard", runs)] for runs in ("all runs", "without odd runs"))
    assert (with_all["n"], without["n"], with_all["odd_runs"]) == (3, 2, 1)
    assert with_all["mean_bits_per_second"] > 1.2 * without["mean_bits_per_second"]
    assert list(found.results["by_node"].frame["node"].unique()) == ["small", "large"]
    assert table.loc[("small", "sub-file", "all runs"), "network_alone_over_baseline"] == pytest.approx(
        0.9 / 0.8, rel=0.01
    )
    assert {card.title for card in found.findings} >= {"Larger nodes", "Network part alone"}


def test_nodes_and_endpoints_are_made_anew_between_replicates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from haulage.lab import target

    started: list[str] = []
    real = target.start_emulator

    def counted(**words: Any) -> Endpoint:
        started.append(words["link"])
        return real(**words)

    monkeypatch.setattr(target, "start_emulator", counted)
    plan = plan_of(
        [{"method": "baseline"}],
        [{"size": "10KB"}],
        replicates=3,
        nodes=[{"name": "small", "link": "rtt=1ms"}, {"name": "large", "link": "rtt=2ms"}],
        fresh_nodes=True,
    )
    run_only(plan, directory=tmp_path / "run")
    assert sorted(started) == ["rtt=1ms"] * 3 + ["rtt=2ms"] * 3
    assert planfile.load("node-size").fresh_nodes
    assert planfile.load("whole-file").fresh_nodes


# E11


@pytest.mark.slow("builds the report of a whole run")
def test_the_python_of_every_calculation_stands_beside_its_query(tmp_path: Path) -> None:
    folder = sweep(tmp_path / "run")
    found = analyse(folder)
    made = [result.name for result in found.results.values() if result.kind == "statistics"]
    assert made
    text = write(folder, found).read_text()
    for name in made:
        assert f"def {source_of(name).split('def ')[1].split('(')[0]}(" in text, name
        assert str(escape(source_of(name))) in text, name
    assert all(label in text for label in ("Full size", "Save SVG", "Save PNG"))


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ([0.0] * 8 + [-0.4, -1.0, -1.6, -2.1, -2.6] + [-2.9] * 27, "step"),
        (list(np.linspace(0, -1.6, 40)), "drift"),
        (list(np.linspace(0, -3, 40)), "drift"),
    ],
)
def test_a_step_is_seen_through_the_requests_in_flight_and_a_slide_stays_one(
    shape: list[float], says: str
) -> None:
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(0, 0.05, 40)
        parts = pd.DataFrame(
            {
                "rate_bits_per_second": 1e8 * np.exp(np.array(shape) + noise),
                "size_bytes": 4e6,
                "most_in_flight_bytes": 3e7,
                "part": range(40),
                "cell": 0,
                "direction": "up",
                "treatment": "adaptive",
                "files": "32 NetCDF",
                "replicate": 0,
            }
        )
        found = collapse.job_changes(parts)
        assert set(found["says"]) == {says}
