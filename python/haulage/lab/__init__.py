"""The laboratory: run an experiment on a link, keep every row, say why it was not faster.

>>> from haulage import lab
>>> "block-upload" in lab.plans()
True

A run is a folder; :func:`load` opens it with its tables as data frames. What the command ``haul lab``
can do, each function here does in one call. Needs ``pip install haulage[lab]``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haulage.lab.analysis.model import Verdict
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
    on_progress: Callable[[RunProgress], object] | None = None,
    on_note: Callable[[str], object] | None = None,
) -> Run:
    """Run a plan, confirm why it was not faster, write the report, and return the run: as the command does.

    Args:
        plan: Name of one of :func:`plans`, path of a TOML file, or a plan.
        target: ``"emulated:wan"``, ``"emulated:rtt=20ms,total=1gbit"`` or the URL of a container with a
            SAS; default the plan's own.
        directory: Where to write, new or empty; default ``runs/PLAN-TIME`` below the working folder.
        variant: Of the plan, such as ``"full"``; default none.
        overrides: Keys that replace the plan's, such as ``{"replicates": 3}``; default none.
        confirm: Confirm the cause by some seconds of short transfers; ``run.analysis.verdict`` is the result.
        report: Analyse and write the page; ``run.page`` is its path.
        profile_name: Keep what a sweep found under this name, for ``haul cp --profile NAME``; default
            ``profile.toml`` in the run's folder.
        places: From where, such as ``"here,far=rtt=80ms,total=20mbit"``; default from here alone.
        scheduler: The Dask scheduler, ``tcp://host:port``, whose workers are the nodes of a plan with many;
            default processes of this machine.
        scheduler_file: The file that ``dask scheduler --scheduler-file`` has written, in place of that.
        on_progress: Called several times a second, in this thread.
        on_note: Called with what the command says besides, such as why nothing was confirmed.

    Raises:
        UsageError: What the plan or the target gets wrong.
        ExistsError: ``directory`` holds something already.
        KeyboardInterrupt: Ctrl-C; :func:`resume` continues from there.
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
    where = parse_target(target or wanted.target, faults=wanted.faults)
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
    """Go on with a stopped run, then confirm and report as :func:`run` does. Its nodes are where they were.

    Args:
        directory: Of the run.
        target: The URL with its SAS again, where the run needs one: no run keeps a secret.
        confirm: As for :func:`run`, and so are all that follow.
        report: Write the page.
        profile_name: Of the profile.
        on_progress: Called several times a second, in this thread.
        on_note: Called with what the command says besides.

    Raises:
        NotFoundError: No run is there.
        IntegrityError: A file of it is no longer what was recorded.
    """
    from haulage.lab import runner
    from haulage.lab.finish import finish
    from haulage.lab.target import parse_target

    where = parse_target(target) if target else None
    done = runner.resume(Path(directory), target=where, on_progress=on_progress)
    where = where or parse_target(done.manifest["target"], faults=done.manifest["faults"] or "none")
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
    on_progress: Callable[[RunProgress], object] | None = None,
) -> Run:
    """Repeat a run: the same plan, seed and order, into a new folder; :func:`compare` puts both side by side.

    Args:
        directory: Of the run to repeat.
        new: Where to write; default beside it, with ``-rerun-N`` at the end of its name.
        target: As for :func:`resume`.
        on_progress: Called several times a second, in this thread.
    """
    from haulage.lab import runner
    from haulage.lab.target import parse_target

    before = load(directory)
    text = target or before.manifest["target"]
    where = parse_target(text, faults=before.manifest["faults"] or "none")
    folder = runner.folder_of(new) if new is not None else runner.beside(before.folder)
    plan, left_out = runner.available(before.plan)
    nodes = runner.nodes_of(before.folder)
    return runner.run(plan, where, folder, on_progress=on_progress, left_out=left_out, where=nodes)


def load(directory: str | Path) -> Run:
    """Open the folder of a run.

    Raises:
        NotFoundError: No run is there.
    """
    from haulage.lab import runs

    return runs.load(directory)


def confirm(directory: str | Path, *, target: str | None = None) -> Verdict | None:
    """Confirm by some seconds of short transfers why a run was not faster, and keep what they showed.

    Args:
        directory: Of a run that is complete.
        target: As for :func:`resume`.

    Returns:
        The verdict; ``None`` where there is nothing to look into: no engine in the plan, a link that is
        another one in each cell, or one so slow that nothing is short.

    Raises:
        ServiceError: The path does not work any more.
    """
    from haulage.lab import confirming
    from haulage.lab.target import parse_target

    manifest = load(directory).manifest
    where = parse_target(target or manifest["target"], faults=manifest["faults"] or "none")
    return confirming.confirm(Path(directory), where)


def report(directory: str | Path) -> Path:
    """Analyse a run and write its report; return the path of the page."""
    from haulage.lab.report import write

    return write(Path(directory))


def verify(directory: str | Path, *, sha256: str | None = None, quick: bool = False) -> list[Check]:
    """Compare every file of a run with its hash, and make tables, results and page again.

    Args:
        directory: Of the run.
        sha256: Of its ``SHA256SUMS``, from wherever it was kept; default not compared.
        quick: Compare hashes only, and make nothing again.

    Raises:
        NotFoundError: No run is there, or it has no report yet.
        UsageError: It was recorded by a version that did not hash every file.
    """
    from haulage.lab.report import verify as check

    return check(Path(directory), sha256=sha256, quick=quick)


def compare(a: str | Path, b: str | Path) -> Comparison:
    """Put two runs side by side, treatment by treatment, size by size."""
    from haulage.lab.report import compare as put

    return put(Path(a), Path(b))


def predict(
    directory: str | Path,
    nodes: Sequence[int] = (20, 100),
    *,
    limit_bits_per_second: float | None = None,
    requests_per_second: float | None = None,
) -> list[dict[str, Any]]:
    """Simulate more nodes than a run of ``scale-out`` had; a row for each number of nodes and direction.

    Args:
        directory: Of the run.
        nodes: How many, each by itself.
        limit_bits_per_second: What the account carries; default what up to 4 nodes of the run showed.
        requests_per_second: How many requests the account takes; default no limit.

    Raises:
        UsageError: The run had no several numbers of nodes.
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
