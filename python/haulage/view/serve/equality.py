"""Whether two variables hold the same values: all of them, a stretch at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from haulage.errors import UsageError
from haulage.view.decode.boxes import Box
from haulage.view.decode.scaling import meant
from haulage.view.decode.texts import texts_of
from haulage.view.index.model import Chunked, Variable
from haulage.view.index.opening import Opened
from haulage.view.serve.library import Library

#: Values of each that are compared for one answer, in bytes.
_PIECE_BYTES = 32 << 20


def compared(
    library: Library, one: tuple[Opened, Variable], other: tuple[Opened, Variable], start: int
) -> dict[str, Any]:
    """Return how many values differ, from the place ``start`` along the first dimension on.

    ``identical``: the same bits as they are stored. ``different`` counts values whose meaning differs, where
    missing equals missing; ``largest`` is the largest difference. ``next`` is where the next stretch begins.

    Raises:
        UsageError: The two have other shapes or kinds.
    """
    (file, variable), (file2, variable2) = one, other
    if variable.shape != variable2.shape or variable.kind != variable2.kind:
        told = [
            f"{of.kind} of {' by '.join(map(str, of.shape)) or 'one value'}" for of in (variable, variable2)
        ]
        cause = f"one is {told[0]}, the other {told[1]}"
        raise UsageError("compare", variable2.path, cause, "compare variables of the same shape")
    if variable.kind == "string":
        texts = [texts_of(of, its) for of, its in (one, other)]
        wrong = sum(a != b for a, b in zip(*texts, strict=True))
        return _told(len(texts[0]), wrong, None, identical=not wrong, after=None)
    box, after = stretch(variable, start)
    stored = [library.reader.read(of, its, box) for of, its in ((file, variable), (file2, variable2))]
    if stored[0].dtype == stored[1].dtype and stored[0].tobytes() == stored[1].tobytes():
        packed = [
            [its.attributes.get(name) for name in ("scale_factor", "add_offset", "_FillValue")]
            for its in (variable, variable2)
        ]
        if str(packed[0]) == str(packed[1]):
            return _told(stored[0].size, 0, None, identical=True, after=after)
    if variable.kind == "text":
        wrong = int((stored[0] != stored[1]).sum())
        return _told(stored[0].size, wrong, None, identical=False, after=after)
    a, b = meant(stored[0], variable), meant(stored[1], variable2)
    differ = (a != b) & ~((a != a) & (b != b))
    wrong = int(differ.sum())
    apart = np.abs(a[differ].astype(np.float64) - b[differ].astype(np.float64))
    largest = float(np.nanmax(apart)) if wrong and np.isfinite(apart).any() else None
    return _told(a.size, wrong, largest, identical=False, after=after)


def stretch(variable: Variable, start: int) -> tuple[Box, int | None]:
    """Return the box that is compared next, and where the one after it begins.

    Stretches end where chunks do, so that none is read twice.
    """
    if not variable.shape:
        return (), None
    row = math.prod(variable.shape[1:]) * variable.type.itemsize
    rows = max(_PIECE_BYTES // max(row, 1), 1)
    if isinstance(variable.layout, Chunked):
        length = variable.layout.chunk[0]
        rows = max(rows // length, 1) * length
    stop = min(start + rows, variable.shape[0])
    rest = tuple((0, length) for length in variable.shape[1:])
    return ((start, stop), *rest), stop if stop < variable.shape[0] else None


def _told(
    values: int, different: int, largest: float | None, *, identical: bool, after: int | None
) -> dict[str, Any]:
    return {
        "values": values,
        "different": different,
        "largest": largest,
        "identical": identical,
        "next": after,
    }
