"""How somebody moves through an object, and what to read ahead of that; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

#: Bytes of the smallest request: at 60 ms, a link of 140 Mbit/s brings in as much while one waits for the
#: first byte.
PIECE = 1 << 20
#: Who skips no more than this still goes straight on, or still jumps by the same distance: there are indexes
#: between the chunks of an array.
SKIP = 1 << 16
#: Bytes that somebody must have read straight on before more is read ahead: headers are read so too.
STRAIGHT = 1 << 16
#: A read of less than this elsewhere is a look into an index, and says nothing of where the next one will be.
LOOK = 1 << 14
#: Stops that are read ahead of who jumps by the same distance again and again.
STOPS = 4


class Wanted(NamedTuple):
    """What to ask for."""

    until: int  #: where the request for what is missing ends, at least
    ahead: list[tuple[int, int]]  #: first byte and end of what nobody has asked for yet


@dataclass
class Steps:
    """Where the last reads were."""

    begin: int = 0
    end: int = 0
    jump: int = 0  #: from the read before the last to the last
    straight: int = 0  #: bytes read straight on
    same: int = 0  #: jumps of the same length, one after the other
    bold: bool = True  #: what was read ahead of the last large read was wanted, or nothing was yet

    def step(self, begin: int, end: int, size: int, largest: int, most: int) -> Wanted:
        """Take note of a read of ``begin`` to ``end``, and say what to ask for.

        Args:
            begin: Its first byte.
            end: Its end.
            size: Of the object.
            largest: Bytes of the largest request. Requests of who goes straight on end at multiples of it.
            most: Bytes that may be read ahead.

        >>> steps = Steps()
        >>> steps.step(0, 100_000, 50 << 20, 4 << 20, 32 << 20)
        Wanted(until=1048576, ahead=[(1048576, 5242880)])
        >>> steps.step(100_000, 200_000, 50 << 20, 4 << 20, 32 << 20)
        Wanted(until=4194304, ahead=[(200000, 4194304)])
        >>> steps.step(20 << 20, 21 << 20, 50 << 20, 4 << 20, 32 << 20).ahead
        [(22020096, 26214400)]
        >>> steps.step(40 << 20, 41 << 20, 50 << 20, 4 << 20, 32 << 20).ahead
        []
        """
        plain = Wanted(min(max(end, begin + PIECE), size), [])
        if 0 <= begin - self.end <= SKIP and self.end > 0:
            self.straight += end - self.end
            self.begin, self.end, self.same = begin, end, 0
            if self.straight < STRAIGHT:
                return plain
            self.bold = True
            ahead = min(max(self.straight, largest), most)
            last = min((end + ahead) // largest * largest, size) if end + ahead < size else size
            until = min((end // largest + 1) * largest, size)
            return Wanted(until, [(end, last)] if last > end else [])
        if end - begin < LOOK and self.end > 0:
            return plain
        jump = begin - self.begin
        self.same = self.same + 1 if self.jump > 0 and abs(jump - self.jump) <= SKIP else 0
        self.begin, self.end, self.jump, self.straight = begin, end, jump, 0
        if self.same == 0:
            if end - begin < STRAIGHT:
                return plain
            # Most who read much of one place go on from there. One guess costs nobody a round trip; there is
            # no second one before the first was right.
            more, self.bold = self.bold, False
            last = min(plain.until + min(largest, most), size)
            return Wanted(plain.until, [(plain.until, last)] if more and last > plain.until else [])
        length = end - begin + 2 * SKIP
        stops = [begin + jump * number - SKIP for number in range(1, min(STOPS, most // length) + 1)]
        return Wanted(end, [(stop, min(stop + length, size)) for stop in stops if end <= stop < size])
