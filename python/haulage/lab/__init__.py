"""The lab: run an experiment on a link, keep every measurement, and find out why it was not faster.

>>> from haulage import lab
>>> "block-upload" in lab.plans()
True

A run is a folder; :func:`load` opens it with its tables as data frames. Each function here does the same as
a subcommand of ``haul lab``. Needs ``pip install haulage[lab]``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haulage.causes.verdict import Verdict
    from haulage.lab.plan import Plan
    from haulage.lab.report.compare import Comparison
    from haulage.lab.report.verify import Check
    from haulage.lab.runner import RunProgress
    from haulage.lab.runs import Run

__all__ = ["compare", "confirm", "load", "plans", "predict", "report", "rerun", "resume", "run", "verify"]


def plans() -> list[str]:
    """Return the names of the plans that come with Haulage."""
    from haulage.lab.planfile import names

    return names()


def run(
    plan: str | Path | Plan,
    target: str | None = None,
    directory: str | Path | None = None,
    *,
    variant: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    confirm: bool = True,
    report: bool = True,
    profile_name: str | None = None,
    places: str | None = None,
    scheduler: str | None = None,
    scheduler_file: str | None = None,
    insecure_http: bool = False,
    on_progress: Callable[[RunProgress], object] | None = None,
    on_note: Callable[[str], object] | None = None,
) -> Run:
    """Run a plan, confirm the cause of its speed limit, write the report, and return the run.

    This is what ``haul lab run`` does.

    Args:
        plan: The name of one of :func:`plans`, the path of a TOML file, or a plan.
        target: ``"emulated:wan"``, ``"emulated:rtt=20ms,total=1gbit"`` or the URL of a container with a
            SAS; default: the target in the plan.
        directory: The folder to write to, new or empty; default ``runs/PLAN-TIME`` in the working directory.
        variant: The variant of the plan, such as ``"full"``; default none.
        overrides: Keys that replace the plan's, such as ``{"replicates": 3}``; default none.
        confirm: Confirm the cause with a few seconds of short transfers; ``run.analysis.verdict`` is the
            result.
        report: Analyse the run and write the report; ``run.page`` is its path.
        profile_name: Store the result of a sweep under this name, for ``haul cp --profile NAME``; default
            ``profile.toml`` in the run's folder.
        places: The places to measure from, such as ``"here,far=rtt=80ms,total=20mbit"``; default: only here.
        scheduler: The Dask scheduler, ``tcp://host:port``, whose workers are the nodes of a plan with several
            nodes; default: processes on this machine.
        scheduler_file: The file that ``dask scheduler --scheduler-file`` has written, instead of
            ``scheduler``.
        insecure_http: Allow a target of plain http on another machine. Default ``False``.
        on_progress: Called several times a second, in this thread.
        on_note: Called with the notes that the command prints, such as why nothing was confirmed.

    Raises:
        UsageError: The plan or the target is invalid.
        ExistsError: ``directory`` is not empty.
        KeyboardInterrupt: Ctrl-C; use :func:`resume` to continue.
    """
    from haulage.lab import planfile, runner
    from haulage.lab.finish import finish
    from haulage.lab.places import seen_from
    from haulage.lab.plan import Plan as Read
    from haulage.lab.scale.workers import Where
    from haulage.lab.target import parse_target

    if isinstance(plan, Read):
        wanted = plan
    else:
        wanted = planfile.load(str(plan), variant=variant, overrides=overrides)
    wanted, left_out = runner.available(wanted)
    where = parse_target(target or wanted.target, faults=wanted.faults, insecure_http=insecure_http)
    if places is not None:
        wanted = seen_from(wanted, places, where)
    folder = runner.folder_of(directory) if directory is not None else runner.new_folder(wanted)
    done = runner.run(
        wanted,
        where,
        folder,
        on_progress=on_progress,
        left_out=left_out,
        where=Where(scheduler, scheduler_file),
    )
    say = on_note or (lambda _: None)
    return finish(
        done,
        where,
        confirm=confirm,
        report=report,
        profile_name=profile_name,
        say=say,
        on_progress=on_progress,
    )[0]


def resume(
    directory: str | Path,
    *,
    target: str | None = None,
    confirm: bool = True,
    report: bool = True,
    profile_name: str | None = None,
    on_progress: Callable[[RunProgress], object] | None = None,
    on_note: Callable[[str], object] | None = None,
) -> Run:
    """Continue a stopped run with the same nodes, then confirm and report as :func:`run` does.

    Args:
        directory: The folder of the run.
        target: The URL with its SAS, if the run needs one: runs never store secrets.
        confirm: As for :func:`run`.
        report: As for :func:`run`.
        profile_name: As for :func:`run`.
        on_progress: As for :func:`run`.
        on_note: As for :func:`run`.

    Raises:
        NotFoundError: The folder does not hold a run.
        IntegrityError: A file of the run has changed since it was recorded.
    """
    from haulage.lab import runner
    from haulage.lab.finish import finish

    where = runner.target_of(Path(directory), target)
    done = runner.resume(Path(directory), target=where, on_progress=on_progress)
    say = on_note or (lambda _: None)
    return finish(
        done,
        where,
        confirm=confirm,
        report=report,
        profile_name=profile_name,
        say=say,
        on_progress=on_progress,
    )[0]


def rerun(
    directory: str | Path,
    new: str | Path | None = None,
    *,
    target: str | None = None,
    insecure_http: bool = False,
    on_progress: Callable[[RunProgress], object] | None = None,
) -> Run:
    """Repeat a run with the same plan, seed and order, into a new folder; :func:`compare` compares both.

    Args:
        directory: The folder of the run to repeat.
        new: The folder to write to; default: next to the run's, with ``-rerun-N`` at the end of the name.
        target: As for :func:`resume`.
        insecure_http: As for :func:`run`; default: as that run, for the same host.
        on_progress: Called several times a second, in this thread.
    """
    from haulage.lab import runner

    before = load(directory)
    where = runner.target_of(before.folder, target, insecure_http=insecure_http)
    folder = runner.folder_of(new) if new is not None else runner.beside(before.folder)
    plan, left_out = runner.available(before.plan)
    nodes = runner.nodes_of(before.folder)
    return runner.run(plan, where, folder, on_progress=on_progress, left_out=left_out, where=nodes)


def load(directory: str | Path) -> Run:
    """Open the folder of a run.

    Raises:
        NotFoundError: The folder does not hold a run.
    """
    from haulage.lab import runs

    return runs.load(directory)


def confirm(directory: str | Path, *, target: str | None = None) -> Verdict | None:
    """Confirm with a few seconds of short transfers why a run was not faster, and store the result.

    Args:
        directory: The folder of a complete run.
        target: As for :func:`resume`.

    Returns:
        The verdict; ``None`` if nothing can be confirmed: the plan does not use the engine, the link differs
        between cells, or it is too slow for short transfers.

    Raises:
        ServiceError: The path no longer works.
    """
    from haulage.lab import confirming
    from haulage.lab.runner import target_of

    where = target_of(Path(directory), target)
    return confirming.confirm(Path(directory), where)


def report(directory: str | Path) -> Path:
    """Analyse a run, write its report, and return the path of the page."""
    from haulage.lab.report.page import write

    return write(Path(directory))


def verify(directory: str | Path, *, sha256: str | None = None, quick: bool = False) -> list[Check]:
    """Compare every file of a run with its hash, then rebuild the tables, results and page and compare them.

    Args:
        directory: The folder of the run.
        sha256: The SHA-256 of its ``SHA256SUMS`` that you have kept elsewhere; default: not compared.
        quick: Only compare hashes; do not rebuild anything.

    Raises:
        NotFoundError: The folder does not hold a run, or the run has no report yet.
        UsageError: The run was recorded by a version that did not hash every file.
    """
    from haulage.lab.report.verify import verify as check

    return check(Path(directory), sha256=sha256, quick=quick)


def compare(a: str | Path, b: str | Path) -> Comparison:
    """Compare two runs, treatment by treatment and size by size."""
    from haulage.lab.report.compare import compare as put

    return put(Path(a), Path(b))


def predict(
    directory: str | Path,
    nodes: Sequence[int] = (20, 100),
    *,
    limit_bits_per_second: float | None = None,
    requests_per_second: float | None = None,
) -> list[dict[str, Any]]:
    """Simulate more nodes than a ``scale-out`` run had; return a row for each number of nodes and direction.

    Args:
        directory: The folder of the run.
        nodes: The numbers of nodes to simulate.
        limit_bits_per_second: The rate limit of the account; default: the rate that up to 4 nodes of the run
            reached.
        requests_per_second: The request limit of the account; default no limit.

    Raises:
        UsageError: The run did not use several numbers of nodes.
    """
    from haulage.lab.simulation.predict import predict as simulate

    return simulate(
        Path(directory),
        nodes,
        limit_bits_per_second=limit_bits_per_second,
        requests_per_second=requests_per_second,
    )


class _Lab(ModuleType):
    """A module whose functions keep their names, also where a package below it has the same."""

    def __setattr__(self, name: str, value: object) -> None:
        # Python binds a package below this one to its name when it is first imported: `report` would be gone.
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Lab
