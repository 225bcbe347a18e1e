"""What of an object is at hand: pieces that were read, kept within a bound, and read ahead of who goes on."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass, field

from haulage.filesystem.pace import LEAST, Pace
from haulage.filesystem.steps import Steps, around
from haulage.words.numbers import counted

#: Requests begin at multiples of this, so that what lies just before is there too.
GRAIN = 1 << 16

#: A piece: its length, and its bytes when they have come.
_Piece = tuple[int, "Future[bytes]"]


class Cache:
    """The bound on what all windows of a file system keep, in bytes, and the lock that they share."""

    def __init__(self, most: int) -> None:
        self.most = most
        # Re-entered where the interpreter clears away a window while another one is at work.
        self.lock = threading.RLock()
        self.used = 0
        self._order: OrderedDict[tuple[int, int], weakref.ref[Window]] = OrderedDict()
        _caches.add(self)

    def add(self, window: Window, begin: int, length: int) -> None:
        """Count a piece that is about to come, and forget those used longest ago. With the lock held."""
        self._order[(id(window), begin)] = weakref.ref(window)
        self.used += length
        for owner, first in list(self._order):
            if self.used <= self.most:
                break
            found = self._order.get((owner, first))
            holder = None if found is None else found()
            if holder is not None and (owner, first) != (id(window), begin):
                holder.forget(first)

    def touch(self, window: Window, begin: int) -> None:
        """Say that a piece was used. With the lock held."""
        if (id(window), begin) in self._order:
            self._order.move_to_end((id(window), begin))

    def remove(self, window: int, begin: int, length: int) -> None:
        """No longer count a piece. With the lock held."""
        if self._order.pop((window, begin), None) is not None:
            self.used -= length

    def reset(self) -> None:
        """Begin anew in a forked child, in which nothing comes of what the parent has asked for."""
        self.lock = threading.RLock()
        for found in list(self._order.values()):
            window = found()
            if window is not None:
                window.pieces.clear()
        self._order.clear()
        self.used = 0


_caches: weakref.WeakSet[Cache] = weakref.WeakSet()


def _in_a_child() -> None:
    for cache in list(_caches):
        cache.reset()


os.register_at_fork(after_in_child=_in_a_child)


@dataclass(eq=False)
class Window:
    """The pieces of one version of an object that are at hand or on their way.

    Threads may share it; those that need the same piece wait for one request.
    """

    size: int  #: of the object, in bytes
    fetch: Callable[[int, int], bytes]  #: reads a stretch of this version, by its first byte and its length
    cache: Cache  #: what it is counted in
    threads: Callable[[], Executor]  #: where stretches are read ahead
    pace: Pace  #: what the link gives
    largest: int  #: bytes of a request, at most
    pieces: dict[int, _Piece] = field(default_factory=dict)  #: by their first byte

    def __post_init__(self) -> None:
        weakref.finalize(self, _gone, self.cache, id(self), self.pieces)

    def keep(self, begin: int, content: bytes) -> None:
        """Take in what was read already."""
        done: Future[bytes] = Future()
        done.set_result(content)
        with self.cache.lock:
            if content and not self._overlapping(begin, begin + len(content)):
                self.pieces[begin] = (len(content), done)
                self.cache.add(self, begin, len(content))

    def read(self, begin: int, length: int, steps: Steps | None = None) -> bytes:
        """Return `length` bytes from `begin` on, fewer only where the object ends.

        Args:
            begin: The first byte.
            length: How many.
            steps: Of the reader, by which is read ahead; ``None`` for one who jumps about.
        """
        end = min(begin + length, self.size)
        if begin >= end:
            return b""
        gives = self.piece
        largest = min(max(4 * gives, 4 * LEAST), self.largest)
        with self.cache.lock:
            if steps is None:
                wanted = around(begin, end, self.size, gives)
            else:
                wanted = steps.step(begin, end, self.size, gives, largest, self.cache.most // 2)
            # Held from here on, whatever is forgotten to make room for the rest.
            needed = self._overlapping(begin, end)
            asked = self._ask(begin, end, wanted.since, wanted.until, largest)
            needed |= {first: one for first, one in asked.items() if first < end and first + one[0] > begin}
            for first in needed:
                self.cache.touch(self, first)
            later = {first: one for first, one in asked.items() if first not in needed}
            # Who has much at hand goes on with it first.
            if not (wanted.straight and self._reaches(end) - end >= gives // 2):
                for ahead in wanted.ahead:
                    later |= self._ask(*ahead, *ahead, largest)
        asked = {first: one for first, one in asked.items() if first in needed}
        here, others = [*asked.items()][:1], [*asked.items()][1:]
        for first, piece in others:
            self.threads().submit(self._bring, first, piece)
        for first, piece in later.items():
            self.threads().submit(self._bring_ahead, first, piece)
        for first, piece in here:
            # Here rather than in another thread, which would only cost two switches.
            self._bring(first, piece)
        parts = [
            memoryview(self._content(first, piece))[max(begin - first, 0) : end - first]
            for first, piece in sorted(needed.items())
        ]
        return parts[0].tobytes() if len(parts) == 1 else b"".join(parts)

    def forget(self, begin: int) -> None:
        """Let go of a piece. With the lock held."""
        if begin in self.pieces:
            self.cache.remove(id(self), begin, self.pieces.pop(begin)[0])

    def _overlapping(self, begin: int, end: int) -> dict[int, _Piece]:
        """Return the pieces in which a stretch lies. They do not overlap each other. With the lock held."""
        return {
            first: piece for first, piece in self.pieces.items() if first < end and first + piece[0] > begin
        }

    def _reaches(self, begin: int) -> int:
        """Return up to where all is at hand or on its way, from a byte on. With the lock held."""
        for first, (length, _) in sorted(self.pieces.items()):
            if first <= begin < first + length:
                begin = first + length
        return begin

    def at_hand(self, begin: int, length: int) -> bool:
        """Return whether a read would wait for nothing."""
        end = min(begin + length, self.size)
        with self.cache.lock:
            held = self._overlapping(begin, end)
            return self._reaches(begin) >= end and all(one.done() for _, one in held.values())

    @property
    def piece(self) -> int:
        """Bytes that the link brings while one waits for an answer, as far as there is room for them."""
        return min(self.pace.piece, self.largest, max(self.cache.most // 2, GRAIN))

    def _ask(self, begin: int, end: int, since: int, until: int, largest: int) -> dict[int, _Piece]:
        """Make pieces of what is missing of a stretch, the first from `since`, the last to `until`.

        Neither of them goes beyond what is at hand already. With the lock held.
        """
        made: dict[int, _Piece] = {}
        spans = sorted((first, first + piece[0]) for first, piece in self.pieces.items())
        at = begin
        for first, last in [*(span for span in spans if begin < span[1] and span[0] < end), (end, end)]:
            if at < first:
                before = max((stop for _, stop in spans if stop <= at), default=0)
                after = min((start for start, _ in spans if start > at), default=self.size)
                from_here = min(at, since) if at == begin else at
                start, stop = max(from_here - from_here % GRAIN, before), min(max(end, until), after)
                while start < stop:
                    # A little more than the largest is one request all the same.
                    length = stop - start if stop - start <= largest + largest // 8 else largest
                    made[start] = self.pieces[start] = (length, Future())
                    self.cache.add(self, start, length)
                    start += length
            at = max(at, last)
        return made

    def _content(self, begin: int, piece: _Piece) -> bytes:
        length, future = piece
        try:
            return future.result()
        except CancelledError:
            # Forgotten before it was asked for, to make room.
            return self.fetch(begin, length)

    def _bring_ahead(self, begin: int, piece: _Piece) -> None:
        with self.cache.lock:
            wanted = self.pieces.get(begin) is piece
        if wanted:
            self._bring(begin, piece)
        else:
            piece[1].cancel()

    def _bring(self, begin: int, piece: _Piece) -> None:
        length, future = piece
        try:
            content = self.fetch(begin, length)
            if len(content) != length:
                raise EOFError(
                    f"{counted(len(content), 'byte')} came from {begin} on, where {length} were asked for"
                )
        except BaseException as error:
            with self.cache.lock:
                # Asked for again by the next read.
                if self.pieces.get(begin) is piece:
                    self.forget(begin)
            future.set_exception(error)
        else:
            future.set_result(content)


def _gone(cache: Cache, window: int, pieces: dict[int, _Piece]) -> None:
    """No longer count what a window had that is gone."""
    with cache.lock:
        for begin, (length, _) in list(pieces.items()):
            cache.remove(window, begin, length)
