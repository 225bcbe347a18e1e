"""References of one file, or of all files and Zarr stores of a place, written where people want them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from haulage.commands.saying import echo
from haulage.errors import HaulageError, LocalIOError, UnsupportedError, UsageError
from haulage.outputs import refuse_other
from haulage.places import local_path
from haulage.view.index import zarr
from haulage.view.index.opening import open_file
from haulage.view.index.references import references
from haulage.view.index.sidecar_writer import keep_beside
from haulage.view.index.store_references import store_references
from haulage.view.reading.place import Place

#: What every file of references begins with, those of others too.
_BEGINS = b'{"version"'


@dataclass(frozen=True)
class Wanted:
    """What is written, and where to."""

    out: str | None = None  #: the folder for a file each; ``None`` for standard output
    as_url: str | None = None  #: what readers shall open in place of one file
    cache: Path | None = None  #: the folder for indexes; ``None`` for none
    beside: bool = False  #: whether indexes are written beside the files
    as_json: bool = False  #: whether each file that is written is named on standard output


def write_all(place: Place, wanted: Wanted, say: Callable[[str], None]) -> int:
    """Write the references of a place, and indexes beside its files if that is wanted.

    Args:
        place: One file, or many with a folder for the references.
        wanted: What is written.
        say: Takes what is worth knowing besides.

    Returns:
        The exit code: 1 where a file could not be read; those that are no NetCDF are only said.

    Raises:
        UsageError: Many files, and no folder.
    """
    folder = None if wanted.out is None else local_path("index", wanted.out)
    found, whole = place.names()
    while not whole:
        found, whole = place.names()
    stores = zarr.roots(meta.key for meta in found)
    roots = set(stores.values())
    names = [meta.key for meta in found if meta.key in roots or zarr.store_of(meta.key, stores) is None]
    only_beside = wanted.beside and wanted.out is None and len(names) > 1
    if len(names) > 1 and ((wanted.out is None and not only_beside) or wanted.as_url is not None):
        cause = f"there are {len(names):,} files"
        hint = "leave --as-url out, or name one file" if wanted.as_url else "add --out FOLDER"
        raise UsageError("index", place.shown, cause, hint)
    kept = failed = 0
    for name in names:
        try:
            made, is_kept = _of_one(place, name, wanted, say, refer=not only_beside)
        except HaulageError as error:
            if len(names) == 1 and wanted.out is None:
                raise
            if isinstance(error, UnsupportedError):
                say(f"skipped: {name}: {error.cause}")
            else:
                say(f"haul: {error}")
                failed += 1
            continue
        kept += is_kept
        if made is None:
            continue
        if folder is None:
            echo(json.dumps(made))
        else:
            written = _write(folder, _shown(place, name, roots), json.dumps(made))
            if wanted.as_json:
                echo(json.dumps({"name": name, "path": str(written)}))
    if wanted.beside:
        say(f"indexes beside the files: {kept:,}")
    return 1 if failed else 0


def _of_one(
    place: Place, name: str, wanted: Wanted, say: Callable[[str], None], *, refer: bool
) -> tuple[dict[str, Any] | None, bool]:
    """Return the references of one file or store, and whether its index is beside it now."""
    if zarr.is_root(name):
        made, left_out = store_references(place, name, wanted.as_url) if refer else (None, {})
        kept = False
    else:
        opened = open_file(place.pin(name), wanted.cache, place.sidecar(name))
        kept = wanted.beside and keep_beside(place, opened)
        if not refer:
            return None, kept
        made, left_out = references(opened, wanted.as_url or place.url_of(name))
    for variable, why in left_out.items():
        say(f"left out: {name}, {variable}: {why}")
    return made, kept


def _shown(place: Place, name: str, roots: set[str]) -> str:
    """Return what the file of references is called after: the file, or the folder of a store."""
    if name not in roots:
        return name
    return name.rpartition("/")[0] or PurePosixPath(place.shown.rstrip("/")).name or "store"


def _write(folder: Path, name: str, text: str) -> Path:
    parts = PurePosixPath(name).parts
    if ".." in parts or PurePosixPath(name).is_absolute():
        raise UsageError("write", name, "this name is outside of the folder", "index that file alone")
    target = folder.joinpath(*parts[:-1], f"{parts[-1]}.json")
    refuse_other(target, _is_index, "an index", "name another folder: --out FOLDER")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LocalIOError(
            "write", str(target), error.strerror or str(error), "choose another folder"
        ) from None
    return target


def _is_index(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_BEGINS)) == _BEGINS
