"""Refuses files for rows that something else is in: they replace earlier rows and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from haulage.errors import UsageError
from haulage.outputs import refuse_other, same
from haulage.watch.line import JOB
from haulage.watch.rows import COLUMNS, PARTIAL, ROWS, quoted

#: What every CSV file of rows begins with: the columns that come first, and the comma after them.
_BEGINNING = ",".join([*COLUMNS][:8]).encode() + b","
_ANOTHER = "name another file for the rows"
_ROWS = "a file of rows"


def check(csv: str | None, parquet: str | None, sources: list[str]) -> None:
    """Raise unless rows may be written to these files; changes nothing.

    An empty file is fine, and so is a device or a pipe for CSV.

    Args:
        csv: The file of ``--csv``.
        parquet: The file of ``--parquet``.
        sources: What is read: files, and folders of logs. Names of other things are no files.

    Raises:
        UsageError: A file is read, is named twice, or holds something else.
        LocalIOError: A file cannot be read, so what is in it is unknown.
    """
    rows = [] if csv is None else [Path(csv)]
    packed = [] if parquet is None else [Path(parquet), *(Path(parquet + end) for end in (ROWS, PARTIAL))]
    for path in rows + packed:
        for source in map(Path, sources):
            _refuse_source(path, source)
    for path in packed:
        # What cannot be written at the end is refused now.
        quoted(path)
        if any(same(path, other) for other in rows):
            cause = "--csv and --parquet name the same file; the latter also writes to FILE.rows.csv"
            raise UsageError("write", str(path), cause, "name two different files")
    for path in rows:
        refuse_other(path, _is_csv, _ROWS, _ANOTHER)
    for path, are_rows in zip(packed, (_is_parquet, _is_csv, _begins), strict=False):
        refuse_other(path, are_rows, _ROWS, _ANOTHER, replaced=True)


def _refuse_source(path: Path, source: Path) -> None:
    if same(path, source) and not source.is_dir():
        raise UsageError("write", str(path), "this is what is read", _ANOTHER)
    # Files of a log are in folders of its jobs.
    root, here = Path(os.path.realpath(source)), Path(os.path.realpath(path))
    if here.is_relative_to(root):
        folders = [root.name, *here.relative_to(root).parts[:-1]]
        if any(JOB.fullmatch(name) for name in folders[:2]):
            raise UsageError("write", str(path), "this is within the log that is read", _ANOTHER)


def _is_csv(path: Path) -> bool:
    """Return whether a file begins with the columns of rows."""
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def _is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet and has the columns of rows."""
    if not _begins(path):
        return False
    import duckdb

    with duckdb.connect() as database:
        try:
            found = database.execute(f"select name from parquet_schema({quoted(path)})").fetchall()
        except duckdb.Error:
            return False
    # The first is the name of the schema.
    return {*COLUMNS} >= {*(name for (name,) in found[1:])} >= {*[*COLUMNS][:8]}


def _begins(path: Path) -> bool:
    """Return whether a file begins as Parquet does, as one that was not written to its end."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"
