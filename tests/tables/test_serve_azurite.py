"""The proxy over the table service of Azurite, through a client of these tests alone."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

import pyarrow as pa
import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import (
    AccountSasPermissions,
    EdmType,
    EntityProperty,
    ResourceTypes,
    TableServiceClient,
    UpdateMode,
    generate_account_sas,
)

from command import clean_environment
from endpoints import ACCOUNT, KEY, NODE_MODULES, free_port, wait_for
from haulage.errors import NotFoundError, ServiceError, UsageError
from haulage.tables.serve.table_source import Place, TableSource
from tables.serving import Proxy, serving

AZURITE = NODE_MODULES / "azurite/dist/src/table/main.js"
#: Azurite goes through the whole table for every page.
COUNT = 2300


class OverHttp:
    """Pages over the wire, signed by a SAS; no retries, no types of its own."""

    def __init__(self, url: str, sas: str) -> None:
        self._url, self._sas = url, sas

    def page(
        self,
        *,
        filter: str | None = None,
        select: list[str] | None = None,
        top: int | None = None,
        next: Place | None = None,
        level: str = "minimal",
    ) -> tuple[bytes, str, Place | None]:
        place = dict(zip(("NextPartitionKey", "NextRowKey"), next or (), strict=False))
        asked = {"$filter": filter, "$select": select and ",".join(select), "$top": top, **place}
        query = urlencode({key: value for key, value in asked.items() if value}, quote_via=quote)
        request = urllib.request.Request(f"{self._url}()?{self._sas}&{query}")
        kinds = {"atom": "application/atom+xml", "none": "application/json;odata=nometadata"}
        request.add_header("Accept", kinds.get(level, f"application/json;odata={level}metadata"))
        request.add_header("x-ms-version", "2019-02-02")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                kind, headers = answer.headers["Content-Type"], answer.headers
                body = answer.read()
        except urllib.error.HTTPError as error:
            told = error.read().decode(errors="replace")[:200]
            refusals: dict[int, Any] = {400: UsageError, 404: NotFoundError}
            kind_ = refusals.get(error.code, ServiceError)
            raise kind_("read", "table", f"{error.code} {told}", "look") from None
        partition = headers["x-ms-continuation-NextPartitionKey"]
        return body, kind, (partition, headers["x-ms-continuation-NextRowKey"]) if partition else None


def row(number: int) -> dict[str, Any]:
    return {
        "PartitionKey": f"land {number // 500}",
        "RowKey": f"{number:06}",
        "station": f"it's <{number}> äöü",
        "elevation": number % 700,
        "visits": EntityProperty(number * 10**12, EdmType.INT64),
        "lat": number / 100,
        "open": number % 2 == 0,
        "seen": datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=number),
        "id": UUID(int=number),
        "raw": bytes([number % 256]),
    }


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder, port = tmp_path_factory.mktemp("azurite-table"), free_port()
    command = ["node", str(AZURITE), "--inMemoryPersistence", "--silent", "--disableTelemetry"]
    command += ["--skipApiVersionCheck", "--tableHost", "127.0.0.1", "--tablePort", str(port)]
    with subprocess.Popen(
        command, cwd=folder, env=clean_environment(folder), stdout=subprocess.DEVNULL
    ) as process:
        try:
            wait_for(port, process)
            url = f"http://127.0.0.1:{port}/{ACCOUNT}"
            fill(url)
            sas = generate_account_sas(
                AzureNamedKeyCredential(ACCOUNT, KEY),
                ResourceTypes(service=True, container=True, object=True),
                AccountSasPermissions(read=True),
                datetime.now(UTC) + timedelta(hours=1),
            )
            sources = [TableSource(name, OverHttp(f"{url}/{name}", sas)) for name in ("Stations", "Gone")]
            with serving(*sources) as running:
                yield running
        finally:
            process.kill()


def fill(url: str) -> None:
    with TableServiceClient(url, credential=AzureNamedKeyCredential(ACCOUNT, KEY)) as service:
        table = service.create_table("Stations")
        for begin in range(0, COUNT, 100):
            batch = [("upsert", row(n), {"mode": UpdateMode.REPLACE}) for n in range(begin, begin + 100)]
            table.submit_transaction(batch)


def test_pages_by_the_services_own_headers(proxy: Proxy) -> None:
    found: list[str] = []
    more: dict[str, str] = {}
    for page in range(1, 4):
        reply = proxy.ask("/tables/Stations/rows", more)
        found += [one["RowKey"] for one in reply.rows]
        more = {
            key: reply.headers[f"x-ms-continuation-{key.lower()}"]
            for key in ("NextPartitionKey", "NextRowKey")
            if f"x-ms-continuation-{key.lower()}" in reply.headers
        }
        assert bool(more) == (page < 3)
    assert found == [f"{n:06}" for n in range(COUNT)]


@pytest.mark.parametrize("form", ["json-none", "json-minimal", "json-full"])
def test_all_rows_are_the_pages_of_the_service_joined(proxy: Proxy, form: str) -> None:
    reply = proxy.ask("/tables/Stations/all", {"format": form, "$filter": "elevation lt 600"})
    numbers = [n for n in range(COUNT) if n % 700 < 600]
    assert [one["RowKey"] for one in reply.rows] == [f"{n:06}" for n in numbers]
    assert reply.rows[7]["station"] == "it's <7> äöü"
    assert proxy.told(reply)["store_requests"] == 2


def test_types_come_through_arrow_csv_and_atom(proxy: Proxy) -> None:
    query = {"$filter": "RowKey eq '000300'"}
    one = pa.ipc.open_stream(proxy.ask("/tables/Stations/all", query | {"format": "arrow"}).body).read_all()
    found = one.to_pylist()[0]
    assert found["visits"] == 300 * 10**12
    assert found["id"] == str(UUID(int=300))
    assert found["raw"] == bytes([44])
    assert found["seen"] == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)
    csv = proxy.ask("/tables/Stations/rows", query | {"format": "csv", "$select": "RowKey,elevation"})
    assert csv.body == b"RowKey,elevation\r\n000300,300\r\n"
    atom = proxy.ask("/tables/Stations/rows", query | {"format": "atom"}).body.decode()
    assert '<d:visits m:type="Edm.Int64">300000000000000</d:visits>' in atom
    assert "it's &lt;300&gt; äöü" in atom


def test_what_the_service_refuses_is_said(proxy: Proxy) -> None:
    gone = proxy.ask("/tables/Gone/rows")
    assert (gone.status, gone.json["code"]) == (404, "not_found")
    assert proxy.ask("/tables/Stations/rows", {"$filter": "elevation like 5"}).status == 400
    assert json.loads(proxy.ask("/tables/Gone/all").body)["hint"] == "look"
