"""The order of the cells: every replicate holds each treatment once, shuffled by the plan's seed.

What disturbs the link for a while then falls on all treatments alike, and treatments compare in pairs
within a replicate.

Treatments that differ in name only are run once: 16, 32 and 64 requests in flight are the same for a
file of 8 blocks, and blocks of 2 MiB and of 4 MiB for one of 1 MiB.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from haulage.lab.plan import Arm, FileSet, Node, Plan, treatment_name

#: Methods that send a file in one request.
_WHOLE = ("baseline", "single-put", "whole-files")
#: Of an arm that names none.
_BLOCK_BYTES = 1 << 20
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
    count: int | None = None  #: nodes at once; ``None`` where this process moves the files

    @property
    def warm_up(self) -> bool:
        """Whether it is run and kept, but not counted."""
        return self.replicate == WARM_UP

    @property
    def factors(self) -> dict[str, object]:
        """The level of every factor."""
        found: dict[str, object] = {
            "arm": self.arm.name,
            "client": self.arm.client,
            "tool": self.arm.tool,
            "files": self.files.name,
            "direction": self.direction,
            "again": self.again,
            "node": None if self.node is None else self.node.name,
            "node_cpus": None if self.node is None else self.node.cpus,
            "node_link": self.link if self.count is None else self.node_link or self.link,
            "via": None if self.node is None else self.node.via,
            "client_side": None if self.node is None else self.node.client or self.node.name,
            "path": None if self.node is None else self.node.path or self.node.name,
        }
        if self.arm.method == "table-rows":
            found |= {"format": self.arm.format, "way": self.arm.way, "gathered": self.arm.gathered}
        return found if self.count is None else found | {"node_count": self.count}

    @property
    def link(self) -> str | None:
        """The link that it has to itself; ``None`` for the target's."""
        # Of many nodes each has its own link, which leads to that of the target.
        if self.count is not None:
            return self.files.link
        return self.files.link or self.node_link

    @property
    def node_link(self) -> str | None:
        """The link of the node, or of each of many."""
        return self.node.link_of(self.direction) if self.node is not None else None

    @property
    def total_bytes(self) -> int:
        """All that it moves, on all nodes together."""
        return self.files.total_bytes * (self.count or 1)

    def shuffled(self, count: int, node: int = 0) -> list[int]:
        """Return the order in which the cell takes its files; a sequence keeps one order for all cells.

        Each of many nodes, counted from 1, has an order of its own.
        """
        order = list(range(count))
        random.Random(self.seed + (node << 32)).shuffle(order)
        return order


def schedule(plan: Plan) -> list[Cell]:
    """Return all cells of a plan in the order of running; the same plan gives the same order."""
    order = random.Random(plan.seed)
    cells: list[Cell] = []

    def add(replicate: int, combinations: list[_Combination]) -> None:
        for arm, files, direction, node, count, again in combinations:
            seed = order.getrandbits(32)
            name = treatment_name(plan, arm, direction, node, again, count)
            # Treatments of a sequence see the same files at the same time of the link.
            seed = plan.seed if arm.sequence else seed
            cells.append(Cell(len(cells), replicate, name, arm, files, direction, node, again, seed, count))

    combinations = _combinations(plan)
    if plan.warm_up:
        # Small ones: what they warm up are connections, caches and allocations.
        small = min(plan.files, key=lambda files: files.total_bytes)
        easy = [item for item in combinations if item[1] == small and not item[5]]
        # Of many nodes all are to be warm.
        easy.sort(key=lambda item: -(item[4] or 0))
        add(WARM_UP, [easy[place % len(easy)] for place in range(plan.warm_up)])
    most = max(files.replicates or plan.replicates for files in plan.files)
    for replicate in range(most):
        taken = [item for item in combinations if replicate < (item[1].replicates or plan.replicates)]
        order.shuffle(taken)
        add(replicate, taken)
    return cells


