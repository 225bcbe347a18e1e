"""What exports and imports say where they cannot go on, and what to do about it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import haulage
from command import HAUL, Haul, clean_environment
from endpoints import TableEndpoint
from haulage import _engine
from haulage.tables.moving import backup, export_table, files, import_table, verify
from haulage.tables.moving.files import has_keys
from haulage.tables.plan import propose
from tables.moving import at, fresh


@pytest.fixture(scope="module")
def own() -> Iterator[TableEndpoint]:
    with haulage.Emulator() as emulator:
        yield TableEndpoint("emulator", emulator.endpoint)


def hint_of(call: Callable[[], object]) -> str | None:
    with pytest.raises(haulage.HaulageError) as raised:
        call()
    return raised.value.hint


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_addresses_without_account_or_with_a_sas(tmp_path: Path) -> None:
    def said(table: str) -> str:
        command = [str(HAUL), "table", "export", table, "rows.parquet"]
        done = subprocess.run(
            command, env=clean_environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=30
        )
        assert done.returncode == 2, done
        return done.stderr

    nothing = (
        "set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING, give --endpoint, "
        "or write https://ACCOUNT.table.core.windows.net/TABLE"
    )
    assert nothing in said("az-table://rows")
    command = [str(HAUL), "cp", "az-table://rows", "rows"]
    done = subprocess.run(
        command, env=clean_environment(tmp_path), capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, "haul table works with tables: haul table --help" in done.stderr) == (2, True)
    signed = said("az-table://rows?sv=1&sig=c2VjcmV0")
    assert "write https://ACCOUNT.table.core.windows.net/TABLE?SAS, or set AZURE_STORAGE_SAS_TOKEN" in signed
    assert "c2VjcmV0" not in signed


def test_what_is_not_there(own: TableEndpoint, tmp_path: Path) -> None:
    path = lines(tmp_path / "rows.jsonl", {"PartitionKey": "p", "RowKey": "r"})
    there = "check the name; haul table import --create creates the table"
    assert hint_of(lambda: export_table(at(own, "Nowhere"), tmp_path / "a.csv")) == there
    assert hint_of(lambda: import_table(path, at(own, "Nowhere"))) == there
    assert hint_of(lambda: import_table(tmp_path / "none.parquet", at(own, fresh()))) == "check the path"
    assert hint_of(lambda: import_table(tmp_path / "none.csv", at(own, fresh()))) == "check the path"


def test_files_that_are_none_of_these(own: TableEndpoint, tmp_path: Path) -> None:
    table = at(own, fresh())
    odd = tmp_path / "rows.txt"
    odd.write_text("a,b\n1,2\n")
    assert hint_of(lambda: import_table(odd, table)) == "give --format parquet, arrow, csv or jsonl"
    unread = hint_of(lambda: import_table(odd, table, format="parquet"))
    assert unread == "say what it is: --format parquet, arrow, csv or jsonl"
    other: Any = "xlsx"
    unknown = hint_of(lambda: import_table(odd, table, format=other))
    assert unknown == "formats are parquet, arrow, csv and jsonl"
    compared = hint_of(lambda: verify(str(odd), table))
    assert compared in ("use a name ending in .parquet, .arrow or .jsonl",)
    assert hint_of(lambda: has_keys(tmp_path / "none.parquet")) == "check the path"
    (tmp_path / "odd.parquet").write_bytes(b"odd")
    assert hint_of(lambda: has_keys(tmp_path / "odd.parquet")) == "check the path and the format"
    broken = tmp_path / "broken.csv"
    broken.write_bytes(b"a,b\n1,2\n\xff\xfe")
    assert hint_of(lambda: import_table(broken, table)) == "save it as UTF-8"
    broken.write_bytes(b"a,b\n1,2\n3\n")
    assert hint_of(lambda: import_table(broken, table)) == (
        "check that each line has as many values as the first line has names, that quotation marks are "
        "closed, and that all lines end alike"
    )


def test_a_parquet_file_that_is_cut_short_is_damaged_and_not_of_another_format(
    own: TableEndpoint, tmp_path: Path
) -> None:
    rows = [{"PartitionKey": "p", "RowKey": f"{row:04d}", "value": row / 3} for row in range(500)]
    kept, table = tmp_path / "kept.parquet", at(own, fresh())
    import_table(lines(tmp_path / "rows.jsonl", *rows), table, create=True)
    backup(table, kept)
    whole = kept.read_bytes()
    receipt = f"{kept}.receipt.json"
    verify(table, str(kept))
    calls: list[Callable[[], object]] = [
        lambda: import_table(kept, table),
        lambda: import_table(kept, table, format="parquet"),
        lambda: verify(table, str(kept)),
        lambda: verify(table, receipt),
        lambda: has_keys(kept),
    ]
    for left, cause in (
        (len(whole) - 1, "it is cut short: its footer is missing"),
        (len(whole) // 2, "it is cut short: its footer is missing"),
        (6, "it is cut short: its footer is missing"),
        (2, "it is cut short: its footer is missing"),
        (0, "it is empty"),
    ):
        kept.write_bytes(whole[:left])
        for call in calls:
            with pytest.raises(haulage.IntegrityError) as raised:
                call()
            assert (raised.value.cause, raised.value.exit_code) == (cause, 5), left
            assert raised.value.hint == "fetch the file again, or make another from its source"
    # The end is there, and the footer before it is not what it was.
    footer = int.from_bytes(whole[-8:-4], "little")
    kept.write_bytes(whole[: -8 - footer] + b"\xff" * footer + whole[-8:])
    with pytest.raises(haulage.IntegrityError, match="it is damaged: "):
        has_keys(kept)
    # What never was Parquet is not said to be a damaged one.
    kept.write_bytes((tmp_path / "rows.jsonl").read_bytes())
    with pytest.raises(haulage.UsageError):
        import_table(kept, table)


def test_what_is_damaged_further_on_is_said_when_it_is_read(own: TableEndpoint, tmp_path: Path) -> None:
    table = at(own, fresh())
    number = list(range(100_000))
    rows = pa.table({"PartitionKey": ["p"] * len(number), "RowKey": [f"{n:06}" for n in number], "n": number})
    parquet, stream = tmp_path / "rows.parquet", tmp_path / "rows.arrow"
    pq.write_table(rows, parquet, compression="none", use_dictionary=False)
    with pa.ipc.new_stream(stream, rows.schema) as out:
        out.write_table(rows, max_chunksize=10_000)
    whole = parquet.read_bytes()
    parquet.write_bytes(whole[:100] + b"\xff" * 1000 + whole[1100:])
    stream.write_bytes(stream.read_bytes()[: stream.stat().st_size // 2])
    for path in (parquet, stream):
        with pytest.raises(haulage.IntegrityError) as raised:
            import_table(path, table, create=True)
        assert raised.value.cause.startswith("the file is damaged: ")
        assert raised.value.hint == "fetch the file again, or make another from its source"


def test_columns_that_no_table_can_hold(own: TableEndpoint, tmp_path: Path) -> None:
    table, keys = at(own, fresh()), {"PartitionKey": ["p"], "RowKey": ["r"]}
    path = tmp_path / "rows.parquet"

    def said(**columns: Any) -> str | None:
        pq.write_table(pa.table(keys | columns), path)
        return hint_of(lambda: import_table(path, table, create=True))

    assert said(odd=[[1, 2]]) == "leave it out: --exclude odd"
    assert said(**{"two words": [1]}) == "rename the column, or leave it out: --exclude 'two words'"
    pq.write_table(pa.table({"a": ["p"], "Timestamp": ["now"]}), path)
    stamped = hint_of(lambda: import_table(path, table, partition_key="{a}", row_key="{a}"))
    assert stamped == "rename the column, or leave it out: --exclude Timestamp"
    done = import_table(path, table, partition_key="{a}", row_key="{a}", exclude=["Timestamp"], create=True)
    assert done.written == 1
    # Somebody's own, though the keys are columns; only a time may be what the service had set.
    for column in (["now"], [7]):
        assert said(Timestamp=column) == "rename the column, or leave it out: --exclude Timestamp"
    pq.write_table(pa.table(keys | {"Timestamp": pa.array([datetime(2020, 1, 1, tzinfo=UTC)])}), path)
    stream = tmp_path / "rows.arrow"
    with pa.OSFile(str(stream), "wb") as file, pa.ipc.new_stream(file, pq.read_schema(path)) as writer:
        writer.write_table(pq.read_table(path))
    for source, more, told in (
        (path, (), 1),
        (path, ("--exclude", "Timestamp"), 0),
        (path, ("--quiet",), 0),
        (stream, (), 1),
    ):
        command = [str(HAUL), "table", "import", str(source), at(own, fresh()), "--create", *more]
        went = subprocess.run(
            command, env=clean_environment(tmp_path), capture_output=True, text=True, check=True
        )
        assert went.stderr.count("the column Timestamp was left out: the service sets it") == told
    noted = lines(tmp_path / "rows.jsonl", {"PartitionKey": "p", "RowKey": "r", "Timestamp": "noon"})
    assert import_table(noted, at(own, fresh()), create=True).refused == 1
    assert import_table(noted, at(own, fresh()), exclude=["Timestamp"], create=True).written == 1
    own_time = {"a": "p", "Timestamp": "2020-01-01T00:00:00Z"}
    noted = lines(tmp_path / "noted.jsonl", own_time)
    done = import_table(noted, at(own, fresh()), partition_key="{a}", row_key="{a}", create=True)
    assert done.refused == 1
    exported = tmp_path / "exported.parquet"
    export_table(table, exported)
    assert "Timestamp" in pq.read_schema(exported).names
    assert import_table(exported, at(own, fresh()), create=True).written == 1


def test_another_process_at_the_same_work(own: TableEndpoint, tmp_path: Path) -> None:
    path, table = lines(tmp_path / "rows.jsonl", {"PartitionKey": "p", "RowKey": "r"}), fresh()
    import_table(path, at(own, table), create=True)
    lock = tmp_path / f"rows.jsonl.{table}.lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert hint_of(lambda: import_table(path, at(own, table))) == "wait for it to end"
    folder = tmp_path / ".a.csv.haul-export"
    folder.mkdir()
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        hint = hint_of(lambda: export_table(at(own, table), tmp_path / "a.csv"))
        assert hint == "wait for it to end, or write to another file"


def test_files_out_of_order_or_without_keys_are_not_compared(own: TableEndpoint, tmp_path: Path) -> None:
    table = at(own, fresh())
    rows = [{"PartitionKey": "p", "RowKey": key} for key in "ba"]
    import_table(lines(tmp_path / "rows.jsonl", *rows), table, create=True)
    told = "compare what haul table export or backup has written, or import it and compare the table"
    assert hint_of(lambda: verify(str(tmp_path / "rows.jsonl"), table)) == told
    without = lines(tmp_path / "other.jsonl", {"x": 1})
    assert hint_of(lambda: verify(str(without), table)) == told


def test_rows_with_more_properties_than_a_file_has_columns(own: TableEndpoint, tmp_path: Path) -> None:
    table = at(own, fresh())
    rows = [
        {"PartitionKey": "p", "RowKey": f"{n:03}"} | {f"x{n}_{at}": 1 for at in range(240)} for n in range(45)
    ]
    import_table(lines(tmp_path / "rows.jsonl", *rows), table, create=True)
    hint = hint_of(lambda: export_table(table, tmp_path / "rows.parquet"))
    assert hint == "select the columns you need: --select A,B"
    assert export_table(table, tmp_path / "some.parquet", select=["x0_1", "x44_239"]).rows == 45


def test_calls_of_the_engine_that_make_no_sense(own: TableEndpoint, tmp_path: Path) -> None:
    path, table = lines(tmp_path / "rows.jsonl", {"PartitionKey": "p", "RowKey": "r"}), at(own, fresh())
    made = _engine.TableImport(path, table, create=True)
    made.run()
    assert hint_of(made.run) == "make a new one"
    exported = _engine.TableExport(table, tmp_path / "a.csv")
    exported.run()
    assert hint_of(exported.run) == "make a new one"
    levels = hint_of(lambda: _engine.Table(table).page(level="most"))
    assert levels == "levels are none, minimal, full and atom"
    modes = hint_of(lambda: _engine.TableImport(path, table, mode="upsert"))
    assert modes == "modes are replace, merge and insert"
    missing = hint_of(lambda: _engine.Table(f"{table}").page(filter="PartitionKey eq"))
    assert missing == "check the filter"


@pytest.mark.parametrize(
    "url", ["az://backups/rows.parquet", "s3://backups/rows.csv", "HTTPS://h/c/r.jsonl?sig=x"]
)
def test_urls_are_no_files(
    url: str, own: TableEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup to a URL was written to a folder called `az:`, and said to be at the URL."""
    monkeypatch.chdir(tmp_path)
    table = at(own, fresh())
    shown = url.partition("?")[0]
    write = f"write it to this machine, then copy it: haul cp NAME {shown}"
    read = f"copy it to this machine first: haul cp {shown} ."
    calls: dict[str, Callable[[], object]] = {
        write: lambda: export_table(table, url),
        read: lambda: import_table(url, table, partition_key="{a}", row_key="{b}"),
    }
    for hint, call in calls.items():
        assert hint_of(call) == hint
    assert hint_of(lambda: backup(table, url)) == write
    assert hint_of(lambda: has_keys(url)) == read
    assert hint_of(lambda: propose(url)) == read
    if not url.startswith("HTTPS"):
        assert hint_of(lambda: verify(table, url)) == read
    assert not [*tmp_path.iterdir()]


