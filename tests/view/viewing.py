"""A server of `haul view` in this process, and what it answers."""

from __future__ import annotations

import http.client
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

import haulage
from haulage.view.reading.place import Place
from haulage.view.serve.serving import Server

#: Of the files that are NetCDF, how many.
NETCDF_FILES = 15


def samples() -> Path:
    """Return the folder of the sample data: 172 files, of which 15 are NetCDF."""
    found = find_spec("iris_sample_data")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "sample_data"


@dataclass
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Any:
        assert self.status >= 400, self.body
        return self.json

    @property
    def framed(self) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
        """The head, and all values after it."""
        assert self.status == 200, self.body
        length = struct.unpack("<I", self.body[:4])[0]
        return json.loads(self.body[4 : 4 + length]), np.frombuffer(self.body[4 + length :], "<f4")

    @property
    def requests(self) -> int:
        return int(self.headers["x-haul-requests"])


class Viewer:
    """Asks a server."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def get(self, path: str, headers: Any = None, **asked: object) -> Answer:
        query = urlencode({"token": self.server.token, **asked})
        return self.raw(f"{path}?{query}", headers)

    def raw(self, path: str, headers: dict[str, str] | None = None, method: str = "GET") -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=100)
        try:
            connection.request(method, path, headers=headers or {})
            found = connection.getresponse()
            return Answer(found.status, found.read(), {k.lower(): v for k, v in found.getheaders()})
        finally:
            connection.close()

    def file(self, name: str) -> Any:
        answer = self.get("/api/file", name=name)
        assert answer.status == 200, answer.body
        return answer.json

    def names(self) -> list[str]:
        return [file["name"] for file in self.get("/api/catalogue", limit=10_000).json["files"]]


@contextmanager
def viewing(url: str | Path, cache: Path | None = None, **options: Any) -> Iterator[Viewer]:
    """Serve what lies at a URL."""
    with haulage.Session() as session:
        reach: Any = {"session": session, **options}
        with viewing_place(Place(str(url), reach), cache) as viewer:
            yield viewer


@contextmanager
def viewing_place(place: Place, cache: Path | None = None) -> Iterator[Viewer]:
    """Serve a place."""
    server = Server(place, cache)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield Viewer(server)
    finally:
        server.stop()
        thread.join(10)
