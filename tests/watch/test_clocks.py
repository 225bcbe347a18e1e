"""A machine's clock may be wrong: it is there if it wrote just now, by the clock of what keeps the log."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

import haulage
from haulage.watch import state as states
from haulage.watch.line import Line
from haulage.watch.state import State
from haulage.watch.updates import apply, tick
from watch.stepping import Clock, InFolderAt, watched
from watch.writing import JOB, SECOND, T0, InBlobs, InFolder, Writer

BEHIND, AHEAD = -10, 600


class Job:
    """One that writes once a look, and whose clock is off by so many seconds."""

    def __init__(self, writer: Writer) -> None:
        self._writer, self._done = writer, 0
        writer.start()

    def goes_on(self) -> None:
        self._done += 1
        self._writer.progress(self._done, 1000)


def job_in(folder: InFolder, clock: Clock, off: int) -> Job:
    return Job(Writer(InFolderAt(folder, clock), now=lambda: clock() + off * SECOND))


@pytest.mark.parametrize("off", [0, BEHIND, AHEAD])
def test_one_that_is_there_is_running_whatever_its_clock_says(folder: InFolder, off: int) -> None:
    clock = Clock()
    job = job_in(folder, clock, off)
    found = watched(folder.root, clock, job.goes_on)
    assert (found.code, found.health) == (0, {"alive": 1})


@pytest.mark.parametrize("off", [0, BEHIND, AHEAD])
def test_one_that_was_killed_is_silent_whatever_its_clock_says(folder: InFolder, off: int) -> None:
    clock = Clock()
    job_in(folder, clock, off).goes_on()
    clock.skip(20)
    found = watched(folder.root, clock)
    assert (found.code, found.health) == (1, {"silent": 1})


def test_in_a_store_it_is_the_clock_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    with haulage.Emulator() as emulator:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
        haulage.make_container("az://logs")
        clock = Clock()
        job = Job(Writer(InBlobs("az://logs"), now=lambda: clock() + BEHIND * SECOND))
        found = watched("az://logs", clock, job.goes_on)
        assert (found.code, found.health) == (0, {"alive": 1})
        Writer(InBlobs("az://logs/dead"), now=lambda: clock() + AHEAD * SECOND).start()
        clock = Clock()
        clock.skip(5)
        found = watched("az://logs/dead", clock)
        assert (found.code, found.health) == (1, {"silent": 1})


def test_the_first_look_says_of_nobody_that_it_is_silent(folder: InFolder) -> None:
    clock = Clock()
    job = job_in(folder, clock, BEHIND)
    found = watched(folder.root, clock, job.goes_on, once=False, seconds=4)
    assert {line.event for line in found.lines} == {"job_started", "progress"}
    assert not [message for _, message in found.said if message.event == "silent"]


def test_what_is_killed_is_shown_within_5_s(folder: InFolder) -> None:
    clock = Clock()
    job = job_in(folder, clock, 0)
    written: list[int] = []

    def write_for_a_while() -> None:
        if len(written) < 3:
            job.goes_on()
            written.append(clock())

    found = watched(folder.root, clock, write_for_a_while, once=False, seconds=10)
    (at_ns,) = (at_ns for at_ns, message in found.said if message.event == "silent")
    assert 3.5 < (at_ns - written[-1]) / SECOND < 5


def test_the_log_of_one_that_was_killed_is_silent_though_it_was_copied_just_now(
    folder: InFolder, tmp_path: Path
) -> None:
    """Every file of a copy is new. One that is there would write again, which is waited for."""
    clock = Clock()
    job_in(folder, clock, 0).goes_on()
    clock.skip(3600)
    copy = tmp_path / "copy"
    shutil.copytree(folder.root, copy)
    clock.stamp(*(file for file in copy.rglob("*") if file.is_file()))
    began = clock()
    found = watched(copy, clock)
    assert (found.code, found.health) == (1, {"silent": 1})
    assert (clock() - began) / SECOND < 5


def lines_of_cp(at_ns: int) -> bytes:
    start = {"job": JOB, "node": "n", "operation": "copy", "sources": ["data/"], "destination": "az://c/"}
    return json.dumps({"event": "job_started", **start, "started_unix_ns": at_ns}).encode() + b"\n"


@pytest.mark.parametrize("off", [0, BEHIND, AHEAD])
@pytest.mark.parametrize(("there", "code"), [(True, 0), (False, 1)])
def test_of_a_file_of_lines_it_is_when_it_was_written_to(
    tmp_path: Path, off: int, there: bool, code: int
) -> None:
    clock, path = Clock(), tmp_path / "run.jsonl"
    path.write_bytes(lines_of_cp(clock() + off * SECOND))
    clock.stamp(path)
    elapsed_s = 0

    def goes_on() -> None:
        nonlocal elapsed_s
        elapsed_s += 1
        with path.open("ab") as file:
            file.write(json.dumps({"event": "progress", "elapsed_ns": elapsed_s * SECOND}).encode() + b"\n")
        clock.stamp(path)

    if there:
        found = watched(path, clock, goes_on)
    else:
        clock.skip(20)
        found = watched(path, clock)
    assert (found.code, found.health) == (code, {"alive": 1} if there else {"silent": 1})


def test_old_lines_through_a_pipe_are_not_of_one_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come now, whenever they were written."""
    clock = Clock()
    read, write = os.pipe()
    with os.fdopen(read) as stdin, os.fdopen(write, "wb") as writer:
        monkeypatch.setattr(sys, "stdin", stdin)
        writer.write(lines_of_cp(clock() - 3600 * SECOND))
        writer.flush()
        found = watched("-", clock)
    assert (found.code, found.health) == (1, {"silent": 1})


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
