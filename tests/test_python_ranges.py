"""`haulage.get_range` and `get_ranges`: what they send and return, while other threads run."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import haulage
from endpoints import Container, Endpoint, counted
from haulage.errors import ArgumentTypeError
from sentences import Sentence

MIB = 1 << 20


@pytest.fixture(params=["az", "s3"])
def where(request: pytest.FixtureRequest, counting: haulage.Emulator, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder of the endpoint that counts, by either of its interfaces."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", counting.connection_string)
    access = counting.s3
    monkeypatch.setenv("AWS_ENDPOINT_URL", access["endpoint_url"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", access["aws_access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", access["aws_secret_access_key"])
    container = Endpoint("in process", counting.endpoint, counting.connection_string).container()
    return f"{request.param}://{container.name}"


def test_any_ranges_are_what_the_object_holds(where: str) -> None:
    dice = random.Random(3)
    content = dice.randbytes(200_000)
    haulage.put(f"{where}/a", content)
    for _ in range(10):
        ranges = [
            (dice.randrange(220_000), dice.choice([None, 0, dice.randrange(50_000), 10**18]))
            for _ in range(dice.randrange(12))
        ]
        found = haulage.get_ranges(f"{where}/a", ranges, block_size="16KiB")
        ends = [None if length is None else start + length for start, length in ranges]
        assert found == [content[start:end] for (start, _), end in zip(ranges, ends, strict=True)]


def test_each_range_is_one_request_and_no_other(counting: haulage.Emulator, where: str) -> None:
    haulage.put(f"{where}/a", bytes(9 * MIB))
    api = "GetBlob" if where.startswith("az") else "GetObject"
    look = "BlobProperties" if where.startswith("az") else "HeadObject"
    for ranges, expected in (
        ([(0, 10), (5 * MIB, MIB), (9 * MIB - 1, 1)], {api: 3}),
        ([(0, 9 * MIB)], {api: 3}),
        ([(0, 0)], {}),
        ([(MIB, None)], {look: 1, api: 2}),
    ):
        requests, _ = counted(counting, lambda asked=ranges: haulage.get_ranges(f"{where}/a", asked))  # type: ignore[misc]
        assert requests == expected, ranges


def test_ranges_are_read_at_once_while_other_threads_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with haulage.Emulator(link="rtt=50ms") as far:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", far.connection_string)
        container = Endpoint("in process", far.endpoint, far.connection_string).container()
        haulage.put(container.az("a"), bytes(MIB))
        ticks, ended = 0, threading.Event()

        def tick() -> None:
            nonlocal ticks
            while not ended.wait(0.001):
                ticks += 1

        ticking = threading.Thread(target=tick)
        ticking.start()
        began = time.monotonic()
        haulage.get_ranges(container.az("a"), [(number * 1000, 1000) for number in range(40)])
        took = time.monotonic() - began
        ended.set()
        ticking.join()
    assert took < 20 * 0.05, "one after the other would take two seconds at least"
    assert ticks > 10


def test_threads_read_at_once_on_one_session(counting: haulage.Emulator, blobs: Container) -> None:
    content = random.Random(4).randbytes(MIB)
    failures: list[BaseException] = []
    with haulage.Session() as session:
        haulage.put(blobs.az("a"), content, session=session)

        def read(seed: int) -> None:
            dice = random.Random(seed)
            try:
                for _ in range(50):
                    start, length = dice.randrange(MIB - 10_000), dice.randrange(10_000)
                    found = haulage.get_range(blobs.az("a"), start, length, session=session)
                    assert found == content[start : start + length]
            except BaseException as failure:
                failures.append(failure)

        def all_at_once() -> None:
            threads = [threading.Thread(target=read, args=[seed]) for seed in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        _, connections = counted(counting, all_at_once)
    assert not failures
    assert connections <= 8


def test_all_ranges_are_of_the_version_that_is_named(where: str) -> None:
    haulage.put(f"{where}/a", b"first")
    version = haulage.stat(f"{where}/a").etag
    assert haulage.get_range(f"{where}/a", 3, 100, version=version) == b"st"
    haulage.put(f"{where}/a", b"second")
    for length in (2, 100, None):
        with pytest.raises(haulage.SourceChangedError):
            haulage.get_range(f"{where}/a", 3, length, version=version)


def test_a_flipped_bit_of_a_range_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    content = random.Random(5).randbytes(MIB)
    with haulage.Emulator(faults="flip=30%,seed=3") as flipping:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", flipping.connection_string)
        container = Endpoint("in process", flipping.endpoint, flipping.connection_string).container()
        haulage.put(container.az("a"), content)
        ranges = [(number * 10_000, 10_000) for number in range(100)]
        found = haulage.get_ranges(container.az("a"), ranges)
        assert flipping.stats()["faults"]
    assert b"".join(found) == content[: 100 * 10_000]


def test_what_is_not_there_or_no_range_fails_by_name(where: str, sentence: Sentence) -> None:
    with pytest.raises(haulage.NotFoundError):
        haulage.get_range(f"{where}/nothing", 0, 1)
    haulage.put(f"{where}/a", b"hello")
    for start, length in ((-1, 2), (0, -2)):
        with pytest.raises(haulage.UsageError) as caught:
            haulage.get_range(f"{where}/a", start, length)
        sentence(caught.value)


def test_ranges_that_are_rows_of_an_array_or_no_pairs(where: str, sentence: Sentence) -> None:
    """Only tuples were taken; others ended in an error of the bindings."""
    haulage.put(f"{where}/rows", b"one two three")
    rows = np.array([[0, 3], [4, 3]])
    assert haulage.get_ranges(f"{where}/rows", rows) == [b"one", b"two"]
    assert haulage.get_ranges(f"{where}/rows", [[8, None]]) == [b"three"]  # type: ignore[list-item]
    for odd in ([5], [(1, 2, 3)]):
        with pytest.raises(ArgumentTypeError) as caught:
            haulage.get_ranges(f"{where}/rows", odd)  # type: ignore[arg-type]
        sentence(caught.value)


def test_files_on_this_machine_are_read_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one two three")
    assert haulage.get_ranges(path, [(4, 3), (8, None), (100, 1)]) == [b"two", b"three", b""]
