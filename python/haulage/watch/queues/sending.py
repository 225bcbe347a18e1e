"""Send new lines of a log to a queue. This is a sidecar, so no job ever waits for the queue.

This machine remembers what was sent, so the next sidecar continues there. Lines that were not confirmed are
sent again: lines are numbered, and readers use each only once.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from haulage.errors import HaulageError, ProtocolError
from haulage.transfer import StoreOptions
from haulage.watch.line import LEFT_OUT, Line, Seen
from haulage.watch.log import Log, log_at
from haulage.watch.queues.account import Queue, opened
from haulage.watch.queues.messages import packed, without_claims, without_samples
from haulage.watch.queues.outbox import Outbox
from haulage.words.numbers import counted

if TYPE_CHECKING:
    from haulage.transfer import Name

#: Between two looks at the log, and after the queue or the log could not be reached.
LOOK_S, AGAIN_S = 0.5, 2.0
#: Streams whose place is remembered.
_STREAMS = 10_000


@dataclass
class Sent:
    """What was sent to a queue."""

    lines: int = 0
    messages: int = 0
    left_out: int = 0  #: samples left out because a later one replaces them
    away: HaulageError | None = None  #: why nothing can be sent now

    def tell(self) -> str:
        """Return what was sent, as text.

        Raises:
            HaulageError: Nothing can be sent now.
        """
        if self.away is not None:
            raise self.away
        said = f"{counted(self.lines, 'line')} sent in {counted(self.messages, 'message')}"
        return f"{said}, {counted(self.left_out, 'sample')} left out" if self.left_out else said


class Sender:
    """Sends a log's lines to a queue.

    Args:
        log: The log, which nobody else reads from.
        queue: Where they go.
        where: What the log is called, for what is remembered.
    """

    def __init__(self, log: Log, queue: Queue, where: str) -> None:
        self.sent = Sent()
        self.name = queue.name
        self._log, self._queue = log, queue
        #: Messages that are not sent yet, those of one piece of the log.
        self._waiting: deque[tuple[str, list[dict[str, Any]]]] = deque()
        self._outbox = Outbox(queue)
        self._places = _Places(f"{where}\n{queue.client.url.partition('?')[0]}")
        self._stopped, self._wanted = threading.Event(), threading.Event()
        self._caught_up = threading.Event()

    def start(self) -> None:
        """Send in a thread, until :meth:`stop`."""
        threading.Thread(target=self._run, name="haul-watch-sender", daemon=True).start()

    def send(self) -> None:
        """Send what is there, once.

        Raises:
            HaulageError: The log or the queue cannot be reached. The rest is sent the next time.
        """
        try:
            self._flush()
            for batch in self._log.read():
                wanted = [line for line in batch.lines if line.seq is not None and self._places.is_new(line)]
                values, left_out = without_samples(map(without_claims, wanted))
                self.sent.left_out += left_out
                rest = iter(values)
                for message, count in packed(values):
                    self._waiting.append((message, list(islice(rest, count))))
                self._flush()
            self._outbox.tidy()
        finally:
            self._places.keep()

    def _flush(self) -> None:
        """Send what waits: the log does not give it a second time."""
        while self._waiting:
            message, values = self._waiting[0]
            self._outbox.put(message, values)
            self._waiting.popleft()
            self._places.sent(values)
            self.sent.messages += 1
            self.sent.lines += sum(one["event"] != LEFT_OUT for one in values)

    def finish(self, seconds: float) -> bool:
        """Wait until every line now in the log is sent, while there is progress; return whether all are sent.

        Args:
            seconds: How long to wait without progress.
        """
        self._caught_up.clear()
        self._wanted.set()
        done, before = False, -1
        while not done and self.sent.messages != before:
            before = self.sent.messages
            done = self._caught_up.wait(seconds)
        self._stopped.set()
        self._wanted.set()
        return done

    def _run(self) -> None:
        while not self._stopped.is_set():
            pause = LOOK_S
            wanted = self._wanted.is_set()
            self._wanted.clear()
            try:
                self.send()
                self.sent.away = None
                if wanted:
                    self._caught_up.set()
            except HaulageError as error:
                # The queue is away or full: the lines stay where they are, in the log.
                self.sent.away, pause = error, AGAIN_S
                if wanted:
                    self._wanted.set()
            except Exception as error:
                # What was read would be missing in the queue: it ends, and the next sidecar sends all of it.
                cause = f"the log holds what cannot be sent ({type(error).__name__}: {error})"
                self.sent.away = ProtocolError("send", self.name, cause, "please report it")
                break
            if not self._stopped.is_set() and pause == AGAIN_S:
                self._stopped.wait(pause)
            else:
                self._wanted.wait(pause)
        self.close()

    def close(self) -> None:
        """Close the log and the queue."""
        self._log.close()
        self._queue.close()


def send(log: Name, queue: str, *, job: str | None = None, **options: Unpack[StoreOptions]) -> Sent:
    """Send the new lines of a log to a queue, and return what was sent.

    Lines already sent from this machine are not sent again. Needs ``pip install 'haulage[queue]'``.

    Args:
        log: The log, a folder or the URL of a prefix.
        queue: ``queue://NAME``, the name alone, or the URL of an Azure Storage queue.
        job: Only the lines of this job. Default: those of all jobs that have written in the last ten minutes,
            or else of the newest job.
        options: How to reach both, see :class:`~haulage.transfer.StoreOptions`.

    Raises:
        HaulageError: The log or the queue cannot be reached. Call it again to send the rest.
    """
    read = log_at(str(log), time.time_ns, job=job, options=options)
    sender = Sender(read, opened(queue, options), read.name)
    try:
        sender.send()
    finally:
        sender.close()
    return sender.sent


class _Places:
    """How far each stream was sent, in a file of this machine."""

    def __init__(self, what: str) -> None:
        state = os.environ.get("XDG_STATE_HOME")
        root = Path(state) if state else Path.home() / ".local/state"
        name = hashlib.sha256(what.encode()).hexdigest()[:16]
        self._path = root / "haulage/sent" / f"{name}.json"
        self._before: dict[str, int] = {}
        self._seen: dict[str, Seen] = {}
        self._changed = False
        with suppress(OSError, ValueError, AttributeError):
            found = json.loads(self._path.read_bytes()).items()
            self._before = {str(key): until for key, until in found if type(until) is int}

    def is_new(self, line: Line) -> bool:
        """Whether no sidecar before has sent a line."""
        return line.seq is not None and line.seq >= self._before.get(
            _key(line.job, line.node, line.stream), 0
        )

    def sent(self, values: Iterable[dict[str, Any]]) -> None:
        """Take in that these were sent."""
        for one in values:
            key = _key(one["job"], one["node"], one["stream"])
            seen = self._seen.get(key)
            if seen is None:
                seen = self._seen[key] = Seen()
                seen.next = self._before.get(key, 0)
            if one["event"] == LEFT_OUT:
                seen.left_out(one["seq"], one["until"])
            else:
                seen.new(one["seq"])
            self._changed = True

    def keep(self) -> None:
        """Write it down. Where that is not possible, the next sidecar sends all of it again."""
        if not self._changed:
            return
        self._changed = False
        known = {**self._before, **{key: seen.until() for key, seen in self._seen.items()}}
        kept = dict([*known.items()][-_STREAMS:])
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial = self._path.with_suffix(f".{os.getpid()}")
            partial.write_text(json.dumps(kept))
            partial.replace(self._path)


def _key(job: str, node: str, stream: str) -> str:
    return f"{job}/{stream}/{node}"
