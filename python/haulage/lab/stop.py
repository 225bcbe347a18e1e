"""When more replicates would say nothing new."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from haulage.lab.plan import Plan

_LEVEL = 0.95


def narrow_enough(plan: Plan, rows: Iterable[Mapping[str, Any]]) -> str | None:
    """Return why to stop, in words, once every median's interval is narrow; ``None`` to go on.

    The interval is of order statistics, so it exists from six replicates on. Groups that have all
    their replicates already do not count: they will not get narrower.
    """
    if plan.stop_width <= 0:
        return None
    groups: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for row in rows:
        if not row["warmup"] and row["outcome"] == "ok":
            groups[row["treatment"], row["size_bytes"]].append(row["wall_ns"])
    widest = 0.0
    for walls in groups.values():
        width = relative_width(walls)
        if len(walls) < plan.stop_at_least or width is None:
            return None
        widest = max(widest, width)
    if not groups or widest > plan.stop_width:
        return None
    return (
        f"interval narrow enough: the widest of {len(groups)} medians is {widest:.1%},"
        f" {plan.stop_width:.1%} was asked for"
    )


def relative_width(values: list[float]) -> float | None:
    """Return the width of the 95 % interval of the median over the median; ``None`` if n is too small."""
    ordered, count = sorted(values), len(values)
    # The largest k for which the k-th smallest and k-th largest still enclose the median often enough.
    best, below = None, 0.0
    for k in range(count // 2):
        below += math.comb(count, k) / 2**count
        if 1 - 2 * below < _LEVEL:
            break
        best = k
    if best is None:
        return None
    return (ordered[count - 1 - best] - ordered[best]) / median(ordered)
