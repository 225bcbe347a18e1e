"""Where the texts of a TOML file are: ``tomllib`` says what they are, not where."""

from __future__ import annotations

import re
import tomllib
from typing import Any, TypeAlias

#: The keys, and the numbers in lists, that lead to a value.
Keys: TypeAlias = tuple[str | int, ...]

#: Comments, texts of several lines, and texts of one.
_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?P<basic>(?:\\.|[^"\\\n])*)"'
    r"|'(?P<literal>[^'\n]*)'",
    re.DOTALL,
)
#: What follows a text that is a key.
_KEY = re.compile(r"[ \t]*[=.]")
#: The line of a table, whose name may have quotes. A list in a list looks the same.
_TABLE = re.compile(r"^[ \t]*\[.*\][ \t]*(?:#.*)?$", re.MULTILINE)
#: Before the number of a text, in place of what it says.
_MARK = "\ue000"


def places(text: str) -> dict[Keys, tuple[int, int]]:
    r"""Return where each text of one line begins and ends, between its quotes.

    The texts are numbered, and the numbers are read where the texts were.

    >>> places('[a]\nb = ["x", "yz"]  # "yz"\n')["a", "b", 1]
    (15, 17)
    """
    for tables in (False, True):
        spans: list[tuple[int, int]] = []
        try:
            told = tomllib.loads(_numbered(text, spans, tables=tables))
        except tomllib.TOMLDecodeError:
            # The name of a table was taken for a list.
            continue
        return {keys: spans[number] for keys, number in _numbers(told)}
    return {}


def _numbered(text: str, spans: list[tuple[int, int]], *, tables: bool) -> str:
    lines = [found.span() for found in _TABLE.finditer(text)] if tables else []

    def number(found: re.Match[str]) -> str:
        kind, at = found.lastgroup, found.start()
        if kind is None or _KEY.match(text, found.end()) or any(begin <= at < end for begin, end in lines):
            return found[0]
        spans.append(found.span(kind))
        return f'"{_MARK}{len(spans) - 1}"'

    return _TOKEN.sub(number, text)


def _numbers(told: dict[str, Any]) -> list[tuple[Keys, int]]:
    numbers: list[tuple[Keys, int]] = []
    left: list[tuple[Keys, Any]] = [((), told)]
    while left:
        keys, value = left.pop()
        if isinstance(value, dict):
            left += [((*keys, name), one) for name, one in value.items()]
        elif isinstance(value, list):
            left += [((*keys, number), one) for number, one in enumerate(value)]
        elif isinstance(value, str) and value.startswith(_MARK):
            numbers.append((keys, int(value[1:])))
    return numbers
