"""Rows at the bounds of what a table holds, and beyond, out of both services and back into them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError

import haulage
from endpoints import TableEndpoint
from haulage.tables.moving import export_table, import_table, verify
from tables.moving import at, fresh, read

FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\tx", '=HYPERLINK("http://x","y")', "=cmd|' /C calc'!A0")
#: Characters that addresses, filters, transactions and XML treat in a way of their own.
KEYS = (
    "",
    " ",
    "'",
    "''",
    "a'b",
    '"',
    "a b",
    "%",
    "%2F",
    "%252f",
    "+",
    "&",
    "=",
    ";",
    "a,b",
    "(x)",
    "{}",
    "$filter",
    "<a>",
    "..",
    ".",
    "é",
    "日本",
    "\U0001f30d",
    "x" * 512,
    "-",
    "--changeset",
    "HTTP",
)
#: No table takes these.
FORBIDDEN = ("a/b", "a\\b", "a#b", "a?b", "a\tb", "a\nb", "a\x01b", "a\x7fb", "a\x85b", "x" * 1025)


@pytest.fixture(scope="module")
def emulated() -> Iterator[haulage.Emulator]:
    with haulage.Emulator() as emulator:
        yield emulator


@pytest.fixture(params=["emulator", "azurite"])
def service(request: pytest.FixtureRequest) -> TableEndpoint:
    if request.param == "emulator":
        return TableEndpoint("emulator", request.getfixturevalue("emulated").endpoint)
    found = request.getfixturevalue("azurite_tables")
    assert isinstance(found, TableEndpoint)
    return found


def round_trip(service: TableEndpoint, table: str, folder: Path) -> None:
    """Export the table to each form that keeps types, import it again, and see that nothing differs."""
    wanted = read(service, table)
    for end in ("parquet", "arrow", "jsonl"):
        path, again = folder / f"{table}.{end}", fresh()
        rows = export_table(at(service, table), path).rows
        done = import_table(path, at(service, again), create=True)
        assert (done.written, done.refused) == (rows, 0)
        assert read(service, again) == wanted
        assert verify(at(service, table), at(service, again)).same


def put_by_insert(service: TableEndpoint, table: str, row: dict[str, Any]) -> bool:
    """Write a row by the service's own client; whether the service takes it."""
    try:
        service.service.get_table_client(table).create_entity(row)
    except (HttpResponseError, ValueError):
        return False
    return True


def test_keys_with_any_character_that_a_table_takes(service: TableEndpoint, tmp_path: Path) -> None:
    table = fresh()
    service.service.create_table(table)
    pairs = [(key, key) for key in KEYS] + [("p", key) for key in KEYS]
    taken = [
        pair
        for pair in pairs
        if put_by_insert(service, table, {"PartitionKey": pair[0], "RowKey": pair[1], "text": pair[1]})
    ]
    assert len(taken) > 50
    assert set(read(service, table)) == set(taken)
    round_trip(service, table, tmp_path)


def test_keys_that_no_table_takes_are_named(service: TableEndpoint, tmp_path: Path) -> None:
    table, path = fresh(), tmp_path / "rows.jsonl"
    rows = [{"PartitionKey": "p", "RowKey": key, "n": n} for n, key in enumerate(FORBIDDEN)]
    rows += [{"PartitionKey": key, "RowKey": "r", "n": n} for n, key in enumerate(FORBIDDEN)]
    rows.append({"PartitionKey": "p", "RowKey": "good", "n": 99})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    done = import_table(path, at(service, table), create=True)
    assert (done.written, done.refused) == (1, len(rows) - 1)
    letters = [json.loads(line) for line in Path(done.dead_letters or "").read_text().split("\n") if line]
    assert sorted(letter["row"] for letter in letters) == list(range(len(rows) - 1))
    assert all(letter["entity"] == rows[letter["row"]] and letter["reason"] for letter in letters)
    assert set(read(service, table)) == {("p", "good")}


def test_formulas_come_back_from_every_form_and_run_in_none(service: TableEndpoint, tmp_path: Path) -> None:
    table = fresh()
    client = service.service.create_table(table)
    for n, text in enumerate(FORMULAS):
        key = text.replace("/", "|").replace("\t", "-")
        client.create_entity({"PartitionKey": "p", "RowKey": key, "n": -n, "text": text})
    round_trip(service, table, tmp_path)
    path = tmp_path / "rows.csv"
    done = export_table(at(service, table), path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(FORMULAS)
    # A number that is below zero is no formula.
    texts = [row[name] for row in rows for name in ("RowKey", "text")]
    assert done.disarmed == len(texts)
    assert all(text.startswith("'") for text in texts)
    assert sorted(int(row["n"]) for row in rows) == sorted(-n for n in range(len(FORMULAS)))
    kept = export_table(at(service, table), path, formulas="keep")
    assert kept.disarmed == 0
    again = fresh()
    import_table(path, at(service, again), create=True, exclude=["Timestamp"])
    assert {row["text"] for row in read(service, again).values()} == set(FORMULAS)


def test_rows_of_255_properties(service: TableEndpoint, tmp_path: Path) -> None:
    table = fresh()
    client = service.service.create_table(table)
    for n in range(5):
        # With both keys and the time of change.
        client.create_entity(
            {"PartitionKey": "p", "RowKey": f"{n}"} | {f"p{n}_{number}": number for number in range(252)}
        )
    round_trip(service, table, tmp_path)
    if service.name == "azurite":
        return  # It takes more than the service does.
    path = tmp_path / "too-many.jsonl"
    path.write_text(
        json.dumps({"PartitionKey": "p", "RowKey": "r"} | {f"p{n}": n for n in range(253)}) + "\n"
    )
    done = import_table(path, at(service, fresh()), create=True)
    assert (done.written, done.refused) == (0, 1)


def test_rows_of_a_mebibyte(service: TableEndpoint, tmp_path: Path) -> None:
    table = fresh()
    client = service.service.create_table(table)
    # In JSON such a character takes six bytes, which Azurite takes for the size of the row.
    character = "x" if service.name == "azurite" else "\x01"
    # Two of these are more than a request may hold.
    for n in range(2):
        texts = {f"t{part}": character * 32_000 for part in range(12)}
        data = {f"b{part}": bytes([n]) * 64_000 for part in range(3)}
        client.create_entity({"PartitionKey": "p", "RowKey": f"{n}"} | texts | data)
    round_trip(service, table, tmp_path)
    if service.name == "azurite":
        return  # It takes more than the service does.
    path = tmp_path / "too-large.jsonl"
    large = {f"t{part}": "x" * 32_000 for part in range(17)}
    rows = [{"PartitionKey": "p", "RowKey": "large"} | large, {"PartitionKey": "p", "RowKey": "small"}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = import_table(path, at(service, fresh()), create=True)
    assert (done.written, done.refused) == (1, 1)
