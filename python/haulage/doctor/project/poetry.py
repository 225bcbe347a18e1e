"""What Poetry asks for, and how it writes versions; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.markers import Marker
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from haulage.doctor.project.toml_places import Keys

#: Where a package comes from, if not by its version from an index.
ELSEWHERE = ("git", "url", "path", "file")


def requirements(
    poetry: Mapping[str, Any],
) -> Iterator[tuple[Keys, str, str | Mapping[str, Any], str | None]]:
    """Yield the keys of each requirement of ``[tool.poetry]``, its name, what is said of it, its group."""
    groups = poetry.get("group")
    tables: list[tuple[Keys, Any, str | None]] = [
        (("dependencies",), poetry.get("dependencies"), None),
        (("dev-dependencies",), poetry.get("dev-dependencies"), "dev"),
    ]
    for name, group in groups.items() if isinstance(groups, dict) else ():
        if isinstance(group, dict):
            tables.append((("group", name, "dependencies"), group.get("dependencies"), name))
    for keys, table, group in tables:
        for name, told in table.items() if isinstance(table, dict) else ():
            # Several of them, where what is asked for depends on Python or the platform.
            for number, one in enumerate(told if isinstance(told, list) else [told]):
                if isinstance(one, str | dict):
                    more = (number,) if isinstance(told, list) else ()
                    yield ("tool", "poetry", *keys, name, *more), name, one, group


def marker(told: Mapping[str, Any]) -> Marker | None:
    """Return where a requirement applies; ``None`` for everywhere.

    >>> str(marker({"python": "<3.11", "platform": "win32"}))
    'python_version < "3.11" and sys_platform == "win32"'
    >>> str(marker({"python": "~3.9 || >=3.11.2"}))
    'python_version >= "3.9" and python_version < "3.10" or python_full_version >= "3.11.2"'

    Raises:
        ValueError: It cannot be told.
    """
    parts = []
    python, platform, written = (told.get(name) for name in ("python", "platform", "markers"))
    if isinstance(python, str) and python.strip() != "*":
        parts.append(" or ".join(_of_python(one) for one in python.replace("||", "|").split("|")))
    if isinstance(platform, str):
        parts.append(" or ".join(f"sys_platform == '{one.strip()}'" for one in platform.split("|")))
    if isinstance(written, str):
        parts.append(written)
    return Marker(" and ".join(f"({part})" for part in parts)) if parts else None


def _of_python(text: str) -> str:
    conditions = []
    for one in sorted(specifier(text), key=lambda part: part.operator[0] != ">"):
        # With two numbers Poetry means Python 3.11, whichever its third.
        minor = one.version.count(".") == 1 and "*" not in one.version
        name = "python_version" if minor else "python_full_version"
        conditions.append(f"{name} {one.operator} '{one.version}'")
    return " and ".join(conditions) or "python_version >= '0'"


def specifier(version: str) -> SpecifierSet:
    """Return the versions that Poetry means.

    >>> str(specifier("^1.2.3")), str(specifier("^0.3")), str(specifier("~1.4")), str(specifier("2.1"))
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
