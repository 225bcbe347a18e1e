"""What the path carries at most: connections that always have work, from memory to a sink that discards.

A round opens its connections anew, gives each one long request, and counts what the kernel says they
have carried (:mod:`haulage.lab.sockets`) from when they have begun until the first has no work left. How
many connections are "many" is found first: four times as many for as long as that pays. Rounds with one
connection and rounds with many alternate, and those of the better way give the rate and its interval.
"""

from __future__ import annotations

import math
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import psutil
from scipy import stats

import haulage
from haulage.lab.generate import generate
from haulage.lab.plan import Plan
from haulage.lab.sockets import Counters, weighted_rate
from haulage.lab.target import Endpoint, Target
from haulage.transfer import Job, Options

#: Rounds with many connections, and with one between them.
ROUNDS, ROUNDS_OF_ONE = 5, 2
#: As long as they disagree by more than this to each side, as on a busy machine, there are more of them.
NARROW, MOST_ROUNDS = 1.03, 12
#: Four times the connections must give so much more for a further step.
PAYS = 1.15
#: Seconds that are counted, at least and at most.
LEAST_S, MOST_S = 0.15, 4.0
#: A receiver that is slow opens its window by up to 190 KB at a time; a round is to see four such
#: steps of each connection. What arrives here comes evenly.
STEPS_BITS = {"up": 4 * 190e3 * 8, "down": 2e6}
#: Seconds before it that are not counted: connections open and buffers fill.
RAMP_S, RAMP_TRIPS = 0.15, 3.0
#: Of one object, and of what one round moves.
LEAST_BYTES, MOST_BYTES, ROUND_BYTES = 256 << 10, 64 << 20, 1 << 30
#: Rounds cannot show what they all have in common: headers, clocks.
SYSTEMATIC = 0.01
#: So often a round is repeated that was too short for what it found.
_GUESSES = 5
#: Processors that are less idle than this have set the rate, not the path.
MACHINE_IDLE = 0.1
LEVEL = 0.95
_SOURCE = "mem://lab-ceiling/source"
_SINK = "mem://lab-ceiling/sink"


@dataclass(frozen=True)
class Round:
    """One round, as it is kept in the manifest.

    Attributes:
        direction: ``"up"`` or ``"down"``.
        connections: Asked for.
        opened: That moved bytes, by the kernel's count.
        counted_by: ``"kernel"`` (TCP_INFO of each connection) or ``"requests"`` (those that were answered).
        began_unix_ns: Of the time that is counted.
        window_ns: That time.
        bits_per_second: Rate in it.
        cpu_idle_share: Of all processors meanwhile.
        purpose: ``"search"`` for the number of connections, ``"estimate"``, ``"check"``, or ``"too short"``
            to be counted.
    """

    direction: str
    connections: int
    opened: int
    counted_by: str
    began_unix_ns: int
    window_ns: int
    bits_per_second: float
    cpu_idle_share: float
    purpose: str


@dataclass(frozen=True)
class Estimate:
    """The rate of one direction. The interval is of the rounds, and no narrower than 1 % to each side."""

    bits_per_second: float
    low_bits_per_second: float
    high_bits_per_second: float
    connections: int
    one_connection_bits_per_second: float
    bound_by_machine: bool
    rounds: tuple[Round, ...]


def measure_ceiling(
    plan: Plan,
    reach: Callable[[], Endpoint],
    alive: Callable[[], object],
    most_s: float = MOST_S,
    directions: Sequence[str] = ("up", "down"),
) -> dict[str, Any]:
    """Return the rates up and down, in bits per second, with intervals, and every round.

    Args:
        plan: Its ``ceiling_connections`` is the most that are opened at once, and the rounds share its
            ``ceiling_time_ns``, but take longer where a connection is slow.
        reach: Called before each round: the endpoint, made anew where the link changes with time.
        alive: Called several times a second.
        most_s: Bound on the time that is counted in a round, for a link that changes soon.
        directions: Which to measure.
    """
    found: dict[str, Any] = {}
    rounds: list[dict[str, Any]] = []
    for direction in directions:
        with tempfile.TemporaryDirectory() as folder:
            one = _Path(plan, direction, reach, alive, Path(folder), most_s).measure()
        found |= {
            f"{direction}_bits_per_second": round(one.bits_per_second),
            f"{direction}_low_bits_per_second": round(one.low_bits_per_second),
            f"{direction}_high_bits_per_second": round(one.high_bits_per_second),
            f"{direction}_connections": one.connections,
            f"{direction}_one_connection_bits_per_second": round(one.one_connection_bits_per_second),
            f"{direction}_bound_by_machine": one.bound_by_machine,
        }
        rounds += [asdict(row) for row in one.rounds]
    counted = "the kernel's count of bytes" if rounds[0]["counted_by"] == "kernel" else "answered requests"
    return found | {
        "connections": max(row["connections"] for row in rounds),
        "level": LEVEL,
        "rounds": rounds,
        "method": (
            "connections that always have work, from memory to a sink that discards;"
            f" {ROUNDS} rounds or more with many, {ROUNDS_OF_ONE} with one between them, by {counted}"
        ),
    }


