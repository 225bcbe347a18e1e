"""Moves: a copy of what is there now, and the removal of exactly what was copied."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from fsspec.asyn import _run_coros_in_chunks

from haulage.errors import NotFoundError, SourceChangedError, UsageError
from haulage.events import ObjectMeta
from haulage.filesystem import entries
from haulage.filesystem.entries import Entry
from haulage.filesystem.targets import Pair
from haulage.filesystem.trees import Trees
from haulage.removal import remove
from haulage.transfer import Job, list as list_objects

T = TypeVar("T")

#: Seconds after which services state another time: they count whole ones.
APART_S = 1.1
#: Names that do not end in a slash: an object that comes meanwhile is no marker.
NOT_MARKERS = ("*[!/]", "**/*[!/]")


class Moves(Trees):
    """The part of a file system that moves."""

    def mv(
        self, path1: str, path2: str, recursive: bool = False, maxdepth: int | None = None, **kwargs: Any
    ) -> None:
        """Move an object, or with ``recursive`` a folder.

        Exactly the versions that were copied are removed, and none unless all of them were copied.

        Raises:
            SourceChangedError: An object was replaced meanwhile. It stays, and all others are moved.
        """
        self._sync(self._mv, path1, path2, recursive, maxdepth, **kwargs)

    async def _mv(
        self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **kwargs: Any
    ) -> None:
        if self._strip_protocol(path1) == self._strip_protocol(path2):
            return
        # Who names a target for each source means objects.
        single = not recursive or isinstance(path2, builtins.list)
        if not recursive:
            self._need_objects("move", [self._spelled(one) for one in entries.as_list(path1)])
        # What is there now, without what the copies add.
        roots = await self._expand_path(path1)
        for one in roots:
            if f"{self._strip_protocol(path2)}/".startswith(f"{one}/"):
                hint = "choose a destination outside of it"
                raise UsageError("move", self.url(one), "the destination is inside the source", hint)
        pairs = await self._copies(path1, path2, recursive, maxdepth)
        pairs = await (self._single(path1, pairs) if single else self._below(path1, pairs))
        if not pairs:
            await self._refuse_nothing(roots, recursive=recursive)
        targets = dict(pairs)
        versions = await self._versions(roots, targets, recursive=recursive and maxdepth is None)
        await self._copy_pairs(pairs, on_error="raise", **kwargs)
        await self._remove_each(targets, versions)
        if not single and maxdepth is None:
            folders = {folder for one in targets for folder in entries.above(one)}
            for one in roots:
                if one in folders or one not in targets:
                    await self._remove_markers(one)

    async def _below(self, source: Any, pairs: builtins.list[Pair]) -> builtins.list[Pair]:
        """Return the pairs without objects that have the name of what is named with a slash at its end."""
        below = await self._only_below(source)
        return [pair for pair in pairs if pair[0] not in below]

    async def _single(self, source: Any, pairs: builtins.list[Pair]) -> builtins.list[Pair]:
        """Return the pairs without the folders that a pattern matches.

        Raises:
            UsageError: A folder is named itself, in a list.
        """
        named = {self._strip_protocol(one) for one in entries.as_list(source)}
        below = await self._only_below(source)
        found = []
        for pair in pairs:
            is_folder = not await self._is_object(pair[0], 0) and await self._isdir(pair[0])
            if not is_folder and pair[0] not in below:
                found.append(pair)
            elif pair[0] in named:
                hint = "move a folder by itself, with recursive=True"
                raise UsageError("move", self.url(pair[0]), "this is a folder", hint)
        return found

    async def _refuse_nothing(self, roots: builtins.list[str], *, recursive: bool) -> None:
        """Raise if there is nothing to move; an empty folder can be moved, too."""
        for one in roots:
            if not await self._is_folder(one):
                hint = "leave out the slash at the end to move the object"
                raise NotFoundError("move", f"{self.url(one)}/", "nothing is below this prefix", hint)
            if not recursive:
                raise self._of_many("move", one, "this is a folder")

    async def _versions(
        self, roots: builtins.list[str], names: Iterable[str], *, recursive: bool
    ) -> dict[str, str]:
        """Return the ETag that each object has now; of those in folders, from a list of each folder."""
        names, found = {*names}, dict[str, Entry]()
        given = {*roots} if recursive else builtins.set[str]()
        for root in given & {folder for one in names for folder in entries.above(one)}:
            if given.isdisjoint(entries.above(root)):
                found |= await self._tree(root, withdirs=False)
        left = [one for one in names if one not in found]
        looked = await _all(self._awaited(self._look, one) for one in left)
        found |= zip(left, looked, strict=True)
        return {one: found[one]["etag"] for one in names}

    async def _remove_each(self, targets: dict[str, Any], versions: dict[str, str]) -> None:
        """Remove sources that are still what was copied.

        Raises:
            SourceChangedError: One was replaced meanwhile; it stays, and the others are removed.
        """
        try:
            await _all(self._remove_copied(one, targets[one], versions[one]) for one in targets)
        finally:
            for one in targets:
                self._forget_below(one)

    async def _remove_copied(self, source: str, target: Any, version: str) -> None:
        try:
            entry = await self._awaited(self._look, source)
        except NotFoundError:
            # Somebody else has removed it.
            return
        if entry["etag"] != version:
            raise _changed(self.url(source))
        # The engine removes this version and no other, and copies once more what it does not find unchanged.
        names = self.url(source), self.url(target)
        try:
            await self._call(Job.move(*names, **self._reach).wait)
        except UsageError:
            # In two buckets, what was written within one second may be one object with two names; it is not
            # if a later copy leaves the source as it was.
            await asyncio.sleep(APART_S)
            await self._move(names)
            await self._call(Job.move(*names, **self._reach).wait)

    async def _remove_markers(self, folder: str) -> None:
        """Remove the empty objects that stand for a folder and those in it, if nothing else is left there."""
        url = f"{self.scheme}://{folder}/"

        def found() -> builtins.list[ObjectMeta]:
            return [*list_objects(url, recursive=True, **self._reach)]

        try:
            left = await self._call(found)
            if all(one.key.endswith("/") and not one.size_bytes for one in left):
                only = {"max_delete": 0, "exclude": NOT_MARKERS}
                await self._call(remove, url, recursive=True, **only, **self._reach)
        except NotFoundError:
            pass
        self._forget_below(folder)


def _changed(url: str) -> SourceChangedError:
    cause = "it was replaced while it was moved, so it was not removed; its copy is of the version before"
    return SourceChangedError("move", url, cause, "move it again to replace the copy with the new version")


async def _all(coroutines: Iterable[Coroutine[Any, Any, T]]) -> builtins.list[T]:
    """Return the results of all; raise what went wrong first only once all have ended."""
    results: builtins.list[T] = await _run_coros_in_chunks(
        [*coroutines], nofiles=True, return_exceptions=True
    )
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
