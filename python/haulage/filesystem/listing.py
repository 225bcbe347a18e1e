"""What is there: entries, listings, trees."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, ClassVar

from fsspec.asyn import AsyncFileSystem, sync
from fsspec.core import has_magic

from haulage import _engine
from haulage.errors import NotFoundError
from haulage.filesystem import entries
from haulage.filesystem.documents import Documents
from haulage.filesystem.entries import Entry
from haulage.transfer import list as list_objects, stat


class Listings(AsyncFileSystem):  # type: ignore[misc]
    """The part of a file system that looks."""

    scheme: ClassVar[str]  #: what the engine calls such a store
    _reach: dict[str, Any]
    _call: Callable[..., Awaitable[Any]]
    _pid: int
    documents: Documents
    #: Another one after each write and removal, by which a listing knows that it began before.
    _since: object = None

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget what was listed at and above a path, or everything."""
        self._since = object()
        super().invalidate_cache(path)
        self.documents.forget()
        if path is None:
            self.dircache.clear()
            return
        path = self._strip_protocol(path)
        while True:
            self.dircache.pop(path, None)
            if not path:
                return
            path = self._parent(path)

    def _list(self, path: str, *, recursive: bool) -> builtins.list[Entry]:
        """Return what is below a folder; only what a service says at once where it says it page by page.

        Raises:
            NotFoundError: Nothing is.
        """
        if not path:
            found = list_objects(f"{self.scheme}://", recursive=recursive, **self._reach)
            return [entries.of_folder(meta.key) for meta in found if meta.key.endswith("/")]
        container = self._split(path)[0]
        listed = list_objects(f"{self.scheme}://{path}/", recursive=recursive, **self._reach)
        found_entries = [entries.of_object(container, meta) for meta in listed]
        # A marker of the folder itself is no entry in it.
        return [entry for entry in found_entries if entry["name"] != path]

    def _look(self, path: str) -> Entry:
        container, _ = self._split(path)
        return entries.of_object(container, stat(f"{self.scheme}://{path}", **self._reach))

    async def _ls(
        self, path: str, detail: bool = True, refresh: bool = False, **_: Any
    ) -> builtins.list[Entry] | builtins.list[str]:
        path = self._strip_protocol(path)
        found = None if refresh else self._listed(path)
        if found is None:
            since = self._since
            try:
                found = await self._call(self._list, path, recursive=False)
                self.dircache[path] = found
                if self._since is not since:
                    # Something was written or removed meanwhile, before or after the service looked.
                    self.dircache.pop(path, None)
            except NotFoundError:
                if "/" not in path:
                    raise
                found = [await self._call(self._look, path)]
        return found if detail else [entry["name"] for entry in found]

    def _listed(self, path: str) -> builtins.list[Entry] | None:
        """Return what a listing at hand says is in a folder, or of an object."""
        found: builtins.list[Entry] | None = self.dircache.get(path)
        if found is None:
            known = self._known(path) or ()
            # An object may have the name of a folder, as markers of folders have; that lists what is in it.
            if all(entry["type"] == "file" for entry in known):
                found = [*known] or None
        return found

    def _known(self, path: str) -> builtins.list[Entry] | None:
        """Return what a listing at hand says of a folder or an object."""
        try:
            known: builtins.list[Entry] | None = self._ls_from_cache(path)
        except FileNotFoundError:
            # Somebody else may have written it meanwhile.
            return None
        return known

    async def _info(self, path: str, refresh: bool = False, **_: Any) -> Entry:
        path = self._strip_protocol(path)
        if not path:
            return entries.of_folder("")
        if not refresh:
            if path in self.dircache:
                return entries.of_folder(path)
            for entry in self._known(path) or ():
                return entry
        if "/" in path:
            try:
                return await self._awaited(self._look, path)
            except NotFoundError:
                pass
        return await self._awaited(self._folder, path)

    async def _awaited(self, look: Callable[[str], Entry], path: str) -> Entry:
        entry: Entry = await self._call(look, path)
        return entry

    def _folder(self, path: str) -> Entry:
        """Return the entry of a folder, from the first page of what is in it."""
        listing = _engine.Listing(f"{self.scheme}://{path}/", recursive=False, **self._reach)
        listing.next_page()
        return entries.of_folder(path)

    async def _expand_path(
        self, path: str | builtins.list[str], *args: Any, **kwargs: Any
    ) -> builtins.list[str]:
        """Return what paths and patterns name. A pattern that is the name of an object is that object."""
        paths = [path] if isinstance(path, str) else builtins.list(path)
        if not kwargs.get("assume_literal") and any(has_magic(one) for one in paths):
            literal = [one for one in paths if has_magic(one) and await self._exists(one)]
            others = [one for one in paths if one not in literal]
            found = await super()._expand_path(others, *args, **kwargs) if others else []
            if literal:
                found += await super()._expand_path(literal, *args, **{**kwargs, "assume_literal": True})
            return sorted(set(found))
        expanded: builtins.list[str] = await super()._expand_path(path, *args, **kwargs)
        return expanded

    async def _find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        prefix: str = "",
        **kwargs: Any,
    ) -> builtins.list[str] | dict[str, Entry]:
        path = self._strip_protocol(path)
        if maxdepth is not None or not path:
            found: dict[str, Entry] = await super()._find(
                path, maxdepth=maxdepth, withdirs=withdirs, detail=True, **kwargs
            )
        else:
            found = await self._tree(path, withdirs=withdirs)
        if prefix:
            start = f"{path}/{prefix}" if path else prefix
            found = {name: entry for name, entry in found.items() if name.startswith(start)}
        return found if detail else builtins.list(found)

    async def _tree(self, path: str, *, withdirs: bool) -> dict[str, Entry]:
        """Return all below a folder, by pages of thousands rather than a listing for each folder in it."""
        try:
            listed = await self._call(self._list, path, recursive=True)
        except NotFoundError:
            try:
                return {path: await self._call(self._look, path)} if "/" in path else {}
            except NotFoundError:
                return {}
        found = {entry["name"]: entry for entry in listed if entry["type"] == "file"}
        if withdirs:
            markers = [entry["name"] for entry in listed if entry["type"] == "directory"]
            names = [path, *markers, *entries.folders([*found, *markers], path)]
            found |= {name: entries.of_folder(name) for name in names}
        return dict(sorted(found.items()))

    async def _modified(self, path: str) -> datetime:
        entry = await self._info(path)
        if entry["type"] != "file":
            raise IsADirectoryError(path)
        changed: datetime = entry["last_modified"]
        return changed

    def modified(self, path: str) -> datetime:
        """Return when an object was last changed."""
        changed: datetime = self._sync(self._modified, path)
        return changed

    def _sync(self, function: Callable[..., Any], *args: Any) -> Any:
        return sync(self.loop, function, *args)
