"""Sizes and durations on the command line. Numbers need a unit, lest they be misread."""

from __future__ import annotations

import re

import click

from haulage.commands.grammar import BadValueError

_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PARTS = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)")


class Amount(click.ParamType[int]):
    """A number of bytes, such as ``64MiB``."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ARG002
        """Return bytes."""
        found = _PARTS.fullmatch(str(value))
        units = {name.lower(): size for name, size in _SIZES.items()}
        if found is None or found[2].lower() not in units or not float(found[1]):
            raise BadValueError("write a size such as 64MiB")
        return int(float(found[1]) * units[found[2].lower()])


class Seconds(click.ParamType[float]):
    """A duration, such as ``30s``, in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        """Return seconds."""
        found = _PARTS.fullmatch(str(value))
        if found is None or found[2] not in _SECONDS or not float(found[1]):
            raise BadValueError("write a duration such as 30s or 5m")
        return float(found[1]) * _SECONDS[found[2]]
