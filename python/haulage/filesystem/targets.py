"""Targets of copies: no two to one name, and none out of the destination or through a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

from haulage.errors import UnsupportedError, UsageError

#: A source, and its target.
Pair = tuple[Any, Any]


def refuse_same(pairs: Iterable[Pair], place: Callable[[Any], Hashable], name: Callable[[Any], str]) -> None:
    """Raise if two sources have one target: of two copies at once, either would be lost.

    Args:
        pairs: What is copied where.
        place: Returns what two names of one target have in common.
        name: Returns the name of a source for people.
    """
    known: set[Hashable] = set()
    for source, target in pairs:
        here = place(target)
        if here in known:
            cause = f"another source goes to {os.fspath(target)} as well"
            raise UsageError("copy", name(source), cause, "copy the sources to different folders")
        known.add(here)


def refuse_chains(
    pairs: Sequence[Pair], place: Callable[[Any], Hashable], name: Callable[[Any], str]
) -> None:
    """Raise if what is written to is copied elsewhere as well: which of the two comes first is luck.

    Args:
        pairs: What is copied where.
        place: Returns what two names of one object have in common.
        name: Returns the name of a source for people.
    """
    sources = {place(source) for source, _ in pairs}
    for source, target in pairs:
        if place(target) in sources and place(target) != place(source):
            cause = f"it would be copied over {name(target)}, which is itself a source"
            raise UsageError("copy", name(source), cause, "copy to a folder that holds none of the sources")


def folders_above(path: str, root: str) -> Iterable[str]:
    """Yield the folders between a path and the folder ``root``, which must be above it.

    >>> [*folders_above("/to/a/b/c", "/to")]
    ['/to/a/b', '/to/a']
    """
    while len(path := _above(path)) > len(root):
        yield path


def _above(path: str) -> str:
    return path.rpartition(os.sep)[0] or os.sep


class LocalTargets:
    """Says where on this machine a target is; asks the system once for each folder."""

    def __init__(self) -> None:
        self._real: dict[str, str] = {}

    def place(self, target: str | os.PathLike[str]) -> str:
        """Return the path of a target without the links above it."""
        folder, _, name = _plain(target).rpartition(os.sep)
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder or os.sep).rstrip(os.sep)
        return f"{self._real[folder]}{os.sep}{name}"

    def refuse_folders(
        self, pairs: Sequence[Pair], folders: Sequence[Pair], name: Callable[[Any], str]
    ) -> None:
        """Raise if the target of one source is a folder for others."""
        files = {self.place(target): source for source, target in pairs}
        needed: set[str] = set()
        for path in (*files, *(f"{self.place(target)}{os.sep}." for _, target in folders)):
            while (path := _above(path)) not in needed:
                needed.add(path)
        for path in sorted(needed & files.keys()):
            cause = f"other sources need a folder of the same name, {path}"
            raise UnsupportedError("copy", name(files[path]), cause, "copy it by itself, to another name")


def _plain(path: str | os.PathLike[str]) -> str:
    """Return an absolute path without ``.``, ``..`` and empty parts; links stay."""
    return os.path.normpath(Path(path).absolute())


def refuse_links(root: str, targets: Iterable[str], folders: Iterable[str] = ()) -> None:
    """Raise if a target is not below ``root``, or if a folder between the two is a symbolic link.

    Args:
        root: The destination. It may be a link itself.
        targets: Of files; what is in the place of one is not looked at.
        folders: Targets that are folders.
    """
    top = _plain(root)
    known: set[str] = set()
    for path in (*map(_plain, targets), *(f"{_plain(one)}{os.sep}." for one in folders)):
        if path != top and not path.startswith(f"{top.rstrip(os.sep)}{os.sep}"):
            cause = f"it is outside of the destination {root}"
            raise UsageError("write", path, cause, "rename the source, or copy it by itself")
        for folder in folders_above(path, top):
            if folder in known:
                break
            known.add(folder)
            _refuse_link(folder)


def _refuse_link(path: str) -> None:
    try:
        mode = Path(path).lstat().st_mode
    except OSError:
        # Not there yet. Who makes it says what else is wrong.
        return
    if stat.S_ISLNK(mode):
        cause = "a symbolic link is in the way, and links below the folder are not followed"
        raise UnsupportedError("open", path, cause, "replace the link with a folder, or use its target")
