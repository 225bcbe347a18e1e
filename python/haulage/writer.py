"""The base class of files that are written whole or not at all."""

from __future__ import annotations

import io
from types import TracebackType


class WholeWriter(io.BufferedIOBase):
    """A file that is written sequentially: an exception that leaves its ``with`` block discards it."""

    def writable(self) -> bool:
        """Return ``True``."""
        return True

    def discard(self) -> None:
        """Close without committing: the destination stays unchanged."""
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()
