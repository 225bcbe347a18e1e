"""What the command calls: ``haul cp --nodes``, ``--scheduler`` and ``--scheduler-file``."""

from __future__ import annotations

import logging
import warnings
from os import PathLike
from typing import TYPE_CHECKING

from haulage.cluster.driver import drive as carry, fail
from haulage.cluster.places import cluster, refuse_secrets

if TYPE_CHECKING:
    from haulage._engine import Coordinator


def drive(
    coordinator: Coordinator,
    scheduler: str | None,
    scheduler_file: str | PathLike[str] | None,
    nodes: int | None,
) -> None:
    """Carry shards from the coordinator to the cluster that is named. What goes wrong is told to the job.

    Whoever calls this finishes the job.
    """
    # The command says in words of its own what is wrong.
    logging.disable()
    warnings.simplefilter("ignore")
    try:
        with cluster(scheduler=scheduler, scheduler_file=scheduler_file, nodes=nodes) as client:
            refuse_secrets(client, coordinator.urls())
            carry(coordinator, client)
    except Exception as error:  # the job must hear of it, whatever it is
        fail(coordinator, error)
