"""Files of rows on this machine: whether they are there, whether they have keys, and CSV with its types."""

from __future__ import annotations

import codecs
import json
import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path

from haulage.errors import HaulageError, IntegrityError, UsageError
from haulage.places import local_path
from haulage.tables import packed
from haulage.tables.delimited import header, is_csv, told, typed
from haulage.tables.moving.leftovers import TYPED, unlinked_if_failed
from haulage.tables.quoting import literal
from haulage.tables.unreadable import check_readable

#: Formats of files by the ends of their names, as the engine knows them. CSV is read here.
_ENDS = ("parquet", "pq", "arrow", "arrows", "ipc", "json", "jsonl", "ndjson", "csv", "tsv")
_PARQUET = ("parquet", "pq")
_ARROW = ("arrow", "arrows", "ipc")
_KEYS = {"PartitionKey", "RowKey"}
_JSON_LINES = ("json", "jsonl", "ndjson")
#: What a Parquet file begins with, and what it ends with after the length of its footer.
_MAGIC = b"PAR1"
_ENDINGS = (_MAGIC, b"PARE")
#: Changes when the same CSV gets other types.
_RULES = 2


def readable(source: str | PathLike[str], format: str | None = None) -> Path:
    """Return the path of a file of rows on this machine.

    Raises:
        NotFoundError: There is no such file.
        CredentialError: It may not be read.
        UsageError: It is a URL or a folder, or neither its name nor ``format`` says what it is.
        IntegrityError: It is a Parquet file that is cut short.
    """
    path = local_path("import", source, reads=True)
    check_readable(path)
    if format is None and not is_csv(path) and _end(path) not in _ENDS:
        hint = "give --format parquet, arrow, csv or jsonl"
        raise UsageError("import", str(path), "its format is unknown", hint)
    check_whole(path, format)
    return path


def is_json_lines(path: str | PathLike[str], format: str | None = None) -> bool:
    """Whether a file is of lines of JSON, by ``format`` or else by its name."""
    return (format or _end(Path(path))) in _JSON_LINES


def check_whole(path: Path, format: str | None = None) -> None:
    """Raise if a Parquet file does not end as it must: all that says where its rows lie stands at its end.

    A file that does not even begin like one may be in another format, and is left to whoever reads it.

    Raises:
        IntegrityError: It is cut short.
    """
    if (format or _end(path)) not in _PARQUET or not path.is_file():
        return
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_MAGIC))
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 8, 0))
            ending = file.read(8)
    except OSError:
        # Whoever reads the rows says what is wrong.
        return
    if not _MAGIC.startswith(beginning):
        return
    # The magic bytes stand at both ends; between them the footer, and its length.
    whole = size >= 12 and ending[4:] in _ENDINGS and struct.unpack("<I", ending[:4])[0] <= size - 12
    if not whole:
        raise _damaged(path, "it is cut short: its footer is missing" if size else "it is empty")


def _damaged(path: Path, cause: str) -> IntegrityError:
    hint = "fetch the file again, or make another from its source"
    return IntegrityError("open", str(path), cause, hint)


def has_keys(path: str | PathLike[str], format: str | None = None) -> bool:
    """Whether a file says the keys of its rows by itself, in the columns ``PartitionKey`` and ``RowKey``.

    Raises:
        NotFoundError: There is no such file.
        UsageError: The file cannot be read, or has one of the two alone, or in other letters.
        IntegrityError: It is damaged.
    """
    names = _columns(path, format)
    if names is None or names >= _KEYS:
        return True
    there = sorted(name for name in names if name.lower() in {key.lower() for key in _KEYS})
    if not there:
        return False
    # Keys that were made up in their place would not be those that are in the file.
    cause = f"of {' and '.join(sorted(_KEYS))} it has {' and '.join(there)} alone"
    hint = "rename the columns, or give --partition-key and --row-key, such as '{NAME}'"
    raise UsageError("read", os.fspath(path), cause, hint)


