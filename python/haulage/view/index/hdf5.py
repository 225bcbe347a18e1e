"""What is in an HDF5 or NetCDF-4 file, by HDF5's own library over a cached reader.

The library is asked for what describes the file, never for values that lie elsewhere: links to other files,
and values kept in other files, are left out and said.
"""

from __future__ import annotations

import base64
import contextlib
import math
import threading
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from haulage.errors import HaulageError, ProtocolError, UnsupportedError
from haulage.view.index import headers
from haulage.view.index.lagging import lengthened
from haulage.view.index.model import (
    PACKING,
    Attribute,
    Chunked,
    Index,
    Inline,
    Layout,
    Strided,
    Variable,
    with_own_dimensions,
)
from haulage.view.reading.file import PinnedFile
from haulage.view.reading.pinned import Pinned

SIGNATURE = b"\x89HDF\r\n\x1a\n"
#: A file with more groups and variables is not shown whole.
_MOST_OBJECTS = 20_000
#: Longer attributes are left out: lists of references, mostly.
_ATTRIBUTE_BYTES = 1 << 16
#: Values that stand in the header itself are copied into the index up to this size.
_INLINE_BYTES = 1 << 16
#: More strings than this are not made up where fewer were written.
_MOST_STRINGS = 100_000
#: What HDF5's and NetCDF's libraries keep for themselves.
_HIDDEN = frozenset(
    {
        "DIMENSION_LIST",
        "REFERENCE_LIST",
        "CLASS",
        "NAME",
        "_Netcdf4Dimid",
        "_Netcdf4Coordinates",
        "_NCProperties",
        "_nc3_strict",
    }
)
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"
#: The library does one thing at a time, and its objects must go while no other thread is in it.
_LOCK = threading.RLock()


@contextlib.contextmanager
def opened(pinned: Pinned) -> Iterator[h5py.File]:
    """Open a file; what goes wrong in the library, or in reading for it, is an error of ours.

    Raises:
        ProtocolError: The library finds it broken.
    """
    with _LOCK:
        reader = PinnedFile(pinned)
        try:
            with h5py.File(reader, "r", driver="fileobj") as file:
                yield file
            if reader.failure is not None:
                # What was left out for it may be there a moment later.
                raise reader.failure
        except HaulageError:
            raise
        except Exception as error:
            if reader.failure is not None:
                raise reader.failure from None
            cause = f"HDF5 cannot read it: {str(error).strip()[:200]}"
            if "truncated" in cause:
                cause = "it is cut short: HDF5 expects more bytes than it has"
            raise ProtocolError("read", pinned.name, cause, "copy it again from an intact original") from None


def read(pinned: Pinned) -> Index:
    """Return what is in an HDF5 file."""
    with opened(pinned) as file:
        return _Walk(file, pinned).read()


def strings(pinned: Pinned, path: str, shape: tuple[int, ...]) -> list[str]:
    """Return the values of a variable of strings, in order; they lie in the file's heaps.

    Args:
        pinned: The file.
        path: Of the variable.
        shape: Of the variable, which may be longer than what was written: those are empty.
    """
    with opened(pinned) as file:
        dataset = file[path]
        if dataset.external or dataset.is_virtual:
            raise UnsupportedError("read", path, "its values are in other files", "view those files")
        values = np.asarray(dataset[()])
    if values.shape != shape:
        if math.prod(shape) > _MOST_STRINGS:
            cause = f"its {math.prod(shape):,} texts are too many"
            raise UnsupportedError("read", path, cause, "read them with xarray")
        values = np.pad(
            values, [(0, new - old) for new, old in zip(shape, values.shape, strict=True)], constant_values=""
        )
    found = values.ravel().tolist()
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in found]


