"""``pyproject.toml``: what the project, its optional groups, or Poetry ask for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier

from haulage.doctor.project import pep508, poetry
from haulage.doctor.project.toml_places import Keys, places
from haulage.doctor.project.wanted import Place, Source, Trouble, Wanted, canonical
from haulage.errors import UsageError


def read(path: Path, text: str) -> Source:
    """Read the project's file.

    Raises:
        UsageError: It is not TOML, or asks for nothing.
    """
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError("read", str(path), f"not TOML: {error}", "correct the file first") from None
    source = Source(path, text)
    project = _table(told, "project")
    of_poetry = _table(_table(told, "tool"), "poetry")
    if not project and not of_poetry and "dependency-groups" not in told:
        hint = "name the file that lists what the project needs"
        raise UsageError("read", str(path), "it has no [project] table", hint)
    where = places(text)
    python = project.get("requires-python")
    if isinstance(python, str):
        _python(source, where, ("project", "requires-python"), python)
    for keys, text_, group in _requirements(project, _table(told, "dependency-groups")):
        start = _found(source, where, keys, text_)
        if start is not None and not _is_itself(text_, group, project):
            pep508.add(source, text_, start, start + len(text_), group)
    dynamic = project.get("dynamic")
    if isinstance(dynamic, list) and "dependencies" in dynamic:
        hint = "name the file that the dependencies come from, such as requirements.txt"
        source.troubles.append(Trouble(path.name, "its dependencies are in another file (dynamic)", hint))
    for keys, name, one, group in poetry.requirements(of_poetry):
        if name == "python":
            if isinstance(one, str):
                _python(source, where, keys, one)
        else:
            _add_of_poetry(source, where, keys, name, one, group)
    return source


def _table(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = told.get(name)
    return found if isinstance(found, dict) else {}


def _requirements(
    project: Mapping[str, Any], groups: Mapping[str, Any]
) -> Iterator[tuple[Keys, str, str | None]]:
    optional = _table(project, "optional-dependencies")
    listed: list[tuple[Keys, Any, str | None]] = [
        (("project", "dependencies"), project.get("dependencies"), None),
        *((("project", "optional-dependencies", name), one, name) for name, one in optional.items()),
        *((("dependency-groups", name), one, name) for name, one in groups.items()),
    ]
    for keys, several, group in listed:
        for number, one in enumerate(several if isinstance(several, list) else ()):
            # A group may include another one, which is a table and is read by itself.
            if isinstance(one, str):
                yield (*keys, number), one, group


def _is_itself(text: str, group: str | None, project: Mapping[str, Any]) -> bool:
    """Return whether a group asks for other groups of the project: ``all = ["model[io,plot]"]``."""
    name = project.get("name")
    return group is not None and isinstance(name, str) and pep508.name_of(text) == canonical(name)


def _found(source: Source, where: Mapping[Keys, tuple[int, int]], keys: Keys, text: str) -> int | None:
    """Return the position of a text in the file, between its quotes."""
    start, end = where.get(keys, (0, 0))
    if text and source.text[start:end] == text:
        return start
    # Written with escapes.
    hint = "write it in plain quotes"
    source.troubles.append(Trouble(source.path.name, f"{text}: not found literally in the file", hint))
    return None


def _python(source: Source, where: Mapping[Keys, tuple[int, int]], keys: Keys, text: str) -> None:
    start = _found(source, where, keys, text)
    if start is None:
        return
    try:
        specifier = poetry.specifier(text)
    except InvalidSpecifier as error:
        source.troubles.append(
            Trouble(pep508.place_of(source, start), str(error), 'write a version such as ">=3.11"')
        )
        return
    place, key = pep508.place_of(source, start), (str(source.path), start)
    wanted = Wanted("python", specifier, place, key, text, "python")
    end = start + len(text)
    source.places.append(Place(wanted, start, end, lambda _, low, __: f">={'.'.join(low.split('.')[:2])}"))


def _add_of_poetry(
    source: Source,
    where: Mapping[Keys, tuple[int, int]],
    keys: Keys,
    name: str,
    told: str | Mapping[str, Any],
    group: str | None,
) -> None:
    if isinstance(told, str):
        told = {"version": told}
        where = {**where, (*keys, "version"): where.get(keys, (0, 0))}
    # What comes from elsewhere has no version here: that it is installed is all that can be said.
    of = next((one for one in ("version", *poetry.ELSEWHERE) if isinstance(told.get(one), str)), None)
    start = None if of is None else _found(source, where, (*keys, of), told[of])
    if of is None or start is None:
        return
    version, place = told[of] if of == "version" else "", pep508.place_of(source, start)
    try:
        specifier, marker = poetry.specifier(version), poetry.marker(told)
    except ValueError as error:
        hint = 'write a version such as "^1.2" or ">=1.2,<2"'
        source.troubles.append(Trouble(place, str(error).partition("\n")[0], hint))
        return
    extras = told.get("extras")
    wanted = Wanted(
        name=name,
        specifier=specifier,
        where=place,
        key=(str(source.path), start),
        text=f"{name} {version}".rstrip(),
        extras=frozenset(str(one) for one in extras) if isinstance(extras, list) else frozenset(),
        marker=marker,
        group="optional" if told.get("optional") is True else group,
    )
    before = told[of]

    def write(_: str, low: str, high: str) -> str:
        return pep508.span(low, high).removeprefix("==") if of == "version" else before

    source.places.append(Place(wanted, start, start + len(before), write))
