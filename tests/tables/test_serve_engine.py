"""The proxy over the engine's own end of a table, against the emulator, which writes Atom too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableServiceClient, UpdateMode

import haulage
from endpoints import ACCOUNT, KEY
from haulage.errors import NotFoundError
from haulage.tables.serve.opening import look, opened
from haulage.tables.source import Source
from tables.serving import Proxy, serving
from tables.test_serve_azurite import row

COUNT = 2300
D = "{http://schemas.microsoft.com/ado/2007/08/dataservices}"


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with haulage.Emulator() as emulator, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
        host = urlsplit(emulator.endpoint)
        url = f"{host.scheme}://{host.netloc}/{ACCOUNT}"
        with TableServiceClient(url, credential=AzureNamedKeyCredential(ACCOUNT, KEY)) as service:
            table = service.create_table("Stations")
            for begin in range(0, COUNT, 100):
                rows = [("upsert", row(n), {"mode": UpdateMode.REPLACE}) for n in range(begin, begin + 100)]
                table.submit_transaction(rows)
            mixed = service.create_table("Mixed")
            several: list[dict[str, Any]] = [{"x": 5}, {"x": "five"}, {}]
            for key, rest in enumerate(several):
                mixed.create_entity({"PartitionKey": "p", "RowKey": str(key), **rest})
        sources: list[Source] = opened([f"{url}/{name}" for name in ("Stations", "Mixed", "Gone")], {})
        with serving(*sources) as running:
            yield running


def test_a_table_that_is_not_there_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    with haulage.Emulator() as emulator:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
        for place in ("az-table://Gone", "az://gone/a.parquet"):
            with pytest.raises(NotFoundError):
                look(opened([place], {}))


@pytest.mark.parametrize("form", ["json-none", "json-minimal", "json-full"])
def test_pages_of_the_engine_joined_are_the_table(proxy: Proxy, form: str) -> None:
    reply = proxy.ask("/tables/Stations/all", {"format": form})
    assert [one["RowKey"] for one in reply.rows] == [f"{n:06}" for n in range(COUNT)]
    page = proxy.ask("/tables/Stations/rows", {"format": form, "$filter": "elevation lt 600", "$top": "1000"})
    assert len(page.rows) == 1000
    assert "x-ms-continuation-nextpartitionkey" in page.headers


def test_atom_is_the_services_own(proxy: Proxy) -> None:
    reply = proxy.ask("/tables/Stations/all", {"format": "atom"})
    keys = [found.text for found in ElementTree.fromstring(reply.body).iter(f"{D}RowKey")]
    assert keys == [f"{n:06}" for n in range(COUNT)]
    assert b"haulage.Stations" not in reply.body, "made by the service, not here"


def test_types_come_through_the_engines_arrow(proxy: Proxy) -> None:
    def read(**query: str) -> list[dict[str, Any]]:
        reply = proxy.ask("/tables/Stations/all", query | {"format": "arrow"})
        assert reply.status == 200, reply.body
        found: list[dict[str, Any]] = pa.ipc.open_stream(reply.body).read_all().to_pylist()
        return found

    rows = read()
    assert [one["RowKey"] for one in rows] == [f"{n:06}" for n in range(COUNT)]
    assert (rows[300]["visits"], rows[300]["raw"], rows[300]["open"]) == (300 * 10**12, bytes([44]), True)
    ordered = read(**{"$orderby": "visits desc", "$top": "2", "$select": "RowKey"})
    assert ordered == [{"RowKey": "002299"}, {"RowKey": "002298"}]


def test_what_the_service_refuses_is_said(proxy: Proxy) -> None:
    gone = proxy.ask("/tables/Gone/rows")
    assert (gone.status, gone.json["code"]) == (404, "not_found")
    assert proxy.ask("/tables/Stations/rows", {"$filter": "elevation like 5"}).status == 400


def test_a_column_of_several_types_is_text(proxy: Proxy) -> None:
    reply = proxy.ask("/tables/Mixed/all", {"format": "arrow"})
    found = pa.ipc.open_stream(reply.body).read_all()
    assert found["x"].to_pylist() == ["5", "five", None]
    assert [one.get("x") for one in proxy.ask("/tables/Mixed/rows").rows] == [5, "five", None]
