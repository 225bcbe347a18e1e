"""A proxy over rows in memory, which can be held up, broken and counted."""

from __future__ import annotations

import csv
import http.client
import io
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from xml.etree import ElementTree

import pyarrow as pa

from haulage.errors import BusyError, HaulageError, UnsupportedError
from haulage.tables.serve import atom
from haulage.tables.serve.app import Limits
from haulage.tables.serve.encoding import json_page
from haulage.tables.serve.entities import Entity, from_batch
from haulage.tables.serve.filters import parse
from haulage.tables.serve.matching import matching
from haulage.tables.serve.serving import Server, address
from haulage.tables.serve.table_source import Place, TableSource
from haulage.tables.source import Metadata, Source, media_type

ROWS = 8100
#: Keys and text as unfriendly as the service takes them.
D = "{http://schemas.microsoft.com/ado/2007/08/dataservices}"
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
FORMULA = '=HYPERLINK("http://evil.example","x")'


def stations(rows: int = ROWS) -> pa.RecordBatch:
    """Rows of every type; every ninth has no elevation."""
    numbers = list(range(rows))
    guids = [f"00000000-0000-4000-8000-{n:012x}" for n in numbers]
    columns: dict[str, pa.Array] = {
        "PartitionKey": pa.array([f"land {n // 900}" for n in numbers]),
        "RowKey": pa.array([f"{n:06}" for n in numbers]),
        "Timestamp": pa.array(
            [1_700_000_000_000_000_100 + n * 10**9 for n in numbers], pa.timestamp("ns", tz="UTC")
        ),
        "station": pa.array(
            [HOSTILE if n == 3 else FORMULA if n == 4 else f"Ort {n % 97} ä\n" for n in numbers]
        ),
        "elevation": pa.array([None if n % 9 == 0 else (n * 37) % 3000 for n in numbers], pa.int32()),
        "visits": pa.array([n * 10**12 for n in numbers], pa.int64()),
        "lat": pa.array([45 + (n % 90) / 30 for n in numbers]),
        "lon": pa.array([6 + (n // 90) / 10 for n in numbers]),
        "open": pa.array([n % 2 == 0 for n in numbers]),
        "id": pa.array(guids),
        "blob": pa.array([n.to_bytes(3, "big") for n in numbers]),
    }
    guid = pa.field("id", pa.string(), metadata={b"edm": b"Edm.Guid"})
    fields = [guid if name == "id" else pa.field(name, kind.type) for name, kind in columns.items()]
    return pa.record_batch(list(columns.values()), schema=pa.schema(fields))


@dataclass
class FakeTable:
    """What the engine does with a table, done in memory."""

    rows: pa.RecordBatch
    pages: int = 0  #: asked for so far
    #: Called with the number of the page before it is answered.
    before: Callable[[int], object] = lambda _: None
    writes_atom: bool = False
    page_rows: int = 1000

    def page(
        self,
        *,
        filter: str | None = None,
        select: list[str] | None = None,
        top: int | None = None,
        next: Place | None = None,
        level: str = "minimal",
    ) -> tuple[bytes, str, Place | None]:
        self.pages += 1
        self.before(self.pages)
        if level == "atom" and not self.writes_atom:
            raise UnsupportedError("read", "table", "415 AtomFormatNotSupported", "ask for JSON")
        found = matching(self.rows, parse(filter)) if filter else self.rows
        found = found.select(select) if select else found
        start = int(next[1] or 0) if next else 0
        end = start + min(top or 1000, self.page_rows)
        rows: list[Entity] = list(from_batch(found.slice(start, end - start)))
        more = ("1!8!x", f"{end}") if end < found.num_rows else None
        if level == "atom":
            return atom.feed(rows, "Stations", "2024-01-01T00:00:00Z"), media_type("atom"), more
        known: dict[str, Metadata] = {"none": "none", "minimal": "minimal", "full": "full"}
        return json_page(rows, "Stations", known[level]), media_type(known[level]), more


def breaking(at: int, error: HaulageError | None = None) -> Callable[[int], object]:
    """Fail with this page."""
    failure = error or BusyError("read", "Stations", "503 ServerBusy", "try again later")

    def before(number: int) -> None:
        if number == at:
            raise failure

    return before


class Reply:
    """An answer of the proxy, read to its end."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = {name.lower(): value for name, value in answer.getheaders()}
        self.whole = True
        try:
            self.body = answer.read()
        except http.client.IncompleteRead as error:
            self.whole, self.body = False, error.partial

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json["value"]
        return found


@dataclass
class Proxy:
    """A proxy that runs."""

    server: Server
    token: str | None = None

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def port(self) -> int:
        return urlsplit(self.server.url).port or 0

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def ask(
        self,
        path: str,
        query: Mapping[str, Any] | None = None,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        **more: str,
    ) -> Reply:
        """Ask; the names of further headers are written with underscores."""
        address = path + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        sent = {**(headers or {}), **{name.replace("_", "-"): value for name, value in more.items()}}
        connection = self.connection()
        try:
            connection.request(method, address, headers=sent)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def told(self, reply: Reply) -> dict[str, Any]:
        """What the proxy tells of an answer once it has ended."""
        found: dict[str, Any] = self.ask(f"/requests/{reply.headers['haul-request']}").json
        return found


@contextmanager
def serving(
    *sources: Source, limits: Limits | None = None, token: str | None = None, origins: Sequence[str] = ()
) -> Iterator[Proxy]:
    """Serve these until the block ends."""
    limits = limits or Limits()
    server = Server(sources, address("127.0.0.1:0"), limits, token=token, origins=origins)
    thread = threading.Thread(target=server.run, name="proxy", daemon=True)
    thread.start()
    try:
        yield Proxy(server, token)
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


def source(table: FakeTable | None = None, name: str = "Stations") -> TableSource:
    return TableSource(name, table or FakeTable(stations()))


def keys_of(reply: Reply, form: str) -> list[str]:
    """The row keys of an answer, as a reader of its format finds them."""
    body = reply.body
    match form:
        case "csv":
            return [row["RowKey"] for row in csv.DictReader(io.StringIO(body.decode(), newline=""))]
        case "ndjson":
            return [json.loads(line)["RowKey"] for line in body.splitlines()]
        case "atom":
            return [found.text or "" for found in ElementTree.fromstring(body).iter(f"{D}RowKey")]
        case "arrow":
            found: list[str] = pa.ipc.open_stream(body).read_all()["RowKey"].to_pylist()
            return found
        case _:
            return [row["RowKey"] for row in json.loads(body)["value"]]
