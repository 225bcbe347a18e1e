"""How the rate grows with the number of nodes: four models compared by AICc, and where linear growth ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, stats

from haulage.lab.analysis.statistics.interval import LEVEL, Floats, Interval

#: Different numbers of nodes below which no model is chosen: the largest has three parameters.
COUNTS_NEED = 4
#: Replicates that an interval over them needs; with two the t distribution has no middle.
REPLICATES_NEED = 3
#: Linear growth has ended where the rate is lower than that of so many times one by this share.
ENDS = 0.05
#: A model is named where no other comes nearer to it than this.
CLEAR = 2.0
#: Rates are not known better than to this share, whatever the residuals say.
_LEAST_NOISE = 1e-4
_FAR = 1e6

LINEAR, CAPPED, AMDAHL, USL = "linear", "capped", "Amdahl", "USL"


def _linear(n: Floats, p: Mapping[str, float]) -> Floats:
    return p["log_one"] + np.log(n)


def _capped(n: Floats, p: Mapping[str, float]) -> Floats:
    return np.minimum(_linear(n, p), p["log_cap"])


def _amdahl(n: Floats, p: Mapping[str, float]) -> Floats:
    return _linear(n, p) - np.log1p(p["serial"] * (n - 1))


def _usl(n: Floats, p: Mapping[str, float]) -> Floats:
    return _linear(n, p) - np.log1p(p["serial"] * (n - 1) + p["crosstalk"] * n * (n - 1))


#: Each model gives the logarithm of the rate: noise of rates is a share of them.
MODELS: Mapping[str, tuple[Callable[[Floats, Mapping[str, float]], Floats], tuple[str, ...]]] = {
    LINEAR: (_linear, ("log_one",)),
    CAPPED: (_capped, ("log_one", "log_cap")),
    AMDAHL: (_amdahl, ("log_one", "serial")),
    USL: (_usl, ("log_one", "serial", "crosstalk")),
}


@dataclass(frozen=True)
class Fit:
    """A model and how well it holds.

    Attributes:
        model: One of :data:`MODELS`.
        one: Rate of one node.
        cap: Rate that all together do not exceed; ``None`` where the model has none within reach.
        serial: Share of the work that only one node can do at a time.
        crosstalk: What each pair of nodes costs.
        linear_until: Nodes at which the rate falls behind so many times one; ``None`` if not in reach.
        aicc: Akaike's criterion for few observations; lower is better.
        weight: Share of the evidence, over all models.
        spread: Standard deviation of the log residuals.
        n: Observations.
    """

    model: str
    one: float
    cap: float | None
    serial: float | None
    crosstalk: float | None
    linear_until: float | None
    aicc: float
    weight: float
    spread: float
    n: int

    def rate(self, nodes: float) -> float:
        """Return the rate of so many nodes."""
        values = {
            "log_one": math.log(self.one),
            "log_cap": math.log(self.cap) if self.cap else math.inf,
            "serial": self.serial or 0.0,
            "crosstalk": self.crosstalk or 0.0,
        }
        return float(np.exp(MODELS[self.model][0](np.array([float(nodes)]), values)[0]))


def fit_all(nodes: Sequence[float], rates: Sequence[float]) -> list[Fit]:
    """Fit every model to rates by number of nodes; the best first, none where there are too few numbers.

    >>> best = fit_all([1, 2, 3, 4, 6, 8] * 2, [30, 60, 80, 80, 80, 80, 30, 60.1, 80, 80, 80.1, 80])[0]
    >>> best.model, round(best.cap), round(best.linear_until, 1)
    ('capped', 80, 2.7)
    """
    n, y = np.asarray(nodes, dtype=float), np.asarray(rates, dtype=float)
    good = np.isfinite(n) & np.isfinite(y) & (y > 0)
    n, logs = n[good], np.log(y[good])
    if len(np.unique(n)) < COUNTS_NEED:
        return []
    fits = [_fit(model, n, logs) for model in MODELS]
    least = min(fit.aicc for fit in fits)
    shares = [math.exp(-(fit.aicc - least) / 2) for fit in fits]
    weighed = [replace(fit, weight=share / sum(shares)) for fit, share in zip(fits, shares, strict=True)]
    return sorted(weighed, key=lambda fit: fit.aicc)


def _fit(model: str, n: Floats, logs: Floats) -> Fit:
    law, names = MODELS[model]
    one = float(np.median(logs[n == n.min()] - math.log(n.min())))
    top = float(np.max([np.median(logs[n == count]) for count in np.unique(n)]))
    start = {
        "log_one": (one, -np.inf),
        "log_cap": (top, -np.inf),
        "serial": (0.05, 0.0),
        "crosstalk": (1e-3, 0.0),
    }
    first, least = zip(*(start[name] for name in names), strict=True)

    def away(at: Floats) -> Floats:
        return law(n, dict(zip(names, at, strict=True))) - logs

    found = optimize.least_squares(away, first, bounds=(least, np.inf))
    values = dict(zip(names, map(float, found.x), strict=True))
    count, free = len(logs), len(names) + 1
    variance = max(float((found.fun**2).mean()), _LEAST_NOISE**2)
    rest = count - free - 1
    aicc = count * math.log(variance) + 2 * free + (2 * free * (free + 1) / rest if rest > 0 else math.inf)
    cap = math.exp(values["log_cap"]) if "log_cap" in values else _peak(model, values)
    made = Fit(
        model,
        math.exp(values["log_one"]),
        # A cap above all that was seen is none.
        None if cap is None or cap >= math.exp(values["log_one"]) * n.max() * (1 - 1e-6) else cap,
        values.get("serial"),
        values.get("crosstalk"),
        None,
        aicc,
        0.0,
        math.sqrt(variance),
        count,
    )
    return replace(made, linear_until=_linear_until(made, float(n.max())))


def _peak(model: str, values: Mapping[str, float]) -> float | None:
    """Return the rate that a model never exceeds, however many nodes there are."""
    serial, crosstalk = values.get("serial", 0.0), values.get("crosstalk", 0.0)
    if model == AMDAHL and serial > 0:
        return math.exp(values["log_one"]) / serial
    if model == USL and crosstalk > 0:
        most = math.sqrt(max(0.0, 1 - serial) / crosstalk)
        return float(np.exp(_usl(np.array([max(1.0, most)]), values)[0]))
    return None


def _linear_until(fit: Fit, most: float) -> float | None:
    if fit.model == LINEAR:
        return None
    if fit.model == CAPPED:
        return None if fit.cap is None else fit.cap / fit.one

    def behind(nodes: float) -> float:
        return fit.rate(nodes) / (nodes * fit.one) - (1 - ENDS)

    return None if behind(most) > 0 else float(optimize.brentq(behind, 1.0, most))


@dataclass(frozen=True)
class Ends:
    """The cap, and the number of nodes at which linear growth ends, with their intervals."""

    cap: Interval
    linear_until: Interval
    one: Interval


def ends(
    best: Fit, nodes: Sequence[float], rates: Sequence[float], replicates: Sequence[int], level: float = LEVEL
) -> Ends:
    """Return cap and end of linear growth of a model, bounded over replicates.

    Each replicate, which holds every number of nodes once, is fitted by itself: what cells of one replicate
    have in common is then no evidence twice over. The interval is Student's on logarithms.
    """
    n, y, groups = np.asarray(nodes, float), np.asarray(rates, float), np.asarray(replicates)
    own = []
    for replicate in np.unique(groups):
        mine = groups == replicate
        if len(np.unique(n[mine])) >= COUNTS_NEED:
            own.append(_fit(best.model, n[mine], np.log(y[mine])))
    return Ends(
        _bounded(best.cap, [fit.cap for fit in own], level),
        _bounded(best.linear_until, [fit.linear_until for fit in own], level),
        _bounded(best.one, [fit.one for fit in own], level),
    )


def _bounded(value: float | None, own: Sequence[float | None], level: float) -> Interval:
    method = "fits of single replicates, t interval of logarithms"
    known = [one for one in own if one is not None and 0 < one < _FAR * (value or 1.0)]
    if value is None or len(known) < max(REPLICATES_NEED, math.ceil(0.8 * len(own))):
        note = (
            "not in reach" if value is None else f"n too small: {len(known)} of {REPLICATES_NEED} replicates"
        )
        return Interval(value, None, None, len(known), level, method, note)
    logs = np.log(known)
    half = float(stats.t.ppf((1 + level) / 2, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs)))
    # Around the fit to all, which is not quite the mean of the single ones.
    low, high = math.exp(logs.mean() - half), math.exp(logs.mean() + half)
    return Interval(value, min(low, value), max(high, value), len(known), level, method)
