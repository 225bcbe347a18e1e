"""The files that are open, and what is kept of them, within bounds of memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from haulage.errors import NotFoundError, SourceChangedError
from haulage.view.cf import axes, placing
from haulage.view.cf.axes import Horizontal
from haulage.view.cf.grids import Corners
from haulage.view.decode.scaling import meant
from haulage.view.decode.slab import Reader, whole
from haulage.view.index.model import Variable
from haulage.view.index.opening import Opened, open_file, open_store
from haulage.view.index.sidecar_writer import Keeper
from haulage.view.index.zarr import is_root
from haulage.view.joining import joining
from haulage.view.reading.cost import side_by_side
from haulage.view.reading.pinned import Pinned
from haulage.view.reading.place import Place
from haulage.view.reading.value_cache import Kept
from haulage.view.rows.opening import of_rows
from haulage.view.rows.reading import ReadRows
from haulage.view.serve.search import Search

#: Files whose index is held; one takes some kilobytes to some megabytes.
_FILES = 8
_CHUNKS_BYTES, _SLABS_BYTES, _GRIDS_BYTES = 64 << 20, 80 << 20, 48 << 20
#: Coordinates that are read at once.
_THREADS = 8
#: Files that are opened at once to show them as one.
_MANY_THREADS = 32
_T = TypeVar("_T")
_U = TypeVar("_U")


class Library:
    """What is viewed, and what is known of it. Threads may share it.

    Args:
        place: What is viewed.
        cache: The folder for indexes; ``None`` for none.
        keeper: Writes indexes beside the files; ``None`` to write nothing.
        rows: Reads tables and Parquet files; ``None`` if nothing does.
        filter: Which rows of them, as an OData expression; ``None`` for all.
    """

    def __init__(
        self,
        place: Place,
        cache: Path | None,
        keeper: Keeper | None = None,
        rows: ReadRows | None = None,
        filter: str | None = None,
    ) -> None:
        self.place = place
        self._cache, self._keeper, self._rows, self.filter = cache, keeper, rows, filter
        self._files: OrderedDict[str, Opened] = OrderedDict()
        self._under_way: dict[str, Future[Opened]] = {}
        self._lock = threading.Lock()
        self.reader = Reader(_CHUNKS_BYTES)
        self.slabs: Kept[Any] = Kept(_SLABS_BYTES, lambda slab: slab.values.nbytes + 1000)
        self._corners: Kept[Corners] = Kept(_GRIDS_BYTES, lambda corners: corners.bytes)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="haul-view")
        self._many = ThreadPoolExecutor(_MANY_THREADS, thread_name_prefix="haul-view-many")
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="haul-view-ahead")
        self._waiting = 0
        #: Held by whoever makes a large map: two at once would take too much memory.
        self.large = threading.Lock()
        #: The last one, for its next page.
        self.search: Search | None = None

    def opened(self, name: str, *, fresh: bool = False) -> Opened:
        """Return a file with its index.

        Args:
            name: As in the catalogue.
            fresh: Ask the store whether it was replaced, unless it was listed a moment ago.
        """
        with self._lock:
            there = self._files.get(name)
            if there is not None and not fresh:
                self._files.move_to_end(name)
                return there
        members = self.place.series(name) if "*" in name else []
        pins = self._pins(members, fresh=fresh)
        pinned = None if pins else self.place.pin(name, fresh=fresh)
        if pinned and is_root(name):
            # What is in a store may be replaced while its description stays.
            version = self.place.version_below(name, pinned.etag, fresh=fresh)
            pinned = pinned.named(name, pinned.size, version)
        version = pinned.etag if pinned else joining.version_of(pins)
        if there is not None and there.pinned.etag == version:
            return there
        with self._lock:
            waiting = self._under_way.get(name)
            if waiting is None:
                mine: Future[Opened] = Future()
                self._under_way[name] = mine
        if waiting is not None:
            return waiting.result()
        try:
            found = self._open(pinned) if pinned else self._joined(name, pins)
        except BaseException as error:
            mine.set_exception(error)
            raise
        else:
            mine.set_result(found)
        finally:
            with self._lock:
                del self._under_way[name]
        with self._lock:
            self._files[name] = found
            while len(self._files) > _FILES:
                self._files.popitem(last=False)
        return found

    def forget(self, name: str) -> None:
        """Let go of a file that was replaced; the next time it is opened anew."""
        with self._lock:
            there = self._files.pop(name, None)
        members = there.parts.files if there and there.parts else ()
        for one in (name, *(file.pinned.name for file in members)):
            self.place.doubt(one)

    def _open(self, pinned: Pinned) -> Opened:
        if self._rows and (self.place.is_live or pinned.name.endswith(".parquet")):
            return of_rows(pinned, self._rows, self.filter)
        if is_root(pinned.name):
            return open_store(pinned, self._names, self.place.reach)
        return self._open_file(pinned)

    def _open_file(self, pinned: Pinned) -> Opened:
        found = open_file(pinned, self._cache, self.place.sidecar(pinned.name))
        if self._keeper:
            self._keeper.keep(found)
        return found

    def _names(self) -> list[str]:
        """Return all names, when the listing has ended."""
        found, whole = self.place.names()
        while not whole:
            found, whole = self.place.names()
        return [meta.key for meta in found]

    def _pins(self, names: list[str], *, fresh: bool) -> list[Pinned]:
        """Return the files that are shown as one."""
        return self.many(lambda name: self.place.pin(name, fresh=fresh, lean=True), names)

    def _joined(self, name: str, pins: list[Pinned]) -> Opened:
        return joining.join(name, pins, self._open_file, self.values, self.many)

    def format_of(self, name: str) -> str | None:
        """Return the format of a file that is open; ``None`` for others."""
        with self._lock:
            found = self._files.get(name)
        return found.index.format if found else None

    def variable(self, opened: Opened, path: str) -> Variable:
        """Return a variable of a file.

        Raises:
            NotFoundError: There is none of this path.
        """
        found = opened.index.variables.get(path)
        if found is None:
            hint = "choose one of those that the file has"
            raise NotFoundError(
                "read", f"{opened.pinned.name}, {path[:100]}", "there is no such variable", hint
            )
        return found

    def values(self, opened: Opened, variable: Variable) -> np.ndarray[Any, Any]:
        """Return all values of a coordinate, as they are stored."""
        return self.reader.read(opened, variable, whole(variable))

    def corners(self, opened: Opened, across: Horizontal, places: Mapping[str, int]) -> Corners:
        """Return the corners of a grid; made once for each place along its steps."""
        sizes = (opened.index.dimensions.get(across.y_dim, 1), opened.index.dimensions[across.x_dim])
        steps = {dim: places[dim] for dim in across.steps}

        def read(one: Variable) -> np.ndarray[Any, Any]:
            every = zip(one.dims, whole(one), strict=True)
            box = tuple((steps[dim], steps[dim] + 1) if dim in steps else all_ for dim, all_ in every)
            return meant(self.reader.read(opened, one, box), one)

        return self._corners.made(
            (opened.pinned.url, opened.pinned.etag, across.id, *steps.values()),
            lambda: placing.corners(opened.index, across, read, sizes),
        )

    def across(self, opened: Opened, variable: Variable) -> Horizontal:
        """Return where the values of a variable lie.

        Raises:
            NotFoundError: It is not drawn, and why.
        """
        why_not = axes.why_not_drawn(opened.index, variable)
        found = axes.horizontal(opened.index, variable)
        if why_not is not None or found is None:
            name = f"{opened.pinned.name}, {variable.path}"
            raise NotFoundError("draw", name, why_not or "its location is unknown", "choose another variable")
        return found

    def at_once(self, calls: list[Callable[[], _T]]) -> list[_T]:
        """Return what calls return that wait for the store; they run at once, and count for this answer."""
        return side_by_side(self._threads, _THREADS, lambda call: call(), calls)

    def many(self, call: Callable[[_T], _U], items: Sequence[_T]) -> list[_U]:
        """Return what a call returns for each of many files; up to 32 at once, counted for this answer."""
        return side_by_side(self._many, _MANY_THREADS, call, items)

    def ahead(self, call: Callable[[], object]) -> None:
        """Run a call in the background, whose failure does not matter; not if others wait already."""
        if self._waiting >= 2:
            return
        self._waiting += 1

        def run() -> None:
            try:
                call()
            finally:
                self._waiting -= 1

        self._ahead.submit(run)

    def close(self) -> None:
        """End what runs in the background."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._many.shutdown(wait=False, cancel_futures=True)
        self._ahead.shutdown(wait=False, cancel_futures=True)


def replaced(error: SourceChangedError) -> SourceChangedError:
    """Return what is said of a file that was replaced while it is viewed."""
    cause = "it was replaced while it was viewed"
    return SourceChangedError("read", error.object, cause, "reload the page to see the new version")
