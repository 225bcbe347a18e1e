"""CSV as imports and plans read it: keys as they are written, types that change no value, no lost lines."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import haulage
from command import HAUL, clean_environment
from endpoints import TableEndpoint
from haulage.errors import UsageError
from haulage.tables.delimited import typed
from haulage.tables.moving import export_table, files, import_table, verify
from haulage.tables.plan import propose
from haulage.tables.plan.data import Data
from haulage.tables.plan.proposing import choose
from sentences import Sentence
from tables.moving import at, fresh, read

Rows = dict[tuple[str, str], dict[str, Any]]

FIT = (
    "check that each line has as many values as the first line has names, that quotation marks are closed, "
    "and that all lines end alike"
)


@pytest.fixture(scope="module")
def own() -> Iterator[TableEndpoint]:
    with haulage.Emulator() as emulator:
        yield TableEndpoint("emulator", emulator.endpoint)


def imported(own: TableEndpoint, path: Path, **how: Any) -> Rows:
    table = fresh()
    done = import_table(path, at(own, table), create=True, **how)
    found = read(own, table)
    assert (done.refused, done.written) == (0, done.rows)
    assert len(found) == done.rows, "rows were written over others"
    return found


def refused(path: Path) -> haulage.UsageError:
    """Return why neither an import nor a plan takes a file; nothing is left beside it."""
    with pytest.raises(haulage.UsageError) as raised:
        files.from_csv(path)
    with pytest.raises(haulage.UsageError) as planned:
        propose(path)
    assert str(planned.value) == str(raised.value)
    assert [*path.parent.iterdir()] == [path]
    return raised.value


KEYS = (
    "no", "yes", "true", "false", "True", "2020-01-01", "1.50", "1.5", "1e3", "1000", "1000.0", "12:00",
    "12:00:00", "01-02-2020", "007", "7", "+7", "-0", "0", "12345678901234567890123", "NaN", "nan", "null",
    "NULL", "12345678901234567890124", "2020-01-01T00:00:00Z", "2020-01-01 00:00:00", "#1", "", " 1", "1 ",
    "'", '"',
)  # fmt: skip


@pytest.mark.parametrize("names", ["PartitionKey,RowKey", "code,other"])
def test_keys_are_what_the_file_has(own: TableEndpoint, tmp_path: Path, names: str) -> None:
    """`no` became `false`, `1.50` `1.5`, a date a moment; numbers of 23 digits became one row."""
    path = tmp_path / "rows.csv"
    how = {} if names.startswith("P") else {"partition_key": "{code?}", "row_key": "{other}"}
    # Characters that no key has are escaped by templates alone.
    keys = [key for key in KEYS if "#" not in key or how]
    fields = ['"' + key.replace('"', '""') + '"' for key in keys]
    # A column of them all has no type. Times alone have the form that keys of times have, if a template asks.
    alone = [field for field in fields if not (how and "00:00:00" in field)]
    for chosen in (fields, *([field] for field in alone)):
        path.write_text(f"{names}\n" + "".join(f"{field},{field}\n" for field in chosen))
        found = imported(own, path, **how)
        wanted = [keys[fields.index(field)].replace("#", "%23") for field in chosen]
        assert set(found) == {(key, key) for key in wanted}


def test_types_change_no_value(own: TableEndpoint, tmp_path: Path) -> None:
    columns = {
        "truth": (["true", "False"], [True, False]),
        "word": (["yes", "no"], ["yes", "no"]),
        "bit": (["0", "1"], [0, 1]),
        "whole": (["-1", "9223372036854775807"], [-1, 2**63 - 1]),
        "too_long": (["1", "9223372036854775808"], ["1", "9223372036854775808"]),
        "padded": (["007", "12"], ["007", "12"]),
        "plus": (["+4712345678", "1"], ["+4712345678", "1"]),
        "spaced": ([" 1", "2 "], [1, 2]),
        "double": (["1.50", "1e3"], [1.5, 1000.0]),
        "bare": ([".5", "-5."], [0.5, -5.0]),
        "nan_too": (["0.25", "-Infinity"], [0.25, float("-inf")]),
        "mixed": (["3", "0.5"], [3.0, 0.5]),
        "not_both": (["9007199254740993", "0.5"], ["9007199254740993", "0.5"]),
        "printed": (["0.10000000000000001", "1.000000000000000056e-01"], [0.1, 0.1]),
        "finer": (["0.12345678901234567890", "1"], ["0.12345678901234567890", "1"]),
        "huge": (["1e400", "1"], ["1e400", "1"]),
        "tiny": (["1e-400", "1"], ["1e-400", "1"]),
        "american": (["01/02/2020", "02/01/2020"], ["01/02/2020", "02/01/2020"]),
        "clock": (["12:00", "13:00"], ["12:00", "13:00"]),
        "no_day": (["2020-02-30", "2020-01-01"], ["2020-02-30", "2020-01-01"]),
        "leap": (["2020-01-01 24:00:00", "2020-01-01"], ["2020-01-01 24:00:00", "2020-01-01"]),
        "finest": (["2020-01-01 00:00:00.12345678", ""], ["2020-01-01 00:00:00.12345678", None]),
        "empty": (['""', "1"], ["", "1"]),
        "quoted": (['"1"', '"2"'], [1, 2]),
        "missing": (["", "1"], [None, 1]),
    }  # fmt: skip
    path = tmp_path / "rows.csv"
    path.write_text(
        f"PartitionKey,RowKey,{','.join(columns)}\n"
        + "".join(f"p,{n},{','.join(given[n] for given, _ in columns.values())}\n" for n in range(2))
    )
    found = imported(own, path)
    for name, (_, wanted) in columns.items():
        values = [found["p", f"{n}"].get(name) for n in range(2)]
        assert values == wanted, name
        assert [type(value) for value in values] == [type(value) for value in wanted], name


def test_times_keep_their_offset_and_all_digits(own: TableEndpoint, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    times = {
        "2020-01-01": "2020-01-01T00:00:00Z",
        "2020-01-01 12:30": "2020-01-01T12:30:00Z",
        "2020-01-01T02:00:00+02:00": "2020-01-01T00:00:00Z",
        "2020-01-01T00:00:00-0230": "2020-01-01T02:30:00Z",
        "2020-01-01T00:00:00.1234567Z": "2020-01-01T00:00:00.1234567Z",
        "2020-01-01T02:00:00.123456700+02": "2020-01-01T00:00:00.1234567Z",
    }
    given = [*times]
    for chosen in (given, given[:4], given[:1]):
        rows = "".join(f"p,{n},{time}\n" for n, time in enumerate(chosen))
        path.write_text(f"PartitionKey,RowKey,t\n{rows}")
        table = fresh()
        import_table(path, at(own, table), create=True)
        export_table(at(own, table), tmp_path / "rows.jsonl", select=["t"])
        said = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
        assert {row["t@odata.type"] for row in said} == {"Edm.DateTime"}
        assert [row["t"] for row in said] == [times[time] for time in chosen]


def test_templates_see_numbers_and_times_where_they_ask_for_them(own: TableEndpoint, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("n,time,price\n7,2020-01-01 00:00:00,1.50\n8,2020-01-01 01:00:00,1.5\n")
    found = imported(own, path, partition_key="{time:day}", row_key="{n:03}")
    assert sorted(found) == [("2020-01-01", "007"), ("2020-01-01", "008")]
    assert {row["price"] for row in found.values()} == {1.5}
    found = imported(own, path, partition_key="{price}", row_key="{time}")
    assert sorted(found) == [
        ("1.5", "2020-01-01T01:00:00.0000000Z"),
        ("1.50", "2020-01-01T00:00:00.0000000Z"),
    ]
    assert {row["price"] for row in found.values()} == {"1.50", "1.5"}
    # Two texts of one moment are two keys.
    path.write_text("a,time\nx,2020-01-01T00:00:00Z\nx,2020-01-01T01:00:00+01:00\n")
    found = imported(own, path, partition_key="{a}", row_key="{time}")
    assert sorted(found) == [("x", "2020-01-01T00:00:00Z"), ("x", "2020-01-01T01:00:00+01:00")]
    path.write_text("RowKey,v\n1,x\n12,y\n")
    assert {*imported(own, path, partition_key="p", row_key="{RowKey:04}")} == {("p", "0001"), ("p", "0012")}
    assert {*imported(own, path, partition_key="p")} == {("p", "1"), ("p", "12")}


def test_an_index_holds_what_a_filter_asks_for(own: TableEndpoint, tmp_path: Path) -> None:
    path, table = tmp_path / "rows.csv", at(own, fresh())
    path.write_text("PartitionKey,RowKey,level,code\np,1,850,007\np,2,700,no\n")
    import_table(path, table, create=True, index=["level", "code"])
    for filter, row in (
        ("level eq 850", "1"),
        ("level eq 700", "2"),
        ("code eq '007'", "1"),
        ("code eq 'no'", "2"),
    ):
        done = export_table(table, tmp_path / "found.jsonl", filter=filter)
        assert done.index is not None
        assert [
            json.loads(line)["RowKey"] for line in (tmp_path / "found.jsonl").read_text().splitlines()
        ] == [row]


def test_a_plan_sees_the_types_of_an_import(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("PartitionKey,RowKey,code,n,t,price\n1,2,no,1,12:00,1.50\n2,2,yes,2,13:00,1.5\n")
    with Data(path) as data:
        types = {column.name: column.type for column in data.columns}
    assert types == {
        "PartitionKey": "VARCHAR", "RowKey": "VARCHAR", "code": "VARCHAR", "n": "BIGINT", "t": "VARCHAR",
        "price": "DOUBLE",
    }  # fmt: skip
    plan = propose(path, ["price = ?"], keys=("{price}", "{price}"))
    assert plan.best.spread.unique
    assert {column.column.type for column in plan.columns if column.name == "price"} == {"VARCHAR"}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("PartitionKey,RowKey,v\na,1,3\na,2\na,3,4\n", "line 3 has 2 values, but the first line has 3 names"),
        ("PartitionKey,RowKey,v\na,1,3\na,3,4,5\n", "line 3 has 4 values, but the first line has 3 names"),
        ("PartitionKey,RowKey\na,\"x\ny\"\nb\n", "line 4 has 1 value, but the first line has 2 names"),
        ("PartitionKey,RowKey,v\na,1,0,5\na,2,1,5\n", "line 2 has 4 values, but the first line has 3 names"),
        ("PartitionKey,RowKey\na,\"1\n", "line 2: value with unterminated quote found"),
    ],
)  # fmt: skip
def test_lines_that_do_not_fit_are_named(tmp_path: Path, text: str, cause: str) -> None:
    """They were left out, and so was the line of names, and the exit code was 0."""
    path = tmp_path / "rows.csv"
    path.write_text(text)
    error = refused(path)
    assert (error.cause, error.hint, error.object) == (cause, FIT, str(path))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("p,1,x\np,2,y\n", "add a first line with the names of the columns"),
        ("2020-01-01,a\n2020-01-02,b\n", "add a first line with the names of the columns"),
        ("", "add a first line with the names of the columns"),
        ("a,b,A\n1,2,3\n", "rename one of them in the first line"),
        ("a,\"b\"x\n1,2\n", "add a first line with the names of the columns"),
    ],
)  # fmt: skip
def test_files_without_a_line_of_names(tmp_path: Path, text: str, hint: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode())
    assert refused(path).hint == hint


AS_UTF8 = "save it as UTF-8"
CLOSE = "close it; names have no line breaks"
ALIKE = "make all lines end alike"
NULLS = "it is not UTF-8: the first line has null bytes"
UNCLOSED = "a quotation mark in the first line is not closed in it"


@pytest.mark.parametrize(
    ("name", "content", "cause", "hint"),
    [
        ("rows.csv", "a,b\n1,x\n2,ü\n".encode("latin-1"), "line 3 is not UTF-8", AS_UTF8),
        ("rows.csv", "ä,b\n1,x\n".encode("latin-1"), "line 1 is not UTF-8", AS_UTF8),
        ("rows.csv.gz", gzip.compress(b"a,b\n1,\xfc\n", mtime=0), "line 2 is not UTF-8", AS_UTF8),
        ("rows.csv", "a,b\n1,x\n".encode("utf-16"), "it is UTF-16, not UTF-8", AS_UTF8),
        ("rows.csv", "a,b\n1,x\n".encode("utf-16-le"), NULLS, AS_UTF8),
        ("rows.csv", b"a,b\n1,2\r\n3,4\n", "line 2 ends with CRLF, but the first line with LF", ALIKE),
        ("rows.csv", b'a,b\r\n1,"x\ny"\r\n3,4\n', "line 4 ends with LF, but the first line with CRLF", ALIKE),
        ("rows.csv", b'a,"b\n1,2\n', UNCLOSED, CLOSE),
        ("rows.csv", b'a,"b\n1,"x"\n2,y\n', UNCLOSED, CLOSE),
        ("rows.csv", b'"a,b\n1,2\n3,4"\n5,6\n', UNCLOSED, CLOSE),
        (
            "rows.csv", gzip.compress(b"a\n1\n", mtime=0),
            "it is packed with gzip, but its name does not end in .gz",
            "rename it so that its name ends in .gz",
        ),
        (
            "rows.csv.zst", b"a,b\n1,2\n", "its name ends in .zst, but it is not packed with Zstandard",
            "rename it, or fetch it again",
        ),
    ],
)  # fmt: skip
def test_what_no_line_of_values_is_to_blame_for(
    tmp_path: Path, name: str, content: bytes, cause: str, hint: str
) -> None:
    """The hint was about the number of values, or DuckDB's own words were all that was said."""
    path = tmp_path / name
    path.write_bytes(content)
    error = refused(path)
    assert (error.cause, error.hint, error.object) == (cause, hint, str(path))
    if "packed" in cause:
        with pytest.raises(haulage.UsageError) as raised:
            files.has_keys(path)
        assert raised.value.cause == cause


