"""Runs the SQL files of all topics on a run directory, and keeps what they gave.

A query reads the run's Parquet files by their names, so the same file can be run by hand: start
``duckdb`` in the run directory and ``.read`` it. Its header tells what it is and where it applies::

    -- title: Lost-time ledger
    -- question: Where did the time go?
    -- method: How, in words; a line that is indented goes on with the one above.
    -- tables: cells, attempts        which files must be there and hold rows
    -- plans: small-blob              only for these plans; all, if it is left out
    -- methods: ranges, stream        only where a cell has one of these methods
    -- after: ledger                  results that it reads

Rows are hashed as text of full precision, in the order of the query, so that the same files give
the same hash. Sums of floating-point numbers depend on their order, therefore one thread.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb

from haulage.errors import NotFoundError, UsageError
from haulage.lab.analysis.model import Result
from haulage.lab.store import RunStore, sha256, unlike
from haulage.lab.topics import TOPICS
from haulage.records.quoting import literal

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import pandas as pd

#: The files of a run that queries read.
TABLES = ("cells", "transfers", "attempts", "host", "nodes")
#: What DuckDB may hold; it writes the rest to disk.
MEMORY = "760MB"


@dataclass(frozen=True)
class Query:
    """A SQL file, with what its header says."""

    name: str
    sql: str
    title: str
    question: str
    method: str
    tables: tuple[str, ...]
    plans: tuple[str, ...]
    methods: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """Of the file."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def parse(name: str, text: str) -> Query:
    """Read the header of a query.

    Raises:
        UsageError: No title or question, or a key that is not known.
    """
    head: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        words = line.removeprefix("--")
        if words.startswith("   ") and last:
            head[last] += " " + words.strip()
            continue
        last, colon, rest = (part.strip() for part in words.partition(":"))
        if not colon or last not in ("title", "question", "method", "tables", "plans", "methods", "after"):
            raise UsageError("read query", name, f"header line '{line}'", "see haulage/lab/analysis/query.py")
        head[last] = rest

    def several(key: str) -> tuple[str, ...]:
        return tuple(item.strip() for item in head.get(key, "").split(",") if item.strip())

    if not head.get("title") or not head.get("question"):
        raise UsageError(
            "read query", name, "no title or no question", "begin with -- title: and -- question:"
        )
    return Query(
        name,
        text,
        head["title"],
        head["question"],
        head.get("method", ""),
        several("tables"),
        several("plans"),
        several("methods"),
        several("after"),
    )


def queries_in(*folders: Traversable) -> dict[str, Query]:
    """Return the queries of folders, in the order of their names."""
    files = [item for folder in folders for item in folder.iterdir() if item.name.endswith(".sql")]
    found = {item.name.removesuffix(".sql"): item.read_text(encoding="utf-8") for item in files}
    return {name: parse(name, text) for name, text in sorted(found.items())}


@cache
def queries() -> dict[str, Query]:
    """Return all queries by name, each after those whose results it reads."""
    parsed = queries_in(*(topic.folder for topic in TOPICS))
    ordered: dict[str, Query] = {}

    def place(name: str) -> None:
        for before in parsed[name].after:
            place(before)
        ordered.setdefault(name, parsed[name])

    for name in parsed:
        place(name)
    return ordered


@dataclass(frozen=True)
class RunFiles:
    """What a run directory holds, as far as it decides which queries apply."""

    directory: Path
    plan: str
    rows: Mapping[str, int]
    methods: frozenset[str]
    inputs: Mapping[str, str]

    def takes(self, query: Query) -> bool:
        """Whether the query applies here."""
        return (
            all(self.rows.get(table, 0) > 0 for table in query.tables)
            and (not query.plans or self.plan in query.plans)
            and (not query.methods or not self.methods.isdisjoint(query.methods))
        )


def no_run(operation: str, directory: Path, cause: str) -> NotFoundError:
    """Return the error for a folder that holds no run, or one that was killed before its tables were made."""
    begun = (directory / "manifest.json").is_file() and (directory / "cells").is_dir()
    if begun and not (directory / "cells.parquet").is_file():
        hint = f"resume it: haul lab run --continue {directory}"
        return NotFoundError(operation, str(directory), "the run was killed before it ended", hint)
    return NotFoundError(operation, str(directory), cause, "name the folder of a run")


def open_run(directory: Path) -> RunFiles:
    """Look at a run directory.

    Raises:
        NotFoundError: It is none: no manifest, or no cells.
        UsageError: The manifest or a table is damaged, or of another version.
    """
    manifest = directory / "manifest.json"
    if not manifest.is_file() or not (directory / "cells.parquet").is_file():
        raise no_run("analyse", directory, "no manifest.json with cells.parquet")
    plan = str(RunStore.open(directory).manifest["plan"])
    with connect(directory) as database:
        present = [table for table in TABLES if (directory / f"{table}.parquet").is_file()]
        try:
            rows = {table: _scalar(database, f"select count(*) from '{table}.parquet'") for table in present}
            methods = database.execute("select distinct method from 'cells.parquet'").fetchall()
        except duckdb.Error as error:
            raise unlike("analyse", f"{directory}", error) from error
    files = [*(f"{table}.parquet" for table in present), "manifest.json"]
    inputs = {name: sha256(directory / name) for name in files}
    return RunFiles(directory, plan, rows, frozenset(str(row[0]) for row in methods), inputs)


