"""Which ranges are read together: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

#: A gap up to this size is read along: on most links a request costs more.
GAP_BYTES = 16 << 10
#: Gaps make at most this part of what is read: a tenth.
GAP_PART = 10
#: A longer range is read in several at once.
BLOCK_BYTES = 1 << 20


class Span(NamedTuple):
    """Bytes of an object."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.start + self.size


def coalesced(spans: Sequence[Span], gap: int = GAP_BYTES) -> list[Span]:
    """Return ranges that cover all ``spans``, in order, with few requests and few bytes more than needed.

    >>> coalesced([Span(0, 10), Span(20, 10)], gap=0)
    [Span(start=0, size=10), Span(start=20, size=10)]
    >>> coalesced([Span(0, 1000), Span(1010, 1000), Span(100, 50)])
    [Span(start=0, size=2010)]

    Gaps are closed from the smallest on, while they stay below a tenth of what is needed.
    """
    joined: list[Span] = []
    for span in sorted(span for span in spans if span.size):
        if joined and span.start <= joined[-1].end:
            last = joined[-1]
            joined[-1] = Span(last.start, max(last.end, span.end) - last.start)
        else:
            joined.append(span)
    if len(joined) < 2:
        return joined
    left = sum(span.size for span in joined) // GAP_PART
    gaps = sorted((after.start - before.end, place) for place, (before, after) in enumerate(pairwise(joined)))
    closed = set()
    for size, place in gaps:
        if size > gap or size > left:
            break
        left -= size
        closed.add(place)
    found = [joined[0]]
    for place, span in enumerate(joined[1:]):
        if place in closed:
            found[-1] = Span(found[-1].start, span.end - found[-1].start)
        else:
            found.append(span)
    return found


def requests_for(spans: Sequence[Span]) -> int:
    """Return how many requests read them."""
    return sum(-(-span.size // BLOCK_BYTES) for span in spans)
