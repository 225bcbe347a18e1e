"""Conditions and bounds of keys as the service's query language has them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from haulage.tables.plan.access import Access, Bounds, Given, successor
from haulage.tables.values import Moment, as_ticks, iso, text_of


def filters(way: Access, rest: Sequence[str]) -> list[str]:
    """Return a filter for each stretch of keys, with the conditions that the keys do not decide."""
    found = []
    for partition in way.partitions:
        parts = [*_bounds(partition, "PartitionKey"), *_bounds(way.rows, "RowKey")]
        found.append(" and ".join(parts if way.only_keys else [*parts, *rest]))
    return found


def _bounds(bounds: Bounds, name: str) -> list[str]:
    if bounds.exact is not None:
        return [f"{name} eq {quoted(bounds.exact)}"]
    ends = [f"{name} ge {quoted(bounds.low)}"] if bounds.low else []
    return ends if bounds.high is None else [*ends, f"{name} lt {quoted(bounds.high)}"]


def condition(asked: Given, edm: str) -> str:
    """Return a condition as the service's query language has it."""

    def written(value: object) -> str:
        if isinstance(value, (Moment, date, datetime)):
            return f"datetime'{iso(as_ticks(value))}'"
        text = text_of(value)
        if edm == "Edm.Int64":
            return f"{text}L"
        if edm == "Edm.Binary":
            return f"X'{text.replace('-', '')}'"  # a UUID has hyphens as text
        if edm == "Edm.Double":
            return text if "." in text else f"{text}.0"
        return text if edm in ("Edm.Int32", "Edm.Boolean") else quoted(text)

    name = asked.column
    if asked.prefix is not None:
        end = successor(asked.prefix)
        return f"{name} ge {quoted(asked.prefix)}" + (f" and {name} lt {quoted(end)}" if end else "")
    if asked.equal is not None:
        return f"{name} eq {written(asked.equal)}"
    ends = []
    if asked.low is not None:
        ends.append(f"{name} {'gt' if asked.low_open else 'ge'} {written(asked.low)}")
    if asked.high is not None:
        ends.append(f"{name} {'lt' if asked.high_open else 'le'} {written(asked.high)}")
    return " and ".join(ends)


def quoted(text: str) -> str:
    """Return a string of the query language."""
    return "'" + text.replace("'", "''") + "'"