@contextmanager
def connect(directory: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database that lives in memory and finds files below ``directory`` by their names."""
    with (
        duckdb.connect(config={"threads": 1, "memory_limit": MEMORY}) as database,
        _one_path(directory.resolve()) as found,
    ):
        place = str(found).replace("'", "''")
        # A library does not draw on a terminal.
        database.execute("set enable_progress_bar = false")
        database.execute(f"set file_search_path = '{place}'")
        yield database


@contextmanager
def _one_path(directory: Path) -> Iterator[Path]:
    """Return a path of a folder that DuckDB does not take for several: a comma separates them."""
    if "," not in str(directory):
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix="haulage-lab-") as scratch:
        link = Path(scratch) / "run"
        link.symlink_to(directory, target_is_directory=True)
        yield link


def run(
    files: RunFiles, only: Iterable[str] | None = None, *, into: Path | None = None
) -> list[tuple[Result, float]]:
    """Run every query that applies.

    Args:
        files: The run.
        only: Names of queries, those that they read included; default all.
        into: Where ``NAME.parquet`` of each goes; default ``results`` in the run directory.

    Returns:
        Each result with the seconds that it took.
    """
    folder = into or files.directory / "results"
    folder.mkdir(exist_ok=True)
    wanted = None if only is None else _with_sources(only)
    made: list[tuple[Result, float]] = []
    there: set[str] = set()
    with connect(files.directory) as database:
        for query in queries().values():
            left_out = wanted is not None and query.name not in wanted
            if left_out or not files.takes(query) or not there.issuperset(query.after):
                continue
            began = time.monotonic()
            made.append((_run_one(database, query, files, folder, there), time.monotonic() - began))
            there.add(query.name)
    return made


def _with_sources(names: Iterable[str]) -> set[str]:
    wanted: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in queries():
            raise NotFoundError("analyse", name, "no query of this name", f"queries: {', '.join(queries())}")
        wanted.add(name)
        left += queries()[name].after
    return wanted


def _run_one(
    database: duckdb.DuckDBPyConnection, query: Query, files: RunFiles, folder: Path, there: set[str]
) -> Result:
    # What other queries read stands in the same database under its own name.
    try:
        database.execute(f'create table "{query.name}" as {query.sql}')
    except duckdb.Error as error:
        raise unlike("analyse", f"query {query.name}", error) from error
    place = literal(folder / f"{query.name}.parquet")
    database.execute(f"""copy "{query.name}" to {place} (format parquet, compression zstd)""")
    rows = database.execute(f'from "{query.name}"').fetchall()
    frame = database.execute(f'from "{query.name}"').df()
    if not any(query.name in other.after for other in queries().values()):
        database.execute(f'drop table "{query.name}"')
    read = {name: digest for name, digest in files.inputs.items() if name.split(".")[0] in query.tables}
    if "manifest.json" in query.sql:
        read["manifest.json"] = files.inputs["manifest.json"]
    n = max((files.rows[table] for table in query.tables), default=len(rows))
    return Result(
        query.name,
        query.title,
        query.question,
        query.method,
        query.sql,
        frame,
        list(frame.columns),
        n,
        read,
        "query",
        tuple(name for name in query.after if name in there),
        rows_sha256(rows),
    )


def rows_sha256(rows: Iterable[tuple[Any, ...]]) -> str:
    """Hash rows by their canonical text: one a line, as Python's ``repr`` has them, so no digit is lost."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(row).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def statistic(
    name: str, title: str, question: str, method: str, frame: pd.DataFrame, source: Result, folder: Path
) -> Result:
    """Keep a table that Python made from a query's rows."""
    place = literal(folder / f"{name}.parquet")
    with duckdb.connect() as database:
        database.register("made", frame)
        database.execute(f"copy (from made) to {place} (format parquet, compression zstd)")
        rows = database.execute("from made").fetchall()
    return Result(
        name,
        title,
        question,
        method,
        source.sql,
        frame,
        list(frame.columns),
        len(source.frame),
        source.inputs,
        "statistics",
        (source.name,),
        rows_sha256(rows),
    )


def index_entry(result: Result) -> dict[str, Any]:
    """Return what ``results/index.json`` says of a result."""
    origin = result.name if result.kind == "query" else result.made_from[0]
    kind: Literal["query", "statistics"] = result.kind
    return {
        "name": result.name,
        "kind": kind,
        "title": result.title,
        "question": result.question,
        "method": result.method,
        "made_from": list(result.made_from),
        "sql_file": f"haulage/lab/topics/{_topic_of(origin)}/{origin}.sql",
        "sql_sha256": queries()[origin].sha256,
        "inputs": dict(result.inputs),
        "rows": len(result.frame),
        "rows_sha256": result.rows_sha256,
        "columns": result.columns,
        "n": result.n,
    }


def _topic_of(query: str) -> str:
    return next(topic.name for topic in TOPICS if (topic.folder / f"{query}.sql").is_file())


def _scalar(database: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = database.execute(sql).fetchone()
    return int(row[0]) if row else 0