def table(pinned: Pinned, path: str, chunk: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return where chunks lie, from the library: the place of each in the grid, mask, size, offset."""
    rows: list[tuple[int, ...]] = []
    with opened(pinned) as file:
        dataset = file[path]

        def add(info: Any) -> None:
            place = [start // length for start, length in zip(info.chunk_offset, chunk, strict=True)]
            rows.append((*place, info.filter_mask, info.size, info.byte_offset))

        dataset.id.chunk_iter(add)
    return np.array(rows, np.uint64).reshape(len(rows), len(chunk) + 3)


class _Walk:
    def __init__(self, file: h5py.File, pinned: Pinned) -> None:
        self._file, self._pinned = file, pinned
        self._left_out: dict[str, str] = {}
        self._groups: dict[str, h5py.Group] = {}
        self._datasets: dict[str, h5py.Dataset] = {}
        self._path_of: dict[int, str] = {}  # of each object, by its address

    def read(self) -> Index:
        self._collect(self._file, "")
        scales: dict[str, h5py.Dataset] = {}
        for path, dataset in self._datasets.items():
            with self._leaving_out(path):
                if _is_scale(dataset):
                    scales[path] = dataset
        dimensions = {path: int(d.shape[0]) for path, d in scales.items() if d.shape}
        variables: dict[str, Variable] = {}
        for path, dataset in self._datasets.items():
            if path in self._left_out:
                continue
            with self._leaving_out(path):
                if path not in scales or not _text(dataset, "NAME").startswith(_NO_VARIABLE):
                    variables[path] = self._variable(path, dataset, dimensions)
        # Dimensions that have grown are as long as the longest variable along them.
        for variable in variables.values():
            for dim, length in zip(variable.dims, variable.shape, strict=True):
                dimensions[dim] = max(dimensions.get(dim, 0), length)
        unlimited = self._unlimited(scales, variables)
        variables = {
            path: lengthened(one, dimensions, unlimited, has_fill=_has_fill(self._datasets[path]))
            for path, one in variables.items()
        }
        groups: dict[str, dict[str, Attribute]] = {}
        for path, group in self._groups.items():
            groups[path] = {}
            with self._leaving_out(f"{path}@"):
                groups[path] = self._attributes(group)
        attributes = groups.pop("")
        variables = with_own_dimensions(variables, dimensions)
        return Index("netcdf4", dimensions, attributes, groups, variables, left_out=self._left_out)

    @contextlib.contextmanager
    def _leaving_out(self, path: str) -> Iterator[None]:
        """Say why something is left out if the library cannot read it; the rest is read all the same."""
        try:
            yield
        except HaulageError:
            raise
        except (OSError, RuntimeError, TypeError, ValueError, KeyError) as error:
            self._left_out[path] = f"HDF5 cannot read it: {str(error)[:100]}"

    def _unlimited(self, scales: dict[str, h5py.Dataset], variables: dict[str, Variable]) -> set[str]:
        """Return the dimensions that can grow: by themselves, or as one of their variables can."""
        found = {path for path, scale in scales.items() if scale.shape and scale.maxshape[0] is None}
        for path, variable in variables.items():
            most = self._datasets[path].maxshape
            found |= {dim for dim, length in zip(variable.dims, most, strict=True) if length is None}
        return found

    def _collect(self, group: h5py.Group, path: str) -> None:
        waiting = [(group, path)]
        self._path_of[_address(group)] = path
        while waiting:
            group, path = waiting.pop()
            self._groups[path] = group
            names: list[str] = []
            with self._leaving_out(path or "/"):
                names += group
            for name in names:
                below = f"{path}/{name}" if path else name
                if len(self._path_of) >= _MOST_OBJECTS:
                    self._left_out[below] = f"there are more than {_MOST_OBJECTS:,} groups and variables"
                    return
                with self._leaving_out(below):
                    found = self._object(group, name, below)
                    if isinstance(found, h5py.Group):
                        waiting.append((found, below))
                    elif isinstance(found, h5py.Dataset):
                        self._datasets[below] = found

    def _object(self, group: h5py.Group, name: str, path: str) -> h5py.HLObject | None:
        """Return what lies under a name; ``None`` for a link, and for what was found before."""
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            self._left_out[path] = "it is a link; view its target"
            return None
        found = group[name]
        address = _address(found)
        return found if self._path_of.setdefault(address, path) == path else None

    def _variable(self, path: str, dataset: h5py.Dataset, dimensions: dict[str, int]) -> Variable:
        if dataset.shape is None:
            raise ValueError("it has no shape")
        shape = tuple(int(length) for length in dataset.shape)
        kind, dtype = _kind(dataset.dtype)
        why_not = None
        if kind == "other":
            why_not = f"its values are of a type that cannot be drawn: {dataset.dtype}"
        layout: Layout = None
        attributes = self._attributes(dataset)
        unread = [name for name in (*PACKING, "units") if f"{dataset.name}@{name}" in self._left_out]
        if kind == "number" and unread:
            why_not = f"its attribute {min(unread)} cannot be read"
        if dataset.external or dataset.is_virtual:
            why_not = "its values are in other files; view those files"
        elif kind in ("number", "text"):
            layout = self._layout(dataset)
        return Variable(
            path=path,
            kind=kind,
            dtype=dtype,
            dims=self._dims(path, dataset, shape, dimensions),
            shape=shape,
            attributes=attributes,
            layout=layout,
            fill=_fill(dataset) if kind == "number" else None,
            why_not=why_not,
            scale_type=_type_of(dataset, "scale_factor"),
            offset_type=_type_of(dataset, "add_offset"),
        )

    def _layout(self, dataset: h5py.Dataset) -> Layout:
        if dataset.chunks is not None:
            plist = dataset.id.get_create_plist()
            filters = []
            for place in range(plist.get_nfilters()):
                code, _, values, _ = plist.get_filter(place)
                filters.append((int(code), tuple(int(value) for value in values)))
            tree = headers.tree_of(_address(dataset), self._pinned.describing) if self._plain() else None
            return Chunked(tuple(int(length) for length in dataset.chunks), tuple(filters), tree)
        offset = dataset.id.get_offset()
        if offset is not None:
            return Strided(int(offset))
        size = math.prod(dataset.shape) * dataset.dtype.itemsize
        if dataset.id.get_create_plist().get_layout() == h5py.h5d.COMPACT and size <= _INLINE_BYTES:
            return Inline(base64.b64encode(np.asarray(dataset[()]).tobytes()).decode())
        return None

    def _plain(self) -> bool:
        """Return whether addresses count from the beginning of the file, in 64 bits."""
        plist = self._file.id.get_create_plist()
        return plist.get_userblock() == 0 and tuple(plist.get_sizes()) == (8, 8)

    def _dims(
        self, path: str, dataset: h5py.Dataset, shape: tuple[int, ...], dimensions: dict[str, int]
    ) -> tuple[str, ...]:
        names: list[str | None] = [None] * len(shape)
        if "DIMENSION_LIST" in dataset.attrs:
            for place, references in enumerate(dataset.attrs["DIMENSION_LIST"][: len(shape)]):
                if len(references):
                    with self._leaving_out(f"{path}@DIMENSION_LIST"):
                        found = h5py.h5r.dereference(references[0], dataset.id)
                        names[place] = self._path_of.get(_address_of(found))
        elif _is_scale(dataset) and len(shape) == 1:
            names[0] = path
        group = path.rpartition("/")[0]
        for place, name in enumerate(names):
            if name is None:
                alone = f"dim_{place}_{shape[place]}"
                names[place] = f"{group}/{alone}" if group else alone
                dimensions.setdefault(str(names[place]), shape[place])
        return tuple(str(name) for name in names)

    def _attributes(self, holder: h5py.HLObject) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for name in holder.attrs:
            if name in _HIDDEN:
                continue
            try:
                about = holder.attrs.get_id(name)
                if about.get_storage_size() > _ATTRIBUTE_BYTES:
                    continue
                found[name] = _plain_value(holder.attrs[name])
            except HaulageError:
                raise
            except (OSError, RuntimeError, TypeError, ValueError, KeyError):
                self._left_out[f"{holder.name}@{name}"] = "HDF5 cannot read this attribute"
        return found


def _address(holder: h5py.HLObject) -> int:
    return _address_of(holder.id)


def _address_of(id_: Any) -> int:
    # h5o.get_info counts the bytes of all tables too, for which it reads each of their nodes.
    low, high = h5py.h5g.get_objinfo(id_).objno
    return int(low) | int(high) << 32 if high else int(low)


def _is_scale(dataset: h5py.Dataset) -> bool:
    return _text(dataset, "CLASS") == "DIMENSION_SCALE"


def _text(dataset: h5py.Dataset, name: str) -> str:
    value = dataset.attrs.get(name, b"")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _kind(dtype: np.dtype[Any]) -> tuple[str, str]:
    if h5py.check_string_dtype(dtype) is not None:
        return ("string", "O") if dtype.kind == "O" else ("text", dtype.str)
    if dtype.kind in "iuf" and dtype.itemsize <= 8:
        return "number", dtype.str
    if dtype.kind == "b":
        return "number", "|u1"
    return "other", "V1"


def _fill(dataset: h5py.Dataset) -> float | int | None:
    value = dataset.fillvalue
    return None if value is None else np.asarray(value).item()


def _has_fill(dataset: h5py.Dataset) -> bool:
    return bool(dataset.id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED)


def _type_of(dataset: h5py.Dataset, name: str) -> str | None:
    return dataset.attrs.get_id(name).dtype.str[1:] if name in dataset.attrs else None


def _plain_value(value: Any) -> Attribute:
    if isinstance(value, h5py.Empty):
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").rstrip("\0")
    if isinstance(value, np.ndarray):
        values = [_plain_value(one) for one in value.ravel().tolist()]
        return values[0] if len(values) == 1 else values
    if isinstance(value, np.generic):
        return _plain_value(value.item())
    if isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"attribute of type {type(value).__name__}")
