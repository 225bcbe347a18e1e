"""Copies within one service: the service copies, and next to nothing passes the link."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import endpoints
import haulage
import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Container, Endpoint, S3Endpoint

MIB = 1 << 20


def large_tree(folder: Path) -> dict[str, bytes]:
    trees.make(folder, files=20)
    trees.random_file(folder / "large.bin", 40 * MIB)
    return trees.contents(folder)


@pytest.fixture(params=["versitygw", "emulator"])
def s3(request: pytest.FixtureRequest) -> S3Endpoint:
    found = request.getfixturevalue(request.param)
    return found if isinstance(found, S3Endpoint) else endpoints.by_s3(found)


def test_a_tree_between_containers_does_not_pass_this_machine(haul: Haul, container: Container) -> None:
    """Azurite does not know these requests: there everything passes this machine, and that is said."""
    expected = large_tree(haul.folder / "tree")
    haul("cp", "tree", container.az("in/"))
    other = container.endpoint.container()
    planned = haul("plan", container.az("in/"), other.az()).text
    assert "copied by the service" in planned
    done = haul("cp", container.az("in/"), other.az(), "--json")
    trees.assert_same(other.contents(), expected)
    apis = {attempt["api"] for attempt in done.of("attempt") if attempt["fate"] == "ok"}
    warned = [warning["message"] for warning in done.of("warning")]
    if container.endpoint.name == "azurite":
        assert done.summary["objects_by_service"] == 0
        assert [message.startswith("copied through this machine") for message in warned] == [True]
        assert {"PutBlob", "PutBlock"} <= apis
    else:
        assert not warned
        assert {"PutBlobFromURL", "PutBlockFromURL"} <= apis
        assert "GetBlob" not in {a["api"] for a in done.of("attempt") if a["size_bytes"]}
        assert done.summary["bytes_wire"] < MIB
        assert done.summary["bytes_by_service"] == sum(map(len, expected.values()))
        assert all(object_["by_service"] for object_ in done.of("object") if object_["size_bytes"])
        assert done.summary["objects_unproven"] == 0
        assert haul("cp", container.az("in/"), other.az()).text == ""
    assert haul("verify", container.az("in/"), other.az(), "--json").summary["objects_done"] == len(expected)


def test_a_copy_that_the_service_gets_wrong_replaces_nothing(haul: Haul, emulator: Endpoint) -> None:
    """What was there was replaced, compared, and deleted, with its snapshots."""
    here, there = emulator.container(), emulator.container()
    here.client.upload_blob("a", b"new", metadata={"haulage_crc64": "0123456789abcdef"})
    there.client.upload_blob("a", b"old")
    haul("cp", here.az("a"), there.az("a"), code=5)
    assert there.contents() == {"a": b"old"}
    haul("cp", here.az("a"), there.az("b"), code=5)
    assert there.contents() == {"a": b"old"}


def test_never_means_never(haul: Haul, emulator: Endpoint) -> None:
    one, two = emulator.container(), emulator.container()
    trees.random_file(haul.folder / "a", 3 * MIB)
    haul("cp", "a", one.az())
    done = haul("cp", one.az("a"), two.az(), "--server-side", "never", "--json")
    assert done.summary["objects_by_service"] == 0
    assert done.summary["bytes_wire"] > 6 * MIB
    assert two.contents() == one.contents()


def test_a_tree_between_buckets_does_not_pass_this_machine(tmp_path: Path, s3: S3Endpoint) -> None:
    haul = Haul(tmp_path, s3.env, [s3.keys[1]])
    expected = large_tree(tmp_path / "tree")
    one, two = (f"s3://{s3.new_name()}" for _ in range(2))
    for url in (one, two):
        haul("mb", url)
    haul("cp", "tree", f"{one}/in/")
    done = haul("cp", f"{one}/in/", f"{two}/out/", "--json")
    assert done.summary["bytes_wire"] < MIB
    assert done.summary["objects_by_service"] == sum(1 for data in expected.values() if data)
    assert done.summary["objects_unproven"] == 0
    assert {"CopyObject", "UploadPartCopy"} <= {attempt["api"] for attempt in done.of("attempt")}
    haul("cp", f"{two}/out/", "back")
    trees.assert_same(trees.contents(tmp_path / "back"), expected)
    again = haul("cp", f"{one}/in/", f"{two}/out/", "--json")
    assert again.summary["objects_skipped"] == len(expected)


@pytest.mark.slow("copies at a slow link until it is killed, and then the rest")
def test_a_killed_copy_goes_on_where_it_was(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul]
) -> None:
    endpoint = start_emulator(faults="serial=50ms")
    haul, one, two = haul_at(endpoint), endpoint.container(), endpoint.container()
    trees.random_file(haul.folder / "a", 60 * MIB)
    haul("cp", "a", one.az())
    options = ("--block-size", "2MiB", "--concurrency", "2", "--json")
    haul.kill_after_blocks(10, "cp", one.az("a"), two.az(), *options, api="PutBlockFromURL")
    assert two.contents() == {}
    done = haul("cp", one.az("a"), two.az(), *options)
    assert done.summary["bytes_resumed"] >= 20 * MIB
    assert done.summary["proofs"]["service"] == 1
    assert two.contents() == one.contents()


def test_python_says_what_the_service_copied(blobs: Container, tmp_path: Path) -> None:
    trees.random_file(tmp_path / "a", 2 * MIB)
    haulage.copy(tmp_path / "a", blobs.az("a"))
    assert haulage.plan(blobs.az("a"), blobs.az("b")).by_service == 1
    done = haulage.copy(blobs.az("a"), blobs.az("b"))
    assert (done.objects_by_service, done.bytes_by_service, done.proofs.crc64) == (1, 2 * MIB, 1)
    assert haulage.copy(blobs.az("a"), blobs.az("c"), server_side="never").objects_by_service == 0


class _Echo(BaseHTTPRequestHandler):
    """A service with one blob, which repeats how it was to read it instead of copying it."""

    protocol_version = "HTTP/1.1"
    told: list[str]

    def do_GET(self) -> None:
        if "/two/" in self.path:
            self.reply(404, b"", {"x-ms-error-code": "BlobNotFound"})
        elif self.headers.get("x-ms-range"):
            self.reply(206, b"body", {"Content-Range": "bytes 0-3/4"})
        else:
            self.reply(200, b"body")

    do_HEAD = do_GET  # noqa: N815

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        source = self.headers.get("x-ms-copy-source")
        if source is None:
            self.reply(201, b"")
            return
        self.told.append(source)
        signature = parse_qs(urlsplit(source).query)["sig"][0]
        message = f"Cannot read {source} by {signature}".replace("&", "&amp;")
        body = f"<Error><Code>CannotVerifyCopySource</Code><Message>{message}</Message></Error>"
        self.reply(403, body.encode(), {"x-ms-request-id": signature})

    def reply(self, status: int, body: bytes, headers: Mapping[str, str] = {}) -> None:
        self.send_response(status)
        usual = {"ETag": '"0x1"', "Last-Modified": "Fri, 01 Jan 2021 00:00:00 GMT"}
        if self.command != "PUT":
            usual["Content-MD5"] = base64.b64encode(hashlib.md5(b"body").digest()).decode()
        for name, value in (usual | {"Content-Length": str(len(body))} | dict(headers)).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def echoing() -> Iterator[tuple[str, list[str]]]:
    """Serve on a free port; the URL of its account, and the sources that it was told of."""
    told: list[str] = []
    handler = type("Handler", (_Echo,), {"told": told})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/devstoreaccount1", told
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("sas", ["", "?sv=2021-12-02&sp=r&sig=bm90IGZvciBvdGhlcnMgYW5kIGxvbmcgZW5vdWdo"])
def test_what_opens_the_source_is_never_shown(tmp_path: Path, sas: str) -> None:
    haul = Haul(tmp_path)
    with echoing() as (url, told):
        files = ("--record", "record.parquet", "--receipt", "receipt", "--json")
        done = haul("cp", f"{url}/one/a{sas}", f"{url}/two/a", *files)
        shown = haul("cp", f"{url}/one/a{sas}", f"{url}/two/a")
    assert done.summary["objects_done"] == 1
    assert len(told) == 2
    (warning,) = done.of("warning")
    assert "CannotVerifyCopySource" in warning["message"]
    written = [(tmp_path / name).read_bytes() for name in ("record.parquet", "receipt")]
    said = b"".join([done.stdout, shown.stdout, *written]).decode(errors="replace")
    said += done.stderr + shown.stderr
    for source in told:
        assert source.startswith(f"{url}/one/a?")
        query = urlsplit(source).query
        for secret in (parse_qs(query)["sig"][0], query.rpartition("sig=")[2]):
            assert secret not in said
