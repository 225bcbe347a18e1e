"""The command that makes files to measure with."""

from __future__ import annotations

import json
import sys
from typing import Any

from haulage.commands.saying import echo
from haulage.errors import UsageError
from haulage.lab import generate as made
from haulage.lab.cli.output import Talk
from haulage.lab.units import parse_size
from haulage.places import local_path
from haulage.words.numbers import counted, format_size


def generate(
    *,
    directory: str,
    kind: str,
    sizes: tuple[str, ...],
    count: int | None,
    scale: float,
    seed: int,
    quiet: bool,
    as_json: bool,
    **_: Any,
) -> None:
    """Make files to measure with below DIRECTORY: seeded, so that all get the same, and incompressible."""
    if directory.startswith("mem:"):
        raise UsageError(
            "generate", directory, "memory ends with the command", "use haulage.lab.generate in Python"
        )
    if not directory.strip():
        raise UsageError("generate", "DIRECTORY", "an empty name", "name a folder")
    folder = local_path("generate", directory)
    specs = _specs(kind, sizes, count, scale, seed)
    made.require_free(folder, specs)
    total = sum(spec.size_bytes for spec in specs)
    say = Talk(quiet)
    say(f"{counted(len(specs), 'file')}, {format_size(total)}")
    shown = not quiet and sys.stderr.isatty()
    for number, path in enumerate(made.write(folder, specs), 1):
        if as_json:
            echo(json.dumps({"path": str(path), "size_bytes": path.stat().st_size}))
        elif shown:
            echo(f"\r{number}/{len(specs)}", err=True, end="\n" if number == len(specs) else "")


def _specs(kind: str, sizes: tuple[str, ...], count: int | None, scale: float, seed: int) -> list[made.Spec]:
    if kind == "netcdf":
        if sizes:
            raise UsageError("generate", "--size", "a NetCDF set has sizes of its own", "use --scale")
        files = count or 144
        large = files * 32 // 144
        return made.netcdf(files, (large, int(1.5e9 * scale)), int(92.5e6 * scale), seed)
    if kind == "tree":
        if len(sizes) > 1:
            raise UsageError("generate", "--size", "a tree has one mean size", "give one")
        return made.tree(count or 1000, int(parse_size(sizes[0] if sizes else "20KB") * scale), seed)
    table = [(label, max(1, int(parse_size(label) * scale))) for label in sizes or made.TABLE_2010]
    return made.sizes(table, count or made.COUNT_2010, seed)
