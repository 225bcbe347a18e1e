"""The order of the cells: every replicate holds each treatment once, shuffled by the plan's seed.

What disturbs the link for a while then falls on all treatments alike, and treatments compare in pairs
within a replicate.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fnmatch import fnmatch

from haulage.lab.plan import Arm, FileSet, Node, Plan, treatment_name

#: The replicate of cells that only warm up; never counted.
WARM_UP = -1


@dataclass(frozen=True)
class Cell:
    """One treatment, once, in one replicate."""

    number: int  #: place in the order of running, from 0
    replicate: int  #: from 0; :data:`WARM_UP` before that
    treatment: str
    arm: Arm
    files: FileSet
    direction: str
    node: Node | None
    again: bool  #: of the A/A arm
    seed: int  #: for the order of the files

    @property
    def warm_up(self) -> bool:
        """Whether it is run and kept, but not counted."""
        return self.replicate == WARM_UP

    @property
    def factors(self) -> dict[str, object]:
        """The level of every factor."""
        return {
            "arm": self.arm.name,
            "client": self.arm.client,
            "tool": self.arm.tool,
            "files": self.files.name,
            "direction": self.direction,
            "again": self.again,
            "node": None if self.node is None else self.node.name,
            "node_cpus": None if self.node is None else self.node.cpus,
            "node_link": None if self.node is None else self.node.link_of(self.direction),
        }

    def shuffled(self, count: int) -> list[int]:
        """Return the order in which the cell takes its files; a sequence keeps one order for all cells."""
        order = list(range(count))
        random.Random(self.seed).shuffle(order)
        return order


def schedule(plan: Plan) -> list[Cell]:
    """Return all cells of a plan in the order of running; the same plan gives the same order."""
    order = random.Random(plan.seed)
    cells: list[Cell] = []

    def add(replicate: int, combinations: list[_Combination]) -> None:
        for arm, files, direction, node, again in combinations:
            seed = order.getrandbits(32)
            name = treatment_name(plan, arm, direction, node, again)
            # Treatments of a sequence see the same files at the same time of the link.
            seed = plan.seed if arm.sequence else seed
            cells.append(Cell(len(cells), replicate, name, arm, files, direction, node, again, seed))

    combinations = _combinations(plan)
    if plan.warm_up:
        # Small ones: what they warm up are connections, caches and allocations.
        small = min(plan.files, key=lambda files: files.total_bytes)
        easy = [item for item in combinations if item[1] == small and not item[4]]
        add(WARM_UP, [easy[place % len(easy)] for place in range(plan.warm_up)])
    most = max(files.replicates or plan.replicates for files in plan.files)
    for replicate in range(most):
        taken = [item for item in combinations if replicate < (item[1].replicates or plan.replicates)]
        order.shuffle(taken)
        add(replicate, taken)
    return cells


_Combination = tuple[Arm, FileSet, str, Node | None, bool]


def _combinations(plan: Plan) -> list[_Combination]:
    found: list[_Combination] = []
    for files in plan.files:
        for node in plan.nodes or (None,):
            for direction in plan.directions:
                for arm in plan.arms:
                    if direction not in arm.directions or _left_out(arm, files):
                        continue
                    found.append((arm, files, direction, node, False))
                    if arm.name == plan.again and files.again:
                        found.append((arm, files, direction, node, True))
    return found


def _left_out(arm: Arm, files: FileSet) -> bool:
    return any(fnmatch(arm.name, pattern) for pattern in files.leave_out)
