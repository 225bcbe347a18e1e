"""Reading a log as it grows: each line once, in order, however it was written."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as some

import haulage
from haulage.errors import ConnectionLostError, NotFoundError
from haulage.watch import log as logs
from haulage.watch.line import Line, Seen
from haulage.watch.log import Log
from haulage.watch.places import File, Folder, Place, Prefix
from sentences import Sentence
from watch.writing import InBlobs, InFolder, InObjects, Writer


def read(log: Log) -> list[Line]:
    return [line for batch in log.read() for line in batch.lines]


def numbers(lines: list[Line]) -> list[int]:
    return [line.seq for line in lines if line.seq is not None]


@pytest.fixture(params=["folder", "az", "s3"])
def written(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Callable[[str, bytes], object], Place]]:
    """Return what keeps the bytes of a log, and the place to read it from."""
    if request.param == "folder":
        yield InFolder(tmp_path / "log", full_bytes=2000), Folder(tmp_path / "log")
        return
    with haulage.Emulator() as emulator:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
        monkeypatch.setenv("AWS_ENDPOINT_URL", emulator.s3["endpoint_url"])
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", emulator.s3["aws_access_key_id"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", emulator.s3["aws_secret_access_key"])
        _container(emulator)
        url = f"{request.param}://logs/some/prefix"
        keep = InBlobs(url) if request.param == "az" else InObjects(url)
        yield keep, Prefix(url, {})


@pytest.fixture
def s3_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with haulage.Emulator() as emulator:
        monkeypatch.setenv("AWS_ENDPOINT_URL", emulator.s3["endpoint_url"])
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", emulator.s3["aws_access_key_id"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", emulator.s3["aws_secret_access_key"])
        _container(emulator)
        yield "s3://logs/some/prefix"


def _container(emulator: haulage.Emulator) -> None:
    from azure.storage.blob import BlobServiceClient

    BlobServiceClient.from_connection_string(emulator.connection_string).create_container("logs")


def test_a_log_below_another_does_not_disturb_it(
    written: tuple[Callable[[str, bytes], object], Place],
    sentence: Sentence,
) -> None:
    """In a store its files were taken for those of the log above, from which they could not be read."""
    keep, place = written
    above, below = Writer(keep), Writer(lambda name, data: keep(f"sub/{name}", data), job="fedcba9876543210")
    below.start()
    if isinstance(place, Prefix):
        with pytest.raises(NotFoundError) as caught:
            [*place.files(None)]
        sentence(caught.value)
    above.start()
    assert {file.job for file in place.files(None)} == {above.job}
    assert [line.job for line in read(Log(place, time.time_ns))] == [above.job]


@pytest.mark.parametrize("name", ["logs", "logs/a b", "logs/logs", "logs/a%23#"])
def test_a_log_is_found_by_each_spelling_of_its_url(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with haulage.Emulator() as emulator:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
        _container(emulator)
        writer = Writer(InBlobs(f"az://{name}"))
        writer.start()
        https = f"{emulator.endpoint}/{quote(name)}"
        for url in (f"az://{name}", f"az://{name}/", https, f"{https}/", f"az://{name}/{writer.job}"):
            (file,) = Prefix(url, {}).files(None)
            assert file.job == writer.job
            assert len(read(Log(Prefix(url, {}), time.time_ns))) == 1


class Counted(Prefix):
    """Counts how often all is listed."""

    lists = 0

    def files(self, job: str | None) -> Iterator[File]:
        self.lists += 1
        return super().files(job)


def test_many_pieces_are_not_listed_at_each_look(monkeypatch: pytest.MonkeyPatch, s3_log: str) -> None:
    monkeypatch.setattr("haulage.watch.log.MANY", 5)
    clock = [time.time_ns()]
    keep, place = InObjects(s3_log), Counted(s3_log, {})
    writers = [Writer(keep, f"node-{number}") for number in range(2)]
    for number in range(4):
        for writer in writers:
            writer.say("log", message=str(number))
    log = Log(place, lambda: clock[0])
    assert len(read(log)) == 8
    for step in range(3):
        for writer in writers:
            writer.say("log", message=f"more {step}")
            writer.say("log", message=f"and more {step}")
        assert len(read(log)) == 4
    # A stream and a job that begin meanwhile are found.
    Writer(keep, "node-7").say("log", message="late")
    Writer(keep, "other", job="f" * 16).say("log", message="another job")
    assert {line.node for line in read(log)} == {"node-7", "other"}
    assert read(log) == []
    assert place.lists == 2, "all of it once, and the job that is new"
    # A stream that was asleep is looked for with all of it.
    clock[0] += logs.ASLEEP_NS
    writers[0].say("log", message="awake")
    assert len(read(log)) == 1
    assert place.lists == 3
    log.close()


def test_lines_come_once_while_the_log_grows(
    written: tuple[Callable[[str, bytes], object], Place],
) -> None:
    keep, place = written
    log = Log(place, time.time_ns)
    with pytest.raises(NotFoundError):
        read(log)
    writers = [Writer(keep, f"node-{number}") for number in range(3)]
    seen: list[Line] = []
    for round_ in range(5):
        for writer in writers:
            for number in range(10):
                writer.object(f"{round_}/{number}")
        seen += read(log)
    assert read(log) == []
    for writer in writers:
        assert numbers([line for line in seen if line.node == writer.node]) == [*range(50)]
    assert {line.event for line in seen} == {"object"}


def test_only_what_is_new_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with haulage.Emulator() as emulator:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
        _container(emulator)
        writer = Writer(InBlobs("az://logs"))
        writer.write([writer.line("log", message="x" * 1000) for _ in range(2000)])
        log = Log(Prefix("az://logs", {}), time.time_ns)
        assert len(read(log)) == 2000
        before = emulator.stats()["bytes_out"]
        said = writer.say("log", message="one more")
        assert [line.values for line in read(log)] == [said]
        after = emulator.stats()
        # The list of the one file, and the line.
        assert after["bytes_out"] - before < 3000


def test_a_line_that_is_not_whole_is_read_later(folder: InFolder) -> None:
    writer = Writer(folder)
    log = Log(Folder(folder.root), time.time_ns)
    writer.start()
    assert len(read(log)) == 1
    writer.raw(b'{"job": "' + writer.job.encode())
    assert read(log) == []
    writer.raw(b'", "node": "\xc3')
    assert read(log) == []
    writer.raw(
        b'\xa9", "stream": "' + writer.stream.encode() + b'", "seq": 1, "time_unix_ns": 5, "event": "log"}\n'
    )
    (line,) = read(log)
    assert (line.node, line.seq) == ("é", 1)


def test_a_line_that_comes_twice_counts_once_and_a_gap_is_said(folder: InFolder) -> None:
    writer = Writer(folder)
    log = Log(Folder(folder.root), time.time_ns)
    lines = [writer.line("log", message=str(number)) for number in range(10)]
    writer.write(lines[:4])
    writer.write(lines[2:4])
    writer.write(lines[6:8])
    found = read(log)
    assert numbers(found) == [0, 1, 2, 3, 6, 7]
    assert [line.values["lost"] for line in found if line.event == "gap"] == [2]
    writer.write(lines[4:6])
    writer.write(lines[8:])
    found = read(log)
    assert numbers(found) == [4, 5, 8, 9]
    assert [line.values["lost"] for line in found if line.event == "gap"] == [1, 0]


def test_what_comes_late_to_a_file_that_is_full_is_no_gap(
    folder: InFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of a long log is no moment: a file may grow, and the next begin, between two of its pages."""
    writer = Writer(folder)
    lines = [writer.line("log", message=str(number)) for number in range(6)]
    writer.write(lines[:2])
    place = Folder(folder.root)
    short = [*place.files(None)]
    writer.write(lines[2:4])
    folder.full_bytes = 1
    writer.write([])
    writer.write(lines[4:])
    both = [*place.files(None)]
    assert len(both) == 2
    listed = [file for file in both if file.number == 1] + short
    monkeypatch.setattr(Folder, "files", lambda *_: iter(listed))
    found = read(Log(place, time.time_ns))
    assert numbers(found) == [*range(6)]
    assert len(found) == 6


