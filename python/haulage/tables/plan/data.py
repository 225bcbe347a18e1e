"""The rows to plan for, read with SQL in bounded memory: Parquet, CSV, JSON lines, or columns by name."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zlib import crc32

import duckdb

from haulage.errors import LocalIOError, NotFoundError, UsageError
from haulage.places import local_path
from haulage.tables import delimited, packed
from haulage.tables.keys import escape
from haulage.tables.plan.words import short
from haulage.tables.quoting import listed, quoted
from haulage.tables.streamed import copied, is_stream
from haulage.tables.unreadable import check_readable, unreadable
from haulage.tables.values import text_of

#: A file, a folder of files, several of them, or columns by name.
Source = str | PathLike[str] | Sequence[str | PathLike[str]] | Mapping[str, Sequence[object]]

#: Names of the view of all rows, the sample of them, and the column with the place of a row among them.
ROWS, SAMPLE, PLACE = "haul_rows", "haul_sample", "haul_place"

_SIZE = re.compile(r"[1-9]\d*(\.\d+)?[KMGT]iB")
_READERS = {
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
    ".json": "read_json",
}


@dataclass(frozen=True)
class Column:
    """A column of the source, with its type as DuckDB names it."""

    name: str
    type: str

    @property
    def sql(self) -> str:
        """Its name as SQL has it."""
        return quoted(self.name)


class Data:
    """Rows of a source, read with SQL; what does not fit into memory goes to a temporary folder.

    Attributes:
        rows: How many rows there are, counted.
        columns: The columns in their order.
        sampled: How many rows the sample holds; all of them where there are no more than ``sample_rows``.
    """

    def __init__(
        self,
        source: Source,
        *,
        sample_rows: int = 100_000,
        memory: str = "512MiB",
        seed: int = 0,
        format: str | None = None,
        templates: Sequence[str] = (),
    ) -> None:
        if not _SIZE.fullmatch(memory):
            hint = "write 512MiB or 2GiB"
            raise UsageError("plan", f"memory '{memory}'", "no size", hint)
        self._folder = Path(tempfile.mkdtemp(prefix="haul-plan-"))
        self._name = _named(source)
        # On the disk, so that what is copied into it needs no memory.
        self._connection = duckdb.connect(
            str(self._folder / "rows.duckdb"),
            config={
                "memory_limit": memory,
                "temp_directory": str(self._folder / "spill"),
                "preserve_insertion_order": "true",
                "autoinstall_known_extensions": "false",
            },
        )
        try:
            self._open(source, format, templates)
            self.columns = self._described()
            self.rows = int(self.one(f"SELECT count(*) FROM {ROWS}"))
            if not self.rows:
                raise UsageError("plan", self._name, "there are no rows", "keys are chosen by the data")
            self.sampled = self._take_sample(sample_rows, seed)
            self._add_functions()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove all that was kept on the disk."""
        self._connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def whole(self) -> bool:
        """Whether the sample holds all rows."""
        return self.sampled == self.rows

    def all(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of an answer.

        Raises:
            UsageError: The memory does not suffice.
            LocalIOError: The disk is full, or the file cannot be read.
        """
        with self._faults():
            # All, because an answer that is not read to its end holds the connection.
            return self._connection.execute(sql, list(parameters)).fetchall()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            hint = "give it more with --memory, or fewer rows with --sample"
            raise UsageError("plan", self._name, _first_line(error), hint) from None
        except duckdb.IOException as error:
            hint = "check the file, and that the folder for temporary files has room"
            raise LocalIOError("read", self._name, _first_line(error), hint) from None
        except (duckdb.ParserException, duckdb.BinderException, duckdb.InternalException):
            raise  # a fault of ours
        except duckdb.Error as error:
            hint = "check that the file is whole, and that values are of their column's type"
            raise UsageError("read", self._name, _first_line(error), hint) from None

    def first(self, sql: str) -> tuple[Any, ...]:
        """Return the one row of an answer."""
        return self.all(sql)[0]

    def one(self, sql: str) -> Any:
        """Return the one value of an answer."""
        return self.first(sql)[0]

    def run(self, sql: str) -> None:
        """Run a statement that answers nothing of interest."""
        self.all(sql)

    def _open(self, source: Source, format: str | None, templates: Sequence[str]) -> None:
        if isinstance(source, Mapping):
            names = ", ".join(f"unnest(?) AS {quoted(name)}" for name in source)
            if not source:
                raise UsageError("plan", "columns", "there are none", "keys are chosen by the data")
            self.all(
                f"CREATE TABLE haul_copy AS SELECT {names}", [list(values) for values in source.values()]
            )
            self.run(f"CREATE VIEW {ROWS} AS SELECT *, rowid AS {PLACE} FROM haul_copy")
            return
        files = [self._kept(file, number) for number, file in enumerate(_files(source))]
        reader, but = _reader(files, format), ""
        names_of_files = listed(files)
        if reader == "read_parquet":
            scan = f"read_parquet({names_of_files}, union_by_name=true, hive_partitioning=false"
            there = {row[0]: row[1] for row in self.all(f"DESCRIBE SELECT * FROM {scan})")}
            # What an export writes for a time: SQL can do little with nanoseconds of a zone.
            zoned = [quoted(name) for name, kind in there.items() if kind == "TIMESTAMPTZ_NS"]
            if zoned:
                times = ", ".join(f"make_timestamp_ns(epoch_ns({name})) AS {name}" for name in zoned)
                but = f"REPLACE ({times})"
            if len(files) == 1 and "file_row_number" not in there:
                plain = f"SELECT * EXCLUDE (file_row_number) {but}"
                self.run(
                    f"CREATE VIEW {ROWS} AS {plain}, file_row_number AS {PLACE} "
                    f"FROM {scan}, file_row_number=true)"
                )
                return
            scan += ")"
        elif reader == "read_json":
            for file in files:
                packed.check(file)
            scan = f"read_json({names_of_files}, union_by_name=true, hive_partitioning=false)"
            but = self._as_exported(scan)
        else:
            # As an import reads them.
            with self._faults(), delimited.told(files):
                rows = delimited.typed(self._connection, files, templates)
                self._connection.execute(f"CREATE TABLE haul_copy AS {rows}")
        if reader != "read_csv":
            self.run(f"CREATE TABLE haul_copy AS SELECT * {but} FROM {scan}")
        self.run(f"CREATE VIEW {ROWS} AS SELECT *, rowid AS {PLACE} FROM haul_copy")

    def _as_exported(self, scan: str) -> str:
        """Return what to select of JSON lines but all: an export has the types of values beside them.

        A property of several types is text, if it is nothing nested.
        """
        there = {row[0]: row[1] for row in self.all(f"DESCRIBE SELECT * FROM {scan}")}
        types = [quoted(name) for name in there if name.endswith("@odata.type")]
        but = f"EXCLUDE ({', '.join(types)})" if 0 < len(types) < len(there) else ""
        mixed = [quoted(name) for name, kind in there.items() if kind == "JSON"]
        if mixed:
            nested = ", ".join(f"bool_or(json_type({name}) IN ('OBJECT', 'ARRAY'))" for name in mixed)
            found = self.first(f"SELECT {nested} FROM {scan}")
            flat = [name for name, deep in zip(mixed, found, strict=True) if deep is False]
            texts = ", ".join(f"json_extract_string({name}, '$') AS {name}" for name in flat)
            but += f" REPLACE ({texts})" if flat else ""
        return but

    def _described(self) -> tuple[Column, ...]:
        found = self.all(f"DESCRIBE {ROWS}")
        return tuple(Column(row[0], row[1]) for row in found if row[0] != PLACE)

    def _kept(self, file: Path, number: int) -> Path:
        """Return a file with what a pipe delivers, which is read several times; any other as it is."""
        if not is_stream(file):
            return file
        folder = self._folder / f"stream-{number}"
        folder.mkdir()
        return copied(file, folder)

    def _take_sample(self, most: int, seed: int) -> int:
        if self.rows <= most:
            self.run(f"CREATE VIEW {SAMPLE} AS SELECT * FROM {ROWS}")
            return self.rows
        # By a hash of the place, not by chance: the same rows again, whatever the number of threads.
        share = most / self.rows
        chosen = f"hash({PLACE} + {seed}) < {int(share * 2**64)}::UBIGINT"
        self.run(f"CREATE TABLE {SAMPLE} AS SELECT * FROM {ROWS} WHERE {chosen} ORDER BY {PLACE}")
        return int(self.one(f"SELECT count(*) FROM {SAMPLE}"))

    def _add_functions(self) -> None:
        """Add what SQL lacks; the rest of the templates is SQL, because calls cost a microsecond each."""
        add = self._connection.create_function
        add("haul_crc32", _crc32, ["VARCHAR"], "UINTEGER")
        add("haul_escape", escape, ["VARCHAR"], "VARCHAR")
        add("haul_float", text_of, ["DOUBLE"], "VARCHAR")


def _first_line(error: Exception) -> str:
    return short(next(iter(str(error).splitlines()), type(error).__name__), 300)


def _crc32(text: str) -> int:
    return crc32(text.encode())


def _files(source: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[Path]:
    named = [source] if isinstance(source, (str, PathLike)) else source
    files: list[Path] = []
    for path in (local_path("plan", name, reads=True) for name in named):
        try:
            is_folder, is_there = path.is_dir(), path.exists()
        except OSError as error:
            raise unreadable(path, error) from None
        if is_folder:
            files += sorted(file for file in path.rglob("*") if file.is_file() and _suffix(file) in _READERS)
        elif is_there:
            files.append(path)
        else:
            raise NotFoundError("read", str(path), "no such file", "name a Parquet, CSV or JSON lines file")
    for path in files:
        check_readable(path)
    return files


def _reader(files: Sequence[Path], format: str | None) -> str:
    readers = {_READERS.get(_suffix(file) if format is None else f".{format}", "") for file in files}
    if len(readers) != 1 or "" in readers:
        names = ", ".join(str(file) for file in files[:3]) or "the folder"
        hint = "name files of one kind that end in .parquet, .csv, .tsv, .jsonl or .ndjson"
        raise UsageError("read", names, "their format is unknown", hint)
    return readers.pop()


def _suffix(file: Path) -> str:
    return Path(file.name.removesuffix(".gz").removesuffix(".zst")).suffix.lower()


def _named(source: Source) -> str:
    if isinstance(source, Mapping):
        return "columns"
    if isinstance(source, (str, PathLike)):
        return str(source)
    return ", ".join(map(str, source))
