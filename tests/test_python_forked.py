"""A running job in a forked child, where the engine's threads are not: it is refused, not waited for."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import haulage
from endpoints import Container

#: A child that does nothing but refuse has ended long before.
CHILD_SECONDS = 30


def in_a_child(call: Callable[[], object]) -> int | None:
    """Run this in a forked child; return its exit code, or None if it had to be killed."""
    process = multiprocessing.get_context("fork").Process(target=call)
    process.start()
    process.join(CHILD_SECONDS)
    code = process.exitcode
    process.kill()
    process.join()
    return code


@pytest.fixture
def running(blobs: Container, tmp_path: Path) -> Iterator[haulage.Job]:
    """A job that takes minutes if it is left alone."""
    (tmp_path / "large").write_bytes(bytes(8 << 20))
    job = haulage.Job.copy(tmp_path / "large", blobs.az("large"), cap="200kbit").start(listen=True)
    yield job
    job.cancel()
    job.wait(check=False)


async def awaited(job: haulage.Job) -> object:
    return await job


CALLS: dict[str, Callable[[haulage.Job], object]] = {
    "wait": lambda job: job.wait(),
    "await": lambda job: asyncio.run(awaited(job)),
    "start": lambda job: job.start(),
    "events": lambda job: next(job.events()),
    "to_arrow": lambda job: job.to_arrow(),
    "progress": lambda job: job.progress(),
    "cancel": lambda job: job.cancel(),
    "set_cap": lambda job: job.set_cap("1mbit"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_child_is_refused_what_the_parent_started(running: haulage.Job, name: str) -> None:
    def child() -> None:
        with pytest.raises(haulage.UsageError) as refused:
            CALLS[name](running)
        assert refused.value.cause == "this job belongs to the process that started it"
        assert refused.value.hint == "wait for it there; in a child process, start another job"

    assert in_a_child(child) == 0
    assert running.progress() is not None, "it goes on in the parent"


def test_events_that_the_parent_began_to_read_end_in_the_child_with_words(running: haulage.Job) -> None:
    batches = running.batches(1)
    assert next(batches)

    def child() -> None:
        with pytest.raises(haulage.UsageError):
            next(batches)

    assert in_a_child(child) == 0


def test_a_child_can_show_it_and_let_go_of_it(running: haulage.Job) -> None:
    def child() -> None:
        assert repr(running) == "<Job: copy, of another process>"
        assert "of another process" in running._repr_html_()

    assert in_a_child(child) == 0


def test_a_job_that_was_not_started_can_be_started_in_the_child(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    job = haulage.Job.copy(tmp_path / "a", tmp_path / "b")
    assert in_a_child(lambda: job.wait()) == 0
    assert (tmp_path / "b").read_bytes() == b"a"
    assert job.wait().objects_skipped == 1, "and in the parent all the same"


def test_a_job_that_has_ended_can_be_read_in_the_child(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    job = haulage.Job.copy(tmp_path / "a", tmp_path / "b")
    job.wait()

    def child() -> None:
        assert job.wait().objects_done == 1
        assert "ended: copied 1 object" in repr(job)

    assert in_a_child(child) == 0


def test_a_child_does_not_read_on_what_the_parent_lists(blobs: Container) -> None:
    for number in range(3):
        blobs.client.upload_blob(f"x/{number}", b"x")
    listing = haulage.list(blobs.az("x/"))
    next(listing)

    def child() -> None:
        with pytest.raises(haulage.UsageError) as refused:
            list(listing)
        assert refused.value.hint == "list it again here"
        assert len(list(haulage.list(blobs.az("x/")))) == 3

    assert in_a_child(child) == 0


def test_a_child_leaves_the_emulator_of_its_parent_alone() -> None:
    with haulage.Emulator() as emulator:
        assert in_a_child(emulator.close) == 0
        with haulage.Session(
            haulage.AzureCredential(connection_string=emulator.connection_string)
        ) as session:
            haulage.make_container(f"{emulator.endpoint}/child", session=session)
