"""The command that makes files to measure with."""

from __future__ import annotations

import json
import sys

import click

from haulage.commands.grammar import command
from haulage.errors import UsageError
from haulage.lab import generate as made
from haulage.lab.cli.output import Talk, examples, output_options
from haulage.lab.units import parse_size
from haulage.places import local_path
from haulage.words.numbers import counted, format_size


@command(
    epilog=examples(
        "haul lab generate data --scale 0.01      the table of 2010, a hundredth of its sizes",
        "haul lab generate data --size 1MiB --count 100",
        "haul lab generate data --kind netcdf --scale 0.001   144 files like a climate model's",
        "haul lab generate data --kind tree --count 10000 --size 20KB",
    ),
    short_help="Make files to measure with: seeded, incompressible.",
)
@click.argument("directory")
@click.option(
    "--kind",
    type=click.Choice(["sizes", "tree", "netcdf"]),
    default="sizes",
    show_default=True,
    help="Files of given sizes, a tree of small ones, or NetCDF files, few large among many small.",
)
@click.option("--size", "sizes", multiple=True, help="A size, or the mean of a tree; may be repeated.")
@click.option("--count", type=click.IntRange(1), help="Of each size (50), of a tree (1000), of a set (144).")
@click.option("--scale", type=click.FloatRange(0, min_open=True), default=1.0, help="Of every size.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Same seed, same bytes.")
@output_options
def generate(
    directory: str,
    kind: str,
    sizes: tuple[str, ...],
    count: int | None,
    scale: float,
    seed: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Make files to measure with below DIRECTORY: seeded, so that all get the same, and incompressible.

    Without --size the sizes are those of the experiment of 2010: 2 KB to 1 GB, 50 of each, 135 GB.
    """
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
            click.echo(json.dumps({"path": str(path), "size_bytes": path.stat().st_size}))
        elif shown:
            click.echo(f"\r{number}/{len(specs)}", err=True, nl=number == len(specs))


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
