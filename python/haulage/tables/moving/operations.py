"""Exports, imports, copies, backups and comparisons of tables, each in one blocking call."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Unpack

from haulage import _engine
from haulage.cached import cache_folder
from haulage.errors import IntegrityError, UsageError
from haulage.places import local_path
from haulage.tables.delimited import is_csv
from haulage.tables.moving import files, indexed
from haulage.tables.moving.leftovers import called, forgotten_if_failed, name_of, removed_if_failed
from haulage.tables.moving.results import Compared, Difference, Exported, Imported, Progress, index_table
from haulage.tables.streamed import beside, is_stream, kept
from haulage.tables.unreadable import check_readable, unreadable
from haulage.transfer import StoreOptions
from haulage.words.numbers import counted

#: The forms of a file.
Format = Literal["parquet", "arrow", "csv", "jsonl"]
#: What becomes of text in CSV that a spreadsheet would run as a formula.
Formulas = Literal["disarm", "keep"]
#: What becomes of rows whose keys are there already.
Mode = Literal["replace", "merge", "insert"]

#: What the names of tables begin with.
_TABLES = ("az-table://", "http://", "https://")
#: What a receipt is called beside its backup.
RECEIPT = ".receipt.json"
_VERSION = 1
#: Of rows that a copy which was broken off has read.
_COPY_LASTS_S = 24 * 3600


OnProgress = Callable[[Progress], None]


def export_table(
    table: str,
    path: str | PathLike[str],
    *,
    format: Format | None = None,
    filter: str | None = None,
    select: Sequence[str] = (),
    queries: int | None = None,
    use_index: bool = True,
    formulas: Formulas = "disarm",
    record: str | PathLike[str] | None = None,
    on_progress: OnProgress | None = None,
    **options: Unpack[StoreOptions],
) -> Exported:
    """Write the rows of a table to a file, in the order of their keys.

    Several queries run at once, each over a range of the keys. Until all rows have arrived, they are kept
    next to the file, so the same call resumes an export that was interrupted or killed. If others write to
    the table meanwhile, rows that they add or remove may or may not be in the file.

    Args:
        table: ``az-table://TABLE``, or its URL, with a SAS if needed.
        path: The file. It appears under this name when it is complete.
        format: Default: by the extension of the file.
        filter: The rows to export, in the query language of the service, such as ``"elevation gt 300"``.
            Default all.
        select: The properties to export in addition to the keys. Default all.
        queries: Queries in flight at once. Default 16.
        use_index: If the filter names the column of an index table that :func:`import_table` has made, find
            rows through it. Rows written without the index are not found this way. Default ``True``.
        formulas: How CSV handles text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break,
            which a spreadsheet would run as a formula. Default ``"disarm"``: it is prefixed with an
            apostrophe, and the result counts how often; ``"keep"`` for files that programs read. Other
            formats store text unchanged.
        record: Write a row for every request to this Parquet file. The index is not used then.
        on_progress: Called several times a second.
        **options: How to reach the service.

    Raises:
        NotFoundError: No such table.
        UsageError: Invalid arguments, or a filter that the service rejects.
    """
    file = local_path("export", path)
    found = (
        indexed.answer(table, filter, select, options) if filter and use_index and record is None else None
    )
    if found is not None:
        return indexed.write(found, table, file, format, disarm=formulas == "disarm")
    with removed_if_failed(file):
        export = _engine.TableExport(
            table,
            os.fspath(path),
            format=format,
            filter=filter,
            select=list(select) or None,
            queries=queries,
            formulas=formulas,
            record=None if record is None else os.fspath(record),
            **options,
        )
        return Exported(**export.run(_calls(on_progress)))


def import_table(
    source: str | PathLike[str],
    table: str,
    *,
    format: Format | None = None,
    mode: Mode = "replace",
    partition_key: str | None = None,
    row_key: str | None = None,
    exclude: Sequence[str] = (),
    index: Sequence[str] = (),
    create: bool = False,
    dead_letters: str | PathLike[str] | None = None,
    transactions: int | None = None,
    record: str | PathLike[str] | None = None,
    on_progress: OnProgress | None = None,
    **options: Unpack[StoreOptions],
) -> Imported:
    """Write the rows of a file to a table, in transactions of at most 100 rows of one partition.

    Rows that the service refuses, or for which no key can be made, are written to a dead-letter file with the
    reason; the others are imported. Progress is stored next to the source, so the same call resumes an import
    that was killed.

    Args:
        source: Parquet, an Arrow stream, JSON Lines as an export writes them, or CSV or TSV, whose types are
            inferred where that changes no value.
        table: ``az-table://TABLE``, or its URL, with a SAS if needed.
        format: Default: by the extension of the file.
        mode: What to do if a row with the same keys exists: ``"replace"`` it, ``"merge"`` (its other
            properties stay) or ``"insert"``, which refuses the new row. Default replace: repeating an import
            does not duplicate rows.
        partition_key: A template, such as ``"{station}"``; default: the column ``PartitionKey``.
        row_key: A template for the RowKey; default: the column ``RowKey``.
        exclude: Columns not to store.
        index: Columns, or templates, to find rows by. Each gets its own table, see :func:`index_table`, which
            is written before the rows, so every row has its entry even if the import is killed.
        create: Create the table if it does not exist. Default ``False``.
        dead_letters: The file for refused rows; default: next to the source.
        transactions: Transactions in flight at once. Default 16.
        record: Write a row for every request to this Parquet file, except those of index tables.
        on_progress: Called several times a second.
        **options: How to reach the service.

    Raises:
        UsageError: A column that a table cannot store, keys that cannot be made, or CSV with a line that has
            more or fewer values than there are names.
        IntegrityError: A Parquet file that is cut short.
        ExistsError: The dead-letter file still holds rows of an earlier import.
    """
    named = files.readable(source, format)
    if dead_letters is not None:
        local_path("import", dead_letters)
    elif is_stream(named) or is_csv(named, format):
        # Not beside the file that is made of it here.
        dead_letters = beside(named) / f"{named.name}.{name_of(table)}.refused.jsonl"
    with kept(named) as file, called(file, named):
        done = _import_file(
            file,
            table,
            format=format,
            mode=mode,
            partition_key=partition_key,
            row_key=row_key,
            exclude=exclude,
            index=index,
            create=create,
            dead_letters=dead_letters,
            transactions=transactions,
            record=record,
            on_progress=on_progress,
            options=options,
        )
    # Whatever file was made of it here, the rows are those of the one that was named.
    return replace(done, path=os.fspath(source))


def _import_file(
    named: Path,
    table: str,
    *,
    format: Format | None,
    mode: Mode,
    partition_key: str | None,
    row_key: str | None,
    exclude: Sequence[str],
    index: Sequence[str],
    create: bool,
    dead_letters: str | PathLike[str] | None,
    transactions: int | None,
    record: str | PathLike[str] | None,
    on_progress: OnProgress | None,
    options: StoreOptions,
) -> Imported:
    files.check_whole(named, format)
    path = named
    if is_csv(path, format):
        path, format = files.from_csv(path, (partition_key, row_key)), "parquet"
    tables = [table, *(index_table(table, column) for column in index)]
    with called(path, named), forgotten_if_failed(path, tables, dead_letters):
        for column in index:
            entries = _engine.TableImport(
                path,
                index_table(table, column),
                format=format,
                index=column if "{" in column else "{" + column + "}",
                create=True,
                transactions=transactions,
                partition_key=partition_key,
                row_key=row_key,
                **options,
            )
            entries.run(_calls(on_progress))
        made = _engine.TableImport(
            path,
            table,
            format=format,
            mode=mode,
            exclude=list(exclude) or None,
            create=create,
            dead_letters=None if dead_letters is None else os.fspath(dead_letters),
            transactions=transactions,
            partition_key=partition_key,
            row_key=row_key,
            record=None if record is None else os.fspath(record),
            **options,
        )
        done = Imported(**made.run(_calls(on_progress)))
    if path != named:
        path.unlink()
    return done


def verify(first: str, second: str, **options: Unpack[StoreOptions]) -> Compared:
    """Compare two tables, or a table and a file of its rows, row by row.

    Args:
        first: A table, a file written by an export or a backup, or the receipt of a backup.
        second: What to compare it with, in any of these forms.
        **options: How to reach the service.

    Raises:
        UsageError: A file is CSV, which does not say the types of its values.
        IntegrityError: A backup does not match its receipt, or a Parquet file is cut short.
    """
    with ExitStack() as streams:
        first, second = (_kept(name, streams) for name in (first, second))
        return _verify(first, second, options)


def _kept(name: str, streams: ExitStack) -> str:
    """Return the name of a file with what a pipe delivers; any other name as it is."""
    if name.lower().startswith(_TABLES):
        return name
    named = local_path("verify", name, reads=True)
    if not is_stream(named):
        return name
    file = streams.enter_context(kept(named))
    streams.enter_context(called(file, named))
    return str(file)


def _verify(first: str, second: str, options: StoreOptions) -> Compared:
    for name in (first, second):
        # Others than these are no tables.
        if not name.lower().startswith(_TABLES):
            path = local_path("verify", name, reads=True)
            check_readable(path)
            if is_csv(path):
                hint = (
                    "compare a file that haul table export wrote as .parquet, .arrow or .jsonl, or import "
                    "this one and compare the tables"
                )
                raise UsageError("verify", name, "CSV says no types", hint)
            files.check_whole(path)
    first, second = behind_receipt(first), behind_receipt(second)
    with tempfile.TemporaryDirectory(prefix="haul-table-") as scratch:
        found = _engine.table_compare(first, second, scratch, **options)
    found["differences"] = [Difference(**one) for one in found["differences"]]
    return Compared(**found)


def copy_table(
    source: str,
    destination: str,
    *,
    create: bool = True,
    mode: Mode = "replace",
    on_progress: OnProgress | None = None,
    **options: Unpack[StoreOptions],
) -> tuple[Exported, Imported]:
    """Copy a table to another table, in the same account or another.

    The rows are kept in the user's cache on this machine until they are written, so a copy that was killed
    can resume. Rows that were read more than a day ago are read again. Refused rows are written to a file in
    that cache, which the next copy of the same table replaces.
    """
    scratch = _scratch(*(_engine.Table(url, **options).url for url in (source, destination)))
    scratch.mkdir(parents=True, exist_ok=True)
    between, note, letters = scratch / "rows.arrow", scratch / "exported.json", scratch / "refused.jsonl"
    if not (note.exists() and between.exists() and time.time() - note.stat().st_mtime < _COPY_LASTS_S):
        for stale in (note, between, letters):
            stale.unlink(missing_ok=True)
        try:
            exported = export_table(source, between, on_progress=on_progress, **options)
        except BaseException:
            # Left where rows have come; without any, there is nothing to resume.
            with suppress(OSError):
                scratch.rmdir()
            raise
        note.write_text(json.dumps(asdict(exported)), encoding="utf-8")
    else:
        exported = Exported(**json.loads(note.read_text(encoding="utf-8")))
        exported = replace(exported, resumed_rows=exported.rows)
    imported = import_table(
        between,
        destination,
        mode=mode,
        create=create,
        dead_letters=letters,
        on_progress=on_progress,
        **options,
    )
    # The next copy reads the table anew.
    for path in (note, between):
        path.unlink()
    if not imported.refused:
        shutil.rmtree(scratch)
    return exported, imported


def backup(
    table: str,
    path: str | PathLike[str],
    *,
    on_progress: OnProgress | None = None,
    **options: Unpack[StoreOptions],
) -> tuple[Exported, Path]:
    """Export a table to Parquet, with a receipt next to it that lists its rows, columns and hash.

    Returns:
        The result of the export, and the path of the receipt.

    Raises:
        UsageError: The name of the file does not end in ``.parquet``.
    """
    if local_path("export", path).suffix.lower() != ".parquet":
        cause = "a backup is a Parquet file with a receipt next to it"
        hint = "use a name ending in .parquet; haul table export writes other formats"
        raise UsageError("back up", os.fspath(path), cause, hint)
    exported = export_table(table, path, format="parquet", on_progress=on_progress, **options)
    receipt = Path(os.fspath(path) + RECEIPT)
    said = {
        "haulage_table_receipt": _VERSION,
        "table": exported.table,
        "file": Path(os.fspath(path)).name,
        "rows": exported.rows,
        "columns": exported.columns,
        "hash": exported.hash,
        "read_since": _utc(exported.since_unix_s),
        "made": _utc(time.time()),
    }
    beside = receipt.with_name(receipt.name + ".new")
    beside.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    beside.replace(receipt)
    return exported, receipt


def behind_receipt(text: str) -> str:
    """Return the backup that a receipt is of, if it is what the receipt says; any other name as it is.

    Raises:
        NotFoundError: There is no such receipt, or its backup is not beside it.
        UsageError: It is not the receipt of a backup.
        IntegrityError: The backup is not what it was.
    """
    if not text.endswith(RECEIPT):
        return text
    path = Path(text)
    check_readable(path)
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        file, rows, digest = path.with_name(said["file"]), int(said["rows"]), str(said["hash"])
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, KeyError, TypeError) as error:
        hint = "pass a receipt written by haul table backup"
        raise UsageError("read", text, "this is not the receipt of a backup", hint) from error
    check_readable(file)
    files.check_whole(file)
    with tempfile.TemporaryDirectory(prefix="haul-table-") as scratch:
        found = _engine.table_compare(str(file), str(file), scratch)
    if (found["rows"], found["hash"]) != (rows, digest):
        cause = (
            f"the backup {file.name} does not match its receipt: {counted(found['rows'], 'row')} "
            f"instead of {rows:,}"
        )
        if found["rows"] == rows:
            cause = f"the backup {file.name} does not match its receipt: the values differ"
        raise IntegrityError("verify", text, cause, "make a new backup, or fetch this one again")
    return str(file)


def _utc(unix_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_s))


def _scratch(source: str, destination: str) -> Path:
    """Return where a copy keeps its rows meanwhile, by the URLs of both tables."""
    named = f"{source}\n{destination}"
    return cache_folder(f"table-copy-{hashlib.sha256(named.encode()).hexdigest()[:16]}")


def _calls(on_progress: OnProgress | None) -> Callable[[dict[str, Any]], None] | None:
    if on_progress is None:
        return None
    known = {field.name for field in fields(Progress)}
    return lambda sample: on_progress(
        Progress(**{name: value for name, value in sample.items() if name in known})
    )
