"""References of one file, or of all files of a place, written where people want them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import click

from haulage.errors import HaulageError, LocalIOError, UnsupportedError, UsageError
from haulage.view.index.opening import open_file
from haulage.view.index.references import references
from haulage.view.reading.place import Place


def write_all(
    place: Place, cache: Path | None, out: str | None, as_url: str | None, say: Callable[[str], None]
) -> int:
    """Write the references of a place.

    Args:
        place: One file, or many with ``out``.
        cache: The folder for indexes; ``None`` for none.
        out: The folder for a file each; ``None`` for standard output.
        as_url: What readers shall open in place of one file.
        say: Takes what is worth knowing besides.

    Returns:
        The exit code: 1 where a file could not be read; those that are no NetCDF are only said.

    Raises:
        UsageError: Many files, and no folder.
    """
    found, whole = place.names()
    while not whole:
        found, whole = place.names()
    names = [meta.key for meta in found]
    if len(names) > 1 and (out is None or as_url is not None):
        cause = f"there are {len(names):,} files"
        hint = "add --out FOLDER" if out is None else "leave --as-url out, or name one file"
        raise UsageError("index", place.shown, cause, hint)
    failed = 0
    for name in names:
        try:
            opened = open_file(place.pin(name), cache)
            made, left_out = references(opened, as_url or place.url_of(name))
        except UnsupportedError as error:
            if out is None:
                raise
            say(f"skipped: {name}: {error.cause}")
            continue
        except HaulageError as error:
            if out is None:
                raise
            say(f"haul: {error}")
            failed += 1
            continue
        for variable, why in left_out.items():
            say(f"left out: {name}, {variable}: {why}")
        text = json.dumps(made)
        if out is None:
            click.echo(text)
        else:
            _write(Path(out), name, text)
    return 1 if failed else 0


def _write(folder: Path, name: str, text: str) -> None:
    parts = PurePosixPath(name).parts
    if ".." in parts or PurePosixPath(name).is_absolute():
        raise UsageError("write", name, "this name leads out of the folder", "index that file alone")
    target = folder.joinpath(*parts[:-1], f"{parts[-1]}.json")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LocalIOError(
            "write", str(target), error.strerror or str(error), "choose another folder"
        ) from None
