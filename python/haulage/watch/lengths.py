"""How many messages a queue holds, and how that number changes: work that remains."""

from __future__ import annotations

from collections import deque
from typing import Any

#: What the slope is taken over. Services count approximately, and workers take messages in turns.
WINDOW_NS = 60 * 10**9
#: Less says nothing of a slope.
_SAMPLES, _SPAN_NS = 3, 2 * 10**9
#: A row is kept so often at most.
ROW_NS = 10 * 10**9


class Trend:
    """The last lengths of a queue.

    >>> trend = Trend()
    >>> for second in range(5):
    ...     values = trend.add(second * 10**9, 100 - 10 * second)
    >>> values["messages"], values["messages_per_second"], values["eta_ns"]
    (60, -10.0, 6000000000)
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque()
        self._row: tuple[int, int] | None = None

    def add(self, now: int, messages: int) -> dict[str, Any]:
        """Take in a length; return what is known by now.

        ``keep`` says that it is worth a row: the first, the last message gone, or a change after a while.
        """
        samples = self._samples
        samples.append((now, messages))
        while now - samples[0][0] > WINDOW_NS:
            samples.popleft()
        per_second = self._slope()
        eta_ns = 0 if not messages else None
        if messages and per_second is not None and per_second * (now - samples[0][0]) / 1e9 <= -1:
            eta_ns = int(messages / -per_second * 1e9)
        keep = self._row is None or (
            messages != self._row[1] and (not messages or now - self._row[0] >= ROW_NS)
        )
        if keep:
            self._row = now, messages
        return {
            "messages": messages,
            "messages_per_second": per_second,
            "eta_ns": eta_ns,
            "keep": keep,
        }

    def _slope(self) -> float | None:
        """Return messages per second, by least squares; ``None`` where too little is known."""
        samples = self._samples
        first = samples[0][0]
        if len(samples) < _SAMPLES or samples[-1][0] - first < _SPAN_NS:
            return None
        times = [(at - first) / 1e9 for at, _ in samples]
        mean = sum(times) / len(times)
        level = sum(count for _, count in samples) / len(samples)
        spread = sum((at - mean) ** 2 for at in times)
        slope = sum((at - mean) * (count - level) for at, (_, count) in zip(times, samples, strict=True))
        return round(slope / spread, 6) if spread else None
