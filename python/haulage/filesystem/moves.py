"""Moves: a copy of what is there now, and the removal of exactly what was copied."""

from __future__ import annotations

import builtins
from typing import Any

from fsspec.asyn import _run_coros_in_chunks

from haulage.errors import NotFoundError, UsageError
from haulage.events import ObjectMeta
from haulage.filesystem import entries
from haulage.filesystem.targets import Pair
from haulage.filesystem.trees import Trees
from haulage.removal import remove
from haulage.transfer import list as list_objects


class Moves(Trees):
    """The part of a file system that moves."""

    def mv(
        self, path1: str, path2: str, recursive: bool = False, maxdepth: int | None = None, **kwargs: Any
    ) -> None:
        """Move an object, or with ``recursive`` a folder.

        Exactly the objects that were copied are removed, and none unless all of them were copied.
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
        await self._copy_pairs(pairs, on_error="raise", **kwargs)
        moved = dict.fromkeys(source for source, _ in pairs)
        await self._remove_each(moved)
        if not single and maxdepth is None:
            folders = {folder for one in moved for folder in entries.above(one)}
            for one in roots:
                if one in folders or one not in moved:
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

    async def _remove_each(self, names: dict[str, None]) -> None:
        removed = [self._rm_file(one) for one in names]
        for result in await _run_coros_in_chunks(removed, nofiles=True, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def _remove_markers(self, folder: str) -> None:
        """Remove the empty objects that stand for a folder and those in it, if nothing else is left there."""
        url = f"{self.scheme}://{folder}/"

        def found() -> builtins.list[ObjectMeta]:
            return [*list_objects(url, recursive=True, **self._reach)]

        try:
            left = await self._call(found)
            if left and all(one.key.endswith("/") and not one.size_bytes for one in left):
                await self._call(remove, url, recursive=True, max_delete=len(left), **self._reach)
        except NotFoundError:
            pass
        self._forget_below(folder)