_Combination = tuple[Arm, FileSet, str, Node | None, int | None, bool]


def _combinations(plan: Plan) -> list[_Combination]:
    found: list[_Combination] = []
    for files in plan.files:
        for node in plan.nodes or (None,):
            for direction in plan.directions:
                taking = [arm for arm in plan.arms if _takes_part(arm, files, direction)]
                for arm in taking:
                    if stands_for(plan, taking, arm, files) is not arm:
                        continue
                    for count in plan.counts or (None,):
                        found.append((arm, files, direction, node, count, False))
                        if files.again and _is_again(plan, arm, count):
                            found.append((arm, files, direction, node, count, True))
    return found


def _is_again(plan: Plan, arm: Arm, count: int | None) -> bool:
    """Say whether a treatment is run twice: of many nodes the one alone, to which all others are held."""
    return bool(plan.again) and (arm.name == plan.again if count is None else count == 1)


def _takes_part(arm: Arm, files: FileSet, direction: str) -> bool:
    return direction in arm.directions and not _left_out(arm, files)


def _left_out(arm: Arm, files: FileSet) -> bool:
    return any(fnmatch(arm.name, pattern) for pattern in files.leave_out)


def same_as(plan: Plan) -> dict[str, str]:
    """Return the treatments that are not run because another one does the very same, and which one."""
    found: dict[str, str] = {}
    for files in plan.files:
        taking = [arm for arm in plan.arms if not _left_out(arm, files)]
        for arm in taking:
            other = stands_for(plan, taking, arm, files)
            if other is not arm:
                found[f"{arm.name}, {files.name}"] = f"the same as {other.name} for these files"
    return found


def stands_for(plan: Plan, arms: Sequence[Arm], arm: Arm, files: FileSet) -> Arm:
    """Return the first of the arms that moves these files as ``arm`` does: the A/A arm before all others."""
    wanted = _setting(arm, files)
    alike = [
        other for other in arms if _setting(other, files) == wanted and other.directions == arm.directions
    ]
    return min(alike, key=lambda other: (other.name != plan.again, other.method != "baseline"))


def _setting(arm: Arm, files: FileSet) -> tuple[object, ...]:
    """Return what decides how these files travel: arms with equal settings are one treatment."""
    more = (
        arm.client,
        arm.sequence,
        arm.stall_timeout_ns,
        arm.checksum,
        arm.window_ns,
        arm.body,
        arm.one_blob,
    )
    if arm.method in _WHOLE and arm.client == "engine":
        return ("whole", _lanes(arm, files), *more)
    if arm.method in ("blocks", "ceiling") and arm.client == "engine":
        block = arm.block_size_bytes or _BLOCK_BYTES
        if block >= max(files.sizes_bytes):
            return ("whole", _lanes(arm, files), *more)
        return (arm.method, block, _lanes(arm, files), *more)
    if arm.method in ("put-blocks", "ranges", "blocks", "single-put", "local-disk"):
        # Its block sizes stay apart where they are larger than the file: that it loses there is a result.
        return (arm.method, arm.block_size_bytes, _lanes(arm, files), *more)
    return (arm.name,)


def _lanes(arm: Arm, files: FileSet) -> int | None:
    """Return how many requests can be in flight at most."""
    if arm.concurrency is None or arm.method not in (*_WHOLE, "blocks", "put-blocks", "ranges", "ceiling"):
        return arm.concurrency
    sizes, block = files.sizes_bytes, arm.block_size_bytes
    if arm.method in _WHOLE or (arm.method == "blocks" and arm.client == "plain"):
        pieces = len(sizes)
    else:
        of_each = [max(1, math.ceil(size / (block or _BLOCK_BYTES))) for size in sizes]
        one_by_one = arm.sequence or arm.method in ("put-blocks", "ranges")
        pieces = max(of_each) if one_by_one else sum(of_each)
    return min(arm.concurrency, pieces)
