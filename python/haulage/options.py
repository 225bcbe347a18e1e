"""The options of calls.

Every option defaults to ``None``, which leaves the choice to the engine. Each option's description gives the
default that the engine uses, and why.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from haulage.session import Session

#: A local path, ``az://container/path``, ``s3://bucket/key``, ``http(s)://host/account/container/path[?SAS]``
#: or ``mem://name/path``. URLs are ``str``: a ``pathlib.Path`` would fold their ``//``.
Name: TypeAlias = str | PathLike[str]

#: A source and its destination; a list where it comes from JSON.
Pair: TypeAlias = tuple[Name, Name] | Sequence[Name]

#: One glob, such as ``"*.nc"``, or several.
Globs: TypeAlias = str | Iterable[str]

_F = TypeVar("_F", bound=Callable[..., Any])


class StoreOptions(TypedDict, total=False):
    """How to reach stores. Credentials come from the session, or from where Azure's and AWS's tools look.

    endpoint: The service of ``az://container`` and ``s3://bucket``, ``https://host[:port]``, for Azure with
        ``/account``; default: the session's, or the environment's (``AZURE_STORAGE_ENDPOINT``, the
        connection string, or the account's host; ``AWS_ENDPOINT_URL_S3``, ``AWS_ENDPOINT_URL``, the
        profile's, or AWS).
    region: Region of an S3 bucket; default: from the environment, the profile or the service.
    addressing: How S3 URLs name a bucket, ``"path"`` or ``"virtual"``; default ``"auto"``: in the host at
        AWS, in the path elsewhere.
    keys: Id and secret of an S3 access key, with the session token if it is temporary; default: the
        session's, or those of the environment, the profile, the container or the machine.
    unsigned: Send S3 requests without a signature, for public data; default no.
    requester_pays: Agree to pay for reads from requester-pays S3 buckets; default no.
    insecure_http: Allow plain http to other machines; default no, to protect the key.
    proxy: ``http://[USER:PASSWORD@]HOST:PORT`` for all hosts except those of ``NO_PROXY``, or ``"none"``.
        Default: from ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``.
    bind: The local address to connect from, on machines with several networks; default: the system chooses.
    ca: A PEM file of certificate authorities to trust, in addition to the system's; default none.
    stall_timeout: Cancel a request after this long without a byte of progress, and send it again;
        ``"30s"`` or a ``timedelta``. Default 30 s: longer than any pause of a healthy service,
        shorter than a person's patience.
    cap: Limit on the rate on the wire, both directions together, such as ``"100mbit"``; default none. Each
        job has its own limit; other calls with the same options share one, within their session.
    session: A :class:`haulage.Session`, whose connections and credentials are reused. Default: each job opens
        its own; all other calls share one as long as the credentials in the environment stay the same.
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


#: Those of :class:`StoreOptions` that commands and file systems take: neither secrets nor sessions.
REACH = (
    "endpoint",
    "region",
    "addressing",
    "unsigned",
    "requester_pays",
    "insecure_http",
    "proxy",
    "bind",
    "ca",
    "stall_timeout",
    "cap",
)


class Options(StoreOptions, total=False):
    """Options for copying, in addition to :class:`StoreOptions`. Sizes need a unit: ``"8MiB"``, not ``8``.

    concurrency: Requests in flight, ``"auto"`` or a number. Default auto: found while
        the job runs, because the best number changes with the link.
    block_size: Size of blocks and ranges, ``"auto"`` or a size. Default auto: follows the link, from 64 KiB
        to 4 MiB.
    single_put_max: Send objects up to this size in one request, ``"auto"`` or a size. Default auto: one
        block, or four if there are many objects.
    method: ``"whole"`` sends each object in one request, ``"ranges"`` cuts each object that has more than
        one block. Default ``"auto"``: by size.
    server_side: ``"never"`` sends every byte through this machine. Default ``"auto"``: between containers
        of the same service the service copies, which is faster and moves almost nothing over the link.
    checksum: ``"crc64"``, ``"md5"`` or ``"none"`` on the wire; a CRC64 is stored in any case. Default
        ``"crc64"``: nearly free, and parts combine into the proof of the whole.
    content_md5: Store the MD5 of each object as its Content-MD5, which other tools look for. An object sent
        in blocks is read once more for it, at 1.5 s of CPU time for each GiB. Default ``False``.
    tier: Access tier or storage class of new objects: ``"cool"``, ``"STANDARD_IA"`` or another name; Azure
        and S3 each map the other's to the nearest of their own. ``"default"``: that of the account or the
        bucket. Default ``"auto"``: the one set for the source object, unless objects in that tier cannot be
        read immediately.
    tags: ``False`` does not copy tags. Default ``True``: they are copied between object stores, with a
        request for each object that has tags.
    preserve: File attributes to keep in addition to the modification time: ``"mode"``, ``"owner"``,
        ``"times"`` (the access time), ``"special"`` (setuid and similar, with the mode); ``"posix"`` is
        the first three, ``"all"`` all of them. They are stored in metadata under the names that rclone and
        AzCopy use, and restored by downloads, the owner only if this user has the permission. Default none.
    atomic: Stage all objects first and commit them together at the end, so that readers see the whole new
        version or none of it; for object stores. Default ``False``: each small object needs a second
        request.
    symlinks: ``"follow"`` copies the targets of symbolic links below a folder, wherever they are. Default
        ``"skip"``, with a warning for each: a link can point outside of the tree.
    polite: Yield to other traffic on the link: slow down as soon as bytes start to queue. Default ``False``:
        use the whole link.
    profile: Start values for concurrency and block size: the name of a profile that ``haul lab`` has
        written, or its file. Default none: good values are found within seconds.
    remember_link: Start with what the last job learned about a distant link, and store what this one learns
        in ``$XDG_CACHE_HOME/haulage/links``. Default ``True``: a short job ends before it has learned
        anything.
    max_memory: Limit on the bytes in flight in this process. Default 96 MiB: 128 MiB in all.
    overwrite: ``"always"``, ``"never"``, or by default ``"if-different"``: objects that exist with the
        same size and source time are skipped, so a second run resumes the first.
    include: Copy only names below the source that match this glob, or any of several; default all.
    exclude: Skip names that match this glob, or any of several; default none.
    files_from: The names to copy, relative to the one source: a sequence, or a file with one name per line
        (``"-"`` for standard input). They are requested directly and nothing is listed; a missing one fails
        and the others are copied. Default: all names.
    min_size: Only objects of at least this size, such as ``"1MiB"``; default any.
    max_size: Only objects of at most this size; default any.
    min_age: Only objects last changed at least this long ago: ``"7d"`` or a ``timedelta``. Default any. The
        age is that of the file the object was copied from, if the list states it (Azure's does).
    max_age: Only objects last changed at most this long ago; default any.
    max_duration: Stop after this long, like :meth:`Job.cancel`; the same call resumes. Default never. For
        batch systems, which kill jobs that take too long.
    record: Write a row for every attempt to this Parquet file; default none.
    log: Also write events to this log, for ``haul watch``: a folder, ``az://container/prefix`` or
        ``s3://bucket/prefix``; default none. Lines that cannot be sent now are sent by the
        next job with this log.
    metrics: Serve metrics for Prometheus at this address, such as ``"127.0.0.1:9400"``, while the job runs;
        default none.
    flush: Wait until written files are on the disk before reporting them as done. Default ``True``. Use
        ``False`` for scratch files only: a power failure may lose them.
    receipt: At the end, write a list of the destination's objects with their checksums to this JSON Lines
        file, for :func:`haulage.verify` to check later; default none.
    reports: For :func:`haulage.verify`: files to write names to, one a line, by kind: ``"equal"``,
        ``"differs"``, ``"missing"`` (only at the source), ``"extra"`` (only at the destination), ``"failed"``
        (could not be compared), or ``"combined"`` for all, each name behind a sign (``= * + - !``). A file
        appears, or replaces the former one, when the comparison has ended. Default none.
    compare: How to decide that an object is unchanged: ``"size"``, ``"time"`` (and size), ``"checksum"``
        (reads objects without one), or ``"receipt"``, which trusts the ``receipt`` of the last run if both
        sides still have the versions in it. Default ``"auto"``: the checksums if both sides state them,
        otherwise size and time.
    dry_run: Change nothing; the summary counts what a run would do. Default ``False``.
    backup_dir: Copy objects at the destination here before they are replaced or deleted; default none.
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
    preserve: str | Iterable[str] | None
    atomic: bool | None
    symlinks: Literal["skip", "follow"] | None
    polite: bool | None
    profile: str | PathLike[str] | None
    remember_link: bool | None
    max_memory: str | None
    overwrite: Literal["if-different", "always", "never"] | None
    include: Globs | None
    exclude: Globs | None
    files_from: str | PathLike[str] | Iterable[str] | None
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
    reports: Mapping[str, str | PathLike[str]] | None
    compare: Literal["auto", "size", "time", "checksum", "receipt"] | None
    dry_run: bool | None
    backup_dir: str | PathLike[str] | None


def globs(given: Globs | None) -> list[str]:
    """Return globs as a list, also if a single one is given as a string.

    >>> globs("*.nc"), globs(("*.nc", "*.txt")), globs(None)
    (['*.nc'], ['*.nc', '*.txt'], [])
    """
    if given is None:
        return []
    return [given] if isinstance(given, str) else [*given]


def takes(options: type) -> Callable[[_F], _F]:
    """Show each option of a function in its signature, for ``help``, notebooks and completion.

    >>> @takes(StoreOptions)
    ... def look(url, **options): ...
    >>> list(inspect.signature(look).parameters)[:3]
    ['url', 'endpoint', 'region']
    """

    def signed(function: _F) -> _F:
        own = inspect.signature(function)
        kinds = inspect.Parameter
        parameters = [one for one in own.parameters.values() if one.kind is not kinds.VAR_KEYWORD]
        parameters += [
            kinds(name, kinds.KEYWORD_ONLY, default=None, annotation=_text(kind))
            for name, kind in sorted(
                options.__annotations__.items(), key=lambda one: one[0] in StoreOptions.__annotations__
            )
        ]
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return signed


def _text(kind: Any) -> str:
    """Return an annotation as it was written."""
    return str(getattr(kind, "__forward_arg__", kind))