def test_what_is_no_line_is_counted(folder: InFolder) -> None:
    writer = Writer(folder)
    writer.raw(b"\xff\xfe\n{}\n[1]\n" + b"[" * 100_000 + b'\n{"event": "log"}\n{"event": 5}\nnull\n')
    writer.start()
    batches = [*Log(Folder(folder.root), time.time_ns).read()]
    assert sum(batch.unread for batch in batches) == 7
    assert [line.event for batch in batches for line in batch.lines] == ["job_started"]


def test_a_link_that_leads_nowhere_hides_no_other_file(folder: InFolder) -> None:
    job = Writer(folder)
    job.start()
    stream = folder.root / job.job / f"{job.node}.{job.stream}"
    (stream / "000001.jsonl").symlink_to("000001.jsonl")
    (stream / "000002.jsonl").symlink_to("nowhere")
    (folder.root / job.job / "other.00000001").symlink_to("other.00000001")
    (folder.root / ("f" * 16)).symlink_to("f" * 16)
    log = Log(Folder(folder.root), time.time_ns)
    assert numbers(read(log)) == [0]
    log.close()


def test_old_jobs_are_left_out_until_they_write_again(folder: InFolder) -> None:
    old, older, new = (Writer(folder, job=letter * 16) for letter in "abc")
    for writer, hours in ((old, 1), (older, 2), (new, 0)):
        writer.start()
        for file in folder.root.glob(f"{writer.job}/*/*"):
            then = time.time() - 3600 * hours
            os.utime(file, (then, then))
    log = Log(Folder(folder.root), time.time_ns)
    assert [line.job for line in read(log)] == [new.job]
    older.end()
    assert [line.event for line in read(log)] == ["job_started", "summary"]
    assert len(read(Log(Folder(folder.root), time.time_ns, everything=True))) == 4
    assert [line.job for line in read(Log(Folder(folder.root), time.time_ns, job=old.job))] == [old.job]
    assert len(read(Log(Folder(folder.root / older.job), time.time_ns))) == 2


