"""The container, prefix, folder or object that is viewed, and what lies in it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from haulage.errors import HaulageError, NotFoundError
from haulage.events import ObjectMeta
from haulage.transfer import StoreOptions, list as list_objects, stat
from haulage.view.joining.names import pattern_of, series
from haulage.view.reading import cost
from haulage.view.reading.pinned import Pinned

#: Objects for each request of a listing.
_PAGE = 5000
#: What a listing said is believed for so long; then an object is asked for its version.
FRESH_S = 5.0
_LISTED = "choose a name of the catalogue; what is new shows when it is listed again"


@dataclass(frozen=True)
class Base:
    """Where names begin: a container or a folder, the prefix of all names, and what ends each URL."""

    root: str
    prefix: str
    query: str = ""
    quoted: bool = False

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
    """
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or scheme == "file":
        local = Path(rest if separator else url)
        folder = local if local.is_dir() else local.parent
        return Base(f"{folder}/", "")
    if scheme in ("http", "https"):
        parts = urlsplit(url)
        places = parts.path.lstrip("/").split("/")
        depth = 1 if ".blob." in parts.netloc else 2
        root = f"{scheme}://{parts.netloc}/{'/'.join(places[:depth])}/"
        path = unquote("/".join(places[depth:]))
        query = f"?{parts.query}" if parts.query else ""
        return Base(root, path[: path.rfind("/") + 1], query, quoted=True)
    container, _, path = rest.partition("/")
    return Base(f"{scheme}://{container}/", path[: path.rfind("/") + 1])


class Place:
    """What is viewed. Its names are listed in the background, from when :meth:`begin` is called."""

    def __init__(self, url: str, options: StoreOptions) -> None:
        self.url, self.options = url, options
        self._base = base_of(url)
        self._found: dict[str, ObjectMeta] = {}
        self._times: dict[str, float] = {}
        self._changed = threading.Condition()
        self._error: HaulageError | None = None
        self._whole = self._begun = False

    @property
    def shown(self) -> str:
        """The URL without a signature."""
        return self.url.split("?")[0] if "://" in self.url else self.url

    @property
    def mark(self) -> str | None:
        """What the names of a second place begin with; ``None`` if there is none."""
        return None

    def begin(self, *, again: bool = False) -> None:
        """Begin to list in the background, also where it has failed; or ``again``, where all was listed."""
        with self._changed:
            if self._begun and not self._error and not (again and self._whole):
                return
            self._begun, self._whole, self._error = True, False, None
        threading.Thread(target=self._list, name="haul-view-list", daemon=True).start()

    def names(self, wait_s: float = 20.0) -> tuple[Sequence[ObjectMeta], bool]:
        """Return what was found so far, by name, and whether that is all; waits until there is something.

        Raises:
            HaulageError: It cannot be listed.
        """
        self.begin()
        with self._changed:
            self._changed.wait_for(lambda: self._found or self._whole or self._error, wait_s)
            # Mostly all is there a moment later, and one answer is better than two.
            self._changed.wait_for(lambda: self._whole or self._error, min(wait_s, 1.0))
            if self._error is not None and not self._found:
                raise self._error
            return list(self._found.values()), self._whole

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
        age = time.monotonic() - self._times[name]
        if age == math.inf or (fresh and age > FRESH_S):
            cost.count(1, 0)
            try:
                now = stat(self._base.url(name), **self.options)
            except NotFoundError:
                with self._changed:
                    self._found.pop(name, None)
                raise
            with self._changed:
                meta = self._found[name] = replace(now, key=name)
                self._times[name] = time.monotonic()
        return Pinned(name, self._base.url(name), self.options, meta.size_bytes, meta.etag, lean=lean)

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
            meta = replace(stat(self._base.url(name), **self.options), key=name)
        return Pinned(name, self._base.url(name), self.options, meta.size_bytes, meta.etag, lean=True)

    def doubt(self, name: str) -> None:
        """Ask the store for the version of an object the next time that it is pinned, fresh or not."""
        with self._changed:
            if name in self._times:
                self._times[name] = -math.inf

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
        return self._base.url(name).split("?")[0]

    def _meta(self, name: str) -> ObjectMeta:
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
            found: dict[str, ObjectMeta] = {}
            batch: dict[str, ObjectMeta] = {}
            prefix = self._base.prefix
            for meta in list_objects(self.url, recursive=True, **self.options):
                if not meta.key.startswith(prefix) or meta.key.endswith("/"):
                    continue
                name = meta.key[len(prefix) :]
                batch[name] = found[name] = replace(meta, key=name)
                if len(batch) == _PAGE:
                    self._came(batch)
                    batch = {}
            if not found:
                hint = "list what is there with: haul ls URL"
                raise NotFoundError("list", self.shown, "nothing is here", hint)
            self._came(batch)
            with self._changed:
                self._found, self._whole = found, True
                self._changed.notify_all()
        except HaulageError as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _came(self, batch: dict[str, ObjectMeta]) -> None:
        now = time.monotonic()
        with self._changed:
            self._found.update(batch)
            self._times.update(dict.fromkeys(batch, now))
            self._changed.notify_all()
