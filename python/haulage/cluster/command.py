"""What the command calls: ``haul cp --nodes``, ``--scheduler`` and ``--scheduler-file``."""

from __future__ import annotations

import logging
import sys
import warnings
from os import PathLike
from typing import TYPE_CHECKING

from haulage.cluster.driver import drive as carry, fail
from haulage.cluster.places import cluster, refuse_secrets
from haulage.cluster.starting import Starting
from haulage.errors import CancelledError

if TYPE_CHECKING:
    from haulage._engine import Coordinator


def drive(
    coordinator: Coordinator,
    scheduler: str | None,
    scheduler_file: str | PathLike[str] | None,
    nodes: int | None,
    quiet: bool,
) -> None:
    """Carry shards from the coordinator to the cluster that is named. What goes wrong is told to the job.

    Nodes that start on this machine are said on standard error, unless it is ``quiet``.

    Whoever calls this finishes the job.
    """
    # The command says in words of its own what is wrong.
    logging.disable()
    warnings.simplefilter("ignore")
    try:
        told = None if nodes is None or quiet else Starting(nodes, sys.stderr)
        # The process ends only when this thread has: a job that is stopped has to stop the waiting too.
        place = cluster(
            scheduler=scheduler,
            scheduler_file=scheduler_file,
            nodes=nodes,
            stopped=lambda: coordinator.phase() in ("stop", "ended"),
        )
        with place as client:
            if told is not None:
                told.started()
            refuse_secrets(client, coordinator.urls())
            carry(coordinator, client)
    except CancelledError:
        # The job was stopped while the scheduler was waited for, and knows that.
        pass
    except Exception as error:  # the job must hear of it, whatever it is
        fail(coordinator, error)
