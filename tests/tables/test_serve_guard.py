"""Who is let in, what is refused, and what each refusal advises."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import in_process
from haulage.errors import BusyError, CredentialError, HaulageError, NotFoundError
from haulage.tables.serve.answering import Bounds
from haulage.tables.serve.app import Limits
from haulage.tables.serve.arrow import batch_of
from haulage.tables.serve.entities import from_json
from haulage.tables.serve.opening import look, opened
from haulage.tables.serve.parquet_source import ParquetSource
from haulage.tables.serve.serving import Server, address
from sentences import Sentence
from tables.serving import FakeTable, Proxy, serving, source, stations

ORIGIN = "https://maps.example.org"


@pytest.fixture(scope="module")
def table() -> FakeTable:
    return FakeTable(stations(1500))


@pytest.fixture(scope="module")
def proxy(table: FakeTable, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    file = tmp_path_factory.mktemp("parquet") / "grid.parquet"
    rows = {"a": range(5), "text": list("abcde"), "nested": [[n] for n in range(5)]}
    pq.write_table(pa.table({name: list(values) for name, values in rows.items()}), file)
    limits = Limits(sorted_rows=100, bounds=Bounds(rows=1200, bytes=2_000_000))
    with serving(source(table), ParquetSource("grid", str(file)), limits=limits, origins=[ORIGIN]) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/tables/Nothing/rows", 404),
        ("/nothing", 404),
        ("/tables/Stations/nothing", 404),
        ("/requests/1", 404),
        ("/tables/Stations/rows?filter=x", 400),
        ("/tables/Stations/rows?$top=0", 400),
        ("/tables/Stations/rows?$top=1001", 400),
        ("/tables/Stations/rows?format=xls", 400),
        ("/tables/Stations/rows?buffers=gzip", 400),
        ("/tables/Stations/rows?formulas=run", 400),
        ("/tables/Stations/rows?$orderby=a,", 400),
        (
            "/tables/Stations/rows?$orderby=nothing&$top=1&$filter=open%20eq%20false%20and%20elevation%20lt%2090",
            400,
        ),
        ("/tables/Stations/rows?NextRowKey=x", 400),
        ("/tables/Stations/all?NextPartitionKey=x", 400),
        ("/tables/Stations/rows?$orderby=RowKey", 413),
        ("/tables/grid/rows?NextPartitionKey=sorted.00.1", 409),
        ("/tables/grid/rows?NextPartitionKey=sorted.x", 400),
        ("/tables/grid/rows?NextPartitionKey=0.0.0", 409),
        ("/tables/grid/rows?NextPartitionKey=x", 400),
        ("/tables/grid/rows?$select=b", 400),
        ("/tables/grid/rows?$filter=b%20eq%201", 400),
        ("/tables/grid/rows?$filter=a%20is%201", 400),
        ("/tables/grid/rows?$filter=a%20eq%20'1'", 400),
        ("/tables/grid/rows?$orderby=nested", 400),
    ],
)
def test_refusals_say_what_to_do(proxy: Proxy, path: str, status: int, sentence: Sentence) -> None:
    reply = proxy.ask(path.replace("'", "%27"))
    assert reply.status == status, reply.json
    sentence(reply.json["hint"])
    assert reply.json["error"]


def test_what_no_format_fits_is_refused(proxy: Proxy) -> None:
    reply = proxy.ask("/tables/grid/rows", Accept="image/png")
    assert reply.status == 406
    assert reply.json["hint"].startswith("accept one of: application/atom+xml")


def test_an_answer_beyond_its_limits_says_so(proxy: Proxy) -> None:
    rows = proxy.ask("/tables/Stations/all?format=ndjson")
    hint = "narrow them with $filter or $top, or start the proxy with a larger --max-rows"
    assert hint in rows.body.decode()
    with serving(source(FakeTable(stations(50))), limits=Limits(bounds=Bounds(bytes=99))) as other:
        hint = "narrow them with $filter or $select, or start the proxy with a larger --max-bytes"
        assert other.ask("/tables/Stations/rows").json["hint"] == hint


def test_one_stream_too_many_is_told_to_wait(table: FakeTable, sentence: Sentence) -> None:
    go = threading.Event()
    held = FakeTable(table.rows, before=lambda number: number == 1 or go.wait(20))
    with serving(source(held), limits=Limits(streams=1)) as proxy:
        connection = proxy.connection()
        connection.request("GET", "/tables/Stations/all")
        answer = connection.getresponse()
        reply = proxy.ask("/tables/Stations/all")
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        sentence(reply.json["hint"])
        go.set()
        answer.read()
        connection.close()


def test_a_store_without_an_answer(table: FakeTable) -> None:
    go = threading.Event()
    stuck = FakeTable(table.rows, before=lambda _: go.wait(20))
    with serving(source(stuck), limits=Limits(timeout=0.2)) as proxy:
        hint = "ask for less, with $filter or $top, or start the proxy with a longer --timeout"
        assert proxy.ask("/tables/Stations/rows").json["hint"] == hint
        go.set()


def test_csv_over_http_1_0(proxy: Proxy) -> None:
    connection = proxy.connection()
    connection._http_vsn, connection._http_vsn_str = 10, "HTTP/1.0"  # type: ignore[attr-defined]
    host = {"Host": f"127.0.0.1:{proxy.port}"}
    connection.request("GET", "/tables/grid/all?format=csv", headers=host)
    assert "ask with HTTP/1.1, or for ndjson" in connection.getresponse().read().decode()


def test_atom_refuses_what_xml_cannot_hold(sentence: Sentence) -> None:
    hostile = FakeTable(pa.record_batch({"PartitionKey": ["a"], "RowKey": ["bell \x07"]}))
    with serving(source(hostile)) as proxy:
        reply = proxy.ask("/tables/Stations/rows?format=atom")
        assert reply.status == 406
        sentence(reply.json["hint"])
        assert proxy.ask("/tables/Stations/rows").rows[0]["RowKey"] == "bell \x07"


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b'{"value":[1]}',
        b'{"value":{"a":1}}',
        b'{"value":[{"A@odata.type":"Edm.Int64","A":"x"}]}',
    ],
)
def test_pages_that_are_not_of_a_table_are_an_error(body: bytes, sentence: Sentence) -> None:
    with pytest.raises(HaulageError) as error:
        batch_of(from_json(body, "page"))
    sentence(error.value)


@pytest.mark.parametrize(
    "shown",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic sesame"}, {"Authorization": "Bearer "}],
)
def test_without_the_token_nothing_is_told(
    table: FakeTable, shown: dict[str, str], sentence: Sentence
) -> None:
    with serving(source(table), token="sesame") as proxy:
        for path in (
            "/tables",
            "/tables/Stations",
            "/tables/Stations/rows",
            "/tables/Stations/all",
            "/requests/x",
        ):
            reply = proxy.ask(path, headers=shown)
            assert reply.status == 401, path
            sentence(reply.json["hint"])
        assert proxy.ask("/tables/Stations/rows?token=wrong").status == 401
        assert proxy.ask("/tables/Stations/rows?token=sesame").status == 200
        assert proxy.ask("/tables/Stations/rows", Authorization="bearer sesame").status == 200
        assert proxy.ask("/").status == 200
        assert proxy.ask("/openapi.json").json["security"] == [{"token": []}]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "MERGE"])
def test_it_only_reads(proxy: Proxy, method: str) -> None:
    reply = proxy.ask("/tables/Stations/rows", method=method)
    assert (reply.status, reply.json["hint"], reply.headers["allow"]) == (
        405,
        "ask with GET",
        "GET, HEAD",
    )


def test_names_that_were_made_to_point_here_are_refused(proxy: Proxy, sentence: Sentence) -> None:
    reply = proxy.ask("/tables/Stations/rows", Host=f"evil.example:{proxy.port}")
    assert reply.status == 421
    sentence(reply.json["hint"])
    assert proxy.ask("/tables", Host=f"localhost:{proxy.port}").status == 200


def test_preflights_and_exposed_headers(proxy: Proxy) -> None:
    asked = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
    }
    allowed = proxy.ask("/tables/Stations/rows", method="OPTIONS", headers=asked)
    assert (allowed.status, allowed.headers["access-control-allow-origin"]) == (200, ORIGIN)
    assert "authorization" in allowed.headers["access-control-allow-headers"].lower()
    refused = proxy.ask(
        "/tables/Stations/rows", method="OPTIONS", headers=asked | {"Origin": "https://evil.example"}
    )
    assert "access-control-allow-origin" not in refused.headers
    reply = proxy.ask("/tables/Stations/rows?$top=1", Origin=ORIGIN)
    exposed = reply.headers["access-control-expose-headers"]
    for name in (
        "x-ms-continuation-NextPartitionKey",
        "x-ms-continuation-NextRowKey",
        "Link",
        "Server-Timing",
    ):
        assert name in exposed
    assert reply.headers["timing-allow-origin"] == ORIGIN
    stranger = proxy.ask("/tables/Stations/rows?$top=1", Origin="https://evil.example")
    assert "access-control-allow-origin" not in stranger.headers


def test_the_page_may_load_nothing_from_elsewhere(proxy: Proxy) -> None:
    for name in ("", "page.js", "page.css", "base.css", "coast.js", "uplot.min.js"):
        reply = proxy.ask(f"/{name}")
        assert reply.status == 200
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert "unsafe" not in reply.headers["content-security-policy"]
    assert proxy.ask("/../page.html").status == 404


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (2, "--listen nowhere a.parquet"),
        (2, "--listen 0.0.0.0:0 a.parquet"),
        (2, "a.parquet other/a.parquet"),
        (2, "az://c/!"),
        (2, "a.parquet --max-bytes 5"),
        (2, "a.parquet --timeout 30"),
        (1, "there.parquet --listen 192.0.2.1:1 --token none"),
        (4, "a.parquet"),
        (4, "there.parquet a.parquet"),
    ],
)
def test_the_command_says_what_to_do(
    code: int,
    line: str,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sentence: Sentence,
) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "there.parquet")
    monkeypatch.chdir(tmp_path)
    assert in_process("table", "serve", *line.split()) == code
    said = capfd.readouterr().err
    assert "(hint: " in said
    sentence(said)


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "127.0.0.1:0"])
@pytest.mark.parametrize("token", ["", " ", "\t", "two words", "sésame", "bell\a"])
def test_a_token_that_nobody_could_show_opens_nothing(
    listen: str, token: str, capfd: pytest.CaptureFixture[str], sentence: Sentence
) -> None:
    assert in_process("table", "serve", "a.parquet", "--listen", listen, "--token", token) == 2
    said = capfd.readouterr().err
    sentence(said)


@pytest.mark.parametrize("given", [None, "auto", "none", "a+b&c%20/d=="])
def test_the_address_of_the_page_holds_the_whole_token(
    given: str | None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One is made up if nobody says otherwise: others may use this machine, too."""
    monkeypatch.setattr(Server, "run", lambda server: server._socket.close())
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    words = ["serve", str(tmp_path / "a.parquet"), "--listen", "127.0.0.1:0", "--json"]
    assert in_process("table", *words, *([] if given is None else ["--token", given])) == 0
    shown = json.loads(capfd.readouterr().out)["token"]
    assert in_process("table", *words[:-1], "--token", shown or "none") == 0
    found = parse_qs(urlsplit(capfd.readouterr().err.strip()).fragment).get("token")
    assert found == (None if given == "none" else [shown])
    assert len(shown or "") == {None: 22, "auto": 22, "none": 0}.get(given, 12)


