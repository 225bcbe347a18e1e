"""What a file system keeps: listings, windows, shards and documents, all of the account of now.

Calls find their account and credentials in the environment each time, and fsspec hands out the same file
system whatever the environment says. So what is kept goes as soon as a variable changes by which accounts
and credentials are found.
"""

from __future__ import annotations

import builtins
import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fsspec.asyn import AsyncFileSystem
from fsspec.dircache import DirCache

from haulage import _engine
from haulage.errors import SourceChangedError
from haulage.filesystem.documents import Documents
from haulage.filesystem.shards import Shards
from haulage.filesystem.window import Cache, Window

if TYPE_CHECKING:
    from haulage.filesystem.files import ReadFile

#: What the names of variables begin and end with by which accounts, credentials and proxies are found: the
#: engine tells its sessions apart by the same ones.
_BEGINNINGS, _PROXY = (b"AWS_", b"AZURE_", b"IDENTITY_", b"MSI_", b"SSL_CERT_"), b"_PROXY"


def environment() -> bytes:
    """Return what stands for all variables that accounts are found by; no value can be told from it."""
    names = [name for name in os.environb if name.startswith(_BEGINNINGS) or name.upper().endswith(_PROXY)]
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(names):
        digest.update(b"%b=%b\0" % (name, os.environb.get(name, b"")))
    return digest.digest()


@dataclass(eq=False, repr=False)
class Kept:
    """What is kept as long as the environment stays as it is."""

    environment: bytes  #: as :func:`environment` returned it
    reach: dict[str, Any]  #: the options of every call
    dircache: DirCache
    documents: Documents
    shards: Shards
    #: Windows by the paths of their objects, each with the version it is of.
    windows: OrderedDict[str, tuple[str, Window]] = field(default_factory=OrderedDict)
    made: builtins.set[str] = field(default_factory=builtins.set)
    _places: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def place(self, container: str) -> tuple[Any, ...]:
        """Return the service and the account in which the container of this URL is."""
        found = self._places.get(container)
        if found is None:
            way = _engine.way(container, **self.reach)
            found = self._places[container] = (way["origin"], way["account"], way["region"])
        return found


class Keeping(AsyncFileSystem):  # type: ignore[misc]
    """The part of a file system that keeps, and forgets what another account had."""

    cache: Cache
    _reach: dict[str, Any]
    _whole: Callable[[str], Coroutine[Any, Any, bytes]]
    _open_to_read: Callable[[str], ReadFile]
    _held: Kept | None = None
    #: Another one after each write and removal, by which a listing knows that it began before.
    _since: object = None

    @property
    def _kept(self) -> Kept:
        now, held = environment(), self._held
        if held is None or held.environment != now:
            with self.cache.lock:
                held = self._held
                if held is None or held.environment != now:
                    made = self._listing_cache
                    dircache = DirCache(made.use_listings_cache, made.listings_expiry_time, made.max_paths)
                    documents, shards = Documents(self._whole), Shards(self._open_to_read)
                    held = self._held = Kept(now, self._reach, dircache, documents, shards)
        return held

    @property
    def dircache(self) -> DirCache:
        """What was listed."""
        return self._kept.dircache

    @dircache.setter
    def dircache(self, made: DirCache) -> None:
        # By fsspec, with what it was told of listings.
        self._listing_cache = made

    @property
    def _documents(self) -> Documents:
        """The documents of Zarr stores."""
        return self._kept.documents

    @property
    def _shards(self) -> Shards:
        """The shards of Zarr stores."""
        return self._kept.shards

    @property
    def _made(self) -> builtins.set[str]:
        """Folders that were made, and not removed: the store itself has none."""
        return self._kept.made

    def _of_account(
        self, fetch: Callable[[int, int], bytes], url: str, container: str, opened: Kept
    ) -> Callable[[int, int], bytes]:
        """Return ``fetch``, but for as long as the container is in the account that it was opened in."""
        environment, place = opened.environment, opened.place(container)

        def fetched(begin: int, length: int) -> bytes:
            now = self._kept
            # A new secret for the same account is nothing to an open file.
            if now.environment != environment and now.place(container) != place:
                cause = "the environment names another account than when the file was opened"
                hint = "open it again, or pass credential= to the file system to stay with one account"
                raise SourceChangedError("read", url, cause, hint)
            return fetch(begin, length)

        return fetched
