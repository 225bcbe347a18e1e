"""Copies of trees and lists, named as fsspec names them and checked before anything is written."""

from __future__ import annotations

import builtins
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fsspec.asyn import trailing_sep
from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.core import has_magic
from fsspec.implementations.local import LocalFileSystem, make_path_posix
from fsspec.utils import other_paths

from haulage.errors import UsageError
from haulage.filesystem import entries
from haulage.filesystem.content import Content
from haulage.filesystem.targets import LocalTargets, Pair, refuse_chains, refuse_links, refuse_same
from haulage.words.numbers import counted

_Pairs = builtins.list[Pair]


class Trees(Content):
    """The part of a file system that copies many objects in one call.

    If two sources have one target, or one is where others need a folder, the call raises before it writes.
    """

    async def _get(
        self,
        rpath: str | builtins.list[str],
        lpath: Any,
        recursive: bool = False,
        callback: Any = DEFAULT_CALLBACK,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> Any:
        folders: _Pairs = []
        if isinstance(lpath, builtins.list) and isinstance(rpath, builtins.list):
            pairs = _named_both(rpath, [_whole(one) for one in lpath])
        else:
            lpath = make_path_posix(lpath)
            into = isinstance(lpath, str) and (trailing_sep(lpath) or Path(lpath).is_dir())
            # An empty object may stand for a folder.
            pairs, folders = await self._named(rpath, lpath, recursive, maxdepth, into=into, least=1)
        targets = LocalTargets()
        refuse_same(pairs, targets.place, self.url)
        targets.refuse_folders(pairs, folders, self.url)
        if isinstance(lpath, str):
            # Who names each destination means the links in it.
            refuse_links(lpath, *([target for _, target in some] for some in (pairs, folders)))
        for _, target in folders:
            Path(target).mkdir(parents=True, exist_ok=True)
        if not pairs:
            return None
        return await super()._get(*_lists(pairs), callback=callback, **kwargs)

    async def _put(
        self,
        lpath: Any,
        rpath: str | builtins.list[str],
        recursive: bool = False,
        callback: Any = DEFAULT_CALLBACK,
        batch_size: int | None = None,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> Any:
        if isinstance(lpath, builtins.list) and isinstance(rpath, builtins.list):
            pairs = _named_both(lpath, rpath)
        else:
            lpath = make_path_posix(lpath) if isinstance(lpath, str) else lpath
            into = isinstance(rpath, str) and (trailing_sep(rpath) or await self._isdir(rpath))
            local = LocalFileSystem()
            sources = local.expand_path(lpath, recursive=recursive, maxdepth=maxdepth)
            if isinstance(lpath, str) and (not recursive or maxdepth is not None):
                sources = [one for one in sources if not trailing_sep(one) and not local.isdir(one)]
            pairs = _targets(lpath, sources, self._strip_protocol(rpath), into=into)
        objects = [pair for pair in pairs if not Path(pair[0]).is_dir()]
        refuse_same(objects, self._strip_protocol, os.fspath)
        if not pairs:
            return None
        return await super()._put(*_lists(pairs), callback=callback, batch_size=batch_size, **kwargs)

    async def _copy(
        self,
        path1: str | builtins.list[str],
        path2: str | builtins.list[str],
        recursive: bool = False,
        on_error: str | None = None,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> None:
        pairs = await self._copies(path1, path2, recursive, maxdepth)
        if on_error is None:
            on_error = "ignore" if recursive else "raise"
        await self._copy_pairs(pairs, on_error=on_error, **kwargs)

    async def _copy_pairs(self, pairs: _Pairs, on_error: str, **kwargs: Any) -> None:
        await super()._copy(*_lists(pairs), on_error=on_error, **kwargs)

    async def _copies(self, path1: Any, path2: Any, recursive: bool, maxdepth: int | None) -> _Pairs:
        """Return what a copy takes, each with its target.

        Raises:
            UsageError: Two have one target.
        """
        into = isinstance(path2, str) and (trailing_sep(path2) or await self._isdir(path2))
        if isinstance(path1, builtins.list) and isinstance(path2, builtins.list):
            pairs = _named_both(path1, path2)
        elif (
            isinstance(path1, str)
            and isinstance(path2, str)
            and has_magic(path1)
            and await self._isfile(path1)
        ):
            # One object, whose name only looks like a pattern.
            source = self._strip_protocol(path1)
            within = f"{path2.rstrip('/')}/{source.rpartition('/')[2]}"
            pairs = [(source, within if into else path2)]
        else:
            # Stores have no folders, so there are none to copy.
            pairs, _ = await self._named(path1, path2, recursive, maxdepth, into=into, least=0)
        pairs = [(self._strip_protocol(source), target) for source, target in pairs]
        refuse_same(pairs, self._strip_protocol, self.url)
        refuse_chains(pairs, self._strip_protocol, self.url)
        return pairs

    async def _only_below(self, source: Any) -> builtins.set[str]:
        """Return what is named with a slash at its end alone: what is below is meant, and no such object."""
        slashed = [one for one in entries.as_list(source) if trailing_sep(one)]
        if not slashed:
            return builtins.set()
        others = [one for one in entries.as_list(source) if not trailing_sep(one)]
        folders = {*await self._expand_path(slashed)}
        plain = {*await self._expand_path(others)} if others else builtins.set()
        named = folders | plain
        return {one for one in folders - plain if not any(folder in named for folder in entries.above(one))}

    async def _named(
        self,
        source: Any,
        target: Any,
        recursive: bool,
        maxdepth: int | None,
        *,
        into: bool,
        least: int,
    ) -> tuple[_Pairs, _Pairs]:
        """Return each object with its target, and each folder with its own.

        Args:
            source: A name, a pattern, or several of them.
            target: Where to.
            recursive: Take what is below the sources, too.
            maxdepth: How many folders deep.
            into: The target is a folder.
            least: Take an object that has the name of a folder that is copied, if it has as many bytes.
        """
        names = await self._expand_path(source, recursive=recursive, maxdepth=maxdepth)
        below, others = await self._only_below(source), builtins.set()
        if below:
            alone = {one for one in below if not await self._is_folder(one)}
            # As fsspec has it, for a name the slash counts only if a folder has it.
            itself = alone & {self._strip_protocol(one) for one in entries.as_list(source)}
            below, others = below - itself, alone - itself
        if recursive:
            # A pattern can match that deep by itself, and from there as deep again.
            deepest = 2 * maxdepth if maxdepth is not None else None
            objects = await self._objects(names, deepest, least, below)
            if isinstance(source, str) and maxdepth is not None:
                # As fsspec has it: of a part of a tree no folders are made.
                names = [name for name in names if name in objects]
        else:
            if isinstance(source, str):
                names = [
                    name
                    for name in names
                    if name not in below and (not await self._isdir(name) or await self._is_object(name, 1))
                ]
            objects = {*names} - below
        pairs = _targets(source, names, target, into=into)
        return [pair for pair in pairs if pair[0] in objects], [
            pair for pair in pairs if pair[0] not in objects | others
        ]

    async def _objects(
        self,
        names: builtins.list[str],
        maxdepth: int | None,
        least: int,
        below: builtins.set[str],
    ) -> builtins.set[str]:
        """Return those of the names that objects have, also if folders have the same, without ``below``."""
        found: builtins.set[str] = builtins.set()
        given = {*names}
        look: Callable[..., Awaitable[Any]] = self._find
        for name in names:
            if any(folder in given for folder in entries.above(name)):
                continue
            found.update(await look(name, maxdepth=maxdepth))
            if name not in found | below and await self._is_object(name, least):
                found.add(name)
        return (found & given) - below


def _targets(source: Any, names: builtins.list[str], target: Any, *, into: bool) -> _Pairs:
    """Return each name with its target, which is named as fsspec does."""
    single = isinstance(source, str)
    magic = single and has_magic(source)
    exists = single and (len(names) == 1 if magic else into and not trailing_sep(source))
    return _paired(names, other_paths(names, target, exists=exists, flatten=not single)) if names else []


def _named_both(sources: builtins.list[Any], targets: builtins.list[Any]) -> _Pairs:
    """Return each source with its target.

    Raises:
        UsageError: They are not as many.
    """
    if len(sources) != len(targets):
        cause = f"{counted(len(sources), 'source')}, {counted(len(targets), 'target')}"
        hint = "give each source a target, or one folder for all"
        raise UsageError("copy", "lists of names", cause, hint)
    return _paired(sources, targets)


def _whole(target: Any) -> Any:
    """Return the absolute path of a local target; what is open to be written stays."""
    return make_path_posix(target) if isinstance(target, str | os.PathLike) else target


def _paired(sources: builtins.list[Any], targets: builtins.list[Any]) -> _Pairs:
    return builtins.list(zip(sources, targets, strict=False))


def _lists(pairs: _Pairs) -> tuple[builtins.list[Any], builtins.list[Any]]:
    return [source for source, _ in pairs], [target for _, target in pairs]
