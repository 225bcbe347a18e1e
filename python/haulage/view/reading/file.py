"""A pinned object as a file, for HDF5's own library."""

from __future__ import annotations

import io
import os

from haulage.errors import HaulageError
from haulage.view.reading.pinned import Pinned


class PinnedFile(io.RawIOBase):
    """What describes a file, as the library seeks and reads it. What went wrong stays in ``failure``."""

    def __init__(self, pinned: Pinned) -> None:
        self._pinned, self._at = pinned, 0
        self.failure: HaulageError | None = None

    def readable(self) -> bool:
        """Return ``True``."""
        return True

    def seekable(self) -> bool:
        """Return ``True``."""
        return True

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go there; reads nothing."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._pinned.size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Fill the buffer, up to the end of the object."""
        view = memoryview(buffer).cast("B")
        try:
            found = self._pinned.describing(self._at, len(view))
        except HaulageError as error:
            # The library turns it into an error of its own, which tells nothing of it.
            self.failure = error
            raise OSError(str(error)) from error
        view[: len(found)] = found
        self._at += len(found)
        return len(found)
