"""Effects of experiments: what a change of one thing did to the rate, with the interval of its replicates."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from haulage.words.numbers import format_time

#: Of every interval here: at most one confident statement in two hundred may be wrong.
LEVEL = 0.99
#: An effect is there if its interval lies beyond the first and its middle beyond the second.
BEYOND, AT_LEAST = 1.06, 1.12
#: It is not there if its interval ends before the first and its middle before the second.
BELOW, AT_MOST = 1.2, 1.08
#: Close to no effect at all, for what is concluded from nothing having one.
CLOSE = 1.12
#: A rate that falls so far depends on what was taken away.
FALLS = 0.85
#: What is changed, in words.
CHANGES = {
    "connections": "Twice the connections",
    "blocks": "Larger blocks",
    "memory": "Memory instead of the disk",
    "checksum": "No checksum",
    "processors": "Half the processors",
}


@dataclass(frozen=True)
class Effect:
    """Rate with the change over rate without, the bounds of the ratio, and replicates of the change."""

    ratio: float
    low: float
    high: float
    n: int

    @property
    def is_there(self) -> bool:
        """Whether it helps beyond doubt."""
        return self.low > BEYOND and self.ratio >= AT_LEAST

    @property
    def is_not_there(self) -> bool:
        """Whether it does not help, beyond doubt."""
        return self.high < BELOW and self.ratio < AT_MOST

    @property
    def is_close_to_none(self) -> bool:
        """Whether the rate stayed what it was, up or down."""
        return self.high < CLOSE and self.low > 1 / CLOSE

    @property
    def falls(self) -> bool:
        """Whether the rate falls beyond doubt."""
        return self.high < FALLS

    def __str__(self) -> str:
        return f"{self.ratio:.2f} times the rate ({self.low:.2f} to {self.high:.2f}, n = {self.n})"


@dataclass(frozen=True)
class Effects:
    """What the experiments on one path gave.

    Attributes:
        of: By change, a key of :data:`CHANGES`; those that were made and ended well.
        block_factor: How much larger the blocks were.
        base_bits_per_second: Rate with nothing changed, the median; ``None`` if none ended well.
        commit: Time of a small write over that of an empty request.
        answer_ns: Median answer to an empty request on the idle path.
        commit_ns: Median answer to a write of a thousand bytes on the idle path.
        refused_again: Least share of requests refused when the same was done again; ``None`` if not made.
        refused_slower: Median share at half the rate.
        cpu_idle_share: Of all processors, the median of the transfers with nothing changed.
        cores_used: Processor time over wall time of the mover and of an endpoint on this machine, likewise.
        n: Transfers with nothing changed.
    """

    of: Mapping[str, Effect] = field(default_factory=dict)
    block_factor: float = 4.0
    base_bits_per_second: float | None = None
    commit: Effect | None = None
    answer_ns: float | None = None
    commit_ns: float | None = None
    refused_again: float | None = None
    refused_slower: float | None = None
    cpu_idle_share: float | None = None
    cores_used: float | None = None
    n: int = 0

    def helps(self, change: str) -> bool:
        """Whether a change was made and helped."""
        return change in self.of and self.of[change].is_there

    def excludes(self, change: str) -> bool:
        """Whether a change was made and does not help."""
        return change in self.of and self.of[change].is_not_there

    def helps_not(self, *changes: str) -> bool:
        """Whether none of these helps: those that were not made could not be."""
        return all(self.of[change].is_not_there for change in changes if change in self.of)


def effect(changed: Sequence[float], base: Sequence[float]) -> Effect | None:
    """Return the ratio of two sets of rates by Welch's interval on their logarithms.

    The replicates of the two lie interleaved in random order, so that what drifts meets both.
    """
    from scipy import stats  # which takes long to load, and haul why needs none

    left, right = ([math.log(rate) for rate in rates if rate > 0] for rates in (changed, base))
    if len(left) < 3 or len(right) < 3:
        return None
    # Fewer than ten values may lie together by chance: no spread below 1 % is believed.
    parts = [max(statistics.variance(side), 1e-4) / len(side) for side in (left, right)]
    freedom = sum(parts) ** 2 / sum(p**2 / (len(s) - 1) for p, s in zip(parts, (left, right), strict=True))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * math.sqrt(sum(parts))
    middle = statistics.fmean(left) - statistics.fmean(right)
    return Effect(math.exp(middle), math.exp(middle - reach), math.exp(middle + reach), len(left))


def effects_of(trials: Iterable[Mapping[str, Any]]) -> Effects:
    """Return the effects that the rows of the trials hold. Failed ones are no rate, and count as nothing."""
    rows = [row for row in trials if row["outcome"] == "ok"]
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_name.setdefault(str(row["name"]), []).append(row)

    def values(name: str, column: str) -> list[float]:
        return [float(row[column]) for row in by_name.get(name, []) if row.get(column)]

    def median(name: str, column: str) -> float | None:
        found = [float(row[column]) for row in by_name.get(name, []) if row.get(column) is not None]
        return statistics.median(found) if found else None

    base = values("base", "rate_bits_per_second")
    found = {name: effect(values(name, "rate_bits_per_second"), base) for name in CHANGES}
    again = [float(row["refused_share"]) for row in by_name.get("again", [])]
    factors = [float(row["factor"]) for row in by_name.get("blocks", []) if row.get("factor")]
    return Effects(
        of={name: one for name, one in found.items() if one is not None},
        block_factor=factors[0] if factors else 4.0,
        base_bits_per_second=statistics.median(base) if base else None,
        commit=effect(values("requests", "write_ns"), values("requests", "answer_ns")),
        answer_ns=median("requests", "answer_ns"),
        commit_ns=median("requests", "write_ns"),
        refused_again=min(again) if len(again) >= 3 else None,
        refused_slower=median("slower", "refused_share"),
        cpu_idle_share=median("base", "cpu_idle_share"),
        cores_used=median("base", "cores_used"),
        n=len(base),
    )


def waiting_share(blocks: Effect, factor: float) -> tuple[float, float, float]:
    """Return the share of a request that does not grow with its size, and its bounds.

    A request of ``w + b`` takes ``w + f b`` with blocks ``f`` times as large, for ``f`` times the bytes; so
    the rate grows by ``f (w + b) / (w + f b)``.
    """

    def share(ratio: float) -> float:
        return min(1.0, max(0.0, (factor - factor / max(ratio, 1e-9)) / (factor - 1)))

    return share(blocks.ratio), share(blocks.low), share(blocks.high)


def gave(effects: Effects) -> list[str]:
    """Say what the experiments gave, with numbers."""
    said = []
    for name, one in effects.of.items():
        words = CHANGES[name]
        if name == "blocks":
            words = f"Blocks {effects.block_factor:.0f} times as large"
        said.append(f"{words}: {one}.")
    if effects.refused_again is not None:
        said.append(
            f"Done again, at least {effects.refused_again:.1%} of the requests were refused each time."
        )
    if effects.refused_slower is not None:
        said.append(f"At half the rate, {effects.refused_slower:.1%} of them.")
    if effects.answer_ns is not None and effects.commit_ns is not None:
        said.append(
            f"Idle, an empty request took {format_time(effects.answer_ns)} and a small write"
            f" {format_time(effects.commit_ns)}."
        )
    if effects.cpu_idle_share is not None and effects.cores_used is not None:
        said.append(
            f"Meanwhile processors were {effects.cpu_idle_share:.0%} idle; this transfer took"
            f" {effects.cores_used:.2f} of a core."
        )
    return said
