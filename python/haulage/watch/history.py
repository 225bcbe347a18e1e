"""How many bytes moved when, in as many steps as fit, however long it takes."""

from __future__ import annotations

from collections.abc import Iterable

#: Steps that are kept; when there are more, two become one.
MOST = 256
_FIRST_NS = 10**9


class History:
    """Bytes by step of time. The steps begin at multiples of their length since 1970, and double as needed.

    >>> history = History()
    >>> history.add(5_200_000_000, 100)
    >>> history.add(5_900_000_000, 50)
    >>> history.steps()
    [(5000000000, 150)]
    """

    __slots__ = ("_amounts", "_first", "step_ns")

    def __init__(self) -> None:
        self.step_ns = _FIRST_NS
        self._first = 0
        self._amounts: list[int] = []

    def add(self, at_ns: int, amount: int) -> None:
        """Count ``amount`` at this time; what is long before the first step goes into that."""
        place = at_ns // self.step_ns
        if not self._amounts:
            self._first = place
        place = max(place, self._first)
        while place - self._first >= MOST:
            self._double()
            place = max(at_ns // self.step_ns, self._first)
        missing = place - self._first + 1 - len(self._amounts)
        if missing > 0:
            self._amounts.extend([0] * missing)
        self._amounts[place - self._first] += amount

    def steps(self) -> list[tuple[int, int]]:
        """Return the beginning of each step and its bytes."""
        return [((self._first + place) * self.step_ns, amount) for place, amount in enumerate(self._amounts)]

    def _double(self) -> None:
        amounts = [0] * (self._first % 2) + self._amounts
        amounts += [0] * (len(amounts) % 2)
        self._amounts = [amounts[place] + amounts[place + 1] for place in range(0, len(amounts), 2)]
        self._first //= 2
        self.step_ns *= 2


def together(histories: Iterable[History]) -> History:
    """Return the sum of several, in the longest step of theirs."""
    summed = History()
    every = list(histories)
    first = min((one.steps()[0][0] for one in every if one.steps()), default=0)
    if first:
        summed.add(first, 0)
    for one in every:
        while summed.step_ns < one.step_ns:
            summed._double()
        for at_ns, amount in one.steps():
            summed.add(at_ns, amount)
    return summed
