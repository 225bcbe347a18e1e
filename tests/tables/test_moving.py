"""Rows out of tables and into them, against the service's own client."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableSasPermissions, generate_table_sas

import haulage
from command import HAUL, clean_environment
from endpoints import ACCOUNT, KEY, TableEndpoint
from haulage.tables.moving import backup, copy_table, export_table, import_table, verify
from tables.moving import at, entities, fill, fresh, put, read


@pytest.fixture(scope="module")
def emulated() -> Iterator[haulage.Emulator]:
    with haulage.Emulator() as emulator:
        yield emulator


@pytest.fixture(scope="module")
def own(emulated: haulage.Emulator) -> TableEndpoint:
    return TableEndpoint("emulator", emulated.endpoint)


@pytest.fixture(params=["emulator", "azurite"])
def service(request: pytest.FixtureRequest) -> TableEndpoint:
    fixture = "own" if request.param == "emulator" else "azurite_tables"
    found = request.getfixturevalue(fixture)
    assert isinstance(found, TableEndpoint)
    return found


def parquet_rows(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows of a file with the values that the official client has for them."""
    table = pq.read_table(path)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    guids = {f.name for f in table.schema if (f.metadata or {}).get(b"edm") == b"Edm.Guid"}
    for row in table.to_pylist():
        key = (row.pop("PartitionKey"), row.pop("RowKey"))
        assert key not in found
        row.pop("Timestamp", None)
        values = {}
        for name, value in row.items():
            if value is None:
                continue
            if hasattr(value, "to_pydatetime"):
                value = value.to_pydatetime(warn=False)
            if hasattr(value, "tzinfo"):
                value = value.replace(tzinfo=None)
            values[name] = str(value) if name in guids else value
        found[key] = values
    return found


def official(service: TableEndpoint, table: str, **query: Any) -> dict[tuple[str, str], dict[str, Any]]:
    rows = read(service, table, **query)
    for row in rows.values():
        if "id" in row:
            row["id"] = str(row["id"])
    return rows


def test_an_export_holds_what_the_official_client_reads(service: TableEndpoint, tmp_path: Path) -> None:
    table, rows = fresh(), 2300
    fill(service, table, rows)
    done = export_table(at(service, table), tmp_path / "rows.parquet")
    assert done.rows == rows
    assert not done.mixed
    assert parquet_rows(tmp_path / "rows.parquet") == official(service, table)
    keys = pq.read_table(tmp_path / "rows.parquet", columns=["PartitionKey", "RowKey"]).to_pylist()
    assert keys == sorted(keys, key=lambda row: (row["PartitionKey"], row["RowKey"]))
    types = {f.name: f.type for f in pq.read_schema(tmp_path / "rows.parquet")}
    assert types["large"] == pa.int64()
    assert types["small"] == pa.int32()
    assert types["time"] == pa.timestamp("ns", tz="UTC")
    assert types["bytes"] == pa.binary()
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


@pytest.mark.parametrize("partition_rows", [1, 7, 100_000])
def test_however_the_keys_lie_each_row_comes_once(
    own: TableEndpoint, tmp_path: Path, partition_rows: int
) -> None:
    table = fresh()
    put(own, table, entities(6_000 if partition_rows > 1 else 2_500, partition_rows), tmp_path)
    done = export_table(at(own, table), tmp_path / "rows.parquet")
    assert parquet_rows(tmp_path / "rows.parquet") == official(own, table)
    assert done.retries == 0


def test_a_filter_and_properties_are_asked_of_the_service(service: TableEndpoint, tmp_path: Path) -> None:
    table = fresh()
    fill(service, table, 800)
    before = "RowKey ge '00000300' and small lt 500"
    export_table(at(service, table), tmp_path / "some.parquet", filter=before, select=["small", "rare"])
    expected = official(
        service, table, query_filter=before, select=["PartitionKey", "RowKey", "small", "rare"]
    )
    expected = {
        key: {name: value for name, value in row.items() if value is not None}
        for key, row in expected.items()
    }
    assert parquet_rows(tmp_path / "some.parquet") == expected
    assert len(expected) == 250


