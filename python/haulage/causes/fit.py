"""Splits the time of requests: a part of their own, one for those beside them, and both again for each byte.

The time of a request is taken as ``a + q n + c b + s b n`` with ``b`` its bytes and ``n`` the number in
flight beside it, none of the four below zero: a wait for the answer, a queue at the service, a rate of its
connection, and a rate that all share. Which of them is at work shows only where sizes or numbers varied. So
each is left out in turn: what can be left out without a worse fit is not shown by this record, and what takes
its place is its rival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The four parts, in the order of the formula.
PARTS = ("answer", "queue", "connection", "shared")
#: Those that grow with the number in flight, and those that do not.
OF_ALL, OF_ONE = ("queue", "shared"), ("answer", "connection")
#: Those that do not grow with the bytes.
OF_NONE = ("answer", "queue")
#: Fewer requests than this say nothing about parts.
NEEDS = 16
#: Left out, a part that is shown makes the squared error this much larger ...
WORSE = 1.3
#: ... or this much, where fewer than FEW requests had clearly (a fifth) fewer or more beside them than usual:
#: what
#: three requests at the end say must be said loudly.
MUCH_WORSE, FEW, CLEARLY = 2.5, 4, 0.8
#: Squares of the relative error: below the first there is only rounding; above the second the formula does
#: not hold.
ROUNDING, HOLDS = 1e-4, 0.2
#: Relative errors count by their square up to here, beyond by their size.
BEND = 0.25
#: A smaller share of the time is not asked for.
LEAST = 0.2

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """Where the time of requests went, as far as sizes and numbers in flight tell.

    Attributes:
        shares: Of the time of payload requests by part, adding up to 1.
        waits_ns: What a request waits whatever it carries: ``answer`` and ``queue``, on average.
        waits_shown: Whether such a part is needed, beside what grows with bytes.
        shown: Parts that cannot be left out.
        of_all_shown: Whether a part that grows with the number in flight is needed.
        of_one_shown: Whether a part that does not grow with it is needed.
        error: Root of the mean (Huber's) square of the relative error.
        requests: That it stands on.
    """

    shares: dict[str, float]
    waits_ns: float
    waits_shown: bool
    shown: frozenset[str]
    of_all_shown: bool
    of_one_shown: bool
    error: float
    requests: int

    @property
    def waits(self) -> float:
        """The share of the time that does not grow with the bytes."""
        return sum(self.shares[part] for part in OF_NONE)

    @property
    def of_all(self) -> float:
        """The share of the time that grows with the number in flight."""
        return sum(self.shares[part] for part in OF_ALL)


def fit(sample: Sequence[Mapping[str, Any]]) -> Fit | None:
    """Split the time of requests.

    Args:
        sample: Rows of one cell of ``sample.sql``.

    Returns:
        ``None`` with fewer than :data:`NEEDS` requests.
    """
    took, size, beside = (
        np.array([row[name] for row in sample], dtype=float) for name in ("took_ns", "bytes", "beside")
    )
    good = (took > 0) & (size > 0) & np.isfinite(beside)
    took, size, beside = took[good], size[good], beside[good]
    if len(took) < NEEDS:
        return None
    columns = np.stack([np.ones_like(took), beside, size, size * beside], axis=1)
    # Errors count as shares of the time, so that long requests do not outweigh all others.
    scaled = columns / took[:, None]
    scale = scaled.mean(axis=0)
    scaled = scaled / scale
    weights, error = _solve(scaled)
    spent = weights / scale * columns.sum(axis=0)
    if spent.sum() <= 0:
        return None
    shares = {name: float(part / spent.sum()) for name, part in zip(PARTS, spent, strict=True)}
    loud = WORSE if _varied(beside) else MUCH_WORSE
    steady = float(beside.max()) <= 1.02 * float(beside.min())
    holds = error <= HOLDS

    def needed(parts: Sequence[str]) -> bool:
        if set(parts) != set(OF_NONE) and steady:
            return False
        others = [place for place, name in enumerate(PARTS) if name not in parts]
        _, without = _solve(scaled[:, others])
        return holds and without >= loud * max(error, ROUNDING)

    shown = frozenset(name for name in PARTS if shares[name] >= LEAST and needed([name]))
    return Fit(
        shares,
        float(spent[0] + spent[1]) / len(took),
        needed(OF_NONE),
        shown,
        not steady and needed(OF_ALL),
        not steady and needed(OF_ONE),
        float(np.sqrt(error)),
        len(took),
    )


def _solve(scaled: Floats) -> tuple[Floats, float]:
    """Fit, and return Huber's loss: a request that took far longer than foreseen does not outvote ten."""
    rooted = np.ones(len(scaled))
    for _ in range(6):
        weights = _nonnegative(scaled * rooted[:, None], rooted)
        away = np.abs(1 - scaled @ weights)
        rooted = np.sqrt(np.minimum(1.0, BEND / np.maximum(away, 1e-12)))
    loss = np.where(away <= BEND, away**2, 2 * BEND * away - BEND**2)
    return weights, float(loss.mean())


def _nonnegative(rows: Floats, aims: Floats) -> Floats:
    """Return the weights of the columns, none below zero, that come nearest to ``aims``.

    The best are those of a plain fit with some of the columns. There are four at most, so all are tried, and
    of equal ones the first is taken. SciPy has it for any number, and loads longer than all else here.
    """
    turned, square = np.linalg.qr(rows)
    aim, count = turned.T @ aims, rows.shape[1]
    best, least, equal = np.zeros(count), float(aim @ aim), 1e-12 * float(aim @ aim)
    for kept in range(1, 2**count):
        chosen = [place for place in range(count) if kept >> place & 1]
        weights = np.linalg.lstsq(square[:, chosen], aim)[0]
        away = aim - square[:, chosen] @ weights
        if weights.min() >= 0 and float(away @ away) < least - equal:
            best, least = np.zeros(count), float(away @ away)
            best[chosen] = weights
    return best


def _varied(values: Floats) -> bool:
    """Whether enough values lie clearly below or above the usual one."""
    middle = float(np.median(values))
    return int(np.sum(values <= CLEARLY * middle) + np.sum(values >= middle / CLEARLY)) >= FEW
