"""Twenty nodes of 2010 (E4): which bound explains what they lost, and what pacing would have kept.

They lost 25 to 45 % of twenty times one node on the way up and 18 to 39 % on the way down. The rates of their
single nodes are not known, so the demand of all nodes, over what the service carried, is what is looked for.

    python benchmarks/lab/simulate_2010.py > python/haulage/lab/simulation/founding.json

It takes minutes, so its result is stored in the package; a test makes some of it again.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from haulage.lab.simulation.founding import NODES, PACED
from haulage.lab.simulation.model import Load, Nodes, Request, Service, simulate

#: What they lost, of twenty times one: from the node size that lost least to the one that lost most.
LOST = {"up": (0.25, 0.45), "down": (0.18, 0.39)}
#: The best method of each direction then: blocks in parallel up, several whole files down.
_LANES = {"up": 8, "down": 4}
#: Demand of all nodes over what the service carries.
DEMANDS = (0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8)
#: Nodes of one kind differ by a few percent, and the last one counts.
_SPREAD = 0.03
_LATENCY_S = 0.03
#: Files and requests of a node: theirs were fifty files of 500 MB. Of a job much shorter than ten minutes the
#: longest back-off of the last client is a large part, and too much is lost.
_FILES, _REQUESTS, _REQUEST_BYTES = 50, 62, 500e6 / 62
_LINK = 400e6
#: What a client of then did with a refusal: wait a second, then twice as long.
_THEN = Service(refuses=True, backoff_s=1.0, longest_backoff_s=32.0)
SEEDS = (1, 2)


def lost(
    direction: str, demand: float, *, files: int = _FILES, seeds: Sequence[int] = SEEDS
) -> dict[str, Any]:
    """Return what is lost of twenty times one, by clients that are refused and by clients that are paced.

    Args:
        direction: Which way.
        demand: What all nodes ask for, over what the service carries.
        files: Of each node.
        seeds: Of the runs of chance of which the mean is taken.
    """
    up = direction == "up"
    file = tuple(Request(_REQUEST_BYTES) for _ in range(_REQUESTS))
    load = Load((file,) * files, _LANES[direction])
    nodes = Nodes(NODES, _LINK, _LATENCY_S, spread=_SPREAD)
    bound = NODES * _LINK / demand
    alone = simulate(replace(nodes, count=1, spread=0.0), load, Service(), up=up).bits_per_second

    def share(service: Service) -> tuple[float, float]:
        made = [simulate(nodes, load, service, up=up, seed=seed) for seed in seeds]
        rate = statistics.fmean(one.bits_per_second for one in made)
        return 1 - rate / (NODES * alone), sum(one.refused for one in made) / sum(
            one.requests for one in made
        )

    refused, of_requests = share(replace(_THEN, bits_per_second=bound))
    paced, _ = share(Service(bits_per_second=PACED * bound))
    least, most = LOST[direction]
    return {
        "direction": direction,
        "nodes": NODES,
        "demand_over_bound": demand,
        "lost_refused_share": round(refused, 4),
        "lost_paced_share": round(paced, 4),
        "kept_by_pacing_share": round(refused - paced, 4),
        "refused_share_of_requests": round(of_requests, 4),
        "lost_then_low": least,
        "lost_then_high": most,
        "is_as_then": least <= refused <= most,
    }


if __name__ == "__main__":
    made = [lost(direction, demand) for direction in LOST for demand in DEMANDS]
    sys.stdout.write("[\n" + ",\n".join(json.dumps(row) for row in made) + "\n]\n")