def test_errors_of_a_csv_file_name_it(own: TableEndpoint, tmp_path: Path) -> None:
    """They named the file with types that is made of it, which nobody has seen."""
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b c\n1,2\n")
    with pytest.raises(haulage.UsageError) as raised:
        import_table(rows, at(own, fresh()), partition_key="{a}", row_key="{z}")
    assert raised.value.object == str(rows)
    assert [*tmp_path.iterdir()] == [rows]
    with pytest.raises(haulage.NotFoundError) as missing:
        import_table(tmp_path / "none.csv", at(own, fresh()))
    assert (missing.value.hint, missing.value.exit_code) == ("check the path", 4)


def test_a_csv_file_that_is_replaced_by_an_older_one_is_read_anew(tmp_path: Path) -> None:
    """What an interrupted import had made of the first one was taken for the second."""
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b\n1,2\n")
    made = files.from_csv(rows)
    assert pq.read_table(made).to_pylist() == [{"a": 1, "b": 2}]
    first = made.stat().st_mtime_ns
    rows.write_text("a,b\n3,4\n")
    os.utime(rows, ns=(first - 10**9, first - 10**9))
    assert pq.read_table(files.from_csv(rows)).to_pylist() == [{"a": 3, "b": 4}]
    assert files.from_csv(rows).stat().st_mtime_ns == first - 10**9