@pytest.mark.parametrize("end", ["parquet", "arrow", "jsonl", "csv"])
def test_what_was_exported_comes_back(own: TableEndpoint, tmp_path: Path, end: str) -> None:
    table, again = fresh(), fresh()
    put(own, table, entities(1200), tmp_path)
    path = tmp_path / f"rows.{end}"
    export_table(at(own, table), path)
    done = import_table(path, at(own, again), create=True, exclude=["Timestamp"] if end == "csv" else [])
    assert done.path == str(path)
    assert (done.rows, done.written, done.refused) == (1200, 1200, 0)
    if end == "csv":
        # Types come from the text alone: each of them is one that holds it.
        assert read(own, again).keys() == read(own, table).keys()
    else:
        assert official(own, again) == official(own, table)
        assert verify(at(own, table), at(own, again)).same
        assert verify(str(path), at(own, again)).same
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_more_rows_than_a_page_has_are_compared(own: TableEndpoint, tmp_path: Path) -> None:
    """An Arrow file, which has more rows in one piece than are compared at once, was refused."""
    table, rows = fresh(), 12_000
    put(own, table, ({"PartitionKey": "p", "RowKey": f"{n:05}", "n": n} for n in range(rows)), tmp_path)
    paths = [tmp_path / f"rows.{end}" for end in ("arrow", "parquet", "jsonl")]
    for path in paths:
        export_table(at(own, table), path)
        assert verify(str(path), at(own, table)).equal == rows
        assert verify(str(paths[0]), str(path)).same


def test_one_changed_cell_is_found_and_rows_that_are_not_on_both_sides(
    own: TableEndpoint, tmp_path: Path
) -> None:
    table, again = fresh(), fresh()
    put(own, table, entities(1500), tmp_path)
    copy_table(at(own, table), at(own, again))
    client = own.service.get_table_client(again)
    changed = client.get_entity("p0001", "00000707")
    changed["small"] = changed["small"] + 1
    client.update_entity(changed)
    client.delete_entity("p0000", "00000003")
    client.create_entity({"PartitionKey": "p0000", "RowKey": "0x", "text": "new"})
    found = verify(at(own, table), at(own, again))
    assert (found.equal, found.changed, found.missing, found.extra) == (1498, 1, 1, 1)
    told = [(one.kind, one.partition, one.row, one.properties) for one in found.differences]
    assert told == [
        ("missing", "p0000", "00000003", []),
        ("extra", "p0000", "0x", []),
        ("changed", "p0001", "00000707", ["small"]),
    ]


def test_a_receipt_stands_for_its_backup_when_it_is_restored(own: TableEndpoint, tmp_path: Path) -> None:
    table, again = fresh(), at(own, fresh())
    put(own, table, entities(300), tmp_path)
    _, receipt = backup(at(own, table), tmp_path / "b.parquet")
    restore = [str(HAUL), "table", "restore", str(receipt), again]
    subprocess.run(restore, check=True, env=clean_environment(tmp_path), stdout=subprocess.DEVNULL)
    assert verify(at(own, table), again).same
    said = json.loads(receipt.read_text())
    receipt.write_text(json.dumps({**said, "rows": 299}))
    assert subprocess.run(restore, check=False, env=clean_environment(tmp_path)).returncode == 5


