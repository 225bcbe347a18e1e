"""What is known follows from the lines and from when they came, and from nothing else."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, strategies as some
from rich.console import Console

from haulage.watch import state as states
from haulage.watch.history import MOST, History, together
from haulage.watch.line import Line, of_log
from haulage.watch.snapshot import snapshot
from haulage.watch.state import State
from haulage.watch.tables import screen, whole
from haulage.watch.updates import apply, tick
from watch.writing import JOB, SECOND, T0, Writer, object_fields, progress_fields


class Told:
    """A state, its writers and a clock that is set by hand."""

    def __init__(self) -> None:
        self.state, self.now = State(), T0

    def writer(self, node: str = "node-1", job: str = JOB, *, coordinator: bool = False) -> Writer:
        return Writer(self._keep, node, job=job, coordinator=coordinator, now=lambda: self.now)

    def _keep(self, _: str, data: bytes) -> None:
        for text in data.splitlines():
            line = of_log(json.loads(text))
            assert line is not None
            apply(self.state, line, self.now)

    def look(self, seconds: float = 0) -> dict[str, Any]:
        """Return what is shown so many seconds later, the log having been read."""
        self.now += int(seconds * SECOND)
        states.read(self.state, self.now)
        tick(self.state, self.now)
        return snapshot(self.state, self.now, source="log")


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_job_from_its_start_to_its_end(told: Told) -> None:
    job = told.writer()
    job.start()
    job.progress(3, 10)
    shown = told.look(1)
    assert shown["health"] == {"alive": 1}
    assert (shown["totals"]["objects_done"], shown["totals"]["objects_total"]) == (3, 10)
    assert shown["totals"]["eta_ns"] == 2 * SECOND
    assert shown["totals"]["rate_bits_per_second"] == 8000
    assert not shown["ended"]
    job.end(done=10)
    shown = told.look(3)
    assert shown["health"] == {"done": 1}
    assert shown["totals"]["bytes_done"] == 10_000
    assert shown["totals"]["rate_bits_per_second"] == 0
    assert (shown["ended"], shown["exit_code"]) == (True, 0)


def test_trouble_comes_first_and_last(told: Told) -> None:
    nodes = {f"w{number:02}": told.writer(f"w{number:02}") for number in range(40)}
    for node in nodes.values():
        node.start()
        node.progress(3, 10)
    nodes["w23"].object("sad.nc", failure="integrity")
    nodes["w23"].progress(3, 10, objects_failed=1)
    shown = told.look(1)
    # It still runs, as all others do.
    assert (shown["health"], shown["nodes"][0]["node"]) == ({"alive": 40}, "w23")
    for name, node in nodes.items():
        if name != "w37":
            node.end(done=10, exit_code=int(name == "w23"), objects_failed=int(name == "w23"))
    shown = told.look(5)
    assert [one["node"] for one in shown["nodes"][:2]] == ["w37", "w23"]
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(screen(shown, 24))
    console.print(whole(shown))
    text = console.export_text()
    assert "w00" not in text.partition("w37")[0]
    silent, failed, latest = text.rstrip().splitlines()[-3:]
    assert "SILENT  w37" in silent
    assert "failed  w23: 1 object failed" in failed
    assert latest.startswith("latest error")


def test_one_that_says_nothing_is_silent_after_4_s_and_gone_after_10_min(told: Told) -> None:
    told.writer().start()
    assert told.look(3.9)["health"] == {"alive": 1}
    shown = told.look(0.2)
    assert shown["health"] == {"silent": 1}
    assert [one["event"] for one in shown["problems"]] == ["silent"]
    assert not shown["ended"]
    # Said once.
    assert len(told.look(1)["problems"]) == 1
    assert told.look(600)["ended"]
    assert told.look()["exit_code"] == 1


def test_silent_jobs_are_counted_by_themselves(told: Told) -> None:
    for job in ("a" * 16, "b" * 16):
        told.writer(job=job).start()
    told.look(5)
    alive, ended = told.writer(job="c" * 16), told.writer(job="d" * 16)
    alive.start()
    ended.start()
    ended.end()
    shown = told.look(1)
    totals = shown["totals"]
    assert (totals["jobs"], totals["jobs_running"], totals["jobs_silent"]) == (4, 3, 2)
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(screen(shown, 50))
    assert "4 jobs: 1 running, 2 silent\n" in console.export_text()


def test_what_a_killed_job_left_and_another_sends_is_no_sign_of_life(told: Told) -> None:
    job = told.writer()
    job.start()
    left = job.line("object", **object_fields("a.nc"))
    assert told.look(300)["health"] == {"silent": 1}
    job.write([left])
    shown = told.look()
    assert shown["health"] == {"silent": 1}
    assert shown["totals"]["objects_done"] == 1
    assert len(shown["problems"]) == 1


def test_a_clock_that_is_wrong_makes_nobody_silent(told: Told) -> None:
    job = told.writer()
    job._now = lambda: told.now - 3600 * SECOND
    job.start()
    for done in range(10):
        told.now += SECOND
        job.progress(done, 10)
    assert told.look(1)["health"] == {"alive": 1}


def test_nobody_is_silent_while_the_log_is_away(told: Told) -> None:
    told.writer().start()
    told.look(1)
    told.now += 60 * SECOND
    states.away(told.state, "the link is down", told.now)
    shown = snapshot(told.state, told.now, source="log")
    assert shown["health"] == {"alive": 1}
    assert shown["away"] == {"cause": "the link is down", "for_ns": 60 * SECOND}
    assert told.look()["away"] is None


def test_a_log_that_is_read_afterwards_is_judged_by_its_own_times(told: Told) -> None:
    line = of_log(told.writer().line("job_started", operation="copy"))
    assert line is not None
    now = T0 + 3600 * SECOND
    apply(told.state, line, now, live=False)
    states.read(told.state, now)
    assert snapshot(told.state, now, source="log")["health"] == {"silent": 1}
    assert states.finished(told.state)


def test_the_coordinator_stands_for_the_job(told: Told) -> None:
    head = told.writer("head", coordinator=True)
    one, two = told.writer("one"), told.writer("two")
    for writer in (head, one, two):
        writer.start()
    one.progress(5, 6)
    two.progress(4, 6)
    head.progress(9, 12, in_flight=0)
    shown = told.look()
    assert (shown["totals"]["objects_done"], shown["totals"]["objects_total"]) == (9, 12)
    assert shown["totals"]["in_flight"] == 8
    assert {node["node"]: node["objects_done"] for node in shown["nodes"]} == {"head": 9, "one": 5, "two": 4}


def test_without_a_coordinator_each_counts_for_itself(told: Told) -> None:
    for name in ("one", "two"):
        writer = told.writer(name)
        writer.start()
        writer.progress(5, 6)
    assert told.look()["totals"]["objects_done"] == 10


def test_an_object_that_failed_counts_once_though_the_coordinator_tells_it_too(told: Told) -> None:
    head, node = told.writer("head", coordinator=True), told.writer("one")
    for writer in (node, head):
        writer.start()
        writer.object("a.nc", failure="permission")
    head.object("b.nc", failure="permission")
    (kind,) = told.look()["errors"]
    assert (kind["kind"], kind["objects"], kind["object"]) == ("permission", 2, "b.nc")


@pytest.mark.parametrize("coordinator_first", [True, False])
def test_a_node_that_is_lost(told: Told, coordinator_first: bool) -> None:
    head, node = told.writer("head", coordinator=True), told.writer("one")
    head.start()
    early = [node.line("job_started", operation="copy"), node.line("progress", **progress_fields(1, 2))]
    told.now += 30 * SECOND
    if not coordinator_first:
        node.write(early)
    head.say("node_lost", lost="one", cause="its worker is gone")
    if coordinator_first:
        node.write(early)
    shown = told.look()
    assert {one["node"]: one["health"] for one in shown["nodes"]} == {"head": "alive", "one": "lost"}
    assert shown["errors"][0]["kind"] == "node_lost"
    head.end(done=2)
    shown = told.look(3)
    assert (shown["ended"], shown["exit_code"]) == (True, 0)
    told.now += SECOND
    node.progress(2, 2)
    assert told.look()["health"] == {"done": 1, "alive": 1}


def test_a_panic_stays_one(told: Told) -> None:
    job = told.writer()
    job.start()
    job.say("panic", message="index out of bounds")
    job.say("error", kind="service", operation="copy", object="", cause="the engine failed", exit_code=1)
    shown = told.look()
    assert shown["health"] == {"panicked": 1}
    assert shown["exit_code"] == 1
    assert {kind["kind"] for kind in shown["errors"]} == {"panic", "service"}


def test_a_worker_with_an_exception(told: Told) -> None:
    worker = told.writer("desk")
    worker.say("worker_started", program="regrid", pid=7)
    worker.say("log", level="INFO", logger="a", message="step 1", file="a.py", line=1, traceback=None)
    worker.say("log", level="ERROR", logger="a", message="step 2", file="a.py", line=2, traceback="Traceback")
    worker.say("uncaught", kind="ValueError", message="no poles", traceback="Traceback ...")
    worker.say("worker_ended", ok=False)
    shown = told.look(3)
    (node,) = shown["nodes"]
    assert (node["what"], node["health"], node["cause"]) == ("regrid (7)", "failed", "ValueError: no poles")
    assert [one["text"] for one in shown["problems"]] == ["ValueError: no poles", "step 2"]
    assert [one["text"] for one in shown["logs"]] == ["step 1"]
    assert (shown["ended"], shown["exit_code"]) == (True, 1)


def test_a_sign_of_life_of_a_worker_changes_no_number(told: Told) -> None:
    worker = told.writer()
    worker.say("worker_started", program="regrid", pid=7)
    for _ in range(10):
        told.now += SECOND
        worker.say("progress", elapsed_ns=1)
    assert told.look(1)["health"] == {"alive": 1}


def test_a_handler_alone_is_quiet_not_silent(told: Told) -> None:
    told.writer().say("log", level="INFO", logger="a", message="hello")
    shown = told.look(5)
    assert shown["health"] == {"quiet": 1}
    assert (shown["ended"], shown["exit_code"]) == (True, 0)


def test_the_slowest_of_all_nodes(told: Told) -> None:
    for number in range(6):
        slow = [
            {
                "object": f"{number}-{one}",
                "age_ns": (10 * number + one) * SECOND,
                "bytes_done": 1,
                "size_bytes": 4,
            }
            for one in range(3)
        ]
        told.writer(f"node-{number}").progress(1, 2, slowest=slow)
    shown = told.look(1)
    assert len(shown["slow"]) == 10
    assert shown["slow"][0]["object"] == "5-2"
    assert shown["slow"][0]["age_ns"] == 53 * SECOND


def test_everything_is_bounded_and_what_is_left_out_is_counted(told: Told) -> None:
    for number in range(1500):
        writer = told.writer(f"node-{number}", job=f"{number // 3:016x}")
        writer.start()
        writer.object("a" * 10_000, failure=f"kind-{number}")
        if number % 2:
            writer.end(done=1)
    state = told.state
    shown = told.look()
    assert len(states.streams_of(state)) == states.STREAMS
    assert len(state.kinds) == states.KINDS
    assert shown["nodes_left_out"] == 1500 - len(shown["nodes"])
    assert shown["errors_left_out"] == 1500 - len(shown["errors"])
    assert len(shown["problems"]) + shown["problems_left_out"] == 1500
    assert len(json.dumps(shown)) < 1_500_000


def test_rates_are_those_of_the_lines(told: Told) -> None:
    job = told.writer()
    job.start()
    for done in range(1, 11):
        told.now += SECOND
        job.progress(done, 10)
    rates = told.look()["rates"]
    assert rates["step_ns"] == SECOND
    assert rates["bits_per_second"] == [8000] * 10
    assert rates["at_unix_ns"][0] == T0 + SECOND


@given(some.lists(some.tuples(some.integers(0, 10**14), some.integers(0, 10**9)), max_size=300))
def test_a_history_keeps_every_byte_and_stays_small(added: list[tuple[int, int]]) -> None:
    history, other = History(), History()
    for place, (at_ns, amount) in enumerate(added):
        (history if place % 3 else other).add(at_ns, amount)
    summed = together([history, other])
    assert len(summed.steps()) <= MOST
    assert sum(amount for _, amount in summed.steps()) == sum(amount for _, amount in added)


_odd: list[Any] = [
    None,
    True,
    -1,
    0,
    7,
    1 << 70,
    1.5,
    float("nan"),
    "",
    "ok",
    "failed",
    "x" * 5000,
    "\0\x1b[2J\ud800",
    [],
    [1, "a"],
]
_odd += [[{"object": 1}], {}, {"kind": []}, {"kind": "busy", "cause": {}}]
_names = sorted(
    {"job", "node", "operation", *progress_fields(1, 1), *object_fields("a", failure="b")} - {"event"}
)
_names += [
    "kind",
    "cause",
    "message",
    "lost",
    "level",
    "traceback",
    "program",
    "pid",
    "ok",
    "exit_code",
    "fate",
]
_events = [
    "job_started",
    "object",
    "attempt",
    "progress",
    "warning",
    "summary",
    "error",
    "node_lost",
    "panic",
]
_events += ["worker_started", "worker_ended", "log", "uncaught", "gap", "unheard of"]


@given(
    some.lists(
        some.tuples(
            some.sampled_from(_events), some.dictionaries(some.sampled_from(_names), some.sampled_from(_odd))
        ),
        max_size=12,
    )
)
def test_no_line_of_others_breaks_it(lines: list[tuple[str, dict[str, Any]]]) -> None:
    from haulage.watch.rows import COLUMNS, row_of
    from haulage.watch.tables import screen

    told = Told()
    for place, (event, values) in enumerate(lines):
        line = Line(JOB, f"node-{place % 2}", "s", place, T0 + place, event, {"event": event, **values})
        apply(told.state, line, told.now)
        row = row_of(line)
        assert row is None or len(row) == len(COLUMNS)
    shown = told.look(5)
    json.dumps(shown)
    screen(shown, 40)
