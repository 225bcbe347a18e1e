"""One line of an event log, and the parsing of many."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

#: The name of a job.
JOB = re.compile(r"[0-9a-f]{16}")
#: A longer line is no event: the longest is a summary with a thousand failures.
LONGEST_BYTES = 16 << 20
#: Numbers beyond it are none of ours.
_MOST = 1 << 62
#: What is noticed here, or says of lines in a queue that others are left out. A log has none of these: a
#: worker may use such a name for an event of its own, or somebody make one up.
LEFT_OUT = "left_out"
_OF_TASKS = ("task", "tasks", "worker_joined", "worker_left")
NOTICED = frozenset(("queue", "unseen", "away", "back", "gap", "silent", LEFT_OUT, *_OF_TASKS))
#: Names of nodes and streams are no longer.
_NAME = 255


class Line(NamedTuple):
    """An event with where it comes from.

    ``event`` is empty where somebody else says what is only noticed here; ``values`` have its name.
    ``seq`` is ``None`` for samples and for what was noticed here, such as a gap.
    """

    job: str
    node: str
    stream: str
    seq: int | None
    time_unix_ns: int
    event: str
    values: dict[str, Any]


class Batch(NamedTuple):
    """Lines that were read together.

    ``live`` says that they were written since the reading began, so that who wrote them is there now;
    ``unread`` counts lines that are no events; ``taken`` is told once all of it is in the rows;
    ``modified_ns`` is when that which they are in was last written to, by the clock of what keeps it; 0 where
    nobody says so.
    """

    lines: list[Line]
    live: bool
    unread: int = 0
    taken: Callable[[], object] | None = None
    modified_ns: int = 0


def whole_lines(rest: bytes, data: bytes) -> tuple[str, bytes]:
    r"""Return the text up to the last end of a line, and the bytes behind it.

    >>> whole_lines(b"a", b"b\nc")
    ('ab\n', b'c')
    """
    end = data.rfind(b"\n") + 1
    if not end:
        return "", rest + data
    return (rest + data[:end]).decode("utf-8", "replace"), data[end:]


def objects(text: str) -> Iterator[dict[str, Any] | None]:
    """Yield the JSON object of each line; ``None`` for a line that is something else."""
    loads = json.loads
    for line in text.split("\n"):
        if line:
            try:
                found = loads(line)
            except (ValueError, RecursionError):
                found = None
            yield found if isinstance(found, dict) and isinstance(found.get("event"), str) else None


def as_text(value: object) -> str:
    """Return any value of JSON as text; it may be nested as deeply as its sender liked."""
    try:
        return value if type(value) is str else "" if value is None else str(value)
    except RecursionError:
        return "(nested too deeply)"


def as_count(value: object) -> int:
    """Return a number of something; 0 where it is none.

    >>> as_count(7), as_count(-7), as_count("7"), as_count(None), as_count(10**30)
    (7, 0, 0, 0, 0)
    """
    return value if type(value) is int and 0 <= value < 1 << 63 else 0


def as_time(value: object) -> int | None:
    """Return nanoseconds; ``None`` where they are none, or none of ours."""
    return value if type(value) is int and 0 <= value < _MOST else None


def event_of_others(name: str) -> str:
    """Return the event that somebody else says; empty where it is one that is only noticed here."""
    return "" if name in NOTICED else name


def of_log(found: dict[str, Any]) -> Line | None:
    """Return the line of an event log; ``None`` where it does not say whose it is."""
    get = found.get
    job, node, stream = get("job"), get("node"), get("stream")
    seq, time = get("seq"), get("time_unix_ns")
    if type(seq) is not int or not 0 <= seq < _MOST:
        seq = None
    if (
        type(job) is str
        and type(node) is str
        and type(stream) is str
        and type(time) is int
        and 0 <= time < _MOST
        and JOB.fullmatch(job)
        and len(node) <= _NAME
        and len(stream) <= _NAME
    ):
        return Line(job, node, stream, seq, time, event_of_others(found["event"]), found)
    return None


def lines_of_log(text: str) -> Iterator[Line | None]:
    """Yield each line of an event log; ``None`` for one that is something else."""
    for found in objects(text):
        yield of_log(found) if found else None


class Seen:
    """Which numbers of a stream have come: each is let through once, and what is missing is counted.

    A number may come again after a retry. What is missing may still come, late; it is let through then.
    """

    #: Stretches of missing numbers that are remembered; a log has none, a damaged one a few.
    MOST = 64

    def __init__(self) -> None:
        self.next = 0
        self._missing: list[tuple[int, int]] = []

    def new(self, seq: int) -> bool:
        """Whether this number has not come yet; from now on it has."""
        if seq >= self.next:
            if seq > self.next:
                self._missing = [*self._missing, (self.next, seq)][-self.MOST :]
            self.next = seq + 1
            return True
        for place, (first, end) in enumerate(self._missing):
            if first <= seq < end:
                left = [(first, seq), (seq + 1, end)]
                self._missing[place : place + 1] = [part for part in left if part[0] < part[1]]
                return True
        return False

    def left_out(self, first: int, end: int) -> None:
        """Take in that these numbers do not come: from the first to the one before the end."""
        if first > self.next:
            self._missing = [*self._missing, (self.next, first)][-self.MOST :]
        parts = [part for a, b in self._missing for part in ((a, min(b, first)), (max(a, end), b))]
        self._missing = [(a, b) for a, b in parts if a < b][-self.MOST :]
        self.next = max(self.next, end)

    def until(self) -> int:
        """Return the first number that has not come."""
        return self._missing[0][0] if self._missing else self.next

    def missing(self) -> int:
        """Return how many numbers below the next one have not come."""
        return sum(end - first for first, end in self._missing)


def first_failure(summary: dict[str, Any]) -> str:
    """Return why a job failed that has no object to say it of, such as a source that is not there."""
    failures = summary.get("failures")
    first = failures[0] if isinstance(failures, list) and failures else None
    if not isinstance(first, dict) or summary.get("objects_failed"):
        return ""
    return ": ".join(filter(None, (as_text(first.get(name)) for name in ("kind", "object", "cause"))))


def noticed(like: Line, event: str, values: dict[str, Any]) -> Line:
    """Return a line of our own about the stream of another."""
    return like._replace(seq=None, event=event, values={"event": event, **values})
