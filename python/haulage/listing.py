"""List objects, read the metadata of one, and sign URLs for others."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Unpack

from haulage import _engine
from haulage.errors import UsageError, from_engine
from haulage.events import ObjectMeta
from haulage.options import Name, StoreOptions, takes
from haulage.places import is_file, url_of, urls_of, without_signature


@takes(StoreOptions)
def list(url: Name, *, recursive: bool = False, **options: Unpack[StoreOptions]) -> Listing:
    """Yield the objects below ``url``, in byte order of their names, page by page as they are read.

    Without ``recursive``, names are folded at the next ``/``; a folded prefix has size 0 and ends in ``/``.
    So does a folder that has a marker, with ``recursive`` too; the marker itself is not yielded.
    ``list(url).to_arrow()`` returns all of them as a table.

    Raises:
        HaulageError: No access; or a name that cannot be copied, raised after all others are yielded.
    """
    return Listing(url, recursive, options)


class Listing(Iterator[ObjectMeta]):
    """The objects that :func:`list` returns, each once, as their pages are read."""

    def __init__(self, url: Name, recursive: bool, options: StoreOptions) -> None:
        self._url = os.fspath(url)
        self._found = _listed(url, recursive, options)

    def __repr__(self) -> str:
        return f"<Listing of {without_signature(self._url)}: read it with a loop, list() or to_arrow()>"

    def __next__(self) -> ObjectMeta:
        return next(self._found)

    def to_arrow(self) -> Any:
        """Return the objects that have not been read yet as a pyarrow table; times are in UTC.

        >>> import haulage
        >>> _ = haulage.put("mem://tables/a/1", b"x")
        >>> haulage.list("mem://tables/a/").to_arrow()["size_bytes"].to_pylist()
        [1]

        Raises:
            UnsupportedError: pyarrow is not installed.
        """
        from haulage.arrow import table_of

        return table_of(ObjectMeta, self)


def _next_page(listing: _engine.Listing, url: Name, pid: int) -> dict[str, Any] | None:
    if pid != os.getpid() and "://" in os.fspath(url):
        # Services are asked by threads of the parent's.
        shown = without_signature(os.fspath(url))
        cause = "this listing was begun by the process that forked this one"
        raise UsageError("list", shown, cause, "list it again here")
    return listing.next_page()


def _listed(url: Name, recursive: bool, options: StoreOptions) -> Iterator[ObjectMeta]:
    listing = _engine.Listing(url, recursive=recursive, **options)
    problems: builtins.list[dict[str, Any]] = []
    pid = os.getpid()
    # A file is listed as a folder that holds it alone.
    of = (lambda _: os.fspath(url)) if is_file(url) else urls_of(url)
    while (page := _next_page(listing, url, pid)) is not None:
        problems += page["problems"]
        folded = [_folder(prefix, of(prefix)) for prefix in page["prefixes"]]
        found = [ObjectMeta.from_dict({**values, "url": of(values["key"])}) for values in page["objects"]]
        yield from sorted(folded + found, key=lambda meta: meta.key.encode())
    if problems:
        first = problems[0]
        raise from_engine(first["kind"], first["operation"], first["object"], first["cause"], first["hint"])


@takes(StoreOptions)
def stat(url: Name, **options: Unpack[StoreOptions]) -> ObjectMeta:
    """Return the metadata of one object without reading its contents.

    Raises:
        NotFoundError: There is no such object.
    """
    values = _engine.stat(url, **options)
    return ObjectMeta.from_dict({**values, "url": url_of(url, values["key"])})


@takes(StoreOptions)
def presign(
    url: Name, *, write: bool = False, expires: str | timedelta = "1h", **options: Unpack[StoreOptions]
) -> str:
    """Return a URL by which anybody may read an object for a while, with no credential of their own.

    Anyone who has the URL can use it, so treat it as a secret. Haulage does not check that the object exists.

    >>> import haulage
    >>> with haulage.Emulator() as emulator:
    ...     url = presign("az://demo/a.nc", expires="5m", endpoint=emulator.endpoint)
    >>> url.partition("?")[0].endswith("/demo/a.nc"), "&sp=r&" in url
    (True, True)

    Args:
        url: An object. On Azure also a container: the URL then allows listing it and reading its objects.
        write: Allow others to write the object, with a ``PUT`` request, instead of reading it. On Azure the
            request needs the header ``x-ms-blob-type: BlockBlob``.
        expires: How long the URL is valid, such as ``"1h"``: at most 7 days on S3, and on Azure with a token
            of Microsoft Entra.
        options: See :class:`~haulage.transfer.StoreOptions`.

    Raises:
        UsageError: A local path, a prefix, a whole account, or a duration that the service does not allow.
        UnsupportedError: The credential is a SAS, which cannot sign another URL.
        CredentialError: There is no credential, or it does not have the permission.
    """
    life = f"{expires.total_seconds()}s" if isinstance(expires, timedelta) else expires
    return _engine.presign(url, write=write, expires=life, **options)


def _folder(prefix: str, url: str) -> ObjectMeta:
    return ObjectMeta(
        key=prefix,
        size_bytes=0,
        etag="",
        modified_ns=0,
        source_modified_ns=None,
        crc64=None,
        md5=None,
        content_type=None,
        url=url,
    )
