"""Indexes written beside the files that they are of, where that is wanted and allowed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from haulage.errors import HaulageError
from haulage.view.index import sidecar
from haulage.view.index.opening import Opened
from haulage.view.reading.place import Place

#: So long the thread that writes waits for the next file before it ends.
_IDLE_S = 5.0


def keep_beside(place: Place, opened: Opened) -> bool:
    """Write the index of a file beside it; return whether it is there now.

    Zarr stores describe themselves, and files that are shown as one are indexed each for itself.

    Raises:
        HaulageError: It cannot be written.
    """
    if _describes_itself(opened):
        return False
    if opened.beside:
        return True
    body = sidecar.body_of(opened.pinned.etag, opened.index, opened.tables)
    if body is None:
        return False
    place.keep_sidecar(opened.pinned.name, body)
    return True


class Keeper:
    """Writes indexes in the background, one after another, until one is refused.

    Args:
        place: Where the files lie.
        say: Takes the reason if one is refused, once.
    """

    def __init__(self, place: Place, say: Callable[[str], None]) -> None:
        self._place, self._say = place, say
        self._waiting: SimpleQueue[Opened] = SimpleQueue()
        self._lock = threading.Lock()
        self._runs = self._refused = False

    def keep(self, opened: Opened) -> None:
        """Have the index of a file written soon."""
        if self._refused or opened.beside or _describes_itself(opened):
            return
        self._waiting.put(opened)
        with self._lock:
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._run, name="haul-view-keep", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                opened = self._waiting.get(timeout=_IDLE_S)
            except Empty:
                with self._lock:
                    if self._waiting.empty():
                        self._runs = False
                        return
                continue
            if self._refused:
                continue
            try:
                keep_beside(self._place, opened)
            except HaulageError as error:
                self._refused = True
                self._say(f"haul: the index is kept in the cache only: {error}")


def _describes_itself(opened: Opened) -> bool:
    """Return whether nothing can be kept: of a store, of files that are shown as one, of rows."""
    return opened.objects is not None or opened.parts is not None or opened.held is not None
