"""The ceiling of links whose rate is known: error and interval of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from haulage.lab.ceiling import measure_ceiling
from haulage.lab.link import parse_link
from haulage.lab.plan import Plan
from haulage.lab.target import start_emulator
from haulage.words.numbers import format_rate

BOTH = ("up", "down")
#: What the estimate may be off by where this machine can carry the rate.
WITHIN = 0.03
#: Connections that are opened at most.
CONNECTIONS = 64
#: Caps in all, per connection, and both, from 2 Mbit/s to 10 Gbit/s.
LINKS = (
    *("total=2mbit", "rtt=20ms,total=5mbit", "rtt=100ms,total=10mbit", "rtt=20ms,total=40mbit"),
    *("rtt=10ms,total=100mbit", "total=256mbit", "rtt=60ms,total=500mbit", "rtt=1ms,total=1gbit"),
    *("rtt=1ms,total=2.5gbit", "rtt=0.5ms,total=10gbit"),
    *(
        "conn=2mbit",
        "rtt=20ms,conn=5mbit",
        "rtt=10ms,conn=20mbit",
        "rtt=60ms,conn=20mbit",
        "rtt=5ms,conn=50mbit",
    ),
    *("rtt=1ms,conn=200mbit", "rtt=1ms,conn=1gbit"),
    *("conn=2mbit,total=20mbit", "rtt=20ms,conn=5mbit,total=200mbit", "rtt=10ms,conn=10mbit,total=100mbit"),
    *(
        "rtt=60ms,conn=20mbit,total=1gbit",
        "rtt=5ms,conn=100mbit,total=120mbit",
        "rtt=2ms,conn=100mbit,total=2gbit",
    ),
    "rtt=1ms,conn=1gbit,total=10gbit",
)


@dataclass(frozen=True)
class Known:
    """A link, what it carries, and what was measured."""

    link: str
    direction: str
    true: float
    found: float
    low: float
    high: float
    bound_by_machine: bool

    @property
    def error(self) -> float:
        """Measured over true, less one."""
        return self.found / self.true - 1


def measure(
    link: str, seed: int = 1, *, time_ns: int = 2_000_000_000, directions: Sequence[str] = BOTH
) -> list[Known]:
    """Measure a link, each round for a fifth of a time or as long as it takes."""
    first = parse_link(link).first
    true = min(first.total_bits_per_second, CONNECTIONS * first.connection_bits_per_second)
    plan = cast(Plan, SimpleNamespace(ceiling_connections=CONNECTIONS, ceiling_time_ns=time_ns, seed=seed))
    endpoint = start_emulator(store="null", link=link)
    try:
        found: dict[str, Any] = measure_ceiling(plan, lambda: endpoint, lambda: None, directions=directions)
    finally:
        endpoint.close()
    return [
        Known(
            link,
            direction,
            true,
            found[f"{direction}_bits_per_second"],
            found[f"{direction}_low_bits_per_second"],
            found[f"{direction}_high_bits_per_second"],
            found[f"{direction}_bound_by_machine"],
        )
        for direction in directions
    ]


def make(seeds: Iterable[int], said: Callable[[str], object]) -> tuple[str, bool]:
    """Return the table as Markdown, and whether every error is small that is not this machine's."""
    rows = []
    for seed in seeds:
        for link in LINKS:
            for one in measure(link, seed):
                said(f"{link} {one.direction}: {one.error:+.1%}{', machine busy' * one.bound_by_machine}")
                rows.append(one)
    return table(rows), all(abs(one.error) <= WITHIN or one.bound_by_machine for one in rows)


def table(rows: list[Known]) -> str:
    """Return the rows as Markdown."""
    lines = [
        "| link | direction | carries | measured | 95 % interval | error | processors |",
        "|---|---|---:|---:|---|---:|---|",
    ]
    lines += [
        f"| `{one.link}` | {one.direction} | {format_rate(one.true)} | {format_rate(one.found)}"
        f" | {format_rate(one.low)} to {format_rate(one.high)} | {one.error:+.1%}"
        f" | {'busy' if one.bound_by_machine else ''} |"
        for one in rows
    ]
    free = [one for one in rows if not one.bound_by_machine]
    within = sum(abs(one.error) <= WITHIN for one in rows)
    lines += [
        "",
        f"{len(rows)} measurements: {within} within {WITHIN:.0%}. In {len(rows) - len(free)} less than"
        " a tenth of the processors was idle; of the others"
        f" {sum(abs(one.error) <= WITHIN for one in free)} of {len(free)} are within.",
    ]
    return "\n".join(lines) + "\n"
