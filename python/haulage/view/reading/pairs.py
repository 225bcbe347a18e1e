"""Two places beside each other: such as files in a store and the local ones that they were copied from."""

from __future__ import annotations

from collections.abc import Sequence

from haulage.transfer import StoreOptions
from haulage.view.reading.pinned import Pinned
from haulage.view.reading.place import Entry, Place

#: Before the names of the other place.
MARK = "beside:"


class Beside(Place):
    """A place whose catalogue also lists another, under names that begin with :data:`MARK`.

    Args:
        url: What is viewed.
        options: How to reach it.
        other: The place beside it.
        sidecars: As in :class:`Place`.
    """

    def __init__(self, url: str, options: StoreOptions, other: Place, *, sidecars: bool = True) -> None:
        super().__init__(url, options, sidecars=sidecars)
        self._other = other
        self._both: tuple[Sequence[Entry], Sequence[Entry], list[Entry]] = ((), (), [])

    @property
    def shown(self) -> str:
        """Both URLs, without signatures."""
        return f"{super().shown} beside {self._other.shown}"

    @property
    def mark(self) -> str | None:
        """What the names of the other place begin with."""
        return MARK

    def begin(self, *, again: bool = False) -> None:
        """Begin to list both."""
        super().begin(again=again)
        self._other.begin(again=again)

    def names(self, wait_s: float = 20.0) -> tuple[Sequence[Entry], bool]:
        """Return the names of both, in order, and whether that is all."""
        (own, own_whole), (others, others_whole) = super().names(wait_s), self._other.names(wait_s)
        of_own, of_others, both = self._both
        if of_own is not own or of_others is not others:
            both = sorted([*own, *(one._replace(key=MARK + one.key) for one in others)])
            self._both = own, others, both
        return both, own_whole and others_whole

    def first_of(self, names: Sequence[str]) -> str | None:
        """Return the first of these names that is listed in either place; they are all of one."""
        if not all(name.startswith(MARK) for name in names):
            return super().first_of(names)
        found = self._other.first_of([name.removeprefix(MARK) for name in names])
        return None if found is None else MARK + found

    def check(self, wait_s: float) -> None:
        """Wait so long for the first names of each."""
        super().check(wait_s)
        self._other.check(wait_s)

    def pin(self, name: str, *, fresh: bool = False, lean: bool = False) -> Pinned:
        """Return an object of either place."""
        if not name.startswith(MARK):
            return super().pin(name, fresh=fresh, lean=lean)
        found = self._other.pin(self._theirs(name), fresh=fresh, lean=lean)
        found.name = name
        return found

    def reach(self, name: str) -> Pinned:
        """Return an object of either place that may not be there."""
        if not name.startswith(MARK):
            return super().reach(name)
        found = self._other.reach(self._theirs(name))
        found.name = name
        return found

    def doubt(self, name: str) -> None:
        """Ask for the version of an object the next time that it is pinned."""
        if name.startswith(MARK):
            self._other.doubt(self._theirs(name))
        else:
            super().doubt(name)

    def version_below(self, name: str, etag: str, *, fresh: bool = False) -> str:
        """Return the version of everything in a folder of either place."""
        if not name.startswith(MARK):
            return super().version_below(name, etag, fresh=fresh)
        return self._other.version_below(self._theirs(name), etag, fresh=fresh)

    def sidecar(self, name: str) -> Pinned | None:
        """Return the index that is kept beside a file of either place."""
        return self._other.sidecar(self._theirs(name)) if name.startswith(MARK) else super().sidecar(name)

    def keep_sidecar(self, name: str, body: bytes) -> None:
        """Write the index of a file beside it, in either place."""
        if name.startswith(MARK):
            self._other.keep_sidecar(self._theirs(name), body)
        else:
            super().keep_sidecar(name, body)

    def away(self) -> str | None:
        """Return why one of the stores does not answer."""
        return super().away() or self._other.away()

    def series(self, pattern: str) -> list[str]:
        """Return the names that belong together under a pattern."""
        if not pattern.startswith(MARK):
            return super().series(pattern)
        return [MARK + name for name in self._other.series(pattern.removeprefix(MARK))]

    def url_of(self, name: str) -> str:
        """Return the URL of an object, without a signature."""
        return self._other.url_of(self._theirs(name)) if name.startswith(MARK) else super().url_of(name)

    def _theirs(self, name: str) -> str:
        """Return the name that the other place has for it.

        ``az://model/run7`` lists names that begin with ``run7/``; the folder ``run7`` lists them without.
        """
        asked = found = name.removeprefix(MARK)
        while not self._other.has(found):
            first, slash, rest = found.partition("/")
            if not slash or first in ("", ".", ".."):
                return asked
            found = rest
        return found
