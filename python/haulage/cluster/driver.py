"""Carries shards from the coordinator to the workers of a cluster, and what became of them back.

The window is driven from here: one shard running and one waiting for each worker, so that the coordinator can
cut them smaller towards the end, and a worker that comes late gets its share.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future as Answer, wait
from typing import TYPE_CHECKING, Any, TypeAlias

from haulage import __version__
from haulage.cluster import scheduler as at_scheduler, worker as on_worker
from haulage.errors import HaulageError

if TYPE_CHECKING:
    from distributed import Client, Future

    from haulage._engine import Coordinator

#: Shards with each worker: one that runs, and one that waits.
EACH = 2

#: How long to wait for something to happen, in seconds.
PAUSE = 0.05

#: How often bounds that all share are shared out anew.
SHARE_SECONDS = 0.25

#: A scheduler whose connection is gone for so long does not come back.
GONE_SECONDS = 5.0

#: How long nodes may take to end that were stopped.
STOP_SECONDS = 5.0

#: How long to wait for what became of a shard before it is asked for again.
RESULT_SECONDS = 1.0
RESULT_SECONDS_MAX = 60.0

#: A cluster that has no workers for so long is spoken of.
ALONE_SECONDS = 10.0

#: Rounds in which the clocks of the nodes are compared with ours.
CLOCK_ROUNDS = 5


#: What each node may take: bits a second and requests a second.
Shares: TypeAlias = dict[str, tuple[int | None, float | None]]


def drive(coordinator: Coordinator, client: Client) -> None:
    """Carry shards until the job ends. What goes wrong ends the job, and is never raised."""
    run: _Run | None = None
    try:
        run = _Run(coordinator, client)
        run.carry()
    except Exception as error:  # the job must hear of it, whatever it is
        fail(coordinator, error)
    try:
        if run is not None:
            run.end()
    except Exception as error:  # the nodes that did not answer are named by the job
        coordinator.warn("the cluster", f"its nodes could not be ended: {type(error).__name__}")
    finally:
        coordinator.finish()
        if run is not None:
            run.leave()


def fail(coordinator: Coordinator, error: Exception) -> None:
    """End the job with what went wrong."""
    if isinstance(error, HaulageError):
        coordinator.fail(error.code, error.object, error.cause, error.hint)
        return
    cause = f"{type(error).__name__}: {error}".splitlines()[0]
    coordinator.fail("service", "the cluster", cause, "is the cluster healthy? look at its logs")


class _Run:
    def __init__(self, coordinator: Coordinator, client: Client) -> None:
        self.coordinator = coordinator
        self.client = client
        self.job = coordinator.job()
        self.spec = coordinator.spec()
        self.scheduler = at_scheduler.Scheduler(client)
        self.out: dict[str, tuple[int, Future]] = {}
        self.tries: dict[int, int] = {}
        #: Questions that are not answered yet: a worker that does not answer is not asked the same again.
        self.asked: dict[tuple[str, str], Answer[Any]] = {}
        #: How often a result was asked for that did not come.
        self.waited: dict[int, int] = {}
        self.began = time.monotonic()
        self.warned = False
        self.ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        #: The workers, by address, with the name of the node where it has beaten.
        self.workers: dict[str, str] = {}
        self.clocks: set[str] = set()
        self.shares: Shares = {}
        #: When the job of each node began there: one that began anew has not been told its share.
        self.starts: dict[str, int] = {}
        self.shared = 0.0
        self.gone_since: float | None = None
        #: The scheduler does not answer: nothing can be asked of it.
        self.silent = self.lost = False
        client.subscribe_topic(on_worker.topic(self.job), self._told)

    def carry(self) -> None:
        """Deal out shards until all objects have ended, or the job is stopped."""
        # How shards are cut depends on how many workers there are.
        self._hear_now(at_scheduler.SILENT_SECONDS)
        self._look(news=True)
        while self.coordinator.phase() == "deal":
            self._look()
            if self.silent:
                time.sleep(PAUSE)
                continue
            self._deal()
            with contextlib.suppress(queue.Empty):
                future = self.ended.get(timeout=PAUSE)
                while True:
                    known = self.out.pop(future.key, None)
                    # The node gets its next shard before the result is asked for, which takes a round trip.
                    self._deal()
                    if known is not None and not self._came(known[0], future):
                        break
                    future = self.ended.get_nowait()
            self._share()

    def end(self) -> None:
        """End the nodes and take in what they say; those that are stopped are not waited for."""
        stopped = self.coordinator.phase() == "stop"
        if self.client.status != "running":
            return
        heard = self._hear_now(STOP_SECONDS if stopped else None)
        there = sorted(self.scheduler.workers)
        if not heard:
            # Nobody else tells the nodes; a scheduler that goes on takes the shards back.
            self.silent = True
            self.scheduler.run_past_it(on_worker.cancel, self.job, workers=there, seconds=STOP_SECONDS)
            self.client.cancel([future for _, future in self.out.values()], force=True)
            return
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
        if self.client.status == "running":
            topic = on_worker.topic(self.job)
            # The job has ended, and what is left at the scheduler harms nobody.
            with contextlib.suppress(Exception):
                self.client.unsubscribe_topic(topic)
                if not self.silent:
                    self.scheduler.forget(topic, STOP_SECONDS)

    def _told(self, event: tuple[float, Any]) -> None:
        """Take in a sign of life; called in the thread of the client."""
        told = event[1]
        node = self.workers[told["address"]] = told["node"]
        if self.starts.get(node) != told["start"]:
            self.starts[node] = told["start"]
            self.shares.pop(node, None)
        self.coordinator.beat(told["beat"])

    def _look(self, news: bool = False) -> None:
        """Look which workers there are, and whether the scheduler is."""
        if not self._hear() and not news:
            return
        now = time.monotonic()
        there = self.scheduler.workers
        if there:
            self.began, self.warned = now, False
        elif now - self.began > ALONE_SECONDS and not self.warned:
            self.warned = True
            self.coordinator.warn(self.scheduler.address, "there are no workers; waiting for some")
        for address in there - self.workers.keys():
            self.workers[address] = ""
        for address in self.workers.keys() - there:
            if node := self.workers.pop(address):
                self.coordinator.gone(node)
            self.clocks.discard(address)
        known = list(self.workers.items())
        new = [address for address, node in known if node and address not in self.clocks]
        if new:
            self._compare_clocks(new)

    def _hear(self) -> bool:
        """Return whether the scheduler has said something new; one that is silent too long ends the job."""
        now = time.monotonic()
        if self.client.status != "running":
            since = self.gone_since = self.gone_since or now
            if now - since > GONE_SECONDS or self.client.status in ("closed", "closing"):
                self._lost_scheduler()
            time.sleep(PAUSE)
            return False
        self.gone_since = None
        news = self.scheduler.look(now)
        silent = self.scheduler.silent(now)
        if silent > at_scheduler.SILENT_SECONDS and not self.silent:
            self.coordinator.warn(self.scheduler.address, "the scheduler does not answer; waiting")
        self.silent = silent > at_scheduler.SILENT_SECONDS
        if silent > at_scheduler.LOST_SECONDS:
            self._lost_scheduler()
        return news

    def _hear_now(self, seconds: float | None) -> bool:
        """Wait until the scheduler has said which workers there are now; return whether it has."""
        self.scheduler.ask_anew()
        phase = self.coordinator.phase()
        end = float("inf") if seconds is None else time.monotonic() + seconds
        while not self._hear():
            if self.lost or self.coordinator.phase() != phase or time.monotonic() > end:
                return False
            time.sleep(PAUSE / 10)
        return True

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

    def _came(self, number: int, future: Future) -> bool:
        """Take in a shard that has ended; return false where it has to be asked for again."""
        if future.status == "finished":
            waited = self.waited[number] = self.waited.get(number, 0) + 1
            try:
                result = self._result(future, min(RESULT_SECONDS * 2**waited, RESULT_SECONDS_MAX))
            except TimeoutError:
                pass
            except CancelledError:
                self.coordinator.lost(number)
                return True
            else:
                self.coordinator.came(result)
                return True
        if future.status in ("finished", "lost", "pending"):
            # The worker was lost before it could hand over the result: the scheduler has it moved again.
            self.out[future.key] = (number, future)
            future.add_done_callback(self.ended.put)
            return False
        if future.status == "cancelled":
            # The scheduler has lost it, or is lost itself, which shows soon.
            self.coordinator.lost(number)
            return True
        error = future.exception()
        name = type(error).__name__
        if isinstance(error, on_worker.ShardCostNodesError):
            cause = f"{on_worker.STARTS_MAX} nodes were lost while they moved the shard that it is in"
            self.coordinator.failed(number, "node_lost", "run", "shard", cause, None)
        elif name == "KilledWorker" or (isinstance(error, HaulageError) and error.code == "cancelled"):
            self.coordinator.lost(number)
        elif isinstance(error, HaulageError):
            told = (error.code, error.operation, error.object, error.cause, error.hint)
            self.coordinator.failed(number, *told)
        else:
            cause = f"{name}: {error}"
            hint = "is haulage installed on each node, in the same version?"
            self.coordinator.failed(number, "service", "run", f"shard {number}", cause, hint)
        return True

    def _result(self, future: Future, seconds: float) -> Any:
        """Return the result of a shard; give up if the scheduler is lost while it is awaited."""
        end = time.monotonic() + seconds
        while True:
            try:
                return future.result(timeout=RESULT_SECONDS)
            except TimeoutError:
                if self.client.status != "running" or time.monotonic() > end:
                    raise

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
        addresses = {node: address for address, node in list(self.workers.items()) if node in shares}
        lowered = [node for node in addresses if less[node] != self.shares.get(node)]
        told = self._allow(less, {node: addresses[node] for node in lowered})
        # Nobody gets more before all that get less have said so; until then it is tried again.
        if told == set(lowered):
            raised = {node: at for node, at in addresses.items() if shares[node] != self.shares.get(node)}
            self._allow(shares, raised)

    def _allow(self, shares: Shares, addresses: dict[str, str]) -> set[str]:
        """Tell nodes their shares; return those that have taken it in."""
        if not addresses:
            return set()
        at = [*addresses.values()]
        told = self._ask(on_worker.allow, self.job, shares, workers=at, seconds=SHARE_SECONDS)
        taken = {node for node, address in addresses.items() if told.get(address) is True}
        self.shares.update({node: shares[node] for node in taken})
        return taken

    def _ask(
        self, function: Any, *args: Any, workers: list[str], seconds: float | None = None
    ) -> dict[str, Any]:
        """Call a function on workers; return what they answer, by address.

        Each is asked by itself, so that one that is lost holds up none of the others. It is not waited for
        longer than it is there, and not for more than ``seconds``.
        """
        asked: dict[str, Answer[Any]] = {}
        for address in workers:
            before = self.asked.get((function.__name__, address))
            if before is None or before.done():
                asked[address] = self.asked[function.__name__, address] = self._begin(function, args, address)
        end = None if seconds is None else time.monotonic() + seconds
        answers: dict[str, Any] = {}
        while asked and (end is None or time.monotonic() < end):
            wait(asked.values(), timeout=PAUSE, return_when=FIRST_COMPLETED)
            for address in [address for address, answer in asked.items() if answer.done()]:
                answers[address] = asked.pop(address).result()
            if end is None:
                if self._hear():
                    there = self.scheduler.workers
                    asked = {address: answer for address, answer in asked.items() if address in there}
                if self.coordinator.phase() == "stop":
                    end = time.monotonic() + STOP_SECONDS
        return answers

    def _begin(self, function: Any, args: tuple[Any, ...], address: str) -> Answer[Any]:
        """Ask a worker, in a thread that nobody waits for at the end of the program."""
        answer: Answer[Any] = Answer()
        threading.Thread(
            target=lambda: answer.set_result(self._ask_one(function, args, address)),
            name="haulage-ask",
            daemon=True,
        ).start()
        return answer

    def _ask_one(self, function: Any, args: tuple[Any, ...], address: str) -> Any:
        """Return what a worker answers; an exception where it does not."""
        try:
            return self.client.run(function, *args, workers=[address], on_error="return")[address]
        except Exception as error:  # whatever it is: this one has not answered
            return error

    def _lost_scheduler(self) -> None:
        if self.lost:
            return
        self.lost = True
        cause = "the scheduler was lost"
        hint = "start it and run the same command again; what has arrived is not sent again"
        self.coordinator.fail("connection", self.scheduler.address, cause, hint)


def _less(one: tuple[int | None, float | None], other: tuple[int | None, float | None]) -> Any:
    """Return the stricter of two bounds."""
    return tuple(
        min((value for value in pair if value is not None), default=None)
        for pair in zip(one, other, strict=True)
    )
