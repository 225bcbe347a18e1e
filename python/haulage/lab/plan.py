"""The plan of an experiment: which treatments, on which files, how often, and when to stop.

:mod:`haulage.lab.planfile` reads it from TOML.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from haulage.lab.toml_tables import to_toml
from haulage.lab.units import spell_duration
from haulage.words.numbers import counted

METHODS = (
    "baseline",
    "single-put",
    "blocks",
    "put-blocks",
    "adaptive",
    "whole-files",
    "ranges",
    "stream",
    "external",
    "ceiling",
    "local-disk",
    "table-rows",
)
#: The forms in which rows of a table are asked for: of the store, or of a proxy before it.
ROW_FORMATS = ("atom", "json-full", "json-minimal", "json-none", "arrow")
WAYS = ("direct", "proxy")
#: About a row in JSON without types: what each counts as, whatever form it comes in, so that rates compare.
ROW_BYTES = 164
#: What the plain client puts: bytes that it holds, a file that it opens, or a stream of unknown contents.
BODIES = ("bytes", "file", "stream")
DIRECTIONS = ("up", "down")
#: Those that speak to Azure; s5cmd and others that speak S3 can join when the engine does.
TOOLS = ("azcopy", "rclone")


@dataclass(frozen=True)
class Arm:
    """A way to move files. ``None`` leaves the choice to whoever moves them."""

    method: str
    name: str  #: the treatment's name, without direction and node
    concurrency: int | None = None  #: requests in flight
    block_size_bytes: int | None = None
    client: str = "engine"  #: ``engine``, or ``plain``: Python's http.client, as clients of 2010 worked
    tool: str | None = None  #: the program, for ``external``
    sequence: bool = False  #: one job for each file, in a fixed order
    stall_timeout_ns: int | None = None
    checksum: str | None = None
    directions: tuple[str, ...] = DIRECTIONS
    window_ns: int | None = None  #: a request that has no answer by then has failed; ``None`` for no limit
    body: str = "bytes"  #: one of :data:`BODIES`, for the plain client
    one_blob: bool = False  #: every file overwrites one and the same blob
    format: str = ""  #: of ``table-rows``: one of :data:`ROW_FORMATS`
    way: str = ""  #: of ``table-rows``: one of :data:`WAYS`
    gathered: bool = False  #: of ``table-rows``: all rows as one answer, rather than page by page


@dataclass(frozen=True)
class FileSet:
    """What a cell moves: files of one size, or a mixed set with ``size_bytes`` ``None``."""

    name: str
    size_bytes: int | None
    count: int
    kind: str = "random"  #: ``random``; ``netcdf``, a set like that of a climate model; ``rows`` of a table
    large_count: int = 0
    large_bytes: int = 0
    small_bytes: int = 0
    replicates: int | None = None  #: fewer or more than the plan's
    again: bool = True  #: whether the A/A arm takes part
    leave_out: tuple[str, ...] = ()  #: patterns of names of arms that say nothing for these files
    link: str | None = None  #: on which they travel instead of the target's; emulated endpoints only

    @property
    def sizes_bytes(self) -> list[int]:
        """The size of each file."""
        if self.size_bytes is not None:
            return [self.size_bytes] * self.count
        small = self.count - self.large_count
        return [self.large_bytes] * self.large_count + [self.small_bytes] * small

    @property
    def total_bytes(self) -> int:
        """All of it."""
        if self.size_bytes is not None:
            return self.size_bytes * self.count
        small = self.count - self.large_count
        return self.large_bytes * self.large_count + self.small_bytes * small


@dataclass(frozen=True)
class Node:
    """A stand-in for a size of machine, with a share of this one's processors, or a place to measure from."""

    name: str
    cpus: int | None = None
    link: str | None = None
    link_down: str | None = None  #: on the way down, if other than ``link``
    via: str | None = None  #: the way out: ``netns:NAME``, ``proxy:HOST:PORT``, or the URL of another way in
    client: str | None = None  #: whose side it is on; places of one client share what is at fault there
    path: str | None = None  #: the path that it takes; places of one path share what is at fault on it

    def link_of(self, direction: str) -> str | None:
        """Return the link on this way."""
        return self.link_down if direction == "down" and self.link_down else self.link


@dataclass(frozen=True)
class Prices:
    """What a provider asks. The defaults are round list prices of a hot tier; put in your own."""

    currency: str = "USD"
    writes_per_10k: float = 0.065
    reads_per_10k: float = 0.005
    egress_per_gb: float = 0.087


