"""Parquet behind the proxy: filters against another implementation, only what is needed is read, versions."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import haulage
from endpoints import Container
from haulage.errors import SourceChangedError, UsageError
from haulage.tables.serve.filters import parse
from haulage.tables.serve.parquet_source import ParquetSource
from haulage.tables.source import Metadata, Meter
from tables.serving import ROWS, serving, stations

NUMBERS = 5000
NAMES = ["Zürich", "it's", "", "a%b", "Ulm"]


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows in ten groups, sorted by `n`."""
    rng = random.Random(7)
    began = datetime(2024, 1, 1, tzinfo=UTC)
    rows = {
        "n": list(range(NUMBERS)),
        "x": [None if rng.random() < 0.1 else rng.uniform(-9, 9) for _ in range(NUMBERS)],
        "name": [
            None if rng.random() < 0.1 else rng.choice(["Zürich", "it's", "", "a%b", "Ulm"])
            for _ in range(NUMBERS)
        ],
        "at": [began + timedelta(minutes=n) for n in range(NUMBERS)],
        "ok": [rng.choice([True, False, None]) for _ in range(NUMBERS)],
        "odd name": [n % 13 for n in range(NUMBERS)],
    }
    path = tmp_path_factory.mktemp("grid") / "grid.parquet"
    pq.write_table(pa.table(rows), path, row_group_size=500)
    return path


def paged(source: ParquetSource, metadata: Metadata = "none", **asked: Any) -> Iterator[dict[str, Any]]:
    more = None
    while True:
        page = source.page(
            filter=asked.get("filter"),
            select=asked.get("select"),
            top=asked.get("top"),
            continuation=more,
            metadata=metadata,
        )
        yield from json.loads(page.body)["value"]
        more = page.continuation
        if more is None:
            return


@pytest.mark.parametrize(
    ("odata", "sql"),
    [
        ("n lt 7", "n < 7"),
        ("7 gt n", "n < 7"),
        ("n ge 4990 and x gt 0", "n >= 4990 and x > 0"),
        ("x gt 8 or name eq 'it''s' and not ok", "x > 8 or (name = 'it''s' and not ok)"),
        ("(x gt 8 or name eq 'Ulm') and ok eq true", "(x > 8 or name = 'Ulm') and ok"),
        ("not (x gt -8)", "not (x > -8)"),
        ("name ne 'Ulm'", "name != 'Ulm'"),
        ("name eq null", "name is null"),
        ("x ne null and x lt -8.5e0", "x is not null and x < -8.5"),
        ("at ge datetime'2024-01-04T00:00:00Z'", "\"at\" >= timestamptz '2024-01-04 00:00:00+00'"),
        ("startswith(name,'Z') or endswith(name, 'b')", "starts_with(name, 'Z') or suffix(name, 'b')"),
        ("contains(name,'%') eq true", "contains(name, '%')"),
        ("substringof('l', name) and n lt 100L", "contains(name, 'l') and n < 100"),
        ('"odd name" eq 12 and ok', '"odd name" = 12 and ok'),
        ('n eq "odd name"', 'n = "odd name"'),
        ("n gt 99999", "false"),
    ],
)
def test_filters_mean_what_they_mean_to_another_database(grid: Path, odata: str, sql: str) -> None:
    source = ParquetSource("grid", str(grid))
    with duckdb.connect() as database:
        database.execute("set timezone = 'UTC'")
        expected = [
            row[0] for row in database.execute(f"select n from '{grid}' where {sql} order by n").fetchall()
        ]
    assert [int(row["n"]) for row in paged(source, filter=odata, select="n", top=97)] == expected
    streamed = [n for batch in source.batches(filter=odata, select="n") for n in batch["n"].to_pylist()]
    assert streamed == expected


#: Each is wrong in another way.
UNREADABLE = """
n eq
n eq 1 1
(n eq 1
n eq 'x
eq eq
1 eq 1
n like 'x'
not
n eq 1; drop
startswith(n)
startswith('a',n)
startswith(n,'a') eq 5
n eq guid'x'
n eq datetime'today'
"""


@pytest.mark.parametrize(
    "text",
    [*UNREADABLE.strip().splitlines(), " ", "n eq 1" + " or n eq 1" * 2000, "(" * 500 + "n eq 1" + ")" * 500],
)
def test_filters_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


def test_only_the_row_groups_and_columns_that_are_needed_are_read(grid: Path) -> None:
    def read(**asked: Any) -> Meter:
        meter = Meter()
        found = ParquetSource("grid", str(grid))
        found.version()
        for _ in found.batches(filter=asked.get("filter"), select=asked.get("select"), meter=meter):
            pass
        return meter

    whole = read()
    assert read(select="n").bytes_read < whole.bytes_read / 3
    assert read(filter="n ge 1200 and n lt 1300").bytes_read < whole.bytes_read / 6
    assert read(filter="n gt 99999").requests == 0


