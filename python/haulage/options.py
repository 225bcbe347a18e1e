"""The options of calls, and how people give them.

Every option defaults to ``None``, which leaves the choice to the engine; the default it takes is
named with the option, with its reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from haulage.session import Session

#: A local path, ``az://container/path``, ``s3://bucket/key``, ``http(s)://host/account/container/path[?SAS]``
#: or ``mem://name/path``. URLs are ``str``: a ``pathlib.Path`` would fold their ``//``.
Name: TypeAlias = str | PathLike[str]

#: One glob, such as ``"*.nc"``, or several.
Globs: TypeAlias = str | Sequence[str]

_F = TypeVar("_F", bound=Callable[..., Any])


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
    include: Copy only names below the source that match this glob, or one of these; default all.
    exclude: Copy no names that match this glob, or one of these; default none.
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
    reports: Of :func:`haulage.verify`: files for the names that it finds, one a line, by kind:
        ``"equal"``, ``"differs"``, ``"missing"`` (only at the source), ``"extra"`` (only at the destination),
        ``"failed"`` (not compared), or ``"combined"`` for all, each behind a sign (``= * + - !``). Each file
        is there when all has been compared, and replaces a former one. Default none.
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
    include: Globs | None
    exclude: Globs | None
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
    reports: Mapping[str, str | PathLike[str]] | None
    compare: Literal["auto", "size", "time", "checksum", "receipt"] | None
    dry_run: bool | None
    backup_dir: str | PathLike[str] | None


def globs(given: Globs | None) -> list[str]:
    """Return globs as a list, also where one is given as a text.

    >>> globs("*.nc"), globs(("*.nc", "*.txt")), globs(None)
    (['*.nc'], ['*.nc', '*.txt'], [])
    """
    if given is None:
        return []
    return [given] if isinstance(given, str) else [*given]


def takes(options: type) -> Callable[[_F], _F]:
    """Show each option of a function in its signature, for ``help``, notebooks and whoever completes names.

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
