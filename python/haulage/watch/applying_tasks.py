"""How lines change what is known if no log reports it: the workers of a scheduler, and queues.

They are made by what asks the scheduler and the queue, on this machine; names and errors in them are still of
others.
"""

from __future__ import annotations

from typing import Any

from haulage.watch import state as states
from haulage.watch.line import Line, as_text
from haulage.watch.state import Message, Queue, State, Stream, Tasks, message_of

#: Queues that are shown.
QUEUES = 100


def queue(state: State, line: Line, now: int) -> None:
    """Take in how many messages a queue holds."""
    values = line.values
    name = as_text(values.get("object"))
    if name not in state.queues and len(state.queues) >= QUEUES:
        return
    known = state.queues.setdefault(name, Queue(name))
    known.counted_ns = now
    known.messages = values["messages"]
    known.messages_per_second, known.eta_ns = values["messages_per_second"], values["eta_ns"]
    known.said = as_text(values.get("message"))


def beside(line: Line) -> Message:
    """Say that what stands beside the log cannot be read, or can be again."""
    level = "ERROR" if line.event == "away" else "INFO"
    return message_of(line, level, as_text(line.values["message"]), object=line.values["object"])


def sample(_: State, stream: Stream, line: Line) -> None:
    """Take in what a worker of a scheduler has to do, or all of them have."""
    values = line.values
    tasks = stream.tasks = stream.tasks or Tasks()
    tasks.health = values["health"]
    tasks.running, tasks.waiting = values["running"], values["waiting"]
    tasks.done, tasks.failed = values["done"], values["failed"]
    stream.what, stream.end, stream.cause = as_text(values["what"]), "", ""
    stream.started_unix_ns = stream.started_unix_ns or line.time_unix_ns
    stream.heard_ns = values["heard_ns"]
    stream.told_silent = stream.told_silent and tasks.health == "silent"


def joined(_: State, stream: Stream, line: Line) -> Message:
    """Take in that a worker is there."""
    stream.tasks = stream.tasks or Tasks()
    return message_of(line, "INFO", as_text(line.values["message"]))


def left(_: State, stream: Stream, line: Line) -> Message:
    """Take in that a worker is gone."""
    stream.tasks = None
    stream.end = "done" if line.values["expected"] else "lost"
    words = as_text(line.values["message"])
    stream.cause = "" if line.values["expected"] else words[: states.TEXT]
    return message_of(line, "INFO" if line.values["expected"] else "ERROR", words)


def task(state: State, stream: Stream, line: Line, error: Any) -> Message | None:
    """Take in how a task ended; ``error`` counts one that failed."""
    values = line.values
    if values["outcome"] != "failed":
        return None
    stream.errors += 1
    kind, named, words = (as_text(values[name]) for name in ("kind", "object", "message"))
    error(state, line, kind or "task", "others", named, words)
    return message_of(line, "ERROR", words, object=named, traceback=values.get("traceback"))
