"""A Zarr 3 store on a file system, which reads the pieces of a shard together.

Zarr reads the pieces of a shard one after another, each in its own request. This store reads a shard like a
file: in ranges of a megabyte and more, from a cache where possible.
"""

from __future__ import annotations

import asyncio
import weakref
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

#: Chunks that Zarr asks for at once.
CONCURRENCY = 64


def zarr_store(
    url: str, *, read_only: bool = False, concurrency: int | None = CONCURRENCY, **options: Any
) -> ZarrStore:
    """Return a Zarr store for a group or an array at ``haulaz://`` or ``hauls3://``.

    xarray accepts it in place of a URL: ``xarray.open_zarr(zarr_store("haulaz://climate/tas.zarr"))``.

    Args:
        url: ``haulaz://container/path`` or ``hauls3://bucket/path``.
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
    check is less than 10 seconds old; what was written or removed through the same file system is noticed at
    once, also if another store on it did so.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Of one process.
        self._pinned: weakref.WeakKeyDictionary[asyncio.Task[Any], dict[str, ReadFile]]
        self._pinned = weakref.WeakKeyDictionary()

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

    def _part(self, path: str, wanted: ByteRequest, shard: ReadFile | None = None) -> tuple[ReadFile, bytes]:
        shards = self.fs._shards
        shard = shards.get(path, is_index=_is_index(wanted)) if shard is None else shard
        try:
            return shard, _read(shard, wanted)
        except SourceChangedError:
            # Not again at once: the index that led here is that of the old version.
            shards.forget(path)
            raise

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_pinned"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pinned = weakref.WeakKeyDictionary()


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
