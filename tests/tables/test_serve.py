"""What the proxy answers: pages and all rows, in every form."""

from __future__ import annotations

import csv
import io
import re
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from haulage.tables.serve.asking import FORMATS
from tables.serving import (
    FORMULA,
    FakeTable,
    Proxy,
    Reply,
    keys_of,
    serving,
    source,
    stations,
)

#: Four pages.
COUNT = 3300
ALL = [f"{n:06}" for n in range(COUNT)]


@pytest.fixture(scope="module")
def table() -> FakeTable:
    return FakeTable(stations(COUNT))


@pytest.fixture(scope="module")
def proxy(table: FakeTable) -> Iterator[Proxy]:
    with serving(source(table)) as running:
        yield running


def after(reply: Reply) -> dict[str, str]:
    """The parameters for the next page, from the headers of this one."""
    prefix = "x-ms-continuation-"
    names = {"nextpartitionkey": "NextPartitionKey", "nextrowkey": "NextRowKey"}
    return {
        names[name.removeprefix(prefix)]: value
        for name, value in reply.headers.items()
        if name.startswith(prefix)
    }


def pages(proxy: Proxy, query: dict[str, Any]) -> Iterator[Reply]:
    more: dict[str, str] = {}
    while True:
        reply = proxy.ask("/tables/Stations/rows", query | more)
        assert reply.status == 200, reply.body
        yield reply
        more = after(reply)
        assert ("link" in reply.headers) == bool(more)
        if not more:
            return


@pytest.mark.parametrize("form", FORMATS)
def test_pages_together_are_the_table(proxy: Proxy, form: str) -> None:
    found = [key for reply in pages(proxy, {"format": form}) for key in keys_of(reply, form)]
    assert found == ALL


@pytest.mark.parametrize("form", FORMATS)
def test_all_rows_are_one_answer(proxy: Proxy, form: str) -> None:
    reply = proxy.ask("/tables/Stations/all", {"format": form})
    assert (reply.status, reply.whole) == (200, True)
    assert keys_of(reply, form) == ALL
    told = proxy.told(reply)
    assert (told["complete"], told["rows"], told["error"]) == (True, COUNT, None)
    assert told["body_bytes"] == len(reply.body)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["rows", "all"])
def test_filter_select_order_and_top_hold_in_every_form(proxy: Proxy, form: str, kind: str) -> None:
    query = {
        "$filter": "elevation gt 2990",
        "$select": "RowKey,elevation",
        "$orderby": "elevation desc,RowKey",
    }
    reply = proxy.ask(f"/tables/Stations/{kind}", {**query, "$top": "7", "format": form})
    assert reply.status == 200, reply.body
    rows = [(-(n * 37 % 3000), f"{n:06}") for n in range(COUNT) if n % 9 and n * 37 % 3000 > 2990]
    assert keys_of(reply, form) == [key for _, key in sorted(rows)][:7]
    assert reply.headers["haul-sorted"] == f"{len(rows):,} rows gathered, then sorted"


def test_the_levels_of_json_tell_types_as_the_service_does(proxy: Proxy) -> None:
    def first(level: str) -> dict[str, Any]:
        return proxy.ask(
            "/tables/Stations/rows", {"$top": "1"}, Accept=f"application/json;odata={level}"
        ).rows[0]

    none, minimal, full = first("nometadata"), first("minimalmetadata"), first("fullmetadata")
    assert not [name for name in none if "odata" in name]
    assert minimal["visits@odata.type"] == "Edm.Int64"
    assert minimal["id@odata.type"] == "Edm.Guid"
    assert "open@odata.type" not in minimal
    assert full["odata.etag"] == "W/\"datetime'2023-11-14T22%3A13%3A20.0000001Z'\""
    assert full["odata.editLink"].endswith("(PartitionKey='land%200',RowKey='000000')")
    assert {name: value for name, value in full.items() if "odata." not in name} == none
    assert none["Timestamp"] == "2023-11-14T22:13:20.0000001Z"
    assert "elevation" not in none


def test_types_survive_arrow(proxy: Proxy) -> None:
    expected = stations()
    for kind in ("all", "rows"):
        reply = proxy.ask(f"/tables/Stations/{kind}", {"format": "arrow", "$top": "900"})
        found = pa.ipc.open_stream(reply.body).read_all()
        for name in expected.schema.names:
            assert found[name].type == expected.schema.field(name).type, name
            assert found[name].to_pylist() == expected[name].to_pylist()[:900], name
        assert found.schema.field("id").metadata == {b"edm": b"Edm.Guid"}


def test_formulas_are_disarmed_unless_they_are_wanted(proxy: Proxy) -> None:
    def cell(**query: str) -> str:
        reply = proxy.ask(
            "/tables/Stations/rows", {"$filter": "RowKey eq '000004'", "format": "csv", **query}
        )
        return next(csv.DictReader(io.StringIO(reply.body.decode(), newline="")))["station"]

    assert cell() == "'" + FORMULA
    assert cell(formulas="keep") == FORMULA


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "application/json;odata=minimalmetadata"),
        ("*/*", "application/json;odata=minimalmetadata"),
        ("application/json;odata=fullmetadata", "application/json;odata=fullmetadata"),
        ('application/json;odata.metadata="none"', "application/json;odata=nometadata"),
        ("text/csv;q=0.5, application/atom+xml", "application/atom+xml"),
        ("text/html, application/x-ndjson;q=0.9", "application/x-ndjson"),
        (
            "application/vnd.apache.arrow.stream, application/json;q=0.1",
            "application/vnd.apache.arrow.stream",
        ),
    ],
)
def test_the_accept_header_chooses(proxy: Proxy, accept: str, kind: str) -> None:
    reply = proxy.ask("/tables/Stations/rows", {"$top": "1"}, Accept=accept)
    assert reply.headers["content-type"].startswith(kind)
    forced = proxy.ask("/tables/Stations/rows", {"$top": "1", "format": "csv"}, Accept=accept)
    assert forced.headers["content-type"].startswith("text/csv")


