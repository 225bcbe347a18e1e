"""Whole objects, ranges of them, and copies between places."""

from __future__ import annotations

import asyncio
import builtins
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.core import has_magic

from haulage.errors import ExistsError, NotFoundError, SourceChangedError, UnsupportedError, UsageError
from haulage.events import Progress
from haulage.filesystem import entries
from haulage.filesystem.listing import Listings
from haulage.filesystem.pace import Pace
from haulage.objects import get, open as open_object, put
from haulage.ranges import get_ranges
from haulage.removal import make_container, remove, remove_container
from haulage.transfer import Job

#: Ranges of an object no further apart than this are one request: less than a round trip brings in.
GAP = 1 << 18
#: Up to so many bytes one request writes; more goes in blocks, over several connections.
AT_ONCE = 8 << 20


class Content(Listings):
    """The part of a file system that moves and removes."""

    largest: ClassVar[int]  #: bytes of the largest request of a reader
    pace: Pace  #: what the link gives

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        path, start = self._strip_protocol(path), start or 0
        if not start and end is None:
            documents = self._documents
            return await (documents.get(path) if documents.is_one(path) else self._whole(path))
        if start < 0 or (end or 0) < 0:
            return await self._from_end(path, start, end)
        if end is not None and end <= start:
            return b""
        return await self._range(path, start, end)

    async def _range(self, path: str, start: int, end: int | None, version: str | None = None) -> bytes:
        wanted = [(start, None if end is None else end - start)]
        url = f"{self.scheme}://{path}"
        found: list[bytes] = await self._call(get_ranges, url, wanted, version=version, **self._reach)
        return found[0]

    async def _from_end(self, path: str, start: int, end: int | None) -> bytes:
        """Read a range that is counted from the end of an object."""
        for refresh in (False, True):
            entry = await self._info(path, refresh=refresh)
            size = entry["size"]
            first = max(size + start, 0) if start < 0 else start
            last = size if end is None else size + end if end < 0 else end
            try:
                if first < last:
                    return await self._range(path, first, last, entry.get("etag") or None)
            except SourceChangedError:
                # A listing may be older than the object, and its size leads elsewhere in the new one.
                if refresh:
                    raise
        return b""

    async def _whole(self, path: str) -> bytes:
        whole: bytes = await self._call(self._timed, f"{self.scheme}://{path}")
        return whole

    def _timed(self, url: str) -> bytes:
        began = time.perf_counter()
        whole = get(url, **self._reach)
        self.pace.whole(len(whole), time.perf_counter() - began)
        return whole

    async def _cat_ranges(
        self,
        paths: builtins.list[str],
        starts: int | Iterable[int | None] | None,
        ends: int | Iterable[int | None] | None,
        max_gap: int | None = None,
        batch_size: int | None = None,  # noqa: ARG002
        on_error: str = "return",
        **_: Any,
    ) -> builtins.list[Any]:
        if not isinstance(paths, builtins.list):
            raise TypeError("paths is a list")
        first = [starts] * len(paths) if starts is None or isinstance(starts, int) else [*starts]
        last = [ends] * len(paths) if ends is None or isinstance(ends, int) else [*ends]
        if len(first) != len(paths) or len(last) != len(paths):
            raise ValueError("as many starts and ends as paths")
        plain = [
            number
            for number in range(len(paths))
            if (first[number] or 0) >= 0 and (last[number] or -1) > (first[number] or 0)
        ]
        asked = entries.merged(
            [self._strip_protocol(paths[number]) for number in plain],
            [first[number] or 0 for number in plain],
            [last[number] or 0 for number in plain],
            GAP if max_gap is None else max_gap,
            self.largest,
        )
        found: builtins.list[Any] = [None] * len(paths)

        async def one(number: int) -> None:
            found[number] = await self._cat_file(paths[number], first[number], last[number])

        async def several(path: str, begin: int, end: int, numbers: builtins.list[int]) -> None:
            content = await self._cat_file(path, begin, end)
            for number in (plain[place] for place in numbers):
                found[number] = content[(first[number] or 0) - begin : (last[number] or 0) - begin]

        left = sorted({*range(len(paths))} - {*plain})
        groups = [
            *((number,) for number in left),
            *(tuple(plain[n] for n in numbers) for *_, numbers in asked),
        ]
        done = await asyncio.gather(
            *(one(number) for number in left),
            *(several(*request) for request in asked),
            return_exceptions=True,
        )
        for group, result in zip(groups, done, strict=True):
            if isinstance(result, BaseException):
                if on_error != "return":
                    raise result
                for number in group:
                    found[number] = result
        return found

    async def _pipe_file(self, path: str, value: Any, mode: str = "overwrite", **_: Any) -> None:
        self._need_object("write", path)
        path = self._strip_protocol(path)
        overwrite = "never" if mode == "create" else "always"
        try:
            await self._call(self._write, f"{self.scheme}://{path}", value, overwrite)
        finally:
            # Also where it failed, for it may have been written.
            self.invalidate_cache(path)

    def _write(self, url: str, value: Any, overwrite: Any) -> None:
        if memoryview(value).nbytes <= AT_ONCE:
            put(url, value, overwrite=overwrite, **self._reach)
        else:
            with open_object(url, "xb" if overwrite == "never" else "wb", **self._reach) as file:
                file.write(value)

    # Between places.

    async def _move(
        self, pair: tuple[str, str], overwrite: str = "always", callback: Any = DEFAULT_CALLBACK
    ) -> None:
        """Copy one object to exactly this name; stops where the coroutine is cancelled."""
        job = Job.copy([pair], overwrite=overwrite, **self._reach)  # type: ignore[arg-type]

        def told(progress: Progress) -> None:
            if progress.listed:
                callback.set_size(progress.bytes_total)
            callback.absolute_update(progress.bytes_done)

        listen = None if callback is DEFAULT_CALLBACK else told
        running = asyncio.ensure_future(self._call(job.wait, on_progress=listen))
        try:
            summary = await asyncio.shield(running)
        except asyncio.CancelledError:
            job.cancel()
            await asyncio.gather(running, return_exceptions=True)
            raise
        if summary.objects_skipped:
            raise ExistsError(
                "write", pair[1], "it is there already", 'write with mode "overwrite" to replace it'
            )

    async def _cp_file(self, path1: str, path2: str, **_: Any) -> None:
        self._need_object("write", path2)
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if source == target:
            # Who moves removes the source then.
            hint = "choose another destination"
            raise UsageError("copy", self.url(source), "source and destination are the same", hint)
        try:
            await self._move((f"{self.scheme}://{source}", f"{self.scheme}://{target}"))
        except NotFoundError:
            # A folder is named beside what is in it, and is there as soon as that is.
            if not await self._isdir(source):
                raise
        finally:
            self.invalidate_cache(target)

    async def _put_file(
        self, lpath: Any, rpath: str, mode: str = "overwrite", callback: Any = DEFAULT_CALLBACK, **_: Any
    ) -> None:
        local, target = Path(lpath).absolute(), self._strip_protocol(rpath)
        if local.is_dir():
            return
        self._need_object("write", rpath)
        overwrite = "never" if mode == "create" else "always"
        try:
            await self._move((str(local), f"{self.scheme}://{target}"), overwrite, callback)
        finally:
            self.invalidate_cache(target)

    async def _get_file(self, rpath: str, lpath: Any, callback: Any = DEFAULT_CALLBACK, **_: Any) -> None:
        if hasattr(lpath, "write"):
            lpath.write(await self._cat_file(rpath))
            return
        local, source = Path(lpath).absolute(), self._strip_protocol(rpath)
        if local.is_dir():
            if await self._isfile(source):
                # The engine would copy it into the folder.
                hint = "copy it by itself, to another name"
                raise UnsupportedError("write", str(local), "a folder is there", hint)
            # A folder, which is there as soon as what is in it.
            return
        try:
            await self._move((f"{self.scheme}://{source}", str(local)), callback=callback)
        except NotFoundError:
            if not await self._isdir(source):
                raise
            # As fsspec has it: a folder that is named is made, without what is in it.
            local.mkdir(parents=True, exist_ok=True)

    # What makes and removes.

    async def _rm(
        self,
        path: str | builtins.list[str],
        recursive: bool = False,
        batch_size: int | None = None,  # noqa: ARG002
        maxdepth: int | None = None,
        max_delete: int | None = None,
        **_: Any,
    ) -> None:
        paths = entries.as_list(path)
        plain = [one for one in paths if not entries.is_prefix(one)]
        names = [self._strip_protocol(one) for one in plain]
        if plain and (maxdepth is not None or any(has_magic(one) for one in plain)):
            names = await self._expand_path(plain, recursive and maxdepth is not None, maxdepth)
        prefixes = await self._prefixes([one for one in paths if entries.is_prefix(one)])
        if maxdepth is not None:
            if recursive:
                for one in prefixes:
                    names += [name for name in await self._find(one, maxdepth) if name.startswith(one)]
                prefixes, recursive = [], False
            names = [one for one in dict.fromkeys(names) if await self._is_object(one, 0)]
        await self._remove([*names, *prefixes], recursive, max_delete)

    async def _rm_file(self, path: str, **_: Any) -> None:
        await self._remove([self._spelled(path)], recursive=False, max_delete=None)

    async def _remove(self, names: builtins.list[str], recursive: bool, max_delete: int | None) -> None:
        """Remove what has exactly these names; of one that ends in ``/``, only what is below it."""
        made = {one for one in names if one.rstrip("/") in self._made}
        try:
            if made:
                names = [one for one in names if one not in made or await self._holds(one)]
            if not recursive:
                self._need_objects("remove", names)
            if names:
                urls = [f"{self.scheme}://{one}" for one in names]
                await self._call(remove, urls, recursive=recursive, max_delete=max_delete, **self._reach)
        except NotFoundError:
            # No object has the name of a folder.
            folders = [] if recursive else [one for one in names if await self._isdir(one)]
            if not folders:
                raise
            raise self._of_many("remove", folders[0], "this is a folder") from None
        finally:
            # Also where some are removed and others could not be.
            for one in {*names, *made}:
                self._forget_below(one.rstrip("/"))

    async def _holds(self, path: str) -> bool:
        """Return whether anything is in a folder that was made, or has its name."""
        return bool(await self._ls(path, refresh=True)) or (
            not entries.is_prefix(path) and await self._isfile(path)
        )

    def _forget_below(self, path: str) -> None:
        self.invalidate_cache(path)
        for listed in [one for one in self.dircache if one.startswith(f"{path}/")]:
            self.dircache.pop(listed, None)
        self._made.difference_update({one for one in self._made if f"{one}/".startswith(f"{path}/")})

    async def _mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:  # noqa: ARG002
        path = self._strip_protocol(path)
        if path and "/" not in path:
            await self._call(make_container, f"{self.scheme}://{path}", **self._reach)
            self.invalidate_cache(path)
        # Stores have no folders, but who makes one expects it to be there, such as DuckDB before it writes.
        while "/" in path:
            self._made.add(path)
            path = entries.parent(path)

    async def _makedirs(self, path: str, exist_ok: bool = False) -> None:
        try:
            await self._mkdir(path)
        except FileExistsError:
            if not exist_ok:
                raise

    async def _rmdir(self, path: str) -> None:
        path = self._strip_protocol(path)
        if path and "/" not in path:
            try:
                await self._call(remove_container, f"{self.scheme}://{path}", **self._reach)
            except UsageError:
                # The engine's hint is an option that this call does not have.
                if not await self._ls(path, refresh=True):
                    raise
                raise self._full(path) from None
        elif await self._ls(path, refresh=True):
            raise self._full(path)
        self._forget_below(path)

    def _full(self, path: str) -> UsageError:
        hint = "remove them: fs.rm(path, recursive=True)"
        return UsageError("remove", self.url(path), "it holds objects", hint)

    def rmdir(self, path: str) -> None:
        """Remove an empty container. A folder does not need removing: it disappears with its last object."""
        self._sync(self._rmdir, path)

    def _need_object(self, operation: str, path: str) -> None:
        name = self._spelled(path)
        if "/" not in name.rstrip("/"):
            hint = "write container/name"
            raise UsageError(operation, f"{self.scheme}://{name}", "this does not name an object", hint)
        if entries.is_prefix(name):
            hint = "leave out the slash at the end, or write a name after it"
            raise UsageError(
                operation, f"{self.scheme}://{name}", "this is a prefix: it ends in a slash", hint
            )

    def _need_objects(self, operation: str, names: Iterable[str]) -> None:
        """Raise if one of the names cannot be that of an object: a container, or what ends in ``/``."""
        for one in names:
            if entries.is_prefix(one):
                raise self._of_many(operation, one, "this is a prefix: it ends in a slash")
            if one and "/" not in one:
                raise self._of_many(operation, one, "this is a container")

    def _of_many(self, operation: str, name: str, cause: str) -> UsageError:
        hint = "pass recursive=True to include everything below it"
        return UsageError(operation, f"{self.scheme}://{name}", cause, hint)
