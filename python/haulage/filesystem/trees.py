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

from haulage.errors import NotFoundError, UsageError
from haulage.filesystem import entries
from haulage.filesystem.content import Content
from haulage.filesystem.targets import LocalTargets, Pair, refuse_links, refuse_same
from haulage.units import counted

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
            # With a slash at its end, a name means what is below it. An empty object may stand for a folder.
            least = None if isinstance(rpath, str) and trailing_sep(rpath) else 1
            pairs, folders = await self._named(rpath, lpath, recursive, maxdepth, into=into, least=least)
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
        refuse_same(pairs, self._strip_protocol, self.url)
        if on_error is None:
            on_error = "ignore" if recursive else "raise"
        await super()._copy(*_lists(pairs), on_error=on_error, **kwargs)

    async def _named(
        self,
        source: Any,
        target: Any,
        recursive: bool,
        maxdepth: int | None,
        *,
        into: bool,
        least: int | None,
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
        if recursive:
            # A pattern can match that deep by itself, and from there as deep again.
            deepest = 2 * maxdepth if maxdepth is not None else None
            objects = await self._objects(names, deepest, least)
            if isinstance(source, str) and maxdepth is not None:
                # As fsspec has it: of a part of a tree no folders are made.
                names = [name for name in names if name in objects]
        else:
            if isinstance(source, str):
                names = [
                    name for name in names if not await self._isdir(name) or await self._is_object(name, 1)
                ]
            objects = {*names}
        pairs = _targets(source, names, target, into=into)
        return [pair for pair in pairs if pair[0] in objects], [
            pair for pair in pairs if pair[0] not in objects
        ]

    async def _objects(
        self, names: builtins.list[str], maxdepth: int | None, least: int | None
    ) -> builtins.set[str]:
        """Return those of the names that objects have, also if a folder has the same name."""
        found: builtins.set[str] = builtins.set()
        given = {*names}
        look: Callable[..., Awaitable[Any]] = self._find
        for name in names:
            if any(folder in given for folder in _above(name)):
                continue
            found.update(await look(name, maxdepth=maxdepth))
            if least is not None and name not in found and await self._is_object(name, least):
                found.add(name)
        return found & given

    async def _is_object(self, name: str, least: int) -> bool:
        """Return whether an object of at least this size has this name, which a folder may have too."""
        if "/" not in name:
            return False
        listed = self.dircache.get(entries.parent(name))
        try:
            known = listed if listed is not None else [await self._awaited(self._look, name)]
        except NotFoundError:
            return False
        return any(one["name"] == name and one["type"] == "file" and one["size"] >= least for one in known)


def _above(name: str) -> builtins.list[str]:
    """Return the names of the folders that a name is in.

    >>> _above("c/a/b")
    ['c', 'c/a']
    """
    return [name[:at] for at, letter in enumerate(name) if letter == "/"]


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
