"""Copy, compare, plan and list."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, Unpack

from haulage import _engine
from haulage.errors import BY_CODE, CancelledError, HaulageError, from_engine
from haulage.events import Event, ObjectMeta, PlanReport, Progress, Summary, parse
from haulage.options import Name as Name, Options as Options, StoreOptions as StoreOptions, takes


class Job:
    """A copy or a comparison that is watched or stopped while it runs.

    Make one with :meth:`copy` or :meth:`verify`. It may be shared between threads: one reads events
    or waits, any may ask for progress or cancel. Dropping it cancels it.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a").write_bytes(b"hello")
    >>> job = Job.copy(folder / "a", folder / "b")
    >>> [type(event).__name__ for event in job.events()][-1]
    'Summary'
    >>> job.wait().objects_done
    1
    """

    def __init__(self, engine: _engine.Job) -> None:
        self._engine = engine

    @classmethod
    @takes(Options)
    def copy(
        cls,
        src: Name | Iterable[Name] | Iterable[tuple[Name, Name]],
        dst: Name | None = None,
        **options: Unpack[Options],
    ) -> Job:
        """Return a copy that is not started yet; arguments as for :func:`haulage.copy`."""
        if dst is None:
            if isinstance(src, (str, PathLike)):
                raise from_engine(
                    "usage",
                    "copy",
                    str(src).split("?")[0],
                    "no destination",
                    "pass dst, or a list of (source, destination)",
                )
            return cls(_engine.Job.copy_pairs(_pairs(src), **options))
        return cls(_engine.Job.copy(_sources(src), dst, **options))

    @classmethod
    @takes(Options)
    def verify(
        cls, src: Name, dst: Name, *, stored: bool = False, deep: bool = False, **options: Unpack[Options]
    ) -> Job:
        """Return a comparison that is not started yet; arguments as for :func:`haulage.verify`."""
        return cls(_engine.Job.verify(src, dst, stored=stored, deep=deep, **options))

    def start(self, *, listen: bool = False) -> Job:
        """Start it and return it; nothing happens if it runs already.

        Args:
            listen: Keep events for :meth:`events`, which must then be read: outcomes are never
                dropped, so a full queue holds the job. Default no: it costs nothing to not listen.

        Raises:
            HaulageError: What is wrong before anything moves: a bad option or URL, no credentials, a
                record file that cannot be written.
        """
        self._engine.start(listen=listen)
        return self

    def events(self, batch: int = 1024) -> Iterator[Event]:
        """Yield every event to the :class:`~haulage.events.Summary`, which is the last.

        Starts the job if need be; one that is started must have been told to ``listen``. Who begins to
        read must go on: outcomes are never dropped, a full queue holds the job. ``batch`` bounds how
        many cross from the engine in one call.

        Raises:
            UsageError: The job was started without ``listen``.
        """
        for values in self.batches(batch):
            yield from map(parse, values)

    def batches(self, max: int = 1024) -> Iterator[builtins.list[dict[str, Any]]]:
        """As :meth:`events`, in lists of at most ``max`` plain dicts: for many events, or to pass them on."""
        while values := self._engine.next_events(max):
            yield values

    def progress(self) -> Progress | None:
        """Return a sample of how far it has come; ``None`` before the start and after :meth:`wait`."""
        values = self._engine.progress()
        return None if values is None else Progress.from_dict(values)

    def cancel(self) -> None:
        """Stop it at once: requests in flight are dropped.

        What has arrived of large objects stays, in partial files or with the service; the same call goes on
        from it.
        """
        self._engine.cancel()

    def set_cap(self, rate: str | None) -> None:
        """Bound the rate on the wire from now on, both directions together.

        Args:
            rate: Such as ``"100mbit"``; ``None`` for no bound.

        Raises:
            UsageError: A rate without a unit. A job that does not run takes no notice.
        """
        self._engine.set_cap(rate)

    def wait(self, *, check: bool = True, on_progress: Callable[[Progress], object] | None = None) -> Summary:
        """Wait for the end, starting it if need be. Ctrl-C cancels the job and raises ``KeyboardInterrupt``.

        Args:
            check: Raise if objects failed. ``False`` leaves it to the caller to read the summary.
            on_progress: Called with a sample about five times a second, in this thread. What it
                raises cancels the job.

        Raises:
            HaulageError: What stopped the whole job; with ``check`` also what made objects fail, with
                the summary attached as ``.summary``.
        """

        def sample(values: dict[str, Any]) -> None:
            if on_progress is not None:
                on_progress(Progress.from_dict(values))

        summary = Summary.from_dict(self._engine.wait(sample if on_progress else None))
        if check and summary.exit_code != 0:
            raise _failure(summary)
        return summary


@takes(Options)
def copy(
    src: Name | Iterable[Name] | Iterable[tuple[Name, Name]],
    dst: Name | None = None,
    *,
    check: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Copy files, folders, blobs or prefixes, and prove that every byte arrived.

    A folder or prefix copies with all below it, its contents under ``dst``; a ``dst`` that ends in
    ``/``, and more than one source, copy into it. Running the same call again resumes it.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in "ab":
    ...     _ = (folder / name).write_bytes(b"hello")
    >>> copy([(folder / "a", folder / "c"), (folder / "b", folder / "d")]).bytes_done
    10

    Args:
        src: One name, several names, or, without ``dst``, pairs of source and destination: tuples, or a table
            of Arrow or pandas with the columns ``source`` and ``destination``. Pairs cross into the engine in
            one call; a million of them is fine. :func:`read_pairs` reads them from a file.
        dst: Where to.
        check: Raise if objects failed. ``False`` leaves it to the caller to read the summary.
        on_progress: Called with a sample about five times a second, in this thread.
        options: See :class:`Options`.

    Returns:
        What was done, in numbers.

    Raises:
        HaulageError: What stopped the whole copy; with ``check`` also what made objects fail, with
            the summary attached as ``.summary``.
        KeyboardInterrupt: Ctrl-C; the copy is cancelled within a tenth of a second.
    """
    return Job.copy(src, dst, **options).wait(check=check, on_progress=on_progress)