def test_a_backup_that_was_changed_is_not_what_its_receipt_says(own: TableEndpoint, tmp_path: Path) -> None:
    table = fresh()
    put(own, table, entities(300), tmp_path)
    done, receipt = backup(at(own, table), tmp_path / "b.parquet")
    assert json.loads(receipt.read_text())["rows"] == done.rows == 300
    assert verify(str(receipt), at(own, table)).same
    rows = pq.read_table(tmp_path / "b.parquet")
    small = rows.column("small").to_pylist()
    small[7] += 1
    place = rows.schema.get_field_index("small")
    rows = rows.set_column(place, rows.schema.field(place), pa.array(small, pa.int32()))
    pq.write_table(rows, tmp_path / "b.parquet")
    with pytest.raises(haulage.IntegrityError) as raised:
        verify(str(receipt), at(own, table))
    assert raised.value.hint == "make a new backup, or fetch this one again"
    found = verify(str(tmp_path / "b.parquet"), at(own, table))
    assert [(one.kind, one.properties) for one in found.differences] == [("changed", ["small"])]
    receipt.write_text("{}")
    with pytest.raises(haulage.UsageError) as wrong:
        verify(str(receipt), at(own, table))
    assert wrong.value.hint == "pass a receipt written by haul table backup"


def test_properties_of_several_types_have_a_column_for_each(own: TableEndpoint, tmp_path: Path) -> None:
    table, again = fresh(), fresh()
    client = own.service.create_table(table)
    for number, value in enumerate([1, "one", 1.5, True, b"1"]):
        client.create_entity({"PartitionKey": "p", "RowKey": str(number), "x": value})
    done = export_table(at(own, table), tmp_path / "rows.parquet")
    assert [name for name, _ in done.mixed] == ["x"]
    assert {"x@Edm.Int32", "x@Edm.String", "x@Edm.Double"} <= set(done.columns)
    import_table(tmp_path / "rows.parquet", at(own, again), create=True)
    assert verify(at(own, table), at(own, again)).same
    assert read(own, again)[("p", "1")]["x"] == "one"


def test_times_beyond_nanoseconds_come_back(own: TableEndpoint, tmp_path: Path) -> None:
    table, again = fresh(), fresh()
    rows = [
        {"PartitionKey": "p", "RowKey": "a", "t@odata.type": "Edm.DateTime", "t": "1601-01-01T00:00:00Z"},
        {
            "PartitionKey": "p",
            "RowKey": "b",
            "t@odata.type": "Edm.DateTime",
            "t": "2020-01-01T00:00:00.1234567Z",
        },
    ]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert import_table(lines, at(own, table), create=True).written == 2
    export_table(at(own, table), tmp_path / "rows.parquet")
    import_table(tmp_path / "rows.parquet", at(own, again), create=True)
    assert verify(at(own, table), at(own, again)).same
    export_table(at(own, again), tmp_path / "again.jsonl", select=["t"])
    assert [json.loads(line)["t"] for line in (tmp_path / "again.jsonl").read_text().splitlines()] == [
        "1601-01-01T00:00:00Z",
        "2020-01-01T00:00:00.1234567Z",
    ]


def test_refused_rows_are_named_with_their_reasons_and_the_others_are_written(
    service: TableEndpoint, tmp_path: Path
) -> None:
    table = fresh()
    rows: list[dict[str, Any]] = [{"PartitionKey": "p", "RowKey": f"{n:03}", "x": n} for n in range(250)]
    rows[17]["RowKey"] = "a/b"
    rows[120]["x"] = "y" * 40_000  # 80,000 bytes: a property has at most 64 KiB
    rows[200].pop("RowKey")
    lines = tmp_path / "rows.jsonl"
    text = [json.dumps(row) for row in rows]
    text[3] = '{"PartitionKey": "p", "RowKey":'
    lines.write_text("\n".join(text) + "\n")
    done = import_table(lines, at(service, table), create=True)
    assert done.dead_letters is not None
    letters = [json.loads(line) for line in Path(done.dead_letters).read_text().splitlines()]
    assert sorted(letter["row"] for letter in letters) == [3, 17, 120, 200]
    assert (done.rows, done.written, done.refused) == (250, 246, 4)
    assert all(letter["reason"] for letter in letters)
    assert letters[[letter["row"] for letter in letters].index(17)]["entity"]["RowKey"] == "a/b"
    assert len(read(service, table)) == 246
    with pytest.raises(haulage.ExistsError) as raised:
        import_table(lines, at(service, table))
    assert raised.value.hint == "look at them, then move the file away, or name another: --dead-letters FILE"


