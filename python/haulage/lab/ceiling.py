"""What the path carries at most: connections that always have work, from memory to where bytes are thrown away.

A round opens its connections anew, lets them begin, and then counts for a fixed time what the kernel says they have
carried (:mod:`haulage.lab.sockets`); it is broken off before any of them runs out of work. How many connections are
"many" is found first: four times as many as long as that gives a tenth more. Rounds with one connection and rounds
with many alternate, and the rounds of the better way give the rate and its interval.
"""

from __future__ import annotations

import math
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import psutil
from scipy import stats

import haulage
from haulage.errors import HaulageError, ServiceError
from haulage.lab.generate import generate
from haulage.lab.plan import Plan
from haulage.lab.sockets import Counters, weighted_rate
from haulage.lab.target import Endpoint, Target
from haulage.transfer import Job, Options

#: Rounds with many connections, and with one between them.
ROUNDS, ROUNDS_OF_ONE = 5, 3
#: Four times the connections must give so much more for a further step.
PAYS = 1.1
#: Seconds that are counted, at least and at most: a slow connection moves in steps of about 190 KB, of which
#: the window is to hold four.
LEAST_S, MOST_S, STEPS_BITS = 0.15, 4.0, 5 * 190e3 * 8
#: Seconds before it that are not counted: connections open and buffers fill.
RAMP_S, RAMP_TRIPS = 0.15, 3.0
#: Of one object, and of what one round moves.
LEAST_BYTES, MOST_BYTES, ROUND_BYTES = 256 << 10, 64 << 20, 1 << 30
#: Rounds cannot show what they all have in common: headers, clocks.
SYSTEMATIC = 0.01
#: No path is taken for quicker than this, in bits per second.
GUESS_MOST = 2e11
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
        purpose: ``"search"`` for the number of connections, ``"estimate"``, or ``"check"``.
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
    plan: Plan, reach: Callable[[], Endpoint], alive: Callable[[], object], most_s: float = MOST_S
) -> dict[str, Any]:
    """Return the rates up and down, in bits per second, with intervals, and every round.

    Args:
        plan: Its ``ceiling_connections`` is the most that are opened at once, and the rounds share its
            ``ceiling_time_ns``, but take longer where a connection is slow.
        reach: Called before each round: the endpoint, made anew where the link changes with time.
        alive: Called several times a second.
        most_s: Bound on the time that is counted in a round, for a link that changes soon.
    """
    found: dict[str, Any] = {}
    rounds: list[dict[str, Any]] = []
    for direction in ("up", "down"):
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
        "connections": max(found["up_connections"], found["down_connections"]),
        "level": LEVEL,
        "rounds": rounds,
        "method": (
            f"connections that always have work, from memory to a sink that discards; {ROUNDS} rounds with many,"
            f" {ROUNDS_OF_ONE} with one between them, by {counted}, without the beginning and the end"
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
            for number in range(ROUNDS):
                self._round(many, rates[many], "estimate")
                if many > 1 and number < ROUNDS_OF_ONE:
                    self._round(1, rates[1], "estimate")
            self._check(many, rates[many])
        finally:
            self._empty([_SOURCE])
        return estimate(self._rounds)

    def _search(self) -> int:
        """Return the number of connections from which on more give nothing."""
        # The first round knows nothing: 10 Mbit/s are a start, and the second knows its rate.
        rate = self._round(1, self._round(1, 1e7, "search").bits_per_second, "search").bits_per_second
        connections, most = 1, self._plan.ceiling_connections
        while connections < most:
            more = min(4 * connections, most)
            found = self._round(more, rate * more / connections, "search").bits_per_second
            # How fast it would be was a guess; where it is far off, so was the length of the round.
            if found < rate * more / connections / 2:
                found = self._round(more, max(found, rate), "search").bits_per_second
            paid = found >= PAYS * rate
            connections, rate = more, found
            if not paid:
                break
        return connections

    def _latest(self, connections: int) -> float:
        return [row.bits_per_second for row in self._rounds if row.connections == connections][-1]

    def _window_s(self, connections: int, rate: float, purpose: str) -> float:
        least = max(self._plan.ceiling_time_ns / 1e9 / ROUNDS, LEAST_S) / (2 if purpose == "search" else 1)
        window = min(max(least, STEPS_BITS * connections / max(rate, 1e5)), self._most_s)
        return min(window, max(8 * ROUND_BYTES / max(rate, 1.0), LEAST_S))

    def _round(self, connections: int, rate: float, purpose: str) -> Round:
        endpoint = self._reach()
        window, ramp = self._window_s(connections, rate, purpose), RAMP_S + RAMP_TRIPS * self._trip_s
        wanted = rate / 8 / connections * (window + ramp) * 1.5
        size = int(min(max(wanted, LEAST_BYTES), MOST_BYTES))
        count = max(2, math.ceil(wanted / size) + 1) * connections
        pairs = self._pairs(endpoint, size, count)
        job = Job.copy(pairs, **self._options(connections, "whole", None))
        row: Round | None = None
        ran_out = False
        try:
            with Counters() as counters:
                job.start()
                self._sleep(ramp)
                begin, unix, before = time.monotonic(), time.time_ns(), psutil.cpu_times()
                self._sleep(window)
                end, after = time.monotonic(), psutil.cpu_times()
            rates = counters.rates(self._direction, begin, end)
            if counters.samples:
                row = Round(
                    self._direction,
                    connections,
                    len(rates),
                    "kernel",
                    unix,
                    round((end - begin) * 1e9),
                    sum(rates),
                    idle_share(before, after),
                    purpose,
                )
        finally:
            ran_out = self._end(job, pairs) >= size * count
        if ran_out and rate < GUESS_MOST:
            # It was so much quicker than thought that connections were left without work.
            return self._round(connections, 8 * rate, purpose)
        if row is None:
            return self._by_requests(connections, rate, purpose)
        if not row.bits_per_second:
            self._fail(endpoint)
        self._rounds.append(row)
        return row

    def _by_requests(self, connections: int, rate: float, purpose: str) -> Round:
        """Count what requests have carried that were answered: where the kernel does not tell, and as a check."""
        endpoint = self._reach()
        window, ramp = self._window_s(connections, rate, purpose), RAMP_S + RAMP_TRIPS * self._trip_s
        block = int(min(max(rate / 8 / connections * window / 8, 64 << 10), 4 << 20))
        size = 16 * block
        count = max(connections, math.ceil(rate / 8 * (window + ramp) * 1.5 / size) + connections)
        pairs = self._pairs(endpoint, size, count)
        record = self._folder / f"{len(self._rounds)}.parquet"
        job = Job.copy(pairs, **self._options(connections, "ranges", block), record=record)
        try:
            before, unix = psutil.cpu_times(), time.time_ns()
            job.start()
            self._sleep(2 * ramp + window)
            after = psutil.cpu_times()
        finally:
            self._end(job, pairs)
        pieces = _pieces(record)
        if not pieces:
            self._fail(endpoint)
        last = max(end for _, end, _ in pieces)
        begin = max(last - window * 1e9, min(slot for slot, _, _ in pieces) + ramp * 1e9)
        rate = between(pieces, begin, last)
        idle = idle_share(before, after)
        row = Round(
            self._direction, connections, 0, "requests", unix, int(last - begin), rate, idle, purpose
        )
        self._rounds.append(row)
        return row

    def _check(self, connections: int, rate: float) -> None:
        if any(row.counted_by == "kernel" for row in self._rounds):
            with suppress(ServiceError):
                self._by_requests(connections, rate, "check")

    def _pairs(self, endpoint: Endpoint, size: int, count: int) -> list[tuple[str, str]]:
        generate(_SOURCE, size, self._plan.seed)
        if self._direction == "up":
            return [(_SOURCE, endpoint.url(f"ceiling/{number:04}")) for number in range(count)]
        name = endpoint.url("ceiling/offered")
        if self._offered is None or self._offered[0] != name or self._offered[1] != size:
            haulage.copy([(_SOURCE, name)], overwrite="always", on_progress=lambda _: self._alive())
            self._offered = (name, size)
        return [(name, f"{_SINK}-{number:04}") for number in range(count)]

    def _options(self, connections: int, method: str, block: int | None) -> Options:
        options: Options = {
            "overwrite": "always",
            "concurrency": connections,
            "method": method,  # type: ignore[typeddict-item]  # one of two words
            "max_memory": f"{max(96, 8 * connections)}MiB",
        }
        if block is not None:
            options["block_size"] = f"{block}B"
        return options

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))
            self._alive()

    def _end(self, job: Job, pairs: Sequence[tuple[str, str]]) -> int:
        """Break it off; return the bytes of the objects that it had finished."""
        job.cancel()
        done = 0
        with suppress(HaulageError):
            done = job.wait(check=False).bytes_done
        if self._direction == "down":
            self._empty([sink for _, sink in pairs])
        return done

    def _empty(self, names: Sequence[str]) -> None:
        """Give memory back: objects there cannot be removed, but be made empty."""
        empty = self._folder / "empty"
        empty.touch()
        haulage.copy([(empty, name) for name in names], overwrite="always")

    def _fail(self, endpoint: Endpoint) -> None:
        """Say why nothing moved: an error of the path itself, if a single small object meets it too."""
        haulage.copy([(_SOURCE, endpoint.url("ceiling/single"))], overwrite="always")
        raise ServiceError(
            "measure ceiling", endpoint.base, "nothing arrived", "set ceiling.measure=false to go on without"
        )


def trip_s(endpoint: Endpoint) -> float:
    """Return how long the path takes to begin a conversation: a connection, then an answer; 0 if it is hidden."""
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
