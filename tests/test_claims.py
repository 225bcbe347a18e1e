"""What a service claims need not be true: lists with sizes that nothing has."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from command import Haul
from endpoints import ACCOUNT, connection_string

LARGEST = 2**64 - 1
BLOB = f"""<Blob><Name>%s</Name><Properties><Last-Modified>Sun, 22 Nov 2026 09:00:00 GMT</Last-Modified>
<Etag>0x1</Etag><Content-Length>{LARGEST}</Content-Length><BlobType>BlockBlob</BlobType></Properties></Blob>"""
LIST = f"""<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>{BLOB % "a"}{BLOB % "b"}</Blobs>
<NextMarker/></EnumerationResults>"""


class Boaster(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = LIST.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def haul(tmp_path: Path) -> Iterator[Haul]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Boaster)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    account = connection_string(f"http://127.0.0.1:{server.server_port}/{ACCOUNT}")
    yield Haul(tmp_path, {"AZURE_STORAGE_CONNECTION_STRING": account})
    server.shutdown()
    server.server_close()


def test_sums_of_sizes_do_not_overflow(haul: Haul) -> None:
    usage = json.loads(haul("du", "az://data/", "--json").stdout)
    assert (usage["objects"], usage["size_bytes"]) == (2, LARGEST)
    plan = json.loads(haul("plan", "az://data/", "out", "--json").stdout)
    assert (plan["objects"], plan["bytes"]) == (2, LARGEST)


def test_a_file_of_that_size_is_refused_at_once(haul: Haul, tmp_path: Path) -> None:
    said = haul("cp", "az://data/", "out", code=1)
    assert "failed: 2 objects" in said.stderr
    assert not list(tmp_path.glob("out/*"))
