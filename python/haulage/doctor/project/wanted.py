"""What a project asks for, in whatever file; and where in it, so that it can be corrected there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

#: Who knows a package by this name: pip's index, conda's channels, or it is Python itself.
Kind: TypeAlias = Literal["pip", "conda", "python"]

#: Writes a requirement anew: with this name, for exactly one version or from the first to the last.
Write: TypeAlias = Callable[[str, str, str], str]


@dataclass(frozen=True)
class Wanted:
    """One requirement of a project."""

    name: str  #: as the project writes it
    specifier: SpecifierSet  #: which versions will do
    where: str  #: file and line, for people
    key: tuple[str, int]  #: file and first character, for corrections
    text: str  #: as the project writes the whole
    kind: Kind = "pip"
    extras: frozenset[str] = frozenset()
    marker: Marker | None = None  #: where it is needed; ``None`` for everywhere
    group: str | None = None  #: the optional group that asks for it; ``None`` for what is always needed
    bounds: tuple[Wanted, ...] = ()  #: constraints on it that apply to some Pythons only

    def applies(self, markers: Mapping[str, str]) -> bool:
        """Return whether a Python with these markers needs it."""
        return self.marker is None or self.marker.evaluate({**markers, "extra": ""})

    def on(self, markers: Mapping[str, str]) -> Wanted:
        """Return what a Python with these markers needs of it: with the constraints that apply there."""
        specifier = self.specifier
        for bound in self.bounds:
            if bound.applies(markers):
                specifier &= bound.specifier
        return replace(self, specifier=specifier, bounds=())


@dataclass(frozen=True)
class Place:
    """A requirement, and the stretch of the source that may be replaced by what ``write`` returns."""

    wanted: Wanted
    start: int
    end: int
    write: Write


@dataclass(frozen=True)
class Trouble:
    """Something in a file that could not be understood, and what to do about it."""

    where: str
    text: str
    hint: str


@dataclass
class Source:
    """A file of a project, and the files that it includes."""

    path: Path
    text: str
    alone: bool = False  #: somebody sent the text: what it includes is not read from this machine
    places: list[Place] = field(default_factory=list)
    constraints: list[Wanted] = field(default_factory=list)  #: versions that will do, of what others ask for
    troubles: list[Trouble] = field(default_factory=list)
    included: list[tuple[int, int, Source]] = field(default_factory=list)  #: in place of which stretch

    def everything(self) -> list[Source]:
        """Return this file and those that it includes."""
        return [self, *(one for *_, source in self.included for one in source.everything())]

    @property
    def wanted(self) -> list[Wanted]:
        """All requirements, with the constraints on them."""
        sources = self.everything()
        bounds: dict[str, list[Wanted]] = {}
        for constraint in (one for source in sources for one in source.constraints):
            bounds.setdefault(canonical(constraint.name), []).append(constraint)
        return [_narrowed(place.wanted, bounds) for source in sources for place in source.places]

    def corrected(self, changes: Mapping[tuple[str, int], tuple[str, str, str]]) -> str:
        """Return the text with requirements written anew, and with what it includes in it.

        Args:
            changes: By the key of a requirement: its name, the lowest and the highest version.
        """
        pieces: list[tuple[int, int, str]] = []
        for place in self.places:
            if place.wanted.key in changes:
                pieces.append((place.start, place.end, place.write(*changes[place.wanted.key])))
        for start, end, source in self.included:
            pieces.append((start, end, f"# from {source.path.name}:\n{source.corrected(changes).rstrip()}"))
        text = self.text
        for start, end, new in sorted(pieces, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def _narrowed(wanted: Wanted, bounds: Mapping[str, list[Wanted]]) -> Wanted:
    found = bounds.get(canonical(wanted.name))
    return wanted if found is None else replace(wanted, bounds=tuple(found))


def canonical(name: str) -> str:
    """Return the form of a name by which packages are compared.

    >>> canonical("Ruamel_yaml"), canonical("zope.interface")
    ('ruamel-yaml', 'zope-interface')
    """
    return canonicalize_name(name)
