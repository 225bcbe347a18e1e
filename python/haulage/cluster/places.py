"""Which cluster a copy runs on, and whether secrets may travel there."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing import resource_tracker
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from haulage.cluster.scheduler import address_of
from haulage.errors import ConnectionLostError, NotFoundError, UnsupportedError, UsageError

if TYPE_CHECKING:
    from distributed import Client

#: A scheduler that does not answer for so long is not there.
CONNECT_SECONDS = 10

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
) -> Place:
    """Connect to the one cluster that is named, or start one on this machine.

    Raises:
        UsageError: Not exactly one is named.
        UnsupportedError: Dask is not installed.
        NotFoundError: There is no such file.
        ConnectionLostError: The scheduler does not answer.
    """
    named = {"client": client, "scheduler": scheduler, "scheduler_file": scheduler_file, "nodes": nodes}
    given = [name for name, value in named.items() if value is not None]
    if len(given) != 1:
        cause = f"{' and '.join(given)} at once" if given else "no cluster is named"
        raise UsageError(
            "run", "nodes", cause, "give exactly one of client, scheduler, scheduler_file, nodes"
        )
    if client is not None:
        return Place(client, ExitStack())
    try:
        from distributed import Client as Connect, LocalCluster
        from distributed.security import Security
    except ModuleNotFoundError as error:
        hint = "pip install 'haulage[cluster]'"
        raise UnsupportedError("run", "nodes", f"the package {error.name} is missing", hint) from None
    stack = ExitStack()
    if nodes is not None:
        if nodes < 1:
            raise UsageError("run", "nodes", "there must be at least one", "write a number from 1")
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
        return Place(stack.enter_context(Connect(local)), stack)
    if scheduler_file is not None:
        shown = fspath(scheduler_file)
        if not Path(shown).exists():
            hint = f"start one with: dask scheduler --scheduler-file {shown}"
            raise NotFoundError("connect", shown, "there is no such file", hint)
        where = {"scheduler_file": shown}
    else:
        shown = str(scheduler)
        where = {"address": shown}
    try:
        connected = Connect(**where, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        hint = "is the scheduler running? dask scheduler starts one"
        cause = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConnectionLostError("connect", shown, cause, hint) from None
    return Place(stack.enter_context(connected), stack)


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
