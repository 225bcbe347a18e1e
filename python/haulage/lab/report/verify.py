"""Checks a run's folder: no file was touched, and tables, results and page follow from what was recorded."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from haulage.errors import HaulageError, NotFoundError, UsageError
from haulage.lab import chain
from haulage.lab.analysis.query import no_run
from haulage.lab.files import sha256 as sha256_of

if TYPE_CHECKING:
    from haulage.lab.report.remade import Remade

#: What files of any content can make of an analysis.
_BROKEN = (HaulageError, duckdb.Error, ValueError, TypeError, LookupError, AttributeError, OSError)
#: Faults of the list, not of the file.
NOT_LISTED = "is part of the run, but not listed"
NO_PART = "is listed, but no part of the run"
WHOLE = "has another hash here, but is as it was"


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: What: a file, a table, a result.
        ok: Whether it is as it was written down.
        detail: What was compared, and how it differs.
    """

    name: str
    ok: bool
    detail: str


def verify(directory: Path, *, sha256: str | None = None, quick: bool = False) -> list[Check]:
    """Check every file of a run's folder, and make again what was made from the recorded ones.

    First each file is compared with its hash in the manifest and in ``SHA256SUMS``; a file is at fault
    that neither lists, or that is missing. Then the tables are merged again from the cells, every query and
    statistic is made again from the tables, and the page is rendered again: results, index and page must
    come out alike, byte for byte; only modules and paths of calculations that they name may be others, since
    code may have moved between versions. Nothing in ``directory`` is changed, and it does not matter where it
    lies.

    Args:
        directory: Of the run.
        sha256: Of ``SHA256SUMS`` as it was when the report was written, from wherever it was kept; default
            not compared.
        quick: Compare hashes only, and make nothing again.

    Returns:
        A check for each file, table and result; all of them, whether or not one failed.

    Raises:
        NotFoundError: No run is there, or it has no report yet.
        UsageError: It was recorded by a version that did not hash every file.
    """
    manifest = _manifest(directory)
    there = chain.look(directory)
    derived = {chain.MANIFEST, *chain.DERIVED, *chain.results_of(directory)}
    checks = [] if sha256 is None else [_as_kept(there, sha256)]
    if manifest is None:
        return [
            *checks,
            Check(chain.MANIFEST, False, "not the manifest of a run"),
            *_files({}, derived, there, {}, set()),
        ]
    text = (directory / chain.SUMS).read_text(encoding="utf-8", errors="replace")
    listed, faults = chain.listed(text)
    checks += [Check(chain.SUMS, False, fault) for fault in faults]
    recorded = chain.recorded(manifest)
    intact = all(there.hashes.get(name) == expected for name, expected in recorded.items())
    vouched = {name for name, expected in recorded.items() if there.hashes.get(name) == expected}
    made: list[Check] = []
    if quick:
        vouched |= _shown(directory, there)
    elif not intact:
        made.append(Check("analysis", False, "not made again: what it would be made from has changed"))
    else:
        with tempfile.TemporaryDirectory(prefix="haulage-verify-") as scratch:
            # Statistics and charts take seconds to import; hashes need none of them.
            from haulage.lab.report.remade import remake

            try:
                again = remake(directory, Path(scratch), manifest)
                made += [Check(name, not fault, fault or good) for name, good, fault in again.checks]
                vouched |= _same_bytes(directory, again)
            except _BROKEN as error:
                made.append(Check("analysis", False, f"could not be made again: {error}"))
    # The page shows the hash of the manifest, so a page that was rendered alike speaks for it.
    if chain.PAGE in vouched:
        vouched.add(chain.MANIFEST)
    checks += _files(recorded, derived, there, listed, vouched)
    if all(one.ok for one in checks):
        others = {chain.MANIFEST, chain.INDEX} - _shown(directory, there)
        checks += [Check(chain.PAGE, False, f"shows another hash of {name}") for name in sorted(others)]
    if not faults and text != chain.sums(manifest, directory, there.hashes) and all(one.ok for one in checks):
        checks.append(Check(chain.SUMS, False, "lists other files than the manifest and the results"))
    return checks + made


