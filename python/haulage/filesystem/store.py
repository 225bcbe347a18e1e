"""A Zarr 3 store on a file system, which reads the pieces of a shard together.

Zarr reads the pieces of a shard one after another, each in its own request. This store reads a shard like a
file: in ranges of a megabyte and more, from a cache where possible.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import OrderedDict
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Self

import fsspec
import zarr
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.storage import FsspecStore

from haulage.errors import SourceChangedError

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

    from haulage.filesystem.files import ReadFile

#: Shards that are kept open; the bytes kept of them count in the file system's ``cache_bytes``.
OPEN = 128
#: Seconds for which the version of a shard is believed when its index is read again.
BELIEVED = 10.0
#: What belongs to one process.
LOCAL = ("_shards", "_pinned", "_opening", "_lock")
#: Chunks that Zarr asks for at once.
CONCURRENCY = 64


def zarr_store(
    url: str, *, read_only: bool = False, concurrency: int | None = CONCURRENCY, **options: Any
) -> ZarrStore:
    """Return a Zarr store for a group or an array at ``haul+az://`` or ``haul+s3://``.

    xarray accepts it in place of a URL: ``xarray.open_zarr(zarr_store("haul+az://climate/tas.zarr"))``.

    Args:
        url: ``haul+az://container/path`` or ``haul+s3://bucket/path``.
        read_only: Refuse to write. Default ``False``.
        concurrency: Chunks that Zarr reads at once in this process: its setting ``async.concurrency`` is
            raised to this value if it is smaller. Zarr's own default, 10, means a round trip for every ten
            chunks. ``None`` leaves the setting alone. Default 64.
        options: The arguments of :class:`~haulage.filesystem.HaulageFileSystem`, such as ``credential``.
    """
    fs, path = fsspec.core.url_to_fs(url, asynchronous=True, **options)
    if concurrency is not None and zarr.config.get("async.concurrency") < concurrency:
        zarr.config.set({"async.concurrency": concurrency})
    return ZarrStore(fs, path=path, read_only=read_only)


class ZarrStore(FsspecStore):
    """Zarr's own store on fsspec, with faster reads of parts of objects. Created by :func:`zarr_store`.

    The index of a shard and its pieces are always read from the same version. If the shard is replaced
    meanwhile, a read that needs more of it raises :class:`~haulage.errors.SourceChangedError`; the next read
    uses the new version. Reading the index of a shard checks whether the shard was replaced, unless the last
    check is less than 10 seconds old.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._shards: OrderedDict[str, tuple[float, ReadFile]] = OrderedDict()
        self._pinned: weakref.WeakKeyDictionary[asyncio.Task[Any], dict[str, ReadFile]]
        self._pinned = weakref.WeakKeyDictionary()
        self._opening: dict[str, Future[ReadFile]] = {}
        self._lock = threading.Lock()

    def with_read_only(self, read_only: bool = False) -> Self:
        """Return a store for the same path that is read-only, or writable."""
        return type(self)(fs=self.fs, path=self.path, read_only=read_only)

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return an object or a part of it; ``None`` if there is no such object."""
        if byte_range is None:
            return await super().get(key, prototype)
        path = f"{self.path}/{key}".strip("/")
        # Zarr reads the index of a shard and then its pieces in one task: they must be of one version.
        task = asyncio.current_task()
        pinned = self._pinned.setdefault(task, {}) if task is not None else {}
        shard = None if isinstance(byte_range, SuffixByteRequest) else pinned.get(path)
        try:
            # Most pieces are at hand, for which no other thread is needed.
            if shard is not None and shard.at_hand(*_bounds(shard, byte_range)):
                content = _read(shard, byte_range)
            else:
                shard, content = await self.fs._call(self._part, path, byte_range, shard)
        except self.allowed_exceptions:
            return None
        except SourceChangedError:
            pinned.pop(path, None)
            raise
        pinned[path] = shard
        return prototype.buffer.from_bytes(content)

    async def set(self, key: str, value: Buffer, byte_range: tuple[int, int] | None = None) -> None:
        """Write an object."""
        self._forget(f"{self.path}/{key}".strip("/"))
        await super().set(key, value, byte_range)

    async def delete(self, key: str) -> None:
        """Remove an object if it exists."""
        self._forget(f"{self.path}/{key}".strip("/"))
        await super().delete(key)

    def _part(self, path: str, wanted: ByteRequest, shard: ReadFile | None = None) -> tuple[ReadFile, bytes]:
        shard = self._shard(path, _is_index(wanted)) if shard is None else shard
        try:
            return shard, _read(shard, wanted)
        except SourceChangedError:
            # Not again at once: the index that led here is that of the old version.
            self._forget(path)
            raise

    def _shard(self, path: str, is_index: bool) -> ReadFile:
        """Return a shard; who begins with its index gets the version of now, or of a moment ago."""
        with self._lock:
            since, known = self._shards.get(path, (0.0, None))
            if known is not None and (not is_index or time.monotonic() - since < BELIEVED):
                self._shards.move_to_end(path)
                return known
            coming = self._opening.get(path)
            mine = coming is None
            if coming is None:
                coming = self._opening[path] = Future()
        if not mine:
            return coming.result()
        try:
            opened: ReadFile = self.fs._open(path)
        except BaseException as error:
            with self._lock:
                self._opening.pop(path, None)
            coming.set_exception(error)
            raise
        with self._lock:
            self._opening.pop(path, None)
            self._shards[path] = (time.monotonic(), opened)
            while len(self._shards) > OPEN:
                self._shards.popitem(last=False)
        coming.set_result(opened)
        return opened

    def _forget(self, path: str) -> None:
        with self._lock:
            self._shards.pop(path, None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in LOCAL}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._shards = OrderedDict()
        self._pinned = weakref.WeakKeyDictionary()
        self._opening = {}
        self._lock = threading.Lock()


def _is_index(wanted: ByteRequest) -> bool:
    """Return whether a part is where a shard has its index: at one of its ends."""
    return isinstance(wanted, SuffixByteRequest) or (
        isinstance(wanted, RangeByteRequest) and wanted.start == 0
    )


def _read(file: ReadFile, wanted: ByteRequest) -> bytes:
    return file.read_at(*_bounds(file, wanted))


def _bounds(file: ReadFile, wanted: ByteRequest) -> tuple[int, int]:
    """Return the first byte and the length of a part."""
    if isinstance(wanted, RangeByteRequest):
        return wanted.start, wanted.end - wanted.start
    if isinstance(wanted, OffsetByteRequest):
        return wanted.offset, max(file.size - wanted.offset, 0)
    if isinstance(wanted, SuffixByteRequest):
        begin = max(file.size - wanted.suffix, 0)
        return begin, file.size - begin
    raise TypeError(f"not a byte range: {wanted!r}")
