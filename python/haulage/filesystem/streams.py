"""A file whose methods are coroutines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from haulage.filesystem.files import ReadFile, WriteFile


class AsyncFile:
    """A file for coroutines: made by ``await fs.open_async(path, mode)``."""

    def __init__(self, file: ReadFile | WriteFile, call: Callable[..., Awaitable[Any]]) -> None:
        self._file = file
        self._call = call

    async def read(self, size: int = -1) -> bytes:
        """Return ``size`` bytes, fewer only at the end; all that is left for ``-1``."""
        found: bytes = await self._call(self._file.read, size)
        return found

    async def write(self, data: bytes) -> int:
        """Take ``data``, waiting while as much is in flight as may be."""
        count: int = await self._call(self._file.write, data)
        return count

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to ``offset``; sends nothing."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return where the next read begins, or how much was written."""
        return self._file.tell()

    async def close(self) -> None:
        """Close it; one that was written has its name then."""
        await self._call(self._file.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._call(self._file.__exit__, kind, error, trace)
