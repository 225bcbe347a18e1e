"""Lines may come in any order, and again: a queue promises no more. What is known in the end is the same."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import haulage
import haulage.watch
from command import Haul
from haulage.watch import state as states
from haulage.watch.line import Line, of_log
from haulage.watch.queues.account import Queue
from haulage.watch.queues.messages import packed
from haulage.watch.queues.reading import Messages
from haulage.watch.snapshot import snapshot
from haulage.watch.state import State
from haulage.watch.updates import apply
from watch.queueing import Queues
from watch.writing import SECOND, T0, Writer, progress_fields

NOW = T0 + 30 * SECOND


def known(state: State, now: int = NOW) -> dict[str, Any]:
    """Return what is known, without what tells in which order it came."""
    states.read(state, now)
    shown = snapshot(state, now, source="log")
    for name in ("problems", "logs"):
        # An object that failed is told of once, by its node or by the coordinator.
        shown[name] = sorted((one["event"], one["level"], one["object"], one["text"]) for one in shown[name])
    # The steps into which bytes are put are those of the samples that came.
    del shown["rates"]
    return shown


def moved(state: State) -> int:
    rates = snapshot(state, NOW, source="log")["rates"]
    return int(sum(rates["bits_per_second"]) * rates["step_ns"] // SECOND // 8)


def after(lines: Iterable[Line], now: int = NOW) -> dict[str, Any]:
    state = State()
    for line in lines:
        apply(state, line, now, live=False, modified_ns=now)
    return known(state, now)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    """The lines of a job through faults, in which objects fail, and of a worker with an exception."""
    folder = tmp_path_factory.mktemp("real")
    haul = Haul(folder)
    (folder / "data").mkdir()
    for number in range(40):
        (folder / "data" / f"{number}.bin").write_bytes(bytes(3000))
    (folder / "data" / "link").symlink_to("nowhere")
    with haulage.Emulator(faults="busy=20%,seed=3") as emulator:
        haul.env["AZURE_STORAGE_CONNECTION_STRING"] = emulator.connection_string
        haul("mb", "az://demo")
        haul("cp", "data", "missing", "az://demo/data/", "--log", "log", code=1)
    with pytest.raises(ZeroDivisionError), worker(folder):
        raise ZeroDivisionError
    found = [of_log(values) for values in haulage.watch.lines(str(folder / "log"))]
    lines = [line for line in found if line is not None]
    assert {"job_started", "object", "attempt", "progress", "summary"} <= {line.event for line in lines}
    assert {"worker_started", "uncaught", "worker_ended"} <= {line.event for line in lines}
    return lines


def worker(folder: Path) -> Any:
    return haulage.watch.worker(str(folder / "log"), program="regrid", spool=str(folder / "spool"))


def made() -> list[Line]:
    """Return lines of every event that changes a state, of streams that end in each way."""
    clock = itertools.count(T0, 40_000_000)
    texts: list[bytes] = []

    def writer(node: str, **more: Any) -> Writer:
        return Writer(lambda _, data: texts.append(data), node, now=lambda: next(clock), **more)

    head, lost, back, broken = (
        writer("head", coordinator=True),
        writer("lost"),
        writer("back"),
        writer("broken"),
    )
    again, failed, alone = writer("a", job="a" * 16), writer("b", job="b" * 16), writer("c", job="c" * 16)
    streams = (head, lost, back, broken, again, failed)
    for one in streams:
        one.start(destination=f"az://{one.node}/")
    for done in range(1, 6):
        for one in streams:
            one.object(f"{done}.nc", failure="permission" if done == 3 else "")
            one.progress(done, 9 - done, retries=done)
            one.say("attempt", object=f"{done}.nc", fate="busy", cause="ServerBusy", status=503)
    head.say("node_lost", lost="lost", cause="its worker is gone")
    head.say("node_lost", lost="back", cause="its worker is gone")
    for _ in range(200):
        next(clock)
    back.progress(6, 9)
    broken.say("panic", message="index out of bounds")
    broken.say("error", kind="service", operation="copy", object="", cause="the engine failed", exit_code=1)
    failed.say("error", kind="usage", operation="copy", object="", cause="no such option", exit_code=2)
    # It ends, and another begins in the same process: the end of the first is not its own.
    again.end(1, done=5, objects_failed=1)
    again.start(destination="az://again/", operation="move")
    again.object("again.nc")
    again.progress(1, 2)
    alone.say("worker_started", program="first", pid=1)
    alone.say("worker_ended", ok=False)
    alone.say("worker_started", program="second", pid=2)
    alone.say("progress", elapsed_ns=1)
    alone.say("uncaught", kind="ValueError", message="no poles", traceback="Traceback")
    alone.say("worker_ended", ok=True)
    head.end(done=20)
    found = [of_log(json.loads(line)) for text in texts for line in text.splitlines()]
    return [line for line in found if line is not None]


def test_the_state_is_the_same_in_any_order(real: list[Line]) -> None:
    for lines, seeds in ((real, 60), (made(), 200)):
        expected = after(lines)
        for seed in range(seeds):
            shuffled = random.Random(seed).sample(lines, len(lines))
            assert after(shuffled) == expected, seed


def test_the_states_are_those_of_lines_in_their_order() -> None:
    shown = after(made())
    healths = {(node["node"], node["health"]) for node in shown["nodes"]}
    assert healths == {
        ("head", "done"),
        ("lost", "lost"),
        ("back", "alive"),
        ("broken", "panicked"),
        ("a", "alive"),
        ("b", "failed"),
        ("c", "done"),
    }
    jobs = {job["job"][0]: job for job in shown["jobs"]}
    assert (jobs["a"]["what"], jobs["a"]["destination"]) == ("move", "az://again/")
    assert jobs["c"]["what"] == "second (2)"


class Shelf:
    """A queue that gives messages in the order that it likes."""

    name = "queue://shelf"

    def __init__(self, contents: Sequence[str]) -> None:
        times = SimpleNamespace(timestamp=lambda: NOW / 1e9)
        self.there = [
            SimpleNamespace(id=str(number), content=content, pop_receipt="", inserted_on=times)
            for number, content in enumerate(contents)
        ]

    def ask(self, _: str, call: Callable[[Any], Any]) -> Any:
        return call(self)

    def messages(self) -> int:
        return len(self.there)

    def peek_messages(self, max_messages: int) -> list[Any]:
        return self.there[:max_messages]

    def receive_messages(self, max_messages: int, **_: Any) -> list[Any]:
        taken, self.there = self.there[:max_messages], self.there[max_messages:]
        return taken

    def delete_message(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize("seed", range(40))
def test_a_queue_in_any_order_and_with_messages_twice_gives_the_same(real: list[Line], seed: int) -> None:
    chance = random.Random(seed)
    lines = real if seed % 2 else made()
    batches = itertools.batched if hasattr(itertools, "batched") else _batched
    contents = [message for some in batches(lines, 3) for message, _ in packed(line.values for line in some)]
    contents += chance.sample(contents, len(contents) // 2)
    chance.shuffle(contents)
    state = State()
    queue = Messages(cast("Queue", Shelf(contents)), lambda: NOW, consume=True)
    while queue._queue.messages():
        for batch in queue.read():
            for line in batch.lines:
                apply(state, line, NOW, live=batch.live, modified_ns=batch.modified_ns)
            if batch.taken is not None:
                batch.taken()
    if lines is real:
        assert moved(state) == 40 * 3000
    found, expected = known(state), after(lines)
    for shown in (found, expected):
        del shown["queues"]
    assert found == expected


def _batched(lines: Sequence[Line], count: int) -> Iterable[Sequence[Line]]:
    return (lines[start : start + count] for start in range(0, len(lines), count))


def test_a_line_that_comes_a_minute_late_is_no_sign_of_life() -> None:
    """It was taken for a clock that had been set back, and for something heard now."""
    texts: list[bytes] = []
    clock = [T0]
    writer = Writer(lambda _, data: texts.append(data), now=lambda: clock[0])
    writer.start()
    writer.progress(1, 9)
    clock[0] += 90 * SECOND
    writer.progress(2, 9)
    first, late, last = (cast("Line", of_log(json.loads(text))) for text in texts)
    state, now = State(), clock[0]
    apply(state, first, now)
    apply(state, last, now)
    now += 10 * SECOND
    apply(state, late, now)
    states.read(state, now)
    (stream,) = states.streams_of(state)
    assert states.health(state, stream) == "silent"
    assert stream.last_unix_ns == last.time_unix_ns


def test_a_sample_that_is_older_than_the_summary_changes_nothing() -> None:
    texts: list[bytes] = []
    writer = Writer(lambda _, data: texts.append(data), now=lambda: T0)
    writer.start()
    writer.say("progress", **progress_fields(3, 9))
    writer.end(done=9)
    start, sample, end = (cast("Line", of_log(json.loads(text))) for text in texts)
    for order in itertools.permutations((start, sample, end)):
        shown = after(order)
        assert shown["health"] == {"done": 1}
        assert (shown["totals"]["bytes_done"], shown["totals"]["objects_done"]) == (9000, 9)


def test_a_job_whose_end_comes_first_from_a_queue_has_ended(haul: Haul, queues: Queues) -> None:
    """What a reader took and did not delete comes again behind what came later: the job was SILENT."""
    haul.env.update(queues.env)
    texts: list[bytes] = []
    writer = Writer(lambda _, data: texts.append(data))
    writer.start()
    for done in range(1, 4):
        writer.object(f"{done}.nc")
        writer.progress(done, 3)
    writer.end(done=3)
    queue = queues.queue()
    for text in [texts[-1], *texts[:-1], texts[0]]:
        ((message, _),) = packed([json.loads(text)])
        queue.send_message(message)
    said = haul("watch", f"queue://{queue.queue_name}", "--consume").text
    assert "3/3 objects" in said
    assert "SILENT" not in said
