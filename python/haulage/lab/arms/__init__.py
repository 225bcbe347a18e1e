"""The ways to move files that an experiment compares."""

from __future__ import annotations

import filecmp
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from haulage.lab.plan import Arm
from haulage.lab.target import Endpoint


@dataclass(frozen=True)
class Item:
    """A file to move: its name, and where it lies on this side."""

    name: str  #: of the blob, below the endpoint's base
    local: str  #: path or ``mem://`` URL: the source of an upload, the destination of a download
    size_bytes: int
    original: str | None = None  #: of a download, what it should be equal to


@dataclass(frozen=True)
class Work:
    """What a cell has to move."""

    arm: Arm
    direction: str
    items: tuple[Item, ...]  #: in the order in which they are to be taken
    endpoint: Endpoint
    record: Path  #: where the engine's record goes, if there is one
    scratch: Path  #: an empty folder, removed afterwards
    rows: int = 0  #: of the table, where rows are read and no files

    def blob(self, item: Item) -> str:
        """Return the name of the blob that a file becomes: one for all where the arm overwrites one."""
        return "up/one-blob" if self.arm.one_blob else item.name


@dataclass
class Moved:
    """What came of it. Times are nanoseconds since the cell's job began."""

    wall_ns: int
    bytes: int
    transfers: list[dict[str, Any]]  #: rows of transfers.parquet, without ``cell`` and ``transfer``
    monotonic_offset_ns: int  #: unix time at the cell's time zero
    outcome: str = "ok"
    cause: str | None = None
    wire_bytes: int | None = None
    requests: int | None = None
    retries: int | None = None
    lanes: int | None = None
    chosen: str | None = None
    recorded: bool = False
    phase_network_ns: int | None = None
    phase_reassembly_ns: int | None = None
    nodes: list[dict[str, Any]] | None = None  #: rows of nodes.parquet, without ``cell``


#: Told, now and then, how many bytes of the cell have arrived and at what rate in bits per second.
Watch = Callable[[int, float], object]


class Method(Protocol):
    """Moves the files of a cell."""

    def __call__(self, work: Work, watch: Watch) -> Moved:
        """Move them.

        Raises:
            HaulageError: What makes the cell impossible, rather than failed.
        """


def differing(items: Iterable[Item]) -> str | None:
    """Return the name of the first download that is not, byte for byte, what was uploaded.

    For methods that have no proof of their own; read after their time has been taken.
    """
    for item in items:
        if item.original is not None and not filecmp.cmp(item.original, item.local, shallow=False):
            return item.name
    return None
