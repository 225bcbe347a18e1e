"""Carries shards from the coordinator to the workers of a cluster, and what became of them back.

The window is driven from here: one shard running and one waiting for each worker, so that the coordinator can
cut them smaller towards the end, and a worker that comes late gets its share.
"""

from __future__ import annotations

import contextlib
import queue
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from haulage import __version__
from haulage.cluster import worker as on_worker
from haulage.errors import HaulageError

if TYPE_CHECKING:
    from distributed import Client, Future

    from haulage._engine import Coordinator

#: Shards with each worker: one that runs, and one that waits.
EACH = 2

#: How long to wait for something to happen, in seconds.
PAUSE = 0.05

#: How often bounds that all share are shared out anew, and how often it is asked which workers there are.
SHARE_SECONDS = 0.25
LOOK_SECONDS = 1.0

#: A scheduler that is gone for so long does not come back.
GONE_SECONDS = 5.0

#: How long nodes may take to end that were stopped.
STOP_SECONDS = 5.0

#: How long to wait for what became of a shard before it is asked for again.
RESULT_SECONDS = 2.0

#: Workers that are asked something at once.
ASKED_AT_ONCE = 32

#: Rounds in which the clocks of the nodes are compared with ours.
CLOCK_ROUNDS = 5


def drive(coordinator: Coordinator, client: Client) -> None:
    """Carry shards until the job ends. What goes wrong ends the job, and is never raised."""
    run = _Run(coordinator, client)
    try:
        run.carry()
    except HaulageError as error:
        coordinator.fail(error.code, error.object, error.cause, error.hint)
    except Exception as error:  # the job must hear of it, whatever it is
        cause = f"{type(error).__name__}: {error}"
        coordinator.fail("service", run.address, cause, "is the cluster healthy? look at its logs")
    try:
        run.end()
    finally:
        coordinator.finish()
        run.leave()