def test_the_link_leads_to_the_next_page(proxy: Proxy) -> None:
    reply = proxy.ask("/tables/Stations/rows", {"$top": "3", "$filter": "open eq true", "token": "secret"})
    link = re.fullmatch(r'<(.+)>; rel="next"', reply.headers["link"])
    assert link
    assert "secret" not in link[1]
    assert [row["RowKey"] for row in proxy.ask(link[1]).rows] == ["000006", "000008", "000010"]


def test_sorted_pages_are_of_one_gathering(proxy: Proxy, table: FakeTable) -> None:
    found = [row["RowKey"] for reply in pages(proxy, {"$orderby": "RowKey desc"}) for row in reply.rows]
    assert found == ALL[::-1]
    asked = table.pages
    first, second = list(pages(proxy, {"$orderby": "elevation,RowKey", "$filter": "elevation lt 2000"}))[:2]
    assert table.pages - asked == 2, "the second page is of the rows gathered for the first"
    rows = [*first.rows, *second.rows]
    assert rows == sorted(rows, key=lambda row: (row["elevation"], row["RowKey"]))


def test_unchanged_pages_are_not_sent_again(proxy: Proxy) -> None:
    first = proxy.ask("/tables/Stations/rows", {"$top": "5"})
    again = proxy.ask("/tables/Stations/rows", {"$top": "5"}, If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert after(again) == after(first)
    zipped = proxy.ask("/tables/Stations/rows", {"$top": "50"}, Accept_Encoding="gzip")
    assert zipped.headers["etag"].endswith('-gzip"')
    same = proxy.ask("/tables/Stations/rows", {"$top": "50"}, If_None_Match=zipped.headers["etag"])
    assert same.status == 304
    other = proxy.ask("/tables/Stations/rows", {"$top": "6"}, If_None_Match=first.headers["etag"])
    assert other.status == 200


def test_http_or_the_buffers_are_compressed_never_both(proxy: Proxy) -> None:
    sizes = {}
    for buffers in ("none", "lz4", "zstd"):
        reply = proxy.ask(
            "/tables/Stations/all", {"format": "arrow", "buffers": buffers}, Accept_Encoding="gzip"
        )
        assert reply.headers.get("content-encoding") == ("gzip" if buffers == "none" else None)
        body = zlib.decompress(reply.body, 31) if buffers == "none" else reply.body
        assert pa.ipc.open_stream(body).read_all().num_rows == COUNT
        sizes[buffers] = len(reply.body)
    plain = proxy.ask("/tables/Stations/all", {"format": "arrow"})
    assert "content-encoding" not in plain.headers
    assert max(sizes.values()) < len(plain.body)


def test_times_of_store_and_proxy_are_told_apart(table: FakeTable) -> None:
    slow = FakeTable(table.rows, before=lambda _: threading.Event().wait(0.12))
    with serving(source(slow)) as proxy:
        reply = proxy.ask("/tables/Stations/rows", {"$top": "1000"})
        found = re.fullmatch(
            r'store;dur=([\d.]+);desc="1 request", proxy;dur=([\d.]+)', reply.headers["server-timing"]
        )
        assert found
        assert float(found[1]) >= 120
        assert float(found[2]) < float(found[1])
        assert re.fullmatch(r"requests=1, bytes=\d{6}", reply.headers["haul-store"])
        told = proxy.told(proxy.ask("/tables/Stations/all", {"$top": "2500"}))
        assert told["store_requests"] == 3
        assert told["seconds"] >= told["store_seconds"] >= 0.36


def test_pages_that_are_empty_and_yet_continue_are_followed(table: FakeTable) -> None:
    class Gaps(FakeTable):
        def page(self, **asked: Any) -> Any:
            body, kind, after = super().page(**asked)
            if self.pages in (1, 3):
                # The same place again, as if the service had found nothing in its time.
                nothing = (
                    b'{"value":[]}' if asked["level"] == "none" else b'{"odata.metadata":"x","value":[]}'
                )
                return nothing, kind, asked["next"] or ("1!8!x", "0")
            return body, kind, after

    for form in ("json-none", "json-full", "ndjson", "atom"):
        with serving(source(Gaps(table.rows.slice(0, 2500), page_rows=500))) as proxy:
            reply = proxy.ask("/tables/Stations/all", {"format": form})
            assert keys_of(reply, form) == ALL[:2500], form


def test_the_interface_is_described(proxy: Proxy) -> None:
    told = proxy.ask("/openapi.json").json
    assert told["openapi"].startswith("3.1")
    assert set(told["paths"]) == {
        "/tables",
        "/tables/{name}",
        "/tables/{name}/rows",
        "/tables/{name}/all",
        "/requests/{key}",
    }
    parameters = {one["name"] for one in told["paths"]["/tables/{name}/rows"]["get"]["parameters"]}
    assert {"$filter", "$select", "$top", "$orderby", "format", "NextPartitionKey"} <= parameters
    assert proxy.ask("/tables").json["tables"] == [{"name": "Stations", "rows": "tables/Stations/rows"}]
    assert proxy.ask("/tables/Stations").json == {"name": "Stations", "columns": None}
