"""Which cluster a copy runs on, and whether secrets may travel there."""

from __future__ import annotations

import logging
import operator
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing import resource_tracker
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from haulage.cluster.connecting import address_in, connect
from haulage.cluster.scheduler import address_of
from haulage.errors import ArgumentTypeError, UsageError, missing_package

if TYPE_CHECKING:
    from distributed import Client

#: Parameters of a URL that are as good as a key.
SECRETS = {"sig", "x-amz-signature", "x-amz-security-token", "x-amz-credential"}


class Place(AbstractContextManager["Client"]):
    """A client, and what is to be closed when it is not needed any more."""

    def __init__(self, client: Client, stack: ExitStack) -> None:
        self._client = client
        self._stack = stack

    def __enter__(self) -> Client:
        return self._client

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def pop_all(self) -> ExitStack:
        """Leave what is to be closed to whoever closes the result."""
        return self._stack.pop_all()


def cluster(
    *,
    client: Client | None = None,
    scheduler: str | None = None,
    scheduler_file: str | PathLike[str] | None = None,
    nodes: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Place:
    """Connect to the one cluster that is named, or start one on this machine.

    Args:
        client: A client of it.
        scheduler: The address of its scheduler.
        scheduler_file: The file that holds that address.
        nodes: How many nodes to start here.
        stopped: Asked many times a second, while the scheduler is waited for, whether to give up.

    Raises:
        UsageError: Not exactly one is named, or what is named cannot be one.
        UnsupportedError: Dask is not installed.
        NotFoundError: There is no such file.
        ConnectionLostError: The scheduler does not answer, or is not one.
        CancelledError: ``stopped`` said so.
    """
    named = {"client": client, "scheduler": scheduler, "scheduler_file": scheduler_file, "nodes": nodes}
    given = [name for name, value in named.items() if value is not None]
    if len(given) != 1:
        cause = f"{' and '.join(given)} at once" if given else "no cluster is named"
        raise UsageError(
            "run", "nodes", cause, "give exactly one of client, scheduler, scheduler_file, nodes"
        )
    try:
        from distributed import Client as Connect
    except ModuleNotFoundError as error:
        raise missing_package("run", "nodes", error.name, "cluster") from None
    if client is not None:
        if not isinstance(client, Connect):
            cause = f"the client is of type {type(client).__name__}, and one of Dask is expected"
            hint = "pass distributed.Client(...); for an address, pass scheduler="
            raise ArgumentTypeError("run", "client", cause, hint)
        return Place(client, ExitStack())
    if nodes is not None:
        return _of_this_machine(count_of(nodes))
    if scheduler_file is not None:
        scheduler = address_in(scheduler_file)
    assert scheduler is not None
    stack = ExitStack()
    return Place(stack.enter_context(connect(scheduler, stopped)), stack)


def must_not_stop(client: Any) -> None:
    """Refuse to wait in the event loop of an asynchronous client, which would never hear from its cluster.

    Raises:
        UsageError: The call is made in the loop of the client.
    """
    # From another thread such a client is as good as any; and what is no client is refused later.
    if getattr(client, "asynchronous", False) is True:
        cause = "the client is asynchronous, and this call would stop its event loop"
        hint = "await haulage.cluster.start(...) or start_sync(...), or call this with asyncio.to_thread"
        raise UsageError("run", "client", cause, hint)


def count_of(nodes: Any) -> int:
    """Return a number of nodes.

    Raises:
        UsageError: It is none.
    """
    hint = "write a number from 1"
    try:
        count = operator.index(nodes)
    except TypeError:
        cause = f"their number is of type {type(nodes).__name__}, and a whole number is expected"
        raise ArgumentTypeError("run", "nodes", cause, hint) from None
    if count < 1:
        raise UsageError("run", "nodes", "there must be at least one", hint)
    return count


def _of_this_machine(nodes: int) -> Place:
    """Start a cluster of processes here; it ends with its place."""
    from distributed import Client, LocalCluster
    from distributed.security import Security

    stack = ExitStack()
    with _deaf_to_ctrl_c():
        local = LocalCluster(
            n_workers=nodes,
            # The next shard is taken in while the last requests of the one before come to their end.
            threads_per_worker=2,
            processes=True,
            protocol="tls://",
            # Others on this machine must not reach it: whoever does can run code.
            security=Security.temporary(),
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            # Bytes in flight are bounded by the engine; nothing is kept.
            memory_limit=0,
            # What Dask prints of processes that end is for nobody: the job says what failed.
            silence_logs=logging.CRITICAL,
            preload=["haulage.cluster.quiet"],
        )
        stack.enter_context(local)
    return Place(stack.enter_context(Client(local)), stack)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Have processes that are started within, or later by threads that begin within, not hear of Ctrl-C.

    A terminal tells it to all processes. Those of ours are ended by this one; without this, each prints a
    traceback first.
    """
    # It blocks and unblocks the same signal where it is started, so it is started before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def refuse_secrets(client: Client, names: Iterable[Any]) -> None:
    """Refuse to send a signature in a URL where others could read it.

    Raises:
        UsageError: A name holds one, and the scheduler is not reached over ``tls://``.
    """
    address = address_of(client)
    if address.startswith(("tls://", "inproc://")):
        return
    for name in names:
        parts = urlsplit(name) if isinstance(name, str) and "://" in name else None
        if parts and any(key.lower() in SECRETS for key, _ in parse_qsl(parts.query, keep_blank_values=True)):
            cause = f"a signature in a URL is not sent over {address.partition('://')[0]}://"
            hint = "use a scheduler at tls://, or set the credentials in the environment of each node"
            raise UsageError("run", name.partition("?")[0], cause, hint)