def test_keys_are_made_by_templates(own: TableEndpoint, tmp_path: Path) -> None:
    table = fresh()
    rows = pa.table({"station": ["oslo", "a/b"], "year": [2024, 2025], "t": pa.array([1.5, None])})
    pq.write_table(rows, tmp_path / "obs.parquet")
    done = import_table(
        tmp_path / "obs.parquet", at(own, table), partition_key="{station}", row_key="{year:06}", create=True
    )
    assert done.written == 2
    assert sorted(read(own, table)) == [("a%2Fb", "002025"), ("oslo", "002024")]
    for keys, hint in (
        ({"partition_key": "{place}", "row_key": "{year}"}, "name columns of the file in braces"),
        ({"partition_key": "{station}"}, "give --row-key '{COLUMN}'; haul table plan FILE proposes keys"),
    ):
        with pytest.raises(haulage.UsageError) as raised:
            import_table(tmp_path / "obs.parquet", at(own, table), **keys)  # type: ignore[arg-type]
        assert raised.value.hint == hint


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
def test_categories_are_stored_as_their_values_and_empty_columns_not_at_all(
    own: TableEndpoint, tmp_path: Path, format_: str
) -> None:
    """What pandas writes of a column of categories, and of one that holds only None, was refused."""
    table = fresh()
    rows = pa.table(
        {
            "PartitionKey": pa.array(["p", "p", "q"]).dictionary_encode(),
            "RowKey": ["1", "3", "2"],
            "place": pa.array(["oslo", "rome", None]).dictionary_encode(),
            "level": pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.int8()), pa.array([850, 500])),
            "none": pa.nulls(3),
        }
    )
    source = tmp_path / f"rows.{format_}"
    if format_ == "parquet":
        pq.write_table(rows, source)
    else:
        with pa.ipc.new_stream(source, rows.schema) as stream:
            stream.write_table(rows)
    assert import_table(source, at(own, table), create=True).written == 3
    found = {key: {**row} for key, row in read(own, table).items()}
    assert found["p", "1"]["place"] == "oslo"
    assert "place" not in found["q", "2"]
    values = {key: getattr(row["level"], "value", row["level"]) for key, row in found.items()}
    assert values == {("p", "1"): 500, ("q", "2"): 500, ("p", "3"): 850}
    assert not any("none" in row for row in found.values())
    assert verify(str(source), at(own, table)).same


@pytest.mark.parametrize("mode", ["replace", "merge", "insert"])
def test_what_becomes_of_rows_that_are_there(own: TableEndpoint, tmp_path: Path, mode: Any) -> None:
    table = fresh()
    client = own.service.create_table(table)
    client.create_entity({"PartitionKey": "p", "RowKey": "a", "old": 1, "x": 1})
    client.create_entity({"PartitionKey": "p", "RowKey": "b", "x": 2})
    rows = [{"PartitionKey": "p", "RowKey": key, "x": 2} for key in "abc"]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = import_table(lines, at(own, table), mode=mode)
    found = read(own, table)
    assert len(found) == 3
    if mode == "insert":
        # One that is the same already counts as written: an answer that was lost looks so.
        assert (done.written, done.refused) == (2, 1)
        assert found[("p", "a")] == {"old": 1, "x": 1}
    else:
        assert done.written == 3
        assert found[("p", "a")] == ({"x": 2} if mode == "replace" else {"old": 1, "x": 2})


def test_a_service_that_refuses_and_cuts_loses_nothing(tmp_path: Path) -> None:
    with haulage.Emulator(faults="busy=10%,cut=10%,seed=3") as troubled:
        service = TableEndpoint("emulator", troubled.endpoint)
        lines = tmp_path / "rows.jsonl"
        rows = [{"PartitionKey": f"p{n % 9}", "RowKey": f"{n:05}", "x": n} for n in range(5000)]
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
        done = import_table(lines, at(service, "rows"), create=True, mode="insert")
        assert (done.written, done.refused) == (5000, 0)
        assert done.retries > 0
        exported = export_table(at(service, "rows"), tmp_path / "out.parquet")
        assert exported.rows == 5000
        found = pq.read_table(tmp_path / "out.parquet", columns=["x"]).column("x").to_pylist()
        assert sorted(found) == list(range(5000))


