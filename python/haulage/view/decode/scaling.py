"""From values as they are stored to what they mean: fill values, valid range, scale and offset, by CF.

The type of the result follows xarray, so that equal values are equal to the last bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from haulage.view.index.model import Variable


def meant(
    stored: np.ndarray[Any, Any], variable: Variable, *, valid_range: bool = True
) -> np.ndarray[Any, Any]:
    """Return what stored values mean; NaN where one is missing. Values without attributes stay as they are.

    Args:
        stored: As they were read.
        variable: Whose they are.
        valid_range: Whether values outside ``valid_min``, ``valid_max`` and ``valid_range`` are missing, as
            CF has it. xarray leaves them in.
    """
    attributes = variable.attributes
    stored = stored.astype(stored.dtype.newbyteorder("="), copy=False)
    if attributes.get("_Unsigned") == "true" and stored.dtype.kind == "i":
        stored = stored.view(f"u{stored.dtype.itemsize}")
    elif attributes.get("_Unsigned") == "false" and stored.dtype.kind == "u":
        stored = stored.view(f"i{stored.dtype.itemsize}")
    fills = [value for name in ("_FillValue", "missing_value") for value in _numbers(attributes.get(name))]
    scale, offset = (_number(attributes.get(name)) for name in ("scale_factor", "add_offset"))
    absent = _absent(stored, fills)
    limits = _limits(attributes) if valid_range else (None, None)
    # Limits that are fractions are those of what is meant, as NetCDF's user guide has it.
    of_meant = (
        stored.dtype.kind in "iu"
        and (scale is not None or offset is not None)
        and any(isinstance(one, float) for one in limits)
    )
    if not of_meant:
        outside = _outside(stored, *(_as_stored(one, stored.dtype) for one in limits))
        absent = outside if absent is None else absent if outside is None else absent | outside
    if scale is not None or offset is not None:
        values = stored.astype(_float_type(stored.dtype, variable, scale, offset))
    elif absent is not None:
        values = stored.astype(_promoted(stored.dtype))
    else:
        return stored
    if absent is not None:
        values[absent] = np.nan
    if scale is not None:
        values *= scale
    if offset is not None:
        values += offset
    if of_meant:
        outside = _outside(values, *limits)
        if outside is not None:
            values[outside] = np.nan
    return values


def _absent(stored: np.ndarray[Any, Any], fills: list[float]) -> np.ndarray[Any, Any] | None:
    found: np.ndarray[Any, Any] | None = None
    for fill in fills:
        if stored.dtype.kind == "f":
            same = np.isnan(stored) if fill != fill else stored == stored.dtype.type(fill)
        else:
            kind = np.iinfo(stored.dtype)
            if not math.isfinite(fill) or fill != int(fill):
                continue
            # A fill value of the other sign has the same bits.
            as_stored = int(fill) % 2**kind.bits if kind.min == 0 and fill < 0 else int(fill)
            if not kind.min <= as_stored <= kind.max:
                if not kind.min <= as_stored - 2**kind.bits:
                    continue
                as_stored -= 2**kind.bits
            same = stored == as_stored
        found = same if found is None else found | same
    return found


def _limits(attributes: dict[str, Any]) -> tuple[float | None, float | None]:
    both = _numbers(attributes.get("valid_range"))
    if len(both) == 2:
        return both[0], both[1]
    return _number(attributes.get("valid_min")), _number(attributes.get("valid_max"))


def _as_stored(limit: float | None, dtype: np.dtype[Any]) -> float | None:
    """Return a limit of unsigned values, which a file that has signed types alone states by its bits."""
    if limit is None or dtype.kind != "u" or limit >= 0 or limit != int(limit):
        return limit
    bits = 8 * dtype.itemsize
    return limit + 2**bits if limit >= -(2 ** (bits - 1)) else limit


def _outside(
    stored: np.ndarray[Any, Any], low: float | None, high: float | None
) -> np.ndarray[Any, Any] | None:
    found: np.ndarray[Any, Any] | None = None
    with np.errstate(invalid="ignore"):
        if low is not None:
            found = stored < low
        if high is not None:
            found = stored > high if found is None else found | (stored > high)
    return found


def _float_type(
    dtype: np.dtype[Any], variable: Variable, scale: float | None, offset: float | None
) -> type[Any]:
    if scale is not None and offset is not None:
        both_short = variable.scale_type == variable.offset_type == "f4"
        return np.float32 if both_short and not (dtype.kind in "iu" and dtype.itemsize == 4) else np.float64
    # An offset alone can be large, and cost digits.
    return np.float32 if offset is None and variable.scale_type == "f4" else np.float64


def _promoted(dtype: np.dtype[Any]) -> type[Any]:
    """Return the type of floats that hold all values of this one."""
    if dtype.kind == "f":
        return np.float64 if dtype.itemsize == 8 else np.float32 if dtype.itemsize == 4 else np.float16
    return np.float32 if dtype.itemsize <= 2 else np.float64


def _number(value: Any) -> float | None:
    found = _numbers(value)
    return found[0] if found else None


def _numbers(value: Any) -> list[float]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, (int, float)) and not isinstance(one, bool)]
