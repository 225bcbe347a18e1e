"""The header of a NetCDF-3 file: classic, 64-bit offset and CDF-5, by the format's specification."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from haulage.errors import ProtocolError
from haulage.view.index.model import Attribute, Index, Strided, Variable

#: NumPy's name of each type, by its number in the file.
TYPES = {
    1: "i1",
    2: "S1",
    3: ">i2",
    4: ">i4",
    5: ">f4",
    6: ">f8",
    7: "u1",
    8: ">u2",
    9: ">u4",
    10: ">i8",
    11: ">u8",
}
#: What values that were never written hold.
FILLS: dict[str, float | int] = {
    "i1": -127, ">i2": -32767, ">i4": -2147483647, ">f4": 9.969209968386869e36, ">f8": 9.969209968386869e36,
    "u1": 255, ">u2": 65535, ">u4": 4294967295, ">i8": -9223372036854775806, ">u8": 18446744073709551614,
}  # fmt: skip
_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 10, 11, 12
#: No file has more dimensions, variables or attributes; the library itself stops at 65,536.
_MOST = 100_000
#: A header of this size is none.
_MOST_BYTES = 64 << 20


def is_netcdf3(beginning: bytes) -> bool:
    """Return whether a file that begins so is one."""
    return beginning[:3] == b"CDF" and beginning[3:4] in (b"\x01", b"\x02", b"\x05")


def read(name: str, size: int, describing: Callable[[int, int], bytes]) -> Index:
    """Return what is in a NetCDF-3 file.

    Args:
        name: For errors.
        size: Of the file, in bytes.
        describing: Returns bytes of its header: from where, and how many.

    Raises:
        ProtocolError: The header makes no sense, or is cut short.
    """
    have = 8 << 10
    while True:
        header = describing(0, min(have, size))
        try:
            return _Header(name, header, size).read()
        except _More:
            if have >= min(size, _MOST_BYTES):
                cause = "it is cut short: its header does not end"
                raise _broken(name, cause) from None
            have *= 4


class _More(Exception):  # noqa: N818
    """The header goes on."""


class _Header:
    def __init__(self, name: str, body: bytes, size: int) -> None:
        self._name, self._body, self._size = name, body, size
        self._at = 4
        self._wide = body[3] == 5  # counts have 64 bits
        self._far = body[3] in (2, 5)  # offsets have
        self._types: dict[tuple[str, str], str] = {}  # of attributes, by variable and name

    def read(self) -> Index:
        records = self._count(bounded=False)
        streaming = records == (2**64 - 1 if self._wide else 2**32 - 1)
        dims = [(self._text(), self._count(bounded=False)) for _ in range(self._list(_DIMENSIONS))]
        attributes = self._attributes()
        found = [self._variable(dims) for _ in range(self._list(_VARIABLES))]
        recorded = [one for one in found if one["record"]]
        # Each piece of a record fills up to four bytes, unless there is but one variable that has records.
        pieces = [one["piece"] if len(recorded) == 1 else -(-one["piece"] // 4) * 4 for one in recorded]
        stride = sum(pieces)
        if streaming and recorded:
            begin = min(one["begin"] for one in recorded)
            records = max(self._size - begin, 0) // stride if stride else 0
        elif streaming:
            records = 0
        sizes = {dim: length or records for dim, length in dims}
        variables = {}
        for one in found:
            shape = tuple(sizes[dims[place][0]] for place in one["dims"])
            variable = Variable(
                path=one["name"],
                kind="text" if one["type"] == "S1" else "number",
                dtype=one["type"],
                dims=tuple(dims[place][0] for place in one["dims"]),
                shape=shape,
                attributes=one["attributes"],
                layout=Strided(one["begin"], stride if one["record"] else None),
                fill=FILLS.get(one["type"]),
                scale_type=self._types.get((one["name"], "scale_factor")),
                offset_type=self._types.get((one["name"], "add_offset")),
            )
            variables[variable.path] = variable
        return Index("netcdf3", sizes, attributes, {}, variables)

    def _variable(self, dims: list[tuple[str, int]]) -> dict[str, Any]:
        name = self._text()
        places = [self._count(bounded=False) for _ in range(self._count())]
        if any(place >= len(dims) for place in places):
            raise _broken(self._name, f"variable {name} has a dimension that is not there")
        attributes = self._attributes(name)
        type_ = self._type()
        self._count(bounded=False)  # its size, which is wrong for large ones: computed instead
        begin = self._number(">q" if self._far else ">i")
        lengths = [dims[place][1] for place in places]
        record = bool(lengths) and lengths[0] == 0
        if any(length == 0 for length in lengths[1:]):
            raise _broken(self._name, f"variable {name} has records within records")
        piece = math.prod(lengths[1:] if record else lengths) * np.dtype(type_).itemsize
        if begin < 0:
            raise _broken(self._name, f"variable {name} begins before the file")
        return {
            "name": name, "dims": places, "attributes": attributes, "type": type_,
            "begin": begin, "record": record, "piece": piece,
        }  # fmt: skip

    def _attributes(self, variable: str = "") -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for _ in range(self._list(_ATTRIBUTES)):
            name, type_, number = self._text(), self._type(), self._count(bounded=False)
            body = self._padded(number * np.dtype(type_).itemsize)
            if type_ == "S1":
                found[name] = body.decode("utf-8", "replace").rstrip("\0")
            else:
                self._types[variable, name] = type_.lstrip(">")
                values = np.frombuffer(body, type_).tolist()
                found[name] = values[0] if len(values) == 1 else values
        return found

    def _list(self, tag: int) -> int:
        given, number = self._number(">i"), self._count()
        if given not in (0, tag) or (given == 0 and number):
            raise _broken(self._name, f"its header has a list of kind {given} where kind {tag} belongs")
        return number

    def _type(self) -> str:
        number = self._number(">i")
        if number not in TYPES:
            raise _broken(self._name, f"its header has a type {number}, which there is not")
        return TYPES[number]

    def _text(self) -> str:
        return self._padded(self._count(bounded=False)).decode("utf-8", "replace")

    def _count(self, *, bounded: bool = True) -> int:
        number = self._number(">Q" if self._wide else ">I")
        if bounded and number > _MOST:
            raise _broken(self._name, f"its header counts {number:,} things in a list")
        return number

    def _number(self, form: str) -> int:
        size = struct.calcsize(form)
        found: int = struct.unpack(form, self._taken(size))[0]
        return found

    def _padded(self, size: int) -> bytes:
        return self._taken(-(-size // 4) * 4)[:size]

    def _taken(self, size: int) -> bytes:
        if size > _MOST_BYTES:
            raise _broken(self._name, f"its header has an entry of {size:,} bytes")
        if self._at + size > len(self._body):
            raise _More
        self._at += size
        return self._body[self._at - size : self._at]


def _broken(name: str, cause: str) -> ProtocolError:
    return ProtocolError("read", name, cause, "check where it comes from: no NetCDF reader accepts it")
