"""What is installed against what a project asks for; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from haulage.doctor.project.wanted import Wanted, canonical

Fault: TypeAlias = Literal["missing", "version"]

#: Packages that conda knows by another name than pip.
OF_CONDA = {
    "dask-core": "dask",
    "iris": "scitools-iris",
    "matplotlib-base": "matplotlib",
    "msgpack-python": "msgpack",
    "opencv": "opencv-python",
    "py-xgboost": "xgboost",
    "pyarrow-core": "pyarrow",
    "pytables": "tables",
    "python-duckdb": "duckdb",
    "python-eccodes": "eccodes",
    "python-graphviz": "graphviz",
    "python-stratify": "stratify",
    "pytorch": "torch",
    "seaborn-base": "seaborn",
}


@dataclass(frozen=True)
class Node:
    """One Python, here or on a node, and what it said of itself."""

    name: str  #: ``"here"``, or the name or address of a node
    told: Mapping[str, Any] = field(repr=False)  #: as :func:`inventory` returns it

    @property
    def python(self) -> str:
        """Its version of Python."""
        version: str = self.told["markers"]["python_full_version"]
        return version

    @property
    def is_conda(self) -> bool:
        """Whether it is in a conda environment."""
        return bool(self.told["conda"])

    def version(self, wanted: Wanted) -> str | None:
        """Return the version of what is asked for; ``None`` where it is not installed."""
        if wanted.kind == "python":
            return self.python
        if wanted.kind == "conda":
            by_conda: str | None = self.told["conda"].get(wanted.name.lower())
            if by_conda is not None:
                return by_conda
            return self.package(wanted.name) or self.package(OF_CONDA.get(wanted.name.lower(), ""))
        return self.package(wanted.name)

    def package(self, name: str) -> str | None:
        """Return the version of a package of Python; ``None`` where it is not installed."""
        found = self.told["packages"].get(canonical(name)) if name else None
        version: str | None = found and found["version"]
        return version


@dataclass(frozen=True)
class Discrepancy:
    """One requirement, and the nodes on which it does not hold."""

    wanted: Wanted  #: as the first of these nodes needs it
    fault: Fault
    nodes: tuple[tuple[str, str | None], ...]  #: name, and the version that is installed there


def holds(specifier: SpecifierSet, version: str) -> bool | None:
    """Return whether a version will do; ``None`` where it is no version of Python's.

    >>> [holds(SpecifierSet(">=2"), version) for version in ("2.1.3", "1.9", "2.x")]
    [True, False, None]
    """
    if not len(specifier):
        return True
    try:
        return specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return None


def discrepancies(wanted: Sequence[Wanted], nodes: Sequence[Node]) -> Iterator[Discrepancy]:
    """Yield each requirement that does not hold somewhere, by fault."""
    for one in wanted:
        found = [
            (node.name, node.version(one), one.on(node.told["markers"]))
            for node in nodes
            if one.applies(node.told["markers"])
        ]
        missing = [(name, needed) for name, version, needed in found if version is None]
        if missing:
            yield Discrepancy(missing[0][1], "missing", tuple((name, None) for name, _ in missing))
        wrong = [
            (name, version, needed)
            for name, version, needed in found
            if version is not None and holds(needed.specifier, version) is False
        ]
        if wrong:
            yield Discrepancy(wrong[0][2], "version", tuple((name, version) for name, version, _ in wrong))


@dataclass(frozen=True)
class Broken:
    """A requirement of an installed package that does not hold."""

    package: str  #: name and version of the package that asks
    requirement: str  #: what it asks for
    version: str | None  #: what is installed


def broken(wanted: Sequence[Wanted], node: Node) -> Iterator[Broken]:
    """Yield what installed packages lack, of those that the project needs directly or by others."""
    packages, markers = node.told["packages"], node.told["markers"]
    asked = [(canonical(one.name), one.extras) for one in wanted if one.kind != "python"]
    asked = [(canonical(OF_CONDA.get(name, name)), extras) for name, extras in asked]
    seen: set[tuple[str, frozenset[str]]] = set()
    told = set()
    while asked:
        name, extras = asked.pop()
        if name not in packages or (name, extras) in seen:
            continue
        seen.add((name, extras))
        for requirement in _requires(packages[name]["requires"], markers, extras):
            there = packages.get(canonical(requirement.name))
            version = there and there["version"]
            if version is None or holds(requirement.specifier, version) is False:
                shown = f"{requirement.name}{requirement.specifier}"
                found = Broken(f"{packages[name]['name']} {packages[name]['version']}", shown, version)
                if found not in told:
                    told.add(found)
                    yield found
            asked.append((canonical(requirement.name), frozenset(requirement.extras)))


def _requires(
    requires: Sequence[str], markers: Mapping[str, str], extras: frozenset[str]
) -> Iterator[Requirement]:
    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            # What a package says of itself is its makers' business.
            continue
        marker = requirement.marker
        if marker is None or any(marker.evaluate({**markers, "extra": extra}) for extra in ("", *extras)):
            yield requirement


def differing(wanted: Sequence[Wanted], nodes: Sequence[Node]) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield what the project asks for that is not of one version everywhere: versions, and who has them."""
    for one in dict.fromkeys((one.name, one.kind) for one in wanted if one.kind != "python"):
        versions: dict[str, list[str]] = {}
        of = next(item for item in wanted if (item.name, item.kind) == one)
        for node in nodes:
            version = node.version(of)
            if version is not None:
                versions.setdefault(version, []).append(node.name)
        if len(versions) > 1:
            yield one[0], versions


def changes(
    wanted: Sequence[Wanted], nodes: Sequence[Node], names: Mapping[str, str]
) -> dict[tuple[str, int], tuple[str, str, str]]:
    """Return how the file is corrected: for what does not hold, the versions that are installed everywhere.

    Args:
        wanted: What the project asks for.
        nodes: Where it is to run.
        names: Packages by the name that the project uses for them by mistake, such as that of their module.
    """
    found = {}
    for one in wanted:
        needing = [node for node in nodes if one.applies(node.told["markers"])]
        renamed = names.get(one.name)
        there = [node.version(one) or (renamed and node.package(renamed)) for node in needing]
        versions = [version for version in there if version]
        if not versions or len(versions) < len(needing):
            # Nothing to write: it has to be installed.
            continue
        needed = [one.on(node.told["markers"]).specifier for node in needing]
        good = [holds(*pair) is not False for pair in zip(needed, versions, strict=True)]
        if renamed is None and all(good):
            continue
        try:
            ordered = sorted(versions, key=Version)
        except InvalidVersion:
            continue
        found[one.key] = (renamed or one.name, _public(ordered[0]), _public(ordered[-1]))
    return found


def _public(version: str) -> str:
    """Return a version without what was added where it was built, such as ``+cpu``: no index has that."""
    return version.partition("+")[0]
