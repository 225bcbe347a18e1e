"""Writes to the disk of this machine, beside which a write over the network is to be seen (E5).

Each write is done when the disk says so (``fsync``), as a put is done when the service says so.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from haulage.lab.arms import Item, Moved, Watch, Work


def move(work: Work, watch: Watch) -> Moved:
    """Write each file into the scratch folder, ``concurrency`` of them at once."""
    held = {item.local: Path(item.local).read_bytes() for item in work.items}
    offset, zero = time.time_ns(), time.monotonic_ns()

    def one(numbered: tuple[int, Item]) -> dict[str, object]:
        number, item = numbered
        path = work.scratch / ("one-file" if work.arm.one_blob else f"{number:06}.bin")
        began = time.monotonic_ns() - zero
        with path.open("wb") as file:
            file.write(held[item.local])
            file.flush()
            os.fsync(file.fileno())
        ended = time.monotonic_ns() - zero
        return {
            "object": item.name,
            "size_bytes": item.size_bytes,
            "began_ns": began,
            "ended_ns": ended,
            "duration_ns": ended - began,
            "outcome": "ok",
            "method": "whole",
            "attempts": 1,
        }

    with ThreadPoolExecutor(work.arm.concurrency or 1) as pool:
        transfers = list(pool.map(one, enumerate(work.items)))
    wall = time.monotonic_ns() - zero
    moved = sum(item.size_bytes for item in work.items)
    watch(moved, moved * 8e9 / max(1, wall))
    return Moved(wall, moved, transfers, offset, lanes=min(work.arm.concurrency or 1, len(work.items)))