@pytest.mark.parametrize("token", ["", "  "])
def test_a_blank_token_of_the_environment_opens_nothing_to_others(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAULAGE_TABLE_TOKEN", token)
    assert in_process("table", "serve", "a.parquet", "--listen", "0.0.0.0:0") == 2


@pytest.mark.parametrize(
    "odd",
    [
        {"more": [1]},
        {"elevation": ["high"]},
    ],
)
def test_rows_that_do_not_fit_the_first_page_are_an_error(
    odd: dict[str, list[Any]], sentence: Sentence
) -> None:
    class Odd(FakeTable):
        def page(self, **asked: Any) -> Any:
            if self.pages == 2:
                columns = {name: one * 3000 for name, one in odd.items()}
                self.rows = pa.record_batch({"RowKey": ["x"] * 3000, **columns})
            return super().page(**asked)

    with serving(source(Odd(stations(3000)))) as proxy:
        reply = proxy.ask("/tables/Stations/all?format=csv")
        assert not reply.whole
        sentence(proxy.told(reply)["error"]["hint"])
        # A column that a page lacks is empty there.
        fewer = FakeTable(stations(3000))
    with serving(source(Odd(fewer.rows, pages=-9))) as proxy:
        assert proxy.ask("/tables/Stations/all?format=csv").whole


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "folder",
        "other",
    ],
)
def test_files_that_are_no_parquet(tmp_path: Path, name: str, sentence: Sentence) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "other").write_bytes(b"PAR1 and no more")
    with pytest.raises(HaulageError) as error:
        ParquetSource("x", str(tmp_path / name)).schema()
    sentence(error.value)


