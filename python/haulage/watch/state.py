"""What is known of the jobs that are watched.

A function of the lines that came and of when they came: it reads no clock and no file. Everything in it is
bounded, and what found no room is counted.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from haulage.watch.history import History
from haulage.watch.line import Line, as_text

#: A stream of which nothing came for so long, and that has not ended, is silent; after the second time it
#: is gone.
SILENT_NS = 4 * 10**9
GONE_NS = 600 * 10**9
#: Who was given up and wrote so much later is back; before, the clocks of two machines may differ.
BACK_NS = 4 * 10**9
#: A line that comes so much later than others of its stream was left by a process that was killed, and sent
#: by the next: it is no sign of life.
LATE_NS = 60 * 10**9
#: The operation of a job that is replayed from its record.
REPLAY = "replay"
#: How much is kept.
STREAMS = 1000
KINDS = 200
MESSAGES = 200
FAILED_OBJECTS = 50_000
#: Letters of a message, and of a traceback.
TEXT = 2000
TRACEBACK = 8000


@dataclass(slots=True)
class Message:
    """Something for a person to read: an error, a warning, a line of a log."""

    time_unix_ns: int
    job: str
    node: str
    event: str
    level: str
    object: str
    text: str
    traceback: str | None


@dataclass(slots=True)
class Kind:
    """Errors of one kind."""

    attempts: int = 0  #: requests that failed and, as a rule, were sent again
    objects: int = 0  #: that failed in the end
    others: int = 0  #: jobs, workers and nodes that it ended
    time_unix_ns: int = 0
    node: str = ""
    object: str = ""
    cause: str = ""


@dataclass(slots=True)
class Queue:
    """A queue whose messages are work that remains."""

    name: str
    messages: int = 0
    messages_per_second: float | None = None
    eta_ns: int | None = None
    counted_ns: int = 0  #: when, by the watcher's clock
    said: str = ""  #: what else there is to say of it


@dataclass(slots=True)
class Tasks:
    """What a worker of a scheduler, or the scheduler itself, has of tasks."""

    health: str = "alive"  #: as the scheduler knows it; nothing else says whether it is there
    running: int = 0
    waiting: int = 0
    done: int = 0
    failed: int = 0


@dataclass(slots=True)
class Latest:
    """The highest numbers of the lines that a stream's state is from; -1 where none has come.

    A queue may deliver in another order: a line that comes late must not undo what a later one said.
    """

    line: int = -1  #: of any event
    start: int = -1
    end: int = -1
    panic: int = -1
    sample: int = -1
    cause: int = -1


@dataclass(slots=True)
class Stream:
    """One process that writes: an engine, a worker of the user's own, or one of a scheduler."""

    job: str
    node: str
    stream: str
    what: str = ""  #: the operation or the program; empty where nothing has said that it began
    engine: bool = False
    started_unix_ns: int = 0
    heard_ns: int = 0  #: by the watcher's clock
    last_unix_ns: int = 0  #: by its own
    lag_ns: int | None = None  #: how long after its time a line came, at the least
    end: str = ""  #: ``done``, ``failed``, ``lost`` or ``panicked``: of the next three what counts
    ended: str = ""  #: ``done`` or ``failed``: as it said last
    panicked: bool = False
    exit_code: int | None = None
    cause: str = ""  #: why it ended so
    own_cause: str = ""  #: the same, as it said itself
    coordinates: bool = False  #: it speaks for all nodes of its job
    sources: tuple[str, ...] = ()
    destination: str = ""
    objects_total: int = 0
    objects_done: int = 0
    objects_failed: int = 0
    objects_skipped: int = 0
    bytes_total: int = 0
    bytes_done: int = 0
    listed: bool = False
    rate_bits_per_second: int = 0
    eta_ns: int | None = None
    in_flight: int = 0
    retries: int = 0
    sampled_ns: int = 0  #: when these numbers came
    slowest: tuple[tuple[str, int, int, int], ...] = ()
    errors: int = 0
    lost_lines: int = 0
    told_silent: bool = False
    counted_done: int = 0  #: lines of objects, which are never dropped
    counted_failed: int = 0
    said_done: int = 0  #: objects, by the last sample or the summary
    said_failed: int = 0
    summed: bool = False  #: it was the summary, which knows better than the count
    latest: Latest = field(default_factory=Latest)
    known_ns: int = 0  #: since when something of it is known, by the watcher's clock
    tasks: Tasks | None = None
    history: History = field(default_factory=History)


@dataclass(slots=True)
class Job:
    """The streams of one run."""

    name: str
    streams: dict[tuple[str, str], Stream] = field(default_factory=dict)
    lost: dict[str, tuple[int, str]] = field(default_factory=dict)  #: nodes: when, and why

    def leads(self) -> list[Stream]:
        """Return the streams whose numbers stand for the job.

        Where many nodes share a job, the coordinator counts what all of them do. Without one, each counts
        for itself.
        """
        engines = [one for one in self.streams.values() if one.engine]
        return [one for one in engines if one.coordinates] or engines


