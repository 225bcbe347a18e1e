"""The URLs of objects, and paths that are none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from urllib.parse import quote, unquote

from haulage.errors import UsageError

#: Hosts in which Azure names the account; elsewhere it is the first part of the path.
_OF_AZURE = re.compile(r"^[a-z0-9-]+\.(?:[a-z0-9-]+\.)*?(?:blob|dfs)\.", re.IGNORECASE)
#: What may have a signature behind a ``?``: URLs, and tables and queues, whose names have no ``?``.
_SIGNED = ("http://", "https://", "az-table://", "az-queue://")


def without_signature(url: str) -> str:
    """Return a URL without what follows its path; in names of objects and files a ``?`` is part of the name.

    >>> without_signature("https://acc.blob.core.windows.net/c/a?sig=2"), without_signature("az://c/a?b")
    ('https://acc.blob.core.windows.net/c/a', 'az://c/a?b')
    """
    return url.partition("?")[0] if url.lower().startswith(_SIGNED) else url


def local_path(operation: str, name: str | PathLike[str], *, reads: bool = False) -> Path:
    """Return a name as a path on this machine.

    Args:
        operation: What is done with it, for errors.
        name: The path.
        reads: Whether the file is read, not written.

    Raises:
        UsageError: It is a URL, of which a folder such as ``az:`` would be made here.
    """
    text = os.fspath(name)
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text) if isinstance(text, str) else None
    if found is None:
        return Path(text)
    url = without_signature(text)
    hint = f"copy it to this machine first: haul cp {url} ."
    if not reads:
        hint = f"write it to this machine, then copy it: haul cp NAME {url}"
    cause = f"`{found[1]}:` begins like a URL, where only a local path will do"
    raise UsageError(operation, url, cause, hint)


def url_of(name: str | PathLike[str], key: str) -> str:
    """Return the URL of the one object that a name is of; a file on this machine has its name.

    >>> url_of("data/tas.nc", "tas.nc"), url_of("az://climate/a.nc", "a.nc")
    ('data/tas.nc', 'az://climate/a.nc')
    """
    text = os.fspath(name)
    return urls_of(text)(key) if _path(text) is None else text


def is_file(name: str | PathLike[str]) -> bool:
    """Return whether a name is of a file on this machine."""
    path = _path(os.fspath(name))
    return path is not None and os.path.isfile(path)  # noqa: PTH113


def _path(text: str) -> str | None:
    """Return the path that a name is, or a ``file://`` URL names; ``None`` for other URLs."""
    if text.lower().startswith("file://"):
        return unquote(text[len("file://") :].removeprefix("localhost"))
    return text if "://" not in text else None


def urls_of(name: str | PathLike[str]) -> Callable[[str], str]:
    """Return a function from the key of an object in the same container to its URL, without a signature.

    >>> urls_of("az://climate/2024/")("2024/tas.nc")
    'az://climate/2024/tas.nc'
    >>> urls_of("https://acc.blob.core.windows.net/climate/a%20b?sig=x")("a b/1#.nc")
    'https://acc.blob.core.windows.net/climate/a%20b/1%23.nc'
    >>> urls_of("http://127.0.0.1:10000/acc/climate")("tas.nc")
    'http://127.0.0.1:10000/acc/climate/tas.nc'
    >>> urls_of("s3://")("bucket/")
    's3://bucket/'
    >>> urls_of("file:///data/")("a b.nc")
    'file:///data/a%20b.nc'
    """
    text = os.fspath(name)
    found = re.match(r"([A-Za-z0-9+.-]+)://([^/]*)(.*)", text, re.DOTALL)
    if found is None:
        return lambda key: os.path.join(text, key)  # noqa: PTH118
    scheme, authority, path = found.groups()
    if scheme.lower() == "file":
        folder = text.rstrip("/")
        return lambda key: f"{folder}/{quote(key)}"
    if scheme.lower() not in ("http", "https"):
        root = f"{scheme}://{authority}/" if authority else f"{scheme}://"
        return lambda key: root + key
    parts = re.split(r"[?#]", path)[0].split("/")[1 : container_depth(authority) + 1]
    root = f"{scheme}://{authority}/{'/'.join(quote(unquote(part)) for part in parts if part)}".rstrip("/")
    return lambda key: f"{root}/{quote(key)}"


def container_depth(host: str) -> int:
    """Return how many parts of the path of an ``https`` URL name the container: its own, and the account.

    >>> [container_depth(host) for host in ("a.blob.core.windows.net", "a.dfs.core.windows.net", "[::1]:1")]
    [1, 1, 2]
    """
    return 1 if _OF_AZURE.match(host) else 2
