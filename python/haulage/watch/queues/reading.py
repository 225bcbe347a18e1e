"""Reads the lines of a log from the messages of a queue, by looking at them or by taking them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING

from haulage.errors import HaulageError, NotFoundError
from haulage.watch.lengths import Trend
from haulage.watch.line import LEFT_OUT, Batch, Line, Seen, noticed
from haulage.watch.queues.account import Queue
from haulage.watch.queues.length import counted, unseen
from haulage.watch.queues.messages import unpacked

if TYPE_CHECKING:
    from azure.storage.queue import QueueMessage

#: What the service shows or gives at once. Who looks never sees more than the oldest of these.
AT_ONCE = 32
#: A message that was taken and not deleted by then is there again: whoever took it may have died.
HIDDEN_S = 60
#: Messages may come in another order. What is missing for so long was taken by somebody else, or is too old.
MISSING_NS = 10 * 10**9
#: Where more than these wait, the next are taken without a pause.
_ROUNDS = 16


class _Stream:
    """What has come of a stream."""

    def __init__(self, first: int) -> None:
        self.seen = Seen()
        # What was before may have been taken long ago, or come later, put together with others.
        self.missing, self.told, self.since_ns = 0, first, 0


class Messages:
    """The lines in a queue.

    Args:
        queue: The queue.
        now: Returns nanoseconds since 1970.
        job: The only job whose lines are wanted. Messages with lines of others are not deleted.
        consume: Take the messages and delete them once their lines are kept, so that the next may be seen.
            Default: look at them, so that any number of others can as well; then only the oldest 32 are seen.
    """

    ended = False

    def __init__(
        self, queue: Queue, now: Callable[[], int], *, job: str | None = None, consume: bool = False
    ) -> None:
        self.name = queue.name
        self._queue, self._now, self._job, self._consume = queue, now, job, consume
        self._streams: dict[tuple[str, str, str], _Stream] = {}
        #: What was seen at the last look: messages, each with whether it is to be taken.
        self._last: dict[str, bool] = {}
        #: Taken messages, each with whether its lines are kept by now.
        self._taken: list[tuple[str, str, Event]] = []
        self._trend = Trend()
        self._caught_up = False
        self._told = False  #: that not all of it is seen

    def read(self) -> Iterator[Batch]:
        """Yield what is new, a batch for each message.

        Raises:
            HaulageError: The queue is away, or there is none.
        """
        self._delete()
        for _ in range(_ROUNDS):
            for lines, sent_ns in self._look():
                yield self._batch(lines, Event(), sent_ns)
            wanted = max((place for place, ours in enumerate(self._last.values(), 1) if ours), default=0)
            if not wanted:
                break
            for ours, kept, sent_ns in self._take(wanted):
                yield self._batch(ours, kept, sent_ns)
            self._delete()
        self._caught_up = True
        yield Batch(self._gaps(), live=True)
        messages = self._queue.messages()
        said = self._unseen() if messages > AT_ONCE else ""
        if said and not self._told:
            self._told = True
            yield Batch([unseen(self.name, self._now(), said)], live=True)
        yield Batch([counted(self.name, self._trend, self._now(), messages, said)], live=True)

    def _unseen(self) -> str:
        """Return why a queue with more messages than are seen at once is not read to its end."""
        if not self._consume:
            return (
                f"only the oldest {AT_ONCE} messages can be looked at; watch the log, or take them: --consume"
            )
        # Of what can be deleted, nothing is left among those that were looked at.
        return (
            f"the oldest {AT_ONCE} messages are not ours to delete, and hide those behind them"
            if len(self._last) == AT_ONCE
            else ""
        )

    def close(self) -> None:
        """Delete what is kept, as far as the queue answers, and let go of it."""
        # What is not deleted comes again, and is known by its numbers.
        with suppress(HaulageError):
            self._delete()
        self._queue.close()

    def _look(self) -> list[tuple[list[Line] | None, int]]:
        """Look at the oldest messages; return the lines and time of each that is new and not to be taken."""
        found = self._queue.ask("look at", lambda client: client.peek_messages(max_messages=AT_ONCE))
        before, self._last = self._last, {}
        new: list[tuple[list[Line] | None, int]] = []
        for one in found:
            if one.id in before:
                self._last[one.id] = before[one.id]
                continue
            lines = unpacked(str(one.content))
            ours = self._last[one.id] = self._consume and self._is_ours(lines)
            if not ours:
                new.append((lines, _sent_ns(one)))
        return new

    def _take(self, count: int) -> list[tuple[list[Line], Event, int]]:
        """Take so many messages; return of each of ours the lines, what says that it is kept, and its time.

        Those of others before them can only be taken as well: they are given back at once.
        """
        options = {"max_messages": count, "messages_per_page": count, "visibility_timeout": HIDDEN_S}
        taken = self._queue.ask("take from", lambda client: [*client.receive_messages(**options)])
        ours, others = [], []
        for one in taken:
            lines, receipt = unpacked(str(one.content)), str(one.pop_receipt)
            if lines is not None and self._is_ours(lines):
                kept = Event()
                self._taken.append((one.id, receipt, kept))
                ours.append((lines, kept, _sent_ns(one)))
            else:
                others.append((one.id, receipt))
        with suppress(HaulageError):
            # Where that is not allowed, they are there again after a while.
            for identity, receipt in others:
                self._give_back(identity, receipt)
        return ours

    def _is_ours(self, lines: list[Line] | None) -> bool:
        """Whether it is ours to delete: it holds lines of a log alone, all of a job that is wanted."""
        return lines is not None and (self._job is None or all(line.job == self._job for line in lines))

    def _batch(self, lines: list[Line] | None, kept: Event, sent_ns: int) -> Batch:
        if lines is None:
            return Batch([], self._caught_up, 1)
        new = [line for line in lines if self._is_new(line)]
        return Batch(new, self._caught_up, taken=kept.set, modified_ns=sent_ns)

    def _is_new(self, line: Line) -> bool:
        if self._job is not None and line.job != self._job:
            return False
        if line.seq is None:
            return True
        key = (line.job, line.node, line.stream)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = _Stream(line.seq)
        if line.event == LEFT_OUT:
            stream.seen.left_out(line.seq, line.values["until"])
            return False
        return stream.seen.new(line.seq)

    def _gaps(self) -> list[Line]:
        """Say what has been missing for a while."""
        lines, now = [], self._now()
        for (job, node, name), stream in self._streams.items():
            missing = stream.seen.missing()
            if missing != stream.missing:
                stream.missing, stream.since_ns = missing, now
            if missing > stream.told and now - stream.since_ns >= MISSING_NS:
                stream.told = missing
                like = Line(job, node, name, None, now, "gap", {})
                lines.append(noticed(like, "gap", {"lost": missing, "where": "queue"}))
        return lines

    def _delete(self) -> None:
        """Delete the messages whose lines are kept."""
        while self._taken and self._taken[0][2].is_set():
            identity, receipt, _ = self._taken.pop(0)
            try:
                self._forget(identity, receipt)
            except NotFoundError:
                # It took too long: it is there again, or somebody else has deleted it.
                continue

    def _forget(self, identity: str, receipt: str) -> None:
        self._queue.ask("delete from", lambda client: client.delete_message(identity, receipt))

    def _give_back(self, identity: str, receipt: str) -> None:
        self._queue.ask(
            "give back to", lambda client: client.update_message(identity, receipt, visibility_timeout=0)
        )


def _sent_ns(message: QueueMessage) -> int:
    """Return when a message was put into its queue, by the clock of the service."""
    return int(message.inserted_on.timestamp() * 1e9) if message.inserted_on else 0
