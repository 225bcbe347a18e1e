"""A log goes through a queue of Azurite, with real workers, real watchers and the real command between."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import logging
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import haulage.watch
from command import Haul, in_process
from endpoints import Endpoint, free_port
from haulage.errors import HaulageError, NotFoundError
from haulage.watch.following import Follower
from haulage.watch.log import log_at
from haulage.watch.queues.account import opened
from haulage.watch.queues.bell import IDLE_S, Bell
from haulage.watch.queues.length import Length
from haulage.watch.queues.reading import AT_ONCE, Messages
from haulage.watch.queues.sending import Sender
from watch import queueing
from watch.queueing import Queues
from watch.stepping import Clock, watched
from watch.writing import JOB, InFolder, Writer

#: Logs quickly, one error among it, until a line comes from its parent or it is killed.
WORKER = """
import logging, sys, time, haulage.watch
logging.getLogger().setLevel(logging.INFO)
url, node, spool = sys.argv[1:]
with haulage.watch.worker(url, node=node, program="regrid", job="0123456789abcdef", spool=spool):
    for number in range(50):
        logging.info("line %d", number)
    logging.error("the last error of %s", node)
    sys.stdin.readline()
"""


@pytest.fixture
def both(tmp_path: Path, azurite: Endpoint, queues: Queues) -> Haul:
    """The command, with blobs and queues in its environment."""
    return Haul(tmp_path, queues.beside(azurite))


def rows_of(path: Path, *events: str) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if not events or row["event"] in events]


def until(holds: Callable[[], object], seconds: float = 30) -> None:
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up, "it takes too long"
        time.sleep(0.05)


def end(process: subprocess.Popen[bytes]) -> str:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert b"Traceback" not in err, err.decode()
    return (out + err).decode()


def started(stack: ExitStack, haul: Haul, *words: str | Path) -> subprocess.Popen[bytes]:
    """Start the command; it is killed where the test does not end it."""
    process = stack.enter_context(haul.start(*words))
    stack.callback(process.kill)
    return process


def kept(path: Path) -> set[tuple[str, str, str, str]]:
    """The numbered lines of which there is a row."""
    return {(row["job"], row["node"], row["stream"], row["seq"]) for row in rows_of(path) if row["seq"]}


@pytest.mark.slow("two workers and three watchers start, and see each other through a store and a queue")
@pytest.mark.parametrize("many", [2, pytest.param(8, marks=pytest.mark.long)])
def test_what_a_killed_worker_has_said_comes_through_the_queue(
    both: Haul, azurite: Endpoint, queues: Queues, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    log, bell = azurite.container().az("log"), queues.queue().queue_name
    queue = f"queue://{bell}"
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", WORKER, log, f"node-{number}", str(tmp_path / f"spool-{number}")],
                    env=both.env,
                    stdin=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            )
            for number in range(many)
        ]
        for worker in workers:
            stack.callback(worker.kill)
        sidecar = started(stack, both, "watch", log, "--send", bell, "--quiet", "--csv", "log.csv")
        first = started(stack, both, "watch", queue, "--quiet", "--csv", "first.csv", "--follow")
        second = started(stack, both, "watch", queue, "--quiet", "--csv", "second.csv", "--follow")
        files = [tmp_path / name for name in ("log.csv", "first.csv", "second.csv")]

        def errors(path: Path) -> set[str]:
            return {row["node"] for row in rows_of(path, "log") if row["level"] == "ERROR"}

        until(lambda: all(len(errors(path)) == many for path in files))
        workers[1].kill()
        if many > 2:
            until(lambda: all(rows_of(path, "silent") for path in files))
            assert {row["node"] for path in files for row in rows_of(path, "silent")} == {"node-1"}
        for number, worker in enumerate(workers):
            if number != 1:
                worker.communicate(b"\n", timeout=20)
        until(lambda: all(len(rows_of(path, "worker_ended")) == many - 1 for path in files))
        for watching in (first, second, sidecar):
            end(watching)
    # Both that looked have the same, and it is what the log has.
    assert kept(files[0]) == kept(files[1]) == kept(files[2])
    for path in files:
        assert not rows_of(path, "gap")
        assert "the last error of node-1" in {row["message"] for row in rows_of(path, "log")}
        assert sum(row["node"] == "node-1" for row in rows_of(path, "log")) == 51
    # A while later nothing was heard of it, and of the others that they have ended.
    clock = Clock()
    clock.skip(20)
    assert watched(queue, clock).health == {"done": many - 1, "silent": 1}


def written(folder: InFolder, lines: int = 100) -> Writer:
    job = Writer(folder)
    job.start()
    for number in range(lines):
        job.object(f"{number}.nc")
        job.progress(number, lines)
    job.end(done=lines)
    return job


def test_who_takes_messages_has_every_line_and_leaves_those_of_others(
    both: Haul, queues: Queues, folder: InFolder, tmp_path: Path
) -> None:
    queue = queues.queue()
    name = str(queue.queue_name)
    queue.send_message("work of somebody else")
    written(folder)
    both("watch", folder.root, "--once", "--quiet", "--send", name, "--csv", "log.csv")
    looked = json.loads(both("watch", f"queue://{name}", "--once", "--json", "--csv", "looked.csv").text)
    assert looked["lines_unread"] == 1
    assert looked["queues"][0]["messages"] == 2
    both("watch", f"queue://{name}", "--once", "--quiet", "--consume", "--csv", "taken.csv")
    assert kept(tmp_path / "log.csv") == kept(tmp_path / "looked.csv") == kept(tmp_path / "taken.csv")
    # The other message is there, for whoever it is for.
    assert [one.content for one in queue.peek_messages()] == ["work of somebody else"]


def packed_by_others(*lines: dict[str, Any] | str) -> str:
    """Return a message as others pack theirs, which is also our way."""
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


OWN = {"job": JOB, "node": "n", "stream": "00000001", "seq": 0, "time_unix_ns": 1, "event": "log"}


@pytest.mark.parametrize(
    "content",
    [
        packed_by_others(""),
        packed_by_others("not JSON"),
        packed_by_others({"event": "order", "id": 7}),
        packed_by_others({**OWN, "job": "an order"}),
        packed_by_others(OWN, {"event": "order", "id": 7}),
        base64.b64encode(gzip.compress(json.dumps(OWN).encode(), mtime=0) + b"more").decode(),
    ],
)
def test_who_takes_messages_deletes_none_that_is_packed_as_ours_and_holds_something_else(
    queues: Queues, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    queue = queues.queue()
    queue.send_message(content)
    queue.send_message(packed_by_others(OWN))
    assert [*haulage.watch.lines(f"queue://{queue.queue_name}", consume=True)] == [OWN]
    assert [one.content for one in queue.peek_messages(max_messages=9)] == [content]


def test_who_takes_messages_of_a_queue_that_has_none_of_ours_takes_nothing(
    queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whoever they are for would take them for messages that failed again and again."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    queue = queues.queue()
    for number in range(AT_ONCE + 8):
        queue.send_message(packed_by_others({"event": "order", "id": number}))
    reader = Messages(opened(str(queue.queue_name)), time.time_ns, consume=True)
    looks = [[*reader.read()] for _ in range(2)]
    assert [sum(batch.unread for batch in look) for look in looks] == [AT_ONCE, 0]
    (told,) = [line for look in looks for batch in look for line in batch.lines if line.event == "unseen"]
    assert (
        told.values["message"] == "the oldest 32 messages are not ours to delete, and hide those behind them"
    )
    reader.close()
    assert {one.dequeue_count for one in queue.peek_messages(max_messages=AT_ONCE)} == {0}


def test_who_takes_the_messages_of_a_job_leaves_those_of_other_jobs(
    queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    queue = queues.queue()
    name, other = str(queue.queue_name), {**OWN, "job": "f" * 16}
    mixed, theirs = packed_by_others({**OWN, "seq": 1}, other), packed_by_others({**other, "seq": 1})
    for content in (packed_by_others(OWN), mixed, theirs, packed_by_others({**OWN, "seq": 2})):
        queue.send_message(content)
    reader = Messages(opened(name), time.time_ns, job=JOB, consume=True)
    seen: list[int | None] = []
    for _ in range(2):
        for batch in reader.read():
            seen += [line.seq for line in batch.lines if line.event == "log"]
            if batch.taken is not None:
                batch.taken()
    reader.close()
    # Each once, also those beside lines of the other.
    assert sorted(seen, key=str) == [0, 1, 2]
    assert {one.content for one in queue.peek_messages(max_messages=9)} == {mixed, theirs}


def test_the_bell_of_a_job_leaves_the_messages_of_other_jobs(
    both: Haul, queues: Queues, folder: InFolder
) -> None:
    written(folder, 3)
    queue = queues.queue()
    theirs = packed_by_others({**OWN, "job": "f" * 16})
    for only in (("--job", JOB), ()):
        queue.clear_messages()
        queue.send_message(packed_by_others(OWN))
        queue.send_message(theirs)
        source = folder.root if only else folder.root / JOB
        both("watch", source, *only, "--once", "--quiet", "--doorbell", str(queue.queue_name), "--consume")
        assert [one.content for one in queue.peek_messages(max_messages=9)] == [theirs]


def test_a_queue_from_python(
    queues: Queues, folder: InFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    name = str(queues.queue().queue_name)
    job = written(folder)
    sent = haulage.watch.send(str(folder.root), name)
    # The last sample alone is sent of those between two other lines; here that is each.
    assert (sent.lines, sent.messages, sent.left_out) == (job.seq, 1, 0)
    assert [*haulage.watch.lines(f"queue://{name}")] == [*haulage.watch.lines(str(folder.root))]
    # The next sidecar goes on where that one stood.
    job.say("warning", object="late", message="one more")
    sent = haulage.watch.send(str(folder.root), name)
    assert (sent.lines, sent.messages) == (1, 1)
    taken = [*haulage.watch.lines(f"queue://{name}", consume=True)]
    assert [line["seq"] for line in taken] == [*range(job.seq)]
    assert [*haulage.watch.lines(f"queue://{name}")] == []


def test_a_queue_that_is_away_stops_no_worker_and_no_watcher(folder: InFolder, tmp_path: Path) -> None:
    """The service is not there, then without the queue, then well: at the end the queue has every line."""
    port = free_port()
    later = Queues(f"http://127.0.0.1:{port}/devstoreaccount1")
    env = Haul(tmp_path, later.env)
    with ExitStack() as stack:
        sidecar = started(
            stack, env, "watch", folder.root, "--send", "bell", "--quiet", "--csv", "rows.csv", "--follow"
        )
        rows = tmp_path / "rows.csv"
        until(lambda: rows_of(rows, "away"))
        began = time.monotonic()
        with haulage.watch.worker(str(folder.root), node="desk", spool=str(tmp_path / "spool")):
            logging.getLogger("test").error("nobody hears this yet")
        assert time.monotonic() - began < 3
        # It is in the rows of the log, whatever the queue does.
        until(lambda: rows_of(rows, "worker_ended"))
        (tmp_path / "azurite").mkdir()
        stack.enter_context(queueing.azurite(tmp_path / "azurite", port))
        later.queue("bell")
        until(lambda: rows_of(rows, "back"))
        env("watch", "queue://bell", "--once", "--quiet", "--csv", "early.csv")

        def through() -> list[dict[str, str]]:
            env("watch", "queue://bell", "--once", "--quiet", "--csv", "queue.csv")
            return rows_of(tmp_path / "queue.csv", "worker_ended")

        until(through)
        end(sidecar)
    assert kept(tmp_path / "queue.csv") == kept(rows)
    away = rows_of(rows, "away")
    assert {(row["level"], row["object"]) for row in away} == {("ERROR", "queue://bell")}


def test_what_was_not_sent_is_said_at_the_end(
    queues: Queues,
    folder: InFolder,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    # How long it goes on trying at the end.
    monkeypatch.setattr("haulage.watch.other_sources.END_S", 1.0)
    written(folder, 3)
    words = [str(folder.root), "--once", "--quiet", "--send", "none-of-these"]
    assert in_process("watch", *words) == 1
    said = capfd.readouterr().err
    assert "not all of the log is in the queue: send to queue://none-of-these: 404 QueueNotFound" in said
    assert "the log has it all" in said


def test_a_log_that_says_lines_are_left_out_is_sent_as_any_other(
    queues: Queues, folder: InFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    name, job = str(queues.queue().queue_name), Writer(folder)
    job.start()
    for fields in ({}, {"until": None}, {"until": 10**30}, {"until": 10**6}):
        job.say("left_out", **fields)
        job.progress(1, 2)
        job.object("a.nc")
    job.say("task", n=1)
    job.end(done=2)
    assert haulage.watch.send(str(folder.root), name).messages == 1
    log, queue = (
        [line for line in haulage.watch.lines(source) if line["event"] != "left_out"]
        for source in (str(folder.root), f"queue://{name}")
    )
    assert queue == log
    # What it has sent is remembered as it is.
    assert haulage.watch.send(str(folder.root), name).messages == 0


def test_a_sender_that_fails_says_so(
    queues: Queues, folder: InFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_: object) -> None:
        raise KeyError("until")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    monkeypatch.setattr("haulage.watch.queues.sending.without_samples", fail)
    written(folder, 3)
    read = log_at(str(folder.root), time.time_ns)
    sender = Sender(read, opened(str(queues.queue().queue_name)), read.name)
    sender.start()
    until(lambda: sender.sent.away)
    assert not sender.finish(0.1)
    with pytest.raises(HaulageError, match="KeyError") as raised:
        sender.sent.tell()
    assert raised.value.hint == "please report it"


def test_the_length_of_a_queue_is_shown_with_what_is_left(both: Haul, queues: Queues, tmp_path: Path) -> None:
    work = queues.queue()
    for number in range(40):
        work.send_message(str(number))
    name = str(work.queue_name)
    said = both("watch", "--queue", name, "--once").text
    assert f"queue://{name}" in said
    assert " 40 " in said
    with ExitStack() as stack:
        watching = started(stack, both, "watch", "--queue", name, "--json", "--csv", "rows.csv")
        assert watching.stdout is not None
        shown: dict[str, Any] = {}
        for line in watching.stdout:
            shown = json.loads(line)
            for message in work.receive_messages(max_messages=4):
                work.delete_message(message)
            if shown["queues"] and shown["queues"][0]["eta_ns"]:
                break
        end(watching)
    (queue,) = shown["queues"]
    assert 0 < queue["messages"] < 40
    assert queue["messages_per_second"] < -1
    assert 0 < queue["eta_ns"] < 60e9
    rows = rows_of(tmp_path / "rows.csv", "queue")
    assert rows[0]["object"] == f"queue://{name}"
    assert int(rows[0]["messages"]) in (36, 40)


def test_a_queue_that_is_gone_is_said_and_the_jobs_are_shown(both: Haul, folder: InFolder) -> None:
    written(folder, 3)
    said = both("watch", folder.root, "--queue", "none-of-these", "--once").text
    assert "queue://none-of-these has been unavailable for" in said
    assert "404 QueueNotFound" in said
    assert "3/3 objects" in said
    # Alone it is all there is.
    assert "404" in both("watch", "--queue", "none-of-these", "--once", code=1).text


def test_a_count_that_failed_is_not_followed_by_one_that_did_not() -> None:
    """Within a second nothing was asked, which was said to be an answer: the queue is there again."""

    class Gone:
        name = "queue://gone"

        def messages(self) -> int:
            raise NotFoundError("count", self.name, "404", "create it")

    looked: Any = Length(Gone(), lambda: 0)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(NotFoundError):
            list(looked.read())


def test_who_looks_sees_more_than_the_service_shows_at_once(
    queues: Queues, folder: InFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A sidecar sends twice a second: after 16 s nothing new would be among the oldest 32 messages."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    client = queues.queue()
    read = log_at(str(folder.root), time.time_ns)
    sender = Sender(read, opened(str(client.queue_name)), read.name)
    looked = Messages(opened(str(client.queue_name)), time.time_ns)
    jobs = [Writer(folder, f"node-{number}") for number in range(3)]
    seen: set[tuple[str, str]] = set()
    most = 0
    for number in range(120):
        for job in jobs:
            job.progress(number, 120)
            job.object(f"{number}.nc")
        sender.send()
        # Whoever looks now and then misses nothing, and nothing is seen twice.
        for batch in looked.read() if number % 10 == 9 else ():
            for line in batch.lines:
                if line.event == "object":
                    key = (line.stream, line.values["source"])
                    assert key not in seen
                    seen.add(key)
        most = max(most, client.get_queue_properties().approximate_message_count or 0)
    assert len(seen) == 3 * 120
    assert most < AT_ONCE
    sender.close()
    looked.close()
    # So does whoever comes at the end.
    late = [line for line in haulage.watch.lines(f"queue://{client.queue_name}") if line["event"] == "object"]
    assert len(late) == 3 * 120


def test_who_sees_only_the_oldest_messages_is_told_so_once(
    both: Haul, queues: Queues, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    queue = queues.queue()
    for seq in range(AT_ONCE):
        queue.send_message(packed_by_others({**OWN, "seq": seq}))
    name = f"queue://{queue.queue_name}"
    # As many as are seen: that is all of them.
    assert len([*haulage.watch.lines(name)]) == AT_ONCE
    queue.send_message(packed_by_others({**OWN, "seq": AT_ONCE}))
    words = "only the oldest 32 messages can be looked at; watch the log, or take them: --consume"
    with pytest.warns(UserWarning, match=words) as warned:
        assert len([*haulage.watch.lines(name)]) == AT_ONCE
    assert [one.filename for one in warned] == [__file__]
    quiet = both("watch", name, "--once", "--quiet", "--csv", "rows.csv")
    assert quiet.stderr == f"haul: {name}: {words}\n"
    (row,) = rows_of(tmp_path / "rows.csv", "unseen")
    assert (row["level"], row["object"], row["message"]) == ("WARNING", name, words)
    reader = Messages(opened(name), time.time_ns)
    assert [
        [line.event for batch in reader.read() for line in batch.lines].count("unseen") for _ in "ab"
    ] == [
        1,
        0,
    ]
    reader.close()
    with ExitStack() as stack:
        plain = started(stack, both, "watch", name, "--follow")
        assert plain.stdout is not None
        said = next(line.decode() for line in plain.stdout if b"WARNING" in line)
        assert words in said
    # Whoever takes them sees all of them.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len([*haulage.watch.lines(name, consume=True)]) == AT_ONCE + 1


class Counted:
    """A source that counts how often it is read."""

    name, ended = "log", False

    def __init__(self) -> None:
        self.reads = threading.Semaphore(0)

    def read(self) -> Iterator[Any]:
        self.reads.release()
        yield from ()

    def close(self) -> None:
        pass


@pytest.mark.parametrize("consume", [False, True])
def test_a_bell_has_the_log_looked_at(
    queues: Queues, monkeypatch: pytest.MonkeyPatch, consume: bool, folder: InFolder, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", queues.connection_string)
    name = str(queues.queue().queue_name)
    rung = threading.Event()
    bell = Bell(opened(name), time.time_ns, rung.set, consume=consume)
    [*bell.read()]
    assert not rung.is_set()
    job = written(folder, 2)
    for _ in range(2):
        job.say("warning", object="x", message="y")
        haulage.watch.send(str(folder.root), name)
        [*bell.read()]
        assert rung.is_set()
        rung.clear()
        if not consume:
            # Nothing new: nobody is called.
            [*bell.read()]
            assert not rung.is_set()
    [*bell.read()]
    assert opened(name).messages() == (0 if consume else 2)


def test_a_log_with_a_bell_is_looked_at_less_often_until_it_rings() -> None:
    source = Counted()
    follower = Follower(source, time.time_ns, patient=True)
    follower.wait_for_bell(60)
    # The first look may have been on its way; then it waits.
    while source.reads.acquire(timeout=1):
        pass
    follower.ring()
    assert source.reads.acquire(timeout=5)
    follower.stop()
    assert IDLE_S < 4, "who is silent must be shown within 5 s"


def test_a_doorbell_shows_the_log(both: Haul, queues: Queues, folder: InFolder) -> None:
    name = str(queues.queue().queue_name)
    written(folder, 3)
    both("watch", folder.root, "--once", "--quiet", "--send", name)
    shown = json.loads(both("watch", folder.root, "--once", "--json", "--doorbell", name, "--consume").text)
    assert shown["totals"]["objects_done"] == 3
    assert queues.client(name).get_queue_properties().approximate_message_count == 0
