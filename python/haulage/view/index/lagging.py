"""Variables with fewer records than their dimension has: as long as it, with fill values at the end.

NetCDF-4 keeps the length of an unlimited dimension nowhere: it is that of the longest variable along it.
NetCDF's library shows all others as long as that one, with fill values for what was never written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from haulage.view.index.model import Chunked, Inline, Strided, Variable
from haulage.view.index.netcdf3 import FILLS


def lengthened(
    variable: Variable, dimensions: dict[str, int], unlimited: set[str], *, has_fill: bool
) -> Variable:
    """Return a variable that is as long as its unlimited dimensions.

    >>> from haulage.view.index.model import Chunked
    >>> layout = Chunked((1, 3), (), None)
    >>> wind = Variable("wind", "number", "<f4", ("time", "x"), (2, 3), {}, layout, fill=-9.0)
    >>> lengthened(wind, {"time": 5, "x": 3}, {"time"}, has_fill=True).shape
    (5, 3)

    Args:
        variable: As it was written.
        dimensions: How long each dimension is.
        unlimited: Those that can grow.
        has_fill: Whether the file says the fill value; otherwise it is the one that NetCDF has for the type.
    """
    shape = tuple(
        dimensions[dim] if dim in unlimited else length
        for dim, length in zip(variable.dims, variable.shape, strict=True)
    )
    if shape == variable.shape:
        return variable
    if isinstance(variable.layout, Strided | Inline):
        # Beyond its end lie the bytes of others. NetCDF writes none like this.
        why_not = variable.why_not or "it has fewer values than its dimension, in a form that cannot grow"
        return replace(variable, shape=shape, layout=None, why_not=why_not)
    if variable.kind != "number" or has_fill:
        return replace(variable, shape=shape)
    # What is left of a chunk holds zeros then, which are no fill values.
    return replace(variable, shape=shape, fill=usual_fill(variable), written=variable.shape)


def reaches_beyond(variable: Variable, layout: Chunked, place: tuple[int, ...]) -> bool:
    """Return whether a chunk holds what was never written, and is no fill value."""
    ends = [(at + 1) * length for at, length in zip(place, layout.chunk, strict=True)]
    sizes = zip(ends, variable.written or (), variable.shape, strict=False)
    return any(min(end, size) > written for end, written, size in sizes)


def filled_beyond(
    variable: Variable, values: np.ndarray[Any, Any], starts: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return values with the fill value where nothing was written.

    Args:
        variable: Whose they are.
        values: As they were read.
        starts: The place of the first of them in the variable.
    """
    if variable.written is None:
        return values
    found = values.copy()
    for axis, (start, written) in enumerate(zip(starts, variable.written, strict=True)):
        beyond = [slice(None)] * found.ndim
        beyond[axis] = slice(max(written - start, 0), None)
        found[tuple(beyond)] = variable.fill
    return found


def usual_fill(variable: Variable) -> float | int | None:
    """Return what NetCDF has for values of this type that were never written."""
    name = variable.type.newbyteorder(">").str
    return FILLS.get(name, FILLS.get(name[1:], variable.fill))