def _shown(directory: Path, there: chain.Folder) -> set[str]:
    """Return the manifest and the index where the page shows the hashes that they have."""
    path = directory / chain.PAGE
    page = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return {name for name in (chain.MANIFEST, chain.INDEX) if there.hashes.get(name, "none") in page}


def _manifest(directory: Path) -> dict[str, Any] | None:
    """Return the manifest, ``None`` where the file is none."""
    path = directory / chain.MANIFEST
    if not path.is_file():
        raise NotFoundError("verify", str(path), "not there", "name the folder of a run")
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    manifest = found if isinstance(found, dict) and "plan" in found else None
    sums = directory / chain.SUMS
    listed = chain.listed(sums.read_text("utf-8", errors="replace"))[0] if sums.is_file() else {}
    if manifest is not None and listed.get(chain.MANIFEST) in (None, sha256_of(path)):
        # If it was changed, it says nothing of its form.
        chain.require_known(directory, manifest, "verify")
    if not (directory / chain.SUMS).is_file():
        if manifest is not None and manifest.get("lab") != chain.LAYOUT:
            raise UsageError(
                "verify",
                str(directory),
                "recorded by a version that did not hash every file, so it cannot be checked",
                f"repeat the run: haul lab rerun {directory}",
            )
        if not (directory / "cells.parquet").is_file():
            raise no_run("verify", directory, "no cells.parquet there")
        hint = f"make it with: haul lab report {directory}"
        raise NotFoundError("verify", str(directory / chain.SUMS), "not there", hint)
    return manifest


def _as_kept(there: chain.Folder, expected: str) -> Check:
    found = there.hashes.get(chain.SUMS, "")
    same = found == expected.strip().lower()
    said = "is the one that was kept" if same else f"is not {expected[:12]}…, which was kept"
    return Check(chain.SUMS, same, f"SHA-256 {found[:12]}… {said}")


def _files(
    recorded: Mapping[str, str],
    derived: set[str],
    there: chain.Folder,
    listed: Mapping[str, str],
    vouched: set[str],
) -> Iterator[Check]:
    """Compare every file with what is said of it; those of a folder that are as they were count together."""
    good: dict[str, int] = {}
    for name in sorted({*recorded, *listed, *there.hashes} - {chain.SUMS} | set(there.odd)):
        fault = there.odd.get(name) or _fault(name, recorded, derived, there.hashes.get(name), listed)
        if not fault:
            place, slash, _ = name.partition("/")
            good[place + slash or name] = good.get(place + slash or name, 0) + 1
        elif name not in there.odd and (name in vouched or fault in (NOT_LISTED, NO_PART)):
            yield Check(chain.SUMS, False, f"{name}: {WHOLE if name in vouched else fault}")
        else:
            yield Check(name, False, fault)
    for name, count in good.items():
        files = f"{count} files, each with" if name.endswith("/") else "has"
        yield Check(name, True, f"{files} the SHA-256 that was written down")


def _fault(
    name: str, recorded: Mapping[str, str], derived: set[str], found: str | None, listed: Mapping[str, str]
) -> str:
    known = name in recorded or name in derived
    if not known and (found is None or name not in listed):
        return NO_PART if found is None else "was added: neither the manifest nor the results name it"
    if found is None:
        return "is missing"
    if found != recorded.get(name, found):
        return f"SHA-256 {found[:12]}… is not {recorded[name][:12]}… of {chain.MANIFEST}"
    if name not in listed:
        return NOT_LISTED
    if found != listed[name]:
        return f"SHA-256 {found[:12]}… is not {listed[name][:12]}… of {chain.SUMS}"
    return "" if known else "was added, to the list as well"


def _same_bytes(directory: Path, again: Remade) -> set[str]:
    """Return the names of files that came out alike, byte for byte."""
    return {
        name
        for name, digest in again.hashes.items()
        if (directory / name).is_file()
        and hashlib.sha256((directory / name).read_bytes()).hexdigest() == digest
    }
