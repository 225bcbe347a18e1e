"""A file opened: what it is by its first bytes, its index, and its chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haulage.errors import UnsupportedError
from haulage.places import without_signature
from haulage.view.index import hdf5, netcdf3, sidecar, zarr
from haulage.view.index.cache import NodesKept, Shelf
from haulage.view.index.model import Index
from haulage.view.index.tables import Tables
from haulage.view.joining.parts import Parts
from haulage.view.reading.objects import Objects
from haulage.view.reading.pinned import Pinned

#: What else lies in containers of climate data, by how it begins.
_OTHERS = (
    (b"GRIB", "a GRIB file"),
    (b"\x00\x00\x01\x00", "a PP or fields file of the Unified Model"),
    (b"\x01\x00\x00\x00", "a PP or fields file of the Unified Model"),
    (b"\x0e\x03\x13\x01", "an HDF4 file"),
    (b"PAR1", "a Parquet file"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"BZh", "compressed with bzip2"),
)
#: Where HDF5 may begin, after bytes of others.
_STARTS = (0, 512, 1024, 2048)


@dataclass(frozen=True)
class Opened:
    """A file whose index is known; or several as one."""

    pinned: Pinned
    index: Index
    tables: Tables
    parts: Parts | None = None  #: the files that are shown as this one
    objects: Objects | None = None  #: the chunks of a Zarr store
    beside: bool = False  #: whether the index was read from beside the file
    held: dict[str, np.ndarray[Any, Any]] | None = None  #: all values, of rows of a table

    @property
    def source(self) -> Opened:
        """The file that holds the variables that are not joined."""
        return self.parts.base if self.parts else self


def open_file(pinned: Pinned, cache: Path | None, beside: Pinned | None = None) -> Opened:
    """Return a file with its index, from the cache folder or from beside the file if it is there.

    Args:
        pinned: The file, at one version.
        cache: The folder; ``None`` for none.
        beside: The index that is kept beside it, of whichever version; ``None`` for none.

    Raises:
        UnsupportedError: It is no NetCDF or HDF5 file.
        ProtocolError: It is broken.
    """
    shelf = Shelf(without_signature(pinned.url), pinned.etag, cache) if cache else None
    index, whole = shelf.index() if shelf else None, None
    if index is None and beside is not None:
        told = sidecar.read(beside, pinned.etag)
        if told is not None:
            index, whole = told
    if index is None:
        index = _index(pinned)
        if shelf:
            shelf.keep(index)
    tables = Tables(pinned, NodesKept(shelf.nodes if shelf else None), whole)
    return Opened(pinned, index, tables, beside=whole is not None)


def open_store(pinned: Pinned, names: Callable[[], Sequence[str]], pin: Callable[[str], Pinned]) -> Opened:
    """Return a Zarr store with its index.

    Args:
        pinned: The object that describes the store.
        names: Returns the names of all objects; asked only if the metadata is not consolidated.
        pin: Returns an object at its version.

    Raises:
        ProtocolError: Its metadata is broken.
    """
    folder = pinned.name.rpartition("/")[0]
    objects = Objects("", pin)

    def read(wanted: Sequence[str]) -> dict[str, bytes]:
        found = zip(wanted, objects.read(wanted), strict=True)
        return {name: body for name, body in found if body is not None}

    bodies = read(zarr.consolidated(pinned.name))
    index = zarr.read(pinned.name, bodies) if bodies else None
    if index is None:
        index = zarr.read(pinned.name, read(zarr.documents_of(pinned.name, names())))
    if index is None:
        index = Index("zarr", {}, {}, {}, {})
    below = Objects(f"{folder}/" if folder else "", pin)
    return Opened(pinned, index, Tables(pinned, NodesKept(None)), objects=below)


def _index(pinned: Pinned) -> Index:
    beginning = pinned.first()
    if netcdf3.is_netcdf3(beginning):
        return netcdf3.read(pinned.name, pinned.size, pinned.describing)
    if any(beginning[at : at + 8] == hdf5.SIGNATURE for at in _STARTS):
        return hdf5.read(pinned)
    found = next((words for start, words in _OTHERS if beginning.startswith(start)), None)
    if not beginning:
        found = "empty"
    elif found is None and not any(byte > 127 or byte == 0 for byte in beginning[:512]):
        found = "text"
    cause = f"it is not a NetCDF or HDF5 file{f', but {found}' if found else ''}"
    raise UnsupportedError("open", pinned.name, cause, "convert it to NetCDF to see it here")