@pytest.mark.parametrize("name", ["rows.csv", "-", "rows"])
def test_a_backup_under_another_name_is_refused(name: str, own: TableEndpoint, tmp_path: Path) -> None:
    """It was Parquet under that name."""
    hint = hint_of(lambda: backup(at(own, fresh()), tmp_path / name))
    assert hint == "use a name ending in .parquet; haul table export writes other formats"
    assert not [*tmp_path.iterdir()]


def test_rows_and_the_result_do_not_share_an_output(own: TableEndpoint, tmp_path: Path) -> None:
    command = [str(HAUL), "table", "export", at(own, fresh()), "-", "--format", "csv", "--json"]
    done = subprocess.run(
        command, env=clean_environment(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "(hint: write the rows to a file, or leave out --json)" in done.stderr


NOON = "2020-01-01T12:00:00Z"


@pytest.mark.parametrize(
    ("rows", "said"), [([{}, {"Timestamp": NOON}], True), ([{"x": "Timestamp"}, {}], False)]
)
def test_any_row_of_json_lines_may_have_a_timestamp(
    own: TableEndpoint, haul: Haul, tmp_path: Path, rows: list[dict[str, str]], said: bool
) -> None:
    """Only the first row was looked at."""
    whole = [{"PartitionKey": "p", "RowKey": str(number), **row} for number, row in enumerate(rows)]
    path = lines(tmp_path / "rows.jsonl", *whole)
    ran = haul("table", "import", path, at(own, fresh()), "--create")
    assert ("the column Timestamp was left out" in ran.stderr) == said
