"""What a run will take, before it begins: time, bytes, requests, money."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from haulage.lab.ceiling.path import expected_s
from haulage.lab.link import Link, parse_link
from haulage.lab.plan import Arm, Plan
from haulage.lab.schedule import Cell
from haulage.lab.target import Target
from haulage.words.numbers import counted, format_duration, format_size

#: What a cell costs beside moving bytes: starting the job, the record, the row.
_OVERHEAD_NS = 25e6
_WHOLE = ("baseline", "single-put", "whole-files")
#: About what the controller comes to on a long link.
_ADAPTIVE_LANES = 48
#: Rows in an answer of a table.
_PAGE_ROWS = 1000
#: Bytes of a row in each form, of those in JSON without types, as seen.
_TIMES_JSON = {"atom": 5.7, "json-full": 3.0, "json-minimal": 1.4, "arrow": 0.5}
#: To make a row, in the emulator and in the proxy.
_ROW_NS = 15e3
#: Some thirty short transfers.
CONFIRM_NS = 20e9
#: The analysis and its page.
REPORT_NS = 10e9
#: What one machine moves over its own loopback, both ends on it.
_MACHINE_BITS_PER_SECOND = 8e9


@dataclass(frozen=True)
class Estimate:
    """What a run will take. A time of ``None`` means that nothing is known of the link."""

    cells: int
    time_ns: float | None
    bytes_up: int
    bytes_down: int
    writes: int
    reads: int
    cost: float | None  #: ``None`` for an emulated endpoint, which is free
    currency: str

    def __str__(self) -> str:
        took = (
            "time unknown until it runs" if self.time_ns is None else f"about {format_duration(self.time_ns)}"
        )
        moved = format_size(self.bytes_up + self.bytes_down)
        price = (
            "free: emulated"
            if self.cost is None
            else f"about {self.cost:.2f} {self.currency} at the plan's prices"
        )
        requests = counted(self.writes + self.reads, "request")
        return f"{counted(self.cells, 'cell')}, {moved}, {requests}, {took}, {price}"


def estimate(
    plan: Plan, target: Target, cells: Sequence[Cell], *, confirm: bool = False, report: bool = False
) -> Estimate:
    """Say what the cells will take, with the ceiling, and with a confirmation and a report if they follow."""
    writes = reads = up = down = 0
    time_ns: float | None = 0.0
    for cell in cells:
        requests = cell_requests(cell)
        if cell.direction == "up":
            writes, up = writes + requests, up + cell.total_bytes
        else:
            reads, down = reads + requests, down + cell.total_bytes
        if time_ns is not None:
            took = cell_ns(target, cell)
            time_ns = None if took is None else time_ns + took + plan.idle_ns
    if time_ns is not None:
        time_ns += ceiling_ns(plan, target, cells)
        time_ns += CONFIRM_NS if confirm and plan.one_path else 0.0
        time_ns += REPORT_NS if report else 0.0
    prices = plan.prices
    cost = (
        None
        if target.emulated
        else writes / 1e4 * prices.writes_per_10k
        + reads / 1e4 * prices.reads_per_10k
        + down / 1e9 * prices.egress_per_gb
    )
    return Estimate(len(cells), time_ns, up, down, writes, reads, cost, prices.currency)


def ceiling_ns(plan: Plan, target: Target, cells: Sequence[Cell]) -> float:
    """Return how long the ceiling will take; 0 where nothing is known of the link."""
    if not plan.ceiling or target.shape is None:
        return 0.0
    link = target.shape.first
    used = {cell.direction for cell in cells}
    return 1e9 * sum(
        expected_s(plan, way, link.total_bits_per_second, link.connection_bits_per_second, link.rtt_ns / 1e9)
        for way in used
    )


def cell_requests(cell: Cell) -> int:
    """Return how many requests a cell sends, retries not counted."""
    if cell.arm.method == "table-rows":
        return (
            1 if cell.arm.gathered and cell.arm.way == "proxy" else math.ceil(cell.files.count / _PAGE_ROWS)
        )
    return sum(_requests(cell.arm, size) for size in cell.files.sizes_bytes) * (cell.count or 1)


def _requests(arm: Arm, size: int) -> int:
    block = _block(arm)
    if arm.method in _WHOLE or size <= block:
        return 1
    # The list of what is there, the blocks, the commit.
    return math.ceil(size / block) + 2


def _block(arm: Arm) -> int:
    return arm.block_size_bytes or (4 << 20)


def cell_ns(target: Target, cell: Cell) -> float | None:
    """Return how long a cell will take; ``None`` where nothing is known of the link."""
    own = cell.link if target.emulated else None  # of many nodes, that of the target
    link = parse_link(own) if own else target.shape
    if link is None:
        return None
    if cell.count is not None:
        return _nodes_ns(link, cell)
    if cell.arm.method == "table-rows":
        return _rows_ns(link, cell)
    sizes = cell.files.sizes_bytes
    least = sum(sizes) * 8 / _MACHINE_BITS_PER_SECOND * 1e9
    if not cell.arm.sequence:
        return max(_job_ns(link, cell.arm, sizes, 0.0), least) + _OVERHEAD_NS
    now = 0.0
    for place in cell.shuffled(len(sizes)):
        now += _job_ns(link, cell.arm, [sizes[place]], now) + _OVERHEAD_NS / 2
    return max(now, least)


def _rows_ns(link: Link, cell: Cell) -> float:
    """Return how long the rows of a table take: a round trip for each answer, what travels, and making it."""
    size = cell.total_bytes * _TIMES_JSON.get(cell.arm.format, 1.0)
    rate = min(link.first.total_bits_per_second or _MACHINE_BITS_PER_SECOND, _MACHINE_BITS_PER_SECOND)
    trips = (2 + cell_requests(cell)) * link.first.rtt_ns
    return _OVERHEAD_NS + trips + size * 8e9 / rate + cell.files.count * _ROW_NS


def _nodes_ns(link: Link, cell: Cell) -> float:
    """Return how long many nodes take: as one behind its own link, or as all through that of the target."""
    arm, sizes = cell.arm, cell.files.sizes_bytes
    own = parse_link(cell.node_link or "")
    return _OVERHEAD_NS + max(
        _job_ns(link, arm, sizes, 0.0),
        _job_ns(own, arm, sizes, 0.0) + link.first.rtt_ns,
        link.arrival_ns(cell.total_bytes, (cell.count or 1) * (arm.concurrency or _ADAPTIVE_LANES)),
    )


def _job_ns(link: Link, arm: Arm, sizes: Sequence[int], start_ns: float) -> float:
    """Return how long one job takes that begins when the link is so old."""
    block, total = _block(arm), sum(sizes)
    whole = arm.method in _WHOLE or max(sizes) <= block
    pieces = len(sizes) if whole else sum(math.ceil(size / block) for size in sizes)
    used = max(1, min(arm.concurrency or _ADAPTIVE_LANES, pieces))
    # Each lane moves whole pieces, so the last round may be only partly full.
    rounds = math.ceil(pieces / used)
    moved = max(total, rounds * used * total / pieces)
    moving = link.arrival_ns(moved, used, start_ns) - start_ns
    # To connect, for each round, and with blocks for the list of what is there and the commit.
    round_trips = 1 + rounds + (0 if whole else 2 * math.ceil(len(sizes) / used))
    return moving + link.first.rtt_ns * round_trips
