"""How lines change what is known if no log reports it: the workers of a scheduler, and queues.

They are made by what asks the scheduler and the queue, on this machine; what is in them is still of others.
"""

from __future__ import annotations

from typing import Any

from haulage.watch import state as states
from haulage.watch.line import Line, as_count, as_text
from haulage.watch.state import Message, Queue, State, Stream, Tasks, message_of

#: Queues that are shown.
QUEUES = 100
#: What is said of what stands beside the log, or of a queue that stands for it, with the levels.
BESIDE = {"away": "ERROR", "back": "INFO", "unseen": "WARNING"}


def queue(state: State, line: Line, now: int) -> None:
    """Take in how many messages a queue holds."""
    values = line.values
    name = as_text(values.get("object"))
    if name not in state.queues and len(state.queues) >= QUEUES:
        return
    known = state.queues.setdefault(name, Queue(name))
    known.counted_ns = now
    known.messages = as_count(values.get("messages"))
    rate, eta_ns = values.get("messages_per_second"), values.get("eta_ns")
    known.messages_per_second = rate if type(rate) is float else None
    known.eta_ns = None if eta_ns is None else as_count(eta_ns)
    known.said = as_text(values.get("message"))


def beside(line: Line) -> Message:
    """Say that something cannot be read, or not all of it, or can be again."""
    return message_of(line, BESIDE[line.event], _words(line), object=line.values.get("object"))


def sample(_: State, stream: Stream, line: Line) -> None:
    """Take in what a worker of a scheduler has to do, or all of them have."""
    values = line.values
    tasks = stream.tasks = stream.tasks or Tasks()
    tasks.health = "silent" if values.get("health") == "silent" else "alive"
    tasks.running, tasks.waiting = (as_count(values.get(name)) for name in ("running", "waiting"))
    tasks.done, tasks.failed = (as_count(values.get(name)) for name in ("done", "failed"))
    stream.what, stream.end, stream.cause = as_text(values.get("what")), "", ""
    stream.started_unix_ns = stream.started_unix_ns or line.time_unix_ns
    stream.heard_ns = as_count(values.get("heard_ns"))
    stream.told_silent = stream.told_silent and tasks.health == "silent"


def joined(_: State, stream: Stream, line: Line) -> Message:
    """Take in that a worker is there."""
    stream.tasks = stream.tasks or Tasks()
    return message_of(line, "INFO", _words(line))


def left(_: State, stream: Stream, line: Line) -> Message:
    """Take in that a worker is gone."""
    stream.tasks = None
    expected, words = line.values.get("expected") is True, _words(line)
    stream.end = "done" if expected else "lost"
    stream.cause = "" if expected else words[: states.TEXT]
    return message_of(line, "INFO" if expected else "ERROR", words)


def task(state: State, stream: Stream, line: Line, error: Any) -> Message | None:
    """Take in how a task ended; ``error`` counts one that failed."""
    values = line.values
    if values.get("outcome") != "failed":
        return None
    stream.errors += 1
    kind, named, words = (as_text(values.get(name)) for name in ("kind", "object", "message"))
    error(state, line, kind or "task", "others", named, words)
    return message_of(line, "ERROR", words, object=named, traceback=values.get("traceback"))


def _words(line: Line) -> str:
    return as_text(line.values.get("message"))
