"""How somebody moves through an object, and what to read ahead of that; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

#: Who skips no more than this still goes straight on, or still jumps by the same distance: there are indexes
#: between the chunks of an array.
SKIP = 1 << 16
#: Bytes that somebody must have read straight on before more is read ahead: headers are read so too.
STRAIGHT = 1 << 16
#: A read of less than this elsewhere is a look into an index, and says nothing of where the next one will be.
LOOK = 1 << 14
#: Stops that are read ahead of who jumps by the same distance again and again.
STOPS = 4
#: A request of so many bytes is a guess by itself: there is none beside it.
BOLD = 4 << 20


class Wanted(NamedTuple):
    """What to ask for."""

    since: int  #: where the request for what is missing begins, if nothing at hand is in the way
    until: int  #: where it ends, at least
    ahead: list[tuple[int, int]]  #: first byte and end of what nobody has asked for yet
    straight: bool = False  #: what is ahead is for a reader who goes straight on


def around(begin: int, end: int, size: int, piece: int) -> Wanted:
    """Return what to ask for where nothing says in which direction a reader goes.

    >>> around(1000, 1100, 10_000, 400)[:2], around(9_950, 9_960, 10_000, 400)[:2]
    ((850, 1250), (9600, 10000))
    """
    more = max(piece - (end - begin), 0) // 2
    until = min(end + more, size)
    return Wanted(max(min(begin - more, until - piece), 0), until, [])


def onward(begin: int, end: int, size: int, piece: int) -> Wanted:
    """Return what to ask for where a reader may go on; at the end of an object what lies before it too."""
    until = min(max(end, begin + piece), size)
    return Wanted(max(min(begin, until - piece), 0) if until == size else begin, until, [])


@dataclass
class Steps:
    """Where the last reads were."""

    begin: int = 0
    end: int = 0
    jump: int = 0  #: from the read before the last to the last
    straight: int = 0  #: bytes read straight on
    same: int = 0  #: jumps of the same length, one after the other
    bold: bool = True  #: what was read ahead of the last large read was wanted, or nothing was yet

    def step(self, begin: int, end: int, size: int, piece: int, largest: int, most: int) -> Wanted:
        """Take note of a read of ``begin`` to ``end``, and say what to ask for.

        Args:
            begin: Its first byte.
            end: Its end.
            size: Of the object.
            piece: Bytes that the link brings while one waits for an answer.
            largest: Bytes of the largest request. Requests of who goes straight on end at multiples of it.
            most: Bytes that may be read ahead.

        >>> steps, link = Steps(), (1 << 20, 4 << 20, 32 << 20)
        >>> steps.step(0, 100_000, 50 << 20, *link).ahead
        [(1048576, 4194304)]
        >>> steps.step(100_000, 700_000, 50 << 20, *link).ahead
        [(700000, 4194304)]
        >>> steps.step(20 << 20, 21 << 20, 50 << 20, *link).ahead
        [(22020096, 25165824)]
        >>> steps.step(40 << 20, 41 << 20, 50 << 20, *link).ahead
        []
        """
        if 0 <= begin - self.end <= SKIP and self.end > 0:
            self.straight += end - self.end
            self.begin, self.end, self.same = begin, end, 0
            plain = onward(begin, end, size, piece)
            if self.straight < max(STRAIGHT, piece // 2):
                return plain
            self.bold = True
            ahead = min(max(self.straight, piece), most)
            until = min((end // largest + 1) * largest, size)
            last = max((end + ahead) // largest * largest, until) if end + ahead < size else size
            return Wanted(plain.since, until, [(end, last)] if last > end else [], straight=True)
        if end - begin < LOOK and self.end > 0:
            return around(begin, end, size, piece)
        jump = begin - self.begin
        self.same = self.same + 1 if self.jump > 0 and abs(jump - self.jump) <= SKIP else 0
        self.begin, self.end, self.jump, self.straight = begin, end, jump, 0
        plain = onward(begin, end, size, piece)
        if self.same == 0:
            if end - begin < STRAIGHT or piece >= BOLD:
                return plain
            # Most who read much of one place go on from there. One guess costs nobody a round trip; there is
            # no second one before the first was right.
            more, self.bold = self.bold, False
            last = min(max(begin + largest, end), size)
            return plain._replace(ahead=[(plain.until, last)] if more and last > plain.until else [])
        length = end - begin + 2 * SKIP
        if jump <= length + piece // 2:
            # What lies between comes sooner than another answer.
            return plain._replace(until=min(max(plain.until, begin + jump * STOPS), begin + most, size))
        stops = [begin + jump * number - SKIP for number in range(1, min(STOPS, most // length) + 1)]
        return Wanted(begin, end, [(stop, min(stop + length, size)) for stop in stops if end <= stop < size])
