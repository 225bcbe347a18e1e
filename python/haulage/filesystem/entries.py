"""What fsspec calls an entry of a listing, made of what the engine says of objects; pure."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from haulage.events import ObjectMeta

Entry: TypeAlias = dict[str, Any]


def of_object(container: str, meta: ObjectMeta) -> Entry:
    """Return the entry of an object; one whose name ends in ``/`` stands for a folder."""
    name = f"{container}/{meta.key}"
    if meta.key.endswith("/"):
        return of_folder(name)
    return {
        "name": name,
        "size": meta.size_bytes,
        "type": "file",
        "etag": meta.etag,
        "last_modified": datetime.fromtimestamp(meta.modified_ns / 1e9, UTC),
        "content_type": meta.content_type,
        "crc64": meta.crc64,
        "md5": meta.md5,
    }


def of_folder(name: str) -> Entry:
    """Return the entry of a container or of a prefix."""
    return {"name": name.rstrip("/"), "size": 0, "type": "directory"}


def as_list(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return one path or several as a list of text.

    >>> as_list("c/a"), as_list(("c/a", "c/b/"))
    (['c/a'], ['c/a', 'c/b/'])
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    return [os.fspath(path) for path in several]


def is_prefix(path: str) -> bool:
    """Return whether a path means what is below it, rather than an object of that name.

    >>> is_prefix("c/a/"), is_prefix("c/a")
    (True, False)
    """
    return path.endswith("/")


def above(path: str) -> list[str]:
    """Return the names of the folders that a path is in.

    >>> above("c/a/b")
    ['c', 'c/a']
    """
    return [path[:at] for at, letter in enumerate(path) if letter == "/"]


def parent(path: str) -> str:
    """Return the folder that something is in, also of a name with an empty part, as fsspec does not.

    >>> parent("c/a/b"), parent("c/a//b"), parent("c")
    ('c/a', 'c/a', '')
    """
    return path.rpartition("/")[0].rstrip("/")


def folders(names: Iterable[str], below: str) -> list[str]:
    """Return the folders between ``below`` and each name, in their order.

    >>> folders(["c/a/b/1", "c/a/2"], "c")
    ['c/a', 'c/a/b']
    """
    found = set()
    for name in names:
        folder = parent(name)
        while len(folder) > len(below) and folder not in found:
            found.add(folder)
            folder = parent(folder)
    return sorted(found)


def sorted_out(path: str, found: Iterable[Entry], *, detail: bool) -> tuple[Any, Any]:
    """Return the folders and the objects of a listing by their names after the path, as a walk yields them.

    >>> sorted_out("c/a", [of_folder("c/a/b"), {"name": "c/a//b", "type": "file"}], detail=False)
    (['b'], ['/b'])
    """
    dirs: dict[str, Entry] = {}
    files: dict[str, Entry] = {}
    for entry in found:
        name = entry["name"][len(path) + 1 :] if path else entry["name"]
        if entry["type"] == "directory" and name:
            dirs[name] = entry
        else:
            files[name] = entry
    return (dirs, files) if detail else ([*dirs], [*files])


def merged(
    paths: list[str], starts: list[int], ends: list[int], gap: int, most: int
) -> list[tuple[str, int, int, list[int]]]:
    """Return few requests for many ranges: those of an object within ``gap`` bytes are one, up to ``most``.

    Each has the path, its first byte, its end, and which of the ranges lie in it.

    >>> merged(["a", "b", "a"], [0, 5, 12], [10, 9, 20], 4, 100)
    [('a', 0, 20, [0, 2]), ('b', 5, 9, [1])]
    """
    asked: list[tuple[str, int, int, list[int]]] = []
    for number in sorted(range(len(paths)), key=lambda number: (paths[number], starts[number])):
        path, start, end = paths[number], starts[number], ends[number]
        if asked:
            last, first, until, numbers = asked[-1]
            if last == path and start <= until + gap and max(end, until) - first <= most:
                asked[-1] = (path, first, max(end, until), [*numbers, number])
                continue
        asked.append((path, start, end, [number]))
    return asked
