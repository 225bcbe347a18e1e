"""Tables of the sizes that are claimed, beside the official client: equal rows, time and memory."""

from __future__ import annotations

import itertools
import json
import math
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from azure.data.tables import EntityProperty

import haulage
from command import HAUL, clean_environment
from endpoints import TableEndpoint
from haulage.tables.moving import import_table, verify
from tables.moving import at, entities, fresh, put

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200)]

#: What an export may take of memory.
MEMORY_MIB = 256


@contextmanager
def served(link: str = "none") -> Iterator[TableEndpoint]:
    with haulage.Emulator(link=link) as emulator:
        yield TableEndpoint("emulator", emulator.endpoint)


def weighed(arguments: list[str], home: Path, moment: float = math.inf) -> tuple[int | None, float, float]:
    """Run the command; return its exit code, seconds, and the most MiB that it held.

    One that has not ended at the moment is killed, and has no exit code.
    """
    began, most = time.monotonic(), 0
    command = [str(HAUL), "table", *arguments, "-q"]
    with subprocess.Popen(command, env=clean_environment(home)) as process:
        while process.poll() is None:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
            except OSError:
                break
            line = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0 kB")
            most = max(most, int(line.split()[1]))
            if time.monotonic() - began > moment:
                process.kill()
                return None, time.monotonic() - began, most / 1024
            time.sleep(0.02)
    return process.returncode, time.monotonic() - began, most / 1024


def exported(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, of which only some are in memory."""
    file = pq.ParquetFile(path)
    guids = {field.name for field in file.schema_arrow if (field.metadata or {}).get(b"edm") == b"Edm.Guid"}
    for batch in file.iter_batches(20_000):
        columns = {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name == "time":
                column = column.cast("int64")
            columns[name] = column.to_pylist()
        for values in zip(*columns.values(), strict=True):
            row = {name: value for name, value in zip(columns, values, strict=True) if value is not None}
            row.pop("Timestamp", None)
            yield {name: str(value) if name in guids else value for name, value in row.items()}


def official(rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
    """Yield what the service's own client has for rows, as a file holds them."""
    for row in rows:
        values = {}
        for name, value in row.items():
            if isinstance(value, EntityProperty):
                value = value.value
            elif name == "time":
                ticks = getattr(value, "tables_service_value", "")
                value = int(value.timestamp()) * 10**9 + _nanoseconds(ticks)
            values[name] = str(value) if name == "id" else value
        yield values


def _nanoseconds(text: str) -> int:
    """Return what follows the second: the service has seven digits, Python's times six."""
    _, point, digits = text.rstrip("Z").partition(".")
    return int(digits.ljust(9, "0")) if point else 0


def compare(service: TableEndpoint, table: str, path: Path) -> int:
    """See that the file holds what the service's own client reads, in its order; how many rows that are."""
    client = service.service.get_table_client(table)
    count = 0
    for own, theirs in itertools.zip_longest(exported(path), official(client.list_entities())):
        assert own == theirs
        count += 1
    return count


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("azurite", 8_100),
        ("emulator", 8_100),
        ("azurite", 30_000),
        ("emulator", 200_000),
        ("emulator", 5_000_000),
    ],
)
def test_an_export_is_what_the_official_client_reads(
    kind: str, rows: int, tmp_path: Path, azurite_tables: TableEndpoint
) -> None:
    with served() as own:
        service = own if kind == "emulator" else azurite_tables
        table, path = fresh(), tmp_path / "rows.parquet"
        put(service, table, entities(rows, 4_000), tmp_path)
        code, seconds, memory = weighed(["export", at(service, table), str(path)], tmp_path)
        assert code == 0
        print(f"\n{kind}: {rows:,} rows exported in {seconds:.1f} s with {memory:.0f} MiB", flush=True)
        began = time.monotonic()
        assert compare(service, table, path) == rows
        print(f"equal to what the official client read in {time.monotonic() - began:.0f} s")
        assert memory < MEMORY_MIB


def test_an_export_takes_a_fifth_of_the_official_clients_time(tmp_path: Path) -> None:
    with served("rtt=20ms") as service:
        table, rows = fresh(), 200_000
        put(service, table, entities(rows, 4_000), tmp_path)
        code, seconds, memory = weighed(
            ["export", at(service, table), str(tmp_path / "rows.parquet")], tmp_path
        )
        assert code == 0
        client = service.service.get_table_client(table)
        began = time.monotonic()
        assert sum(1 for _ in client.list_entities()) == rows
        theirs = time.monotonic() - began
        print(
            f"\n{rows:,} rows over 20 ms: {seconds:.2f} s, {memory:.0f} MiB; official client {theirs:.2f} s"
        )
        assert seconds < theirs / 5
        assert memory < MEMORY_MIB


def test_a_million_rows_are_imported_through_kills(tmp_path: Path) -> None:
    rows, refused = 1_000_000, set(range(12_345, 1_000_000, 100_000))
    source, letters = tmp_path / "rows.jsonl", tmp_path / "letters.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for n in range(rows):
            key = f"{n:07}/" if n in refused else f"{n:07}"
            row = {
                "PartitionKey": f"p{n % 211:03}",
                "RowKey": key,
                "n": n,
                "value": n / 7,
                "text": f"row {n}",
            }
            file.write(json.dumps(row) + "\n")
    rng, kills, most = random.Random(16), 0, 0.0
    with served() as service:
        table = fresh()
        arguments = ["import", str(source), at(service, table), "--create", "--dead-letters", str(letters)]
        code = None
        while code is None:
            moment = rng.uniform(2, 12) if kills < 8 else math.inf
            code, _, memory = weighed(arguments, tmp_path, moment)
            kills, most = kills + (code is None), max(most, memory)
        assert (code, kills) == (1, 8)
        whole = fresh()
        assert import_table(
            source, at(service, whole), create=True, dead_letters=tmp_path / "other.jsonl"
        ).refused
        assert verify(at(service, whole), at(service, table)).same
        path = tmp_path / "rows.parquet"
        assert weighed(["export", at(service, table), str(path)], tmp_path)[0] == 0
    numbers = pq.read_table(path, columns=["n"]).column("n").to_pylist()
    assert sorted(numbers) == [n for n in range(rows) if n not in refused]
    named = [json.loads(line) for line in letters.read_text(encoding="utf-8").splitlines()]
    assert sorted(letter["row"] for letter in named) == sorted(refused)
    assert all(letter["reason"] for letter in named)
    print(f"\n{rows:,} rows imported through {kills} kills with {most:.0f} MiB; {len(named)} refused by name")
