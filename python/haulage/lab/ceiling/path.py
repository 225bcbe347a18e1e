"""One way of a path under measurement: how many connections pay, then rounds with one and with many."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import haulage
from haulage.lab.ceiling.counters import Counters, weighted_rate
from haulage.lab.ceiling.rounds import Estimate, Round, estimate, is_narrow
from haulage.lab.generate import generate
from haulage.lab.plan import Plan
from haulage.lab.target import Endpoint
from haulage.transfer import Job, Options

#: Rounds with many connections, and with one between them.
ROUNDS, ROUNDS_OF_ONE = 5, 2
#: There are more of them, up to this, as long as their interval is wide.
MOST_ROUNDS = 12
#: Where time is short: fewer show no interval.
LEAST_ROUNDS = 2
#: Seconds for one direction, so that both take less than a minute: on a slow path there are fewer rounds.
BUDGET_S = 22.0
#: What nothing is known of is taken for so slow at first, in bits per second, that it is soon known.
FIRST_GUESS = 1e6
#: Four times the connections must give so much more for a further step.
PAYS = 1.15
#: Rates are the same up to here, where rounds are long.
ALIKE = 1.02
#: Seconds that are counted, at least and at most.
LEAST_S, MOST_S = 0.15, 4.0
#: A receiver that is slow opens its window by up to 190 KB at a time; a round is to see four such
#: steps of each connection. What arrives here comes evenly.
STEPS_BITS = {"up": 8 * 190e3 * 8, "down": 2e6}
#: Seconds before it that are not counted: connections open and buffers fill.
RAMP_S, RAMP_TRIPS = 0.15, 3.0
#: Of one object, and of what one round moves.
LEAST_BYTES, MOST_BYTES, ROUND_BYTES = 128 << 10, 64 << 20, 1 << 30
#: So often a round is repeated that was too short for what it found.
_GUESSES = 6
#: What one machine carries over its own loopback, bits per second: a link without bounds is as fast.
_MACHINE = 8e9
_SOURCE = "mem://lab-ceiling/source"
_SINK = "mem://lab-ceiling/sink"


class OneWay:
    """One direction of a path."""

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
        self._until = time.monotonic() + BUDGET_S
        self._rounds: list[Round] = []

    def measure(self) -> Estimate:
        """Make the rounds: about a dozen, or as many as there is time for."""
        try:
            many = self._search()
            ways = [1, many] if many > 1 else [1]
            rates = {ways[0]: self._latest(ways[0]), ways[-1]: self._latest(ways[-1])}
            for number in range(MOST_ROUNDS):
                if number >= ROUNDS and is_narrow(estimate(self._rounds)):
                    break
                if number >= LEAST_ROUNDS and not self._has_time_for(many, rates[many]):
                    break
                self._counted(many, rates[many])
                if many > 1 and number < ROUNDS_OF_ONE and self._has_time_for(1, rates[1]):
                    self._counted(1, rates[1])
            if self._has_time_for(many, rates[many]):
                self._check(many, rates[many])
        finally:
            self._empty([_SOURCE])
        return estimate(self._rounds)

    def _search(self) -> int:
        """Return the number of connections from which on more give nothing."""
        rate = self._found(1, FIRST_GUESS)
        connections, most = 1, self._plan.ceiling_connections
        while connections < most:
            more = min(4 * connections, most)
            if not self._has_time_for(more, rate, LEAST_ROUNDS + 1):
                return connections
            found = self._found(more, 2 * rate)
            if found < 0.9 * rate:
                found = max(found, self._found(more, rate))  # More connections are no reason to be slower.
            if found < PAYS * rate:
                return connections if self._costs_more(connections, more, rate, found) else more
            connections, rate = more, found
        return connections

    def _has_time_for(self, connections: int, rate: float, rounds: int = 1) -> bool:
        """Whether so many rounds for the estimate, at such a rate, end within the time that there is."""
        window = max(
            self._window_s(connections, rate, "estimate"), 8 * LEAST_BYTES * connections / max(rate, 1.0)
        )
        # Down there are few sizes: up to twice as much travels.
        margin = 1.2 if self._direction == "up" else 1.8
        each = margin * window + RAMP_S + RAMP_TRIPS * self._trip_s
        return time.monotonic() + rounds * each <= self._until

    def _costs_more(self, few: int, many: int, rate: float, found: float) -> bool:
        """Whether many connections give no more than few, and take much longer to be counted."""
        if STEPS_BITS[self._direction] * many / max(found, rate) > self._most_s:
            return True
        longer = self._window_s(many, found, "estimate") / self._window_s(few, rate, "estimate")
        return found < ALIKE * rate and longer > 1.5

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
        return window_s(self._plan, self._direction, connections, rate, purpose, self._most_s)

    def _round(self, connections: int, rate: float, purpose: str) -> Round:
        """Let every connection carry one long request, and count while all of them do.

        Rounds are never aborted: their data would stay in buffers for seconds, and take bandwidth from
        the next round on a slow link.
        """
        window, ramp = self._window_s(connections, rate, purpose), RAMP_S + RAMP_TRIPS * self._trip_s
        wanted = rate / 8 / connections * (1.2 * window + ramp)
        if self._direction == "down":
            wanted = 2 ** math.ceil(math.log2(wanted))  # Few sizes: each has to be sent up first.
        # Where an answer costs next to nothing, shorter requests let connections share what is left to do.
        turns = max(1, min(4, int(window / max(50 * self._trip_s, 1e-3)))) if wanted > 8 << 20 else 1
        size = int(min(max(wanted / turns, LEAST_BYTES), MOST_BYTES))
        # Whole bytes are a little less than was wanted: that is no reason for one more request.
        count = max(1, math.ceil(0.99 * wanted / size)) * connections
        endpoint = self._reach()
        pairs = self._pairs(endpoint, size, count)
        record = self._folder / f"{len(self._rounds)}.parquet"
        with Counters() as counters:
            began, unix, idle = self._move(
                pairs, self._options(connections, "whole", size, record) | endpoint.reach
            )
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
        endpoint = self._reach()
        pairs = self._pairs(endpoint, 4 * block, count)
        record = self._folder / f"{len(self._rounds)}.parquet"
        _, unix, idle = self._move(
            pairs, self._options(connections, "ranges", block, record) | endpoint.reach
        )
        pieces = sorted(_pieces(record))
        # All have work until the last request is taken up.
        end = pieces[-1][0]
        begin = min(pieces[0][0] + ramp * 1e9, pieces[0][0] + (end - pieces[0][0]) / 3)
        found = between(pieces, begin, end) if end > begin else 0.0
        return self._keep(connections, 0, "requests", unix, max(end - begin, 0.0) / 1e9, found, idle, purpose)

    def _move(self, pairs: Sequence[tuple[str, str]], options: Options) -> tuple[float, int, float]:
        """Move all; return when it began, by two clocks, and how idle the processors were."""
        import psutil

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
            haulage.copy(
                [(_SOURCE, name)],
                overwrite="always",
                on_progress=lambda _: self._alive(),
                insecure_http=endpoint.insecure_http,
            )
            self._offered = (name, size)
        return [(name, f"{_SINK}-{number:04}") for number in range(count)]

    def _options(self, connections: int, method: str, request: int, record: Path) -> Options:
        # Each request is to have room: with less, fewer connections than asked for would carry something.
        room = math.ceil(1.25 * connections * request / (1 << 20))
        options: Options = {
            "overwrite": "always",
            "remember_link": False,
            "concurrency": connections,
            "record": record,
            "method": method,  # type: ignore[typeddict-item]  # one of two words
            "max_memory": f"{max(96, 8 * connections, room)}MiB",
        }
        if method == "ranges":
            options["block_size"] = f"{request}B"
        return options

    def _empty(self, names: Sequence[str]) -> None:
        """Give memory back: objects there cannot be removed, but be made empty."""
        empty = self._folder / "empty"
        empty.touch()
        haulage.copy([(empty, name) for name in names], overwrite="always")


def window_s(
    plan: Plan, direction: str, connections: int, rate: float, purpose: str, most_s: float = MOST_S
) -> float:
    """Return how long a round is to be counted on a path of such a rate, in bits per second."""
    least, steps = plan.ceiling_time_ns / 1e9 / ROUNDS, STEPS_BITS[direction]
    if purpose == "search":
        least, steps = least / 2, steps / 3
    window = min(max(least, LEAST_S, steps * connections / max(rate, 1e5)), most_s)
    return min(window, max(8 * ROUND_BYTES / max(rate, 1.0), LEAST_S))


def expected_s(plan: Plan, direction: str, total: float, each: float, trip: float) -> float:
    """Return about how long a measurement takes on a known path.

    Args:
        plan: Of the run.
        direction: ``"up"`` or ``"down"``.
        total: Bits per second of all connections.
        each: Of one.
        trip: Seconds of a round trip.
    """

    def took(connections: int, purpose: str) -> float:
        rate = min(total, connections * each, _MACHINE)
        return 1.3 * window_s(plan, direction, connections, rate, purpose) + RAMP_S + RAMP_TRIPS * trip

    connections, spent = 1, took(1, "search")
    while connections < plan.ceiling_connections:
        more = min(4 * connections, plan.ceiling_connections)
        spent += took(more, "search")
        if min(total, more * each) < PAYS * min(total, connections * each):
            break
        connections = more
    spent += (ROUNDS + 1) * took(connections, "estimate") + ROUNDS_OF_ONE * took(1, "estimate")
    return min(spent, BUDGET_S)


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


def idle_share(before: Any, after: Any) -> float:
    """Return how idle the processors were between two readings of their times."""
    spent = {name: getattr(after, name) - getattr(before, name) for name in after._fields}
    # The time of guests is within that of users.
    whole = sum(value for name, value in spent.items() if not name.startswith("guest"))
    return (spent["idle"] + spent.get("iowait", 0.0)) / whole if whole > 0 else 1.0


def _pieces(record: Path) -> list[tuple[int, int, int]]:
    import duckdb  # which takes as long as all else of an estimate

    with duckdb.connect() as database:
        return database.execute(
            "select coalesce(connected_ns, slot_ns)::bigint, ended_ns::bigint, size_bytes::bigint"
            " from read_parquet(?) where fate = 'ok' and api in ('PutBlock', 'PutBlob',"
            " 'GetBlob', 'UploadPart', 'PutObject', 'GetObject')"
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
