"""All rows as one answer: early, held up, left, cut off, bounded."""

from __future__ import annotations

import json
import socket
import threading
import zlib
from collections.abc import Callable
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from haulage.errors import NotFoundError
from haulage.tables.serve.answering import Bounds
from haulage.tables.serve.app import Limits
from haulage.tables.serve.asking import FORMATS
from sentences import Sentence
from tables.serving import (
    FakeTable,
    breaking,
    keys_of,
    serving,
    source,
    stations,
)

#: Four pages.
COUNT = 3300


@pytest.fixture(scope="module")
def table() -> FakeTable:
    return FakeTable(stations(COUNT))


def after_the_third(event: threading.Event) -> Callable[[int], object]:
    """Hold up the fourth page and those that follow until then."""
    return lambda number: number < 4 or event.wait(20)


def test_the_first_rows_leave_before_the_last_are_read(table: FakeTable) -> None:
    for form in FORMATS:
        held = threading.Event()
        slow = FakeTable(table.rows, before=after_the_third(held))
        with serving(source(slow)) as proxy:
            connection = proxy.connection()
            connection.request("GET", f"/tables/Stations/all?format={form}")
            answer = connection.getresponse()
            begun = answer.read(30_000)
            # The first rows are here; the store has not yet been allowed to answer the fourth request.
            assert len(begun) == 30_000
            assert slow.pages <= 5
            assert not held.is_set()
            held.set()
            rest = answer.read()
            assert len(rest) > 30_000
            connection.close()


def test_a_slow_reader_holds_up_the_store() -> None:
    keys = [f"{n:06}" for n in range(9000)]
    wide = FakeTable(pa.record_batch({"RowKey": keys, "text": ["x" * 2000] * 9000}))
    arrived = threading.Event()
    wide.before = lambda number: arrived.set() if number == 2 else None
    with serving(source(wide)) as proxy, socket.create_connection(("127.0.0.1", proxy.port)) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.sendall(f"GET /tables/Stations/all HTTP/1.1\r\nHost: 127.0.0.1:{proxy.port}\r\n\r\n".encode())
        assert arrived.wait(10)
        settled = 0
        # The proxy reads ahead until its buffers are full; then nothing is asked for any more.
        while settled != wide.pages:
            settled = wide.pages
            threading.Event().wait(0.3)
        assert settled <= 6
        assert wide.pages < 9


def test_whoever_leaves_ends_the_reading(table: FakeTable, sentence: Sentence) -> None:
    asked, go = threading.Event(), threading.Event()

    def before(number: int) -> None:
        if number == 3:
            asked.set()
            go.wait(20)

    held = FakeTable(table.rows, before=before)
    with serving(source(held), limits=Limits(streams=1)) as proxy:
        connection = proxy.connection()
        connection.request("GET", "/tables/Stations/all?format=ndjson")
        answer = connection.getresponse()
        answer.read(1000)
        assert asked.wait(10)
        answer.close()
        connection.close()
        # The place of the one stream is free as soon as the client is known to have left.
        for _ in range(200):
            again = proxy.ask("/tables/Stations/all", {"$top": "1", "$filter": "RowKey eq '000001'"})
            if again.status == 200:
                break
        go.set()
        assert again.status == 200
        told = proxy.ask(f"/requests/{answer.headers['Haul-Request']}").json
        sentence(told["error"]["error"])
    assert held.pages <= 4


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_an_error_midway_is_never_a_short_answer(table: FakeTable, form: str, encoding: str) -> None:
    # Atom asks once more: the service refuses it at first.
    broken = FakeTable(table.rows, before=breaking(5 if form == "atom" else 4))
    with serving(source(broken)) as proxy:
        reply = proxy.ask("/tables/Stations/all", {"format": form}, Accept_Encoding=encoding)
        assert reply.status == 200
        assert not reply.whole, "the connection is cut"
        body = zlib.decompressobj(31).decompress(reply.body) if encoding == "gzip" else reply.body
        reply.body = body
        if form == "ndjson":
            *rows, last = body.splitlines()
            assert len(rows) == 3000
            assert json.loads(last) == {
                "code": "busy",
                "error": "read Stations: 503 ServerBusy",
                "hint": "try again later",
            }
        elif form == "csv":
            assert len(keys_of(reply, form)) == 3000
        else:
            # No reader takes it for whole, even one that does not notice the cut.
            with pytest.raises((ValueError, ElementTree.ParseError, pa.ArrowException, OSError)):
                keys_of(reply, form)
        told = proxy.told(reply)
        assert (told["complete"], told["error"]["code"]) == (False, "busy")


def test_an_error_at_once_is_an_answer(table: FakeTable) -> None:
    gone = NotFoundError("read", "Stations", "404 TableNotFound", "list the tables that are there")
    with serving(source(FakeTable(table.rows, before=breaking(1, gone)))) as proxy:
        reply = proxy.ask("/tables/Stations/all")
        assert reply.status == 404
        assert reply.json == {
            "code": "not_found",
            "error": "read Stations: 404 TableNotFound",
            "hint": "list the tables that are there",
        }


def test_limits_are_errors_not_short_answers(table: FakeTable, sentence: Sentence) -> None:
    limits = Limits(streams=1, sorted_rows=500, bounds=Bounds(rows=2000))
    with serving(source(table), limits=limits) as proxy:
        assert proxy.ask("/tables/Stations/all", {"$top": "2000"}).whole
        reply = proxy.ask("/tables/Stations/all", {"format": "csv"})
        assert not reply.whole
        sentence(proxy.told(reply)["error"]["error"])
        ordered = proxy.ask("/tables/Stations/rows", {"$orderby": "RowKey"})
        assert ordered.status == 413
    with serving(source(table), limits=Limits(bounds=Bounds(bytes=1000))) as proxy:
        assert proxy.ask("/tables/Stations/rows", {"$top": "1"}).status == 200
        assert proxy.ask("/tables/Stations/rows").status == 413


def test_a_store_that_does_not_answer_is_given_up(table: FakeTable) -> None:
    go = threading.Event()
    stuck = FakeTable(table.rows, before=lambda number: number == 2 and go.wait(20))
    with serving(source(stuck), limits=Limits(timeout=1)) as proxy:
        reply = proxy.ask("/tables/Stations/all", {"format": "json-none"})
        assert not reply.whole
        assert proxy.told(reply)["error"]["code"] == "stalled"
        stuck.pages = 1
        reply = proxy.ask("/tables/Stations/rows")
        assert (reply.status, reply.json["code"]) == (504, "stalled")
        go.set()


def test_csv_over_http_1_0_is_refused_as_its_end_could_not_be_told(table: FakeTable) -> None:
    with serving(source(table)) as proxy, socket.create_connection(("127.0.0.1", proxy.port)) as client:
        asked = f"GET /tables/Stations/all?format=csv HTTP/1.0\r\nHost: 127.0.0.1:{proxy.port}\r\n\r\n"
        client.sendall(asked.encode())
        answer = client.makefile("rb").read()
    assert b" 406 " in answer.splitlines()[0]
