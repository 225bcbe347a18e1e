"""Copy, sync, move, verify and plan, each in one call."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Unpack

from haulage import _engine
from haulage.events import PlanReport, Progress, Summary
from haulage.job import Job as Job, for_engine, name, sources
from haulage.listing import Listing as Listing, list as list, stat as stat
from haulage.options import (
    Name as Name,
    Options as Options,
    Pair,
    StoreOptions as StoreOptions,
    takes,
)


@takes(Options)
def copy(
    src: Name | Iterable[Name] | Iterable[Pair],
    dst: Name | None = None,
    *,
    check: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
    progress: bool | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Copy files, folders, blobs or prefixes, and prove that every byte arrived.

    A folder or prefix is copied recursively, its contents under ``dst``. If ``dst`` ends in ``/``, or if
    there are several sources, they are copied into it. The same call again resumes an interrupted copy.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in "ab":
    ...     _ = (folder / name).write_bytes(b"hello")
    >>> copy([(folder / "a", folder / "c"), (folder / "b", folder / "d")]).bytes_done
    10

    Args:
        src: One name, several names, or, without ``dst``, pairs of source and destination: tuples or lists,
            or an Arrow or pandas table with the columns ``source`` and ``destination``. All pairs are passed
            to the engine in one call; a million of them is fine. :func:`read_pairs` reads them from a file.
        dst: The destination.
        check: Raise if objects failed. With ``False``, check the summary yourself.
        on_progress: Called with a sample about five times a second, in this thread.
        progress: Show a progress bar; default: in notebooks and at Python's prompt, not in scripts.
        options: See :class:`Options`.

    Returns:
        The counts and sizes of what was done.

    Raises:
        HaulageError: The whole copy failed; with ``check`` also if objects failed, with the summary
            attached as ``.summary``.
        KeyboardInterrupt: Ctrl-C; the copy is cancelled within a tenth of a second.
    """
    return Job.copy(src, dst, **options).wait(check=check, on_progress=on_progress, progress=progress)


@takes(Options)
def sync(
    src: Name,
    dst: Name,
    *,
    delete: bool = False,
    max_delete: int | str | None = None,
    allow_empty: bool = False,
    check: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
    progress: bool | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Make ``dst`` match ``src``: copy new and changed objects.

    With ``delete``, also remove objects that only ``dst`` has, after everything is copied. Nothing is deleted
    if an object failed or a list was incomplete.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("a/1", "a/2", "b/3"):
    ...     (folder / name).parent.mkdir(exist_ok=True)
    ...     _ = (folder / name).write_text("hello")
    >>> summary = sync(folder / "a", folder / "b", delete=True, dry_run=True)
    >>> summary.objects_done, summary.objects_deleted
    (2, 1)

    Args:
        src: A folder, container or prefix.
        dst: The folder, container or prefix to update.
        delete: Remove objects that only ``dst`` has; default no. ``include``, ``exclude``, sizes and ages
            apply to them too.
        max_delete: Remove nothing if more than this would be removed: a number of objects, or a share of
            those at ``dst`` such as ``"10%"``; default no limit.
        allow_empty: Remove everything if ``src`` is empty; by default that is an error.
        check: Raise if objects failed, or if objects that should have been deleted were not.
        on_progress: Called with a sample about five times a second, in this thread.
        progress: Show a progress bar; default: in notebooks and at Python's prompt, not in scripts.
        options: See :class:`Options`; ``dry_run``, ``compare`` and ``backup_dir`` are useful here.

    Raises:
        NotFoundError: ``src`` is missing or empty.
        HaulageError: The whole sync failed for another reason; with ``check`` also if objects failed.
    """
    job = Job.sync(src, dst, delete=delete, max_delete=max_delete, allow_empty=allow_empty, **options)
    return job.wait(check=check, on_progress=on_progress, progress=progress)


@takes(Options)
def move(
    src: Name | Iterable[Name],
    dst: Name,
    *,
    check: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
    progress: bool | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Copy, then delete each source object whose copy was verified; objects that failed stay.

    Args:
        src: One name or several.
        dst: The destination, as for :func:`copy`.
        check: Raise if objects failed. With ``False``, check the summary yourself.
        on_progress: Called with a sample about five times a second, in this thread.
        progress: Show a progress bar; default: in notebooks and at Python's prompt, not in scripts.
        options: See :class:`Options`.

    Raises:
        HaulageError: The whole move failed; with ``check`` also if objects failed.
    """
    return Job.move(src, dst, **options).wait(check=check, on_progress=on_progress, progress=progress)


@takes(Options)
def verify(
    src: Name,
    dst: Name,
    *,
    stored: bool = False,
    deep: bool = False,
    check: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
    progress: bool | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Compare contents by checksum.

    Args:
        src: A file, folder, blob or prefix; or the path of a receipt, which is compared with the sizes and
            checksums that the store lists.
        dst: What to compare it with.
        stored: Trust the checksums stored with remote objects instead of reading the objects again: faster,
            but proves only what was written, not what is there now.
        deep: Compare a receipt with every byte at ``dst``.
        check: Raise if something differs. With ``False``, check the summary yourself.
        on_progress: Called with a sample about five times a second, in this thread.
        progress: Show a progress bar; default: in notebooks and at Python's prompt, not in scripts.
        options: See :class:`Options`; options for writing have no effect.

    Raises:
        IntegrityError: Contents differ; ``.summary.failures`` names the objects.
        HaulageError: The comparison failed for another reason.
    """
    return Job.verify(src, dst, stored=stored, deep=deep, **options).wait(
        check=check, on_progress=on_progress, progress=progress
    )


@takes(Options)
def plan(src: Name | Iterable[Name], dst: Name, **options: Unpack[Options]) -> PlanReport:
    """Return what :func:`copy` would do. Only lists both sides; copies nothing.

    Raises:
        HaulageError: Invalid options, or no access to the source or the destination.
    """
    dst = name(dst, "destination")
    return PlanReport.from_dict(_engine.plan(sources(src), dst, **for_engine(options)))


def read_pairs(path: Name) -> builtins.list[tuple[str, str]]:
    """Read pairs of source and destination from a file, for :func:`copy`.

    The file is CSV (two columns, or a first row that names ``source`` and ``destination`` among others), JSON
    lines, Parquet or an Arrow stream, whatever its name; ``"-"`` is standard input.

    >>> import pathlib, tempfile
    >>> pairs = pathlib.Path(tempfile.mkdtemp()) / "pairs.csv"
    >>> _ = pairs.write_text("a.nc,az://climate/2024/a.nc")
    >>> read_pairs(pairs)
    [('a.nc', 'az://climate/2024/a.nc')]

    Raises:
        UsageError: The format is unknown, a row lacks a source or destination, or there are no rows.
        NotFoundError: There is no such file.
    """
    return _engine.read_pairs(path)
