"""A machine's clock may be wrong: it is there if it wrote just now, by the clock of what keeps the log."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import haulage
from command import HAUL, Haul
from haulage.watch import state as states
from haulage.watch.applying import apply, tick
from haulage.watch.line import Line
from haulage.watch.state import State
from watch.writing import JOB, SECOND, T0, InBlobs, InFolder, Writer

BEHIND, AHEAD = -10, 600


def writer_of(keep: Callable[[str, bytes], object], seconds: int) -> Writer:
    """Return one whose clock is off by so much."""
    return Writer(keep, now=lambda: time.time_ns() + seconds * SECOND)


@contextmanager
def writing(writer: Writer) -> Iterator[None]:
    """Write as a job does that is there: once a second."""
    writer.start()
    stopped = threading.Event()

    def write() -> None:
        done = 0
        while not stopped.wait(0.5):
            done += 1
            writer.progress(done, 1000)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def killed(folder: InFolder, seconds: int, *, ago: float) -> None:
    """Leave the log of a job that was killed so many seconds ago, of a clock that is off."""
    writer = writer_of(folder, seconds)
    writer._now = lambda: time.time_ns() + int((seconds - ago) * SECOND)
    writer.start()
    writer.progress(1, 9)
    for file in folder.root.glob("*/*/*"):
        os.utime(file, (time.time() - ago,) * 2)


def health_of(haul: Haul, source: str | Path, code: int) -> dict[str, int]:
    shown = json.loads(haul("watch", source, "--once", "--json", "--csv", "rows.csv", code=code).text)
    with (haul.folder / "rows.csv").open(newline="") as file:
        silent = sum(row["event"] == "silent" for row in csv.DictReader(file))
    assert silent == shown["health"].get("silent", 0)
    return dict(shown["health"])


@pytest.mark.parametrize("seconds", [0, BEHIND, AHEAD])
def test_one_that_is_there_is_running_whatever_its_clock_says(
    haul: Haul, folder: InFolder, seconds: int
) -> None:
    with writing(writer_of(folder, seconds)):
        assert health_of(haul, folder.root, 0) == {"alive": 1}


@pytest.mark.parametrize("seconds", [0, BEHIND, AHEAD])
def test_one_that_was_killed_is_silent_whatever_its_clock_says(
    haul: Haul, folder: InFolder, seconds: int
) -> None:
    killed(folder, seconds, ago=20)
    assert health_of(haul, folder.root, 1) == {"silent": 1}


def test_in_a_store_it_is_the_clock_of_the_service(haul: Haul, monkeypatch: pytest.MonkeyPatch) -> None:
    with haulage.Emulator() as emulator:
        for env in (haul.env, os.environ):
            monkeypatch.setitem(env, "AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
        haulage.make_container("az://logs")
        with writing(writer_of(InBlobs("az://logs"), BEHIND)):
            assert health_of(haul, "az://logs", 0) == {"alive": 1}
        dead = writer_of(InBlobs("az://logs/dead"), AHEAD)
        dead.start()
        time.sleep(5)
        assert health_of(haul, "az://logs/dead", 1) == {"silent": 1}


def test_the_first_look_says_of_nobody_that_it_is_silent(haul: Haul, folder: InFolder) -> None:
    with writing(writer_of(folder, BEHIND)):
        watching = haul.start("watch", folder.root, "--quiet", "--csv", "rows.csv")
        time.sleep(4)
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=10)
    with (haul.folder / "rows.csv").open(newline="") as file:
        events = [row["event"] for row in csv.DictReader(file)]
    assert events == ["job_started"]


def test_the_log_of_one_that_was_killed_is_silent_though_it_was_copied_just_now(
    haul: Haul, folder: InFolder
) -> None:
    """Every file of a copy is new. One that is there would write again, which is waited for."""
    killed(folder, 0, ago=3600)
    shutil.copytree(folder.root, haul.folder / "copy", copy_function=shutil.copyfile)
    began = time.monotonic()
    assert health_of(haul, "copy", 1) == {"silent": 1}
    assert time.monotonic() - began < 12


def lines_of_cp(ago: float) -> bytes:
    start = {"job": JOB, "node": "n", "operation": "copy", "sources": ["data/"], "destination": "az://c/"}
    started = {"event": "job_started", **start, "started_unix_ns": time.time_ns() - int(ago * SECOND)}
    return json.dumps(started).encode() + b"\n"


@pytest.mark.parametrize("clock", [0, BEHIND, AHEAD])
@pytest.mark.parametrize(("there", "code"), [(True, 0), (False, 1)])
def test_of_a_file_of_lines_it_is_when_it_was_written_to(
    haul: Haul, clock: int, there: bool, code: int
) -> None:
    path = haul.folder / "run.jsonl"
    path.write_bytes(lines_of_cp(-clock if there else 20 - clock))
    if not there:
        os.utime(path, (time.time() - 20,) * 2)
        assert health_of(haul, "run.jsonl", code) == {"silent": 1}
        return
    watching = haul.start("watch", "run.jsonl", "--once", "--json")
    for done in range(6):
        with path.open("ab") as file:
            file.write(json.dumps({"event": "progress", "elapsed_ns": done * SECOND}).encode() + b"\n")
        time.sleep(0.5)
    out, _ = watching.communicate(timeout=20)
    assert (watching.returncode, json.loads(out)["health"]) == (code, {"alive": 1})


def test_old_lines_through_a_pipe_are_not_of_one_that_is_there(haul: Haul) -> None:
    """They come now, whenever they were written."""
    with subprocess.Popen(
        [str(HAUL), "watch", "-", "--once", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=haul.env,
    ) as watching:
        assert watching.stdin is not None
        assert watching.stdout is not None
        watching.stdin.write(lines_of_cp(3600))
        watching.stdin.flush()
        shown: dict[str, Any] = json.loads(watching.stdout.readline())
        assert shown["health"] == {"silent": 1}
        watching.stdin.close()
        assert watching.wait(20) == 1


def test_a_clock_of_the_store_that_is_behind_makes_nobody_silent() -> None:
    state, now = State(), T0
    values = {"event": "job_started", "operation": "copy"}
    line = Line(JOB, "n", "s", 0, T0, "job_started", values)
    apply(state, line, now, live=False, modified_ns=now - 10 * SECOND)
    states.read(state, now)
    assert tick(state, now) == []
    for seq in range(1, 8):
        now += SECOND
        sample = line._replace(seq=seq, time_unix_ns=now, event="progress", values={"event": "progress"})
        apply(state, sample, now)
        states.read(state, now)
        assert tick(state, now) == []
    # Of one that writes nothing it is said once that was listened for.
    for _ in range(5):
        now += SECOND
        states.read(state, now)
    assert len(tick(state, now)) == 1
