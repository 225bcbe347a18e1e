"""The simulation: lanes of nodes take requests, bytes flow at shared rates, a service answers or refuses.

Between two events all rates are constant. All that are in flight on a node share its link alike, and all of
all nodes what the service carries; so the transfers of a node go at one rate, and each ends when the node has
moved so many bytes for each of its transfers. So an event costs as much as there are nodes, not requests.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Request:
    """A request: what it carries, and what of its file comes after."""

    size_bytes: float
    commits: bool = False  #: only sent when all others of its file have ended


@dataclass(frozen=True)
class Load:
    """What each node has to do: its files, each a list of requests, and how many it has in flight."""

    files: tuple[tuple[Request, ...], ...]
    lanes: int

    @property
    def total_bytes(self) -> float:
        """Of one node."""
        return sum(request.size_bytes for requests in self.files for request in requests)


@dataclass(frozen=True)
class Service:
    """What all nodes share.

    Attributes:
        bits_per_second: It carries so much, all together.
        requests_per_second: It takes this many requests, all together; what comes too early waits.
        refuses: It does not slow down at ``bits_per_second`` but refuses what exceeds it (503), an upload
            after its body has arrived.
        backoff_s: A client that is refused waits so long, twice as long the next time.
        longest_backoff_s: And never longer.
    """

    bits_per_second: float = math.inf
    requests_per_second: float = math.inf
    refuses: bool = False
    backoff_s: float = 1.0
    longest_backoff_s: float = 32.0


@dataclass(frozen=True)
class Nodes:
    """Nodes that are alike but for chance.

    Attributes:
        count: How many.
        link_bits_per_second: Of each.
        latency_s: Of each request, beside the time of its bytes: the round trip and the answer.
        start_s: Before the first request.
        spread: Standard deviation of the logarithm of a node's link.
    """

    count: int
    link_bits_per_second: float
    latency_s: float = 0.0
    start_s: float = 0.0
    spread: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    ended_s: tuple[float, ...]  #: of each node
    bytes: float  #: of all nodes
    all_active_bytes: float  #: until the first node had ended
    requests: int
    refused: int

    @property
    def wall_s(self) -> float:
        """Until the last node had ended."""
        return max(self.ended_s)

    @property
    def bits_per_second(self) -> float:
        """All bytes until the last node had ended."""
        return 8 * self.bytes / self.wall_s

    @property
    def all_active_bits_per_second(self) -> float:
        """What was moved until the first node had ended."""
        return 8 * self.all_active_bytes / min(self.ended_s)


@dataclass
class _Node:
    """The state of a node: what waits, and what flows until its node has moved so many bytes a transfer."""

    number: int
    waiting: list[tuple[int, Request]]
    left: list[int]  #: requests of each file that have not ended, its commit not counted
    commits: list[Request | None]
    flows: list[tuple[float, int, int, Request]] = field(default_factory=list)
    busy: int = 0
    ended_s: float = math.nan


def simulate(nodes: Nodes, load: Load, service: Service, *, up: bool, seed: int = 0) -> Outcome:
    """Let all nodes do their load, from one moment on.

    Args:
        nodes: How many, and what each can do.
        load: Of each of them.
        service: That all share.
        up: Whether bodies go to the service, which then sees them before it refuses.
        seed: Of the nodes' differences.
    """
    return _Run(nodes, load, service, up, seed).run()


def mean_of(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of middle length."""
    return sorted(outcomes, key=lambda one: one.wall_s)[len(outcomes) // 2]


class _Run:
    def __init__(self, nodes: Nodes, load: Load, service: Service, up: bool, seed: int) -> None:
        self._nodes, self._service, self._up = nodes, service, up
        self._load = load
        chance = np.random.default_rng(seed)
        odd = np.exp(chance.normal(0.0, nodes.spread, nodes.count)) if nodes.spread else np.ones(nodes.count)
        self._links: Floats = nodes.link_bits_per_second / 8 * odd
        self._states = [_state(number, load, chance) for number in range(nodes.count)]
        self._flying: Floats = np.zeros(nodes.count)
        self._to_next: Floats = np.full(nodes.count, math.inf)
        #: Bytes that each transfer of a node has moved since the beginning.
        self._moved: Floats = np.zeros(nodes.count)
        self._left = nodes.count
        self._queue: list[tuple[float, int, int, int, Request, int]] = []
        self._serial = 0
        self._now = 0.0
        self._turn_s = 0.0
        self._tokens = service.bits_per_second / 8
        self._tokens_at = 0.0
        self._requests = self._refused = 0
        self._arrived = self._at_first_end = 0.0

    def run(self) -> Outcome:
        for node in self._states:
            for _ in range(self._load.lanes):
                self._take(node, self._nodes.start_s)
        rates, after = self._rates(), self._to_next
        while self._left:
            if self._changed:
                rates, self._changed = self._rates(), False
            after = np.divide(self._to_next, rates, out=np.full_like(rates, math.inf), where=rates > 0)
            soonest = int(np.argmin(after))
            until = self._now + float(after[soonest])
            if self._queue and self._queue[0][0] <= until:
                self._advance(rates, self._queue[0][0] - self._now)
                self._due()
            else:
                self._advance(rates, float(after[soonest]))
                self._arrive(self._states[soonest])
        return Outcome(
            tuple(node.ended_s for node in self._states),
            self._load.total_bytes * len(self._states),
            self._at_first_end,
            self._requests,
            self._refused,
        )

    _changed = True

    def _rates(self) -> Floats:
        """Return the rate of a single transfer of each node in bytes a second: what all share, fairly."""
        flying = self._flying
        own = np.divide(self._links, flying, out=np.zeros_like(flying), where=flying > 0)
        total = math.inf if self._service.refuses else self._service.bits_per_second / 8
        if float((own * flying).sum()) <= total:
            return own
        # Those whose own link gives less than the level keep that; the rest is shared by the others.
        order = np.argsort(own)
        rest, count = total, float(flying.sum())
        level = 0.0
        for place in order:
            if flying[place] == 0:
                continue
            level = rest / count
            if own[place] > level:
                break
            rest -= own[place] * flying[place]
            count -= flying[place]
        return np.minimum(own, level)

    def _advance(self, rates: Floats, time_s: float) -> None:
        if time_s <= 0:
            return
        self._now += time_s
        step = rates * time_s
        self._arrived += float((step * self._flying).sum())
        self._to_next -= step
        self._moved += step

    def _take(self, node: _Node, at_s: float) -> None:
        """Let a free lane begin its next request, if there is one."""
        if node.waiting:
            file, request = node.waiting.pop()
            node.busy += 1
            self._later(at_s + self._nodes.latency_s, node, file, request, 0)

    def _later(self, at_s: float, node: _Node, file: int, request: Request, tries: int) -> None:
        self._serial += 1
        heapq.heappush(self._queue, (at_s, self._serial, node.number, file, request, tries))

    def _due(self) -> None:
        """Let the next request that has waited begin to move its bytes."""
        at_s, _, number, file, request, tries = heapq.heappop(self._queue)
        node = self._states[number]
        if tries >= 0:
            self._requests += 1
            turn = max(at_s, self._turn_s)
            self._turn_s = turn + 1 / self._service.requests_per_second
            if turn > at_s:
                # Its turn is later; it then begins without asking again.
                self._later(turn, node, file, request, -1 - tries)
                return
        tries = max(tries, -1 - tries)
        if not self._up and self._refuses(request):
            self._back_off(node, file, request, tries)
        elif request.size_bytes <= 0:
            self._end(node, file, request)
        else:
            self._serial += 1
            end = float(self._moved[number]) + request.size_bytes
            heapq.heappush(node.flows, (end, self._serial, file * 64 + min(tries, 63), request))
            self._note(node)

    def _arrive(self, node: _Node) -> None:
        """Let the transfer that is through end."""
        _, _, packed, request = heapq.heappop(node.flows)
        self._note(node)
        file, tries = divmod(packed, 64)
        if self._up and self._refuses(request):
            self._back_off(node, file, request, tries)
        else:
            self._end(node, file, request)

    def _note(self, node: _Node) -> None:
        self._flying[node.number] = len(node.flows)
        left = node.flows[0][0] - float(self._moved[node.number]) if node.flows else math.inf
        self._to_next[node.number] = max(0.0, left)
        self._changed = True

    def _refuses(self, request: Request) -> bool:
        """Whether the service has had its share already: a bucket that holds a second."""
        service = self._service
        if not service.refuses or request.size_bytes <= 0:
            return False
        full = service.bits_per_second / 8
        self._tokens = min(full, self._tokens + (self._now - self._tokens_at) * full)
        self._tokens_at = self._now
        if self._tokens <= 0:
            return True
        self._tokens -= request.size_bytes
        return False

    def _back_off(self, node: _Node, file: int, request: Request, tries: int) -> None:
        self._refused += 1
        wait = min(self._service.longest_backoff_s, self._service.backoff_s * 2.0**tries)
        self._later(self._now + wait + self._nodes.latency_s, node, file, request, tries + 1)

    def _end(self, node: _Node, file: int, request: Request) -> None:
        node.busy -= 1
        commit = node.commits[file]
        if not request.commits:
            node.left[file] -= 1
            if node.left[file] == 0 and commit is not None:
                node.waiting.append((file, commit))
        self._take(node, self._now)
        if node.busy == 0 and not node.waiting:
            if self._left == len(self._states):
                self._at_first_end = self._arrived
            node.ended_s = self._now
            self._left -= 1


def _state(number: int, load: Load, chance: np.random.Generator) -> _Node:
    order = chance.permutation(len(load.files))
    waiting = [(int(file), request) for file in order for request in load.files[file] if not request.commits]
    commits = [next((one for one in requests if one.commits), None) for requests in load.files]
    left = [sum(not one.commits for one in requests) for requests in load.files]
    return _Node(number, waiting[::-1], left, commits)
