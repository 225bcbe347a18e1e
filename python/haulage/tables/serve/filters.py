"""Filters of OData, read into a tree: compared with rows in ``matching``, never pasted into a query.

The grammar::

    expression: either ("or" either)*
    either: both ("and" both)*
    both: "not" both | "(" expression ")" | test
    test: operand comparison operand | function "(" operand "," operand ")" | name
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from haulage.errors import UsageError
from haulage.tables.serve.arrow import nanoseconds

Comparison = Literal["eq", "ne", "gt", "ge", "lt", "le"]
#: What the other side of a comparison says, sides changed.
_TURNED: dict[str, Comparison] = {"eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}
_FUNCTIONS = ("startswith", "endswith", "contains", "substringof")
#: A tree that is deeper than this was not written by a person.
_DEPTH = 64
HINT = "write for example: elevation gt 300 and station eq 'Zugspitze'"

_TOKEN = re.compile(
    r"\s*(?:(?P<typed>(?:datetime|guid|binary|X)'(?:[^']|'')*')|(?P<text>'(?:[^']|'')*')"
    r'|(?P<quoted>"(?:[^"]|"")+")'
    r"|(?P<number>-?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+|INF)[LlDdFf]?(?![\w.]))|(?P<name>[^\W\d]\w*)|(?P<mark>[(),]))"
)


@dataclass(frozen=True)
class Time:
    """A literal time, in nanoseconds since 1970."""

    nanoseconds: int


Literal_ = str | int | float | bool | bytes | UUID | Time | None


@dataclass(frozen=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True)
class Compare:
    """A column compared with a value, or with another column."""

    column: str
    how: Comparison
    value: Literal_ | Name


@dataclass(frozen=True)
class Contains:
    """Whether text of a column begins with, ends with or holds another."""

    column: str
    where: Literal["start", "end", "inside"]
    text: str


@dataclass(frozen=True)
class Not:
    """The opposite."""

    of: Tree


@dataclass(frozen=True)
class Both:
    """Two conditions: both of them, or either."""

    how: Literal["and", "or"]
    left: Tree
    right: Tree


Tree = Compare | Contains | Not | Both


def parse(text: str) -> Tree:
    """Return the tree of a filter.

    >>> parse("5 lt elevation")
    Compare(column='elevation', how='gt', value=5)

    Raises:
        UsageError: It cannot be read.
    """
    return _Parser(text).all()


def columns(tree: Tree) -> set[str]:
    """Return the names of the columns that a filter reads."""
    match tree:
        case Both(_, left, right):
            return columns(left) | columns(right)
        case Not(of):
            return columns(of)
        case Compare(column, _, Name(other)):
            return {column, other}
        case _:
            return {tree.column}


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        self._at = 0
        place = 0
        end = len(text.rstrip())
        while place < end:
            found = _TOKEN.match(text, place)
            if found is None:
                raise self._wrong(f"cannot read what begins at: {text[place : place + 20].strip()}")
            assert found.lastgroup is not None
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            place = found.end()

    def all(self) -> Tree:
        tree = self._expression(0)
        if self._at < len(self._tokens):
            raise self._wrong(f"did not expect {self._tokens[self._at][1]}")
        return tree

    def _expression(self, depth: int) -> Tree:
        tree = self._either(depth)
        while self._takes("or"):
            tree = Both("or", tree, self._either(depth))
        return tree

    def _either(self, depth: int) -> Tree:
        tree = self._both(depth)
        while self._takes("and"):
            tree = Both("and", tree, self._both(depth))
        return tree

    def _both(self, depth: int) -> Tree:
        if depth > _DEPTH or len(self._tokens) > 25 * _DEPTH:
            raise self._wrong("it is too deep or too long")
        if self._takes("not"):
            return Not(self._both(depth + 1))
        if self._takes("("):
            tree = self._expression(depth + 1)
            self._must("(", ")")
            return tree
        return self._test()

    def _test(self) -> Tree:
        kind, text = self._next()
        if kind == "name" and text in _FUNCTIONS and self._takes("("):
            return self._function(text)
        left = self._operand(kind, text)
        _, how = self._peek()
        if how not in _TURNED:
            if isinstance(left, Name):
                return Compare(left.name, "eq", True)
            raise self._wrong(f"expected eq, ne, gt, ge, lt or le after {text}")
        self._at += 1
        right = self._operand(*self._next())
        if isinstance(left, Name):
            return Compare(left.name, _TURNED[_TURNED[how]], right)
        if isinstance(right, Name):
            return Compare(right.name, _TURNED[how], left)
        raise self._wrong("neither side names a column")

    def _function(self, name: str) -> Tree:
        first = self._operand(*self._next())
        self._must(name, ",")
        second = self._operand(*self._next())
        self._must(name, ")")
        if name == "substringof":
            first, second = second, first
        if not isinstance(first, Name) or not isinstance(second, str):
            raise self._wrong(f"{name} takes a column and a text")
        where: dict[str, Literal["start", "end"]] = {"startswith": "start", "endswith": "end"}
        tree = Contains(first.name, where.get(name, "inside"), second)
        # The table service's dialect writes: startswith(a, 'b') eq true.
        if self._takes("eq"):
            _, truth = self._next()
            if truth not in ("true", "false"):
                raise self._wrong(f"{name} is true or false")
            return tree if truth == "true" else Not(tree)
        return tree

    def _operand(self, kind: str, text: str) -> Literal_ | Name:
        try:
            match kind:
                case "text":
                    return text[1:-1].replace("''", "'")
                case "quoted":
                    return Name(text[1:-1].replace('""', '"'))
                case "number":
                    return _number(text)
                case "typed":
                    return _typed(text)
                case "name":
                    return {"true": True, "false": False, "null": None}.get(text, Name(text))
        except ValueError as error:
            raise self._wrong(f"cannot read {text}: {error}") from None
        raise self._wrong(f"expected a column or a value, not {text or 'the end'}")

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("", "")

    def _next(self) -> tuple[str, str]:
        found = self._peek()
        self._at += 1
        return found

    def _takes(self, word: str) -> bool:
        kind, text = self._peek()
        if kind in ("name", "mark") and text == word:
            self._at += 1
            return True
        return False

    def _must(self, after: str, word: str) -> None:
        if not self._takes(word):
            raise self._wrong(f"expected {word} after {after}")

    def _wrong(self, cause: str) -> UsageError:
        return UsageError("read the filter", self._text[:200], cause, HINT)


def _number(text: str) -> int | float:
    bare = text.rstrip("LlDdFf") if not text.endswith("INF") else text
    if "INF" in bare:
        return float(bare.replace("INF", "inf"))
    if re.fullmatch(r"-?\d+", bare) and text[-1] not in "DdFf":
        return int(bare)
    return float(bare)


def _typed(text: str) -> Literal_:
    kind, _, rest = text.partition("'")
    value = rest[:-1].replace("''", "'")
    if kind == "datetime":
        return Time(nanoseconds(value))
    if kind == "guid":
        return UUID(value)
    # X'..' is hexadecimal in OData; the table service's own clients write binary'..' the same way.
    try:
        return bytes.fromhex(value)
    except ValueError:
        return base64.b64decode(value, validate=True)