def steady_s(target: Target) -> float:
    """Return how long a round may be on a path that changes at a known time; it takes twice that in all."""
    shape = target.shape
    if shape is None or not shape.changes:
        return MOST_S
    return min(MOST_S, shape.steps[1].after_ns / 1e9 / 3)


class _Path:
    """One direction of a path under measurement."""

    def __init__(
        self,
        plan: Plan,
        direction: str,
        reach: Callable[[], Endpoint],
        alive: Callable[[], object],
        folder: Path,
        most_s: float,
    ) -> None:
        self._plan = plan
        self._direction = direction
        self._reach = reach
        self._alive = alive
        self._folder = folder
        self._most_s = most_s
        self._offered: tuple[str, int] | None = None
        self._trip_s = trip_s(reach())
        self._rounds: list[Round] = []

    def measure(self) -> Estimate:
        try:
            many = self._search()
            ways = [1, many] if many > 1 else [1]
            rates = {ways[0]: self._latest(ways[0]), ways[-1]: self._latest(ways[-1])}
            for number in range(MOST_ROUNDS):
                if number >= ROUNDS and _is_narrow(estimate(self._rounds)):
                    break
                self._counted(many, rates[many])
                if many > 1 and number < ROUNDS_OF_ONE:
                    self._counted(1, rates[1])
            self._check(many, rates[many])
        finally:
            self._empty([_SOURCE])
        return estimate(self._rounds)

    def _search(self) -> int:
        """Return the number of connections from which on more give nothing."""
        # Nothing is known at first: 10 Mbit/s are a start.
        rate = self._found(1, 1e7)
        connections, most = 1, self._plan.ceiling_connections
        while connections < most:
            more = min(4 * connections, most)
            found = self._found(more, 2 * rate)
            if found < 0.9 * rate:
                found = max(found, self._found(more, rate))  # More connections are no reason to be slower.
            if found < PAYS * rate:
                # On a slow link many connections move too seldom to be counted in a short time.
                too_slow = STEPS_BITS[self._direction] * more / max(found, rate) > self._most_s
                return connections if too_slow else more
            connections, rate = more, found
        return connections

    def _found(self, connections: int, rate: float) -> float:
        """Return the rate of a round that was long enough for it; how long that is shows as it runs."""
        for _ in range(_GUESSES):
            row = self._round(connections, rate, "search")
            long_enough = self._window_s(connections, row.bits_per_second, "search")
            if row.window_ns / 1e9 >= 0.6 * long_enough:
                break
            rate = max(row.bits_per_second, rate / 6) if row.window_ns > 1e7 else 8 * rate
        return row.bits_per_second

    def _counted(self, connections: int, rate: float) -> None:
        """Make a round for the estimate; one too quick to be counted is made again with more bytes."""
        for _ in range(_GUESSES):
            row = self._round(connections, rate, "estimate")
            if row.window_ns / 1e9 >= 0.4 * self._window_s(connections, rate, "estimate"):
                return
            self._rounds[-1] = replace(row, purpose="too short")
            rate *= 1.6

    def _latest(self, connections: int) -> float:
        return [row.bits_per_second for row in self._rounds if row.connections == connections][-1]

    def _window_s(self, connections: int, rate: float, purpose: str) -> float:
        least, steps = self._plan.ceiling_time_ns / 1e9 / ROUNDS, STEPS_BITS[self._direction]
        if purpose == "search":
            least, steps = least / 2, steps / 2
        window = min(max(least, LEAST_S, steps * connections / max(rate, 1e5)), self._most_s)
        return min(window, max(8 * ROUND_BYTES / max(rate, 1.0), LEAST_S))

    def _round(self, connections: int, rate: float, purpose: str) -> Round:
        """Let every connection carry one long request, and count while all of them do.

        They are let to end: what is broken off lies in buffers for seconds yet, and takes the next round's
        share of a slow link.
        """
        window, ramp = self._window_s(connections, rate, purpose), RAMP_S + RAMP_TRIPS * self._trip_s
        wanted = rate / 8 / connections * (1.2 * window + ramp)
        if self._direction == "down":
            wanted = 2 ** math.ceil(math.log2(wanted))  # Few sizes: each has to be sent up first.
        # Where an answer costs next to nothing, shorter requests let connections share what is left to do.
        turns = max(1, min(4, int(window / max(50 * self._trip_s, 1e-3)))) if wanted > 8 << 20 else 1
        size = int(min(max(wanted / turns, LEAST_BYTES), MOST_BYTES))
        count = max(1, math.ceil(wanted / size)) * connections
        pairs = self._pairs(self._reach(), size, count)
        record = self._folder / f"{len(self._rounds)}.parquet"
        with Counters() as counters:
            began, unix, idle = self._move(pairs, self._options(connections, "whole", None, record))
        if not counters.samples and purpose != "check":
            return self._by_requests(connections, rate, purpose)
        begin, end = began + ramp, counters.all_busy_until(self._direction)
        if end - begin < window / 4:
            # It was quicker than thought: the beginning is all there is.
            begin = min(begin, began + (end - began) / 3)
        rates = counters.rates(self._direction, begin, end)
        return self._keep(
            connections, len(rates), "kernel", unix, max(end - begin, 0.0), sum(rates), idle, purpose
        )

    def _by_requests(self, connections: int, rate: float, purpose: str) -> Round:
        """Count what answered requests have carried: where the kernel does not tell, and as a check."""
        window, ramp = self._window_s(connections, rate, purpose), RAMP_S + RAMP_TRIPS * self._trip_s
        block = int(min(max(rate / 8 / connections * window / 8, 64 << 10), 4 << 20))
        if self._direction == "down":
            block = 2 ** math.ceil(math.log2(block))
        count = max(2, math.ceil(rate / 8 * (1.2 * window + ramp) / (4 * block * connections))) * connections
        pairs = self._pairs(self._reach(), 4 * block, count)
        record = self._folder / f"{len(self._rounds)}.parquet"
        _, unix, idle = self._move(pairs, self._options(connections, "ranges", block, record))
        pieces = sorted(_pieces(record))
        # All have work until the last request is taken up.
        end = pieces[-1][0]
        begin = min(pieces[0][0] + ramp * 1e9, pieces[0][0] + (end - pieces[0][0]) / 3)
        found = between(pieces, begin, end) if end > begin else 0.0
        return self._keep(connections, 0, "requests", unix, max(end - begin, 0.0) / 1e9, found, idle, purpose)

    def _move(self, pairs: Sequence[tuple[str, str]], options: Options) -> tuple[float, int, float]:
        """Move all; return when it began, by two clocks, and how idle the processors were."""
        before, began, unix = psutil.cpu_times(), time.monotonic(), time.time_ns()
        try:
            Job.copy(pairs, **options).wait(on_progress=lambda _: self._alive())
        finally:
            if self._direction == "down":
                self._empty([sink for _, sink in pairs])
        return began, unix, idle_share(before, psutil.cpu_times())

    def _keep(
        self,
        connections: int,
        opened: int,
        by: str,
        unix: int,
        window: float,
        rate: float,
        idle: float,
        purpose: str,
    ) -> Round:
        row = Round(self._direction, connections, opened, by, unix, round(window * 1e9), rate, idle, purpose)
        self._rounds.append(row)
        return row

    def _check(self, connections: int, rate: float) -> None:
        if any(row.counted_by == "kernel" for row in self._rounds):
            self._by_requests(connections, rate, "check")

    def _pairs(self, endpoint: Endpoint, size: int, count: int) -> list[tuple[str, str]]:
        generate(_SOURCE, size, self._plan.seed)
        if self._direction == "up":
            return [(_SOURCE, endpoint.url(f"ceiling/{number:04}")) for number in range(count)]
        name = endpoint.url("ceiling/offered")
        if self._offered != (name, size):
            haulage.copy([(_SOURCE, name)], overwrite="always", on_progress=lambda _: self._alive())
            self._offered = (name, size)
        return [(name, f"{_SINK}-{number:04}") for number in range(count)]

    def _options(self, connections: int, method: str, block: int | None, record: Path) -> Options:
        options: Options = {
            "overwrite": "always",
            "concurrency": connections,
            "record": record,
            "method": method,  # type: ignore[typeddict-item]  # one of two words
            "max_memory": f"{max(96, 8 * connections)}MiB",
        }
        if block is not None:
            options["block_size"] = f"{block}B"
        return options

    def _empty(self, names: Sequence[str]) -> None:
        """Give memory back: objects there cannot be removed, but be made empty."""
        empty = self._folder / "empty"
        empty.touch()
        haulage.copy([(empty, name) for name in names], overwrite="always")


