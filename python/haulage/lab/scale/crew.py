"""What a run with many nodes needs beside its cells: the nodes, their files, and a link for each."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from haulage.lab.arms import Moved, Watch, Work
from haulage.lab.data import Data
from haulage.lab.plan import Plan
from haulage.lab.relay import NARROW
from haulage.lab.scale.fleet import Fleet, Task
from haulage.lab.scale.workers import Where, Workers
from haulage.lab.schedule import Cell
from haulage.lab.store import RunStore
from haulage.lab.target import Endpoint, Endpoints


class Crew:
    """The nodes of a run; of a plan without many nodes there are none."""

    def __init__(self, plan: Plan, store: RunStore, endpoints: Endpoints, where: Where) -> None:
        self._own_links: Mapping[int, str] = dict(plan.own_links)
        self._most = max(plan.counts, default=0)
        self._store = store
        self._endpoints = endpoints
        self._where = where
        self._workers: Workers | None = None
        self._fleet: Fleet | None = None

    def start(self, data: Data) -> None:
        """Start as many nodes as the largest cell has, so that no cell waits for them."""
        if self._most:
            if self._where:
                self._workers = Workers(self._where, emulated=self._endpoints.emulated)
                self._fleet = Fleet(self._workers.start, listen=self._workers.listen, here=False)
            else:
                self._fleet = Fleet()
            self._fleet.make(data.of_nodes())
            self._fleet.ready(self._most)

    def move(self, cell: Cell, work: Work, data: Data, watch: Watch) -> Moved:
        """Move the files of a cell on its nodes, all from one moment on."""
        assert self._fleet is not None
        assert cell.count is not None
        folder = self._store.nodes_folder(cell.number)
        # What a cell that was broken off has left there is no part of this one.
        shutil.rmtree(folder, ignore_errors=True)
        tasks = [self._task(cell, work, data, number) for number in range(1, cell.count + 1)]
        gathered = self._fleet.move(cell.arm, cell.direction, tasks, folder, work.record, watch)
        gathered.moved.nodes = gathered.nodes
        for left in folder.glob("*"):
            # Of a node that was killed while it wrote.
            if left.suffix != ".parquet" or not any(
                row["recorded"] and f"{row['node']:02}" == left.stem for row in gathered.nodes
            ):
                left.unlink()
        return gathered.moved

    def _task(self, cell: Cell, work: Work, data: Data, number: int) -> Task:
        link = self._own_links.get(number) or cell.node_link
        endpoint, shown = work.endpoint, None
        if link is not None and self._endpoints.emulated:
            endpoint, shown = self._behind(work.endpoint, link, number), link
        return Task(number, endpoint, data.items(cell, number), shown)

    def _behind(self, endpoint: Endpoint, link: str, number: int) -> Endpoint:
        return self._endpoints.by_way(endpoint, f"{NARROW}{link}", number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fleet is not None:
            self._fleet.close()
        if self._workers is not None:
            self._workers.close()
