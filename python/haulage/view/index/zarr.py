"""The index of a Zarr store, version 2 or 3, from its documents of JSON: pure functions."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from haulage.errors import ProtocolError
from haulage.view.index.model import Index, Keyed, Variable, upwards, with_own_dimensions

#: Objects that describe a group or an array; the first of a store is the one that people open.
ROOTS = ("zarr.json", ".zgroup", ".zarray")
_DOCUMENTS = (*ROOTS, ".zattrs", ".zmetadata")
_V3_TYPES = {
    f"{kind}{bits}": f"{kind[0]}{bits // 8}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)
}
#: What metadata raise that are not what Zarr says.
_NONSENSE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, struct.error)
#: What readers of Zarr know themselves.
_OWN = frozenset({"_ARRAY_DIMENSIONS"})


def is_root(name: str) -> bool:
    """Return whether an object may be the beginning of a store."""
    return name.rpartition("/")[2] in ROOTS


def roots(names: Iterable[str]) -> dict[str, str]:
    """Return the stores among names: by folder, the object that describes each.

    >>> roots(["a.nc", "b.zarr/zarr.json", "b.zarr/tas/zarr.json", "b.zarr/tas/c/0"])
    {'b.zarr': 'b.zarr/zarr.json'}
    """
    found: dict[str, str] = {}
    described = [name for name in names if is_root(name)]
    described.sort(key=lambda name: (name.count("/"), ROOTS.index(name.rpartition("/")[2])))
    for name in described:
        folder = name.rpartition("/")[0]
        if folder not in found and store_of(f"{folder}/", found) is None:
            found[folder] = name
    return found


def store_of(name: str, folders: dict[str, str]) -> str | None:
    """Return the folder of the store that a name is in; ``None`` if it is in none."""
    if "" in folders:
        return ""
    at = name.find("/")
    while at >= 0:
        if name[:at] in folders:
            return name[:at]
        at = name.find("/", at + 1)
    return None


def documents_of(root: str, names: Iterable[str]) -> list[str]:
    """Return the objects that describe what is in the store that begins with ``root``."""
    folder = root.rpartition("/")[0]
    before = f"{folder}/" if folder else ""
    return [name for name in names if name.startswith(before) and name.rpartition("/")[2] in _DOCUMENTS]


def consolidated(root: str) -> list[str]:
    """Return the objects that may describe the whole store, so that no others need be read."""
    folder, slash, last = root.rpartition("/")
    return [root] if last == "zarr.json" else [f"{folder}{slash}.zmetadata"]


def read(root: str, bodies: dict[str, bytes]) -> Index | None:
    """Return the index that documents give; ``None`` if these do not describe the whole store.

    Args:
        root: The object that describes the store.
        bodies: Documents, by name.

    Raises:
        ProtocolError: One of them is no JSON, or not what it should be.
    """
    folder, slash, last = root.rpartition("/")
    parsed: dict[str, dict[str, Any]] = {}
    left_out: dict[str, str] = {}
    for name, body in bodies.items():
        key = name[len(folder + slash) :]
        try:
            parsed[key] = _parsed(name, body)
        except ProtocolError as error:
            if name == root:
                raise
            path, _, document = key.rpartition("/")
            left_out[path or document] = f"{document}: {error.cause}" if path else error.cause
    if not parsed:
        return None
    try:
        if last == "zarr.json":
            return _version_3(parsed, left_out)
        return _version_2(parsed, left_out)
    except _NONSENSE as error:
        raise ProtocolError(
            "open", root, _not_zarr(error), "write the store again, with zarr-python or xarray"
        ) from None


def _not_zarr(error: Exception) -> str:
    return f"it is not what Zarr says: {type(error).__name__}: {str(error)[:100]}"


def _parsed(name: str, body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ProtocolError(
            "open", name, "it is not JSON", "write the store again, with zarr-python or xarray"
        )
    return found


def _version_3(parsed: dict[str, dict[str, Any]], left_out: dict[str, str]) -> Index | None:
    root = parsed["zarr.json"]
    if root["node_type"] == "array":
        return _index({"": {}}, {"": root}, _array_3, left_out)
    inline = root.get("consolidated_metadata")
    if inline:
        nodes = dict(inline["metadata"])
    elif len(parsed) == 1 and not left_out:
        return None
    else:
        nodes = {name.rpartition("/")[0]: node for name, node in parsed.items() if "/" in name}
    groups = {"": root.get("attributes", {})}
    groups |= {path: node.get("attributes", {}) for path, node in nodes.items() if _kind(node) == "group"}
    return _index(
        groups, {path: node for path, node in nodes.items() if path not in groups}, _array_3, left_out
    )


def _kind(node: Any) -> Any:
    return node.get("node_type") if isinstance(node, dict) else None


def _version_2(parsed: dict[str, dict[str, Any]], left_out: dict[str, str]) -> Index | None:
    if ".zmetadata" in parsed:
        parsed = parsed[".zmetadata"]["metadata"]
    elif set(parsed) <= {".zgroup"} and not left_out:
        return None
    attributes = {
        name.rpartition("/")[0]: of for name, of in parsed.items() if name.rpartition("/")[2] == ".zattrs"
    }
    groups, arrays = {"": attributes.get("", {})}, {}
    for name, node in parsed.items():
        path, _, last = name.rpartition("/")
        if last == ".zgroup" and path:
            groups[path] = attributes.get(path, {})
        elif last == ".zarray":
            arrays[path] = {
                **(node if isinstance(node, dict) else {}),
                "attributes": attributes.get(path, {}),
            }
    return _index(groups, arrays, _array_2, left_out)


def _index(
    groups: dict[str, dict[str, Any]], arrays: dict[str, dict[str, Any]], of: Any, left_out: dict[str, str]
) -> Index:
    variables: dict[str, Variable] = {}
    for path, node in sorted(arrays.items()):
        try:
            if path not in left_out:
                # A store that is one array has no name for it.
                variables[path or "values"] = of(path, node)
        except _NONSENSE as error:
            if not path:
                raise
            left_out[path] = _not_zarr(error)
    variables = {path: _inherited(one, variables) for path, one in variables.items()}
    dimensions = {
        dim: length for one in variables.values() for dim, length in zip(one.dims, one.shape, strict=True)
    }
    # What labels a dimension says how long it is.
    dimensions |= {path: one.shape[0] for path, one in variables.items() if one.dims == (path,)}
    variables = with_own_dimensions(variables, dimensions)
    # Groups that nothing describes, or nothing that can be read.
    groups = {path: {} for one in variables.values() for path in upwards(one.group)} | groups
    rest = {path: attributes for path, attributes in groups.items() if path}
    return Index("zarr", dimensions, groups[""], rest, variables, left_out)


def _inherited(one: Variable, variables: dict[str, Variable]) -> Variable:
    """Return a variable with dimensions of groups above, if a coordinate there has their name and length."""
    dims = []
    for dim, length in zip(one.dims, one.shape, strict=True):
        group, _, name = dim.rpartition("/")
        found = dim
        while group and found not in variables:
            group = group.rpartition("/")[0]
            above = f"{group}/{name}" if group else name
            if (
                above in variables
                and variables[above].dims == (above,)
                and variables[above].shape == (length,)
            ):
                found = above
        dims.append(found)
    return replace(one, dims=tuple(dims))


def _dims(path: str, names: list[str | None] | None, rank: int) -> tuple[str, ...]:
    group = path.rpartition("/")[0]
    found = names if names and len(names) == rank else [None] * rank
    return tuple(
        (f"{group}/{name}" if group else name) if name else f"{path or 'values'}/dim_{place}"
        for place, name in enumerate(found)
    )


def _array_3(path: str, node: dict[str, Any]) -> Variable:
    shape, attributes = tuple(map(int, node["shape"])), dict(node.get("attributes", {}))
    said, codecs, why_not = node["data_type"], node["codecs"], None
    dtype = _V3_TYPES.get(said, {"bool": "u1", "string": "O"}.get(said, "")) if isinstance(said, str) else ""
    if isinstance(said, dict) and said.get("name") == "fixed_length_utf32":
        dtype = f"<U{int(said['configuration']['length_bytes']) // 4}"
    grid = node["chunk_grid"]
    chunk = tuple(map(int, grid["configuration"]["chunk_shape"])) if grid["name"] == "regular" else shape
    if grid["name"] != "regular":
        why_not = f"its chunks lie in a grid of another kind: {grid['name']}"
    encoding = node.get("chunk_key_encoding", {"name": "default"})
    separator = encoding.get("configuration", {}).get(
        "separator", "/" if encoding["name"] == "default" else "."
    )
    prefix = "c" if encoding["name"] == "default" else ""
    fill = _number(node.get("fill_value"))
    if isinstance(attributes.get("_FillValue"), str) and dtype.startswith("f"):
        # As xarray writes it: the bytes of a double.
        attributes["_FillValue"] = struct.unpack("<d", base64.b64decode(attributes["_FillValue"]))[0]
    layout = Keyed(path, chunk, prefix, separator, json.dumps(codecs), 3)
    return _variable(
        path,
        dtype,
        _dims(path, node.get("dimension_names"), len(shape)),
        shape,
        attributes,
        layout,
        fill,
        why_not,
        said,
    )


def _is_coordinate(path: str, names: list[str] | None, attributes: dict[str, Any]) -> bool:
    """Return whether values say where or when others lie, by CF."""
    units, standard = str(attributes.get("units", "")).lower(), attributes.get("standard_name")
    along = names == [path.rpartition("/")[2]] or "axis" in attributes
    return along or standard in ("latitude", "longitude") or units.startswith(("degrees_", "degree_"))


def _array_2(path: str, node: dict[str, Any]) -> Variable:
    shape, attributes = tuple(map(int, node["shape"])), dict(node["attributes"])
    names = attributes.get("_ARRAY_DIMENSIONS")
    fill = _number(node.get("fill_value"))
    # As xarray does, but a place on the equator is a place, though 0 is what format 2 fills with by default.
    if fill is not None and "_FillValue" not in attributes and not _is_coordinate(path, names, attributes):
        attributes["_FillValue"] = fill
    said = node["dtype"]
    dtype = np.dtype(said) if isinstance(said, str) else np.dtype("V1")
    text = "u1" if dtype.kind == "b" else dtype.str if dtype.kind in "iufS" else ""
    if dtype.kind == "U" or (dtype.kind == "O" and _is_texts(node.get("filters"))):
        text = dtype.str
    codecs = {key: node.get(key) for key in ("compressor", "filters", "order")}
    layout = Keyed(
        path, tuple(map(int, node["chunks"])), "", node.get("dimension_separator", "."), json.dumps(codecs), 2
    )
    return _variable(path, text, _dims(path, names, len(shape)), shape, attributes, layout, fill, None, said)


def _variable(
    path: str,
    dtype: str,
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    attributes: dict[str, Any],
    layout: Keyed,
    fill: float | int | None,
    why_not: str | None,
    said: Any,
) -> Variable:
    kind = (
        {"S": "text", "U": "string", "O": "string"}.get(np.dtype(dtype).kind, "number") if dtype else "other"
    )
    if kind == "other":
        why_not = f"its values are of a type that cannot be drawn: {str(said)[:60]}"
    if len(layout.chunk) != len(shape) or min(layout.chunk, default=1) < 1 or min(shape, default=1) < 0:
        raise ValueError("chunks of no values")
    if layout.separator not in ("/", "."):
        raise ValueError("another separator")
    # Names lead nowhere else.
    if path and {"", ".", ".."} & set(path.split("/")):
        raise ValueError("a name outside of the store")
    return Variable(
        path=path or "values",
        kind=kind,
        dtype=np.dtype(dtype).str if dtype else "V1",
        dims=dims,
        shape=shape,
        attributes={name: value for name, value in attributes.items() if name not in _OWN},
        layout=layout,
        fill=fill if kind == "number" else None,
        why_not=why_not,
        scale_type="f8" if isinstance(attributes.get("scale_factor"), (int, float)) else None,
        offset_type="f8" if isinstance(attributes.get("add_offset"), (int, float)) else None,
    )


def _is_texts(filters: Any) -> bool:
    return bool(filters) and filters[-1].get("id") in ("vlen-utf8", "json2")


def _number(value: Any) -> float | int | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(value)
    return value if isinstance(value, (int, float)) else None
