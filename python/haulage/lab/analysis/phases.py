"""Whether the rate of a transfer changed at one moment, while as many requests were in flight."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import pandas as pd

from haulage.causes.evidence import Phase

#: A step must be by this factor at least, and so many times as far as the two sides scatter.
STEP, TIMES_THE_SPREAD = 1.5, 4.0
#: Parts of the time on each side of it, at least, once beginning and end are left out.
LEAST_PARTS = 4
#: The requests in flight on one side may be so many times those on the other.
SAME_IN_FLIGHT = 1.3
#: Parts of the time that are looked at, of which the first and the last tell of opening and running out.
PARTS = 25
#: The part of the time in which a transfer may still be growing quicker.
START = 0.35
#: Where more of those in flight wait for the first answer of a new connection, which takes round trips more
#: than the next ones, the rate is not that of the path.
OPENING = 0.2


def phases_of(over_time: pd.DataFrame | None, cells: Sequence[int]) -> tuple[Phase, ...]:
    """Return two phases if all cells have the same step; none if there is none.

    Args:
        over_time: The rows of the query ``rate_over_time``.
        cells: Of one treatment at one size.
    """
    if over_time is None or not cells:
        return ()
    rows = over_time[over_time["cell"].isin(list(cells))]
    if rows.empty:
        return ()
    # The median over the cells: a pause of one of them is no phase of the path.
    columns = ["rate_bits_per_second", "in_flight", "opening_share"]
    by_part = rows.groupby("part")[columns].median()
    wide = by_part.groupby(by_part.index.to_numpy() * PARTS // 100).mean()
    return step(*(wide[column].tolist() for column in columns))


def step(
    rates: Sequence[float], in_flight: Sequence[float], opening: Sequence[float] | None = None
) -> tuple[Phase, ...]:
    """Return the phases before and after the one step of a series, none if it has none.

    Args:
        rates: Of equal parts of the time.
        in_flight: Requests in flight in each.
        opening: Of these, the share that waits for the first answer of a connection; default none.
    """
    opening = opening or [0.0] * len(rates)
    inner = [part for part in range(2, len(rates) - 2) if opening[part] <= OPENING]
    logs = {part: math.log(rates[part]) for part in inner if rates[part] > 0}
    if len(logs) < len(inner) - 2:
        return ()
    best: tuple[float, int] | None = None
    parts = sorted(logs)
    for at in range(LEAST_PARTS, len(parts) - LEAST_PARTS + 1):
        sides = ([logs[part] for part in parts[:at]], [logs[part] for part in parts[at:]])
        rest = sum(statistics.pvariance(side) * len(side) for side in sides)
        if best is None or rest < best[0]:
            best = (rest, at)
    if best is None:
        return ()
    rest, at = best
    before, after = parts[:at], parts[at:]
    # The part in which it happened is neither the one nor the other.
    first = statistics.median(logs[part] for part in before[:-1])
    second = statistics.median(logs[part] for part in after[1:])
    spread = math.sqrt(rest / len(parts))
    if abs(second - first) < max(math.log(STEP), TIMES_THE_SPREAD * spread):
        return ()
    flying = [statistics.median(in_flight[part] for part in side) for side in (before, after)]
    if min(flying) <= 0 or max(flying) / min(flying) > SAME_IN_FLIGHT:
        return ()
    when = after[0] / len(rates)
    # A transfer that begins slowly has found its rate by then; the path need not have changed.
    if second > first and when <= START:
        return ()
    return Phase(0.0, when, math.exp(first)), Phase(when, 1.0, math.exp(second))
