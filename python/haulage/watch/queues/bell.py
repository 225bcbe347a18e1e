"""The bell of a log: a queue that says when there is something new, so that the log is listed less often."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from haulage.watch.line import Batch
from haulage.watch.queues.account import Queue
from haulage.watch.queues.reading import Messages

#: How often the log is listed where nobody rings: whoever is silent must be shown within 5 s, and a bell that
#: is away must not matter.
IDLE_S = 2.0


class Bell:
    """A queue that is looked at, or whose messages are taken. Lines are read from the log, not from it.

    Args:
        queue: The queue.
        now: Returns nanoseconds since 1970.
        ring: Called when there is something new.
        job: The only job that is watched: messages with lines of others ring, and are not deleted.
        consume: Take its messages and delete them.
    """

    ended = False

    def __init__(
        self,
        queue: Queue,
        now: Callable[[], int],
        ring: Callable[[], object],
        *,
        job: str | None = None,
        consume: bool,
    ) -> None:
        self.name = queue.name
        self._messages, self._ring = Messages(queue, now, job=job, consume=consume), ring
        self._before = 0

    def read(self) -> Iterator[Batch]:
        """Look, ring where there is something new, and yield how long the queue is.

        Raises:
            HaulageError: The queue is away. The log is read even so.
        """
        for batch in self._messages.read():
            counts = [line for line in batch.lines if line.event == "queue"]
            if batch.taken is not None:
                self._ring()
                # The log has these lines.
                batch.taken()
            for line in counts:
                # Who looks sees only the oldest: a new one shows in their number.
                if line.values["messages"] != self._before:
                    self._ring()
                self._before = line.values["messages"]
                yield Batch([line], live=True)

    def close(self) -> None:
        """Let go of it."""
        self._messages.close()
