"""Measures links whose rate is known, and one thing against itself."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from haulage.lab.analysis.statistics import Comparison, Interval, compare, median_interval
from haulage.lab.ceiling.path import between
from haulage.lab.experiments.trial import PAYLOAD, Setting, run
from haulage.lab.target import start_emulator
from haulage.words.numbers import format_rate

KIB = 2**10
#: The links that are measured, in bits per second.
LINKS = (5_000_000, 50_000_000, 500_000_000)
#: How far the reported rate may lie from the true one.
WITHIN = 0.02
#: Runs in which the baseline may differ from itself: one of twenty, which is what 95 % means.
WRONG_OF_20 = 1
REPLICATES = 6


@dataclass(frozen=True)
class Measured:
    """A link as it was measured.

    Attributes:
        true_bits_per_second: Of the link.
        direction: ``"up"`` or ``"down"``.
        rate: Median of the rates reported, with its interval.
        goodput: The same of payload over the whole wall time.
    """

    true_bits_per_second: int
    direction: str
    rate: Interval
    goodput: Interval

    @property
    def error(self) -> float:
        """Reported over true, less one."""
        return (self.rate.value or 0.0) / self.true_bits_per_second - 1


def measure_link(
    bits_per_second: int, direction: str, folder: Path, *, replicates: int = REPLICATES
) -> Measured:
    """Measure a link of known rate.

    Args:
        bits_per_second: Of all connections together; the link is otherwise as good as this machine.
        direction: ``"up"`` or ``"down"``.
        folder: For files; in memory, so that no disk has a part in it.
        replicates: Transfers of about a second each.
    """
    # Headers travel too, about 700 bytes with each block: a hundredth of the smallest.
    block = max(64 * KIB, min(512 * KIB, bits_per_second // 8 // 40))
    size = max(bits_per_second * 3 // 2 // 8 // block, 32) * block
    rates, goodputs = [], []
    endpoint = start_emulator(store="null", link=f"total={bits_per_second // 1000 / 1000:g}mbit")
    try:
        for number in range(replicates):
            # One seed: the same file up, then down again from the same name.
            up = Setting(1, size, 8, block, memory=True)
            down = Setting(1, size, 8, block, memory=True, direction="down")
            if direction == "down" and number == 0:
                run(up, endpoint, folder, folder / "offered.parquet")
            seen = run(up if direction == "up" else down, endpoint, folder, folder / f"{number}.parquet")
            rates.append(_steady(Path(seen.record)))
            goodputs.append(8e9 * seen.bytes / seen.wall_ns)
    finally:
        endpoint.close()
    return Measured(bits_per_second, direction, median_interval(rates), median_interval(goodputs))


def _steady(record: Path) -> float:
    """Return what the lab reports as the rate of a path: bytes in the middle of a transfer over its time."""
    with duckdb.connect() as database:
        pieces = database.execute(
            f"""select slot_ns::bigint, ended_ns::bigint, size_bytes::bigint from read_parquet(?)
            where fate = 'ok' and api in {PAYLOAD}""",
            [str(record)],
        ).fetchall()
    return _steady_rate(pieces)


def _steady_rate(pieces: Sequence[tuple[int, int, int]]) -> float:
    """Return bits per second in the middle of a transfer."""
    ends = sorted(end for _, end, _ in pieces)
    return between(pieces, ends[len(ends) // 10], ends[len(ends) * 9 // 10])


def against_itself(seed: int, folder: Path, *, replicates: int = REPLICATES) -> Comparison:
    """Run the same transfer twice in each replicate, in an order that the seed decides, and compare."""
    draw = random.Random(seed)
    link = f"rtt={draw.randint(1, 6)}ms,total={draw.randint(60, 200)}mbit"
    setting = Setting(draw.randint(8, 16), 256 * KIB, draw.randint(1, 4), 256 * KIB, memory=True, seed=seed)
    rates: dict[str, list[float]] = {"first": [], "second": []}
    endpoint = start_emulator(store="null", link=link)
    try:
        run(setting, endpoint, folder, folder / "warm-up.parquet")
        for number in range(replicates):
            order = list(rates)
            draw.shuffle(order)
            for name in order:
                seen = run(setting, endpoint, folder, folder / f"{name}-{number}.parquet")
                rates[name].append(8e9 * seen.bytes / seen.wall_ns)
    finally:
        endpoint.close()
    return compare(rates["first"], rates["second"])


def make(build: Path, seeds: int, said: Callable[[str], object]) -> tuple[str, bool]:
    """Return both tables as Markdown, and whether they are as good as they have to be."""
    memory = Path("/dev/shm")
    links, compared = [], []
    for rate in LINKS:
        for direction in ("up", "down"):
            with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else build) as folder:
                links.append(measure_link(rate, direction, Path(folder)))
            said(f"{format_rate(rate)} {direction}: {links[-1].error:+.2%}")
    for seed in range(seeds):
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else build) as folder:
            compared.append(against_itself(seed, Path(folder)))
        said(f"A/A {seed}: {compared[-1].says}, {compared[-1].ratio.value or 0:.4f}, p {compared[-1].p:.3f}")
    return _text(links, compared), _good(links, compared)


def _good(links: list[Measured], compared: list[Comparison]) -> bool:
    wrong = sum(one.says == "different" for one in compared)
    return all(abs(one.error) <= WITHIN for one in links) and wrong <= WRONG_OF_20 * max(
        1, len(compared) // 20
    )


def _text(links: list[Measured], compared: list[Comparison]) -> str:
    lines = [
        "| link | direction | reported | 97 % interval | error | goodput over wall time | n |",
        "|---|---|---:|---|---:|---:|---:|",
    ]
    for one in links:
        low, high = one.rate.low, one.rate.high
        bounds = "" if low is None or high is None else f"{format_rate(low)} to {format_rate(high)}"
        lines.append(
            f"| {format_rate(one.true_bits_per_second)} | {one.direction}"
            f" | {format_rate(one.rate.value or 0)} |"
            f" {bounds} | {one.error:+.2%} | {format_rate(one.goodput.value or 0)} | {one.rate.n} |"
        )
    wrong = sum(one.says == "different" for one in compared)
    below = sum(one.p < 0.05 for one in compared)
    farthest = max((abs((one.ratio.value or 1) - 1) for one in compared), default=0.0)
    lines += [
        "",
        f"The same against itself: a difference in {wrong} of {len(compared)} runs of {REPLICATES} pairs."
        f" The permutation test alone was below 0.05 in {below}; the farthest ratio lay {farthest:.2%} off.",
    ]
    return "\n".join(lines) + "\n"