def test_every_type_is_told_as_the_table_service_tells_it(tmp_path: Path) -> None:
    rows = stations(20)
    pq.write_table(pa.Table.from_batches([rows]), tmp_path / "Stations.parquet")
    source = ParquetSource("Stations", str(tmp_path / "Stations.parquet"))
    found = list(paged(source, "minimal"))
    assert found[5]["visits@odata.type"] == "Edm.Int64"
    assert found[5]["visits"] == "5000000000000"
    assert found[5]["id@odata.type"] == "Edm.Guid"
    assert found[5]["blob"] == "AAAF"
    assert found[5]["Timestamp"] == "2023-11-14T22:13:25.0000001Z"


def test_a_file_that_is_replaced_ends_the_paging(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"n": range(3000)}), path)
    source = ParquetSource("x", str(path))
    first = source.page(filter=None, select=None, top=10, continuation=None, metadata="none")
    version = source.version()
    pq.write_table(pa.table({"n": range(2999)}), tmp_path / "y.parquet")
    (tmp_path / "y.parquet").rename(path)
    assert source.version() != version
    with pytest.raises(SourceChangedError):
        source.page(filter=None, select=None, top=10, continuation=first.continuation, metadata="none")
    assert len(list(paged(source))) == 2999


def test_a_blob_is_read_in_ranges_of_one_version(counting: haulage.Emulator, blobs: Container) -> None:
    file = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_batches([stations()]), file, row_group_size=900)
    data = file.getvalue().to_pybytes()
    blobs.client.upload_blob("Stations.parquet", data)
    source = ParquetSource("Stations", blobs.az("Stations.parquet"))
    with serving(source) as proxy:
        before = counting.stats()["requests"]
        reply = proxy.ask(
            "/tables/Stations/rows", {"$filter": "PartitionKey eq 'land 3'", "$select": "RowKey"}
        )
        assert [row["RowKey"] for row in reply.rows] == [f"{n:06}" for n in range(2700, 3600)]
        # Whether it has changed, its footer, and one row group of the nine.
        after = counting.stats()["requests"]
        assert {name: n - before.get(name, 0) for name, n in after.items() if n != before.get(name, 0)} == {
            "BlobProperties": 2,
            "GetBlob": 2,
        }
        same = proxy.ask("/tables/Stations/all?format=csv", If_None_Match="")
        again = proxy.ask("/tables/Stations/all?format=csv", If_None_Match=same.headers["etag"])
        assert (same.status, again.status) == (200, 304)
        assert len(same.body.splitlines()) > ROWS
        blobs.client.upload_blob("Stations.parquet", data, overwrite=True)
        assert proxy.ask("/tables/Stations/all?format=csv", If_None_Match=same.headers["etag"]).status == 200


def test_types_that_odata_does_not_have(tmp_path: Path) -> None:
    """Decimals had quotes, and a year or a number without a sign in a column made filters and Arrow fail."""
    path = tmp_path / "odd.parquet"
    rows = {
        "n": [1, 2, 3],
        "cost": [Decimal("1.50"), None, Decimal("-2.25")],
        "clock": [time(1, 2, 3), None, time(4, 5)],
        "parts": [[Decimal("1.5")], None, []],
        "at": pa.array([datetime(2020, 1, 1), None, datetime(1500, 1, 1)], pa.timestamp("us")),
        "till": pa.array([datetime(9999, 12, 31), None, datetime(1, 1, 1)], pa.timestamp("ms", "UTC")),
        "hash": pa.array([2**63 + 5, 1, None], pa.uint64()),
    }
    pq.write_table(pa.table(rows), path)
    source = ParquetSource("odd", str(path))
    first = {
        "n": "1",
        "cost": "1.50",
        "clock": "01:02:03",
        "parts": '["1.5"]',
        "at": "2020-01-01T00:00:00Z",
        "till": "9999-12-31T00:00:00Z",
        "hash": "9223372036854775813",
    }
    assert next(paged(source)) == first
    for filter, found in {
        "at eq datetime'2020-01-01T00:00:00Z'": "1",
        "at gt datetime'1400-01-01T00:00:00Z' and at lt datetime'1600-01-01T00:00:00Z'": "3",
        "till ge datetime'9999-01-01T00:00:00Z'": "1",
        "hash gt 5": "1",
        "hash eq 9223372036854775813": "1",
        "hash gt -1": "12",
        "hash lt 1.5": "2",
        "hash gt n": "1",
        "cost gt 1": "1",
    }.items():
        assert {row["n"] for row in paged(source, filter=filter)} == set(found), filter
    page = source.page(filter=None, select=None, top=None, continuation=None, metadata="minimal")
    batch = source.batch(page)
    assert batch["till"].to_pylist() == ["9999-12-31T00:00:00Z", None, "0001-01-01T00:00:00Z"]
    assert batch["hash"].to_pylist() == ["9223372036854775813", "1", None]
    assert batch.schema.field("till").metadata == {b"edm": b"Edm.DateTime"}
