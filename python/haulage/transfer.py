"""Copy, compare, plan and list.

Every option defaults to ``None``, which leaves the choice to the engine; the default it takes is
named with the option, with its reason.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from haulage import _engine
from haulage.errors import BY_CODE, CancelledError, HaulageError, from_engine
from haulage.events import Event, ObjectMeta, PlanReport, Progress, Summary, parse

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from haulage.session import Session

#: A local path, ``az://container/path``, ``s3://bucket/key``, ``http(s)://host/account/container/path[?SAS]``
#: or ``mem://name/path``. URLs are ``str``: a ``pathlib.Path`` would fold their ``//``.
Name: TypeAlias = str | PathLike[str]


class StoreOptions(TypedDict, total=False):
    """How to reach stores. Credentials come from the session, else from where Azure's and AWS's tools look.

    endpoint: Where ``az://container`` and ``s3://bucket`` live, ``https://host[:port]``, for Azure with
        ``/account``; default: the session's, or the environment's (``AZURE_STORAGE_ENDPOINT``, the
        connection string, or the account's host; ``AWS_ENDPOINT_URL_S3``, ``AWS_ENDPOINT_URL``, the
        profile's, or AWS).
    region: Where an S3 bucket is; default: what the environment, the profile or the service says.
    addressing: How S3 URLs name a bucket, ``"path"`` or ``"virtual"``; default ``"auto"``: in the host at
        AWS, in the path elsewhere.
    keys: Id and secret of an access key of S3, with the session token of one that is good for a time
        only; default: the session's, or what the environment, the profile, the container or the machine
        holds.
    unsigned: Ask S3 without a signature, for what is open to all; default no.
    requester_pays: Agree to pay for reads from requester-pays S3 buckets; default no.
    insecure_http: Allow plain http beyond this machine; default no, for the key's sake.
    proxy: ``http://[USER:PASSWORD@]HOST:PORT`` for all but the hosts of ``NO_PROXY``, or ``"none"``. Default:
        what ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` say.
    bind: The address of this machine that connections are made from, on machines with several
        networks; default the system's choice.
    ca: A PEM file of authorities to trust besides the system's; default none.
    stall_timeout: Give up a request without one byte of progress for this long and send it again;
        ``"30s"`` or a ``timedelta``. Default 30 s: longer than any pause of a healthy service,
        shorter than a person's patience.
    cap: Bound on the rate on the wire, both directions together, such as ``"100mbit"``; default none. A job
        has its own; calls with the same options share it, within their session.
    session: A :class:`haulage.Session`, whose connections and credentials are used, and stay for the next
        call. Default: a job opens its own; all other calls share one for as long as the environment names the
        same credentials.
    """

    endpoint: str | None
    region: str | None
    addressing: Literal["auto", "path", "virtual"] | None
    keys: tuple[str, str] | tuple[str, str, str] | None
    unsigned: bool | None
    requester_pays: bool | None
    insecure_http: bool | None
    proxy: str | None
    bind: str | IPv4Address | IPv6Address | None
    ca: str | PathLike[str] | None
    stall_timeout: str | timedelta | None
    cap: str | None
    session: Session | None


class Options(StoreOptions, total=False):
    """How to copy; besides these all of :class:`StoreOptions`. Sizes need a unit: ``"8MiB"``, not ``8``.

    concurrency: Requests in flight, ``"auto"`` or a number. Default auto: found while
        the job runs, because the best number changes with the link.
    block_size: Size of blocks and ranges, ``"auto"`` or a size. Default auto: two seconds of what a
        connection gives, from 64 KiB to 4 MiB.
    single_put_max: Objects up to this size travel in one request, ``"auto"`` or a size. Default auto:
        one block, or four where there are many objects.
    method: ``"whole"`` sends every object in one request, ``"ranges"`` never does where there is
        more than one block. Default ``"auto"``: by size.
    server_side: ``"never"`` has every byte pass through this machine. Default ``"auto"``: from one container
        to another of the same service the service copies by itself, which is faster and moves next to nothing
        over the link.
    checksum: ``"crc64"``, ``"md5"`` or ``"none"`` on the wire; a CRC64 is stored in any case. Default
        ``"crc64"``: nearly free, and parts combine into the proof of the whole.
    content_md5: Store the MD5 of each object as its Content-MD5, which other tools look for. One sent
        in blocks is read once more for it, at 1.5 s of a processor for each GiB. Default ``False``.
    tier: Access tier or storage class of what is written: ``"cool"``, ``"STANDARD_IA"`` or another name;
        Azure and S3 each take the other's for the nearest of their own. ``"default"``: what the account or
        the bucket gives. Default ``"auto"``: the one that somebody has chosen for the source, unless nothing
        can be read from it at once.
    tags: ``False`` leaves tags behind. Default ``True``: they go along from one store of objects to another,
        with a request for each object that has some.
    preserve: What of files is kept besides bytes and the time of the last change: ``"mode"``, ``"owner"``,
        ``"times"`` (of the last access), ``"special"`` (setuid and its like, with the mode); ``"posix"`` is
        the first three, ``"all"`` all of them. It stands in metadata under the names of rclone and AzCopy,
        and is restored on the way down, the owner as far as this user may. Default none.
    atomic: Stage all objects first and commit them together at the end, so that readers see the whole new
        version or nothing of it; for object stores. Default ``False``: it costs each small object a
        second request.
    symlinks: ``"follow"`` copies what symbolic links below a folder lead to, wherever that is. Default
        ``"skip"``, with a warning for each: a link may lead out of the tree.
    polite: Give way to other traffic on the link: slow down as soon as bytes queue on the way. Default
        ``False``: a link is there to be used.
    profile: Where the search for concurrency and block size begins: the name of a profile that
        ``haul lab`` has written, or its file. Default none: it is found within seconds.
    remember_link: Begin with what the last job found of a far link, and leave what this one finds in
        ``$XDG_CACHE_HOME/haulage/links``. Default ``True``: a short job ends before it has found anything.
    max_memory: Bound on the bytes in flight in this process. Default 96 MiB: 128 MiB in all.
    overwrite: ``"always"``, ``"never"``, or by default ``"if-different"``: what is there with the
        same size and source time is skipped, which makes a second run resume the first.
    include: Copy only names below the source that match one of these globs; default all.
    exclude: Copy no names that match one of these globs; default none.
    files_from: Names below the one source, relative to it: a sequence, or the file that holds one a line
        (``"-"`` for standard input). They are asked for directly and nothing is listed; one that is not there
        fails and the others go on. Default: all that is there.
    min_size: Only objects of this size or larger, such as ``"1MiB"``; default any.
    max_size: Only objects of this size or smaller; default any.
    min_age: Only what was last changed this long ago or longer: ``"7d"`` or a ``timedelta``. Default any. The
        age of an object is that of the file it was made from, where the list says so (Azure's does).
    max_age: Only what was changed since this long ago; default any.
    max_duration: Stop after this long, as :meth:`Job.cancel` does; the same call goes on from there. Default
        never: it is for batch systems, which kill what takes too long.
    record: Write a row for every attempt into this Parquet file; default none.
    log: Write what happens to this log too, for ``haul watch``: a folder, ``az://container/prefix`` or
        ``s3://bucket/prefix``; default none. What cannot be sent is sent by the next job that writes to it.
    metrics: Serve how it goes for Prometheus at this address, such as ``"127.0.0.1:9400"``, while it runs;
        default none.
    flush: Wait until files that were written are on the disk before saying that they are done. Default
        ``True``; ``False`` is for scratch, where a power failure may lose them.
    receipt: Write the destination's objects with their checksums to this file of JSON lines at the end, for
        :func:`haulage.verify` to check later; default none.
    compare: What tells that an object is unchanged: ``"size"``, ``"time"`` (and size), ``"checksum"`` (reads
        what states none), or ``"receipt"``, which believes the ``receipt`` of the last run where both
        ends are still the versions in it. Default ``"auto"``: checksums that both sides state, else size and
        time.
    dry_run: Only say what would be done; the numbers of the summary are those of what would be.
        Default ``False``.
    backup_dir: Copy objects of the destination here before they are replaced or deleted; default none.
    """

    concurrency: int | Literal["auto"] | None
    block_size: str | None
    single_put_max: str | None
    method: Literal["auto", "whole", "ranges"] | None
    server_side: Literal["auto", "never"] | None
    checksum: Literal["crc64", "md5", "none"] | None
    content_md5: bool | None
    tier: str | None
    tags: bool | None
    preserve: str | Sequence[str] | None
    atomic: bool | None
    symlinks: Literal["skip", "follow"] | None
    polite: bool | None
    profile: str | PathLike[str] | None
    remember_link: bool | None
    max_memory: str | None
    overwrite: Literal["if-different", "always", "never"] | None
    include: Sequence[str] | None
    exclude: Sequence[str] | None
    files_from: str | PathLike[str] | Sequence[str] | None
    min_size: str | None
    max_size: str | None
    min_age: str | timedelta | None
    max_age: str | timedelta | None
    max_duration: str | timedelta | None
    record: str | PathLike[str] | None
    log: str | PathLike[str] | None
    metrics: str | None
    flush: bool | None
    receipt: str | PathLike[str] | None
    compare: Literal["auto", "size", "time", "checksum", "receipt"] | None
    dry_run: bool | None
    backup_dir: str | PathLike[str] | None


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
    def verify(
        cls, src: Name, dst: Name, *, stored: bool = False, deep: bool = False, **options: Unpack[Options]
    ) -> Job:
        """Return a comparison that is not started yet; arguments as for :func:`haulage.verify`."""
        return cls(_engine.Job.verify(src, dst, stored=stored, deep=deep, **options))

    @classmethod
    def sync(
        cls,
        src: Name,
        dst: Name,
        *,
        delete: bool = False,
        max_delete: int | str | None = None,
        allow_empty: bool = False,
        **options: Unpack[Options],
    ) -> Job:
        """Return a sync that is not started yet; arguments as for :func:`haulage.sync`."""
        most = None if max_delete is None else str(max_delete)
        return cls(
            _engine.Job.sync(src, dst, delete=delete, max_delete=most, allow_empty=allow_empty, **options)
        )

    @classmethod
    def move(cls, src: Name | Iterable[Name], dst: Name, **options: Unpack[Options]) -> Job:
        """Return a move that is not started yet; arguments as for :func:`haulage.move`."""
        return cls(_engine.Job.move_(_sources(src), dst, **options))

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


def sync(
    src: Name,
    dst: Name,
    *,
    delete: bool = False,
    max_delete: int | str | None = None,
    allow_empty: bool = False,
    check: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Make ``dst`` equal to ``src``: copy what is new or has changed.

    With ``delete`` also remove what only ``dst`` has, after everything is copied. Nothing is deleted when an
    object failed or a list was cut short.

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
        dst: What to change.
        delete: Remove objects that only ``dst`` has; default no. ``include``, ``exclude``, sizes and ages
            hold for them too.
        max_delete: Remove nothing if it would be more than this: a number of objects, or a share of those at
            ``dst`` such as ``"10%"``; default no bound.
        allow_empty: Remove everything if ``src`` is empty; else that is refused.
        check: Raise if objects failed, or if nothing was deleted that should have been.
        on_progress: Called with a sample about five times a second, in this thread.
        options: See :class:`Options`; ``dry_run``, ``compare`` and ``backup_dir`` are made for this.

    Raises:
        NotFoundError: ``src`` is missing or empty.
        HaulageError: What else stopped it; with ``check`` also what made objects fail.
    """
    job = Job.sync(src, dst, delete=delete, max_delete=max_delete, allow_empty=allow_empty, **options)
    return job.wait(check=check, on_progress=on_progress)


def move(
    src: Name | Iterable[Name],
    dst: Name,
    *,
    check: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Copy, then delete each source whose copy is proven; what fails stays.

    Args:
        src: One name or several.
        dst: Where to, as for :func:`copy`.
        check: Raise if objects failed. ``False`` leaves it to the caller to read the summary.
        on_progress: Called with a sample about five times a second, in this thread.
        options: See :class:`Options`.

    Raises:
        HaulageError: What stopped it; with ``check`` also what made objects fail.
    """
    return Job.move(src, dst, **options).wait(check=check, on_progress=on_progress)


def plan(src: Name | Iterable[Name], dst: Name, **options: Unpack[Options]) -> PlanReport:
    """Say what :func:`copy` would do, from listings alone; nothing moves.

    Raises:
        HaulageError: Bad options, no access to source or destination.
    """
    return PlanReport.from_dict(_engine.plan(_sources(src), dst, **options))


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