def test_large_rows_are_asked_for_a_few_at_a_time(own: TableEndpoint, tmp_path: Path) -> None:
    table = fresh()
    client = own.service.create_table(table)
    for number in range(40):
        blobs = {f"b{part}": bytes([number]) * 60_000 for part in range(15)}
        client.create_entity({"PartitionKey": "p", "RowKey": f"{number:02}", **blobs})
    done = export_table(at(own, table), tmp_path / "rows.parquet", queries=2)
    assert done.rows == 40
    assert parquet_rows(tmp_path / "rows.parquet") == read(own, table)


@pytest.mark.slow("a dozen commands")
def test_the_command_exports_imports_and_says_what_is_wrong(
    emulated: haulage.Emulator, own: TableEndpoint, tmp_path: Path
) -> None:
    environment = {
        **clean_environment(tmp_path),
        "AZURE_STORAGE_CONNECTION_STRING": emulated.connection_string,
    }

    def haul(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HAUL, "table", *arguments],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            timeout=60,
        )

    table = fresh()
    put(own, table, entities(900), tmp_path)
    done = haul("export", f"az-table://{table}", "rows.csv", "--select", "small,text")
    assert done.returncode == 0, done.stderr
    assert "900 rows" in done.stdout
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["small"]) for row in rows] == [row["small"] for row in entities(900)]
    assert [row["text"] for row in rows] == [row["text"] for row in entities(900)]
    streamed = haul("export", f"az-table://{table}", "-", "--format", "jsonl", "-q")
    assert len(streamed.stdout.splitlines()) == 900
    again = fresh()
    copied = haul("copy", f"az-table://{table}", f"az-table://{again}")
    assert (
        copied.returncode,
        f"900 of 900 rows of az-table://{table} to az-table://{again}" in copied.stdout,
    ) == (
        0,
        True,
    ), copied
    same = haul("verify", f"az-table://{table}", f"az-table://{again}")
    assert (same.returncode, "900 rows are the same" in same.stdout) == (0, True), same
    own.service.get_table_client(again).delete_entity("p0000", "00000001")
    other = haul("verify", f"az-table://{table}", f"az-table://{again}")
    assert (other.returncode, "missing from" in other.stdout) == (5, True), other
    missing = haul("export", "az-table://nosuchtable", "none.parquet")
    assert missing.returncode == 4
    assert "no such table" in missing.stderr
    assert "Traceback" not in missing.stderr
    for arguments, hint in (
        (
            ("export", f"az-table://{table}", "rows.txt"),
            "use a name ending in .parquet, .arrow, .csv or .jsonl, or pass --format",
        ),
        (
            ("export", "az-table://", "a.csv"),
            "write az-table://TABLE, or https://ACCOUNT.table.core.windows.net/TABLE",
        ),
        (("export", f"az-table://{table}", "."), "name a file in it"),
        (("export", f"az-table://{table}", "a.csv", "--filter", "small lt"), "check the filter"),
    ):
        wrong = haul(*arguments)
        assert (wrong.returncode, hint in wrong.stderr) == (2, True), wrong
    obs = pa.table({"station": [f"s{n % 7}" for n in range(700)], "n": list(range(700))})
    pq.write_table(obs, tmp_path / "obs.parquet")
    chosen = haul("import", "obs.parquet", f"az-table://{fresh()}", "--create")
    assert chosen.returncode == 0, chosen.stderr
    said = chosen.stderr.splitlines()
    assert said[0] == "haul: chose keys: PartitionKey '{n:hash16}', RowKey '{n:010}'"
    assert said[1].startswith("haul:   each of 700 rows has its own key; 16 partitions with at most ")
    assert said[3] == "haul:     rows with a given n: reads 1 row"
    assert "haul:   to see other choices, run: haul table plan obs.parquet\n" in chosen.stderr
    assert "700 of 700 rows" in chosen.stdout


