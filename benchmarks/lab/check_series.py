"""How often crossings, knees, dates of steps, serial correlation and faults are said rightly."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from generated_data import (
    KINDS,
    NOISE,
    SIZES,
    Draw,
    Random,
    Row,
    alike,
    bimodal,
    heavy,
    held,
    lognormal,
    share,
)
from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.statistics import Floats, Interval
from haulage.lab.topics.collapse import rows as collapse

TAILS: dict[str, Draw] = {"lognormal": lognormal, "heavy-tailed": heavy}
#: Requests in flight, and what they give where the rate stops at 8, and where 8 give just enough.
LEVELS = (1, 2, 4, 8, 16, 32, 64)
STOPS = (1 / 8, 1 / 4, 1 / 2, 1, 1, 1, 1)
JUST = (0.1, 0.4, 0.8, 0.9501, 1, 1, 1)
#: Parts of a job, and how many are in flight.
PARTS, FLYING = 40, 4
#: Name, client and path of each place.
UNNAMED = ("none", "undetermined")
PLACES = (("here", "one", "first"), ("beside", "one", "second"), ("another", "two", "first"))


def coverage(random: Random, draws: int) -> Iterator[Row]:
    """Yield how often intervals and ranges hold what they should."""
    for n in (6, 12, 20):
        for name, draw in TAILS.items():
            data = f"{name}, n = {n}"
            yield held(
                "crossover",
                data,
                lambda n=n, draw=draw: crossing(random, draw, n),  # type: ignore[misc]
                draws // 4,
            )
            yield held(
                "knee, of which the level gives just enough",
                data,
                lambda n=n, draw=draw: (knee(random, draw, n, JUST), 8.0),  # type: ignore[misc]
                draws,
            )
            yield held(
                "knee of a rate that stops rising",
                data,
                lambda n=n, draw=draw: (knee(random, draw, n, STOPS), 8.0),  # type: ignore[misc]
                draws // 4,
                "least",
            )
    for n in (30, 144):
        for name, draw in (KINDS | {"each half of the one before": alike}).items():
            yield held(
                "date of a step of 2.5 times the noise",
                f"{name}, n = {n}",
                lambda n=n, draw=draw: dated(random, draw, n, 2.5 * NOISE),  # type: ignore[misc]
                draws // 5,
                # The heaps lie further apart than the step: dates are whole, and few of them are near.
                "least" if draw is bimodal else "held",
            )
    for n in (12, 20, 30):
        yield held(
            "date of a rate that halves",
            f"lognormal, n = {n}",
            lambda n=n: dated(random, lognormal, n, math.log(2)),  # type: ignore[misc]
            draws // 10,
            "least",
        )


def crossing(random: Random, draw: Draw, n: int) -> tuple[Interval, float]:
    """Return a crossover and where it is."""
    true = math.sqrt(200e3 * 400e3) * 1.2
    table = [0.5 * math.log(size / true) + 0.15 * draw(random, (n,)) for size in SIZES]
    found = st.crossover(SIZES, table).crossings
    return found[0] if len(found) == 1 else Interval(None, None, None, n, st.LEVEL, ""), true


def knee(random: Random, draw: Draw, n: int, curve: tuple[float, ...]) -> Interval:
    """Return the knee of rates that follow a curve; one without an upper bound has the last level."""
    noise = np.exp(NOISE * draw(random, (len(curve), n)))
    rates = (rate * own for rate, own in zip(curve, noise, strict=True))
    found = st.knee(dict(zip(map(float, LEVELS), rates, strict=True)))
    return found if found.bounded else Interval(None, found.low, LEVELS[-1], n, st.LEVEL, found.method)


def dated(random: Random, draw: Draw, n: int, fall: float) -> tuple[Interval, float]:
    """Return the date of a single step and its true one; no interval where one step was not found."""
    at = int(random.integers(n // 4, 3 * n // 4 + 1))
    steps = st.change_points(np.exp(NOISE * draw(random, (n,)) - fall * (np.arange(n) >= at))).steps
    if len(steps) != 1:
        return Interval(None, None, None, n, st.LEVEL, ""), at
    return Interval(steps[0].index, steps[0].low, steps[0].high, n, st.LEVEL, ""), at


def false_alarms(random: Random, draws: int) -> Iterator[Row]:
    """Yield how often something is said that is not so."""
    for n in (6, 12, 20):
        for name, draw in KINDS.items():
            yield share(
                "replicates are alike one after the other",
                f"{name}, n = {n}",
                lambda n=n, draw=draw: st.serial(draw(random, (n,))).shown,  # type: ignore[misc]
                draws,
            )
        yield share(
            "a knee, where the rate still rises",
            f"lognormal, n = {n}",
            lambda n=n: knee(random, lognormal, n, LEVELS).value is not None,  # type: ignore[misc]
            draws // 4,
        )
    steady = np.zeros(PARTS)
    slides = {parts: -np.clip((np.arange(PARTS) - 8) / parts, 0, 1) for parts in (12, 24)}
    for name, draw in (TAILS | {"each half of the one before": alike}).items():
        yield share(
            "a step along a job that is steady",
            f"{name}, {FLYING} of {PARTS} parts in flight",
            lambda draw=draw: _steps(random, draw, steady),  # type: ignore[misc]
            draws // 5,
        )
        for parts, slide in slides.items():
            yield share(
                "a step along a job that slides",
                f"{name}, over {parts} of {PARTS} parts",
                lambda draw=draw, slide=slide: _steps(random, draw, slide),  # type: ignore[misc]
                draws // 5,
            )
        yield share(
            "someone's fault, where no link fell",
            f"{name}, noise of 20%, three places",
            lambda draw=draw: fault(random, draw, 0.2, {}) not in UNNAMED,  # type: ignore[misc]
            draws // 20,
        )
    yield share(
        "another's fault, where a path fell to half",
        "lognormal, three places",
        lambda: fault(random, lognormal, NOISE, {"first": 0.5}) not in ("path", *UNNAMED),
        draws // 20,
    )


def _steps(random: Random, draw: Draw, logs: Floats) -> bool:
    rate = np.exp(smeared(logs) + NOISE * draw(random, (PARTS,)))
    return "step" in st.change_points(collapse.sharpened(rate, FLYING)).says


def smeared(logs: Floats) -> Floats:
    """Return the level that each part sees that is in flight together with those after it."""
    padded = np.concatenate([logs, np.repeat(logs[-1:], FLYING - 1)])
    return np.asarray(np.convolve(padded, np.full(FLYING, 1 / FLYING), "valid"))


def fault(random: Random, draw: Draw, noise: float, falls: dict[str, float]) -> str:
    """Return whose fault is reported, where clients or paths fall by these factors at one moment."""
    frames = []
    for number, (name, client, path) in enumerate(PLACES):
        fall = math.log(falls.get(client, 1.0) * falls.get(path, 1.0))
        logs = smeared(np.where(np.arange(PARTS) < 15, 0.0, fall)) + noise * draw(random, (PARTS,))
        place = {
            "direction": "up",
            "treatment": f"blocks @{name}",
            "files": "a",
            "replicate": 0,
            "cell": number,
        }
        part = {"part": np.arange(PARTS), "size_bytes": 1.0, "most_in_flight_bytes": float(FLYING)}
        where = {"node": name, "client_side": client, "path": path, "lost_in_cell": 0}
        frames.append(pd.DataFrame(place | part | where | {"rate_bits_per_second": np.exp(logs)}))
    return str(collapse.places(pd.concat(frames, ignore_index=True))["fault"].iloc[0])


def power(random: Random, draws: int) -> Iterator[Row]:
    """Yield how often what is so is found."""
    two = 0.5 * np.array([-1, -1, -1, 1, 1, -1, -1, -1])[:, None]
    for name, draw in TAILS.items():
        yield share(
            "two crossings",
            f"{name}, n = 6",
            lambda draw=draw: (  # type: ignore[misc]
                len(st.crossover(SIZES, list(two + 0.15 * draw(random, (8, 6)))).crossings) == 2
            ),
            draws // 8,
            "found",
        )
    for n in (6, 12, 20):
        for treatments in (1, 8):
            yield share(
                "replicates that are each half of the one before",
                f"{treatments} treatment{'s' * (treatments > 1)}, n = {n}",
                lambda n=n, treatments=treatments: (  # type: ignore[misc]
                    st.serial(alike(random, (treatments, n))).shown
                ),
                draws // 4,
                "found",
            )
    step = np.where(np.arange(PARTS) < 15, 0.0, math.log(0.5))
    for name, draw in TAILS.items():
        yield share(
            "a job whose rate halves",
            f"{name}, {FLYING} of {PARTS} parts in flight",
            lambda draw=draw: _steps(random, draw, step),  # type: ignore[misc]
            draws // 10,
            "found",
        )
    for name, data, falls, says in (
        ("the path's fault", "a rate that halves", {"first": 0.5}, "path"),
        ("the path's fault", "a rate that falls to a quarter", {"first": 0.25}, "path"),
        ("the client's fault", "a rate that falls to a quarter", {"one": 0.25}, "client"),
        ("the service's fault", "a rate that falls to a quarter", {"first": 0.25, "second": 0.25}, "service"),
    ):
        yield share(
            name,
            f"{data}, three places",
            lambda falls=falls, says=says: fault(random, lognormal, NOISE, falls) == says,  # type: ignore[misc]
            draws // 20,
            "found",
        )
