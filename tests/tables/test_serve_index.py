"""The proxy finds rows by index tables, without being told to."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import haulage
from endpoints import TableEndpoint
from haulage.tables.moving import import_table
from haulage.tables.serve.opening import opened
from tables.moving import at
from tables.serving import Proxy, serving

ROWS, PLACES = 4_000, 8
WANTED = [f"{n:05}" for n in range(ROWS) if n % PLACES == 3 and n > 100]
FILTER = "place eq 'at 3' and n gt 100"


@pytest.fixture(scope="module")
def emulated() -> Iterator[haulage.Emulator]:
    with haulage.Emulator() as emulator:
        yield emulator


@pytest.fixture(scope="module")
def table(emulated: haulage.Emulator, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(ROWS):
            row = {"PartitionKey": f"p{n // 1000}", "RowKey": f"{n:05}", "place": f"at {n % PLACES}", "n": n}
            file.write(json.dumps(row) + "\n")
    table = at(TableEndpoint("emulator", emulated.endpoint), "Places")
    import_table(path, table, create=True, index=["place"])
    return table


@pytest.fixture(scope="module")
def proxy(table: str) -> Iterator[Proxy]:
    with serving(*opened([table], {})) as running:
        yield running


def cost(emulated: haulage.Emulator) -> int:
    return int(emulated.stats()["rows_read"])


def test_pages_hold_the_rows_that_the_index_leads_to(proxy: Proxy, emulated: haulage.Emulator) -> None:
    found, query, pages = [], {"$filter": FILTER}, 0
    before = cost(emulated)
    while True:
        reply = proxy.ask("/tables/Places/rows", query)
        assert "index=PlacesByplace" in reply.headers["haul-store"]
        found += [row["RowKey"] for row in reply.rows]
        pages += 1
        if "x-ms-continuation-nextpartitionkey" not in reply.headers:
            break
        query |= {
            key: reply.headers[f"x-ms-continuation-{key}".lower()]
            for key in ("NextPartitionKey", "NextRowKey")
        }
    assert found == WANTED
    assert pages == 2
    # The entries of the index for each page, and each row once; a scan would read the table twice.
    assert cost(emulated) - before <= (pages + 1) * ROWS // PLACES
    assert 0 < len(proxy.ask("/tables/Places/rows", {"$filter": FILTER, "$top": "7"}).rows) <= 7


@pytest.mark.parametrize("form", ["json-none", "json-minimal", "json-full", "atom", "ndjson", "csv", "arrow"])
def test_every_form_has_them(proxy: Proxy, form: str) -> None:
    by_index = proxy.ask("/tables/Places/all", {"$filter": FILTER, "format": form})
    assert by_index.status == 200
    if form.startswith("json"):
        assert [row["RowKey"] for row in by_index.rows] == WANTED
    else:
        assert all(key.encode() in by_index.body for key in WANTED)
    some = proxy.ask("/tables/Places/all", {"$filter": FILTER, "$select": "n", "format": "ndjson"})
    assert all("RowKey" not in line for line in some.body.decode().splitlines())
    assert [json.loads(line)["n"] for line in some.body.splitlines()] == [int(key) for key in WANTED]


def test_other_filters_and_no_index_ask_the_table(proxy: Proxy, table: str) -> None:
    for query in ("n gt 100", "place eq 'at 3' or n eq 5", "n eq 5"):
        assert "index=" not in proxy.ask("/tables/Places/rows", {"$filter": query}).headers["haul-store"]
    with serving(*opened([table], {}, use_index=False)) as plain:
        reply = plain.ask("/tables/Places/all", {"$filter": FILTER})
        assert "index=" not in reply.headers["haul-store"]
        assert [row["RowKey"] for row in reply.rows] == WANTED
        place = proxy.ask("/tables/Places/rows", {"$filter": FILTER}).headers
        stale = {key: place[f"x-ms-continuation-{key}".lower()] for key in ("NextPartitionKey", "NextRowKey")}
        asked = proxy.ask("/tables/Places/rows", {"$filter": "n eq 5"} | stale)
        assert (asked.status, "start again from the first page" in str(asked.body)) == (502, True)
