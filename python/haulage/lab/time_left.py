"""How long a run still takes, by what its cells took so far; pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

#: What runs longer than was expected is expected to take this part of its time again.
LATE = 0.1
#: From this part of its bytes on, a cell tells by itself how long it takes.
TELLS = 0.2


def rest_ns(expected_ns: float, running_ns: float, share: float = 0.0) -> float:
    """Return how long something still runs that has run for a while; never nothing, since it runs.

    Args:
        expected_ns: That it was expected to take in all.
        running_ns: That it has run.
        share: Of its bytes that have moved, from 0 to 1.
    """
    by_bytes = running_ns * (1 - share) / share if share >= TELLS else 0.0
    return max(expected_ns - running_ns, by_bytes, LATE * running_ns)


class TimeLeft:
    """Learns from each cell that has ended.

    A cell takes what cells of its kind took. One of another kind takes what was expected of it, times what
    all cells so far took over what was expected of them: on a busy machine every estimate is too low.

    Args:
        expected_ns: Of each cell by its number; ``None`` where nothing is known of the link.
        kinds: Of each cell: cells of a kind do the same.
    """

    def __init__(self, expected_ns: Sequence[float | None], kinds: Sequence[Hashable]) -> None:
        self._expected, self._kinds = expected_ns, kinds
        #: Of each kind, the time that its cells took, and how many of them there were.
        self._of_kind: dict[Hashable, tuple[float, int]] = {}
        self._took_ns = self._foreseen_ns = self._foreseen_took_ns = 0.0
        self._ended = 0

    def ended(self, number: int, took_ns: float) -> None:
        """Learn what a cell took, with all that is done for it before and after."""
        total, count = self._of_kind.get(self._kinds[number], (0.0, 0))
        self._of_kind[self._kinds[number]] = (total + took_ns, count + 1)
        self._took_ns, self._ended = self._took_ns + took_ns, self._ended + 1
        if expected := self._expected[number]:
            self._foreseen_ns += expected
            self._foreseen_took_ns += took_ns

    def of(self, number: int) -> float | None:
        """Return how long a cell will take; ``None`` where nothing tells."""
        total, count = self._of_kind.get(self._kinds[number], (0.0, 0))
        if count:
            return total / count
        expected = self._expected[number]
        if expected is None:
            return self._took_ns / self._ended if self._ended else None
        return expected * (self._foreseen_took_ns / self._foreseen_ns if self._foreseen_ns else 1.0)

    def left_ns(self, numbers: Sequence[int], running_ns: float = 0.0, share: float = 0.0) -> float | None:
        """Return how long cells still take; ``None`` where nothing tells.

        Args:
            numbers: Of the cells that have not ended, the one that runs first.
            running_ns: For how long the first has run; 0 if none runs.
            share: Of its bytes that have moved.
        """
        each = [one for number in numbers if (one := self.of(number)) is not None]
        if len(each) < len(numbers):
            return None
        if not each or not running_ns:
            return sum(each)
        now = rest_ns(each[0], running_ns, share)
        if self._ended or not each[0]:
            return now + sum(each[1:])
        # Nothing else is known yet: if the first is late, the others will be.
        return now + sum(each[1:]) * max(1.0, (running_ns + now) / each[0])
