"""Reads in a thread of its own, so that the view goes on and Ctrl-C is heard while a store is waited for."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from haulage.errors import (
    CredentialError,
    HaulageError,
    NotFoundError,
    ProtocolError,
    TransientError,
    UsageError,
)
from haulage.watch.line import Batch

#: Between two looks; after one that took longer, as long as that, up to the second time.
LOOK_S = 0.5
_LONGEST_S = 2.0
#: Pieces that wait for being taken in: what bounds memory where reading is quicker.
_WAITING = 4


class Source(Protocol):
    """What lines are read from."""

    @property
    def name(self) -> str:
        """What it is, for people, without a secret."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        ...

    def read(self) -> Iterator[Batch]:
        """Yield what is new."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Looked(NamedTuple):
    """The source was looked at and all that was new has come."""

    at_ns: int
    ended: bool  #: nothing more will come of it
    beside: str = ""  #: its name, where it is not the log but stands beside it


class Away(NamedTuple):
    """The source could not be read; it is tried again."""

    error: HaulageError
    beside: str = ""


class Failed(NamedTuple):
    """The source cannot be read, and trying again is of no use."""

    error: BaseException


Heard = Batch | Looked | Away | Failed


class Follower:
    """Looks at a source again and again; :meth:`get` hands over what came.

    Args:
        source: What is read.
        now: Returns nanoseconds since 1970.
        patient: Whether to wait for what is not there yet; else that is an error.
        beside: The follower of the log, where this source stands beside it: what comes of both is handed over
            by that one, and this one never ends the watching.
        look_s: How often it looks, at most.
    """

    def __init__(
        self,
        source: Source,
        now: Callable[[], int],
        *,
        patient: bool,
        beside: Follower | None = None,
        look_s: float = LOOK_S,
    ) -> None:
        self._source, self._now, self._patient = source, now, patient
        self._name = source.name if beside else ""
        self._heard: queue.Queue[Heard] = beside._heard if beside else queue.Queue(_WAITING)
        self._stopped = threading.Event()
        self._rung = threading.Event()
        self._idle_s = look_s
        self._read_once = False
        # A call into a store that is away may take long to come back; nobody waits for it at the end.
        self._thread = threading.Thread(target=self._run, name="haul-watch-reader", daemon=True)
        self._thread.start()

    def get(self, wait_s: float) -> Heard | None:
        """Return the next that came; ``None`` where nothing did for so long."""
        try:
            return self._heard.get(timeout=max(0.0, wait_s))
        except queue.Empty:
            return None

    def stop(self) -> None:
        """Stop looking; does not wait."""
        self._stopped.set()
        self._rung.set()

    def wait_for_bell(self, idle_s: float) -> None:
        """Look by itself only so often: :meth:`ring` says when there is something new."""
        self._idle_s = idle_s

    def ring(self) -> None:
        """Have it look now."""
        self._rung.set()

    def _put(self, heard: Heard) -> None:
        while not self._stopped.is_set():
            try:
                self._heard.put(heard, timeout=0.2)
            except queue.Full:
                continue
            return

    def _run(self) -> None:
        while not self._stopped.is_set():
            began, at_ns = time.monotonic(), self._now()
            try:
                for batch in self._source.read():
                    self._put(batch)
                    if self._stopped.is_set():
                        return
                self._read_once = True
                self._put(Looked(at_ns, self._source.ended, self._name))
            except HaulageError as error:
                if self._is_final(error):
                    self._put(Failed(error))
                    return
                self._put(Away(error, self._name))
            except Exception as error:
                if not self._name:
                    self._put(Failed(error))
                    return
                # What stands beside the log ends nothing, whatever answers there.
                cause = f"invalid response ({type(error).__name__})"
                self._put(Away(ProtocolError("watch", self._name, cause), self._name))
            took = time.monotonic() - began
            self._rung.wait(max(self._idle_s, min(_LONGEST_S, took)))
            self._rung.clear()

    def _is_final(self, error: HaulageError) -> bool:
        """Whether to try again is of no use: a wrong name or key shows at once, an outage passes."""
        if self._source.ended and not self._name:
            return True
        if self._read_once or self._name:
            return False
        if isinstance(error, NotFoundError | TransientError):
            return not self._patient
        return isinstance(error, UsageError | CredentialError) or not self._patient
