"""`haulage.put` and `get`: one request each, proven, over one connection."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from azure.storage.blob import BlobBlock

import haulage
from command import clean_environment
from endpoints import Container, Endpoint, connection_string, counted

SIZE = 50_000


def container_of(emulator: haulage.Emulator, monkeypatch: pytest.MonkeyPatch) -> Container:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
    return Endpoint("in process", emulator.endpoint, emulator.connection_string).container()


def test_a_put_is_exactly_one_request_over_a_connection_that_is_there(
    counting: haulage.Emulator, blobs: Container
) -> None:
    content = bytes(range(256)) * 200
    haulage.put(blobs.az("warm"), b"")
    assert counted(counting, lambda: haulage.put(blobs.az("a"), content)) == ({"PutBlob": 1}, 0)
    assert counted(counting, lambda: haulage.get(blobs.az("a"))) == ({"GetBlob": 1}, 0)
    assert blobs.contents()["a"] == content
    assert haulage.verify(blobs.az("a"), blobs.az("a"), deep=True).proofs.crc64 == 1


def test_what_is_put_is_what_is_got(container: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", container.endpoint.connection_string)
    contents: list[bytes | bytearray | memoryview] = [b"", b"x", bytearray(SIZE), memoryview(b"abcdef")[::1]]
    for number, content in enumerate(contents):
        written = haulage.put(container.az(f"{number} ü/x"), content, content_md5=True)
        assert (written.size_bytes, written.object) == (len(content), container.az(f"{number} ü/x"))
        assert haulage.get(container.az(f"{number} ü/x")) == bytes(content)
        assert haulage.stat(container.az(f"{number} ü/x")).crc64 == written.crc64
    assert haulage.put(container.az("a"), b"1").etag == haulage.stat(container.az("a")).etag


def test_the_endpoint_confirms_the_checksum(blobs: Container) -> None:
    assert haulage.put(blobs.az("a"), b"x").proof == "crc64"
    assert haulage.put(blobs.az("a"), b"x", checksum="md5").proof == "md5"
    assert haulage.put(blobs.az("a"), b"x", checksum="none").proof == "length"


@pytest.mark.parametrize("place", ["mem://objects/a", "{folder}/new/a", "file://{folder}/a"])
def test_every_kind_of_name(place: str, tmp_path: Path) -> None:
    url = place.format(folder=tmp_path)
    assert haulage.put(url, b"first").size_bytes == 5
    haulage.put(url, b"second")
    assert haulage.get(url) == b"second"
    with haulage.open(url, "wb") as file:
        file.write(b"third")
    with haulage.open(url) as opened:
        assert opened.read() == b"third"
    with pytest.raises(haulage.ExistsError):
        haulage.put(url, b"x", overwrite="never")
    assert haulage.get(url) == b"third"


def test_what_is_there_is_kept_where_it_must_not_be_replaced(blobs: Container) -> None:
    haulage.put(blobs.az("a"), b"1", overwrite="never")
    with pytest.raises(haulage.ExistsError):
        haulage.put(blobs.az("a"), b"2", overwrite="never")
    assert haulage.get(blobs.az("a")) == b"1"


def test_a_put_whose_answer_was_lost_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with haulage.Emulator(faults="cut=50%,seed=3") as emulator:
        container = container_of(emulator, monkeypatch)
        for number in range(12):
            content = str(number).encode()
            haulage.put(container.az(f"{number}"), content, overwrite="never")
            assert haulage.get(container.az(f"{number}")) == content
        assert emulator.stats()["faults"]["cut"] > 0


def test_a_flipped_bit_is_found_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    with haulage.Emulator(faults="flip=40%,seed=5") as emulator:
        container = container_of(emulator, monkeypatch)
        for number in range(30):
            content = bytes([number]) * 2000
            haulage.put(container.az("a"), content)
            assert haulage.get(container.az("a")) == content
        assert emulator.stats()["faults"]["flip"] > 0


def test_a_blob_without_a_checksum_is_read_in_ranges_that_have_one(
    counting: haulage.Emulator, blobs: Container
) -> None:
    content = bytes(range(256)) * 10_000
    blob = blobs.client.get_blob_client("foreign")
    blob.stage_block("MQ==", content)
    blob.commit_block_list([BlobBlock("MQ==")])
    assert haulage.stat(blobs.az("foreign")).crc64 is None
    requests, _ = counted(counting, lambda: haulage.get(blobs.az("foreign")))
    assert requests["GetBlob"] == 1 + 3
    assert haulage.get(blobs.az("foreign")) == content


def test_other_credentials_are_another_session(blobs: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    haulage.put(blobs.az("a"), b"x")
    wrong = connection_string(blobs.endpoint.url, key="d3Jvbmc=" * 8)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", wrong)
    with pytest.raises(haulage.CredentialError):
        haulage.get(blobs.az("a"))
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", blobs.endpoint.connection_string)
    assert haulage.get(blobs.az("a")) == b"x"


def test_errors_say_what_to_do_and_hold_no_signature(
    counting: haulage.Emulator, blobs: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING")
    read_only = counting.sas("r")
    signature = read_only.split("sig=")[1].split("&")[0]
    url = blobs.url("a", read_only)
    calls: list[Callable[[], object]] = [
        lambda: haulage.put(url, b"x"),
        lambda: haulage.get(url),
        lambda: haulage.open(url),
        lambda: haulage.open(url, "wb").close(),
    ]
    for call in calls:
        with pytest.raises((haulage.CredentialError, haulage.NotFoundError)) as caught:
            call()
        assert signature not in repr(caught.value) + str(caught.value)
        assert blobs.name in caught.value.object
    assert signature not in haulage.put(blobs.url("a", counting.sas()), b"x").object
    with haulage.open(url) as file:
        assert file.name == blobs.url("a")


def test_a_forked_child_puts_and_gets_and_reads_on(blobs: Container) -> None:
    content = bytes(range(256)) * 8192
    haulage.put(blobs.az("a"), content)
    file = haulage.open(blobs.az("a"))
    file.read(10)

    def child() -> None:
        assert file.read(2_000_000) == content[10:2_000_010]
        assert haulage.get(blobs.az("a")) == content
        haulage.put(blobs.az("b"), b"of the child")

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)
    assert process.exitcode == 0
    assert file.read(1000) == content[10:1010]
    assert haulage.get(blobs.az("b")) == b"of the child"


def test_threads_share_the_connections(counting: haulage.Emulator, blobs: Container) -> None:

    def work(number: int) -> None:
        for again in range(20):
            haulage.put(blobs.az(f"{number}"), bytes([again]) * 100)
            assert haulage.get(blobs.az(f"{number}")) == bytes([again]) * 100

    def all_at_once() -> None:
        threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    requests, connections = counted(counting, all_at_once)
    assert requests == {"PutBlob": 160, "GetBlob": 160}
    assert connections <= 8
    assert len(blobs.contents()) == 8


SLOW = """
import signal, sys, haulage
signal.signal(signal.SIGINT, signal.default_int_handler)
print("putting", flush=True)
try:
    haulage.put(sys.argv[1], bytes(16 << 20), cap="8mbit")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_put(emulator: Endpoint, tmp_path: Path) -> None:
    container = emulator.container()
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, container.az("a")],
        env=clean_environment(tmp_path) | emulator.env,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "putting\n"
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - began < 1
    assert container.contents() == {}
