"""Made data of known truth, and how often what is said of them is right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import signal

from haulage.lab.analysis.statistics import Floats, Interval

Random: TypeAlias = np.random.Generator
Draw: TypeAlias = Callable[[Random, tuple[int, ...]], Floats]
#: Noise of a rate, as the standard deviation of its logarithm.
NOISE = 0.07
SIZES = tuple(50e3 * 2.0**k for k in range(8))


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes:
        what: Is printed by the lab.
        data: It was tried on.
        share: Of the draws in which it happened.
        kind: ``"held"``, ``"least"``, ``"false"`` or ``"found"``.
        draws: Of made data.
    """

    what: str
    data: str
    share: float
    kind: str
    draws: int


def lognormal(random: Random, shape: tuple[int, ...]) -> Floats:
    """Return logarithms of unit spread, normal."""
    return random.standard_normal(shape)


def heavy(random: Random, shape: tuple[int, ...]) -> Floats:
    """Return heavy-tailed ones."""
    return np.asarray(random.standard_t(3, shape) / math.sqrt(3))


def bimodal(random: Random, shape: tuple[int, ...]) -> Floats:
    """Return ones of two heaps, four in ten in the upper."""
    return np.asarray(2 * (random.random(shape) < 0.4) + 0.2 * random.standard_normal(shape))


def alike(random: Random, shape: tuple[int, ...]) -> Floats:
    """Return ones of which each is half of the one before."""
    fresh = random.standard_normal((*shape[:-1], shape[-1] + 50))
    return np.asarray(signal.lfilter([math.sqrt(0.75)], [1.0, -0.5], fresh, axis=-1)[..., 50:])


KINDS: dict[str, Draw] = {"lognormal": lognormal, "heavy-tailed": heavy, "two heaps": bimodal}
#: Median of each kind: that of two heaps lies in the lower one, with 1/1.2 of it below.
MEDIANS = {"lognormal": 0.0, "heavy-tailed": 0.0, "two heaps": 0.2 * 0.9674}


def held(
    what: str, data: str, made: Callable[[], tuple[Interval, float]], times: int, kind: str = "held"
) -> Row:
    """Return how often an interval holds the truth that is made with it, of those that there are."""
    found = [made() for _ in range(times)]
    known = [(one.low, true, one.high) for one, true in found if one.low is not None and one.high is not None]
    inside = sum(low <= true <= high for low, true, high in known)
    return Row(what, data, inside / max(len(known), 1), kind, len(known))


def share(what: str, data: str, said: Callable[[], bool], times: int, kind: str = "false") -> Row:
    """Return how often something is said."""
    return Row(what, data, sum(said() for _ in range(times)) / times, kind, times)