@dataclass(frozen=True)
class Plan:
    """An experiment, read and checked. Make one with :func:`haulage.lab.planfile.load`."""

    name: str
    title: str
    question: str
    follows: str
    target: str
    store: str
    faults: str
    fresh_link: bool
    source: str
    seed: int
    replicates: int
    warm_up: int
    idle_ns: int
    time_bound_ns: int
    stop_width: float
    stop_at_least: int
    ceiling: bool
    ceiling_connections: int
    ceiling_time_ns: int
    directions: tuple[str, ...]
    arms: tuple[Arm, ...]
    files: tuple[FileSet, ...]
    nodes: tuple[Node, ...] = ()
    places: tuple[Node, ...] = ()  #: from which ``--from`` chooses
    fresh_nodes: bool = False  #: each replicate makes nodes and endpoints anew
    again: str = "baseline"  #: the arm that is run twice a replicate; empty for none
    margin: float = 0.05  #: rates that differ by a smaller share are equivalent
    prices: Prices = field(default_factory=Prices)
    counts: tuple[
        int, ...
    ] = ()  #: how many nodes at once, one after another; none where this process moves all
    own_links: tuple[tuple[int, str], ...] = ()  #: of single nodes, by number from 1, in place of their link

    def to_toml(self) -> str:
        """Write the plan with all defaults; reading it again gives an equal plan."""
        return to_toml(_plan_values(self))

    @property
    def sha256(self) -> str:
        """Identify the plan by its resolved text."""
        return hashlib.sha256(self.to_toml().encode()).hexdigest()

    @property
    def one_path(self) -> bool:
        """Whether all cells take the same path, so that a cause on it can be confirmed afterwards."""
        return not self.nodes and not self.fresh_link


def _plan_values(plan: Plan) -> dict[str, Any]:
    return {
        "name": plan.name,
        "title": plan.title,
        "question": plan.question,
        "follows": plan.follows,
        "target": plan.target,
        "store": plan.store,
        "faults": plan.faults,
        "fresh_link": plan.fresh_link,
        "fresh_nodes": plan.fresh_nodes,
        "source": plan.source,
        "seed": plan.seed,
        "replicates": plan.replicates,
        "warm_up": plan.warm_up,
        "idle": spell_duration(plan.idle_ns),
        "time_bound": spell_duration(plan.time_bound_ns),
        "directions": plan.directions,
        "again": plan.again,
        "margin": plan.margin,
        "stop": {"relative_width": plan.stop_width, "at_least": plan.stop_at_least},
        "ceiling": {
            "measure": plan.ceiling,
            "connections": plan.ceiling_connections,
            "time": spell_duration(plan.ceiling_time_ns),
        },
        "prices": vars(plan.prices),
        "arms": [_arm_values(arm) for arm in plan.arms],
        "files": [_file_values(item) for item in plan.files],
        "nodes": [vars(node) for node in plan.nodes],
        "places": [vars(place) for place in plan.places],
    } | _scale_values(plan)


def _scale_values(plan: Plan) -> dict[str, Any]:
    # Left out where there is none: the text of a plan, and so its hash, stays what it was.
    if not plan.counts:
        return {}
    return {"scale": {"nodes": plan.counts, "links": {str(node): link for node, link in plan.own_links}}}


def _arm_values(arm: Arm) -> dict[str, Any]:
    stall = None if arm.stall_timeout_ns is None else spell_duration(arm.stall_timeout_ns)
    return {
        "method": arm.method,
        "name": arm.name,
        "concurrency": arm.concurrency,
        "block_size": None if arm.block_size_bytes is None else f"{arm.block_size_bytes}B",
        "client": arm.client,
        "tool": arm.tool,
        "sequence": arm.sequence,
        "stall_timeout": stall,
        "checksum": arm.checksum,
        "directions": arm.directions,
        "window": None if arm.window_ns is None else spell_duration(arm.window_ns),
        "body": arm.body,
        "one_blob": arm.one_blob,
    } | _row_values(arm)


def _row_values(arm: Arm) -> dict[str, Any]:
    # Left out of other arms: the text of a plan, and so its hash, stays what it was.
    if arm.method != "table-rows":
        return {}
    return {"format": arm.format, "way": arm.way, "gathered": arm.gathered}


def _file_values(item: FileSet) -> dict[str, Any]:
    values: dict[str, Any] = {"name": item.name, "kind": item.kind, "count": item.count}
    if item.size_bytes is None and item.kind != "rows":
        values |= {
            "large_count": item.large_count,
            "large_size": f"{item.large_bytes}B",
            "small_size": f"{item.small_bytes}B",
        }
    elif item.size_bytes is not None:
        values["size"] = f"{item.size_bytes}B"
    return values | {
        "replicates": item.replicates,
        "again": item.again,
        "leave_out": item.leave_out,
        "link": item.link,
    }


def treatment_name(
    plan: Plan, arm: Arm, direction: str, node: Node | None, again: bool, count: int | None = None
) -> str:
    """Return the name that identifies a combination of everything but the size.

    The direction is part of it only where a plan has both.
    """
    words: Sequence[str] = [arm.name + ("-again" if again else "")]
    if len(plan.directions) > 1:
        words = [*words, direction]
    if node is not None:
        words = [*words, f"@{node.name}"]
    if count is not None:
        words = [*words, f"on {counted(count, 'node')}"]
    return " ".join(words)