def trip_s(endpoint: Endpoint) -> float:
    """Return how long a connection and a first answer take; 0 if the address is hidden."""
    parts = urlsplit(endpoint.base)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        return 0.0
    port = parts.port or (443 if parts.scheme == "https" else 80)
    began = time.monotonic()
    with suppress(OSError), socket.create_connection((parts.hostname, port), timeout=2.0) as opened:
        if parts.scheme == "http":
            opened.settimeout(2.0)
            opened.sendall(f"HEAD / HTTP/1.0\r\nHost: {parts.hostname}\r\n\r\n".encode())
            opened.recv(1)
    return time.monotonic() - began


def _is_narrow(found: Estimate) -> bool:
    return found.high_bits_per_second / found.low_bits_per_second <= NARROW**2


def estimate(rounds: Sequence[Round]) -> Estimate:
    """Return the rate of the better way of opening, with the interval of its rounds."""
    usable = [row for row in rounds if row.purpose == "estimate" and row.bits_per_second > 0]
    by_way: dict[int, list[Round]] = {}
    for row in usable:
        by_way.setdefault(row.connections, []).append(row)
    means = {
        way: statistics.fmean(math.log(row.bits_per_second) for row in rows) for way, rows in by_way.items()
    }
    many = max(by_way)
    best = max(means, key=lambda way: means[way])
    # Fewer rounds with one connection: they count only where they are clearly better.
    if best != many and means[best] - means[many] < SYSTEMATIC:
        best = many
    logs = [math.log(row.bits_per_second) for row in by_way[best]]
    reach = SYSTEMATIC
    if len(logs) > 1:
        spread = statistics.stdev(logs) / math.sqrt(len(logs))
        reach = max(reach, float(stats.t.ppf((1 + LEVEL) / 2, len(logs) - 1)) * spread)
    middle = means[best]
    idle = statistics.fmean(row.cpu_idle_share for row in by_way[best])
    return Estimate(
        math.exp(middle),
        math.exp(middle - reach),
        math.exp(middle + reach),
        best,
        math.exp(means[min(by_way)]),
        idle < MACHINE_IDLE,
        tuple(rounds),
    )


