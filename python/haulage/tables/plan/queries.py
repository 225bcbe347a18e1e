"""What will be asked of the table, in a small language: conditions, order, limit, weight.

The grammar is in docs/guides/table-keys.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from haulage.errors import UsageError

#: A value that is not known yet.
OPEN: Final = "?"

_TOKEN = re.compile(
    r"\s*(?:(?P<quoted>\"(?:[^\"]|\"\")+\")|(?P<text>'(?:[^']|'')*')|(?P<mark><=|>=|[<>=,?]|\*\s*[\d.]+\s*$)"
    r"|(?P<word>[^\s,<>=?*\"']+))"
)
_WORDS = {"and", "between", "within", "like", "order", "by", "asc", "desc", "limit"}


@dataclass(frozen=True)
class Text:
    """A value as it was written in a query."""

    text: str

    def __str__(self) -> str:
        if re.fullmatch(r"[\w.:+-]+", self.text) and self.text.lower() not in _WORDS:
            return self.text
        return "'" + self.text.replace("'", "''") + "'"


#: A value: written in the query, or :data:`OPEN`; ``None`` where a range has no such end.
Operand = Text | Literal["?"] | None


@dataclass(frozen=True)
class Condition:
    """What is asked of one column: a value, a range, or how its text begins."""

    column: str
    equal: Operand = None
    low: Operand = None
    high: Operand = None
    low_open: bool = False
    high_open: bool = False
    within: str = ""  #: the length of a range whose place is not known
    prefix: Operand = None

    @property
    def is_range(self) -> bool:
        """Whether it asks for more than one value."""
        return self.equal is None

    @property
    def marks(self) -> int:
        """How many values it leaves open."""
        return sum(value == OPEN for value in (self.equal, self.low, self.high, self.prefix))

    def __str__(self) -> str:
        name = self.column if re.fullmatch(r"[\w.]+", self.column) else f'"{self.column}"'
        if self.equal is not None:
            return f"{name} = {self.equal}"
        if self.prefix is not None:
            return f"{name} like {Text(self.prefix.text + '%') if isinstance(self.prefix, Text) else OPEN}"
        if self.within:
            return f"{name} within {self.within}"
        if self.low is not None and self.high is not None and not self.low_open and not self.high_open:
            return f"{name} between {self.low} and {self.high}"
        ends = []
        if self.low is not None:
            ends.append(f"{name} {'>' if self.low_open else '>='} {self.low}")
        if self.high is not None:
            ends.append(f"{name} {'<' if self.high_open else '<='} {self.high}")
        return " and ".join(ends)


@dataclass(frozen=True)
class Query:
    """A query that will be asked, and how often beside the others."""

    conditions: tuple[Condition, ...]
    order: str = ""
    descending: bool = False
    limit: int = 0
    weight: float = 1.0

    @property
    def equals(self) -> tuple[str, ...]:
        """The columns of which one value is asked."""
        return tuple(found.column for found in self.conditions if not found.is_range)

    @property
    def ranges(self) -> tuple[str, ...]:
        """The columns of which a range is asked."""
        return tuple(found.column for found in self.conditions if found.is_range)

    @property
    def in_words(self) -> str:
        """What it asks for, in English.

        >>> parse_query("station, time> order by time desc limit 1").in_words
        'the first row with a given station, in a range of time, the largest time first'
        """
        given = [f"a given {' and '.join(self.equals)}"] if self.equals else []
        begins = [one.column for one in self.conditions if one.prefix is not None]
        given += [f"a {name} that begins with a given text" for name in begins]
        between = [name for name in self.ranges if name not in begins]
        text = "rows" if self.conditions else "all rows"
        if self.limit:
            text = "the first row" if self.limit == 1 else f"the first {self.limit:,} rows"
        text += f" with {' and '.join(given)}" if given else ""
        text += f"{',' if given else ''} in a range of {' and '.join(between)}" if between else ""
        if self.order:
            text += f", the {'largest' if self.descending else 'smallest'} {self.order} first"
        return text

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it names."""
        return (*self.equals, *self.ranges, *((self.order,) if self.order else ()))

    def __str__(self) -> str:
        text = " and ".join(map(str, self.conditions)) or "all rows"
        if self.order:
            text += f" order by {self.order}{' desc' if self.descending else ''}"
        if self.limit:
            text += f" limit {self.limit}"
        return text if self.weight == 1 else f"{text} *{self.weight:g}"


