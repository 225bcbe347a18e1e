"""A store for Zarr 3 on a file system, which reads the pieces of a shard together.

Zarr asks for one piece of a shard after the other, each a request of its own. Here a shard is read as a file
is: in stretches of a megabyte and more, and what is at hand is not asked for again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Self

import fsspec
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.storage import FsspecStore

from haulage.errors import SourceChangedError

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

    from haulage.filesystem.files import ReadFile

#: Shards that are kept open; the bytes kept of them count in the file system's ``cache_bytes``.
OPEN = 128


def zarr_store(url: str, *, read_only: bool = False, **options: Any) -> ZarrStore:
    """Return a store of Zarr for a group or an array at ``haul+az://`` or ``haul+s3://``.

    xarray takes it in place of a URL: ``xarray.open_zarr(zarr_store("haul+az://climate/tas.zarr"))``.

    Args:
        url: ``haul+az://container/path`` or ``haul+s3://bucket/path``.
        read_only: Refuse to write. Default ``False``.
        options: What :class:`~haulage.filesystem.HaulageFileSystem` takes, such as ``credential``.
    """
    fs, path = fsspec.core.url_to_fs(url, asynchronous=True, **options)
    return ZarrStore(fs, path=path, read_only=read_only)


class ZarrStore(FsspecStore):
    """The store that zarr has on fsspec, but for parts of objects: made by :func:`zarr_store`.

    Of each shard of which a part was read, the version is remembered. Where somebody replaces it meanwhile, a
    read that needs more raises :class:`~haulage.errors.SourceChangedError`; the next one reads the new one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._shards: OrderedDict[str, ReadFile] = OrderedDict()
        self._lock = threading.Lock()

    def with_read_only(self, read_only: bool = False) -> Self:
        """Return a store for the same place that refuses to write, or no longer does."""
        return type(self)(fs=self.fs, path=self.path, read_only=read_only)

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return an object or a part of it; ``None`` where there is none."""
        if byte_range is None:
            return await super().get(key, prototype)
        try:
            content = await self.fs._call(self._part, f"{self.path}/{key}".strip("/"), byte_range)
        except self.allowed_exceptions:
            return None
        return prototype.buffer.from_bytes(content)

    async def set(self, key: str, value: Buffer, byte_range: tuple[int, int] | None = None) -> None:
        """Write an object."""
        self._forget(f"{self.path}/{key}".strip("/"))
        await super().set(key, value, byte_range)

    async def delete(self, key: str) -> None:
        """Remove an object, if it is there."""
        self._forget(f"{self.path}/{key}".strip("/"))
        await super().delete(key)

    def _part(self, path: str, wanted: ByteRequest) -> bytes:
        try:
            return _read(self._shard(path), wanted)
        except SourceChangedError:
            # Not again at once: the index that led here is that of the old version.
            self._forget(path)
            raise

    def _shard(self, path: str) -> ReadFile:
        with self._lock:
            known = self._shards.get(path)
            if known is not None:
                self._shards.move_to_end(path)
                return known
        opened: ReadFile = self.fs._open(path)
        with self._lock:
            # Another thread may have opened it meanwhile; then there is one window on it.
            opened = self._shards.setdefault(path, opened)
            while len(self._shards) > OPEN:
                self._shards.popitem(last=False)
        return opened

    def _forget(self, path: str) -> None:
        with self._lock:
            self._shards.pop(path, None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_shards", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._shards = OrderedDict()
        self._lock = threading.Lock()


def _read(file: ReadFile, wanted: ByteRequest) -> bytes:
    if isinstance(wanted, RangeByteRequest):
        return file.read_at(wanted.start, wanted.end - wanted.start)
    if isinstance(wanted, OffsetByteRequest):
        return file.read_at(wanted.offset, file.size - wanted.offset)
    if isinstance(wanted, SuffixByteRequest):
        begin = max(file.size - wanted.suffix, 0)
        return file.read_at(begin, file.size - begin)
    raise TypeError(f"no byte range: {wanted!r}")
