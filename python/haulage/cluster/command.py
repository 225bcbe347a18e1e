"""What the command calls: ``haul cp --nodes``, ``--scheduler`` and ``--scheduler-file``."""

from __future__ import annotations

import logging
import warnings
from os import PathLike
from typing import TYPE_CHECKING

from haulage.cluster.driver import drive as carry
from haulage.cluster.places import cluster, refuse_secrets
from haulage.errors import HaulageError

if TYPE_CHECKING:
    from haulage._engine import Coordinator


def drive(
    coordinator: Coordinator,
    scheduler: str | None,
    scheduler_file: str | PathLike[str] | None,
    nodes: int | None,
) -> None:
    """Carry shards from the coordinator to the cluster that is named; what goes wrong ends the job."""
    # The command says in words of its own what is wrong.
    logging.disable()
    warnings.simplefilter("ignore")
    try:
        with cluster(scheduler=scheduler, scheduler_file=scheduler_file, nodes=nodes) as client:
            refuse_secrets(client, coordinator.names())
            carry(coordinator, client)
    except HaulageError as error:
        coordinator.fail(error.code, error.object, error.cause, error.hint)
    except Exception as error:  # the job must hear of it, whatever it is
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        coordinator.fail("service", "the cluster", cause, "is the cluster healthy? look at its logs")
    finally:
        coordinator.finish()
