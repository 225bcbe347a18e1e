"""The documents of a Zarr store, and its axes: asked for in few round trips.

Zarr does not know the format of what it opens. It asks for ``zarr.json`` of version 3 and for three documents
of version 2 at once, of which some are never there; and xarray reads one axis of an array after the other.
Here a document of version 2 waits for what is under way and answers for it, and with the first axis the
others come too.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

#: What is asked for at once.
FIRST = ("zarr.json", ".zmetadata")
#: What may be answered by those.
LATER = (".zgroup", ".zattrs", ".zarray")
#: Documents that are longer are not looked into twice.
READ = 4 << 20
#: Axes that are longer than this, or in more chunks, are left to who wants them.
AXIS_BYTES, AXIS_CHUNKS, AXES = 1 << 20, 4, 16
#: Seconds for which what came with another axis is believed.
BELIEVED = 5.0

Fetch = Callable[[str], Coroutine[Any, Any, bytes]]
_Task = asyncio.Task[bytes]


class Documents:
    """What of Zarr stores is on its way, of one file system."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._coming: dict[str, _Task] = {}
        #: The axes that each axis belongs to, by their paths.
        self._axes: dict[str, tuple[str, ...]] = {}
        self._ahead: dict[str, tuple[float, _Task]] = {}
        #: When the first of several axes was asked for.
        self._led: dict[tuple[str, ...], float] = {}

    def is_one(self, path: str) -> bool:
        """Return whether this is the name of a document, or of an axis that a document told of."""
        return path.rpartition("/")[2] in (*FIRST, *LATER) or path in self._axes

    async def get(self, path: str) -> bytes:
        """Return a document or a chunk of an axis.

        Raises:
            FileNotFoundError: There is none.
        """
        folder, _, name = path.rpartition("/")
        if name in FIRST:
            return await self._first(path)
        if name not in LATER:
            return await self._axis(path)
        # Whoever asks for several at once has asked for the others when this goes on.
        await asyncio.sleep(0)
        coming, joining = self._under_way(f"{folder}/zarr.json"), self._under_way(f"{folder}/.zmetadata")
        if await _found(coming) is not None:
            raise FileNotFoundError(f"{path}: this is a Zarr store of version 3")
        if name == ".zgroup":
            joined = await _found(joining)
            stated = _read(joined).get("metadata", {}).get(".zgroup") if joined else None
            if isinstance(stated, dict):
                return json.dumps(stated).encode()
        return await self._fetch(path)

    def forget(self) -> None:
        """Forget what came ahead, and share nothing that is on its way: something was written."""
        self._coming = {}
        self._ahead.clear()
        self._led.clear()

    async def _first(self, path: str) -> bytes:
        loop = asyncio.get_running_loop()
        task = self._coming.get(path)
        if task is None or task.get_loop() is not loop:
            task = self._coming[path] = loop.create_task(self._fetch_one(path))
        # Who is cancelled does not take it away from the others.
        return await asyncio.shield(task)

    async def _fetch_one(self, path: str) -> bytes:
        coming = self._coming
        try:
            content = await self._fetch(path)
            self._learn(path, content)
            return content
        finally:
            asyncio.get_running_loop().call_soon(coming.pop, path, None)

    def _under_way(self, path: str) -> _Task | None:
        task = self._coming.get(path)
        return task if task is not None and task.get_loop() is asyncio.get_running_loop() else None

    def _learn(self, path: str, content: bytes) -> None:
        if len(content) > READ:
            return
        store, _, name = path.rpartition("/")
        try:
            axes = [f"{store}/{key}" for key in _axes(_read(content), name)]
        except (AttributeError, TypeError, ValueError, KeyError, IndexError, OverflowError):
            # Zarr says what is wrong with it.
            return
        if len(self._axes) > 4096:
            self._axes.clear()
        together = tuple(axes[:AXES])
        self._axes |= dict.fromkeys(together, together)

    async def _axis(self, path: str) -> bytes:
        loop = asyncio.get_running_loop()
        now = time.monotonic()
        together = self._axes.get(path, ())
        is_first = now - self._led.get(together, float("-inf")) > BELIEVED
        if is_first:
            self._led = {**({} if len(self._led) > 256 else self._led), together: now}
        for other in together if is_first else ():
            if other != path:
                coming = loop.create_task(self._fetch(other))
                # Who never asks for it never hears what went wrong with it.
                coming.add_done_callback(lambda done: done.cancelled() or done.exception())
                self._ahead[other] = (now, coming)
        since, task = self._ahead.pop(path, (float("-inf"), None))
        if is_first:
            task = None
        if task is not None and now - since <= BELIEVED and task.get_loop() is loop:
            try:
                return await asyncio.shield(task)
            except OSError:
                pass
        return await self._fetch(path)


async def _found(task: _Task | None) -> bytes | None:
    """Return a document that is under way; ``None`` where it is not, or is not there."""
    try:
        return None if task is None else await asyncio.shield(task)
    except OSError:
        return None


def _read(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _axes(document: dict[str, Any], name: str) -> Iterator[str]:
    """Yield the chunks of the axes of the arrays that a document describes: arrays of their own dimension."""
    if name == "zarr.json":
        arrays = document.get("consolidated_metadata", {}).get("metadata", {})
        for key, one in arrays.items():
            if one.get("node_type") == "array" and one.get("dimension_names") == [key.rpartition("/")[2]]:
                chunk = one["chunk_grid"]["configuration"]["chunk_shape"]
                encoding = one["chunk_key_encoding"]
                separator = (encoding.get("configuration") or {}).get("separator")
                mark = f"c{separator or '/'}" if encoding["name"] == "default" else ""
                yield from _chunks(key, mark, one["shape"], chunk)
        return
    arrays = document.get("metadata", {})
    for key, one in arrays.items():
        array, slash, last = key.rpartition("/")
        if slash and last == ".zarray":
            dimensions = arrays.get(f"{array}/.zattrs", {}).get("_ARRAY_DIMENSIONS")
            if dimensions == [array.rpartition("/")[2]]:
                yield from _chunks(array, "", one["shape"], one["chunks"])


def _chunks(key: str, mark: str, shape: list[int], chunk: list[int]) -> Iterator[str]:
    if len(shape) != 1 or not 0 < shape[0] <= AXIS_BYTES // 8:
        return
    count = math.ceil(shape[0] / max(chunk[0], 1))
    if count <= AXIS_CHUNKS:
        yield from (f"{key}/{mark}{number}" for number in range(count))