class _Run:
    def __init__(self, coordinator: Coordinator, client: Client) -> None:
        self.coordinator = coordinator
        self.client = client
        self.job = coordinator.job()
        self.spec = coordinator.spec()
        self.address = str(client.scheduler_info()["address"])
        self.out: dict[str, tuple[int, Future]] = {}
        self.tries: dict[int, int] = {}
        self.asking = ThreadPoolExecutor(ASKED_AT_ONCE, "haulage-ask")
        self.ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        #: The workers, by address, with the name of the node where it has beaten.
        self.workers: dict[str, str] = {}
        self.clocks: set[str] = set()
        self.shares: dict[str, tuple[int | None, float | None]] = {}
        self.looked = self.shared = 0.0
        self.silent_since: float | None = None
        client.subscribe_topic(on_worker.topic(self.job), self._told)

    def carry(self) -> None:
        """Deal out shards until all objects have ended, or the job is stopped."""
        while self.coordinator.phase() == "deal":
            self._look()
            self._deal()
            with contextlib.suppress(queue.Empty):
                future = self.ended.get(timeout=PAUSE)
                while True:
                    known = self.out.pop(future.key, None)
                    # The node gets its next shard before the result is asked for, which takes a round trip.
                    self._deal()
                    if known is not None:
                        self._came(known[0], future)
                    future = self.ended.get_nowait()
            self._share()

    def end(self) -> None:
        """End the nodes and take in what they say; those that are stopped are not waited for."""
        stopped = self.coordinator.phase() == "stop"
        if self.client.status != "running":
            return
        there = list(self.client.scheduler_info(n_workers=-1)["workers"])
        if stopped:
            self._ask(on_worker.cancel, self.job, workers=there, seconds=STOP_SECONDS)
            self.client.cancel([future for _, future in self.out.values()], force=True)
        told = self._ask(on_worker.end, self.job, workers=there, seconds=STOP_SECONDS if stopped else None)
        for answer in told.values():
            if isinstance(answer, tuple):
                self.coordinator.ended(*answer)

    def leave(self) -> None:
        """Forget what the cluster knows of the job."""
        self.out.clear()
        self.asking.shutdown(wait=False, cancel_futures=True)
        if self.client.status == "running":
            self.client.unsubscribe_topic(on_worker.topic(self.job))

    def _told(self, event: tuple[float, Any]) -> None:
        """Take in a sign of life; called in the thread of the client."""
        told = event[1]
        self.workers[told["address"]] = told["node"]
        self.coordinator.beat(told["beat"])

    def _look(self) -> None:
        """Look which workers there are, and whether the scheduler is."""
        now = time.monotonic()
        if self.client.status != "running":
            since = self.silent_since = self.silent_since or now
            if now - since > GONE_SECONDS or self.client.status in ("closed", "closing"):
                self._lost_scheduler()
            time.sleep(PAUSE)
            return
        self.silent_since = None
        if now - self.looked < LOOK_SECONDS:
            return
        self.looked = now
        there = set(self.client.scheduler_info(n_workers=-1)["workers"])
        for address in there - self.workers.keys():
            self.workers[address] = ""
        for address in self.workers.keys() - there:
            if node := self.workers.pop(address):
                self.coordinator.gone(node)
            self.clocks.discard(address)
        new = [address for address, node in self.workers.items() if node and address not in self.clocks]
        if new:
            self._compare_clocks(new)

    def _compare_clocks(self, addresses: list[str]) -> None:
        """Learn by how much clocks of nodes are ahead of ours, to half of the shortest round trip."""
        best: dict[str, tuple[int, int]] = {}
        for _ in range(CLOCK_ROUNDS):
            sent = time.time_ns()
            told = self._ask(on_worker.now, workers=addresses, seconds=SHARE_SECONDS)
            came = time.time_ns()
            for address, there in told.items():
                if isinstance(there, int):
                    best[address] = min(
                        best.get(address, (1 << 62, 0)), (came - sent, there - (sent + came) // 2)
                    )
        for address, (_, offset) in best.items():
            self.clocks.add(address)
            self.coordinator.clock(self.workers[address], offset)

    def _deal(self) -> None:
        workers = max(1, len(self.workers))
        while self.client.status == "running" and len(self.out) < EACH * workers:
            dealt = self.coordinator.next(workers)
            if dealt is None:
                return
            number, _, _, shard = dealt
            tried = self.tries[number] = self.tries.get(number, 0) + 1
            task = on_worker.Task(self.job, number, shard, self.spec, __version__)
            key = f"haulage-{self.job}-{number}-{tried}"
            future = self.client.submit(on_worker.move, task, key=key, pure=False, retries=0)
            self.out[key] = (number, future)
            future.add_done_callback(self.ended.put)

    def _came(self, number: int, future: Future) -> None:
        """Take in a shard that has ended."""
        if future.status == "finished":
            with contextlib.suppress(TimeoutError):
                self.coordinator.came(future.result(timeout=RESULT_SECONDS))
                return
        if future.status in ("finished", "lost", "pending"):
            # The worker was lost before it could hand over the result: the scheduler has it moved again.
            self.out[future.key] = (number, future)
            future.add_done_callback(self.ended.put)
            return
        if future.status == "cancelled":
            # The scheduler has lost it, or is lost itself, which shows soon.
            self.coordinator.lost(number)
            return
        error = future.exception()
        name = type(error).__name__
        if isinstance(error, on_worker.ShardCostNodesError):
            cause = f"{on_worker.STARTS_MAX} nodes were lost while they moved the shard that it is in"
            hint = "look into the logs of the nodes; is their memory enough, and their link steady?"
            self.coordinator.failed(number, "node_lost", "run", "shard", cause, hint)
        elif name == "KilledWorker" or (isinstance(error, HaulageError) and error.code == "cancelled"):
            self.coordinator.lost(number)
        elif isinstance(error, HaulageError):
            told = (error.code, error.operation, error.object, error.cause, error.hint)
            self.coordinator.failed(number, *told)
        else:
            cause = f"{name}: {error}"
            hint = "is haulage installed on each node, in the same version?"
            self.coordinator.failed(number, "service", "run", f"shard {number}", cause, hint)

    def _share(self) -> None:
        """Tell each node its part of what all share, first those that get less: never is more used."""
        now = time.monotonic()
        if now - self.shared < SHARE_SECONDS or self.client.status != "running":
            return
        self.shared = now
        shares = {node: (bits, requests) for node, bits, requests in self.coordinator.allowances()}
        shares = {
            node: share for node, share in shares.items() if share != (None, None) or node in self.shares
        }
        if shares == self.shares or not shares:
            return
        less = {node: _less(share, self.shares.get(node, share)) for node, share in shares.items()}
        addresses = [address for address, node in self.workers.items() if node in shares]
        if less != self.shares:
            self._ask(on_worker.allow, self.job, less, workers=addresses, seconds=SHARE_SECONDS)
        if shares != less:
            self._ask(on_worker.allow, self.job, shares, workers=addresses, seconds=SHARE_SECONDS)
        self.shares = shares

    def _ask(
        self, function: Any, *args: Any, workers: list[str], seconds: float | None = None
    ) -> dict[str, Any]:
        """Call a function on workers; return what they answer, by address.

        Each is asked by itself, so that one that is lost holds up none of the others. It is not waited for
        longer than it is there, and not for more than ``seconds``.
        """
        asked = {address: self.asking.submit(self._ask_one, function, args, address) for address in workers}
        end = None if seconds is None else time.monotonic() + seconds
        answers: dict[str, Any] = {}
        while asked and (end is None or time.monotonic() < end):
            wait(asked.values(), timeout=PAUSE if end else LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for address in [address for address, answer in asked.items() if answer.done()]:
                answers[address] = asked.pop(address).result()
            there = self.client.scheduler_info(n_workers=-1)["workers"] if end is None else asked
            asked = {address: answer for address, answer in asked.items() if address in there}
        return answers

    def _ask_one(self, function: Any, args: tuple[Any, ...], address: str) -> Any:
        """Return what a worker answers; an exception where it does not."""
        try:
            return self.client.run(function, *args, workers=[address], on_error="return")[address]
        except Exception as error:  # whatever it is: this one has not answered
            return error

    def _lost_scheduler(self) -> None:
        cause = "the scheduler was lost"
        hint = "start it and run the same command again; what has arrived is not sent again"
        self.coordinator.fail("connection", self.address, cause, hint)


def _less(one: tuple[int | None, float | None], other: tuple[int | None, float | None]) -> Any:
    """Return the stricter of two bounds."""
    return tuple(
        min((value for value in pair if value is not None), default=None)
        for pair in zip(one, other, strict=True)
    )
