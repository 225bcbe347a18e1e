"""Many objects of one place read at once, or ranges of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from haulage.errors import NotFoundError, SourceChangedError
from haulage.view.reading import cost
from haulage.view.reading.pinned import Pinned
from haulage.view.reading.ranges import Span

#: Objects that are asked for at once.
_AT_ONCE = 32


class Objects:
    """The objects below a folder, such as those of a Zarr store. Threads may share it.

    Args:
        folder: What their names begin with.
        pin: Returns one at its version.
    """

    def __init__(self, folder: str, pin: Callable[[str], Pinned]) -> None:
        self._folder, self._pin = folder, pin

    def read(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return each object whole; ``None`` for those that are not there."""
        return self.parts([(key, lambda pinned: [Span(0, pinned.size)]) for key in keys])

    def parts(self, wanted: Sequence[tuple[str, Callable[[Pinned], list[Span]]]]) -> list[bytes | None]:
        """Return a range of each object, which may follow from its size; ``None`` where there is none."""

        def one(asked: tuple[str, Callable[[Pinned], list[Span]]]) -> bytes | None:
            try:
                pinned = self._pin(self._folder + asked[0])
            except NotFoundError:
                return None
            try:
                return b"".join(pinned.read(asked[1](pinned)))
            except NotFoundError:
                # It was there when it was listed.
                raise SourceChangedError("read", pinned.name, "it was removed meanwhile") from None

        if len(wanted) == 1:
            return [one(wanted[0])]
        hasty = cost.is_hasty()

        def alone(asked: tuple[str, Callable[[Pinned], list[Span]]]) -> bytes | None:
            # Counted below as what is sent at once, not object by object.
            with cost.counting(hasty=hasty):
                return one(asked)

        with ThreadPoolExecutor(min(_AT_ONCE, max(len(wanted), 1))) as threads:
            found = list(threads.map(alone, wanted))
        there = [body for body in found if body is not None]
        if there:
            cost.count(len(there), sum(map(len, there)))
        return found
