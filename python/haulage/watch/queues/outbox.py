"""What was put into a queue and is still there: small messages are put together again.

Whoever looks at a queue without taking anything sees its oldest 32 messages, whatever comes later. A sidecar
sends one or two a second, so that after a quarter of a minute nothing new could be seen. So it puts those of
its own that nobody takes together: 32 full ones hold some 100,000 lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from haulage.errors import HaulageError, NotFoundError
from haulage.watch.queues.account import Queue
from haulage.watch.queues.messages import LONGEST_BYTES, as_lines, packed, without_samples

#: An old message helps nobody: the log has all lines. So a queue that nobody reads does not grow for long.
KEPT_S = 3600
#: When there are so many small ones, they become one or two.
SMALL = 12


@dataclass(frozen=True)
class _Own:
    identity: str
    receipt: str
    values: list[dict[str, Any]]


class Outbox:
    """Puts messages into a queue."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        #: Those that have room for more, the oldest first.
        self._small: list[_Own] = []

    def put(self, message: str, values: list[dict[str, Any]]) -> None:
        """Send a message that holds these lines.

        Raises:
            HaulageError: It is not in the queue.
        """
        sent = self._queue.ask("send to", lambda client: client.send_message(message, time_to_live=KEPT_S))
        if len(message) < LONGEST_BYTES // 2:
            self._small.append(_Own(str(sent.id), str(sent.pop_receipt), values))

    def tidy(self) -> None:
        """Put small ones together, where nobody takes them.

        Lines may be there twice for a moment, and where somebody has just taken them: they have numbers.

        Raises:
            HaulageError: The queue is away. It is done the next time, as far as it still matters.
        """
        if len(self._small) < SMALL:
            return
        # The oldest are taken first: as many as are there are the last.
        there = self._queue.messages()
        self._small = self._small[-there:] if there else []
        if len(self._small) < SMALL:
            return
        together, self._small = self._small, []
        values, _ = without_samples(as_lines([one for own in together for one in own.values]))
        rest = iter(values)
        for message, count in packed(values):
            self.put(message, [next(rest) for _ in range(count)])
        for own in together:
            self._delete(own)

    def _delete(self, own: _Own) -> None:
        try:
            self._queue.ask("delete from", lambda client: client.delete_message(own.identity, own.receipt))
        except NotFoundError:
            return  # taken
        except HaulageError as error:
            if "PopReceiptMismatch" not in error.cause:
                raise
            # Somebody has it in hand.
