"""Copy and sync with many nodes: the workers of a Dask cluster move the bytes, and this process coordinates.

>>> import pathlib, tempfile
>>> from haulage import cluster
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> (folder / "from").mkdir()
>>> _ = (folder / "from" / "a.nc").write_bytes(b"hello")
>>> cluster.copy(folder / "from", folder / "to", nodes=1).objects_done  # doctest: +SKIP
1

Needs ``pip install 'haulage[cluster]'``, in the same version here and on every node.

This process lists and plans the work, divides it into shards, and assigns them: one running and one waiting
for each worker, smaller ones towards the end. Several nodes stage parts of a large object, which is committed
once. If a worker dies, nothing is lost: its shards are assigned to other workers, which check what exists
already and continue from what it has staged. Workers can join and leave while the job runs.

Every node must be able to reach the source and the destination: local paths must be on a file system that all
of them share. Credentials are not sent to the nodes; each finds its own in its environment, or has a managed
identity. A signature in a URL is sent only to workers that are reached over ``tls://``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from haulage import _engine
from haulage.bar import shown
from haulage.cluster.places import cluster, count_of, must_not_stop, refuse_secrets
from haulage.cluster.starting import Starting
from haulage.events import Progress, Summary
from haulage.job import for_engine, name, pairs, sources
from haulage.options import Pair
from haulage.transfer import Job, Name, Options

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["copy", "start", "start_sync", "sync"]


def copy(
    src: Name | Iterable[Name] | Iterable[Pair],
    dst: Name | None = None,
    *,
    client: Client | None = None,
    scheduler: str | None = None,
    scheduler_file: str | PathLike[str] | None = None,
    nodes: int | None = None,
    check: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Copy with all workers of a cluster; otherwise like :func:`haulage.copy`.

    Pass exactly one of ``client``, ``scheduler``, ``scheduler_file`` and ``nodes``.

    Args:
        src: As for :func:`haulage.copy`, except streams and ``mem://``.
        dst: As for :func:`haulage.copy`.
        client: A client of the cluster. It is not closed.
        scheduler: The address of the scheduler, ``tls://host:port`` or ``tcp://host:port``.
        scheduler_file: The file that ``dask scheduler --scheduler-file`` has written.
        nodes: Start this many worker processes on this machine. They end with the copy.
        check: Raise if objects failed. With ``False``, check the summary yourself.
        on_progress: Called with a sample about five times a second, in this thread.
        options: See :class:`haulage.Options`. ``cap`` applies to all nodes together, ``max_memory`` and
            ``concurrency`` to each.

    Raises:
        UsageError: Not exactly one of client, scheduler, scheduler_file and nodes; a secret that would be
            sent unencrypted; or an asynchronous client, in its own event loop.
        ConnectionLostError: The scheduler cannot be reached, or was lost.
        HaulageError: The copy failed, as for :func:`haulage.copy`.
    """
    must_not_stop(client)
    job = start(
        src,
        dst,
        client=client,
        scheduler=scheduler,
        scheduler_file=scheduler_file,
        nodes=nodes,
        **options,
    )
    return job.wait(check=check, on_progress=on_progress)


def start(
    src: Name | Iterable[Name] | Iterable[Pair],
    dst: Name | None = None,
    *,
    client: Client | None = None,
    scheduler: str | None = None,
    scheduler_file: str | PathLike[str] | None = None,
    nodes: int | None = None,
    listen: bool = False,
    **options: Unpack[Options],
) -> Job:
    """Start a copy with all workers of a cluster and return its job; arguments as for :func:`copy`.

    Args:
        src: As for :func:`copy`.
        dst: As for :func:`copy`.
        client: As for :func:`copy`.
        scheduler: As for :func:`copy`.
        scheduler_file: As for :func:`copy`.
        nodes: As for :func:`copy`.
        listen: Keep events for ``events()``; you must then read them.
        options: As for :func:`copy`.
    """
    given = [] if dst is None else sources(src)
    paired = pairs(src) if dst is None else []
    into = None if dst is None else name(dst, "destination")
    settled = for_engine(options)
    named = [*given, *(one for pair in paired for one in pair), into or ""]
    return _started(
        "copy",
        lambda: _engine.coordinate(given, into, paired, listen, **settled),
        [*named, options.get("log") or ""],
        {"client": client, "scheduler": scheduler, "scheduler_file": scheduler_file, "nodes": nodes},
    )