def test_rows_are_found_by_an_index_and_not_by_a_scan(
    emulated: haulage.Emulator, own: TableEndpoint, tmp_path: Path
) -> None:
    table = fresh()
    rows = pa.table(
        {
            "PartitionKey": [f"p{n // 500}" for n in range(5000)],
            "RowKey": [f"{n:05}" for n in range(5000)],
            "station": [f"s/{n % 400}" if n % 7 else None for n in range(5000)],
            "n": list(range(5000)),
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet")
    import_table(tmp_path / "rows.parquet", at(own, table), create=True, index=["station"])
    wanted = "station eq 's/33' and n gt 1000"
    before = emulated.stats()["rows_read"]
    found = export_table(at(own, table), tmp_path / "found.parquet", filter=wanted)
    read_by_index = emulated.stats()["rows_read"] - before
    whole = export_table(at(own, table), tmp_path / "whole.parquet", filter=wanted, use_index=False)
    assert found.index == f"{at(own, table)}Bystation"
    assert (whole.index, found.rows, found.hash) == (None, whole.rows, whole.hash)
    assert found.rows == sum(1 for n in range(1001, 5000) if n % 7 and n % 400 == 33)
    assert read_by_index <= 2 * 13
    assert verify(str(tmp_path / "found.parquet"), str(tmp_path / "whole.parquet")).same
    # An entry that leads to a row which is another one now.
    client = own.service.get_table_client(table)
    client.update_entity({"PartitionKey": "p4", "RowKey": "02033", "station": "elsewhere", "n": 2033})
    again = export_table(at(own, table), tmp_path / "again.jsonl", filter=wanted)
    assert again.rows == found.rows - 1


def test_a_sas_for_one_table_needs_no_index(own: TableEndpoint, tmp_path: Path) -> None:
    table = fresh()
    put(own, table, entities(50), tmp_path)
    soon = datetime.now(UTC) + timedelta(hours=1)
    credential = AzureNamedKeyCredential(ACCOUNT, KEY)
    signature = generate_table_sas(credential, table, permission=TableSasPermissions(read=True), expiry=soon)
    found = export_table(f"{at(own, table)}?{signature}", tmp_path / "some.csv", filter="small eq -7")
    assert (found.rows, found.index) == (1, None)
    lines = tmp_path / "one.jsonl"
    lines.write_text('{"PartitionKey":"p","RowKey":"r"}\n')
    with pytest.raises(haulage.HaulageError) as raised:
        import_table(lines, f"{at(own, table)}?{signature}")
    assert raised.value.code == "permission"
    assert signature not in str(raised.value)


def test_what_is_said_of_times_that_are_kept_as_text(
    own: TableEndpoint, emulated: haulage.Emulator, tmp_path: Path
) -> None:
    """They were called several types, also in JSON lines, which have one property and no columns."""
    environment = {
        **clean_environment(tmp_path),
        "AZURE_STORAGE_CONNECTION_STRING": emulated.connection_string,
    }
    name, source = fresh(), tmp_path / "times.jsonl"
    rows: list[dict[str, Any]] = [
        {
            "PartitionKey": "p",
            "RowKey": str(year),
            "d@odata.type": "Edm.DateTime",
            "d": f"{year}-01-01T00:00:00Z",
        }
        for year in (1601, 2020)
    ]
    rows += [{"PartitionKey": "p", "RowKey": str(n), "x": value} for n, value in enumerate((1, "one"))]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_table(source, at(own, name), create=True)

    def said(file: str) -> list[str]:
        command = [str(HAUL), "table", "export", f"az-table://{name}", file, "-q"]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done
        return str(done.stderr).splitlines()

    assert said("rows.jsonl") == []
    assert said("rows.parquet") == [
        "haul: the property d has times outside 1677 to 2262: they are kept as text in the column "
        "d@Edm.DateTime.text",
        "haul: the property x has several types: it is in the columns x@Edm.Int32 and x@Edm.String",
    ]
