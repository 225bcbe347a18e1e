"""What is in the container, and what is in a file: as JSON."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime
from typing import Any

from haulage.view.cf import axes, times
from haulage.view.cf.axes import Axis, Horizontal
from haulage.view.decode.scaling import meant
from haulage.view.decode.texts import texts_of
from haulage.view.index import zarr
from haulage.view.index.model import Variable
from haulage.view.index.opening import Opened
from haulage.view.reading.faults import OF_THE_FILE
from haulage.view.serve.library import Library
from haulage.view.serve.search import Search

_ENDINGS = {"nc3": "netcdf3", "nc4": "netcdf4", "h5": "netcdf4", "hdf5": "netcdf4", "he5": "netcdf4"}
_NETCDF = ("nc", "cdf", "netcdf")
#: Names in one answer.
MOST_NAMES = 10_000
#: What diverges around zero, by its standard name or its units.
_DIVERGING = ("anomaly", "tendency", "difference", "eastward", "northward", "upward", "correction", "flux",
              "velocity_potential", "vorticity", "divergence", "_wind")  # fmt: skip


def listing(library: Library, search: str, after: str, limit: int) -> dict[str, Any]:
    """Return the names that hold all words of ``search``, from the one after ``after`` on."""
    names, whole = library.place.names()
    found = library.search
    if found is None or found.names is not names or found.text != search:
        found = library.search = Search(names, search)
    begin = bisect_right(found.entries, after, key=lambda one: one.key) if after else 0
    shown = found.entries[begin : begin + limit]
    return {
        "files": [
            {
                "name": meta.key,
                "size": meta.size_bytes,
                "time": datetime.fromtimestamp(meta.modified_ns / 1e9, UTC).isoformat(timespec="seconds"),
                "kind": library.format_of(meta.key) or _by_name(meta.key),
            }
            for meta in shown
        ],
        "series": found.series if not after else [],
        "total": len(found.entries),
        "whole": whole,
        "next": shown[-1].key if begin + limit < len(found.entries) else None,
    }


def contents(library: Library, opened: Opened) -> dict[str, Any]:
    """Return what is in a file: dimensions, groups, variables with their axes, and labels along them."""
    index = opened.index
    found = {path: axes.axes(index, variable) for path, variable in index.variables.items()}
    coordinates = {
        axis.coordinate.path: axis.coordinate
        for of in found.values()
        for axis in of
        if axis.coordinate is not None and axis.size <= times.MOST_LABELS
    }
    wanted = list(coordinates.values())
    labels = dict(
        zip(
            coordinates,
            library.at_once([lambda one=one: said_along(library, opened, one) for one in wanted]),  # type: ignore[misc]
            strict=True,
        )
    )
    return {
        "name": opened.pinned.name,
        "etag": opened.pinned.etag,
        "format": index.format,
        "size": opened.pinned.size,
        "dimensions": index.dimensions,
        "attributes": index.attributes,
        "groups": [{"path": path, "attributes": attributes} for path, attributes in index.groups.items()],
        "variables": [
            _variable(opened, variable, found[path], labels) for path, variable in index.variables.items()
        ],
        "left_out": index.left_out,
        "joined": _joined(opened),
        "live": library.place.is_live,
    }


def _joined(opened: Opened) -> dict[str, Any] | None:
    if opened.parts is None:
        return None
    files = [
        {"name": file.pinned.name, "first": first}
        for file, first in zip(opened.parts.files, opened.parts.starts, strict=False)
    ]
    return {"along": opened.parts.dim, "files": files, "left_out": opened.parts.left_out}


def said_along(
    library: Library, opened: Opened, coordinate: Variable | None
) -> tuple[list[str] | None, str | None]:
    """Return the labels that a coordinate gives, and why it gives none if it cannot be read."""
    if coordinate is None:
        return None, None
    try:
        return labels_of(library, opened, coordinate), coordinate.why_not or times.why_no_dates(coordinate)
    except OF_THE_FILE as error:
        return None, error.cause


def labels_of(library: Library, opened: Opened, variable: Variable) -> list[str] | None:
    """Return the labels that a coordinate gives; ``None`` if it gives none.

    Raises:
        UnsupportedError: It cannot be read.
    """
    if variable.kind == "string":
        return texts_of(opened, variable)
    if variable.kind == "other" or variable.why_not:
        return None
    values = library.values(opened, variable)
    return times.labels(values if variable.kind == "text" else meant(values, variable), variable)


def _variable(
    opened: Opened,
    variable: Variable,
    of: list[Axis],
    along: dict[str, tuple[list[str] | None, str | None]],
) -> dict[str, Any]:
    index = opened.index
    labels = {path: one[0] for path, one in along.items()}
    unread = {path: one[1] for path, one in along.items() if one[1]}
    why_not = unread.get(variable.path) or axes.why_not_drawn(index, variable)
    across = axes.horizontal(index, variable) if why_not is None else None
    grid, along_grid = grid_of(opened, variable, across) if across else (None, [])
    said = {key: variable.attribute(key) for key in ("units", "long_name", "standard_name", "cell_methods")}
    return {
        "path": variable.path,
        "name": variable.name,
        "group": variable.group,
        "dtype": "string" if variable.kind == "string" else variable.type.newbyteorder("=").str.lstrip("<|="),
        "dims": list(variable.dims),
        "shape": list(variable.shape),
        **said,
        "attributes": variable.attributes,
        "drawn": why_not is None,
        "why_not": why_not,
        "helper": axes.is_helper(index, variable),
        "axes": [
            {
                "dim": axis.dim,
                "size": axis.size,
                "role": axis.role,
                "name": axis.coordinate.path if axis.coordinate else None,
                "labels": labels.get(axis.coordinate.path) if axis.coordinate else None,
                "why_not": unread.get(axis.coordinate.path) if axis.coordinate else None,
                "units": axis.coordinate.attribute("units") if axis.coordinate else None,
                "positive": axis.coordinate.attribute("positive") if axis.coordinate else None,
            }
            for axis in of
        ],
        "grid": grid,
        "grid_along": along_grid,
        "by_index": across is not None and _is_by_index(across, unread),
        "diverging": _diverges(variable),
    }


def grid_of(opened: Opened, variable: Variable, across: Horizontal) -> tuple[str, list[str]]:
    """Return the id of the grid of a variable, and the dimensions along which its places may change.

    Of files that are shown as one, coordinates of one dimension are the same; others may change from file to
    file.
    """
    dim = opened.parts.dim if opened.parts and across.is_curved else ""
    if dim in across.steps or dim not in variable.dims:
        return across.id, [*across.steps]
    return f"{across.id}|{dim}", [*across.steps, dim]


def _is_by_index(across: Horizontal, unread: dict[str, str]) -> bool:
    """Return whether a variable is drawn by index, as far as is known before its grid is made."""
    unusable = any(one.kind != "number" or one.path in unread for one in (across.y, across.x))
    return across.by_index or (unusable and across.otherwise is None)


def _diverges(variable: Variable) -> bool:
    words = f"{variable.attribute('standard_name') or ''} {variable.attribute('long_name') or ''}".lower()
    return any(word in words for word in _DIVERGING) and "speed" not in words


def _by_name(name: str) -> str:
    if zarr.is_root(name):
        return "zarr"
    if name.endswith(".parquet"):
        return "rows"
    ending = name.lower().rpartition(".")[2]
    return _ENDINGS.get(ending, "netcdf" if ending in _NETCDF else "unknown")
