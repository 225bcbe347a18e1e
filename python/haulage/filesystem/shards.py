"""The shards of Zarr stores that are kept open, of one file system.

A shard that is written or removed through the file system is opened anew by the next read, whichever store
reads it; also if another thread was opening it meanwhile.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haulage.filesystem.files import ReadFile

#: Shards that are kept open; the bytes kept of them count in the file system's ``cache_bytes``.
OPEN = 128
#: Seconds for which the version of a shard is believed when its index is read again.
BELIEVED = 10.0


class Shards:
    """Shards by their paths, each of one version.

    Args:
        open_shard: Opens the version of now.
    """

    def __init__(self, open_shard: Callable[[str], ReadFile]) -> None:
        self._open = open_shard
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[float, ReadFile]] = OrderedDict()
        self._opening: dict[str, Future[ReadFile]] = {}

    def get(self, path: str, *, is_index: bool) -> ReadFile:
        """Return a shard; who begins with its index gets the version of now, or of a moment ago.

        Raises:
            FileNotFoundError: There is none.
        """
        with self._held():
            since, known = self._known.get(path, (0.0, None))
            if known is not None and (not is_index or time.monotonic() - since < BELIEVED):
                self._known.move_to_end(path)
                return known
            coming = self._opening.get(path)
            mine = coming is None
            if coming is None:
                coming = self._opening[path] = Future()
        if not mine:
            return coming.result()
        try:
            opened = self._open(path)
        except BaseException as error:
            with self._lock:
                self._ended(path, coming)
            coming.set_exception(error)
            raise
        with self._lock:
            # What was forgotten meanwhile may be of the version before.
            if self._ended(path, coming):
                self._known[path] = (time.monotonic(), opened)
                while len(self._known) > OPEN:
                    self._known.popitem(last=False)
        coming.set_result(opened)
        return opened

    def forget(self, path: str | None = None) -> None:
        """Forget the shards at and below a path, or all of them: something was written or removed there."""
        with self._held():
            for kept in (self._known, self._opening):
                for one in [one for one in kept if path is None or f"{one}/".startswith(f"{path}/")]:
                    del kept[one]

    def _held(self) -> threading.Lock:
        if self._pid != os.getpid():
            # Whoever opened one, or held the lock, may be a thread of the parent's.
            self._begin()
        return self._lock

    def _ended(self, path: str, coming: Future[ReadFile]) -> bool:
        """Count an opening as ended; return whether nothing was forgotten meanwhile. With the lock held."""
        is_current = self._opening.get(path) is coming
        if is_current:
            del self._opening[path]
        return is_current
