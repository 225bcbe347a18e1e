"""The lost-time ledger, checked: its books must close to the nanosecond."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from haulage.errors import IntegrityError

#: In the order of an attempt's life, then what is no attempt.
CATEGORIES = (
    "send",
    "server wait",
    "receive",
    "commit",
    "connect",
    "disk",
    "hash",
    "pacing",
    "throttled",
    "ordering",
    "no work",
    "idle",
)


def check(ledger: Iterable[Mapping[str, Any]]) -> None:
    """Assert that every cell's categories are none below zero and add up to lanes times wall time.

    Args:
        ledger: Rows of ``ledger.sql``.

    Raises:
        IntegrityError: They do not: lanes overlap or stamps run backwards, so the record is not what it
            should be.
    """
    by_cell: dict[Any, list[Mapping[str, Any]]] = {}
    for row in ledger:
        by_cell.setdefault(row["cell"], []).append(row)
    for cell, rows in by_cell.items():
        whole = _whole(rows)
        booked = sum(int(row["spent_ns"]) for row in rows)
        least = min(int(row["spent_ns"]) for row in rows)
        if booked != whole or least < 0 or {row["category"] for row in rows} != set(CATEGORIES):
            raise IntegrityError(
                "analyse",
                f"the ledger of cell {cell}",
                f"its categories add up to {booked} ns of {whole} ns, the least is {least} ns",
                "the attempts of this cell overlap within a lane: see lanes_of_run, and report it",
            )


def shares(ledger: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the share of lanes times wall time of each category, over all cells given."""
    whole = _whole(ledger)
    spent = dict.fromkeys(CATEGORIES, 0)
    for row in ledger:
        spent[row["category"]] = spent.get(row["category"], 0) + int(row["spent_ns"])
    return {name: ns / whole if whole else 0.0 for name, ns in spent.items()}


def _whole(ledger: Sequence[Mapping[str, Any]]) -> int:
    """Return lanes times wall time of all cells together."""
    each = {row["cell"]: int(row["lanes"]) * int(row["wall_ns"]) for row in reversed(ledger)}
    return sum(each.values())