def test_of_old_jobs_alone_the_newest_is_read(folder: InFolder) -> None:
    for letter, hours in (("a", 1), ("b", 2)):
        writer = Writer(folder, job=letter * 16)
        writer.start()
        for file in folder.root.glob(f"{writer.job}/*/*"):
            os.utime(file, (time.time() - 3600 * hours,) * 2)
    assert {line.job for line in read(Log(Folder(folder.root), time.time_ns))} == {"a" * 16}


class Failing:
    """A place that is away now and then."""

    name = "failing"

    def __init__(self, place: Place, seed: int, *, pieces: bool) -> None:
        self._place, self._random, self.pieces = place, random.Random(seed), pieces

    def _maybe(self) -> None:
        if self._random.random() < 0.3:
            raise ConnectionLostError("read", "the log", "the link is down")

    def files(self, job: str | None) -> Iterator[File]:
        for place, file in enumerate(self._place.files(job)):
            if place % 20 == 0:
                self._maybe()
            yield file

    def jobs(self) -> Iterator[str]:
        self._maybe()
        return self._place.jobs()

    def streams(self, job: str) -> Iterator[str]:
        self._maybe()
        return self._place.streams(job)

    def following(self, job: str, folder: str, number: int) -> Iterator[File]:
        for file in self._place.following(job, folder, number):
            self._maybe()
            yield file

    def read(self, name: str, start: int, length: int) -> bytes:
        self._maybe()
        return self._place.read(name, start, length)


@pytest.mark.parametrize("pieces", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_store_that_is_away_now_and_then_loses_nothing(
    folder: InFolder, seed: int, pieces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "SLAB_BYTES", 700)
    monkeypatch.setattr(logs, "MANY", 3)
    folder.full_bytes = 1 if pieces else 1500
    log = Log(Failing(Folder(folder.root), seed, pieces=pieces), time.time_ns)
    writers = [Writer(folder, f"node-{number}") for number in range(2)]
    seen: list[Line] = []
    for number in range(40):
        for writer in writers:
            writer.say("log", message=str(number))
        seen += _as_far_as_it_goes(log)
    while (new := _as_far_as_it_goes(log)) or len(seen) < 80:
        seen += new
    for writer in writers:
        assert numbers([line for line in seen if line.node == writer.node]) == [*range(40)]
    assert len(seen) == 80


def _as_far_as_it_goes(log: Log) -> list[Line]:
    found: list[Line] = []
    try:
        for batch in log.read():
            found += batch.lines
    except ConnectionLostError:
        pass
    return found


@given(some.lists(some.integers(0, 60), max_size=200))
def test_each_number_is_new_once_and_what_is_missing_is_counted(numbers: list[int]) -> None:
    seen, come = Seen(), set[int]()
    for number in numbers:
        assert seen.new(number) == (number not in come)
        come.add(number)
        assert seen.missing() == max(come) + 1 - len(come)


def test_lines_in_python(folder: InFolder) -> None:
    import haulage.watch

    writer = Writer(folder)
    said: list[dict[str, Any]] = [writer.say("log", message=str(number)) for number in range(5)]
    assert [*haulage.watch.lines(str(folder.root))] == said
    assert all(before["seq"] < after["seq"] for before, after in pairwise(said))
