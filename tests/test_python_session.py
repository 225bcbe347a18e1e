"""`haulage.Session`: what it shares, its children and its end."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import haulage
from endpoints import Container, counted
from sentences import Sentence


@pytest.fixture
def session() -> Iterator[haulage.Session]:
    with haulage.Session() as own:
        yield own


# What is shared.


def test_a_second_question_opens_no_connection(
    counting: haulage.Emulator, blobs: Container, session: haulage.Session
) -> None:
    haulage.put(blobs.az("a"), b"hello", session=session)
    for question in (
        haulage.stat,
        haulage.get,
        lambda url, session: list(haulage.list(url, session=session)),
    ):
        requests, connections = counted(counting, lambda ask=question: ask(blobs.az("a"), session=session))  # type: ignore[misc]
        assert requests, question
        assert connections == 0, question
    haulage.stat(blobs.az("a"))
    for elsewhere in (haulage.stat, haulage.get, lambda url: list(haulage.list(url))):
        _, connections = counted(counting, lambda ask=elsewhere: ask(blobs.az("a")))  # type: ignore[misc]
        assert connections == 0, "calls that name no session share one"


def test_jobs_and_questions_of_every_kind_share_connections(
    counting: haulage.Emulator, blobs: Container, session: haulage.Session, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"hello")
    calls: list[Callable[[str], object]] = [
        lambda _: haulage.copy(tmp_path / "a", blobs.az("a"), session=session, overwrite="always"),
        lambda _: haulage.stat(blobs.az("a"), session=session),
        lambda _: list(haulage.list(blobs.az(""), session=session)),
        lambda _: haulage.get(blobs.az("a"), session=session),
        lambda _: haulage.put(blobs.az("b"), b"x", session=session),
        lambda _: haulage.open(blobs.az("a"), session=session).read(),
        lambda new: haulage.open(blobs.az(new), "xb", session=session).close(),
        lambda new: haulage.plan(tmp_path / "a", blobs.az(new + "p"), session=session),
        lambda new: haulage.copy(blobs.az("a"), tmp_path / new, session=session),
        lambda _: haulage.verify(tmp_path / "a", blobs.az("a"), session=session),
        lambda new: haulage.Job.copy(tmp_path / "a", blobs.az(new + "j"), session=session).wait(),
    ]
    # Once for as many as the busiest of them wants at a time.
    for call in calls:
        call("first")
    for number, call in enumerate(calls):
        requests, connections = counted(counting, lambda call=call: call("second"))  # type: ignore[misc]
        assert requests, number
        assert connections == 0, number


def test_a_job_keeps_its_own_cap_and_counts_its_own_bytes(
    blobs: Container, session: haulage.Session, tmp_path: Path
) -> None:
    content = bytes(500_000)
    (tmp_path / "a").write_bytes(content)
    haulage.put(blobs.az("warm"), content, session=session)
    began = time.monotonic()
    slow = haulage.copy(tmp_path / "a", blobs.az("a"), session=session, cap="4mbit", checksum="md5")
    assert time.monotonic() - began > 0.8
    assert len(content) < slow.bytes_wire < 1.5 * len(content), "not those of the put before it"
    began = time.monotonic()
    haulage.get(blobs.az("a"), session=session)
    assert time.monotonic() - began < 0.8, "the cap was the job's"


def test_jobs_at_the_same_time_share_a_session(
    counting: haulage.Emulator, blobs: Container, session: haulage.Session, tmp_path: Path
) -> None:
    content = {f"{number}": bytes([number]) * 300_000 for number in range(20)}
    for name, data in content.items():
        (tmp_path / name).write_bytes(data)
    haulage.put(blobs.az("warm"), b"x", session=session)

    def copies() -> list[haulage.Summary]:
        jobs = [
            haulage.Job.copy(tmp_path, blobs.az(f"run{run}/"), session=session, concurrency=2).start()
            for run in range(4)
        ]
        return [job.wait() for job in jobs]

    summaries: list[haulage.Summary] = []
    _, connections = counted(counting, lambda: summaries.extend(copies()))
    assert [summary.objects_done for summary in summaries] == [len(content)] * 4
    assert connections <= 4 * 2 * 2, "each job opens no more than it uses at a time"
    again, _ = counted(counting, lambda: copies())
    assert not again.get("PutBlob"), "all is there"
    for run in range(4):
        for name, data in content.items():
            assert haulage.get(blobs.az(f"run{run}/{name}"), session=session) == data


def test_threads_share_a_session(
    counting: haulage.Emulator, blobs: Container, session: haulage.Session
) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for again in range(20):
                haulage.put(blobs.az(f"{number}"), bytes([again]) * 100, session=session)
                assert haulage.get(blobs.az(f"{number}"), session=session) == bytes([again]) * 100
                assert haulage.stat(blobs.az(f"{number}"), session=session).size_bytes == 100
        except BaseException as failure:
            failures.append(failure)

    def all_at_once() -> None:
        threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    _, connections = counted(counting, all_at_once)
    assert not failures
    assert connections <= 8


def test_a_forked_child_opens_connections_of_its_own(
    counting: haulage.Emulator, blobs: Container, session: haulage.Session
) -> None:
    haulage.put(blobs.az("a"), b"of the parent", session=session)
    file = haulage.open(blobs.az("a"), session=session)

    def child() -> None:
        assert haulage.get(blobs.az("a"), session=session) == b"of the parent"
        assert file.read() == b"of the parent"
        haulage.put(blobs.az("b"), b"of the child", session=session)
        session.close()

    process = multiprocessing.get_context("fork").Process(target=child)

    def run() -> None:
        process.start()
        process.join(30)

    _, connections = counted(counting, run)
    assert (process.exitcode, connections) == (0, 1)
    _, connections = counted(counting, lambda: haulage.get(blobs.az("b"), session=session))
    assert connections == 0, "the parent's are as they were"


# Its end.


def test_a_closed_session_lets_go_and_opens_nothing(
    counting: haulage.Emulator, blobs: Container, sentence: Sentence
) -> None:
    with haulage.Session() as session:
        haulage.put(blobs.az("a"), b"x", session=session)
    assert session.closed
    session.close()
    calls: list[Callable[[], object]] = [
        lambda: haulage.get(blobs.az("a"), session=session),
        lambda: haulage.stat(blobs.az("a"), session=session),
        lambda: haulage.copy(blobs.az("a"), blobs.az("b"), session=session),
    ]
    before = counting.stats()["requests"]
    for call in calls:
        with pytest.raises(haulage.UsageError) as caught:
            call()
        sentence(caught.value)
    assert counting.stats()["requests"] == before


def test_a_job_that_runs_when_its_session_is_closed_goes_on_to_its_end(
    blobs: Container, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(bytes(400_000))
    with haulage.Session() as session:
        job = haulage.Job.copy(tmp_path / "a", blobs.az("a"), session=session, cap="4mbit").start()
    assert job.wait().objects_done == 1


def test_async_with_closes_too(blobs: Container) -> None:
    async def work() -> haulage.Session:
        async with haulage.Session() as session:
            await asyncio.to_thread(haulage.put, blobs.az("a"), b"x", session=session)
            found = await asyncio.gather(
                *(asyncio.to_thread(haulage.get, blobs.az("a"), session=session) for _ in range(4))
            )
            assert found == [b"x"] * 4
        return session

    assert asyncio.run(work()).closed
