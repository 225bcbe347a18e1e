"""What runs on the workers: moves shards with the engine of this process, and says how far it has come.

Functions here are sent by name: the package must be installed on each node in the same version.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haulage import __version__
from haulage._engine import Node
from haulage.errors import CancelledError, HaulageError, UnsupportedError

if TYPE_CHECKING:
    from distributed import Worker

#: How often a node says that it is alive, in seconds.
BEAT_SECONDS = 0.5

#: A job that was given nothing for so long was forgotten by whoever started it.
FORGOTTEN_SECONDS = 600.0

#: The same, where nobody waited any more for a shard that it was given.
ABANDONED_SECONDS = 5.0

#: Starts of a shard after which it is not tried again: each ended with the loss of a node.
STARTS_MAX = 3


@dataclass(frozen=True)
class Task:
    """A shard, and what a node must know to move it."""

    job: str
    number: int
    #: Not shown: the logs of a worker that fails show its tasks, and there may be a signature in a URL.
    shard: bytes = field(repr=False)
    spec: bytes = field(repr=False)
    version: str


class _Held:
    """The job of this process, with the thread that beats."""

    def __init__(self, task: Task, worker: Worker) -> None:
        self.name = name_of(worker)
        folder = tempfile.TemporaryDirectory(prefix="haulage-node-", ignore_cleanup_errors=True)
        self.folder = folder
        self.record = Path(folder.name) / "record.parquet"
        self.node = Node(task.spec, self.name, record=self.record)
        #: Another job of this process has another one.
        self.start = time.time_ns()
        self.used = time.monotonic()
        self.running = 0
        #: Nobody waited any more for a shard of it.
        self.abandoned = False
        self._job = task.job
        self._worker = worker
        self._over = threading.Event()
        threading.Thread(target=self._beat, name="haulage-beat", daemon=True).start()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            if self.running:
                self.used = time.monotonic()
            elif time.monotonic() - self.used > (ABANDONED_SECONDS if self.abandoned else FORGOTTEN_SECONDS):
                self.node.cancel()
                _jobs.pop(self._job, None)
                return
            self.beat()

    def beat(self) -> None:
        address = self._worker.address
        told = {"node": self.name, "address": address, "start": self.start, "beat": self.node.beat()}
        # A worker that is on its way out says nothing any more.
        with contextlib.suppress(RuntimeError):
            self._worker.log_event(topic(self._job), told)

    def end(self) -> tuple[bytes, bytes | None]:
        self._over.set()
        try:
            end = self.node.end()
            record = self.record.read_bytes() if self.record.exists() else None
        finally:
            self.folder.cleanup()
        return end, record


_jobs: dict[str, _Held] = {}
#: Jobs that were stopped: a shard that comes late begins none of them again.
_stopped: set[str] = set()
_opening = threading.Lock()


def topic(job: str) -> str:
    """Where the nodes of a job say how far they have come."""
    return f"haulage-{job}"


def name_of(worker: Worker) -> str:
    """Return what a node is called: the worker's name, with that of the machine where it is a mere number."""
    name = str(worker.name)
    return f"{socket.gethostname()}-{name}" if name.isdigit() else name.partition("://")[2] or name


def move(task: Task) -> bytes:
    """Move a shard; return what became of its objects.

    Raises:
        CancelledError: The job was stopped.
        UnsupportedError: Another version of the package is installed here.
        HaulageError: What stopped all of the shard.
    """
    from distributed import get_worker
    from distributed.worker import thread_state

    if task.version != __version__:
        cause = f"this node has version {__version__}, and the job was started with {task.version}"
        raise UnsupportedError("run", socket.gethostname(), cause, "install the same version on all nodes")
    worker = get_worker()
    key = thread_state.key
    starts = _started(worker, task)
    if starts > STARTS_MAX:
        raise ShardCostNodesError(task.number)
    with _naming(worker), _opening:
        if task.job in _stopped:
            raise CancelledError("run", "shard", "the job was stopped", None)
        held = _jobs.get(task.job)
        if held is None or held.node.has_ended():
            held = _jobs[task.job] = _Held(task, worker)
            held.beat()
        held.running += 1
        held.abandoned = False
    try:
        with _naming(worker):
            return held.node.run(task.shard, again=starts > 1, stopped=lambda: _is_cancelled(worker, key))
    except CancelledError:
        held.abandoned = True
        raise
    finally:
        with _opening:
            held.running -= 1


@contextmanager
def _naming(worker: Worker) -> Iterator[None]:
    """Have errors say on which node they were: each has its own credentials, disks and way to the service."""
    try:
        yield
    except CancelledError:
        raise
    except HaulageError as error:
        cause = f"{error.cause} (on node {name_of(worker)})"
        raise type(error)(error.operation, error.object, cause, error.hint) from None


class ShardCostNodesError(Exception):
    """A shard whose nodes were lost too often."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _is_cancelled(worker: Worker, key: str) -> bool:
    """Whether nobody waits for this task any more: a thread cannot be stopped, so it asks."""
    task = worker.state.tasks.get(key)
    return task is None or task.state == "cancelled"


def _started(worker: Worker, task: Task) -> int:
    """Count the starts of a shard on all nodes, this one too, where it outlives nodes: at the scheduler."""
    place = [topic(task.job), str(task.number)]

    async def count() -> int:
        scheduler: Any = worker.scheduler
        starts = int(await scheduler.get_metadata(keys=place, default=0)) + 1
        await scheduler.set_metadata(keys=place, value=starts)
        return starts

    return asyncio.run_coroutine_threadsafe(count(), worker.loop.asyncio_loop).result()


def now() -> int:
    """Return the time of this machine in nanoseconds since 1970."""
    return time.time_ns()


def allow(job: str, shares: dict[str, tuple[int | None, float | None]]) -> bool:
    """Bound what the node of this process may take of what all share; return whether there is one."""
    held = _jobs.get(job)
    if held is None or held.name not in shares:
        return False
    held.node.allow(*shares[held.name])
    return True


def cancel(job: str) -> None:
    """Stop the node of this process, and begin none for this job again."""
    with _opening:
        _stopped.add(job)
        held = _jobs.get(job)
    if held is not None:
        held.node.cancel()


async def end(job: str) -> tuple[bytes, bytes | None] | None:
    """End the node of this process; return how it ended, and its record."""
    held = _jobs.pop(job, None)
    if held is None:
        return None
    return await asyncio.get_running_loop().run_in_executor(None, held.end)
