"""What is there: entries, listings, trees."""

from __future__ import annotations

import builtins
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, ClassVar

from fsspec.asyn import sync
from fsspec.core import has_magic
from fsspec.utils import tokenize

from haulage import _engine
from haulage.errors import NotFoundError
from haulage.filesystem import entries
from haulage.filesystem.caches import Keeping
from haulage.filesystem.entries import Entry
from haulage.transfer import list as list_objects, stat


class Listings(Keeping):
    """The part of a file system that looks."""

    scheme: ClassVar[str]  #: what the engine calls such a store
    _call: Callable[..., Awaitable[Any]]
    _pid: int

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget what was listed at and above a path, and shards at and below it, or everything."""
        self._since = object()
        super().invalidate_cache(path)
        self._documents.forget()
        if path is None:
            self.dircache.clear()
            self._shards.forget()
            return
        path = self._strip_protocol(path)
        self._shards.forget(path)
        while True:
            self.dircache.pop(path, None)
            if not path:
                return
            path = entries.parent(path)

    def _list(self, path: str, *, recursive: bool) -> builtins.list[Entry]:
        """Return what is below a folder; only what a service says at once where it says it page by page.

        Raises:
            NotFoundError: Nothing is.
        """
        if not path:
            top = list_objects(f"{self.scheme}://", recursive=recursive, **self._reach)
            return [entries.of_folder(meta.key) for meta in top if meta.key.endswith("/")]
        container = self._split(path)[0]
        listed = list_objects(f"{self.scheme}://{path}/", recursive=recursive, **self._reach)
        found: builtins.list[Entry] = []
        for meta in listed:
            entry = entries.of_object(container, meta)
            if not recursive and f"{container}/{meta.key}" == f"{path}//":
                # Paths do not end in a slash, so the contents of a folder without a name are listed here.
                found += self._list(f"{path}/", recursive=False)
            elif entry["name"] != path.rstrip("/"):
                # A marker of the folder itself is no entry in it.
                found.append(entry)
        return found

    def _look(self, path: str) -> Entry:
        container, _ = self._split(path)
        return entries.of_object(container, stat(f"{self.scheme}://{path}", **self._reach))

    async def _ls(
        self, path: str, detail: bool = True, refresh: bool = False, **_: Any
    ) -> builtins.list[Entry] | builtins.list[str]:
        path = self._strip_protocol(path)
        found = None if refresh else self._listed(path)
        if found is None:
            since, listings = self._since, self.dircache
            try:
                found = await self._call(self._list, path, recursive=False)
                # Of the account of before, should the environment have changed meanwhile.
                listings[path] = found
                if self._since is not since:
                    # Something was written or removed meanwhile, before or after the service looked.
                    listings.pop(path, None)
            except NotFoundError:
                if "/" not in path:
                    raise
                found = [] if path in self._made else [await self._call(self._look, path)]
        return found if detail else [entry["name"] for entry in found]

    def _listed(self, path: str) -> builtins.list[Entry] | None:
        """Return what a listing at hand says is in a folder, or of an object."""
        found: builtins.list[Entry] | None = self.dircache.get(path)
        if found is None:
            known = self._known(path)
            # An object may have the name of a folder, as markers of folders have; that lists what is in it.
            if all(entry["type"] == "file" for entry in known):
                found = known or None
        return found

    def _known(self, path: str) -> builtins.list[Entry]:
        """Return what a listing of its folder, if at hand, says of a name: an object, a folder or both.

        If it says nothing, somebody else may have written it since.
        """
        listed = self.dircache.get(entries.parent(path)) or ()
        return [entry for entry in listed if entry["name"] == path]

    async def _info(self, path: str, refresh: bool = False, **_: Any) -> Entry:
        path = self._strip_protocol(path)
        if not path:
            return entries.of_folder("")
        if not refresh:
            for entry in self._known(path):
                return entry
        if "/" in path:
            try:
                return await self._awaited(self._look, path)
            except NotFoundError:
                pass
        if not refresh and path in self.dircache:
            return entries.of_folder(path)
        return await self._awaited(self._folder, path)

    async def _awaited(self, look: Callable[[str], Entry], path: str) -> Entry:
        entry: Entry = await self._call(look, path)
        return entry

    def _folder(self, path: str) -> Entry:
        """Return the entry of a folder, from the first page of what is in it."""
        if path not in self._made:
            listing = _engine.Listing(f"{self.scheme}://{path}/", recursive=False, **self._reach)
            listing.next_page()
        return entries.of_folder(path)

    async def _is_object(self, name: str, least: int) -> bool:
        """Return whether an object of at least this size has this name, which a folder may have too."""
        if "/" not in name:
            return False
        try:
            known = self._known(name) or [await self._awaited(self._look, name)]
        except NotFoundError:
            return False
        return any(one["type"] == "file" and one["size"] >= least for one in known)

    async def _is_folder(self, name: str) -> bool:
        """Return whether a folder has this name, which an object may have too."""
        try:
            await self._awaited(self._folder, name)
        except NotFoundError:
            return False
        return True

    # A slash at the end of a name says that what is below it is meant, and no object of that name.

    def _spelled(self, path: str) -> str:
        """Return a name without the protocol, but with the slashes at its end."""
        path = os.fspath(path)
        name: str = self._strip_protocol(path)
        return name + "/" * (len(path) - len(path.rstrip("/"))) if name else name

    async def _prefixes(self, paths: Iterable[str]) -> builtins.list[str]:
        """Return the prefixes that names and patterns with a slash at the end mean, each with its slash.

        Raises:
            FileNotFoundError: A pattern matches no folder.
        """
        found: builtins.list[str] = []
        for path in paths:
            if not has_magic(path):
                found.append(self._spelled(path))
                continue
            folders = [one for one in await self._expand_path(path) if await self._is_folder(one)]
            if not folders:
                raise FileNotFoundError(path)
            found += [f"{one}/" for one in folders]
        return found

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

    # The walk of fsspec, but with the names of entries as they follow the path: those below a part without
    # a name begin with a slash, and are not those beside it.

    def walk(
        self,
        path: str,
        maxdepth: int | None = None,
        topdown: bool = True,
        on_error: Any = "omit",
        **kwargs: Any,
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yield each folder with the names of the folders and objects in it, as ``os.walk`` does."""
        # Who is told of errors may call the file system, which its own thread cannot.
        errors: builtins.list[OSError] = []
        walked = self._walk(
            path, maxdepth, topdown, errors.append if callable(on_error) else on_error, **kwargs
        )
        while True:
            try:
                one: tuple[str, Any, Any] = self._sync(walked.__anext__)
            except StopAsyncIteration:
                return
            while errors:
                on_error(errors.pop(0))
            yield one

    async def _walk(
        self,
        path: str,
        maxdepth: int | None = None,
        topdown: bool = True,
        on_error: Any = "omit",
        **kwargs: Any,
    ) -> AsyncIterator[tuple[str, Any, Any]]:
        if maxdepth is not None and maxdepth < 1:
            raise ValueError("maxdepth must be at least 1")
        path, detail = self._strip_protocol(path), kwargs.pop("detail", False)
        try:
            found: Any = await self._ls(path, detail=True, **kwargs)
        except OSError as error:
            yield _omitted(path, error, on_error, detail=detail)
            return
        dirs, files = entries.sorted_out(path, found, detail=detail)
        if topdown:
            yield path, dirs, files
        if maxdepth is None or maxdepth > 1:
            deeper = None if maxdepth is None else maxdepth - 1
            for name in builtins.list(dirs):
                below = f"{path}/{name}" if path else name
                async for one in self._walk(below, deeper, topdown, on_error, detail=detail, **kwargs):
                    yield one
        if not topdown:
            yield path, dirs, files

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
            if path in self._made:
                return {path: entries.of_folder(path)} if withdirs else {}
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

    def ukey(self, path: str) -> str:
        """Return what changes with an object, asked of the service; ``filecache::`` compares it."""
        key: str = tokenize(self.info(path, refresh=True))
        return key

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


def _omitted(path: str, error: OSError, on_error: Any, *, detail: bool) -> tuple[str, Any, Any]:
    """Return what a walk yields of a folder that cannot be listed, or raise why."""
    if on_error == "raise":
        raise error
    if callable(on_error):
        on_error(error)
    return (path, {}, {}) if detail else (path, [], [])
