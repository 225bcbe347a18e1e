"""What may be watched beside a log, or without one: queues, a scheduler, the bell of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from haulage.errors import UsageError
from haulage.transfer import StoreOptions
from haulage.watch.following import LOOK_S, Follower, Source
from haulage.watch.line import Batch
from haulage.watch.log import log_at
from haulage.watch.places import job_in
from haulage.watch.queues import account
from haulage.watch.queues.account import Queue, is_queue
from haulage.watch.queues.bell import IDLE_S, Bell
from haulage.watch.queues.length import COUNT_S, Length
from haulage.watch.queues.sending import Sender

#: How long the end waits for the queue that the log is sent to: as long as a job for its log.
END_S = 5.0


class Nothing:
    """No log: only what stands beside it is watched."""

    ended = False

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self) -> Iterator[Batch]:
        """Yield nothing."""
        yield from ()

    def close(self) -> None:
        """Nothing is held open."""


@dataclass(frozen=True)
class Wanted:
    """What was asked for.

    Attributes:
        scheduler: Address of a Dask scheduler.
        scheduler_file: The file that one has written, in place of that.
        queues: Whose length is shown.
        doorbell: Says when there is something new in the log.
        send: Where the lines of the log are sent.
        consume: Take messages instead of looking at them.
    """

    scheduler: str | None = None
    scheduler_file: str | None = None
    queues: tuple[str, ...] = ()
    doorbell: str | None = None
    send: str | None = None
    consume: bool = False

    @property
    def alone(self) -> str | None:
        """What is watched where there is no log; ``None`` for nothing."""
        shown = [one.partition("?")[0] for one in self.queues]
        return self.scheduler or self.scheduler_file or ", ".join(shown) or None

    def check(self, source: str | None) -> None:
        """See that what was asked for belongs together.

        Raises:
            UsageError: It does not.
        """
        if self.scheduler and self.scheduler_file:
            hint = "leave out --scheduler or --scheduler-file"
            raise UsageError("parse", "arguments", "two schedulers are given", hint)
        of_log = source is not None and source != "-" and not is_queue(source)
        if (self.doorbell or self.send) and not of_log:
            hint = "haul watch LOG --doorbell QUEUE, or haul watch LOG --send QUEUE"
            raise UsageError("parse", "arguments", "--doorbell and --send need a log", hint)
        if self.consume and not self.doorbell and not (source and is_queue(source)):
            hint = "haul watch QUEUE --consume, or haul watch LOG --doorbell QUEUE --consume"
            raise UsageError("parse", "arguments", "there is no queue to take messages from", hint)


class Beside:
    """All that is watched beside the log, each in a thread of its own: none waits for another."""

    def __init__(self, wanted: Wanted, now: Callable[[], int], options: StoreOptions) -> None:
        self._wanted, self._now, self._options = wanted, now, options
        self._sender: Sender | None = None

    def start(self, follower: Follower, stack: ExitStack, source: str | None, job: str | None) -> set[str]:
        """Start to watch; return the names of what is watched."""
        #: Each with the seconds between two looks.
        sources: list[tuple[Source, float]] = []
        wanted, now = self._wanted, self._now
        if wanted.scheduler or wanted.scheduler_file:
            from haulage.watch.scheduler import ASK_S, Scheduler, silence

            silence()
            asked = Scheduler(address=wanted.scheduler, file=wanted.scheduler_file, now=now)
            sources.append((asked, ASK_S))
        sources += [(Length(self._queue(name), now), COUNT_S) for name in dict.fromkeys(wanted.queues)]
        if wanted.doorbell:
            queue = self._queue(wanted.doorbell)
            assert source is not None
            only = job or job_in(source)
            sources.append((Bell(queue, now, follower.ring, job=only, consume=wanted.consume), LOOK_S))
            follower.wait_for_bell(IDLE_S)
        if wanted.send:
            assert source is not None
            log = log_at(source, now, job=job, options=self._options)
            self._sender = Sender(log, self._queue(wanted.send), log.name)
            sources.append((Length(self._queue(wanted.send), now, self._sender.sent.tell), COUNT_S))
            self._sender.start()
        for one, look_s in sources:
            stack.callback(one.close)
            stack.callback(Follower(one, now, patient=True, beside=follower, look_s=look_s).stop)
        return {one.name for one, _ in sources}

    def finish(self) -> str | None:
        """Wait for what is still to be sent; return what is wrong, if it is not."""
        if self._sender is None or self._sender.finish(END_S):
            return None
        away = self._sender.sent.away
        return f"not all of the log is in the queue{f': {away}' if away else ''}; the log has it all"

    def _queue(self, name: str) -> Queue:
        return account.opened(name, self._options)
