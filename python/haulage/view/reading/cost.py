"""What an answer costs at the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass
class Cost:
    """What was read from the store for one answer. Threads may share it."""

    requests: int = 0
    bytes: int = 0  #: received
    waves: int = 0  #: sequential round trips: requests that are sent at once are one
    began: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, requests: int, size_bytes: int) -> None:
        """Count requests that were sent at once."""
        with self._lock:
            self.requests += requests
            self.bytes += size_bytes
            self.waves += 1

    @property
    def milliseconds(self) -> float:
        """Since it began."""
        return (time.monotonic() - self.began) * 1000


_CURRENT: ContextVar[Cost | None] = ContextVar("cost", default=None)


def count(requests: int, size_bytes: int) -> None:
    """Add requests to the cost of the answer that this thread works on, if it works on one."""
    cost = _CURRENT.get()
    if cost is not None:
        cost.add(requests, size_bytes)


@contextmanager
def counting() -> Iterator[Cost]:
    """Count what is read within the ``with`` block.

    >>> with counting() as cost:
    ...     count(2, 100)
    >>> cost.requests, cost.bytes, cost.waves
    (2, 100, 1)
    """
    cost = Cost()
    token = _CURRENT.set(cost)
    try:
        yield cost
    finally:
        _CURRENT.reset(token)