@dataclass(slots=True)
class State:
    """All of it."""

    jobs: dict[str, Job] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    problems: deque[Message] = field(default_factory=lambda: deque(maxlen=MESSAGES))
    logs: deque[Message] = field(default_factory=lambda: deque(maxlen=MESSAGES))
    problems_total: int = 0
    logs_total: int = 0
    levels: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    unread: int = 0
    kinds_left_out: int = 0  #: errors of kinds beyond those that are kept
    failed_before: bool = False  #: one of them had failed
    streams_left_out: int = 0  #: streams that have ended and are not shown any more
    lost_lines_before: int = 0  #: of these
    read_ns: int = 0  #: when the log was last read to its end
    over: bool = False  #: nothing more can come, as from standard input that has ended
    away: str = ""  #: why it cannot be read
    away_ns: int = 0  #: since when
    changed_ns: int = 0  #: when a line came last
    queues: dict[str, Queue] = field(default_factory=dict)
    #: Of what stands beside the log: why it cannot be read, and since when.
    beside_away: dict[str, tuple[str, int]] = field(default_factory=dict)
    #: Objects that were counted as failed: the coordinator tells of them as well.
    failed: dict[int, None] = field(default_factory=dict)


def streams_of(state: State) -> list[Stream]:
    """Return all streams."""
    return [stream for job in state.jobs.values() for stream in job.streams.values()]


def health(state: State, stream: Stream) -> str:
    """Return how a stream is: ``alive``, ``silent``, ``done``, ``failed``, ``lost``, ``panicked``, ``quiet``.

    One is quiet that nothing is heard of and that has not said that it began: it is unknown
    whether it should be heard. This is measured by when the log was read last: while it cannot be read,
    nobody is silent. Whoever has not ended when nothing more can come is silent at once.
    """
    if stream.end:
        return stream.end
    if stream.tasks is not None:
        return stream.tasks.health
    # What is replayed has no sign of life between two requests.
    if is_heard(state, stream) or stream.what == REPLAY:
        return "alive"
    return "silent" if stream.what else "quiet"


def is_heard(state: State, stream: Stream) -> bool:
    """Whether it has not ended, and something was heard of it just now."""
    return not stream.end and not state.over and state.read_ns - stream.heard_ns < SILENT_NS


def job_health(state: State, job: Job) -> str:
    """Return the same for a job: that of its coordinator, or of its worst stream where there is none."""
    streams = list(job.streams.values())
    leads = job.leads() or [one for one in streams if one.coordinates] or streams
    found = {health(state, stream) for stream in leads}
    for one in ("panicked", "silent", "failed", "lost", "alive", "done"):
        if one in found:
            return one
    return "quiet"


def finished(state: State) -> bool:
    """Whether every stream has ended: nothing is to come."""
    return bool(state.jobs) and all(job_finished(state, job) for job in state.jobs.values())


def job_finished(state: State, job: Job) -> bool:
    """Whether the streams of a job have ended, are gone, or are silent since its coordinator has ended."""
    leads = job.leads()
    over = bool(leads) and all(one.end for one in leads)
    for stream in job.streams.values():
        if stream.tasks is not None:
            # A scheduler goes on without work, and comes back after it was gone.
            return False
        if not stream.end:
            quiet_ns = state.read_ns - stream.heard_ns
            if quiet_ns < SILENT_NS or (stream.what and not over and quiet_ns < GONE_NS):
                return False
    return True


def exit_code(state: State) -> int:
    """Return 1 where a job or worker failed, or is gone; 0 otherwise."""
    if state.failed_before or (state.beside_away and not state.jobs):
        return 1
    for job in state.jobs.values():
        leads = job.leads()
        others = [one for one in job.streams.values() if not one.engine]
        for stream in [*leads, *others]:
            if health(state, stream) in ("failed", "lost", "panicked", "silent"):
                return 1
    return 0


def read(state: State, now: int) -> None:
    """Take in that the log was read to its end."""
    state.read_ns = max(state.read_ns, now)
    state.away = ""


def away(state: State, cause: str, now: int) -> None:
    """Take in that it could not be read."""
    if not state.away:
        state.away_ns = state.read_ns or now
    state.away = cause


def beside_away(state: State, name: str, cause: str, now: int) -> bool:
    """Take in that what stands beside the log cannot be read; return whether that is new."""
    known = state.beside_away.get(name)
    state.beside_away[name] = cause, known[1] if known else now
    for stream in state.jobs[name].streams.values() if name in state.jobs else ():
        if stream.tasks is not None and not stream.end:
            # Its workers may be well: nobody knows.
            stream.tasks.health = "silent" if stream.coordinates else "quiet"
            stream.told_silent = True
    return known is None


def beside_read(state: State, name: str) -> bool:
    """Take in that it was read; return whether it could not be before."""
    return state.beside_away.pop(name, None) is not None


def message_of(line: Line, level: str, text: str, **more: Any) -> Message:
    """Return a message of bounded length."""
    traceback = more.get("traceback")
    kept = as_text(traceback)[-TRACEBACK:] if traceback else None
    named = as_text(more.get("object"))[:TEXT]
    return Message(line.time_unix_ns, line.job, line.node, line.event, level, named, text[:TEXT], kept)