def idle_share(before: Any, after: Any) -> float:
    """Return how idle the processors were between two readings of their times."""
    spent = {name: getattr(after, name) - getattr(before, name) for name in after._fields}
    # The time of guests is within that of users.
    whole = sum(value for name, value in spent.items() if not name.startswith("guest"))
    return (spent["idle"] + spent.get("iowait", 0.0)) / whole if whole > 0 else 1.0


def _pieces(record: Path) -> list[tuple[int, int, int]]:
    with duckdb.connect() as database:
        return database.execute(
            "select coalesce(connected_ns, slot_ns)::bigint, ended_ns::bigint, size_bytes::bigint"
            " from read_parquet(?) where fate = 'ok' and api in ('PutBlock', 'PutBlob', 'GetBlob')"
            " and size_bytes > 0",
            [str(record)],
        ).fetchall()


def between(pieces: Sequence[tuple[int, int, int]], begin_ns: float, end_ns: float) -> float:
    """Return bits per second that pieces moved between two moments, each as evenly as it took.

    Args:
        pieces: Begin and end in nanoseconds, and bytes.
        begin_ns: Of the window.
        end_ns: Of the window.
    """
    slices = 32
    steps: list[tuple[float, float]] = []
    for begin, end, size in pieces:
        width = max(1, end - begin) / slices
        steps += [((begin + (part + 0.5) * width) / 1e9, size / slices) for part in range(slices)]
    return weighted_rate(steps, begin_ns / 1e9, end_ns / 1e9)