@takes(Options)
def verify(
    src: Name,
    dst: Name,
    *,
    stored: bool = False,
    deep: bool = False,
    check: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Compare contents by checksum.

    Args:
        src: A file, folder, blob or prefix; or the path of a receipt, which is compared with what the
            store says of its objects.
        dst: What should hold the same.
        stored: Trust the checksums stored with remote objects instead of reading them again: quicker,
            but proves only what was written, not what is there now.
        deep: Compare a receipt with the contents of ``dst``, every byte.
        check: Raise if something differs. ``False`` leaves it to the caller to read the summary.
        on_progress: Called with a sample about five times a second, in this thread.
        options: See :class:`Options`; those that only concern writing have no effect.

    Raises:
        IntegrityError: Contents differ; ``.summary.failures`` names the objects.
        HaulageError: What else stopped the comparison.
    """
    return Job.verify(src, dst, stored=stored, deep=deep, **options).wait(
        check=check, on_progress=on_progress
    )


@takes(Options)
def plan(src: Name | Iterable[Name], dst: Name, **options: Unpack[Options]) -> PlanReport:
    """Say what :func:`copy` would do, from listings alone; nothing moves.

    Raises:
        HaulageError: Bad options, no access to source or destination.
    """
    return PlanReport.from_dict(_engine.plan(_sources(src), dst, **options))


@takes(StoreOptions)
def list(url: Name, *, recursive: bool = False, **options: Unpack[StoreOptions]) -> Iterator[ObjectMeta]:
    """Yield what is below ``url``, in byte order of the names, page by page as it is read.

    Without ``recursive`` names fold at the next ``/``; a folded prefix has size 0 and ends in ``/``.

    Raises:
        HaulageError: No access; or a name that cannot be moved, raised when all others are yielded.
    """
    listing = _engine.Listing(url, recursive=recursive, **options)
    problems: builtins.list[dict[str, Any]] = []
    while (page := listing.next_page()) is not None:
        problems += page["problems"]
        folded = [_folder(prefix) for prefix in page["prefixes"]]
        found = [ObjectMeta.from_dict(values) for values in page["objects"]]
        yield from sorted(folded + found, key=lambda meta: meta.key.encode())
    if problems:
        raise _exception(**problems[0])


def read_pairs(path: Name) -> builtins.list[tuple[str, str]]:
    """Read pairs of source and destination from a file, for :func:`copy`.

    It may be CSV (two columns, or a first row that names ``source`` and ``destination`` among others), lines
    of JSON, Parquet or an Arrow stream, whatever its name; ``"-"`` is standard input.

    >>> import pathlib, tempfile
    >>> pairs = pathlib.Path(tempfile.mkdtemp()) / "pairs.csv"
    >>> _ = pairs.write_text("a.nc,az://climate/2024/a.nc")
    >>> read_pairs(pairs)
    [('a.nc', 'az://climate/2024/a.nc')]

    Raises:
        UsageError: It is none of these, a row lacks one of the two, or there is no row.
        NotFoundError: There is no such file.
    """
    return _engine.read_pairs(path)


@takes(StoreOptions)
def stat(url: Name, **options: Unpack[StoreOptions]) -> ObjectMeta:
    """Return what is known of one object without reading it.

    Raises:
        NotFoundError: There is none of this name.
    """
    return ObjectMeta.from_dict(_engine.stat(url, **options))


def _sequence(items: Iterable[Any]) -> Sequence[Any]:
    return items if isinstance(items, (builtins.list, tuple)) else builtins.list(items)


def _pairs(src: Any) -> Sequence[tuple[Name, Name]]:
    """Return pairs as the engine takes them; those of a table are in two of its columns."""
    if not hasattr(src, "columns"):
        return _sequence(src)
    columns = (src["source"], src["destination"])
    texts = (getattr(column, "to_pylist", None) or column.tolist for column in columns)
    return [*zip(*(text() for text in texts), strict=True)]


def _sources(src: Any) -> Sequence[Name]:
    return [src] if isinstance(src, (str, PathLike)) else _sequence(src)


def _folder(prefix: str) -> ObjectMeta:
    return ObjectMeta(
        key=prefix,
        size_bytes=0,
        etag="",
        modified_ns=0,
        source_modified_ns=None,
        crc64=None,
        md5=None,
        content_type=None,
    )


def _exception(kind: str, operation: str, object: str, cause: str, hint: str | None) -> HaulageError:
    return from_engine(kind, operation, object, cause, hint)


def _failure(summary: Summary) -> HaulageError:
    """Return the failure that says most: one that stands for the exit code, else the first."""
    telling = [f for f in summary.failures if BY_CODE[f.kind].exit_code == summary.exit_code]
    error: HaulageError
    if summary.failures:
        chosen = (telling or summary.failures)[0]
        error = _exception(chosen.kind, chosen.operation, chosen.object, chosen.cause, chosen.hint)
        if summary.objects_failed > 1:
            error.add_note(f"{summary.objects_failed} of {summary.objects_total} objects failed")
    else:
        hint = "make the same call again to resume"
        error = CancelledError(summary.operation, "job", "cancelled", hint)
    error.summary = summary
    return error
