"""What an answer costs at the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

_T = TypeVar("_T")
_U = TypeVar("_U")


@dataclass
class Cost:
    """What was read from the store for one answer. Threads may share it."""

    requests: int = 0
    bytes: int = 0  #: received
    waves: int = 0  #: sequential round trips: requests that are sent at once are one
    hasty: bool = (
        False  #: somebody waits for the answer: a store that has gone away is given up within seconds
    )
    began: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, requests: int, size_bytes: int) -> None:
        """Count requests that were sent at once."""
        with self._lock:
            self.requests += requests
            self.bytes += size_bytes
            self.waves += 1

    def add_parallel(self, costs: Sequence[Cost], workers: int) -> None:
        """Count what several workers sent side by side: their round trips overlap."""
        waves = [one.waves for one in costs]
        with self._lock:
            self.requests += sum(one.requests for one in costs)
            self.bytes += sum(one.bytes for one in costs)
            self.waves += max(*waves, -(-sum(waves) // workers), 0)

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


def is_hasty() -> bool:
    """Return whether somebody waits for the answer that this thread works on."""
    cost = _CURRENT.get()
    return cost is not None and cost.hasty


def side_by_side(threads: Executor, workers: int, call: Callable[[_T], _U], items: Sequence[_T]) -> list[_U]:
    """Return what a call returns for each item, run by workers; the answer of this thread bears the cost."""
    current = _CURRENT.get()

    hasty = current is not None and current.hasty

    def one(item: _T) -> tuple[_U, Cost]:
        with counting(hasty=hasty) as its:
            return call(item), its

    found = list(threads.map(one, items))
    if current is not None and found:
        current.add_parallel([its for _, its in found], workers)
    return [value for value, _ in found]


@contextmanager
def counting(*, hasty: bool = False) -> Iterator[Cost]:
    """Count what is read within the ``with`` block.

    >>> with counting() as cost:
    ...     count(2, 100)
    >>> cost.requests, cost.bytes, cost.waves
    (2, 100, 1)
    """
    cost = Cost(hasty=hasty)
    token = _CURRENT.set(cost)
    try:
        yield cost
    finally:
        _CURRENT.reset(token)
