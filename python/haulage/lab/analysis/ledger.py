"""The lost-time ledger, checked: its books must close to the nanosecond."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

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


def check(ledger: pd.DataFrame) -> None:
    """Assert that every cell's categories are none below zero and add up to lanes times wall time.

    Raises:
        IntegrityError: They do not: lanes overlap or stamps run backwards, so the record is not what it
            should be.
    """
    for cell, rows in ledger.groupby("cell"):
        whole = int(rows["lanes"].iloc[0]) * int(rows["wall_ns"].iloc[0])
        booked = int(rows["spent_ns"].sum())
        least = int(rows["spent_ns"].min())
        if booked != whole or least < 0 or set(rows["category"]) != set(CATEGORIES):
            raise IntegrityError(
                "analyse",
                f"the ledger of cell {cell}",
                f"its categories add up to {booked} ns of {whole} ns, the least is {least} ns",
                "the attempts of this cell overlap within a lane: see lanes_of_run, and report it",
            )


def shares(ledger: pd.DataFrame) -> dict[str, float]:
    """Return the share of lanes times wall time of each category, over all cells given."""
    whole = sum(int(lanes) * int(wall) for lanes, wall in _each_cell(ledger))
    spent: Mapping[str, int] = ledger.groupby("category")["spent_ns"].sum().to_dict()
    return {
        name: (int(spent.get(name, 0)) / whole if whole else 0.0)
        for name in dict.fromkeys([*CATEGORIES, *spent])
    }


def _each_cell(ledger: pd.DataFrame) -> list[tuple[int, int]]:
    first = ledger.groupby("cell")[["lanes", "wall_ns"]].first()
    return list(zip(first["lanes"], first["wall_ns"], strict=True))
