"""Runs: what is written down is whole, true and in order, whatever stops them."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import duckdb
import psutil
import pytest

import haulage
from haulage import lab
from haulage.errors import ExistsError, LocalIOError, NotFoundError, UsageError
from haulage.lab import planfile, profile
from haulage.lab.host import HostSampler, pin
from haulage.lab.runner import RunProgress, available
from haulage.lab.schedule import schedule
from haulage.lab.store import (
    ATTEMPT_COLUMNS,
    CELL_COLUMNS,
    HOST_COLUMNS,
    TRANSFER_COLUMNS,
    sha256,
)
from haulage.lab.target import start_emulator
from lab.tiny_plan import TINY, run_only, tiny
from sentences import Sentence


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> lab.runs.Run:
    samples: list[RunProgress] = []
    folder = tmp_path_factory.mktemp("lab") / "run"
    done = run_only(tiny(directions=["up", "down"]), directory=folder, on_progress=samples.append)
    assert done.state == "complete"
    assert {sample.stage for sample in samples} >= {"prepare", "cells"}
    assert samples[-1].cells_done == samples[-1].cells_planned == 25
    assert samples[-1].remaining_ns == 0
    return done


def test_the_tables_have_the_columns_of_the_contract(run: lab.runs.Run) -> None:
    wanted = {
        "cells": CELL_COLUMNS,
        "transfers": TRANSFER_COLUMNS,
        "host": HOST_COLUMNS,
        "attempts": {"cell": "INTEGER", **ATTEMPT_COLUMNS},
    }
    with duckdb.connect() as database:
        for name, columns in wanted.items():
            described = database.execute(f"describe from '{run.folder / name}.parquet'").fetchall()
            assert [column for column, *_ in described] == list(columns), name


def test_every_cell_is_there_once_and_moved_all_its_bytes(run: lab.runs.Run) -> None:
    cells = run.cells
    assert list(cells.cell) == list(range(25))
    assert set(cells.outcome) == {"ok"}
    assert list(cells.began_unix_ns) == sorted(cells.began_unix_ns)
    assert set(cells.bytes) == {30_000, 300_000}
    assert (cells.wall_ns > 0).all()
    assert (cells.idle_before_ns >= 1_000_000).all()
    assert list(cells[cells.warmup].replicate) == [-1]
    assert set(cells[cells.method == "baseline"].lanes) == {1}
    expected = [cell.treatment for cell in schedule(run.plan)]
    assert list(cells.treatment) == expected


def test_transfers_and_attempts_belong_to_their_cells(run: lab.runs.Run) -> None:
    found = run.sql(
        """select count(*) as transfers, sum(size_bytes) as bytes, min(began_ns) as began,
            bool_and(duration_ns = ended_ns - began_ns) as fits from transfers group by cell"""
    )
    assert set(found.bytes) == {30_000, 300_000}
    assert found.fits.all()
    # One stream: no two transfers of a baseline overlap.
    overlaps = run.sql(
        """select count(*) as n from transfers a join transfers b using (cell)
            join cells on cells.cell = a.cell
        where cells.method = 'baseline' and a.transfer < b.transfer
            and a.began_ns < b.ended_ns and b.began_ns < a.ended_ns"""
    )
    assert overlaps.n[0] == 0
    missing = run.sql("from cells where recorded and cell not in (select cell from attempts)")
    assert len(missing) == 0


def test_the_manifest_says_what_was_run(run: lab.runs.Run) -> None:
    manifest = json.loads((run.folder / "manifest.json").read_text())
    assert manifest["lab"] == "run 2"
    assert manifest["plan_sha256"] == run.plan.sha256
    assert (manifest["cells_planned"], manifest["cells_done"]) == (25, 25)
    assert manifest["stopped_because"] is None
    assert manifest["link"] == "rtt=2ms,total=1gbit"
    assert manifest["versions"]["haulage"]
    assert manifest["host"]["cpus"] == len(os.sched_getaffinity(0))
    for name, file in manifest["files"].items():
        assert file["sha256"] == sha256(run.folder / name)
    assert "sig=" not in (run.folder / "manifest.json").read_text()
    assert not list(run.folder.rglob("*.partial"))
    assert planfile.parse(tomllib.loads((run.folder / "plan.toml").read_text())) == run.plan


def test_a_folder_that_holds_something_is_left_alone(run: lab.runs.Run) -> None:
    with pytest.raises(ExistsError, match="--continue"):
        run_only(tiny(), directory=run.folder)


def test_the_checksum_of_an_arm_is_written_down(tmp_path: Path) -> None:
    """An MD5 was booked as disk, for nobody could see that there was one."""
    arms = [{"method": "blocks", "block_size": "64KiB", "checksum": "md5"}, {"method": "baseline"}]
    done = run_only(tiny(arms=arms, replicates=1, warm_up=0), directory=tmp_path / "run")
    written = {json.loads(factors)["checksum"] for factors in done.cells["factors"]}
    assert written == {"md5", "crc64"}


@pytest.mark.long
def test_the_ceiling_is_that_of_the_link(tmp_path: Path) -> None:
    """Calibration: a rate that is known must be found."""
    samples: list[RunProgress] = []
    plan = tiny(
        target="emulated:rtt=10ms,conn=20mbit,total=200mbit",
        ceiling={"measure": True, "connections": 16, "time": "2s"},
        replicates=1,
        warm_up=0,
    )
    done = run_only(plan, directory=tmp_path / "run", on_progress=samples.append)
    assert done.manifest["ceiling"]["up_bits_per_second"] == pytest.approx(200e6, rel=0.1)
    # The plan moves nothing down, so that nothing would be told of it.
    assert "down_bits_per_second" not in done.manifest["ceiling"]
    # The time that it takes is part of the time that is left.
    left = [one.remaining_ns or 0 for one in samples if one.stage == "ceiling"]
    cells = next(one.remaining_ns or 0 for one in samples if one.stage == "cells")
    assert left[0] > cells + 3e9
    assert left[-1] < left[0]


@pytest.mark.long
def test_a_real_endpoint_is_left_as_it_was_found(tmp_path: Path) -> None:
    endpoint = start_emulator(store="memory", link="total=100mbit")
    try:
        haulage.copy(Path(__file__), endpoint.url("mine/already-there.py"))
        url = f"{endpoint.base}/mine?{endpoint.query}"
        plan = tiny(
            directions=["up", "down"],
            replicates=1,
            ceiling={"measure": True, "connections": 4, "time": "500ms"},
        )
        done = run_only(plan, url, tmp_path / "run")
        assert set(done.cells.outcome) == {"ok"}
        assert done.manifest["target"] == f"{endpoint.base}/mine"
        assert done.manifest["link"] is None
        assert done.manifest["ceiling"]["down_bits_per_second"] > 0
        names = [found.key for found in haulage.list(f"{endpoint.base}?{endpoint.query}", recursive=True)]
        assert names == ["mine/already-there.py"]
    finally:
        endpoint.close()
    written = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert endpoint.query.split("sig=")[1].encode() not in written


def test_a_tool_that_is_not_here_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("RCLONE", "/nowhere/rclone")
    plan = tiny(arms=[*TINY["arms"], {"method": "external", "tool": "rclone"}])
    left, why = available(plan)
    assert [arm.name for arm in left.arms] == ["baseline", "blocks 64KiB x4"]
    assert "RCLONE" in why["rclone"]
    with pytest.raises(NotFoundError):
        available(tiny(arms=[{"method": "external", "tool": "rclone"}]))


@pytest.mark.long
def test_the_machine_is_sampled_while_cells_run() -> None:
    with HostSampler() as sampler:
        sampler.begin(7)
        busy = time.monotonic() + 0.6
        while time.monotonic() < busy:
            # Lets other threads run, as a trial does.
            hashlib.sha256(bytes(1 << 20))
        rows = sampler.end()
    assert 3 <= len(rows) <= 8
    assert {row["cell"] for row in rows} == {7}
    assert max(row["process_cpu_share"] for row in rows) > 0.3
    for row in rows:
        shares = [row[f"cpu_{kind}_share"] for kind in ("user", "system", "idle", "steal")]
        assert sum(shares) == pytest.approx(1.0, abs=0.01)


def test_processors_are_taken_from_every_thread_and_given_back() -> None:
    before = os.sched_getaffinity(0)
    try:
        assert pin(1) == 1
        assert {len(os.sched_getaffinity(int(task.name))) for task in Path("/proc/self/task").iterdir()} == {
            1
        }
    finally:
        pin(None)
    assert os.sched_getaffinity(0) == before


@pytest.mark.long
def test_a_sweep_becomes_a_profile_that_the_mover_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    plan = tiny(
        target="emulated:rtt=10ms,conn=8mbit,total=32mbit",
        arms=[{"method": "blocks", "block_size": "64KiB", "concurrency": [1, 2, 4, 8]}],
        files=[{"size": "1MiB"}],
        warm_up=0,
        again="",
    )
    done = run_only(plan, directory=tmp_path / "run")
    found = profile.measure(done.folder)
    # Four connections of 8 Mbit/s fill the 32 of the link; the answers' way back asks for a few more.
    assert found[0].concurrency in (4, 8)
    path = profile.write(done.folder, name="here")
    assert path == tmp_path / "config/haulage/profiles/here.toml"
    values = tomllib.loads(path.read_text())
    assert values["concurrency"] == found[0].concurrency
    assert values["up"]["reasons"]
    with pytest.raises(UsageError, match="letters, digits, - and _ will do"):
        profile.write(done.folder, name="../there")


def test_a_plan_may_move_from_memory_to_memory(tmp_path: Path, sentence: Sentence) -> None:
    plan = tiny(
        source="memory",
        directions=["up", "down"],
        arms=[{"method": "ceiling", "concurrency": 4, "block_size": "64KiB"}],
        again="",
        replicates=1,
    )
    done = run_only(plan, directory=tmp_path / "run")
    assert set(done.cells.outcome) == {"ok"}
    assert list(done.cells.bytes.sort_values()) == [30_000, 30_000, 30_000, 300_000, 300_000]
    assert profile.write(done.folder) is None, "nothing was swept"
    # The memory is given back when the run ends.
    held = list(haulage.list(f"mem://lab-{done.manifest['run']}/", recursive=True))
    assert [item.size_bytes for item in held] == [0] * 4
    with pytest.raises(UsageError) as error:
        tiny(source="memory", arms=[{"method": "ranges"}])
    sentence(error.value)


def test_a_cell_that_fails_is_a_row_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def spoil(progress: RunProgress) -> None:
        for path in tmp_path.glob("haulage-lab-*/source/300KB/*"):
            if progress.stage == "cells":
                path.unlink()

    done = run_only(tiny(replicates=1, again=""), directory=tmp_path / "run", on_progress=spoil)
    assert done.state == "complete"
    outcomes = done.cells.set_index(["size_bytes", "cell"]).outcome
    assert set(outcomes[300_000]) == {"not_found"}
    assert set(outcomes[10_000]) == {"ok"}
    assert (done.cells[done.cells.outcome != "ok"].bytes == 0).all()
    assert list(tmp_path.glob("haulage-lab-*")) == []


def test_an_endpoint_is_not_held_to_the_processors_of_a_cell(tmp_path: Path) -> None:
    seen: list[int] = []

    def look(progress: RunProgress) -> None:
        if progress.treatment is None:
            return
        me = os.getpid()
        text = Path(f"/proc/{me}/task/{me}/children").read_text()
        seen.extend(len(os.sched_getaffinity(int(pid))) for pid in text.split())

    nodes = [{"name": "one", "cpus": 1, "link": "rtt=1ms"}, {"name": "other", "cpus": 1, "link": "rtt=2ms"}]
    done = run_only(tiny(nodes=nodes, replicates=1), directory=tmp_path / "run", on_progress=look)
    assert seen
    assert set(seen) == {len(os.sched_getaffinity(0))}
    assert {json.loads(text)["cpus_used"] for text in done.cells.factors} == {1}


@pytest.mark.long
def test_a_node_may_have_another_link_down(tmp_path: Path) -> None:
    nodes = [{"name": "one", "link": "rtt=1ms,total=20mbit", "link_down": "rtt=1ms,total=200mbit"}]
    plan = tiny(nodes=nodes, replicates=1, again="", directions=["up", "down"], files=[{"size": "500KB"}])
    cells = run_only(plan, directory=tmp_path / "run").cells
    baseline = cells[(cells.method == "baseline") & ~cells.warmup].set_index("direction")
    rates = 8e9 * baseline.bytes / baseline.wall_ns
    assert rates["up"] < 25e6 < 60e6 < rates["down"]
    assert json.loads(baseline.factors["down"])["node_link"] == "rtt=1ms,total=200mbit"


def test_python_confirms_and_reports_as_the_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    monkeypatch.setattr("haulage.lab.confirming.confirm", lambda folder, *_, **__: asked.append(folder))
    written: list[Path] = []

    def write(folder: Path) -> None:
        (folder / "SHA256SUMS").touch()
        (folder / "report.html").touch()
        written.append(folder)

    monkeypatch.setattr(importlib.import_module("haulage.lab.report.page"), "write", write)
    notes: list[str] = []
    done = lab.run(tiny(replicates=1), directory=tmp_path / "run", on_note=notes.append)
    assert asked == written == [tmp_path / "run"]
    assert done.page == tmp_path / "run/report.html"
    assert notes[0] == (
        "why not faster: checking the cause with short transfers, twice as many if the first leave it open"
    )
    assert notes[1] == "nothing to confirm"
    assert any(note.startswith("SHA-256 of ") for note in notes)


def test_functions_of_the_lab_stay_functions() -> None:
    code = "from haulage import lab; import haulage.lab.report.palette; assert callable(lab.report)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_run_goes_nowhere_that_is_taken(tmp_path: Path) -> None:
    plan = tiny(replicates=1)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/thesis.tex").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "dangling", tmp_path / "foreign", "/"):
        with pytest.raises(ExistsError):
            run_only(plan, directory=place)
    with pytest.raises(LocalIOError):
        run_only(plan, directory=tmp_path / "file/below")
    for empty in ("", " "):
        with pytest.raises(UsageError, match="an empty name"):
            run_only(plan, directory=empty)
    assert (tmp_path / "file").read_text() == "mine"
    assert [path.name for path in (tmp_path / "foreign").iterdir()] == ["thesis.tex"]


def test_an_emulator_ends_with_the_process_that_started_it() -> None:
    """Seven were left behind by runs that were killed; one of them competed with what was measured."""
    starts = "from haulage.lab.target import start_emulator; import time; "
    starts += "print(start_emulator(store='memory')._process.pid, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", starts], stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        emulator = psutil.Process(int(lab.stdout.readline()))
        lab.kill()
        psutil.wait_procs([emulator], timeout=20)
        assert not emulator.is_running() or emulator.status() == psutil.STATUS_ZOMBIE
