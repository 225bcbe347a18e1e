"""Open a log or queue to watch, and read its lines from Python."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Unpack

from haulage.errors import NotFoundError, UsageError
from haulage.transfer import StoreOptions
from haulage.watch.following import LOOK_S
from haulage.watch.line import JOB, Batch
from haulage.watch.lines import INPUT, Lines
from haulage.watch.log import Log, log_at
from haulage.watch.places import Folder
from haulage.watch.queues import account as queues
from haulage.watch.queues.account import is_queue
from haulage.watch.queues.reading import Messages


class Anything:
    """A local name: a folder of a log, or a file of lines, as it shows once it is there."""

    ended = False

    def __init__(self, path: str, now: Callable[[], int], job: str | None, everything: bool) -> None:
        self.name = path
        self._now, self._job, self._everything = now, job, everything
        self._found: Log | Lines | None = None
        self._settled = False  #: something was read

    def read(self) -> Iterator[Batch]:
        """Yield what is new, in pieces."""
        if self._found is None:
            path = Path(self.name)
            if path.is_dir() or (not path.exists() and path.suffix != ".jsonl"):
                self._found = Log(Folder(path), self._now, job=self._job, everything=self._everything)
            else:
                self._found = Lines(self.name, self._now)
        try:
            for batch in self._found.read():
                self._settled = True
                yield batch
        except NotFoundError:
            if not self._settled:
                # What comes may be of the other kind.
                self.close()
                self._found = None
            raise

    def close(self) -> None:
        """Let go of it."""
        if self._found is not None:
            self._found.close()


def opened(
    source: str,
    now: Callable[[], int],
    *,
    job: str | None = None,
    everything: bool = False,
    consume: bool = False,
    options: StoreOptions | None = None,
) -> Log | Lines | Anything | Messages:
    """Return what reads ``source``: a log in a store or a folder, a queue, a file of lines, or ``-``."""
    if job is not None and not JOB.fullmatch(job):
        raise UsageError("watch", job, "not the name of a job", "a job name has 16 hexadecimal digits")
    if source == INPUT:
        return Lines(source, now)
    if is_queue(source):
        return Messages(queues.opened(source, options), now, job=job, consume=consume)
    if "://" in source:
        return log_at(source, now, job=job, everything=everything, options=options)
    return Anything(source, now, job, everything)


def lines(
    source: str,
    *,
    job: str | None = None,
    follow: bool = False,
    consume: bool = False,
    **options: Unpack[StoreOptions],
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a log, each once, as dicts.

    >>> list(lines("/nowhere"))
    Traceback (most recent call last):
    haulage.errors.NotFoundError: watch /nowhere: no such folder (hint: check the path of the log)

    Args:
        source: The log, a folder or the URL of a prefix; a queue that the log is sent to, ``queue://NAME`` or
            its URL; or a file written by ``haul cp --json``.
        job: Only the lines of this job. Default: all jobs.
        follow: Wait for new lines, without end. Default ``False``: only the lines that exist now.
        consume: For a queue: receive the messages, and delete each once you have taken all of its lines.
            Those of other programs are left alone, and so are those with lines of jobs other than ``job``.
            Default ``False``: peek at the oldest 32. Where there are more, a ``UserWarning`` says so.
        options: How to reach the store, see :class:`~haulage.transfer.StoreOptions`.

    Raises:
        HaulageError: There is no log, or it cannot be read now.
    """
    log = opened(source, time.time_ns, job=job, everything=True, consume=consume, options=options)
    try:
        while True:
            for batch in log.read():
                for line in batch.lines:
                    if line.event == "unseen":
                        warnings.warn(f"{log.name}: {line.values['message']}", stacklevel=2)
                    elif line.event != "queue":
                        yield line.values
                if batch.taken is not None:
                    batch.taken()
            if not follow:
                return
            time.sleep(LOOK_S)
    finally:
        log.close()
