"""Two places beside each other: such as files in a store and the local ones that they were copied from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from haulage.events import ObjectMeta
from haulage.transfer import StoreOptions
from haulage.view.reading.pinned import Pinned
from haulage.view.reading.place import Place

#: Before the names of the other place.
MARK = "beside:"


class Beside(Place):
    """A place whose catalogue also lists another, under names that begin with :data:`MARK`.

    Args:
        url: What is viewed.
        options: How to reach it.
        other: The place beside it.
    """

    def __init__(self, url: str, options: StoreOptions, other: Place) -> None:
        super().__init__(url, options)
        self._other = other

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

    def names(self, wait_s: float = 20.0) -> tuple[Sequence[ObjectMeta], bool]:
        """Return the names of both, in order, and whether that is all."""
        (own, own_whole), (others, others_whole) = super().names(wait_s), self._other.names(wait_s)
        marked = [replace(meta, key=MARK + meta.key) for meta in others]
        return sorted([*own, *marked], key=lambda meta: meta.key), own_whole and others_whole

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
        found = self._other.reach(name.removeprefix(MARK))
        found.name = name
        return found

    def doubt(self, name: str) -> None:
        """Ask for the version of an object the next time that it is pinned."""
        if name.startswith(MARK):
            self._other.doubt(self._theirs(name))
        else:
            super().doubt(name)

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
        asked = name.removeprefix(MARK)
        there = {meta.key for meta in self._other.names()[0]}
        found = asked
        while found not in there and "/" in found and found.partition("/")[0] not in ("", ".", ".."):
            found = found.partition("/")[2]
        return found if found in there else asked
