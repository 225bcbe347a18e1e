"""Another file under a name that is watched is another job, and what was counted stays counted once."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import haulage
from command import Haul
from haulage.watch.line import Line
from haulage.watch.lines import Lines
from haulage.watch.log import Log
from haulage.watch.places import Folder, Place, Prefix
from haulage.watch.snapshot import snapshot
from haulage.watch.state import State
from haulage.watch.updates import apply
from watch.writing import JOB, SECOND, T0, InBlobs, InFolder, Writer, object_fields, progress_fields

OTHER = "fedcba9876543210"


def run_of(job: str, done: int, *, exit_code: int | None = None) -> bytes:
    """Return the lines of ``haul cp --json``, of so many objects."""
    start = {"job": job, "node": "n", "operation": "copy", "sources": ["data/"], "destination": "az://c/"}
    lines: list[dict[str, Any]] = [{"event": "job_started", **start, "started_unix_ns": T0}]
    lines += [{"event": "object", **object_fields(f"{number}.nc")} for number in range(done)]
    lines.append({"event": "progress", **progress_fields(done, done)})
    if exit_code is not None:
        counts = {"objects_total": done, "objects_done": done, "bytes_done": 1000 * done}
        lines.append({"event": "summary", "operation": "copy", "exit_code": exit_code, **counts})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


class Watched:
    """A file that is looked at, with what is known of it."""

    def __init__(self, path: Path) -> None:
        self.path, self.state = path, State()
        self.lines = Lines(str(path), lambda: T0 + SECOND)
        self.read: list[Line] = []

    def look(self) -> dict[str, Any]:
        """Return what each job has done, and how it is."""
        for batch in self.lines.read():
            self.read += batch.lines
            for line in batch.lines:
                apply(self.state, line, T0 + SECOND, live=batch.live, modified_ns=batch.modified_ns)
        shown = snapshot(self.state, T0 + SECOND, source="file")
        return {job["job"]: (job["objects_done"], job["health"]) for job in shown["jobs"]}


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    found = Watched(tmp_path / "run.jsonl")
    with closing(found.lines):
        yield found


def emptied(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def renamed(path: Path, data: bytes) -> None:
    path.rename(f"{path}.1")
    path.write_bytes(data)


def put_in_place(path: Path, data: bytes) -> None:
    other = path.with_name("other")
    other.write_bytes(data)
    other.rename(path)


@pytest.mark.parametrize("replace", [emptied, renamed, put_in_place])
@pytest.mark.parametrize("done", [1, 5, 500])
def test_a_new_run_in_the_same_file_is_another_job(
    watched: Watched, replace: Callable[[Path, bytes], None], done: int
) -> None:
    """If it was longer than the old one, the failed job had done what the new one did, and was done."""
    watched.path.write_bytes(run_of(JOB, 5, exit_code=1))
    assert watched.look() == {JOB: (5, "failed")}
    replace(watched.path, run_of(OTHER, done, exit_code=0))
    assert watched.look() == {JOB: (5, "failed"), OTHER: (done, "done")}
    assert watched.look() == {JOB: (5, "failed"), OTHER: (done, "done")}
    with watched.path.open("ab") as file:
        file.write(run_of("a" * 16, 2))
    assert watched.look()["a" * 16] == (2, "alive")


def test_a_new_run_of_the_same_length_is_another_job(watched: Watched) -> None:
    watched.path.write_bytes(run_of(JOB, 5))
    watched.look()
    watched.path.write_bytes(run_of(OTHER, 5))
    assert [*watched.look()] == [JOB, OTHER]


def test_what_was_written_before_a_file_was_renamed_is_read(watched: Watched) -> None:
    whole = run_of(JOB, 9, exit_code=0)
    watched.path.write_bytes(whole[:1500])
    watched.look()
    with watched.path.open("ab") as file:
        file.write(whole[1500:])
    renamed(watched.path, run_of(OTHER, 3))
    assert watched.look() == {JOB: (9, "done"), OTHER: (3, "alive")}


def test_lines_that_come_again_count_once(watched: Watched) -> None:
    watched.path.write_bytes(run_of(JOB, 5, exit_code=1))
    watched.look()
    renamed(watched.path, run_of(OTHER, 9))
    before = watched.look()
    # The old file again: by itself, and in front of the new one, as when both are joined.
    rotated = Path(f"{watched.path}.1").read_bytes()
    renamed(watched.path, rotated)
    assert watched.look() == before
    emptied(watched.path, rotated + run_of(OTHER, 9))
    assert watched.look() == before
    assert sum(line.event == "object" for line in watched.read) == 5 + 9


def test_a_copy_that_is_made_again_and_again_is_one_file(watched: Watched) -> None:
    """As rsync makes it: each time another file, which begins as the last one did."""
    whole = run_of(JOB, 200, exit_code=0)
    for part in range(1, 11):
        put_in_place(watched.path, whole[: len(whole) * part // 10])
        watched.look()
    assert watched.look() == {JOB: (200, "done")}
    assert len(watched.read) == whole.count(b"\n")


def test_a_copy_that_is_made_in_place_counts_once(watched: Watched) -> None:
    """As scp makes it: the file is empty for a moment."""
    whole = run_of(JOB, 200, exit_code=0)
    for part in range(1, 11):
        watched.path.write_bytes(b"")
        watched.look()
        watched.path.write_bytes(whole[: len(whole) * part // 10])
        watched.look()
    assert watched.look() == {JOB: (200, "done")}
    assert len(watched.read) == whole.count(b"\n")


def test_a_job_goes_on_writing_to_a_file_that_is_emptied(watched: Watched) -> None:
    """As logrotate does it with copytruncate."""
    lines = run_of(JOB, 9, exit_code=0).splitlines(keepends=True)
    watched.path.write_bytes(b"".join(lines[:6]))
    watched.look()
    shutil.copy(watched.path, f"{watched.path}.1")
    emptied(watched.path, b"".join(lines[6:]))
    assert watched.look() == {JOB: (9, "done")}


def test_a_job_that_runs_again_in_one_file_counts_again(watched: Watched) -> None:
    watched.path.write_bytes(run_of(JOB, 5, exit_code=1))
    again = run_of(JOB, 9, exit_code=0).replace(str(T0).encode(), str(T0 + SECOND).encode())
    with watched.path.open("ab") as file:
        file.write(again)
    assert watched.look() == {JOB: (9, "done")}
    assert len(watched.read) == run_of(JOB, 5, exit_code=1).count(b"\n") + again.count(b"\n")


def test_the_command_shows_both_jobs_of_a_file_that_was_replaced(haul: Haul, tmp_path: Path) -> None:
    for folder, files in (("few", 3), ("many", 60)):
        (tmp_path / folder).mkdir()
        for number in range(files):
            (tmp_path / folder / str(number)).write_bytes(bytes(1000))
    failed = haul("cp", "few", "missing", "copy", "--json", code=1).stdout
    (tmp_path / "run.jsonl").write_bytes(failed)
    watching = haul.start("watch", "run.jsonl", "--follow", "--json")
    assert watching.stdout is not None
    shown = json.loads(watching.stdout.readline())
    while not shown["jobs"]:
        shown = json.loads(watching.stdout.readline())
    done = haul("cp", "many", "copy", "--json").stdout
    assert len(done) > len(failed)
    (tmp_path / "run.jsonl").write_bytes(done)
    give_up = time.monotonic() + 15
    while len(shown["jobs"]) < 2:
        assert time.monotonic() < give_up
        shown = json.loads(watching.stdout.readline())
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=10)
    assert sorted((job["health"], job["objects_done"]) for job in shown["jobs"])[0] == ("done", 60)
    assert (shown["health"], shown["exit_code"]) == ({"failed": 1, "done": 1}, 1)


@pytest.fixture(params=["folder", "az"])
def kept(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Callable[[str, bytes], object], Place, Callable[[str, bytes], object]]]:
    """Return what adds to a file of a log, where the log lies, and what replaces a file."""
    if request.param == "folder":
        root = tmp_path / "log"
        yield (
            InFolder(root),
            Folder(root),
            lambda name, data: (root / name / "000000.jsonl").write_bytes(data),
        )
        return
    with haulage.Emulator() as emulator:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
        haulage.make_container("az://logs")
        yield (
            InBlobs("az://logs"),
            Prefix("az://logs", {}),
            lambda name, data: haulage.put(f"az://logs/{name}/000000.jsonl", data),
        )


@pytest.mark.parametrize("other", [2, 40])
def test_a_file_of_a_log_that_was_replaced_is_read_anew(
    kept: tuple[Callable[[str, bytes], object], Place, Callable[[str, bytes], object]], other: int
) -> None:
    keep, place, replace = kept
    writer = Writer(keep)
    for number in range(10):
        writer.say("log", message=str(number))
    log = Log(place, time.time_ns)
    with closing(log):
        first = [line for batch in log.read() for line in batch.lines]
        assert len(first) == 10
        texts: list[bytes] = []
        second = Writer(lambda _, data: texts.append(data), "node-2", job=OTHER)
        for number in range(other):
            second.say("log", message=f"new {number}")
        replace(f"{writer.job}/{writer.node}.{writer.stream}", b"".join(texts))
        found = [line for _ in range(3) for batch in log.read() for line in batch.lines]
        assert {line.job for line in found} == {OTHER}
        assert [line.seq for line in found] == [*range(other)]


def test_a_file_of_a_log_that_is_restored_counts_once(folder: InFolder) -> None:
    writer = Writer(folder)
    lines = [writer.line("log", message=str(number)) for number in range(10)]
    writer.write(lines[:8])
    log = Log(Folder(folder.root), time.time_ns)
    with closing(log):
        found = [line for batch in log.read() for line in batch.lines]
        (file,) = folder.root.glob("*/*/*")
        file.write_bytes(b"")
        writer.write(lines[:5])
        found += [line for batch in log.read() for line in batch.lines]
        writer.write(lines[5:])
        found += [line for batch in log.read() for line in batch.lines]
    assert [line.seq for line in found] == [*range(10)]
