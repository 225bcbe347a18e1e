"""Nodes on the workers of a Dask cluster, in place of processes of this machine: one a worker.

A node is a task that runs as long as the run does, in a thread of its worker, and does what the fleet says
over a connection of its own. Each worker must have a thread to spare, and must reach this machine.
"""

from __future__ import annotations

import logging
import secrets
import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from haulage import __version__
from haulage.cluster.connecting import address_in
from haulage.cluster.places import cluster
from haulage.errors import UnsupportedError, UsageError
from haulage.lab.plan import Plan
from haulage.lab.scale.fleet import Handle
from haulage.lab.scale.node import serve
from haulage.lab.target import Target

if TYPE_CHECKING:
    from distributed import Client

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Where:
    """The scheduler whose workers become nodes; neither: they are processes of this machine.

    Attributes:
        address: ``tcp://HOST:PORT`` or ``tls://HOST:PORT``.
        file: What ``dask scheduler --scheduler-file`` has written, in place of that.
    """

    address: str | None = None
    file: str | None = None

    def __bool__(self) -> bool:
        return self.address is not None or self.file is not None

    def check(self, plan: Plan, target: Target) -> None:
        """See that the plan can run there.

        Raises:
            UsageError: It cannot.
        """
        if not self:
            return
        if self.address is not None and self.file is not None:
            hint = "leave out --scheduler or --scheduler-file"
            raise UsageError("run", plan.name, "two schedulers are named", hint)
        if not plan.counts:
            hint = "run scale-out, or write [scale] nodes = [1, 2, 4] into the plan"
            raise UsageError("run", plan.name, "a scheduler is for plans with many nodes", hint)
        if plan.source != "memory":
            cause = "the files of this machine are not on the workers"
            raise UsageError("run", plan.name, cause, 'write source = "memory"')
        if (
            target.url is not None
            and "?" in target.url
            and not _is_here(self.address if self.address is not None else address_in(self.file or ""))
        ):
            hint = "leave the SAS out of the URL, and set the credentials in the environment of each worker"
            raise UsageError("run", target.text, "a SAS is not sent to other machines in the clear", hint)


#: As processes of this machine.
HERE = Where()


class Workers:
    """The workers of a cluster; each is given one node at a time.

    Raises:
        UnsupportedError: Dask is not installed, or a worker has another version of this package.
        NotFoundError: There is no such file of a scheduler.
        LocalIOError: The file of a scheduler cannot be read.
        UsageError: It is not one that a scheduler has written, or nodes elsewhere cannot reach the target.
        ConnectionLostError: The scheduler does not answer.
    """

    def __init__(self, where: Where, *, emulated: bool) -> None:
        # The command says in words of its own what is wrong.
        logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
        self._open = ExitStack()
        self._client = self._open.enter_context(cluster(scheduler=where.address, scheduler_file=where.file))
        self._given: dict[int, str] = {}
        try:
            address = str(self._client.scheduler.address)
            there = [str(of["host"]) for of in self._there().values()]
            if emulated and not (_is_here(address) and set(there) <= set(_LOOPBACK)):
                hint = "name a place that all workers reach: --to https://HOST/CONTAINER"
                raise UsageError("run", address, "an emulated target is on this machine alone", hint)
            _same_version(self._client)
            #: Where the fleet listens: the address of this machine on the way to the scheduler.
            self.listen = _own_address(address)
        except BaseException:
            self.close()
            raise

    def _there(self) -> dict[str, Any]:
        return dict(self._client.scheduler_info(n_workers=-1)["workers"])

    def start(self, host: str, port: int, number: int, word: str) -> Handle | None:
        """Start a node on a worker that has none; ``None`` where there is no such worker."""
        free = sorted(self._there().keys() - set(self._given.values()))
        if not free:
            return None
        self._given[number] = free[0]
        task = self._client.submit(
            serve,
            host,
            port,
            number,
            word,
            stays=True,
            key=f"haulage-node-{number:02}-{secrets.token_hex(4)}",
            workers=[free[0]],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )

        def end(grace_s: float) -> None:
            from distributed import wait

            # Its line is closed: it clears up and ends by itself. One whose worker is gone never ends.
            with suppress(TimeoutError, Exception):
                wait(task, timeout=max(grace_s, 0.1))
            with suppress(Exception):
                task.cancel(force=True)
            self._given.pop(number, None)

        return Handle(end)

    def close(self) -> None:
        """Let go of the cluster."""
        with suppress(Exception):
            self._open.close()


def version() -> str:
    """Return the version of this package, on a worker; with it come the modules that a node needs."""
    return __version__


def _same_version(client: Client) -> None:
    for address, found in client.run(version, on_error="return").items():
        if found != __version__:
            said = found if isinstance(found, str) else f"none that works: {found}"
            cause = f"this worker has version {said}, and this machine has {__version__}"
            hint = "install the same version on all nodes"
            raise UnsupportedError("run", str(address), cause, hint)


def _is_here(address: str | None) -> bool:
    """Whether an address is of this machine alone."""
    return address is not None and (urlsplit(address).hostname or "") in _LOOPBACK


def _own_address(scheduler: str) -> str:
    where = urlsplit(scheduler)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        # Nothing is sent: this asks the kernel which way it would go.
        way.connect((where.hostname or "", where.port or 1))
        return str(way.getsockname()[0])
