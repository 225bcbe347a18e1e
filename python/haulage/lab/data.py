"""The files of a run: made before the first cell, put where downloads find them, removed at the end."""

from __future__ import annotations

import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path

import haulage
from haulage.lab.arms import Item
from haulage.lab.generate import generate, netcdf, write
from haulage.lab.plan import FileSet, Plan
from haulage.lab.schedule import Cell
from haulage.lab.served_table import ServedTable, write_rows
from haulage.lab.target import Endpoint, Endpoints, start_emulator


@dataclass(frozen=True)
class File:
    """A file of the run."""

    name: str
    local: str  #: path, or ``mem://`` URL
    size_bytes: int


class Data:
    """The files of a plan, in a folder or in memory, and what downloads read."""

    def __init__(self, plan: Plan, folder: Path, run: str) -> None:
        self._plan = plan
        self._folder = folder
        self._run = run
        self._sets: dict[str, list[File]] = {}
        self._rows: Path | None = None
        self._table: ServedTable | None = None

    @property
    def remote_folder(self) -> Path:
        """Where an emulated endpoint keeps what downloads read."""
        return self._folder / "remote"

    def make(self) -> None:
        """Write all files. The same plan and seed give the same bytes."""
        for files in self._plan.files:
            self._sets[files.name] = self._make(files)

    def _make(self, files: FileSet) -> list[File]:
        if files.kind == "rows":
            self._rows = self._folder / "rows.jsonl"
            write_rows(self._rows, files.count, self._plan.seed)
            return []
        label = _label(files)
        seed = self._plan.seed ^ zlib.crc32(files.name.encode())
        folder = self._folder / "source" / label
        folder.mkdir(parents=True, exist_ok=True)
        if files.kind == "netcdf":
            specs = netcdf(files.count, (files.large_count, files.large_bytes), files.small_bytes, seed)
            return [
                File(f"{label}/{path.name}", str(path), spec.size_bytes)
                for spec, path in zip(specs, write(folder, specs), strict=True)
            ]
        made = []
        for local, size, own in self._seeded(files):
            generate(local, size, own)
            made.append(File(f"{label}/{local.rpartition('/')[2]}", local, size))
        return made

    def _seeded(self, files: FileSet) -> list[tuple[str, int, int]]:
        """Return name, size and seed of each file of random bytes."""
        label, memory = _label(files), self._plan.source == "memory"
        folder = f"mem://lab-{self._run}/{label}" if memory else str(self._folder / "source" / label)
        seed = self._plan.seed ^ zlib.crc32(files.name.encode())
        return [
            (f"{folder}/{number:06}.bin", size, seed + number)
            for number, size in enumerate(files.sizes_bytes)
        ]

    def table(self, link: str) -> Endpoint:
        """Return the table that the rows of the plan are in, over this link."""
        assert self._rows is not None, "the plan has rows"
        if self._table is None:
            self._table = ServedTable(self._rows)
        return self._table.at(link)

    def offer(self, endpoints: Endpoints, *, emulated: bool) -> None:
        """Put the files where downloads find them, past the link of an emulated endpoint."""
        if "down" not in self._plan.directions or self._rows is not None:
            return
        if emulated:
            self.remote_folder.mkdir(parents=True, exist_ok=True)
            straight = start_emulator(store=str(self.remote_folder))
            try:
                self._upload(straight)
            finally:
                straight.close()
        else:
            self._upload(endpoints.get(store=""))

    def _upload(self, endpoint: Endpoint) -> None:
        files = [file for made in self._sets.values() for file in made]
        # Each of many nodes has blobs of its own: what bounds one blob or its partition is not to bound all.
        owners = range(1, max(self._plan.counts) + 1) if self._plan.counts else (None,)
        pairs = [
            (file.local, endpoint.url(_below("down", node) + file.name)) for node in owners for file in files
        ]
        haulage.copy(pairs, overwrite="always", insecure_http=endpoint.insecure_http)

    def of_nodes(self) -> list[tuple[str, int, int]]:
        """Return what each of many nodes has to make in its memory: name, size and seed."""
        return [item for files in self._plan.files for item in self._seeded(files) if "://" in item[0]]

    def items(self, cell: Cell, node: int | None = None) -> tuple[Item, ...]:
        """Return what the cell moves, in its order; of many nodes, what this one does."""
        files = self._sets[cell.files.name]
        order = cell.shuffled(len(files), node or 0)
        up = _below("up", node)
        if cell.direction == "up":
            return tuple(Item(f"{up}{files[n].name}", files[n].local, files[n].size_bytes) for n in order)
        sink = self._folder / "sink" / ("" if node is None else f"node-{node:02}")
        sink.mkdir(exist_ok=True, parents=True)
        down = _below("down", node)
        memory = self._plan.source == "memory" and cell.arm.client == "engine"
        return tuple(
            Item(
                f"{down}{files[n].name}",
                self._sink(files[n]) if memory else str(sink / files[n].name.replace("/", "-")),
                files[n].size_bytes,
                original=None if "://" in files[n].local else files[n].local,
            )
            for n in order
        )

    def _sink(self, file: File) -> str:
        return f"mem://lab-sink-{self._run}/{file.name.replace('/', '-')}"

    def free(self) -> None:
        """Stop what was started here, and give back the memory of ``mem://`` objects by making them empty."""
        if self._table is not None:
            self._table.close()
            self._table = None
        if self._plan.source != "memory":
            return
        empty = self._folder / "empty"
        empty.touch()
        sources = [file.local for made in self._sets.values() for file in made]
        sinks = [self._sink(file) for made in self._sets.values() for file in made]
        haulage.copy([(empty, name) for name in [*sources, *sinks]], overwrite="always")

    def sink_ready(self) -> None:
        """Empty the folder that downloads write to, so that every cell begins alike."""
        shutil.rmtree(self._folder / "sink", ignore_errors=True)

    def scratch(self) -> Path:
        """Return an empty folder."""
        path = self._folder / "scratch"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path


def _label(files: FileSet) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in files.name)


def _below(folder: str, node: int | None) -> str:
    """Return the prefix of blobs, of one of many nodes where it is given."""
    return f"{folder}/" if node is None else f"{folder}/node-{node:02}/"
