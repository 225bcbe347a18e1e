"""How often intervals hold the truth, tests cry wolf, and differences are found: on made data, as a table.

    python benchmarks/lab/check_statistics.py --out table.md

Data are lognormal, heavy-tailed (Student's t with three degrees of freedom), of two heaps, alike from one to
the next (AR(1), one half), and in cells (intra-class correlation one half), all on the logarithm.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import check_series
from generated_data import (
    KINDS,
    MEDIANS,
    NOISE,
    SIZES,
    Draw,
    Random,
    Row,
    alike,
    heavy,
    held as held_of,
    lognormal,
    share,
)
from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.statistics import Floats, Interval


def cells(random: Random, count: int, each: int, draw: Draw = lognormal) -> list[Floats]:
    """Return log values in cells with an intra-class correlation of one half."""
    own = random.standard_normal((count, 1))
    return list(NOISE * (own + draw(random, (count, each))) / math.sqrt(2))


def coverage(random: Random, draws: int) -> Iterator[Row]:
    """Yield how often intervals hold what they should."""

    def held(what: str, data: str, true: float, made: Callable[[], Interval], times: int = draws) -> Row:
        return held_of(what, data, lambda: (made(), true), times)

    for n in (6, 12, 20):
        for name, draw in KINDS.items():
            for treatments in (8, 1):
                yield held(
                    "median of replicates",
                    f"{name}, {_treatments(treatments)}, n = {n}",
                    math.exp(NOISE * MEDIANS[name]),
                    lambda n=n, draw=draw, count=treatments: (  # type: ignore[misc]
                        of_a_run(random, draw, (count, n))
                    ),
                )
            yield held(
                "ratio within a run",
                f"{name}, n = {n}",
                0.3,
                lambda n=n, draw=draw: st.hodges_lehmann(  # type: ignore[misc]
                    0.3 + np.subtract(*draw(random, (2, n)))
                ),
            )
            yield held(
                "ratio of two runs",
                f"{name}, n = {n}",
                0.3,
                lambda n=n, draw=draw: st.unpaired_shift(  # type: ignore[misc]
                    draw(random, (n,)), draw(random, (n,)) + 0.3
                ),
            )
        # No plan has fewer than three.
        for treatments in (8, 3):
            yield held(
                "median of replicates",
                f"each half of the one before, {_treatments(treatments)}, n = {n}",
                1.0,
                lambda n=n, count=treatments: of_a_run(random, alike, (count, n)),  # type: ignore[misc]
            )
        yield held(
            "ratio within a run",
            f"each replicate half of the one before, n = {n}",
            0.3,
            lambda n=n: _pairs_that_drift(random, n),  # type: ignore[misc]
        )
        for each in (12, 50):
            yield held(
                "median of transfers",
                f"{n} cells of {each}, half alike",
                0.0,
                lambda n=n, each=each: st.percentile_of_cells(cells(random, n, each), 0.5),  # type: ignore[misc]
                draws // 2,
            )
        yield held(
            "largest of ten ratios",
            f"lognormal, n = {n}",
            0.0,
            lambda n=n: _largest(random, n),  # type: ignore[misc]
        )
    for count, each in ((6, 50), (20, 50)):
        yield held(
            "p95 of transfers",
            f"{count} cells of {each}, not alike",
            1.6449,
            lambda count=count, each=each: st.percentile_of_cells(  # type: ignore[misc]
                list(lognormal(random, (count, each))), 0.95
            ),
            draws // 2,
        )
    yield held(
        "p95 of transfers",
        "80 cells of 20, half alike",
        NOISE * 1.6449,
        lambda: st.percentile_of_cells(cells(random, 80, 20), 0.95),
        draws // 4,
    )


def _treatments(count: int) -> str:
    return f"{count} treatments" if count > 1 else "one treatment"


def of_a_run(random: Random, draw: Draw, shape: tuple[int, int]) -> Interval:
    """Return the interval of the first treatment of a run, as the lab makes it: all of them tell how wide."""
    logs = NOISE * draw(random, shape)
    return st.widened(st.median_interval(np.exp(logs[0])), st.serial(logs).wider)


def _pairs_that_drift(random: Random, n: int) -> Interval:
    path = alike(random, (n,))
    return st.hodges_lehmann(0.3 + (path + lognormal(random, (n,))) - (path + lognormal(random, (n,))))


def _largest(random: Random, n: int) -> Interval:
    table = NOISE * random.standard_normal((10, n))
    return st.largest_of(table[np.argmax(np.median(table, axis=1))], 10)


def false_alarms(random: Random, draws: int) -> Iterator[Row]:
    """Yield how often something is said that is not so."""
    for name, draw in KINDS.items():
        yield share(
            "one of ten arms differs",
            f"{name}, n = 6",
            lambda draw=draw: any(_arms(random, draw)),  # type: ignore[misc]
            draws // 4,
        )
        yield share(
            "one of ten arms of two runs differs",
            f"{name}, n = 6",
            lambda draw=draw: any(_runs(random, draw)),  # type: ignore[misc]
            draws // 4,
        )
        yield share(
            "two methods cross",
            f"{name}, n = 6",
            lambda draw=draw: bool(  # type: ignore[misc]
                st.crossover(SIZES, draw(random, (8, 6)) - draw(random, (8, 6))).crossings
            ),
            draws // 4,
        )
    for spread in (0.05, 0.1, 0.2):
        yield share(
            "equivalent, at a true 10 %",
            f"noise of {spread:.0%}, n = 6",
            lambda spread=spread: (  # type: ignore[misc]
                st.compare(*np.exp(spread * random.standard_normal((2, 6)) + [[0.0], [0.0953]])).says
                == "equivalent"
            ),
            draws // 2,
        )
    for name, draw in {"lognormal": lognormal, "heavy-tailed": heavy}.items():
        yield share(
            "two modes",
            f"{name}, n = 100",
            lambda draw=draw: st.density(draw(random, (100,))).two_modes_likely,  # type: ignore[misc]
            draws // 8,
        )
    for name, draw in (KINDS | {"each half of the one before": alike}).items():
        for n in (30, 144):
            yield share(
                "a step or a drift",
                f"{name}, n = {n}",
                lambda n=n, draw=draw: (  # type: ignore[misc]
                    st.change_points(np.exp(NOISE * draw(random, (n,)))).says != "steady"
                ),
                draws // 10,
            )
    ramp = -0.7 * np.clip((np.arange(100) - 30) / 30, 0, 1)
    yield share(
        "a step",
        "a slide over 30 of 100",
        lambda: bool(st.change_points(np.exp(ramp + NOISE * lognormal(random, (100,)))).steps),
        draws // 20,
    )


def _arms(random: Random, draw: Draw, slow: float = 0.0) -> list[bool]:
    """Return for ten arms of one run whether they are said to differ from the baseline, run twice."""
    logs = NOISE * draw(random, (12, 6))
    logs[2] += slow
    found = [st.compare(*np.exp([logs[0], arm, logs[1]])) for arm in logs[2:]]
    q = st.benjamini_hochberg([one.p for one in found])
    return [st.verdict(one.shift, p) == "different" for one, p in zip(found, q, strict=True)]


def _runs(random: Random, draw: Draw, slow: float = 0.0) -> list[bool]:
    """Return the same for ten arms of two runs."""
    logs = NOISE * draw(random, (2, 10, 6))
    logs[1, 0] += slow
    found = [st.compare_unpaired(a, b) for a, b in zip(*np.exp(logs), strict=True)]
    q = st.benjamini_hochberg([one.p for one in found])
    return [st.verdict(one.shift, p) == "different" for one, p in zip(found, q, strict=True)]


def power(random: Random, draws: int) -> Iterator[Row]:
    """Yield how often what is so is found."""
    slow = math.log(0.7)
    noise = f"noise of {NOISE:.0%}"
    for what, found in (("one of ten arms, 30 % slower", _arms), ("the same between two runs", _runs)):
        times = draws // 4
        share = sum(found(random, lognormal, slow)[0] for _ in range(times)) / times
        yield Row(what, f"{noise}, n = 6", share, "found", times)
    step = np.where(np.arange(30) < 15, 0.0, math.log(0.5))
    times = draws // 10
    says = [st.change_points(np.exp(step + NOISE * lognormal(random, (30,)))).says for _ in range(times)]
    yield Row("a rate that halves", f"{noise}, n = 30", says.count("step") / times, "found", times)
    for n in (6, 12):
        at = math.log1p(st.detectable(n, NOISE))
        logs = at + NOISE * random.standard_normal((draws, n))
        seen = sum(st.compare(np.ones(n), np.exp(pairs)).says == "different" for pairs in logs)
        yield Row("a difference “missed half of the time”", f"{noise}, n = {n}", seen / draws, "found", draws)


def table(draws: int = 1000, seed: int = 1) -> list[Row]:
    """Return every line.

    Args:
        draws: For what is quick; slower ones get a part of it.
        seed: Of everything.
    """
    random = np.random.default_rng(seed)
    return [
        *coverage(random, draws),
        *check_series.coverage(random, draws),
        *false_alarms(random, draws),
        *check_series.false_alarms(random, draws),
        *power(random, draws),
        *check_series.power(random, draws),
    ]


def as_markdown(rows: list[Row]) -> str:
    """Return the lines as four tables."""
    heads = {
        "held": ("interval", "holds the truth"),
        "least": ("range of whole levels or transfers", "holds the truth"),
        "false": ("says wrongly", "how often"),
        "found": ("what is so", "found"),
    }
    lines: list[str] = []
    for kind, (first, last) in heads.items():
        lines += [f"| {first} | data | {last} | draws |", "|---|---|---:|---:|"]
        lines += [
            f"| {row.what} | {row.data} | {row.share:.1%} | {row.draws} |" for row in rows if row.kind == kind
        ]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    """Write the tables between their marks into a file, or print them."""
    parser = argparse.ArgumentParser(description="Coverage, false alarms and power on made data.")
    parser.add_argument("--out", type=Path, help="file with marks for the tables; default: print them")
    parser.add_argument("--draws", type=int, default=1000, help="of made data, where it is quick")
    arguments = parser.parse_args()
    text = as_markdown(table(arguments.draws))
    if arguments.out is None:
        sys.stdout.write(text)
        return 0
    head, _, rest = arguments.out.read_text(encoding="utf-8").partition("<!-- begin statistics -->\n")
    tail = rest.partition("<!-- end statistics -->")[2]
    marked = f"{head}<!-- begin statistics -->\n\n{text}\n<!-- end statistics -->{tail}"
    arguments.out.write_text(marked, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
