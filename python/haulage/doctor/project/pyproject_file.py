"""``pyproject.toml``: what the project, its optional groups, or Poetry ask for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from haulage.doctor.project import pep508
from haulage.doctor.project.wanted import Place, Source, Trouble, Wanted
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
    poetry = _table(_table(told, "tool"), "poetry")
    if not project and not poetry and "dependency-groups" not in told:
        hint = "name the file that lists what the project needs"
        raise UsageError("read", str(path), "it has no [project] table", hint)
    if isinstance(project.get("requires-python"), str):
        _python(source, project["requires-python"], "requires-python")
    for text_, group in _requirements(project, _table(told, "dependency-groups")):
        start = _found(source, text_)
        if start is not None:
            pep508.add(source, text_, start, start + len(text_), group)
    dynamic = project.get("dynamic")
    if isinstance(dynamic, list) and "dependencies" in dynamic:
        hint = "name the file that the dependencies come from, such as requirements.txt"
        source.troubles.append(Trouble(path.name, "its dependencies are in another file (dynamic)", hint))
    _read_poetry(source, poetry)
    return source


def _table(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = told.get(name)
    return found if isinstance(found, dict) else {}


def _requirements(project: Mapping[str, Any], groups: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    always = project.get("dependencies")
    yield from ((one, None) for one in (always if isinstance(always, list) else ()) if isinstance(one, str))
    optional = {**_table(project, "optional-dependencies"), **groups}
    for group, several in optional.items():
        # A group may include another one, which is a table and is read by itself.
        listed = several if isinstance(several, list) else ()
        yield from ((one, group) for one in listed if isinstance(one, str))


def _found(source: Source, text: str) -> int | None:
    """Return the position of a string in the file, between its quotes, if it was not found there before."""
    taken = {place.start for place in source.places}
    for found in re.finditer(rf"([\"']){re.escape(text)}\1", source.text):
        if found.start() + 1 not in taken:
            return found.start() + 1
    # Written with escapes.
    hint = "write it in plain quotes"
    source.troubles.append(Trouble(source.path.name, f"{text}: not found literally in the file", hint))
    return None


def _python(source: Source, text: str, key: str) -> None:
    at = re.search(rf"^\s*{key}\s*=\s*([\"'])(.*?)\1", source.text, re.MULTILINE)
    if at is None:
        return
    try:
        specifier = of_poetry(text)
    except InvalidSpecifier as error:
        source.troubles.append(
            Trouble(pep508.place_of(source, at.start(2)), str(error), 'write a version such as ">=3.11"')
        )
        return
    wanted = Wanted("python", specifier, *_where(source, at.start(2)), text, "python")
    source.places.append(Place(wanted, *at.span(2), lambda _, low, __: f">={'.'.join(low.split('.')[:2])}"))


def _where(source: Source, start: int) -> tuple[str, tuple[str, int]]:
    return pep508.place_of(source, start), (str(source.path), start)


def _read_poetry(source: Source, poetry: Mapping[str, Any]) -> None:
    tables: list[tuple[str | None, Mapping[str, Any]]] = [
        (None, _table(poetry, "dependencies")),
        ("dev", _table(poetry, "dev-dependencies")),
        *((name, _table(group, "dependencies")) for name, group in _table(poetry, "group").items()),
    ]
    for group, wanted in tables:
        for name, told in wanted.items():
            version = told.get("version") if isinstance(told, dict) else told
            if not isinstance(version, str):
                continue
            key = rf"^\s*[\"']?{re.escape(name)}[\"']?\s*=\s*(?:\{{[^}}\n]*?version\s*=\s*)?"
            at = re.search(key + r"([\"'])(.*?)\1", source.text, re.MULTILINE)
            if at is None:
                continue
            if name == "python":
                _python(source, version, name)
                continue
            try:
                specifier = of_poetry(version)
            except InvalidSpecifier as error:
                hint = 'write a version such as "^1.2" or ">=1.2,<2"'
                source.troubles.append(Trouble(pep508.place_of(source, at.start(2)), str(error), hint))
                continue
            needed = "optional" if isinstance(told, dict) and told.get("optional") else group
            asked = Wanted(name, specifier, *_where(source, at.start(2)), f"{name} {version}", group=needed)
            source.places.append(
                Place(asked, *at.span(2), lambda _, low, high: pep508.span(low, high).removeprefix("=="))
            )


def of_poetry(version: str) -> SpecifierSet:
    """Return the versions that Poetry means.

    >>> str(of_poetry("^1.2.3")), str(of_poetry("^0.3")), str(of_poetry("~1.4")), str(of_poetry("2.1"))
    ('<2,>=1.2.3', '<0.4,>=0.3', '<1.5,>=1.4', '==2.1')

    Raises:
        InvalidSpecifier: It is none.
    """
    parts = [part.strip() for part in version.split(",") if part.strip() not in ("", "*")]
    return SpecifierSet(",".join(_of_part(part) for part in parts))


def _of_part(part: str) -> str:
    numbers = part[1:].strip().split(".")
    if part.startswith("^"):
        # What stands furthest left and is not 0 stays.
        keep = next((at for at, number in enumerate(numbers) if number != "0"), len(numbers) - 1)
        return f">={part[1:].strip()},<{_next(numbers[: keep + 1])}"
    if part.startswith("~") and not part.startswith("~="):
        return f">={part[1:].strip()},<{_next(numbers[:2])}"
    return part if part[0] in "<>=!~" else f"=={part}"


def _next(numbers: list[str]) -> str:
    if not numbers[-1].isdigit():
        raise InvalidSpecifier(f"not a version: {'.'.join(numbers)}")
    return ".".join([*numbers[:-1], str(int(numbers[-1]) + 1)])
