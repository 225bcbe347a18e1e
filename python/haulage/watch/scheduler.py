"""Watches the workers and tasks of a Dask scheduler, by asking it; nothing is changed there.

It is asked over a connection, not as a client, so that it neither counts nor keeps anything for whoever
looks. The first look has it keep the last tasks that ended, as its own dashboard does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from haulage.cluster.connecting import address_in
from haulage.errors import ConnectionLostError, UsageError, missing_package
from haulage.watch.line import Batch, Line
from haulage.words.numbers import counted, format_size

#: An answer that takes longer says that the scheduler is away: it is shown within 5 s.
ANSWER_S = 2.5
#: How often it is asked.
ASK_S = 1.0
#: A worker that has said nothing to the scheduler for so long, beyond the pause between two words, is silent.
SILENT_S = 4.0
#: Where workers say something to a person: `distributed.print`, and what is said to us by ``log_event``.
TOPICS = ("print", "haulage")
_SCHEDULER = "scheduler"
_TASKS = ("running", "waiting", "done", "failed")


@dataclass
class _Worker:
    """What is known of a worker."""

    name: str
    last_seen: float = 0.0  #: by the scheduler's clock
    heard_ns: int = 0  #: when that changed, by ours
    done: int = 0
    failed: int = 0


class Scheduler:
    """A scheduler, asked again and again.

    Args:
        address: Where it listens, ``tcp://HOST:PORT`` or ``tls://HOST:PORT``.
        file: What ``dask scheduler --scheduler-file`` has written, in place of that.
        now: Returns nanoseconds since 1970.

    Raises:
        UsageError: Not an address of a scheduler.
        UnsupportedError: Dask is not installed.
    """

    ended = False

    def __init__(
        self, *, address: str | None = None, file: str | None = None, now: Callable[[], int]
    ) -> None:
        try:
            import distributed  # noqa: F401
        except ModuleNotFoundError as error:
            raise missing_package("watch", "scheduler", error.name, "cluster") from None
        if address is not None and not address.startswith(("tcp://", "tls://")):
            hint = "write tcp://HOST:PORT or tls://HOST:PORT"
            raise UsageError("watch", address, "not the address of a scheduler", hint)
        self.name = address or file or ""
        self._address, self._file, self._now = address, file, now
        self._runner = asyncio.Runner()
        self._workers: dict[str, _Worker] = {}
        #: Of the scheduler that answered last: its name, how many tasks it had, and when what topic was read.
        self._id, self._index = "", 0
        self._topics: dict[str, float] = {}
        self._done = self._failed = 0

    def close(self) -> None:
        """Nothing is held open between two looks."""

    def read(self) -> Iterator[Batch]:
        """Ask it, and yield what is new.

        Raises:
            HaulageError: It does not answer, or there is no such file. Calling it again goes on.
        """
        # The file is read each time: another scheduler writes it anew.
        address = self._address or address_in(self.name)
        try:
            told = self._runner.run(asyncio.wait_for(self._ask(address), ANSWER_S))
        except (OSError, TimeoutError, ValueError) as error:
            hint = "is the scheduler running? dask scheduler starts one"
            cause = str(error).partition("\n")[0] or f"no answer within {ANSWER_S} s"
            raise ConnectionLostError("watch", self.name, cause, hint) from None
        yield Batch(list(self._lines(told)), live=True)

    async def _ask(self, address: str) -> dict[str, Any]:
        from distributed import rpc
        from distributed.security import Security

        # What tasks returned or raised stays packed: it is of classes that are not here.
        arguments = {"deserialize": False, "connection_args": Security().get_connection_args("client")}
        async with rpc(address, timeout=ANSWER_S, **arguments) as scheduler:
            told: dict[str, Any] = dict(await scheduler.identity(n_workers=-1))
            index = await scheduler.get_task_stream_index()
            same = told["id"] == self._id
            told["index"] = index
            told["ended"] = await scheduler.get_task_stream(start_index=self._index) if same else ()
            gone = same and self._workers.keys() - told["workers"].keys()
            told["events"] = await scheduler.events(topic="all") if gone else ()
            told["said"] = {topic: await scheduler.events(topic=topic) for topic in TOPICS}
        return told

    def _lines(self, told: dict[str, Any]) -> Iterator[Line]:
        now = self._now()
        if told["id"] != self._id:
            # Another one: what its tasks were before is not known, and its workers are new.
            self._id, self._index, self._topics = told["id"], told["index"], {}
            for address in list(self._workers):
                yield self._left(address, now, expected=True, why="the scheduler was restarted")
            for topic, entries in told["said"].items():
                self._topics[topic] = max((at for at, _ in entries), default=0.0)
        # Tasks first: a worker may have gone since they ended.
        yield from self._ended(told, now)
        for address in [one for one in self._workers if one not in told["workers"]]:
            yield self._left(address, now, **_farewell(told["events"], address))
        yield from self._said(told["said"], now)
        sums = dict.fromkeys(_TASKS, 0)
        for address, of in told["workers"].items():
            yield from self._sample(address, of, now, len(told["workers"]), sums)
        sums |= {"done": self._done, "failed": self._failed}
        what = (
            f"dask scheduler, {counted(len(told['workers']), 'worker')}, "
            f"{counted(told['total_threads'], 'thread')}"
        )
        yield self._line(
            _SCHEDULER,
            _SCHEDULER,
            now,
            "tasks",
            health="alive",
            what=what,
            heard_ns=now,
            coordinator=True,
            **sums,
        )

    def _line(self, node: str, stream: str, at_ns: int, event: str, **values: Any) -> Line:
        return Line(self.name, node, stream, None, at_ns, event, {"event": event, **values})

    def _sample(
        self, address: str, of: dict[str, Any], now: int, workers: int, sums: dict[str, int]
    ) -> Iterator[Line]:
        from distributed.scheduler import heartbeat_interval

        known = self._workers.get(address)
        if known is None:
            known = self._workers[address] = _Worker(_name_of(of))
            words = f"the worker joined, with {counted(of['nthreads'], 'thread')}"
            yield self._line(known.name, address, now, "worker_joined", message=words)
        if of["last_seen"] != known.last_seen:
            known.last_seen, known.heard_ns = of["last_seen"], now
        counts = of["metrics"].get("task_counts", {})
        running, waiting = counts.get("executing", 0), sum(counts.get(one, 0) for one in _WAITING)
        sums["running"] += running
        sums["waiting"] += waiting
        silent = (now - known.heard_ns) / 1e9 > SILENT_S + heartbeat_interval(workers)
        memory = format_size(of["metrics"].get("memory", 0))
        paused = "" if of["status"] == "running" else f", {of['status']}"
        yield self._line(
            known.name,
            address,
            known.heard_ns,
            "tasks",
            health="silent" if silent else "alive",
            what=f"dask worker, {memory}{paused}",
            heard_ns=known.heard_ns,
            running=running,
            waiting=waiting,
            done=known.done,
            failed=known.failed,
        )

    def _ended(self, told: dict[str, Any], now: int) -> Iterator[Line]:
        for one in told["ended"]:
            address = str(one.get("worker"))
            worker = self._workers.get(address) or _Worker(address.partition("://")[2])
            failed = one.get("status") == "error"
            worker.done, worker.failed = worker.done + (not failed), worker.failed + failed
            self._done, self._failed = self._done + (not failed), self._failed + failed
            computed = [step for step in one.get("startstops", ()) if step.get("action") == "compute"]
            began, ended = (computed[-1][name] if computed else now / 1e9 for name in ("start", "stop"))
            text = str(one.get("exception_text") or "")
            yield self._line(
                worker.name,
                address,
                int(ended * 1e9),
                "task",
                object=str(one.get("key")),
                outcome="failed" if failed else "done",
                duration_ns=int((ended - began) * 1e9),
                kind=text.partition("(")[0] if failed else None,
                message=text if failed else None,
                traceback=one.get("traceback_text") if failed else None,
            )
        # Tasks that end between the two questions are told with the others, and must not be told again.
        self._index = max(told["index"], self._index + len(told["ended"]))

    def _left(self, address: str, now: int, *, expected: bool, why: str) -> Line:
        worker = self._workers.pop(address)
        return self._line(worker.name, address, now, "worker_left", expected=expected, message=why)

    def _said(self, said: dict[str, Any], now: int) -> Iterator[Line]:
        for topic, entries in said.items():
            since = self._topics.get(topic, 0.0)
            for at, told in entries:
                if at > since and isinstance(told, dict):
                    self._topics[topic] = at
                    worker = self._workers.get(str(told.get("worker")))
                    printed = str(told.get("sep", " ")).join(map(str, told.get("args", ())))
                    yield self._line(
                        worker.name if worker else _SCHEDULER,
                        str(told.get("worker") or _SCHEDULER),
                        now,
                        "log",
                        level=told.get("level", "INFO"),
                        logger=topic,
                        message=printed if topic == "print" else told.get("message", told),
                    )


#: States of a task on a worker in which it is still to be computed.
_WAITING = ("ready", "waiting", "constrained", "fetch", "flight")


def _name_of(of: dict[str, Any]) -> str:
    """Return what a worker is called: its name, with that of the machine where it is a mere number."""
    name = str(of["name"])
    return f"{of['host']}-{name}" if name.isdigit() else name.partition("://")[2] or name


def _farewell(events: Any, address: str) -> dict[str, Any]:
    """Return whether a worker left in order, and why."""
    for _, told in reversed(events):
        if told.get("action") == "remove-worker" and told.get("worker") == address:
            if told.get("expected"):
                return {"expected": True, "why": "the worker has left"}
            tasks = len(told.get("processing-tasks") or ())
            why = str(told.get("stimulus_id") or "").rpartition("-")[0] or "no reason given"
            return {"expected": False, "why": f"the worker is lost ({why}), with {tasks} of its tasks"}
    return {"expected": False, "why": "the worker is lost"}


def silence() -> None:
    """Have Dask and its loop say nothing by themselves; what matters is shown."""
    for name in ("distributed", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
