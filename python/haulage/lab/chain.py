"""The chain of hashes that covers every file of a run's folder.

``manifest.json`` lists what was recorded: the plan, each cell, the tables. ``results/index.json`` names every
result with the hashes of what it was made from, and the page shows the SHA-256 of both. ``SHA256SUMS`` lists
all of them and is written last, in the form that ``sha256sum --check SHA256SUMS`` reads.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from haulage.errors import IntegrityError, UsageError
from haulage.lab.files import sha256, write_whole
from haulage.words.printable import escaped

#: What ``manifest["lab"]`` says of a run whose every file is listed.
LAYOUT = "run 2"
#: The forms that this version reads. The first lists the tables alone.
LAYOUTS = ("run 1", LAYOUT)
SUMS = "SHA256SUMS"
MANIFEST = "manifest.json"
PAGE = "report.html"
PROFILE = "profile.toml"
INDEX = "results/index.json"
VERSIONS = "results/versions.json"
#: What is made from the recorded files, and can be made again.
DERIVED = (PAGE, PROFILE, INDEX, VERSIONS)
#: Folders that may be empty.
_FOLDERS = ("cells", "attempts", "results")
_LINE = re.compile(r"([0-9a-f]{64})  ([^\\\n]+)")


@dataclass
class Folder:
    """The files in a folder, by its path from there: the hash of each file, and what is no plain file."""

    hashes: dict[str, str] = field(default_factory=dict)
    odd: dict[str, str] = field(default_factory=dict)


def look(folder: Path) -> Folder:
    """Hash every file below a folder; symbolic links are not followed."""
    found = Folder()
    folders, filled = {}, set()
    for place, names, files in os.walk(
        folder, onerror=lambda error: found.odd.update(_unread(folder, error))
    ):
        here = Path(place)
        for name in [*names, *files]:
            path = here / name
            key = escaped(path.relative_to(folder).as_posix())
            filled.add(path.parent)
            try:
                mode = path.lstat().st_mode
                if stat.S_ISLNK(mode):
                    found.odd[key] = "is a symbolic link"
                elif stat.S_ISREG(mode):
                    found.hashes[key] = sha256(path)
                elif stat.S_ISDIR(mode):
                    folders[path] = key
                else:
                    found.odd[key] = "is no regular file"
            except OSError as error:
                found.odd[key] = f"cannot be read: {error.strerror}"
    empty = {key for path, key in folders.items() if path not in filled and key not in _FOLDERS}
    found.odd |= dict.fromkeys(empty, "is an empty folder that is not listed")
    return found


def _unread(folder: Path, error: OSError) -> dict[str, str]:
    return {escaped(os.path.relpath(error.filename, folder)): f"cannot be read: {error.strerror}"}


def recorded(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the hash of every file that a manifest lists."""
    files = manifest.get("files")
    found = {}
    for name, entry in files.items() if isinstance(files, Mapping) else ():
        found[str(name)] = str(entry.get("sha256")) if isinstance(entry, Mapping) else ""
    return found


def to_record(folder: Path) -> list[str]:
    """Return the paths of the files that are recorded: all but those made from them, or not whole yet."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(
        name
        for name in found
        if name not in (MANIFEST, SUMS, *DERIVED)
        and not name.startswith("results/")
        and not name.endswith(".partial")
    )


def require_known(folder: Path, manifest: Mapping[str, Any], operation: str) -> None:
    """Refuse a run of a form that this version does not know.

    Raises:
        UsageError: It is of such a form.
    """
    form = manifest.get("lab")
    if form is not None and form not in LAYOUTS:
        cause = f"its form is {json.dumps(form)}, and this version reads {' and '.join(LAYOUTS)}"
        hint = "a newer version of haulage wrote it: upgrade haulage"
        raise UsageError(operation, str(folder / MANIFEST), cause, hint)


def require_unchanged(
    folder: Path, manifest: Mapping[str, Any], operation: str, names: Collection[str] | None = None
) -> None:
    """Refuse to build on recorded files that are no longer what they were.

    Args:
        folder: Of the run.
        manifest: Of the run; it is compared with ``SHA256SUMS``, where that is.
        operation: What is refused, for the message.
        names: Of the files that are needed; default every one that the manifest lists.

    Raises:
        IntegrityError: One that is listed is gone, or holds other bytes.
    """
    listing = folder / SUMS
    sealed = listed(listing.read_text("utf-8", errors="replace"))[0] if listing.is_file() else {}
    expect = {name: sha for name, sha in recorded(manifest).items() if names is None or name in names}
    expect |= {MANIFEST: sealed[MANIFEST]} if MANIFEST in sealed else {}
    for name, expected in expect.items():
        path = folder / name
        found = sha256(path) if path.is_file() else None
        if found != expected:
            cause = "missing" if found is None else "changed since it was recorded"
            raise IntegrityError(
                operation, str(path), cause, "restore it from a copy, or repeat the run with haul lab rerun"
            )


def results_of(folder: Path) -> list[str]:
    """Return the paths of the results that the index names; none where there is no index to read."""
    try:
        entries = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        names = [str(entry["name"]) for entry in entries]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    return [f"results/{name}.parquet" for name in names if PurePosixPath(name).name == name]


def sums(manifest: Mapping[str, Any], folder: Path, hashes: Mapping[str, str]) -> str:
    """Return the text of ``SHA256SUMS``, from the hashes of the files that are there.

    Args:
        manifest: Of the run.
        folder: Where the index of the results lies.
        hashes: Of what is there; the manifest's own are taken for what it lists.
    """
    made = {name: hashes[name] for name in (MANIFEST, *DERIVED, *results_of(folder)) if name in hashes}
    listed = recorded(manifest) | made
    return "".join(f"{listed[name]}  {name}\n" for name in sorted(listed))


def seal(folder: Path) -> Path:
    """Write ``SHA256SUMS``; call it when everything else is written.

    A file that neither the manifest nor the index of the results knows is left out: it is no part of the run.
    """
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    names = (MANIFEST, *DERIVED, *results_of(folder))
    hashes = {name: sha256(folder / name) for name in names if (folder / name).is_file()}
    write_whole(folder / SUMS, sums(manifest, folder, hashes))
    return folder / SUMS


def unseal(folder: Path) -> None:
    """Remove ``SHA256SUMS`` before something is written that it does not know."""
    (folder / SUMS).unlink(missing_ok=True)


def listed(text: str) -> tuple[dict[str, str], list[str]]:
    """Return what the text of ``SHA256SUMS`` lists, and what is wrong with its lines."""
    found: dict[str, str] = {}
    faults = []
    for number, line in enumerate(text.split("\n")[:-1], 1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in found:
            faults.append(f"line {number} is not the hash of another file")
        else:
            found[match[2]] = match[1]
    if not text.endswith("\n"):
        faults.append("it ends in the middle of a line")
    return found, faults
