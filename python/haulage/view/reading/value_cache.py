"""Values that are kept while they are used, up to a bound of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

_V = TypeVar("_V")


class Kept(Generic[_V]):
    """The values used last, within ``limit`` bytes. Threads may share it.

    >>> kept = Kept(10, len)
    >>> for key in "abc":
    ...     kept.put(key, b"12345")
    >>> kept.get("a"), kept.get("c"), kept.size
    (None, b'12345', 10)
    """

    def __init__(self, limit: int, size_of: Callable[[_V], int]) -> None:
        self._limit, self._size_of = limit, size_of
        self._values: OrderedDict[Hashable, _V] = OrderedDict()
        self._under_way: dict[Hashable, Future[_V]] = {}
        self._lock = threading.Lock()
        self.size = 0

    def get(self, key: Hashable) -> _V | None:
        """Return a value; ``None`` if it is not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: _V) -> None:
        """Keep a value; what was not used for longest goes. One larger than a quarter is not kept."""
        size = self._size_of(value)
        if size * 4 > self._limit and self._limit > 64:
            return
        with self._lock:
            if key in self._values:
                self.size -= self._size_of(self._values.pop(key))
            self._values[key] = value
            self.size += size
            while self.size > self._limit:
                self.size -= self._size_of(self._values.popitem(last=False)[1])

    def made(self, key: Hashable, make: Callable[[], _V]) -> _V:
        """Return a value, made if need be; of several threads that want it one makes it."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            waiting = self._under_way.get(key)
            if waiting is None:
                mine: Future[_V] = Future()
                self._under_way[key] = mine
        if waiting is not None:
            return waiting.result()
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._under_way[key]
            mine.set_exception(error)
            raise
        self.put(key, value)
        with self._lock:
            del self._under_way[key]
        mine.set_result(value)
        return value

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._values.clear()
            self.size = 0