def sync(
    src: Name,
    dst: Name,
    *,
    client: Client | None = None,
    scheduler: str | None = None,
    scheduler_file: str | PathLike[str] | None = None,
    nodes: int | None = None,
    delete: bool = False,
    max_delete: int | str | None = None,
    allow_empty: bool = False,
    check: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Make ``dst`` match ``src`` with all workers of a cluster; otherwise like :func:`haulage.sync`.

    This process lists and compares, the workers copy. With ``delete``, this process removes what only ``dst``
    has when all workers are done, and nothing if an object failed or a list was incomplete.

    Args:
        src: As for :func:`haulage.sync`, except ``mem://``.
        dst: As for :func:`haulage.sync`.
        client: As for :func:`copy`.
        scheduler: As for :func:`copy`.
        scheduler_file: As for :func:`copy`.
        nodes: As for :func:`copy`.
        delete: As for :func:`haulage.sync`.
        max_delete: As for :func:`haulage.sync`.
        allow_empty: As for :func:`haulage.sync`.
        check: Raise if objects failed, or if objects that should have been deleted were not.
        on_progress: Called with a sample about five times a second, in this thread.
        options: See :class:`haulage.Options`, without ``dry_run`` and ``backup_dir``; ``cap`` applies to all
            nodes together, ``max_memory`` and ``concurrency`` to each.

    Raises:
        UsageError: As for :func:`copy`.
        UnsupportedError: ``dry_run`` or ``backup_dir``: use :func:`haulage.sync`.
        ConnectionLostError: The scheduler cannot be reached, or was lost.
        HaulageError: The sync failed, as for :func:`haulage.sync`.
    """
    must_not_stop(client)
    job = start_sync(
        src,
        dst,
        client=client,
        scheduler=scheduler,
        scheduler_file=scheduler_file,
        nodes=nodes,
        delete=delete,
        max_delete=max_delete,
        allow_empty=allow_empty,
        **options,
    )
    return job.wait(check=check, on_progress=on_progress)


def start_sync(
    src: Name,
    dst: Name,
    *,
    client: Client | None = None,
    scheduler: str | None = None,
    scheduler_file: str | PathLike[str] | None = None,
    nodes: int | None = None,
    delete: bool = False,
    max_delete: int | str | None = None,
    allow_empty: bool = False,
    listen: bool = False,
    **options: Unpack[Options],
) -> Job:
    """Start a sync with all workers of a cluster and return its job; arguments as for :func:`sync`.

    Args:
        src: As for :func:`sync`.
        dst: As for :func:`sync`.
        client: As for :func:`copy`.
        scheduler: As for :func:`copy`.
        scheduler_file: As for :func:`copy`.
        nodes: As for :func:`copy`.
        delete: As for :func:`sync`.
        max_delete: As for :func:`sync`.
        allow_empty: As for :func:`sync`.
        listen: Keep events for ``events()``; you must then read them.
        options: As for :func:`sync`.
    """
    most = None if max_delete is None else str(max_delete)
    src, dst = name(src, "source"), name(dst, "destination")
    settled = for_engine(options)
    return _started(
        "sync",
        lambda: _engine.coordinate_sync(
            src, dst, listen, delete=delete, max_delete=most, allow_empty=allow_empty, **settled
        ),
        [src, dst, options.get("log") or ""],
        {"client": client, "scheduler": scheduler, "scheduler_file": scheduler_file, "nodes": nodes},
    )


def _started(
    operation: str,
    coordinate: Callable[[], tuple[_engine.Job, _engine.Coordinator]],
    named: list[Any],
    where: dict[str, Any],
) -> Job:
    from haulage.cluster.driver import drive

    # As with the bar of the job: scripts stay quiet.
    nodes = where["nodes"] = None if where["nodes"] is None else count_of(where["nodes"])
    told = Starting(nodes, sys.stderr) if nodes and shown(None, operation) is not None else None
    place = cluster(**where)
    with place as opened:
        if told is not None:
            told.started()
        refuse_secrets(opened, named)
        engine, coordinator = coordinate()
        held = place.pop_all()

    def run() -> None:
        with held:
            drive(coordinator, opened)

    threading.Thread(target=run, name="haulage-nodes", daemon=True).start()
    # It runs already, and from now on belongs to this process.
    return Job(engine, operation).start()
