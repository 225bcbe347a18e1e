"""Questions to Pythons: this one, and those of a cluster's nodes, about what is installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from haulage.doctor.project import inventory

Tell = Callable[[Any], None]

#: Nodes may have another Python, to which compiled functions do not travel. Text does.
_SOURCE = Path(inventory.__file__).read_text(encoding="utf-8")
_QUESTION = f"(lambda names: (exec({_SOURCE!r}, names), names['inventory']())[1])({{}})"


def inventory_here(_: Tell) -> dict[str, Any]:
    """Tell what is installed here, and which packages the modules belong to."""
    return {**inventory.inventory(), "modules": dict(metadata.packages_distributions())}


def inventory_of_nodes(
    tell: Tell, *, scheduler: str | None, scheduler_file: str | None
) -> dict[str, dict[str, Any]]:
    """Ask every worker of a cluster what is installed there; by its address, ``error`` where it failed."""
    from haulage.cluster.places import cluster

    with cluster(scheduler=scheduler, scheduler_file=scheduler_file) as client:
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        tell({"workers": workers})
        told = client.run(eval, _QUESTION, workers=workers, on_error="return") if workers else {}
    return {
        address: answer if isinstance(answer, dict) else {"error": f"{type(answer).__name__}: {answer}"}
        for address, answer in told.items()
    }


QUESTIONS: dict[str, Callable[..., Any]] = {
    "inventory_here": inventory_here,
    "inventory_of_nodes": inventory_of_nodes,
}
