"""The container, prefix, folder or object that is viewed, and its contents."""

from __future__ import annotations

import hashlib
import math
import shlex
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from haulage.errors import HaulageError, NotFoundError
from haulage.events import ObjectMeta
from haulage.objects import put
from haulage.places import container_depth, urls_of, without_signature
from haulage.transfer import StoreOptions, list as list_objects, stat
from haulage.view.joining.names import pattern_of, series
from haulage.view.reading import cost
from haulage.view.reading.patience import Reach
from haulage.view.reading.pinned import Pinned

#: Objects for each request of a listing.
_PAGE = 5000
#: What a listing said is believed for so long; then an object is asked for its version.
FRESH_S = 5.0
#: So long a folder is listed again before its version is told by the listing before.
_AGAIN_S = 2.0
#: What ends the names of the indexes that are kept beside files. They are not listed.
SIDECAR = ".haul-index"
_LISTED = "choose a name of the catalogue; what is new shows when it is listed again"


@dataclass(frozen=True)
class Base:
    """Where names begin: a container or a folder, the prefix of all names, and what ends each URL."""

    root: str
    prefix: str
    query: str = ""
    quoted: bool = False
    local: bool = False

    def url(self, name: str) -> str:
        """Return the URL of the object of this name."""
        path = self.prefix + name
        return self.root + (quote(path) if self.quoted else path) + self.query


def base_of(url: str) -> Base:
    """Return where the names below ``url`` begin.

    >>> base_of("az://climate/cmip6/tas.nc").url("tas.nc")
    'az://climate/cmip6/tas.nc'
    >>> base_of("https://acc.blob.core.windows.net/climate/a%20b/?sv=1&sig=2").url("100%.nc")
    'https://acc.blob.core.windows.net/climate/a%20b/100%25.nc?sv=1&sig=2'
    >>> base_of("https://acc.dfs.core.windows.net/climate/a/").url("b.nc")
    'https://acc.dfs.core.windows.net/climate/a/b.nc'
    """
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or scheme == "file":
        local = Path(rest if separator else url)
        folder = local if local.is_dir() else local.parent
        return Base(f"{folder}/", "", local=True)
    if scheme in ("http", "https"):
        parts = urlsplit(url)
        places = parts.path.lstrip("/").split("/")
        depth = container_depth(parts.netloc)
        root = f"{scheme}://{parts.netloc}/{'/'.join(places[:depth])}/"
        path = unquote("/".join(places[depth:]))
        query = f"?{parts.query}" if parts.query else ""
        return Base(root, path[: path.rfind("/") + 1], query, quoted=True)
    container, _, path = rest.partition("/")
    return Base(f"{scheme}://{container}/", path[: path.rfind("/") + 1])


class Entry(NamedTuple):
    """What is held of each of millions of objects."""

    key: str  #: its name in what is viewed
    size_bytes: int
    modified_ns: int  #: last change, since 1970 (UTC)
    etag: str


def entry_of(meta: ObjectMeta, key: str) -> Entry:
    """Return what is held of an object under this name."""
    return Entry(key, meta.size_bytes, meta.modified_ns, meta.etag)