def has_own_time(path: str | PathLike[str], format: str | None = None) -> bool:
    """Whether a file has a column ``Timestamp``, which is left out. One that cannot be read has none.

    Of lines of JSON, any row may have it.
    """
    try:
        if is_json_lines(path, format):
            with Path(path).open("rb") as lines:
                return any(map(_has_time, lines))
        if (format or _end(Path(path))) in _ARROW:
            import pyarrow as pa

            with pa.OSFile(os.fspath(path)) as file, pa.ipc.open_stream(file) as stream:
                return "Timestamp" in stream.schema.names
        return "Timestamp" in (_columns(path, format) or ())
    except (HaulageError, OSError, ValueError):
        return False


def _columns(path: str | PathLike[str], format: str | None) -> set[str] | None:
    """Return the names of the columns; `None` where whoever reads the rows says what is wrong with them."""
    file = readable(path, format)
    if is_json_lines(file, format):
        return _of_first_line(file)
    csv = is_csv(file, format)
    if not csv and (format or _end(file)) not in _PARQUET:
        # A stream of Arrow is what an export has written.
        return None
    import duckdb

    with duckdb.connect() as connection:
        try:
            if csv:
                names: Sequence[str] = header(connection, file).names
            else:
                names = connection.read_parquet(os.fspath(path)).columns
        except duckdb.Error as error:
            if csv:
                packed.check(file)
            elif _begins_as_parquet(file):
                raise _damaged(file, f"it is damaged: {str(error).splitlines()[0]}") from error
            cause = str(error).splitlines()[0]
            raise UsageError("open", os.fspath(path), cause, "check the path and the format") from error
    return set(names)


def from_csv(path: Path, templates: Sequence[str | None] = ()) -> Path:
    """Return a Parquet file beside the CSV, with the types of :func:`haulage.tables.delimited.typed`.

    Args:
        path: The CSV file.
        templates: Those of the keys.
    """
    import duckdb

    beside = path.with_name(f".{path.name}{TYPED}")
    found = path.stat()
    made_of = json.dumps([_RULES, found.st_size, found.st_ino, found.st_ctime_ns, *templates])
    # The same file again: an import that goes on must find what it had. One that was put in its place may be
    # older than what was made of it, and other templates ask for other types.
    if _is_of(beside, found.st_mtime_ns, made_of):
        return beside
    new = beside.with_name(beside.name + ".new")
    try:
        with told([path]), unlinked_if_failed(new), duckdb.connect() as connection:
            rows = typed(connection, [path], templates)
            target, note = literal(str(new)), literal(made_of)
            connection.execute(f"COPY ({rows}) TO {target} (FORMAT parquet, KV_METADATA {{haul: {note}}})")
            os.utime(new, ns=(found.st_mtime_ns, found.st_mtime_ns))
    except duckdb.Error as error:
        raise UsageError(
            "read", str(path), str(error).splitlines()[0], "check the path and the format"
        ) from error
    new.replace(beside)
    return beside


def _is_of(beside: Path, modified_ns: int, made_of: str) -> bool:
    """Whether this file was made of the CSV of that time, in that way."""
    import duckdb

    with suppress(OSError, duckdb.Error), duckdb.connect() as connection:
        if beside.stat().st_mtime_ns == modified_ns:
            asked = f"SELECT value FROM parquet_kv_metadata({literal(str(beside))}) WHERE key = 'haul'"
            row = connection.execute(asked).fetchone()
            return row is not None and row[0] == made_of.encode()
    return False


def _begins_as_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _of_first_line(path: Path) -> set[str] | None:
    try:
        # Some programs begin a file with the mark of UTF-8.
        with path.open(encoding="utf-8-sig") as file:
            row = json.loads(next((line for line in file if line.strip()), "{}"))
    except (OSError, ValueError):
        return None
    return {*row} if isinstance(row, dict) and row else None


def _has_time(line: bytes) -> bool:
    """Whether a row of JSON lines has a Timestamp; most lines need no parsing to know that they have none."""
    if b"Timestamp" not in line and b"\\u" not in line:
        return False
    try:
        row = json.loads(line.removeprefix(codecs.BOM_UTF8))
    except ValueError:
        return False
    return isinstance(row, dict) and "Timestamp" in row


def _end(path: Path) -> str:
    return path.suffix.lstrip(".").lower()