def test_what_is_not_there_is_said_before_anybody_asks(table: FakeTable) -> None:
    def refuses(error: HaulageError) -> FakeTable:
        def fail(_: int) -> None:
            raise error

        return FakeTable(table.rows, before=fail)

    look([source(table)])
    for final in (NotFoundError("read", "Stations", "404"), CredentialError("read", "Stations", "403")):
        with pytest.raises(type(final)):
            look([source(table), source(refuses(final))])
    # It may be back when somebody asks.
    look([source(refuses(BusyError("read", "Stations", "503")))])


def test_an_address_that_is_taken(proxy: Proxy, sentence: Sentence) -> None:
    with pytest.raises(HaulageError) as error:
        Server([], address(f"127.0.0.1:{proxy.port}"), Limits())
    sentence(error.value)


def test_a_failure_of_the_proxy_itself_is_an_answer() -> None:
    def broken(_: int) -> Any:
        raise RuntimeError("a bug")

    with serving(source(FakeTable(stations(10), before=broken))) as proxy:
        reply = proxy.ask("/tables/Stations/rows")
        assert (reply.status, reply.json["hint"]) == (500, "please report it")
        table = FakeTable(stations(3000), before=lambda number: number > 1 and broken(number))
    with serving(source(table)) as proxy:
        assert not proxy.ask("/tables/Stations/all").whole


def test_what_is_named_is_a_table_or_a_file() -> None:
    found = opened(["x=az://c/a.parquet", "b.parquet", "s3://bucket/deep/c.parquet"], {})
    assert [(type(one).__name__, one.name) for one in found] == [("ParquetSource", name) for name in "xbc"]


def test_the_end_of_a_short_answer_is_sent_at_once(table: FakeTable) -> None:
    with serving(source(table)) as proxy:
        listening = proxy.server._socket
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
