"""Reads the lines of a log from the messages of a queue, by looking at them or by taking them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Event

from haulage.errors import HaulageError, NotFoundError
from haulage.watch.lengths import Trend
from haulage.watch.line import Batch, Line, Seen, noticed
from haulage.watch.queues.account import Queue
from haulage.watch.queues.length import counted
from haulage.watch.queues.messages import LEFT_OUT, unpacked

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
        job: The only job whose lines are wanted.
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
        self._last: dict[str, None] = {}
        #: Taken messages, each with whether its lines are kept by now.
        self._taken: list[tuple[str, str, Event]] = []
        self._trend = Trend()
        self._caught_up = False

    def read(self) -> Iterator[Batch]:
        """Yield what is new, a batch for each message.

        Raises:
            HaulageError: The queue is away, or there is none.
        """
        self._delete()
        for _ in range(_ROUNDS):
            found = self._some()
            for identity, receipt, content in found:
                yield self._batch(identity, receipt, content)
            if not self._consume or len(found) < AT_ONCE:
                break
            self._delete()
        self._caught_up = True
        yield Batch(self._gaps(), live=True)
        messages = self._queue.messages()
        said = ""
        if not self._consume and messages > AT_ONCE:
            said = (
                f"only the oldest {AT_ONCE} messages can be looked at; watch the log, or take them: --consume"
            )
        yield Batch([counted(self.name, self._trend, self._now(), messages, said)], live=True)

    def close(self) -> None:
        """Delete what is kept, as far as the queue answers, and let go of it."""
        # What is not deleted comes again, and is known by its numbers.
        with suppress(HaulageError):
            self._delete()
        self._queue.close()

    def _some(self) -> list[tuple[str, str, str]]:
        """Return messages that have not been seen: identity, receipt where they were taken, and content."""
        if self._consume:
            options = {"max_messages": AT_ONCE, "messages_per_page": AT_ONCE, "visibility_timeout": HIDDEN_S}
            taken = self._queue.ask("take from", lambda client: [*client.receive_messages(**options)])
            return [(one.id, str(one.pop_receipt), str(one.content)) for one in taken]
        found = self._queue.ask("look at", lambda client: client.peek_messages(max_messages=AT_ONCE))
        before, self._last = self._last, {one.id: None for one in found}
        return [(one.id, "", str(one.content)) for one in found if one.id not in before]

    def _batch(self, identity: str, receipt: str, content: str) -> Batch:
        found = unpacked(content)
        if found is None:
            # Of somebody else: it is left there, also by who takes.
            return Batch([], self._caught_up, 1)
        lines = [line for line in found if line is not None and self._is_new(line)]
        kept = Event()
        if receipt:
            self._taken.append((identity, receipt, kept))
        return Batch(lines, self._caught_up, found.count(None), kept.set)

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
            until = line.values.get("until")
            for seq in range(line.seq, min(until, line.seq + 100_000) if type(until) is int else line.seq):
                stream.seen.new(seq)
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
