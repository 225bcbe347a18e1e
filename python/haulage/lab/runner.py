"""Runs a plan: prepare, probe the ceiling, then cell after cell, each written down when it is done."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from haulage.errors import HaulageError, NotFoundError, UsageError
from haulage.lab import host
from haulage.lab.arms import Moved, Watch, Work
from haulage.lab.arms.external import find
from haulage.lab.arms.methods import method_of
from haulage.lab.ceiling import measure_ceiling, steady_s
from haulage.lab.chain import require_unchanged
from haulage.lab.data import Data
from haulage.lab.estimate import ceiling_ns, cell_ns
from haulage.lab.manifest import new_manifest, same_run
from haulage.lab.plan import Plan
from haulage.lab.planfile import parse
from haulage.lab.rows import row_of
from haulage.lab.runs import Run
from haulage.lab.scale.crew import Crew
from haulage.lab.scale.workers import HERE, Where
from haulage.lab.schedule import Cell, same_as, schedule
from haulage.lab.stop import narrow_enough
from haulage.lab.store import RunStore
from haulage.lab.target import Endpoint, Endpoints, Target, parse_target, remove_below
from haulage.lab.time_left import TimeLeft, rest_ns
from haulage.places import local_path


@dataclass(frozen=True)
class RunProgress:
    """How far a run has come. ``remaining_ns`` is ``None`` while nothing is known."""

    stage: str  #: ``prepare``, ``ceiling``, ``cells`` or ``confirm``, whose cells are short transfers
    cells_done: int
    cells_planned: int
    elapsed_ns: int
    remaining_ns: int | None
    replicate: int | None = None
    treatment: str | None = None
    files: str | None = None
    bytes_done: int = 0  #: of the cell
    bytes_total: int = 0  #: of the cell
    rate_bits_per_second: float = 0.0


OnProgress = Callable[[RunProgress], object]


def run(
    plan: Plan,
    target: Target,
    directory: Path,
    *,
    on_progress: OnProgress | None = None,
    continue_: bool = False,
    command: Sequence[str] = (),
    left_out: Mapping[str, str] | None = None,
    where: Where = HERE,
) -> Run:
    """Run a plan and write its directory.

    Ctrl-C stops at once: what is finished is kept, and ``continue_`` goes on with the cell that was
    running.

    Args:
        plan: What to run.
        target: Where to.
        directory: A folder that is empty or not there; with ``continue_`` that of a stopped run.
        on_progress: Called several times a second, in this thread.
        continue_: Go on with a stopped run.
        command: What to write down as the command; default the arguments of this process.
        left_out: Arms that are not run and why, from :func:`available`; default none.
        where: The cluster whose workers are the nodes of a plan with many; default processes of this machine.

    Raises:
        ExistsError: There is something in the directory already.
        UsageError: The run to continue was another plan or target.
        KeyboardInterrupt: Ctrl-C, after everything is written.
        HaulageError: What makes an arm impossible, such as a tool that is not there.
    """
    where.check(plan, target)
    for arm in plan.arms:
        method_of(arm)  # Says now what no cell could do later.
    if continue_:
        store = RunStore.open(directory)
        same_run(store, plan, target)
        require_unchanged(directory, store.manifest, "continue run")
        store.update({"state": "running", "stopped_because": None, "ended_unix_ns": None})
    else:
        store = RunStore.create(
            directory,
            plan.to_toml(),
            new_manifest(plan, target, command, {**(left_out or {}), **same_as(plan)}),
        )
    if where:
        store.update({"scheduler": where.address, "scheduler_file": where.file})
    runner = _Runner(plan, target, store, on_progress or (lambda _: None), where)
    because: str | None = "interrupted"
    state = "stopped"
    try:
        because = runner.run()
        state = "complete" if because is None or because.startswith("interval") else "stopped"
    except HaulageError as error:
        because = f"failed: {error.cause}"
        raise
    finally:
        store.merge()
        store.update(
            {"state": state, "stopped_because": because, "ended_unix_ns": time.time_ns()}
            | {"cells_done": len(store.done())}
        )
    return Run(directory, store.manifest)


def available(plan: Plan) -> tuple[Plan, dict[str, str]]:
    """Return the plan without the arms whose tools are not here, and why each was left out.

    Raises:
        NotFoundError: No arm would be left.
    """
    left_out: dict[str, str] = {}
    missing: NotFoundError | None = None
    for arm in plan.arms:
        if arm.tool is not None:
            try:
                find(arm.tool)
            except NotFoundError as error:
                missing, left_out[arm.name] = error, f"{arm.tool} is {error.cause}; {error.hint}"
    arms = tuple(arm for arm in plan.arms if arm.name not in left_out)
    if not arms and missing is not None:
        raise missing
    return replace(plan, arms=arms, again="" if plan.again in left_out else plan.again), left_out


def resume(
    directory: Path,
    *,
    target: Target | None = None,
    on_progress: OnProgress | None = None,
    where: Where = HERE,
) -> Run:
    """Go on with a stopped run, from its directory alone.

    Args:
        directory: Of the stopped run.
        target: Where to, if it needs a secret that the manifest does not hold; default as before.
        on_progress: As for :func:`run`.
        where: As for :func:`run`; default as before.
    """
    store = RunStore.open(directory)
    store.need("run", "plan_sha256", "target", "cells_planned")
    require_unchanged(directory, store.manifest, "continue run")
    plan = parse(store.plan_values)
    return run(
        plan,
        target or target_of(directory),
        directory,
        on_progress=on_progress,
        continue_=True,
        where=where or nodes_of(directory),
    )


def nodes_of(directory: Path) -> Where:
    """Return where the nodes of a run were."""
    manifest = RunStore.open(directory).manifest
    return Where(manifest.get("scheduler"), manifest.get("scheduler_file"))


def target_of(directory: Path, given: str | None = None, *, insecure_http: bool = False) -> Target:
    """Return where a run went to, without a secret, or the one that is given, with the faults of the run.

    Plain http that was allowed for the run stays allowed for the same host.
    """
    store = RunStore.open(directory)
    if given is None:
        store.need("target")
    manifest = store.manifest
    before = str(manifest.get("target") or "")
    text = given or before
    same_host = text.partition("?")[0].split("/")[:3] == before.split("/")[:3]
    allowed = same_host and bool(manifest.get("insecure_http"))
    faults = manifest.get("faults") or "none"
    return parse_target(text, faults=faults, insecure_http=insecure_http or allowed)


class _Runner:
    def __init__(
        self, plan: Plan, target: Target, store: RunStore, on_progress: OnProgress, where: Where
    ) -> None:
        self._plan = plan
        self._where = where
        self._target = target
        self._store = store
        self._tell = on_progress
        self._began_ns = time.monotonic_ns()
        self._cells = schedule(plan)
        self._rows = store.done()
        expected = [cell_ns(target, cell) for cell in self._cells]
        self._time = TimeLeft(
            [None if one is None else one + plan.idle_ns for one in expected],
            [(cell.treatment, cell.files.name, json.dumps(cell.factors)) for cell in self._cells],
        )
        measured = self._store.manifest.get("ceiling")
        self._ceiling_left_ns = 0.0 if measured else ceiling_ns(plan, target, self._cells)
        self._cell_began_ns = 0

    def run(self) -> str | None:
        """Run the cells that are not done; return why it stopped, ``None`` if it did not."""
        prefix = f"haulage-lab/{self._store.manifest['run']}"
        with (
            tempfile.TemporaryDirectory(prefix="haulage-lab-") as scratch,
            Endpoints(self._target, prefix) as endpoints,
            host.HostSampler() as sampler,
            Crew(self._plan, self._store, endpoints, self._where) as self._crew,
        ):
            self._report("prepare")
            data = Data(self._plan, Path(scratch), self._store.manifest["run"])
            data.make()
            data.offer(endpoints, emulated=self._target.emulated)
            self._crew.start(data)
            try:
                self._ceiling(endpoints)
                return self._all(endpoints, data, sampler)
            finally:
                host.pin(None)
                data.free()
                if not self._target.emulated:
                    remove_below(endpoints.get(store=""))

    def _ceiling(self, endpoints: Endpoints) -> None:
        if not self._plan.ceiling or self._store.manifest.get("ceiling"):
            return
        began, expected = time.monotonic_ns(), self._ceiling_left_ns
        changes = self._target.shape is not None and self._target.shape.changes

        def alive() -> None:
            self._ceiling_left_ns = rest_ns(expected, time.monotonic_ns() - began)
            self._report("ceiling")

        def reach() -> Endpoint:
            if changes:
                endpoints.drop(store="null")
            return endpoints.get(store="null")

        used = {cell.direction for cell in self._cells}
        found = measure_ceiling(
            self._plan,
            reach,
            alive,
            steady_s(self._target),
            [direction for direction in ("up", "down") if direction in used],
        )
        if changes and self._target.shape is not None:
            found["before_ns"] = self._target.shape.steps[1].after_ns
        self._ceiling_left_ns = 0.0
        self._store.update({"ceiling": found, "endpoint": reach().base})
        if self._plan.fresh_link:
            endpoints.drop(store="null")

    def _all(self, endpoints: Endpoints, data: Data, sampler: host.HostSampler) -> str | None:
        replicate = None
        for cell in self._cells:
            if cell.number in self._rows:
                continue
            if self._elapsed_ns() > self._plan.time_bound_ns:
                return "time"
            if cell.replicate != replicate:
                replicate = cell.replicate
                if self._plan.fresh_nodes:
                    endpoints.close()
                narrow = narrow_enough(self._plan, self._rows.values())
                if narrow:
                    return narrow
            self._one(cell, endpoints, data, sampler)
        return None

    def _one(self, cell: Cell, endpoints: Endpoints, data: Data, sampler: host.HostSampler) -> None:
        intended = time.time_ns()
        idle_from = self._cell_began_ns = time.monotonic_ns()
        store = self._plan.store if cell.direction == "up" else str(data.remote_folder)
        # An endpoint that is started now must not be held to the processors of the cell before.
        host.pin(None)
        link, via = cell.link, cell.node.via if cell.node is not None else None
        if self._plan.fresh_link:
            endpoints.drop(store=store, link=link)
        if cell.arm.method == "table-rows":
            endpoint = data.table(self._target.link_of(link))
        else:
            endpoint = endpoints.get(store=store, link=link, via=via)
        data.sink_ready()
        items = data.items(cell) if cell.count is None else ()
        cpus = host.pin(cell.node.cpus if cell.node is not None else None)
        time.sleep(max(0.0, (self._plan.idle_ns - (time.monotonic_ns() - idle_from)) / 1e9))
        work = Work(
            cell.arm,
            cell.direction,
            items,
            endpoint,
            self._store.record_path(cell.number),
            data.scratch(),
            cell.files.count if cell.files.kind == "rows" else 0,
        )
        sampler.begin(cell.number)
        began, idle_ns, cpu = time.time_ns(), time.monotonic_ns() - idle_from, time.process_time_ns()
        moved = self._move(cell, work, data)
        ended, cpu = time.time_ns(), time.process_time_ns() - cpu
        row = {
            **row_of(cell, moved),
            "intended_unix_ns": intended + self._plan.idle_ns,
            "began_unix_ns": began,
            "ended_unix_ns": ended,
            "idle_before_ns": idle_ns,
            # Of many nodes this process only waits for them.
            "cpu_ns": cpu + sum(node["cpu_ns"] or 0 for node in moved.nodes or ()),
            "factors": json.dumps(
                cell.factors
                | {"cpus_used": cpus, "checksum": cell.arm.checksum or "crc64", "cap_bits_per_second": None}
            ),
        }
        self._keep(cell, row, moved, sampler)
        self._cell_began_ns = 0
        self._time.ended(cell.number, time.monotonic_ns() - idle_from)
        self._report("cells")

    def _move(self, cell: Cell, work: Work, data: Data) -> Moved:
        """Move the files; a cell that fails as a whole is a result, a call that makes no sense is not."""
        began, offset = time.monotonic_ns(), time.time_ns()
        try:
            if cell.count is not None:
                return self._crew.move(cell, work, data, self._watch(cell))
            return method_of(cell.arm)(work, self._watch(cell))
        except UsageError:
            raise
        except HaulageError as error:
            # What a job that broke off has recorded may be no whole file.
            work.record.unlink(missing_ok=True)
            wall = time.monotonic_ns() - began
            return Moved(wall, 0, [], offset, outcome=error.code, cause=error.cause)

    def _keep(self, cell: Cell, row: dict[str, Any], moved: Moved, sampler: host.HostSampler) -> None:
        transfers = [
            {"cell": cell.number, "transfer": number, **transfer}
            for number, transfer in enumerate(moved.transfers)
        ]
        nodes = None if moved.nodes is None else [{"cell": cell.number, **node} for node in moved.nodes]
        self._store.keep(row, transfers, sampler.end(), nodes)
        self._rows[cell.number] = row
        self._store.update({"cells_done": len(self._rows)})

    def _watch(self, cell: Cell) -> Watch:
        def watch(bytes_done: int, rate: float) -> None:
            self._report("cells", cell, bytes_done, rate)

        watch(0, 0.0)
        return watch

    def _elapsed_ns(self) -> int:
        return time.monotonic_ns() - self._began_ns

    def _report(self, stage: str, cell: Cell | None = None, bytes_done: int = 0, rate: float = 0.0) -> None:
        self._tell(
            RunProgress(
                stage=stage,
                cells_done=len(self._rows),
                cells_planned=len(self._cells),
                elapsed_ns=self._elapsed_ns(),
                remaining_ns=self._remaining_ns(
                    bytes_done / cell.total_bytes if cell and bytes_done else 0.0
                ),
                replicate=cell.replicate if cell else None,
                treatment=cell.treatment if cell else None,
                files=cell.files.name if cell else None,
                bytes_done=bytes_done,
                bytes_total=cell.total_bytes if cell else 0,
                rate_bits_per_second=rate,
            )
        )

    def _remaining_ns(self, share: float) -> int | None:
        """Return the time left; ``share`` of the bytes of the cell that runs have moved."""
        left = [cell.number for cell in self._cells if cell.number not in self._rows]
        running = time.monotonic_ns() - self._cell_began_ns if self._cell_began_ns else 0
        cells = self._time.left_ns(left, running, min(share, 1.0))
        return None if cells is None else int(self._ceiling_left_ns + cells)


def new_folder(plan: Plan) -> Path:
    """Return where a run goes if nobody says: ``runs/PLAN-TIME``."""
    return Path("runs") / f"{plan.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"


def folder_of(text: str | Path) -> Path:
    """Return the folder that somebody named for a run.

    Raises:
        UsageError: It is a URL, or empty, which Python takes for the working folder.
    """
    if not str(text).strip():
        raise UsageError("write run", "--out", "an empty name", "give --out a folder that is new or empty")
    return local_path("write run", text)


def beside(folder: Path) -> Path:
    """Return where a repetition goes if nobody says: beside the first, numbered."""
    folder = folder.resolve() if not folder.name or folder.name == ".." else folder
    numbered = (folder.with_name(f"{folder.name}-rerun-{number}") for number in count(1))
    return next(path for path in numbered if not path.exists())
