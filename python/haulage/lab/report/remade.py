"""Makes tables, results, profile and page of a run again, and says what comes out otherwise."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from haulage.lab import chain, profile
from haulage.lab.analysis import Analysis, analyse
from haulage.lab.analysis.query import rows_sha256
from haulage.lab.files import sha256
from haulage.lab.report.page import FORM, render, write_versions
from haulage.lab.store import RunStore

_FORM = re.compile(rb'<meta name="haulage-form" content="(\d{1,9})">')
#: Where a calculation stands, in the index and on the page: another version may have it elsewhere.
_PLACE = re.compile(
    rb'(?<="sql_file": ")haulage/lab/[\w/]+\.sql(?=")|(?<=# )haulage\.lab\.[\w.]+(?=, with haulage)'
)
#: The name of a check, what it says when all is well, and the fault if there is one.
Found = tuple[str, str, str]


@dataclass(frozen=True)
class Remade:
    """What was made again: what each comparison found, and the hash of every file that was made."""

    checks: list[Found]
    hashes: dict[str, str]


def remake(directory: Path, scratch: Path, manifest: Mapping[str, Any]) -> Remade:
    """Make again what follows from the recorded files of ``directory``, below ``scratch``."""
    checks = [_plan(directory, manifest), *_tables(directory, scratch, manifest)]
    fresh = scratch / "results"
    again = analyse(directory, into=fresh)
    write_versions(fresh)
    checks += _results(directory, fresh, again)
    made = {f"results/{path.name}": path.read_bytes() for path in sorted(fresh.iterdir())}
    index, page = directory / chain.INDEX, directory / chain.PAGE
    if (
        page.is_file()
        and sha256(index).encode() in page.read_bytes()
        and not _differs(index, made[chain.INDEX])
    ):
        # The page shows the hash of the index, which may name other places.
        (fresh / index.name).write_bytes(index.read_bytes())
    made[chain.PAGE] = render(directory, again, fresh).encode()
    if (directory / chain.PROFILE).is_file():
        found = [one for one in profile.measure(directory) if one.says_something]
        made[chain.PROFILE] = profile.text_of(directory, found).encode()
    others = _other_versions(directory, made[chain.VERSIONS])
    for name, content in made.items():
        fault = _differs(directory / name, content)
        if fault and name == chain.PAGE:
            fault += _other_form(directory / name)
        if not name.startswith("results/") or name in chain.DERIVED or fault:
            checks.append((name, "made again, byte for byte", fault + others if fault else ""))
    return Remade(checks, {name: hashlib.sha256(content).hexdigest() for name, content in made.items()})


def _plan(directory: Path, manifest: Mapping[str, Any]) -> Found:
    same = manifest.get("plan_sha256") == sha256(directory / "plan.toml")
    return "plan", "is the one the manifest names", "" if same else "plan_sha256 of the manifest is another's"


def _tables(directory: Path, scratch: Path, manifest: Mapping[str, Any]) -> Iterator[Found]:
    """Merge the tables again from the cells and compare their rows."""
    rows = RunStore(directory).write_tables(scratch)
    for file in rows:
        name = file.removesuffix(".parquet")
        kept, fresh = str(directory / file), str(scratch / file)
        said = manifest["files"].get(file, {}).get("rows")
        fault = "" if said == rows[file] else f"the manifest says {said} rows, the cells gave {rows[file]}"
        yield f"table {name}", f"{rows[file]} rows, merged again alike", fault or _other_rows(kept, fresh)


def _other_rows(kept: str, fresh: str) -> str:
    with duckdb.connect() as database:
        database.execute("set enable_progress_bar = false")
        columns = [
            database.execute("describe from read_parquet(?)", [path]).fetchall() for path in (kept, fresh)
        ]
        if columns[0] != columns[1]:
            return "has other columns than the cells"
        for first, second in ((kept, fresh), (fresh, kept)):
            query = "select count(*) from (from read_parquet(?) except all from read_parquet(?))"
            found = database.execute(query, [first, second]).fetchone()
            if found and found[0]:
                return f"{found[0]} rows are not what the cells and attempts gave"
    return ""


def _results(directory: Path, fresh: Path, again: Analysis) -> Iterator[Found]:
    index = json.loads((directory / chain.INDEX).read_text(encoding="utf-8"))
    for entry in index:
        faults = "; ".join(_faults(directory, fresh, entry, again))
        yield f"result {entry['name']}", f"{entry['rows']} rows, made again alike", faults
    for name in again.results.keys() - {entry["name"] for entry in index}:
        yield f"result {name}", "", f"is made by this version, but {chain.INDEX} does not list it"


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


def _rows(path: Path) -> str:
    # Both files went through Parquet, which has no whole numbers of 128 bits.
    try:
        with duckdb.connect() as database:
            return rows_sha256(database.execute("from read_parquet(?)", [str(path)]).fetchall())
    except duckdb.Error as error:
        return f"cannot be read: {error}"


def _other_form(page: Path) -> str:
    """Say which form a page has, if it is not the one that this version makes."""
    said = _FORM.search(page.read_bytes()) if page.is_file() else None
    form = int(said[1]) if said else 1
    return "" if form == FORM else f"; it has form {form}, and this version makes form {FORM}"


def _differs(path: Path, content: bytes) -> str:
    """Say where a file is not what was made again, wherever calculations stand; nothing if it is."""
    if not path.is_file():
        return "is not there"
    found, content = (_PLACE.sub(b"", one) for one in (path.read_bytes(), content))
    if found == content:
        return ""
    lines = itertools.zip_longest(found.split(b"\n"), content.split(b"\n"))
    number = next(number for number, (a, b) in enumerate(lines, 1) if a != b)
    return f"comes out otherwise when it is made again, first in line {number}"


def _other_versions(directory: Path, fresh: bytes) -> str:
    """Say which versions made the results, where those here are others."""
    try:
        kept = json.loads((directory / chain.VERSIONS).read_bytes())
        here = json.loads(fresh)
        others = [
            f"{name} {kept.get(name)} (here {here.get(name)})"
            for name in here
            if kept.get(name) != here[name]
        ]
    except (OSError, ValueError, AttributeError):
        return ""
    return f"; it was made with {', '.join(others)}: compare with those versions" if others else ""
