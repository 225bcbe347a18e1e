"""Runs that stop, by whatever it may be, and runs that go on or are repeated."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from haulage import lab
from haulage.errors import IntegrityError, NotFoundError, UsageError
from haulage.lab.runner import RunProgress, beside
from haulage.lab.schedule import schedule
from haulage.lab.stop import narrow_enough, relative_width
from lab.tiny_plan import run_only, tiny
from sentences import Sentence


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> lab.runs.Run:
    return run_only(tiny(directions=["up", "down"]), directory=tmp_path_factory.mktemp("lab") / "run")


def test_what_stops_a_run_leaves_one_that_goes_on(tmp_path: Path) -> None:
    def stop(progress: RunProgress) -> None:
        if progress.cells_done == 3:
            # As a mover does that is still ending.
            (tmp_path / "run" / "attempts" / ".haul-0003.parquet.partial").write_bytes(b"a part")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_only(tiny(), directory=tmp_path / "run", on_progress=stop)
    stopped = lab.load(tmp_path / "run")
    assert not [name for name in stopped.manifest["files"] if name.endswith(".partial")]
    assert (stopped.state, stopped.manifest["stopped_because"]) == ("stopped", "interrupted")
    before = stopped.cells
    assert len(before) == 3
    done = lab.resume(tmp_path / "run", confirm=False, report=False)
    assert done.state == "complete"
    assert list(done.cells.cell) == list(range(13))
    # What was finished was not run again.
    assert list(done.cells.began_unix_ns[:3]) == list(before.began_unix_ns)
    assert list(done.cells.treatment) == [cell.treatment for cell in schedule(done.plan)]


def test_ctrl_c_stops_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    slow = tmp_path / "slow.toml"
    slow.write_text(tiny(target="emulated:total=10kbit", files=[{"size": "2MB"}]).to_toml())
    command = [sys.executable, "-m", "haulage", "lab", "run", str(slow), "--out", str(tmp_path / "run")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 30
    while not children(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.0)
    there = children(process.pid)
    assert there, "the emulator is a child"
    process.send_signal(signal.SIGINT)
    # The cell that is interrupted would take half an hour.
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"--continue" in said
    assert b"Traceback" not in said
    assert not [pid for pid in there if Path(f"/proc/{pid}").exists()]
    assert lab.load(tmp_path / "run").manifest["stopped_because"] == "interrupted"


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def test_another_plan_cannot_continue_a_run(run: lab.runs.Run, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        lab.resume(tmp_path)
    with pytest.raises(UsageError, match="another plan or target"):
        lab.resume(run.folder, target="emulated:none")


def test_a_run_goes_on_only_from_what_was_recorded(tmp_path: Path, sentence: Sentence) -> None:
    def stop(progress: RunProgress) -> None:
        if progress.cells_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_only(tiny(), directory=tmp_path / "run", on_progress=stop)
    cell = tmp_path / "run/cells/0001.json"
    cell.write_text(cell.read_text() + " ")
    with pytest.raises(IntegrityError) as error:
        lab.resume(tmp_path / "run")
    sentence(error.value)


def test_time_is_bounded_and_said(tmp_path: Path) -> None:
    done = run_only(tiny(time_bound="1ms"), directory=tmp_path / "run")
    assert (done.state, done.manifest["stopped_because"]) == ("stopped", "time")


def test_a_narrow_interval_ends_a_run_early(tmp_path: Path) -> None:
    plan = tiny(replicates=40, again="", stop={"relative_width": 100.0, "at_least": 6}, warm_up=0)
    done = run_only(plan, directory=tmp_path / "run")
    assert done.state == "complete"
    assert str(done.manifest["stopped_because"]).startswith("interval narrow enough")
    assert done.manifest["cells_done"] == 6 * 4


def test_the_interval_of_a_median_needs_six() -> None:
    assert relative_width([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    assert relative_width([9.0, 10.0, 10.0, 10.0, 10.0, 11.0]) == pytest.approx(0.2)
    rows = [
        {"warmup": False, "outcome": "ok", "treatment": "a", "size_bytes": 1, "wall_ns": wall}
        for wall in (99, 100, 100, 100, 100, 101)
    ]
    plan = tiny(stop={"relative_width": 0.05})
    assert narrow_enough(plan, rows) is not None
    assert narrow_enough(plan, rows[:5]) is None
    assert narrow_enough(tiny(stop={"relative_width": 0.01}), rows) is None
    assert narrow_enough(tiny(), rows) is None


def test_a_rerun_has_the_same_order_in_a_folder_of_its_own(run: lab.runs.Run) -> None:
    again = lab.rerun(run.folder)
    assert again.folder.name == f"{run.folder.name}-rerun-1"
    assert list(again.cells.treatment) == list(run.cells.treatment)
    assert list(again.cells.seed) == list(run.cells.seed)
    assert again.manifest["plan_sha256"] == run.manifest["plan_sha256"]


def test_a_repetition_of_the_working_folder_goes_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    assert beside(Path()) == tmp_path / "mine-rerun-1"
