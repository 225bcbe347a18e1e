"""Compares whole numbers, decimals and floats exactly, as Python does; Arrow would cast one of them first.

A 64-bit number beyond 2**53 may be none of the floats, so a cast would refuse it, or round it.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from haulage.tables.serve.filters import Comparison

ARROW: dict[Comparison, Callable[[Any, Any], pa.Array]] = {
    "eq": pc.equal,
    "ne": pc.not_equal,
    "gt": pc.greater,
    "ge": pc.greater_equal,
    "lt": pc.less,
    "le": pc.less_equal,
}
_PYTHON: dict[Comparison, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
#: Beyond all whole numbers that a column holds, with or without a sign.
_LEAST, _MOST = -(2**63) - 1, 2**64


def with_number(values: pa.Array, how: Comparison, number: int | float) -> pa.Array:
    """Compare each number of a column with one."""
    kind = values.type
    if pa.types.is_floating(kind):
        return _floats(values, how, number)
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0 and kind.precision <= 20):
        return _whole(values, how, number)
    # Few columns are decimals, and Python compares them exactly with all numbers.
    return _by_python(values, how, [number] * len(values))


def with_column(values: pa.Array, how: Comparison, other: pa.Array) -> pa.Array:
    """Compare each value of a column with that of another one in the same row."""
    kinds = (values.type, other.type)
    if any(map(pa.types.is_floating, kinds)):
        if any(map(pa.types.is_decimal, kinds)):
            return _by_python(values, how, other.to_pylist())
        if any(map(pa.types.is_integer, kinds)):
            try:
                return ARROW[how](values, other)
            except pa.ArrowInvalid:
                # One of them is no float.
                return _by_python(values, how, other.to_pylist())
    return ARROW[how](values, other)


def _floats(values: pa.Array, how: Comparison, number: int | float) -> pa.Array:
    if isinstance(number, float) or _is_float(number):
        return ARROW[how](values, pa.scalar(float(number)))
    # Between two floats, or beyond the last.
    if how in ("eq", "ne"):
        return _each(values, how == "ne")
    try:
        near = float(number)
    except OverflowError:
        near = math.inf if number > 0 else -math.inf
    above = near if near > number else math.nextafter(near, math.inf)
    return (pc.greater_equal if how in ("gt", "ge") else pc.less)(values, pa.scalar(above))


def _whole(values: pa.Array, how: Comparison, number: int | float) -> pa.Array:
    if isinstance(number, float):
        if math.isnan(number):
            return _each(values, how == "ne")
        if math.isinf(number):
            number = _MOST if number > 0 else _LEAST
        elif number.is_integer():
            number = int(number)
        elif how in ("eq", "ne"):
            return _each(values, how == "ne")
        else:
            number = math.floor(number) if how in ("gt", "le") else math.ceil(number)
    number = min(max(number, _LEAST), _MOST)
    is_plain = -(2**63) <= number < 2**63
    return ARROW[how](values, pa.scalar(number if is_plain else Decimal(number)))


def _is_float(number: int) -> bool:
    """Return whether there is a float of exactly this value."""
    return abs(number) <= sys.float_info.max and float(number) == number


def _each(values: pa.Array, truth: bool) -> pa.Array:
    """Say the same of each value, and nothing of what is missing."""
    return pc.if_else(pc.is_valid(values), truth, pa.scalar(None, pa.bool_()))


def _by_python(values: pa.Array, how: Comparison, others: list[Any]) -> pa.Array:
    compare, pairs = _PYTHON[how], zip(map(_exact, values.to_pylist()), map(_exact, others), strict=True)
    found = [None if one is None or other is None else compare(one, other) for one, other in pairs]
    return pa.array(found, pa.bool_())


def _exact(number: Any) -> Any:
    # A decimal does not compare with what is not a number; a fraction does, and is as exact.
    return Fraction(number) if isinstance(number, Decimal) else number
