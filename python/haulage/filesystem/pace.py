"""What the link gives: how long an answer takes, how fast its bytes come, how much to ask for at once."""

from __future__ import annotations

import threading

#: Bytes of a request while nothing is known of the link: at 60 ms, 140 Mbit/s bring in as much while one
#: waits for the first byte.
UNKNOWN = 1 << 20
#: Bytes of a request at least and at most.
LEAST, MOST = 1 << 18, 32 << 20
#: Bytes of the first request of an object, at most: headers are longer than one would think.
FIRST = 4 << 20
#: A request of fewer bytes says nothing of the rate.
TELLING = 1 << 17
#: So many times as much as the largest request that was measured is asked for at most: the first bytes of an
#: answer wait in buffers, and look faster than the others.
GROWTH = 4
#: A first request that took longer says only that nothing is quick here.
QUICK_S = 0.5
#: A request costs this much of a processor's time and of waiting for threads, however near the service is.
OWN_S = 0.005
#: Of each new measurement, so much counts.
WEIGHT = 0.4


class Pace:
    """Measures requests. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._trip_s: float | None = None
        self._bytes_per_second: float | None = None
        self._largest = 0

    def first(self, size: int, seconds: float) -> None:
        """Take in the first request of an object, which may have opened a connection too.

        What came in a short time is what may be asked for again; how much faster the link is shows later.
        """
        if seconds <= QUICK_S:
            with self._lock:
                self._note(size, seconds, seconds)

    def whole(self, size: int, seconds: float) -> None:
        """Take in a request of which only the whole time is known."""
        with self._lock:
            if size < TELLING:
                self._note(size, seconds, 0.0)
            elif self._trip_s is not None:
                self._note(size, None, seconds - self._trip_s)

    def _note(self, size: int, answered_s: float | None, took_s: float) -> None:
        if answered_s is not None:
            known = self._trip_s or answered_s
            # The quickest counts: the others waited for a connection, or for a busy service. A link that has
            # become longer shows slowly.
            self._trip_s = min(answered_s, 0.95 * known + 0.05 * answered_s)
        if size >= TELLING:
            rate = size / max(took_s, 1e-3)
            before = self._bytes_per_second
            self._bytes_per_second = rate if before is None else (1 - WEIGHT) * before + WEIGHT * rate
            self._largest = max(self._largest, size)

    @property
    def piece(self) -> int:
        """Bytes that take no longer than the wait for them: to read as much too much costs nobody a wait.

        >>> pace = Pace()
        >>> pace.piece
        1048576
        >>> pace.first(1 << 20, 0.080)
        >>> pace.whole(8 << 20, 0.120)
        >>> pace.piece > (4 << 20)
        True
        >>> for _ in range(9):
        ...     pace.whole(1 << 20, 5.0)
        >>> pace.piece
        262144
        """
        with self._lock:
            if self._trip_s is None or self._bytes_per_second is None:
                return UNKNOWN
            most = min(MOST, GROWTH * self._largest)
            wait_s = max(self._trip_s, OWN_S)
            return max(min(int(self._bytes_per_second * wait_s), most), LEAST)

    @property
    def beginning(self) -> int:
        """Bytes to ask for of an object of which nothing is known yet."""
        return min(self.piece, FIRST)
