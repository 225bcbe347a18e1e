"""What an index says of a file: groups, dimensions, variables, and where the bytes of each lie."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from posixpath import normpath
from typing import Any, TypeAlias

import numpy as np

#: An attribute: text, a number, or a list of either.
Attribute: TypeAlias = Any
FORMAT = 5  #: of what is kept of an index; older ones are made anew
#: Attributes that say how values are stored: without them others are read than those that are meant.
PACKING = frozenset(
    {"scale_factor", "add_offset", "_FillValue", "missing_value", "valid_range", "valid_min", "valid_max",
     "_Unsigned"}
)  # fmt: skip


@dataclass(frozen=True)
class Strided:
    """Values in order, not compressed: contiguous, or one piece for each record."""

    offset: int
    record_stride: int | None = (
        None  #: bytes from one record to the next; ``None``: all values follow each other
    )


@dataclass(frozen=True)
class Chunked:
    """Values in chunks of equal shape, each passed through filters."""

    chunk: tuple[int, ...]
    filters: tuple[tuple[int, tuple[int, ...]], ...]  #: HDF5's number of each, and its parameters
    tree: int | None  #: where the B-tree of the chunks begins; ``None``: HDF5's library is asked


@dataclass(frozen=True)
class Inline:
    """Values that stand in the index itself."""

    body: str  #: Base64

    def bytes(self) -> bytes:
        """Return them."""
        return base64.b64decode(self.body)


@dataclass(frozen=True)
class Keyed:
    """Chunks of equal shape, each an object of a Zarr store, or several in one."""

    path: str  #: of the array within the store; empty for a store that is one array
    chunk: tuple[int, ...]
    prefix: str  #: before the numbers of a chunk: ``c``, or nothing
    separator: str  #: between them
    codecs: str  #: as JSON
    version: int  #: of Zarr: 2 or 3

    def key(self, place: tuple[int, ...]) -> str:
        """Return the name of a chunk below the store.

        >>> Keyed("t", (5, 5), "c", "/", "[]", 3).key((0, 7))
        't/c/0/7'
        >>> Keyed("t", (5, 5), "", ".", "{}", 2).key((0, 7))
        't/0.7'
        """
        parts = [*filter(None, [self.prefix]), *map(str, place)]
        return (f"{self.path}/" if self.path else "") + (self.separator.join(parts) or "0")


Layout: TypeAlias = (
    Strided | Chunked | Inline | Keyed | None
)  #: ``None``: nothing was written; all is fill value
_LAYOUTS = {"strided": Strided, "chunked": Chunked, "inline": Inline, "keyed": Keyed}


@dataclass(frozen=True)
class Variable:
    """One variable."""

    path: str
    kind: str  #: "number", "text" (bytes of fixed width), "string" (of any length) or "other"
    dtype: str  #: as NumPy writes it, ``<f4``
    dims: tuple[str, ...]  #: paths of the dimensions
    shape: tuple[int, ...]
    attributes: dict[str, Attribute]
    layout: Layout
    fill: float | int | None = None  #: what chunks that were never written hold
    why_not: str | None = None  #: why its values cannot be read
    scale_type: str | None = None  #: the type of ``scale_factor`` as NumPy writes it: ``f4``, ``f8``
    offset_type: str | None = None  #: the type of ``add_offset``
    #: The shape that was written, where chunks hold something else than ``fill`` beyond it.
    written: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def group(self) -> str:
        """The path of its group, ``""`` for the root."""
        return self.path.rpartition("/")[0]

    @property
    def type(self) -> np.dtype[Any]:
        """The type of its values as they are stored."""
        return np.dtype(self.dtype)

    @property
    def size_bytes(self) -> int:
        """Of all its values, not compressed."""
        return math.prod(self.shape) * self.type.itemsize

    def attribute(self, name: str) -> str | None:
        """Return an attribute that is text; ``None`` if there is none."""
        value = self.attributes.get(name)
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class Index:
    """What is in one file."""

    format: str  #: "netcdf3", "netcdf4" or "zarr"
    dimensions: dict[str, int]  #: by path
    attributes: dict[str, Attribute]
    groups: dict[str, dict[str, Attribute]]  #: the attributes of each group, by path
    variables: dict[str, Variable]  #: by path
    left_out: dict[str, str] = field(default_factory=dict)  #: what is there and not read, and why

    def near(self, name: str, variable: Variable) -> Variable | None:
        """Return the variable that ``variable`` calls ``name``, by CF: of its group, or one above it.

        If there is none, it is the only one of this name in the file. A path may lead up, by ``..``.
        """
        if name.startswith(("/", "../")):
            return self.variables.get(normpath(f"/{variable.group}/{name}" if name[0] == "." else name)[1:])
        for group in upwards(variable.group):
            found = self.variables.get(f"{group}/{name}" if group else name)
            if found is not None:
                return found
        elsewhere = self._named.get(name, [])
        return elsewhere[0] if len(elsewhere) == 1 else None

    @cached_property
    def _named(self) -> dict[str, list[Variable]]:
        found: dict[str, list[Variable]] = {}
        for one in self.variables.values():
            found.setdefault(one.name, []).append(one)
        return found

    def to_json(self) -> dict[str, Any]:
        """Return it as what JSON holds."""
        values = asdict(self)
        for path, variable in self.variables.items():
            layout = variable.layout
            kind = next((name for name, cls in _LAYOUTS.items() if isinstance(layout, cls)), None)
            values["variables"][path]["layout"] = {"is": kind, **asdict(layout)} if layout and kind else None
        return {"version": FORMAT, **values}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Index:
        """Return the index of which :meth:`to_json` has told."""
        variables = {}
        for path, of in values["variables"].items():
            of = {**of, "dims": tuple(of["dims"]), "shape": tuple(of["shape"])}
            of["written"] = tuple(of["written"]) if of["written"] is not None else None
            layout = of["layout"]
            if layout is not None:
                kind = layout.pop("is")
                if kind == "chunked":
                    layout["chunk"] = tuple(layout["chunk"])
                    layout["filters"] = tuple((code, tuple(values)) for code, values in layout["filters"])
                layout = _LAYOUTS[kind](**layout)
            variables[path] = Variable(**{**of, "layout": layout})
        rest = {key: values[key] for key in ("format", "dimensions", "attributes", "groups", "left_out")}
        return cls(**rest, variables=variables)


def with_own_dimensions(variables: dict[str, Variable], dimensions: dict[str, int]) -> dict[str, Variable]:
    """Return variables, those longer or shorter than a dimension along one of their own.

    Names are no more than that in Zarr and in HDF5: what is along them may have another length, and is then
    not where they say.
    """
    found = {}
    for path, one in variables.items():
        dims = [
            dim if dimensions[dim] == length else f"{path}/dim_{place}"
            for place, (dim, length) in enumerate(zip(one.dims, one.shape, strict=True))
        ]
        dimensions.update(dict(zip(dims, one.shape, strict=True)))
        found[path] = replace(one, dims=tuple(dims))
    return found


def upwards(group: str) -> Iterator[str]:
    """Yield a group and those above it, up to the root."""
    while group:
        yield group
        group = group.rpartition("/")[0]
    yield ""