def parse_query(text: str) -> Query:
    """Return a query that was read from text.

    Raises:
        UsageError: It is none.

    >>> str(parse_query("station, time> order by time desc limit 1 *20"))
    'station = ? and time > ? order by time desc limit 1 *20'
    """
    return _Reader(text).query()


class _Reader:
    def __init__(self, text: str) -> None:
        self._whole = text
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if not found or not found.lastgroup:
                raise self._fault(text[at:].strip())
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()

    def query(self) -> Query:
        conditions: list[Condition] = []
        while self._tokens and self._peek() not in ("order", "limit") and not self._peek().startswith("*"):
            if conditions and not (self._take("and") or self._take(",")):
                raise self._fault(self._peek())
            self._add(conditions)
        query = Query(tuple(conditions))
        if self._take("order"):
            self._expect("by")
            query = replace(query, order=self._column(), descending=self._take("desc"))
            if not query.descending:
                self._take("asc")
        if self._take("limit"):
            query = replace(query, limit=self._number(self._next()[1]))
        if self._tokens and self._peek().startswith("*"):
            try:
                weight = float(self._next()[1].removeprefix("*"))
            except ValueError:
                weight = 0.0
            if not weight:
                raise self._fault("*")
            query = replace(query, weight=weight)
        if self._tokens or not (query.conditions or query.order or query.limit):
            raise self._fault(self._peek())
        return query

    def _add(self, conditions: list[Condition]) -> None:
        column = self._column()
        found = self._condition(column)
        for at, former in enumerate(conditions):
            if former.column == column:
                # Both ends of one range, written as two conditions.
                apart = (former.low is None) != (found.low is None) and (former.high is None) != (
                    found.high is None
                )
                if not apart or former.within or found.within:
                    raise self._fault(column)
                low, high = (former, found) if former.low is not None else (found, former)
                conditions[at] = Condition(
                    column, low=low.low, high=high.high, low_open=low.low_open, high_open=high.high_open
                )
                return
        conditions.append(found)

    def _condition(self, column: str) -> Condition:
        if self._take("between"):
            low = self._value()
            self._expect("and")
            return Condition(column, low=low, high=self._value())
        if self._take("within"):
            return Condition(column, within=self._next()[1])
        if self._take("like"):
            value = self._value()
            if isinstance(value, Text):
                if not value.text.endswith("%") or "%" in value.text[:-1]:
                    raise self._fault(value.text)
                value = Text(value.text[:-1])
            return Condition(column, prefix=value)
        for mark in ("<=", ">=", "<", ">"):
            if self._take(mark):
                value = self._value()
                is_open = len(mark) == 1
                if mark.startswith(">"):
                    return Condition(column, low=value, low_open=is_open)
                return Condition(column, high=value, high_open=is_open)
        if self._take("="):
            return Condition(column, equal=self._value())
        return Condition(column, equal=OPEN)

    def _column(self) -> str:
        kind, text = self._next()
        if kind == "quoted":
            return text[1:-1].replace('""', '"')
        if kind != "word" or text.lower() in _WORDS:
            raise self._fault(text)
        return text

    def _value(self) -> Operand:
        # Left out it is open: `time>`.
        if not self._tokens or (self._tokens[0][0] == "word" and self._peek() in _WORDS):
            return OPEN
        kind, text = self._tokens[0]
        if kind == "mark" and text != OPEN:
            return OPEN
        self._tokens.pop(0)
        if kind == "mark":
            return OPEN
        return Text(text[1:-1].replace("''", "'") if kind == "text" else text)

    def _number(self, text: str) -> int:
        if not text.isdecimal() or not int(text):
            raise self._fault(text)
        return int(text)

    def _peek(self) -> str:
        kind, text = self._tokens[0] if self._tokens else ("end", "the end")
        return text.lower() if kind == "word" else text

    def _next(self) -> tuple[str, str]:
        if not self._tokens:
            raise self._fault("the end")
        return self._tokens.pop(0)

    def _take(self, word: str) -> bool:
        if self._tokens and self._tokens[0][0] in ("word", "mark") and self._peek() == word:
            self._tokens.pop(0)
            return True
        return False

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise self._fault(self._peek())

    def _fault(self, at: str) -> UsageError:
        hint = "write it like: station = ? and time between ? and ? order by time desc limit 10 *5"
        return UsageError("read", f"query '{self._whole}'", f"cannot be understood at '{at}'", hint)
