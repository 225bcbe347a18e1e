"""CSV as tables and plans read it: every value as text first, its types by fixed rules, no guessing at lines.

The first line names the columns and fixes the delimiter. A line with more or fewer values is an error, and so
is a name that looks like a value. DuckDB reads the lines; what it would detect by itself is given.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from haulage.errors import UsageError
from haulage.tables import keys, packed, text_types
from haulage.tables.quoting import listed, literal, quoted

if TYPE_CHECKING:
    import duckdb

#: How the names of such files end.
SUFFIXES = (".csv", ".tsv")
_DELIMITERS = ",\t;|"
#: Bytes that a line may have; those of an entity are fewer.
_LINE_BYTES = 2_000_000
_FIT = (
    "check that each line has as many values as the first line has names, that quotation marks are closed, "
    "and that all lines end alike"
)
_AS_UTF8 = "save it as UTF-8"
#: What the name of a column with types ends in.
_TYPE = "@type"
_ENDS = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
#: What is a value, not a name: a number, a date, or a time.
_VALUE = re.compile(r"\s*([+-]?[\d.,:/]*\d[\d.,:/]*([eE][+-]?\d+)?|\d{4}-\d{2}-\d{2}([T ].*)?)\s*")


@dataclass(frozen=True)
class Header:
    """What the first line of a file says."""

    names: tuple[str, ...]
    delimiter: str


def is_csv(path: Path, format: str | None = None) -> bool:
    """Whether a file is CSV: its format, or its name without ``.gz`` or ``.zst``, says so.

    >>> is_csv(Path("rows.TSV")), is_csv(Path("rows.csv.gz")), is_csv(Path("rows.txt"), "csv")
    (True, True, True)
    """
    if format is not None:
        return format == "csv"
    return Path(path.name.removesuffix(".gz").removesuffix(".zst")).suffix.lower() in SUFFIXES


def header(connection: duckdb.DuckDBPyConnection, path: Path) -> Header:
    """Return the names and the delimiter of a file.

    Raises:
        UsageError: There is no line of names.
    """
    # The line as it is. DuckDB unpacks what is packed, and skips a byte order mark.
    scan = (
        f"SELECT * FROM read_csv({listed([path])}, columns={{'line': 'VARCHAR'}}, "
        "auto_detect=false, delim=chr(1), quote='', escape='', comment='', header=false, skip=0, "
        f"strict_mode=false, max_line_size={_LINE_BYTES}) LIMIT 1"
    )
    with told([path]):
        lines = connection.execute(scan).fetchall()
    text = (lines[0][0] or "" if lines else "").lstrip("\ufeff")
    if "\0" in text:
        raise UsageError("read", str(path), "it is not UTF-8: the first line has null bytes", _AS_UTF8)
    delimiter = _delimiter(text)
    try:
        names = next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        if "unexpected end" in str(error):
            cause = "a quotation mark in the first line is not closed in it"
            raise UsageError("read", str(path), cause, "close it; names have no line breaks") from error
        raise _no_names(path, f"the first line cannot be read: {error}") from error
    names = [name.strip() for name in names]
    if not any(names):
        # Of what is cut off, DuckDB may see nothing.
        packed.check(path)
        raise _no_names(path, "the first line names no columns")
    value = next((name for name in names if _VALUE.fullmatch(name)), None)
    if value is not None:
        raise _no_names(path, f"the first line must name the columns, but `{value}` looks like a value")
    names = [name or f"column{at}" for at, name in enumerate(names)]
    known: set[str] = set()
    for name in names:
        if name.lower() in known:
            cause = f"two columns have the name `{name}`; upper and lower case count as the same"
            raise UsageError("read", str(path), cause, "rename one of them in the first line")
        known.add(name.lower())
    return Header(tuple(names), delimiter)


def scan(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> tuple[str, tuple[str, ...]]:
    """Return the rows of files, all values as text, as a query of SQL, and the names of their columns."""
    for path in files:
        packed.check(path)
    found = [(header(connection, path), path) for path in files]
    # Files that are alike are read by one call; their order stays.
    alike = [(head, [path for _, path in group]) for head, group in groupby(found, key=lambda one: one[0])]
    # As SQL compares them.
    names = {name.lower(): name for head, _ in reversed(alike) for name in head.names}
    return " UNION ALL BY NAME ".join(_read(head, paths) for head, paths in alike), tuple(names.values())


def typed(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], templates: Sequence[str | None] = ()
) -> str:
    """Return the rows of files, each column with the type that all of its values fit, as a query of SQL.

    A column stays text if a type would change one of its values, see :mod:`haulage.tables.text_types`, and so
    do ``PartitionKey`` and ``RowKey``.

    Args:
        connection: What runs the query later: it gets the functions that the query needs. Use :func:`told`
            around both.
        files: CSV files.
        templates: Those of the keys. A column that they name without a format gets a type only if each of its
            values has the text in a key that it has in the file.

    Raises:
        UsageError: A file has no line of names, or a line that does not fit it.
        IntegrityError: A packed file is damaged.
    """
    rows, names = scan(connection, files)
    fields: list[keys.Field] = []
    for template in templates:
        # What is wrong with one, the engine says.
        with suppress(UsageError):
            parts = keys.parse(template).parts if template is not None else ()
            fields += [part for part in parts if isinstance(part, keys.Field)]
    # Numbers and times of a key must be some.
    as_values = {field.column for field in fields if not field.plain}
    as_text = {field.column for field in fields} - as_values
    beside = _types_beside(connection, rows, names)
    # Keys have the text of the file, whatever is said of it.
    typed_so = {name: kinds for name, kinds in beside.items() if name not in as_text | as_values}
    plain = [name for name in names if name not in {*typed_so, *(f"{one}{_TYPE}" for one in beside)}]
    casts = text_types.casts(connection, rows, plain, as_text=as_text, as_values=as_values)
    for name, kinds in typed_so.items():
        try:
            casts += text_types.by_said(connection, rows, name, f"{name}{_TYPE}", kinds)
        except ValueError as error:
            hint = f"correct them, or what {name}{_TYPE} says"
            raise UsageError("read", str(files[0]), str(error), hint) from None
    return f"SELECT {', '.join(casts)} FROM ({rows})"


def _types_beside(
    connection: duckdb.DuckDBPyConnection, rows: str, names: Sequence[str]
) -> dict[str, list[str]]:
    """Return the columns beside which stand their types, as Storage Explorer writes them, and those."""
    found = {}
    for name in names:
        if f"{name}{_TYPE}" in names and name.lower() not in text_types.KEYS:
            kinds = text_types.said(connection, rows, name, f"{name}{_TYPE}")
            if kinds is not None and not any(f"{name}@Edm.{kind}" in names for kind in kinds):
                found[name] = kinds
    return found


@contextmanager
def told(files: Sequence[Path]) -> Iterator[None]:
    """Say of files that DuckDB cannot read as CSV which line is wrong, and what is wrong with it."""
    import duckdb

    try:
        yield
    except duckdb.InvalidInputException as error:
        text = str(error)
        found = re.search(r"^  file = (.*)$", text, re.MULTILINE)
        file = next((path for path in files if found and str(path) == found[1]), files[0])
        packed.check(file)
        cause, hint = _wrong(file) or (_cause(text), _FIT)
        raise UsageError("read", str(file), cause, hint) from error


def _wrong(path: Path) -> tuple[str, str] | None:
    """Return which line of a file cannot be read and why, by its number in the file, and a hint."""
    limit = csv.field_size_limit(_LINE_BYTES)
    try:
        with packed.opened(path) as file:
            if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
                return "it is UTF-16, not UTF-8", _AS_UTF8
        with io.TextIOWrapper(packed.opened(path), "utf-8-sig", newline="") as text:
            return _misfit(text)
    except UnicodeDecodeError:
        return f"line {_undecodable(path):,} is not UTF-8", _AS_UTF8
    except (OSError, csv.Error):
        return None
    finally:
        csv.field_size_limit(limit)


def _misfit(file: io.TextIOWrapper) -> tuple[str, str] | None:
    """Return which line is too long, has more or fewer values than there are names, or ends otherwise."""
    first, pulled = file.readline(), list[str]()

    def lines() -> Iterator[str]:
        for line in chain([first], file):
            pulled.append(line)
            yield line

    rows = csv.reader(lines(), delimiter=_delimiter(first))
    names, ends, other, number = 0, "", None, 1
    while True:
        pulled.clear()
        try:
            row = next(rows, None)
        except csv.Error:
            row = []
            if sum(map(len, pulled)) <= _LINE_BYTES:
                return None
        if row is None:
            return other
        if sum(len(line.encode()) for line in pulled) > _LINE_BYTES:
            cause = f"line {number:,} begins a row of more than {_LINE_BYTES:,} bytes"
            return cause, "check that quotation marks are closed; a row of a table holds at most 1 MiB"
        names = names or len(row)
        # An empty value at the end is let through.
        if row and len(row) != names and not (len(row) == names + 1 and not row[-1]):
            values = "1 value" if len(row) == 1 else f"{len(row):,} values"
            of_names = "1 name" if names == 1 else f"{names:,} names"
            return f"line {number:,} has {values}, but the first line has {of_names}", _FIT
        end = pulled[-1][len(pulled[-1].rstrip("\r\n")) :] if pulled else ""
        ends = ends or end
        if end not in (ends, "") and other is None:
            cause = f"line {number:,} ends with {_ENDS[end]}, but the first line with {_ENDS[ends]}"
            other = cause, "make all lines end alike"
        number = rows.line_num + 1


def _undecodable(path: Path) -> int:
    """Return the number of the first line that is not UTF-8."""
    with packed.opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1


def _cause(text: str) -> str:
    line = re.search(r"CSV Error on Line: (\d+)", text)
    # What is below the line itself, which may have several lines.
    wrong = re.search(r"^(.* (?:found|encoded))\.$", text, re.MULTILINE)
    if line and wrong:
        return f"line {line[1]}: {wrong[1][:1].lower()}{wrong[1][1:]}"
    return text.splitlines()[0].removeprefix("Invalid Input Error: ").rstrip(". ")


def _delimiter(line: str) -> str:
    """Return what is between the names: the first of those that are most frequent outside quotation marks."""
    unquoted = re.sub(r'"(?:[^"]|"")*("|$)', "", line).partition("\n")[0]
    return max(_DELIMITERS, key=unquoted.count)


def _no_names(path: Path, cause: str) -> UsageError:
    hint = "add a first line with the names of the columns"
    return UsageError("read", str(path), cause, hint)


def _read(head: Header, paths: Sequence[Path]) -> str:
    # By place: as names of its own DuckDB takes not all that a line of names may have.
    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(len(head.names)))
    named = ", ".join(f"c{at} AS {quoted(name)}" for at, name in enumerate(head.names))
    return (
        f"SELECT {named} FROM read_csv({listed(paths)}, columns={{{columns}}}, auto_detect=false, "
        f"delim={literal(head.delimiter)}, quote='\"', escape='\"', comment='', header=true, skip=0, "
        "strict_mode=true, null_padding=false, nullstr='', allow_quoted_nulls=false, encoding='utf-8', "
        f"hive_partitioning=false, max_line_size={_LINE_BYTES})"
    )
