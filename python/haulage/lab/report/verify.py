"""Checks that a report follows from its raw files: every query is asked again, every hash compared."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from markupsafe import escape

from haulage.errors import HaulageError, NotFoundError
from haulage.lab.analysis import Analysis, analyse
from haulage.lab.analysis.query import rows_sha256
from haulage.lab.store import sha256


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: What: a file, a query, a result, the page.
        ok: Whether it is as it was written down.
        detail: What was compared, and how it differs.
    """

    name: str
    ok: bool
    detail: str


def verify(directory: Path) -> list[Check]:
    """Check the files of a run against its manifest, and its results and report against the files.

    Every query and every statistic is made again, in a folder of its own; nothing in ``directory`` is
    changed. The page must hold the text of every query and the hash of every result.

    Returns:
        A check for each file, for each result, and for the page; all of them, whether or not one failed.

    Raises:
        NotFoundError: No run is there, or it has no results yet.
    """
    for needed in ("manifest.json", "results/index.json"):
        if not (directory / needed).is_file():
            hint = (
                f"make them with: haul lab report {directory}"
                if "results" in needed
                else "name the folder of a run"
            )
            raise NotFoundError("verify", str(directory / needed), "not there", hint)
    manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    index = json.loads((directory / "results/index.json").read_text(encoding="utf-8"))
    checks = list(_files(directory, manifest))
    with tempfile.TemporaryDirectory(prefix="haulage-verify-") as folder:
        try:
            again = analyse(directory, into=Path(folder))
        except (HaulageError, duckdb.Error) as error:
            return [*checks, Check("analysis", False, f"could not be made again: {error}")]
        checks += _results(directory, Path(folder), index, again)
    return [*checks, _page(directory, index, again)]


def _files(directory: Path, manifest: dict[str, Any]) -> Iterator[Check]:
    hashes = {name: of["sha256"] for name, of in manifest.get("files", {}).items()}
    if "plan_sha256" in manifest:
        hashes["plan.toml"] = manifest["plan_sha256"]
    for name, expected in hashes.items():
        path = directory / name
        if not path.is_file():
            yield Check(name, False, "is in the manifest, but not there")
            continue
        found = sha256(path)
        same = found == expected
        yield Check(
            name,
            same,
            f"SHA-256 {found[:12]}… {'as' if same else f'is not {expected[:12]}… of'} the manifest",
        )


def _results(directory: Path, fresh: Path, index: list[dict[str, Any]], again: Analysis) -> Iterator[Check]:
    listed = {entry["name"] for entry in index}
    for entry in index:
        name = str(entry["name"])
        faults = list(_faults(directory, fresh, entry, again))
        yield Check(
            f"result {name}", not faults, "; ".join(faults) or f"{entry['rows']} rows, made again alike"
        )
    for name in again.results.keys() - listed:
        yield Check(
            f"result {name}", False, "is made by this version, but results/index.json does not list it"
        )


def _faults(directory: Path, fresh: Path, entry: dict[str, Any], again: Analysis) -> Iterator[str]:
    made = again.results.get(entry["name"])
    if made is None:
        yield "this version has no such query, or it does not apply"
        return
    if hashlib.sha256(made.sql.encode()).hexdigest() != entry["sql_sha256"]:
        yield f"the query is not the one that was run ({entry['sql_file']})"
    for name, expected in entry["inputs"].items():
        if made.inputs.get(name) != expected:
            yield f"{name} is not the file that was read"
    if made.rows_sha256 != entry["rows_sha256"]:
        yield f"gives other rows: {len(made.frame)} rows, SHA-256 {made.rows_sha256[:12]}…"
    kept = directory / "results" / f"{entry['name']}.parquet"
    if not kept.is_file():
        yield f"results/{kept.name} is not there"
    elif _rows(kept) != _rows(fresh / kept.name):
        yield f"results/{kept.name} holds other rows"


def _page(directory: Path, index: list[dict[str, Any]], again: Analysis) -> Check:
    path = directory / "report.html"
    if not path.is_file():
        return Check("report.html", False, "not there; make it with: haul lab report")
    text = path.read_text(encoding="utf-8")
    faults = [
        f"no result {entry['name']} with these rows" for entry in index if entry["rows_sha256"] not in text
    ]
    faults += [
        f"another query than {result.name}.sql"
        for result in again.results.values()
        if result.kind == "query" and str(escape(result.sql)) not in text
    ]
    return Check(
        "report.html", not faults, "; ".join(faults) or f"shows {len(index)} results and their queries"
    )


def _rows(path: Path) -> str:
    # Both files went through Parquet, which has no whole numbers of 128 bits.
    try:
        with duckdb.connect() as database:
            return rows_sha256(database.execute("from read_parquet(?)", [str(path)]).fetchall())
    except duckdb.Error as error:
        return f"cannot be read: {error}"
