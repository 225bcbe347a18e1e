"""Follows the length of a queue: work that remains. It looks without taking anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from haulage.watch.lengths import Trend
from haulage.watch.line import Batch, Line
from haulage.watch.queues.account import Queue

#: How often it is counted: a request each time.
COUNT_S = 1.0


class Length:
    """A queue that is counted again and again.

    Args:
        queue: The queue.
        now: Returns nanoseconds since 1970.
        say: Returns what else there is to say of it; raises where something is wrong with it.
    """

    ended = False

    def __init__(self, queue: Queue, now: Callable[[], int], say: Callable[[], str] = str) -> None:
        self.name = queue.name
        self._queue, self._now, self._say = queue, now, say
        self._trend = Trend()

    def read(self) -> Iterator[Batch]:
        """Count it.

        Raises:
            HaulageError: It cannot be counted now.
        """
        said, messages = self._say(), self._queue.messages()
        yield Batch([counted(self.name, self._trend, self._now(), messages, said)], live=True)

    def close(self) -> None:
        """Let go of it."""
        self._queue.close()


def counted(name: str, trend: Trend, now: int, messages: int, said: str = "") -> Line:
    """Return a line that says how long a queue is."""
    values = {"event": "queue", "object": name, "message": said, **trend.add(now, messages)}
    return Line("", "", "", None, now, "queue", values)


def unseen(name: str, now: int, said: str) -> Line:
    """Return a line that says why not all of a queue is seen."""
    return Line("", "", "", None, now, "unseen", {"event": "unseen", "object": name, "message": said})
