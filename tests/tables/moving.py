"""Tables with rows of every type, made and read by the service's own client."""

from __future__ import annotations

import base64
import itertools
import json
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from azure.data.tables import EdmType, EntityProperty, TransactionOperation

from endpoints import TableEndpoint
from haulage.tables.moving import import_table

_numbers = itertools.count(1)
NAMES = ("PartitionKey", "RowKey")


def fresh() -> str:
    """Return the name of a table that is not there."""
    return f"Rows{next(_numbers)}"


def at(service: TableEndpoint, table: str) -> str:
    return f"{service.url}/{table}"


def entities(rows: int, partition_rows: int = 700) -> Iterator[dict[str, Any]]:
    """Yield rows with a property of every type, in the order of their keys; not every row has all of them."""
    began = datetime(2020, 1, 1, tzinfo=UTC)
    for n in range(rows):
        row: dict[str, Any] = {
            "PartitionKey": f"p{n // partition_rows:04}",
            "RowKey": f"{n:08}",
            "text": f"Zeile {n} 'mit' \"ä\" \U0001f30d\n" if n % 5 else "",
            "small": n - 50,
            "large": EntityProperty((1 << 53) + n, EdmType.INT64),
            "double": n / 7,
            "whole": float(n),
            "truth": n % 2 == 0,
            "time": began + timedelta(seconds=n, microseconds=n % 1000),
            "id": uuid.UUID(int=n),
            "bytes": n.to_bytes(4, "big"),
        }
        if n % 3 == 0:
            row["rare"] = f"only {n}"
        if n % 11 == 0:
            del row["double"]
        yield row


def put(service: TableEndpoint, table: str, rows: Iterable[dict[str, Any]], folder: Path) -> None:
    """Make the table and write the rows by an import, which is quicker than the service's own client."""
    path = folder / "put.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(typed_row(row)) + "\n")
    assert import_table(path, at(service, table), create=True).refused == 0
    path.unlink()


def typed_row(row: dict[str, Any]) -> dict[str, Any]:
    typed: dict[str, Any] = {}
    for name, value in row.items():
        match value:
            case EntityProperty():
                kind, text = "Edm.Int64", str(value.value)
            case datetime():
                kind, text = "Edm.DateTime", value.isoformat().replace("+00:00", "Z")
            case uuid.UUID():
                kind, text = "Edm.Guid", str(value)
            case bytes():
                kind, text = "Edm.Binary", base64.b64encode(value).decode()
            case _:
                typed[name] = value
                continue
        typed |= {f"{name}@odata.type": kind, name: text}
    return typed


def fill(service: TableEndpoint, table: str, rows: int, partition_rows: int = 700) -> None:
    """Make the table and write the rows by the service's own client."""
    client = service.service.create_table_if_not_exists(table)
    batch: list[Any] = []
    for row in entities(rows, partition_rows):
        if batch and (len(batch) == 100 or batch[0][1]["PartitionKey"] != row["PartitionKey"]):
            client.submit_transaction(batch)
            batch = []
        batch.append((TransactionOperation.UPSERT, row))
    if batch:
        client.submit_transaction(batch)


def by_key(rows: Iterator[Any]) -> dict[tuple[str, str], dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row["PartitionKey"], row["RowKey"])
        assert key not in found, f"{key} came twice"
        found[key] = {name: _plain(value) for name, value in row.items() if name not in NAMES}
    return found


def read(service: TableEndpoint, table: str, **query: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """Return all rows as the service's own client reads them."""
    client = service.service.get_table_client(table)
    found = client.query_entities(**query) if query else client.list_entities()
    return by_key(found)


def _plain(value: Any) -> Any:
    if isinstance(value, EntityProperty):
        return value.value
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    return value
