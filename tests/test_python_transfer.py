"""`haulage.copy`, `verify`, `plan`, `list`, `Job`, through an emulator in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest

import haulage
import trees
from endpoints import Container, Endpoint
from haulage.events import Attempt, JobStarted, ObjectEnded, Progress, Summary


@pytest.fixture
def container(monkeypatch: pytest.MonkeyPatch) -> Iterator[Container]:
    with haulage.Emulator() as emulator:
        endpoint = Endpoint("in process", emulator.endpoint, emulator.connection_string)
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
        yield endpoint.container()


def test_copy_and_verify_a_folder(container: Container, tree: Path, tmp_path: Path) -> None:
    expected = trees.contents(tree)
    summary = haulage.copy(tree, container.az("run/"), checksum="crc64", stall_timeout=timedelta(seconds=10))
    assert (summary.objects_done, summary.exit_code) == (len(expected), 0)
    assert haulage.verify(tree, container.az("run/")).objects_done == len(expected)
    haulage.copy(container.az("run/"), tmp_path / "back", block_size="256KiB", concurrency=4)
    trees.assert_same(trees.contents(tmp_path / "back"), expected)


def test_copy_several_into_one(container: Container, tree: Path) -> None:
    haulage.copy([tree / "plain.txt", tree / "100%"], container.az("into/"))
    assert sorted(container.contents()) == ["into/100%", "into/plain.txt"]


def test_copy_two_thousand_pairs_in_one_call(container: Container, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"hello")
    pairs = [(tmp_path / "file", container.az(f"{n % 100}/{n}")) for n in range(2_000)]
    assert haulage.copy(pairs).objects_done == 2_000
    assert sum(1 for _ in haulage.list(container.az(), recursive=True)) == 2_000


def test_list_folds_at_folders(container: Container) -> None:
    for name in ("a", "b/1", "b/2", "b-c"):
        container.client.upload_blob(name, name.encode())
    found = [(meta.key, meta.size_bytes) for meta in haulage.list(container.az())]
    assert found == [("a", 1), ("b-c", 3), ("b/", 0)]
    everything = [meta.key for meta in haulage.list(container.az(), recursive=True)]
    assert everything == ["a", "b-c", "b/1", "b/2"]


def test_stat(container: Container, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"{}")
    haulage.copy(tmp_path / "a.json", container.az("a.json"))
    meta = haulage.stat(container.az("a.json"))
    assert (meta.key, meta.size_bytes, meta.content_type) == ("a.json", 2, "application/json")
    assert meta.crc64


def test_plan_counts_and_moves_nothing(container: Container, tree: Path) -> None:
    report = haulage.plan(tree, container.az())
    assert report.objects == len(trees.contents(tree))
    assert container.contents() == {}


def test_events_tell_the_whole_story(container: Container, tree: Path) -> None:
    job = haulage.Job.copy(tree, container.az())
    events = list(job.events(batch=7))
    assert isinstance(events[0], JobStarted)
    last = events[-1]
    assert isinstance(last, Summary)
    ended = [event for event in events if isinstance(event, ObjectEnded)]
    assert len(ended) == last.objects_done == len(trees.contents(tree))
    assert {event.outcome for event in ended} == {"copied"}
    tries = [event for event in events if isinstance(event, Attempt)]
    assert {event.fate for event in tries} == {"ok"}
    assert job.wait() == last
    assert job.wait() == last


def test_fields_of_events_agree_on_both_sides(container: Container, tree: Path) -> None:
    from haulage.events import BY_NAME

    values = [value for batch in haulage.Job.copy(tree, container.az()).batches() for value in batch]
    assert {value["event"] for value in values} >= {"job_started", "attempt", "object", "summary"}
    for value in values:
        known = BY_NAME[value["event"]]
        assert set(value) - {"event"} == {field.name for field in fields(known)}, value["event"]


def test_on_progress_is_called_and_its_exception_cancels(container: Container, tmp_path: Path) -> None:
    trees.random_file(tmp_path / "file.bin", 4 << 20)
    seen: list[Progress] = []
    haulage.copy(tmp_path / "file.bin", container.az("a"), on_progress=seen.append)
    assert seen[-1].bytes_done == 4 << 20

    def stop(progress: Progress) -> None:
        raise RuntimeError(str(progress.elapsed_ns))

    with pytest.raises(RuntimeError):
        haulage.copy(tmp_path / "file.bin", container.az("b"), cap="8mbit", on_progress=stop)
    assert "b" not in container.contents()


def test_cancel_from_another_thread(container: Container, tmp_path: Path) -> None:
    trees.random_file(tmp_path / "file.bin", 8 << 20)
    job = haulage.Job.copy(tmp_path / "file.bin", container.az("a"), cap="8mbit").start()
    timer = threading.Timer(0.3, job.cancel)
    timer.start()
    with pytest.raises(haulage.CancelledError):
        job.wait()
    timer.join()
    assert container.contents() == {}


def test_failures_carry_the_summary(container: Container, tree: Path) -> None:
    pairs = [(tree / "plain.txt", container.az("a")), (tree / "no-such-file", container.az("b"))]
    with pytest.raises(haulage.NotFoundError) as caught:
        haulage.copy(pairs)
    assert caught.value.summary is not None
    assert (caught.value.summary.objects_done, caught.value.summary.objects_failed) == (1, 1)
    assert "no-such-file" in caught.value.object
    again = haulage.copy(pairs, check=False)
    assert [failure.kind for failure in again.failures] == ["not_found"]


def test_verify_raises_on_a_difference(container: Container, tree: Path) -> None:
    haulage.copy(tree, container.az())
    container.client.upload_blob("plain.txt", bytes(4096), overwrite=True)
    with pytest.raises(haulage.IntegrityError, match=r"plain\.txt"):
        haulage.verify(tree, container.az())