def test_rows_that_are_too_long_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    hint = "check that quotation marks are closed; a row of a table holds at most 1 MiB"
    for content in ("a,b\n1,2\n3," + 2_000_001 * "x" + "\n", 'a,b\n1,2\n3,"x\n' + 500_001 * "4,5\n"):
        path.write_text(content)
        error = refused(path)
        assert (error.cause, error.hint) == ("line 3 begins a row of more than 2,000,000 bytes", hint)
    path.write_text("a,b\n1,2\n3," + 1_900_000 * "x" + "\n")
    with duckdb.connect() as connection:
        read = connection.read_parquet(str(files.from_csv(path))).fetchall()
    assert [len(text) for _, text in read] == [1, 1_900_000]


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_packed_files_are_read_to_their_end(own: TableEndpoint, tmp_path: Path, packer: str) -> None:
    """A part of the rows was imported, or altered ones, and the exit code was 0."""
    lines = [f"p,{n:05},{n * n}\n" for n in range(5_000)]
    parts = ["PartitionKey,RowKey,v\n" + "".join(lines[:3_000]), "".join(lines[3_000:])]
    members = [pa.compress(part.encode(), codec=packer, asbytes=True) for part in parts]
    if packer == "gzip":
        members = [gzip.compress(part.encode()) for part in parts]
    whole, path = b"".join(members), tmp_path / f"rows.csv.{'gz' if packer == 'gzip' else 'zst'}"
    path.write_bytes(whole)
    found = imported(own, path)
    assert found == {("p", f"{n:05}"): {"v": n * n} for n in range(5_000)}
    damaged = [whole[:-1], whole[: len(whole) // 2], whole[: len(members[0]) + 9], members[0] + b"odd"]
    if packer == "gzip":
        flipped = bytearray(whole)
        flipped[len(members[0]) // 2] ^= 1
        damaged += [bytes(flipped), whole[:-8] + bytes(4) + whole[-4:], whole[:-4] + bytes(4)]
    for content in damaged:
        path.write_bytes(content)
        for reader in (files.from_csv, propose):
            with pytest.raises(haulage.IntegrityError) as raised:
                reader(path)
            assert raised.value.cause.startswith("the file is damaged: ")
            assert raised.value.hint == "fetch it again, or pack it again"
    path.write_bytes(members[0][:12])
    with pytest.raises(haulage.IntegrityError) as raised:
        files.has_keys(path)
    assert raised.value.cause.startswith("the file is damaged: ")


def test_an_empty_value_at_the_end_of_a_line_is_let_through(own: TableEndpoint, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("PartitionKey,RowKey,v\np,1,x,\np,2,y\n")
    assert imported(own, path) == {("p", "1"): {"v": "x"}, ("p", "2"): {"v": "y"}}


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        (["0001-01-01T00:00:00+14:00"], "VARCHAR"),
        (["9999-12-31T23:59:59-01:00", "2020-01-01"], "VARCHAR"),
        (["0000-12-31T23:00:00"], "VARCHAR"),
        (["0000-05-05"], "VARCHAR"),
        (["0000-12-31T23:00:00-02:00", "9999-12-31T23:59:59.999999Z", "0001-01-01"], "TIMESTAMP"),
        # Nanoseconds cannot hold them all.
        (["2262-04-11T10:00:00.1234567-14:00"], "VARCHAR"),
        (["2020-01-01T10:00:00.1234567-14:00"], "TIMESTAMP_NS"),
    ],
)
def test_times_that_no_table_holds_stay_text(tmp_path: Path, times: list[str], kind: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("t,n\n" + "".join(f"{time},1\n" for time in times))
    with Data(path) as data:
        assert [column.type for column in data.columns] == [kind, "BIGINT"]


ROW = {"text": "a;b,c\n\t|", "n": 1, "d": 0.5}


NAMES = ("rows.csv", "rows.tsv", "rows.TSV", "rows.csv.gz")
DELIMITERS = (",", ";", "\t", "|")
#: Each form of a file: every two values of name, delimiter, end of line and mark meet in one of them.
FORMS = [
    (name, delimiter, ("\n", "\r\n")[(row + column) % 2], ("", "\ufeff")[(row // 2 + column) % 2])
    for row, name in enumerate(NAMES)
    for column, delimiter in enumerate(DELIMITERS)
]


@pytest.mark.parametrize(("name", "delimiter", "end", "mark"), FORMS)
def test_forms_of_csv(
    own: TableEndpoint, tmp_path: Path, name: str, delimiter: str, end: str, mark: str
) -> None:
    path = tmp_path / name
    rows = [["code", '"place"', "text", "n", "d"], ["#é", "1,5", '"a;b,c\n\t|"', "1", "0.5"]]
    # A value that holds the delimiter is quoted.
    rows[1] = [f'"{value}"' if delimiter in value and value[0] != '"' else value for value in rows[1]]
    text = mark + "".join(delimiter.join(row) + end for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    found = imported(own, path, partition_key="{code}", row_key="{place}")
    assert found == {("%23é", "1,5"): {"code": "#é", "place": "1,5"} | ROW}
    with Data(path) as data:
        assert [column.type for column in data.columns] == ["VARCHAR"] * 3 + ["BIGINT", "DOUBLE"]


def test_empty_text_and_missing_values_come_back(own: TableEndpoint, tmp_path: Path) -> None:
    """An empty text, `""` in an export, came back as a missing value; a row with an empty key was refused."""
    rows = [
        {"PartitionKey": "", "RowKey": "", "a": "", "b": "x"},
        {"PartitionKey": "p", "RowKey": "null", "b": ""},
    ]
    lines, path = tmp_path / "rows.jsonl", tmp_path / "rows.csv"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = fresh()
    import_table(lines, at(own, table), create=True)
    export_table(at(own, table), path)
    found = imported(own, path, exclude=["Timestamp"])
    assert found == read(own, table) == {("", ""): {"a": "", "b": "x"}, ("p", "null"): {"b": ""}}


def test_files_of_a_plan_may_have_other_columns_and_delimiters(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("id,n\na,1\n")
    (tmp_path / "2.csv").write_text("n;ID;code\n2;b;x\n3;c;07\n")
    (tmp_path / "3.tsv").write_text("id\tn\nd\t4\n")
    with Data(tmp_path) as data:
        columns = {column.name: column.type for column in data.columns}
        rows = data.all("SELECT * FROM haul_rows ORDER BY haul_place")
    assert columns == {"id": "VARCHAR", "n": "BIGINT", "code": "VARCHAR"}
    assert [row[:-1] for row in rows] == [("a", 1, None), ("b", 2, "x"), ("c", 3, "07"), ("d", 4, None)]


def test_other_templates_ask_for_other_types(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1.50,2\n")
    made = files.from_csv(path)
    first = made.read_bytes()
    assert files.from_csv(path).read_bytes() == first
    assert files.from_csv(path, ["{a}", "{b}"]).read_bytes() != first


def test_a_format_counts_where_keys_are_chosen(own: TableEndpoint, tmp_path: Path) -> None:
    """`--format csv` was forgotten: `the format is unknown`."""
    (tmp_path / "d.txt").write_text("a,b\n1,x\n2,y\n")
    table, env = at(own, fresh()), clean_environment(tmp_path)
    command = [str(HAUL), "table", "import", "d.txt", table, "--format", "csv", "--create"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    assert "2 of 2 rows of d.txt" in done.stdout
    assert "haul: chose keys" in done.stderr
    assert "haul table plan" not in done.stderr
    plan = propose(tmp_path / "d.txt", format="csv")
    assert choose(tmp_path / "d.txt", format="csv")[:2] == (
        str(plan.best.keys.partition),
        str(plan.best.keys.row),
    )
    assert "--format csv" in plan.command()


def test_a_format_that_is_unknown_is_said_before_keys_are_chosen(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("a,b\n1,x\n2,y\n")
    with pytest.raises(haulage.UsageError) as raised:
        files.has_keys(tmp_path / "d.txt")
    assert raised.value.hint == "give --format parquet, arrow, csv or jsonl"


def test_a_plan_of_an_export_agrees_with_an_import(own: TableEndpoint, tmp_path: Path) -> None:
    """It told to leave out columns that hold values, and to rename the keys."""
    rows: list[dict[str, Any]] = [
        {"PartitionKey": "p", "RowKey": "1", "x": 1, "n": "5", "at": "2020-01-01T00:00:00Z"},
        {"PartitionKey": "p", "RowKey": "2", "x": "one", "t": "1601-01-01T00:00:00Z"},
    ]
    rows[0] |= {"n@odata.type": "Edm.Int64", "at@odata.type": "Edm.DateTime"}
    rows[1]["t@odata.type"] = "Edm.DateTime"
    lines, table = tmp_path / "rows.jsonl", at(own, fresh())
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_table(lines, table, create=True)
    for form in ("csv", "parquet", "jsonl"):
        path = tmp_path / f"export.{form}"
        export_table(table, path)
        plan = propose(path)
        assert "--exclude" not in plan.command(), form
        told = " ".join(plan.warnings)
        assert "rename" not in told
        assert "does not allow" not in told
        assert "to keep them, import it without --partition-key and --row-key" in told
        notes = {one.column: (one.edm, one.note) for one in plan.types}
        assert notes["RowKey"] == ("Edm.String", "the file's own key, which an import without templates uses")
        assert notes["at"][0] == "Edm.DateTime"
        assert notes["Timestamp"][1] == "not imported, because the service sets it"
        if form == "jsonl":
            assert {*notes} == {"PartitionKey", "RowKey", "Timestamp", "x", "n", "at", "t"}
        else:
            typed = {name: edm for name, (edm, _) in notes.items() if "@" in name}
            assert typed == {
                "x@Edm.Int32": "Edm.Int32",
                "x@Edm.String": "Edm.String",
                "t@Edm.DateTime.text": "Edm.DateTime",
            }
        again = at(own, fresh())
        import_table(path, again, create=True)
        if form != "csv":
            assert verify(table, again).same


def test_packed_lines_of_json_are_read_to_their_end_by_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    whole = gzip.compress(b"".join(b'{"id": %d}\n' % n for n in range(1_000)))
    path.write_bytes(whole)
    assert propose(path).rows == 1_000
    path.write_bytes(whole[:-8] + bytes(8))
    with pytest.raises(haulage.IntegrityError) as raised:
        propose(path)
    assert raised.value.cause.startswith("the file is damaged: ")


def test_csv_cannot_be_compared(tmp_path: Path) -> None:
    """The hint named `--format`, which `haul table verify` does not have."""
    path = tmp_path / "rows.csv"
    path.write_text("PartitionKey,RowKey\np,1\n")
    with pytest.raises(haulage.UsageError) as raised:
        verify("az-table://rows", str(path))
    assert raised.value.cause == "CSV says no types"
    assert raised.value.hint == (
        "compare a file that haul table export wrote as .parquet, .arrow or .jsonl, or import this one and "
        "compare the tables"
    )


@pytest.mark.parametrize(
    "names", ["PartitionKey,hour", "RowKey,hour", "Partitionkey,RowKey", "partitionKey,rowkey", "ROWKEY"]
)
def test_keys_of_a_file_are_not_replaced_by_others(tmp_path: Path, names: str, sentence: Sentence) -> None:
    """An import made up keys where it found one of the two, or both in other letters."""
    (tmp_path / "rows.csv").write_text(f"{names}\n{'1,' * names.count(',')}1\n")
    with pytest.raises(UsageError) as refused:
        files.has_keys(tmp_path / "rows.csv")
    sentence(refused.value)


def test_types_in_columns_of_their_own_are_those_of_the_properties(
    own: TableEndpoint, tmp_path: Path
) -> None:
    """As Storage Explorer exports them: a column of types beside that of the values."""
    lines = [
        "PartitionKey,RowKey,Timestamp,age,age@type,id,id@type,mixed,mixed@type,at,at@type",
        "a,1,2024-01-01T00:00:00Z,7,Int32,0012,String,5,Int64,2024-02-03T04:05:06Z,DateTime",
        "a,2,2024-01-01T00:00:00Z,8,Edm.Int32,7,String,true,Boolean,,",
        "a,3,2024-01-01T00:00:00Z,,,,,,,,",
    ]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    found = imported(own, tmp_path / "rows.csv")
    first, second, third = (found["a", key] for key in "123")
    assert (first["age"], first["id"], first["mixed"]) == (7, "0012", 5)
    assert first["at"] == datetime(2024, 2, 3, 4, 5, 6)
    assert (second["age"], second["id"], second["mixed"]) == (8, "7", True)
    assert not third


def column_types(path: Path, text: str, templates: Sequence[str] = ()) -> dict[str, str]:
    path.write_text(text)
    with duckdb.connect() as connection:
        rows = typed(connection, [path], templates)
        return {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {rows}").fetchall()}


@pytest.mark.parametrize(
    ("text", "types"),
    [
        # Not about types: they are columns as others.
        ("n,n@type\n5,celsius\n", {"n": "BIGINT", "n@type": "VARCHAR"}),
        (
            "n,n@type,n@Edm.Int32,n@Edm.String\n5,Int32,1,\nx,String,,y\n",
            {"n": "VARCHAR", "n@type": "VARCHAR"},
        ),
        ("n,n@type\n5,edm.int32\n", {"n": "INTEGER"}),
        ("n,n@type\nx,\ny,String\n", {"n": "VARCHAR"}),
        ("t,t@type\n2024-02-03T04:05:06.1234567Z,DateTime\n", {"t": "TIMESTAMP_NS"}),
        ("PartitionKey,PartitionKey@type\n007,Int32\n", {"PartitionKey": "VARCHAR"}),
        ("n,n@type\n5,Int32\ntrue,Boolean\n", {"n@Edm.Boolean": "BOOLEAN", "n@Edm.Int32": "INTEGER"}),
    ],
)
def test_what_stands_beside_a_column_is_its_type_if_it_is_one(
    tmp_path: Path, text: str, types: dict[str, str]
) -> None:
    assert column_types(tmp_path / "rows.csv", text).items() >= types.items()


def test_a_key_has_the_text_of_the_file_whatever_type_is_said(tmp_path: Path) -> None:
    assert column_types(tmp_path / "rows.csv", "n,n@type\n007,Int64\n", ["{n}", "k"]) == {"n": "VARCHAR"}


@pytest.mark.parametrize(
    "cell",
    [
        "1.5,Int32",
        "3000000000,Int32",
        "007,Int64",
        "yes,Boolean",
        "0.1234567890123456789,Double",
        "x,Guid",
        "%,Binary",
    ],
)
def test_a_type_that_would_change_a_value_is_refused(tmp_path: Path, cell: str, sentence: Sentence) -> None:
    (tmp_path / "rows.csv").write_text(f"PartitionKey,RowKey,n,n@type\na,1,{cell}\n")
    with pytest.raises(UsageError) as refused:
        files.from_csv(tmp_path / "rows.csv")
    sentence(refused.value.hint)
    assert refused.value.cause.startswith("n has values that are no ")
