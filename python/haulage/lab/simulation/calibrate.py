"""Takes the numbers of the simulation from runs of a few nodes, and holds it against those of more."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize

from haulage.lab.simulation.model import Load, Nodes, Outcome, Request, Service, mean_of, simulate

#: Nodes up to which measured cells calibrate; the others only judge.
CALIBRATES = 4
#: What is predicted where nothing else is asked.
PREDICTED = (20, 100)
#: Runs of chance of which the middle one is taken.
_SEEDS = 5
#: A service that would carry so many times what was seen shows nothing of its bound.
_UNSEEN = 1.02
#: Where the last nodes still bring more than so much of what they would alone, no bound holds them.
_STILL_GROWS = 0.5
#: A bound is looked for between so many times the highest rate seen; one this near to an edge was not found.
_LEAST, _MOST, _EDGE = 0.9, 1.3, 0.01
#: A bound has to take away this much of what is off without one.
_BETTER = 0.5
_NO_BOUND = 1e15


@dataclass(frozen=True)
class Calibrated:
    """A simulation of one direction and arm, with what it was made from.

    Attributes:
        nodes: One of them; the count is replaced.
        load: Of each.
        service: Its bound, infinite where the nodes that calibrate did not reach it.
        up: The direction.
        measured: Median rates by number of nodes: until the last had ended, while all were active.
    """

    nodes: Nodes
    load: Load
    service: Service
    up: bool
    measured: dict[int, tuple[float, float]]

    @property
    def bound_seen(self) -> bool:
        """Whether the nodes that calibrate have reached the bound of the service."""
        return math.isfinite(self.service.bits_per_second)

    def outcome(self, count: int) -> Outcome:
        """Return what so many nodes come to."""
        seeds = _SEEDS if self.nodes.spread > 0 and count > 1 else 1
        # One alone is what the link was taken from: it is not by chance quicker or slower than itself.
        wanted = replace(self.nodes, count=count, spread=self.nodes.spread if count > 1 else 0.0)
        return mean_of(
            [simulate(wanted, self.load, self.service, up=self.up, seed=seed) for seed in range(seeds)]
        )

    def rates(self, count: int) -> tuple[float, float]:
        """Return the two rates of so many nodes, as ``measured`` has them."""
        found = self.outcome(count)
        return found.bits_per_second, found.all_active_bits_per_second


def calibrate(rows: pd.DataFrame, *, service: Service | None = None) -> Calibrated | None:
    """Make the simulation of one direction and arm.

    The link of a node is that with which one node takes as long as it was measured to; the bound of the
    service the one with which two, three and four do best. Latency, lanes and requests come from the record.

    Args:
        rows: Of ``scale_model``, one direction and arm.
        service: Limits that are known, such as those of an account; default found here.

    Returns:
        The simulation; ``None`` where there is no node alone, or nothing besides.
    """
    requests = rows[rows["kind"] == "request"]
    cells = rows[rows["kind"] == "cell"]
    measured = {
        int(count): (float(part["value"].median()), float(part["other"].median()))
        for count, part in cells.groupby("node_count")
    }
    if requests.empty or 1 not in measured:
        return None
    load = Load(
        tuple(_file(part["value"]) for _, part in requests.groupby("number")), int(_one(rows, "lanes", 1))
    )
    nodes = Nodes(
        1, 1e9, _one(rows, "latency", 0) / 1e9, _one(rows, "start", 0) / 1e9, _one(rows, "spread", 0)
    )
    up = str(rows["direction"].iloc[0]) == "up"
    made = Calibrated(_with_link(nodes, load, measured[1][0], up), load, Service(), up, measured)
    return replace(made, service=service) if service is not None else replace(made, service=_bound(made))


def _one(rows: pd.DataFrame, kind: str, default: float) -> float:
    found = rows[rows["kind"] == kind]["value"].dropna()
    return float(found.iloc[0]) if len(found) else default


def _file(sizes: Iterable[float]) -> tuple[Request, ...]:
    """Return the requests of a file; one without a body comes last, and commits what was sent before."""
    bodies = [Request(float(size)) for size in sizes if size > 0]
    empty = sum(1 for size in sizes if size <= 0)
    return (*bodies, Request(0.0, commits=True)) if empty else tuple(bodies)


def _with_link(nodes: Nodes, load: Load, rate: float, up: bool) -> Nodes:
    """Return the node whose link makes one alone as fast as it was."""

    def off(log_link: float) -> float:
        alone = replace(nodes, link_bits_per_second=math.exp(log_link), spread=0.0)
        return simulate(alone, load, Service(), up=up).bits_per_second / rate - 1

    low, high = math.log(rate * 0.98), math.log(rate * 64)
    if off(low) > 0 or off(high) < 0:
        # Nothing but latency holds it: any link will do.
        return replace(nodes, link_bits_per_second=math.exp(high if off(high) < 0 else low))
    return replace(nodes, link_bits_per_second=math.exp(optimize.brentq(off, low, high, xtol=1e-4)))


def _bound(made: Calibrated) -> Service:
    """Return the service whose bound fits the nodes that calibrate; without one if they did not reach it."""
    counts = [count for count in made.measured if 1 < count <= CALIBRATES]
    if not counts:
        return Service()
    unbounded = {count: made.rates(count)[0] for count in counts}
    if all(made.measured[count][0] * _UNSEEN > unbounded[count] for count in counts):
        return Service()
    *_, before, last = sorted({1, *counts})
    growth = made.measured[last][0] / made.measured[before][0]
    if growth >= 1 + _STILL_GROWS * (last / before - 1):
        return Service()
    most = max(max(made.measured[count]) for count in counts)

    def off(log_bound: float) -> float:
        tried = replace(made, service=Service(math.exp(log_bound)), nodes=replace(made.nodes, spread=0.0))
        return sum(
            math.log(tried.rates(count)[which] / made.measured[count][which]) ** 2
            for count in counts
            for which in (0, 1)
        )

    low, high = math.log(most * _LEAST), math.log(most * _MOST)
    found = optimize.minimize_scalar(off, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    at = float(found.x)
    if not low + _EDGE < at < high - _EDGE or off(at) >= _BETTER * off(math.log(_NO_BOUND)):
        # Something else made them slower, and a bound would hold all predictions down.
        return Service()
    return Service(math.exp(at))


def compared(made: Calibrated, predicted: Sequence[int] = PREDICTED) -> list[dict[str, Any]]:
    """Return the two rates of every number of nodes, simulated beside measured.

    Beside the errors of the simulation stand those of the simplest rule: that more nodes than calibrate bring
    no more than the most that do.
    """
    rows: list[dict[str, Any]] = []
    flat = made.measured[max(count for count in made.measured if count <= CALIBRATES)]
    for count in sorted({*made.measured, *predicted}):
        simulated, measured = made.rates(count), made.measured.get(count)
        role = "predicted" if measured is None else "calibrates" if count <= CALIBRATES else "judges"
        errors, of_flat = _errors(simulated, measured), _errors(flat, measured)
        alone = made.measured[1][0]
        rows.append(
            {
                "node_count": count,
                "role": role,
                "simulated_bits_per_second": simulated[0],
                "measured_bits_per_second": None if measured is None else measured[0],
                "error": errors[0],
                "simulated_all_active_bits_per_second": simulated[1],
                "measured_all_active_bits_per_second": None if measured is None else measured[1],
                "error_all_active": errors[1],
                "flat_error": of_flat[0] if role == "judges" else None,
                "flat_error_all_active": of_flat[1] if role == "judges" else None,
                "simulated_share_of_linear": simulated[0] / (count * alone),
                "link_bits_per_second": made.nodes.link_bits_per_second,
                "bound_bits_per_second": made.service.bits_per_second if made.bound_seen else None,
                "latency_ns": int(made.nodes.latency_s * 1e9),
                "spread_log": made.nodes.spread,
            }
        )
    return rows


def _errors(
    expected: tuple[float, float], measured: tuple[float, float] | None
) -> tuple[float | None, float | None]:
    return (
        (None, None) if measured is None else (expected[0] / measured[0] - 1, expected[1] / measured[1] - 1)
    )


def mean_error(rows: pd.DataFrame, *, flat: bool = False) -> float | None:
    """Return the mean of the errors, without their signs, over the numbers of nodes that only judge.

    Args:
        rows: Of ``compared``.
        flat: Those of the rule that more nodes bring no more than the most that calibrate.
    """
    judged = rows[rows["role"] == "judges"]
    first = "flat_error" if flat else "error"
    errors = np.abs(judged[[first, f"{first}_all_active"]].to_numpy(dtype=float))
    return float(errors.mean()) if errors.size else None
