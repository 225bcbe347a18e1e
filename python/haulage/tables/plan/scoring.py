"""Which choice is better: what the queries cost, then what writing costs, then which is simpler. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10

from haulage.tables.plan.entities import ACCOUNT_RATE, TRANSACTION_ROWS
from haulage.tables.plan.measuring import Keys, Spread
from haulage.tables.plan.predicting import Cost

#: Below so many rows neither rates nor transactions matter.
FEW = 1_000
#: Rows of a partition from which on it counts as large.
LARGE_PARTITION = 1_000_000


@dataclass(frozen=True)
class Score:
    """What a choice costs; less is better. The other parts are shares of the queries' cost, added to it."""

    queries: float  #: requests, and thousands of rows read, for a query on average
    transactions: float
    writing: float
    size: float
    fields: float

    @property
    def total(self) -> float:
        """All together."""
        return self.queries * (1 + self.transactions + self.writing + self.size + self.fields)


@dataclass(frozen=True)
class Candidate:
    """A choice of keys, with what was measured of it."""

    keys: Keys
    spread: Spread
    costs: tuple[Cost, ...]
    score: Score
    whole: bool  #: whether all rows were measured, not the sample


def score(keys: Keys, spread: Spread, costs: tuple[Cost, ...]) -> Score:
    """Return what a choice of keys costs."""
    weights = sum(cost.query.weight for cost in costs) or 1.0
    fill = min(spread.fill, TRANSACTION_ROWS) or 1.0
    rate = min(spread.rate, spread.newest_rate) or 1.0
    fields = (*keys.partition.fields, *keys.row.fields)
    return Score(
        queries=sum(cost.query.weight * cost.effort for cost in costs) / weights,
        transactions=0.25 * log10(TRANSACTION_ROWS / fill) if spread.rows >= FEW else 0.0,
        writing=0.15 * log10(ACCOUNT_RATE / min(rate, ACCOUNT_RATE)) if spread.rows >= FEW else 0.0,
        size=0.1 * max(0.0, log10(max(spread.largest_rows, 1) / LARGE_PARTITION)),
        # Data grows: one partition for all never spreads.
        fields=0.01 * len(fields)
        + 0.05 * sum(part.optional for part in fields)
        + 0.05 * (not keys.partition.fields),
    )


def order(candidate: Candidate) -> tuple[int, int, float]:
    """Return what candidates are sorted by: all rows kept, then the score."""
    lost = candidate.spread.refused + candidate.spread.too_long + candidate.spread.surplus
    return (int(lost > 0), lost, candidate.score.total)