class Place:
    """What is viewed. Its names are listed in the background, from when :meth:`begin` is called.

    Args:
        url: A container, a prefix, a folder or one object.
        options: How to reach it.
        sidecars: Whether indexes that are kept beside files are read.
    """

    def __init__(self, url: str, options: StoreOptions, *, sidecars: bool = True) -> None:
        self.url, self.options = url, options
        self._base = base_of(url)
        self._found: dict[str, Entry] = {}
        self._names: list[Entry] | None = None  # all of them, made when somebody asks
        self._since = -math.inf  # when the listing began that told of them
        self._times: dict[str, float] = {}  # of those that were asked for since
        self._sidecars: dict[str, Entry] = {}  # by the name of the file that each is of
        self._listings: dict[str, float] = {}  # when folders were listed again
        self._reads_sidecars = sidecars
        self._server = Reach(url, options)
        self._ahead: Pinned | None = None  # the only object, whose beginning is read
        self._changed = threading.Condition()
        self._error: HaulageError | None = None
        self._whole = self._begun = False
        self._listed_at = -math.inf

    @property
    def shown(self) -> str:
        """The URL without a signature."""
        return without_signature(self.url)

    @property
    def mark(self) -> str | None:
        """What the names of a second place begin with; ``None`` if there is none."""
        return None

    @property
    def is_live(self) -> bool:
        """Whether what is viewed has no versions: it is read anew each time that it is opened."""
        return False

    def begin(self, *, again: bool = False) -> None:
        """Begin to list in the background, also where it has failed; or ``again``, where all was listed."""
        with self._changed:
            if self._begun and not self._error and not (again and self._whole):
                return
            self._begun, self._whole, self._error = True, False, None
        threading.Thread(target=self._list, name="haul-view-list", daemon=True).start()

    def names(self, wait_s: float = 20.0) -> tuple[Sequence[Entry], bool]:
        """Return what was found so far, by name, and whether that is all; waits until there is something.

        As long as nothing else is found it is the same sequence.

        Raises:
            HaulageError: It cannot be listed.
        """
        self.begin()

        def come(seconds: float) -> bool:
            with self._changed:
                return bool(
                    self._changed.wait_for(lambda: self._found or self._whole or self._error, seconds)
                )

        if cost.is_hasty():
            self._server.awaited(self.shown, come, wait_s)
        else:
            come(wait_s)
        with self._changed:
            # Mostly all is there a moment later, and one answer is better than two.
            self._changed.wait_for(lambda: self._whole or self._error, min(wait_s, 1.0))
            if self._error is not None and not self._found:
                raise self._error
            if self._names is None:
                self._names = list(self._found.values())
            return self._names, self._whole

    def check(self, wait_s: float) -> None:
        """Wait so long for the first names.

        Raises:
            HaulageError: It cannot be listed.
        """
        self.begin()
        with self._changed:
            self._changed.wait_for(lambda: self._found or self._whole or self._error, wait_s)
            if self._error is not None:
                raise self._error

    def pin(self, name: str, *, fresh: bool = False, lean: bool = False) -> Pinned:
        """Return the object of this name at its version of now, or of the listing where that is new enough.

        Args:
            name: As it was listed.
            fresh: Ask the store for its version, unless it was listed a moment ago.
            lean: As in :class:`Pinned`.

        Raises:
            NotFoundError: Nothing of this name was listed: names lead nowhere else.
        """
        meta = self._meta(name)
        age = time.monotonic() - self._times.get(name, self._since)
        if age == math.inf or (fresh and age > FRESH_S):
            try:
                meta = self._stat(name)
            except NotFoundError:
                with self._changed:
                    self._found.pop(name, None)
                    self._names = None
                raise
            with self._changed:
                if self._found.get(name) != meta:
                    self._found[name], self._names = meta, None
                self._times[name] = time.monotonic()
        ahead = self._ahead
        if ahead is not None and (ahead.name, ahead.etag) == (name, meta.etag):
            return ahead
        return self._pinned(name, meta, lean=lean)

    def has(self, name: str) -> bool:
        """Return whether an object of this name is listed; waits for the listing."""
        return self.first_of([name]) is not None

    def first_of(self, names: Sequence[str]) -> str | None:
        """Return the first of these names that is listed; waits until one is, or all there is."""
        self.begin()
        with self._changed:
            self._changed.wait_for(
                lambda: self._whole or self._error or any(name in self._found for name in names), 60
            )
            return next((name for name in names if name in self._found), None)

    def reach(self, name: str) -> Pinned:
        """Return an object that may not be there, without waiting for the listing.

        Raises:
            NotFoundError: It is not.
        """
        with self._changed:
            meta, whole = self._found.get(name), self._whole
        if meta is None:
            if whole:
                raise NotFoundError("read", name[:200], f"it is not in {self.shown}", _LISTED)
            meta = self._stat(name)
        return self._pinned(name, meta, lean=True)

    def doubt(self, name: str) -> None:
        """Ask the store for the version of an object the next time that it is pinned, fresh or not.

        So is its folder, where :meth:`version_below` is asked for it.
        """
        with self._changed:
            if name in self._found:
                self._times[name] = -math.inf
            self._listings[_folder(name)] = -math.inf

    def version_below(self, name: str, etag: str, *, fresh: bool = False) -> str:
        """Return the version of everything in the folder of an object, and below.

        Args:
            name: An object of the folder.
            etag: Its version, which stands for all of them until everything is listed.
            fresh: List the folder again, unless it was listed a moment ago.
        """
        folder = _folder(name)
        if fresh:
            self._list_again(folder)
        with self._changed:
            if not self._whole:
                return etag
            found = sorted((key, meta.etag) for key, meta in self._found.items() if key.startswith(folder))
        return hashlib.sha256("\n".join(f"{key} {one}" for key, one in found).encode()).hexdigest()[:32]

    def sidecar(self, name: str) -> Pinned | None:
        """Return the index that is kept beside a file; ``None`` if none was listed."""
        with self._changed:
            meta = self._sidecars.get(name) if self._reads_sidecars else None
        return self._pinned(name + SIDECAR, meta) if meta else None

    def keep_sidecar(self, name: str, body: bytes) -> None:
        """Write the index of a file beside it.

        Raises:
            HaulageError: It cannot be written.
        """
        url = self._base.url(name + SIDECAR)
        put(url, body, **self.options)
        meta = stat(url, **self.options)
        with self._changed:
            self._sidecars[name] = entry_of(meta, name + SIDECAR)

    def away(self) -> str | None:
        """Return why the store does not answer; ``None`` if it does."""
        return self._server.why_not()

    def series(self, pattern: str) -> list[str]:
        """Return the names that belong together under a pattern; none if there are not two of them."""
        self.begin()
        with self._changed:
            self._changed.wait_for(lambda: self._whole or self._error, 60)
            if pattern in self._found:
                return []
            names = [name for name in self._found if pattern_of(name) == pattern]
        return series(names).get(pattern, [])

    def url_of(self, name: str) -> str:
        """Return the URL of an object, without a signature."""
        return without_signature(self._base.url(name))

    def _stat(self, name: str) -> Entry:
        cost.count(1, 0)
        found = self._server.patiently(name, lambda: stat(self._base.url(name), **self.options))
        return entry_of(found, name)

    def _pinned(self, name: str, meta: Entry, *, lean: bool = False) -> Pinned:
        url = self._base.url(name)
        return Pinned(name, url, self.options, meta.size_bytes, meta.etag, lean=lean, server=self._server)

    def _list_again(self, folder: str) -> None:
        """List a folder, for a moment at most: the listing of a large one continues in the background."""
        now = time.monotonic()
        with self._changed:
            if not self._whole or now - self._listings.get(folder, self._listed_at) <= FRESH_S:
                return
            self._listings[folder] = now
        done = threading.Event()

        def run() -> None:
            with suppress(HaulageError):
                self._came_again(folder)
            done.set()

        threading.Thread(target=run, name="haul-view-list", daemon=True).start()
        if done.wait(_AGAIN_S):
            cost.count(1, 0)

    def _came_again(self, folder: str) -> None:
        prefix, found = self._base.prefix, dict[str, Entry]()
        url = self._base.url(folder) if folder else self.url
        for meta in list_objects(url, recursive=True, **self.options):
            # Names of files count from the folder that is listed, those of objects from the container.
            key = folder + meta.key if self._base.local else meta.key
            name = key[len(prefix) :]
            if key.startswith(prefix + folder) and not name.endswith(("/", SIDECAR)):
                found[name] = entry_of(meta, name)
        now = time.monotonic()
        with self._changed:
            others = {name: meta for name, meta in self._found.items() if not name.startswith(folder)}
            self._found, self._names = dict(sorted((others | found).items())), None
            self._times.update(dict.fromkeys(found, now))

    def _meta(self, name: str) -> Entry:
        self.begin()
        with self._changed:
            self._changed.wait_for(lambda: name in self._found or self._whole or self._error, 60)
            if name in self._found:
                return self._found[name]
            if self._error is not None:
                raise self._error
        raise NotFoundError("open", name[:200], f"it is not in {self.shown}", _LISTED)

    def _list(self) -> None:
        try:
            began = time.monotonic()
            with self._changed:
                if not self._found:
                    self._since = began
            found: dict[str, Entry] = {}
            batch: dict[str, Entry] = {}
            prefix = self._base.prefix
            for meta in list_objects(self.url, recursive=True, **self.options):
                if not meta.key.startswith(prefix) or meta.key.endswith("/"):
                    continue
                name = meta.key[len(prefix) :]
                if name.endswith(SIDECAR):
                    self._sidecars[name.removesuffix(SIDECAR)] = entry_of(meta, name)
                    continue
                batch[name] = found[name] = entry_of(meta, name)
                if len(batch) == _PAGE:
                    self._came(batch)
                    batch = {}
            if not found:
                raise NotFoundError("list", self.shown, "nothing is here", _elsewhere(self.shown))
            self._came(batch)
            with self._changed:
                self._found, self._names, self._since, self._times = found, None, began, {}
                self._whole, self._listed_at = True, time.monotonic()
                self._changed.notify_all()
            self._read_ahead(found)
        except HaulageError as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _read_ahead(self, found: dict[str, Entry]) -> None:
        """Read the beginning of the only object that there is: it is what was meant, while the page loads."""
        if len(found) != 1 or self._ahead is not None:
            return
        ((name, meta),) = found.items()
        self._ahead = self._pinned(name, meta)
        with suppress(HaulageError), cost.counting() as spent:
            # What is wrong with it is said when it is asked for, and so is what it cost.
            self._ahead.first()
            self._ahead.owed = spent

    def _came(self, batch: dict[str, Entry]) -> None:
        with self._changed:
            self._found.update(batch)
            self._names = None
            self._changed.notify_all()


def _folder(name: str) -> str:
    """Return the folder of a name with the slash after it; empty for that of all."""
    return name[: name.rfind("/") + 1]


def _elsewhere(shown: str) -> str:
    """Return what to do about a place that holds nothing.

    >>> _elsewhere("az://climate/cmip7/"), _elsewhere("az://climate")
    ('list what is there with: haul ls az://climate/', 'copy files there, or name another place')
    """
    container = urls_of(shown)("") if "://" in shown else ""
    if not container or container.rstrip("/") == shown.rstrip("/"):
        return "copy files there, or name another place"
    return f"list what is there with: haul ls {shlex.quote(container)}"
