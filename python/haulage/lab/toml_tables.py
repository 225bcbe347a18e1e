"""Reading and writing the tables of a plan: every key is known or an error, every number has its unit."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tomli_w

from haulage.errors import UsageError
from haulage.lab.units import parse_duration, parse_size


class Table:
    """A table of a plan that is being read; :meth:`end` refuses what nobody asked for."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values = dict(values)
        self._where = where
        self._known: set[str] = set()

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string; one without a default must be there."""
        return str(self._take(key, str, "text in quotes", default))

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        return bool(self._take(key, bool, "true or false", default))

    def number(self, key: str, default: int | None, least: int = 0) -> int:
        """Return a whole number of at least ``least``."""
        value = int(self._take(key, int, "a whole number", default))
        if value < least:
            raise self.fault(key, f"{value} is less than {least}", f"write {least} or more")
        return value

    def share(self, key: str, default: float) -> float:
        """Return a number that is not below zero."""
        value = float(self._take(key, (int, float), "a number", default))
        if value < 0:
            raise self.fault(key, f"{value} is below zero", "write 0 to turn it off, or more")
        return value

    def duration_ns(self, key: str, default: str | None) -> int:
        """Return a duration in nanoseconds."""
        return self._measure(key, default, parse_duration)

    def size_bytes(self, key: str, default: str | None = None) -> int:
        """Return a size in bytes."""
        return self._measure(key, default, parse_size)

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """Return one of ``choices``."""
        value = self.text(key, default)
        if value not in choices:
            raise self.fault(key, f"'{value}' is none of them", f"write {', '.join(choices)}")
        return value

    def choices(self, key: str, choices: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
        """Return several of ``choices``, written as a list or as one of them."""
        found = self.many(key, default)
        for value in found:
            if value not in choices:
                raise self.fault(key, f"'{value}' is none of them", f"write {', '.join(choices)}")
        return tuple(str(value) for value in found)

    def many(self, key: str, default: Sequence[Any]) -> tuple[Any, ...]:
        """Return a list; a single value is a list of one."""
        self._known.add(key)
        value = self._values.get(key, default)
        return tuple(value) if isinstance(value, (list, tuple)) else (value,)

    def tables(self, key: str) -> list[Table]:
        """Return an array of tables, ``[[key]]``; none if it is not there."""
        self._known.add(key)
        value = self._values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self.fault(key, "not a list of tables", f"write [[{key}]] above each")
        return [Table(item, f"{key} {number}") for number, item in enumerate(value, 1)]

    def table(self, key: str) -> Table:
        """Return a table, ``[key]``; an empty one if it is not there."""
        self._known.add(key)
        value = self._values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.fault(key, "not a table", f"write [{key}]")
        return Table(value, key)

    @property
    def values(self) -> dict[str, Any]:
        """All of it, where the keys are names that the plan chooses; they are known by that."""
        self._known |= self._values.keys()
        return dict(self._values)

    def has(self, key: str) -> bool:
        """Say whether the key is there, and know it."""
        self._known.add(key)
        return key in self._values

    def end(self) -> None:
        """Refuse keys that were not read: a misspelt one would else be silently the default."""
        for key in self._values.keys() - self._known:
            near = difflib.get_close_matches(key, self._known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"known here: {', '.join(sorted(self._known))}"
            raise self.fault(key, "no such key", hint)

    def fault(self, key: str, cause: str, hint: str) -> UsageError:
        """Return an error about a key of this table."""
        return UsageError("read plan", f"{self._where}: {key}", cause, hint)

    def _measure(self, key: str, default: str | None, parse: Callable[[str], int]) -> int:
        value = self._take(key, (str, int, float), "text with a unit", default)
        try:
            return parse(str(value))
        except UsageError as error:
            raise self.fault(key, f"'{value}': {error.cause}", error.hint or "give it a unit") from None

    def _take(self, key: str, kinds: Any, words: str, default: Any) -> Any:
        self._known.add(key)
        value = self._values.get(key, default)
        if value is None:
            raise self.fault(key, "missing", f"write {key} = {words}")
        # True is an int to Python, and surely a mistake here.
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise self.fault(key, f"{value!r} is not {words}", f"write {key} = {words}")
        return value


def to_toml(values: Mapping[str, Any]) -> str:
    """Write plain values, tables and lists of tables as TOML; what is ``None`` is left out."""
    return tomli_w.dumps(_without_none(values))


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    def kept(value: Any) -> Any:
        if isinstance(value, Mapping):
            return _without_none(value)
        return [kept(item) for item in value] if isinstance(value, (list, tuple)) else value

    return {key: kept(value) for key, value in values.items() if value is not None}
