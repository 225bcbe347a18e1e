"""`haul cp - az://...` and `haul cp az://... -`."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable

import duckdb

from command import HAUL, Haul
from conftest import StartEmulator
from endpoints import Container, Endpoint
from sentences import Sentence


def test_cp_stdin_to_a_blob_and_a_blob_to_stdout(haul: Haul, container: Container) -> None:
    data = random.Random(7).randbytes(3_000_001)
    haul("cp", "-", container.az("stream"), stdin=data)
    assert container.contents() == {"stream": data}
    assert haul("cp", container.az("stream"), "-").stdout == data


def test_cp_empty_stdin(haul: Haul, container: Container) -> None:
    haul("cp", "-", container.az("stream"))
    assert container.contents() == {"stream": b""}


def test_cat_writes_only_the_bytes(haul: Haul, container: Container) -> None:
    container.client.upload_blob("a", b"one\n")
    container.client.upload_blob("b", b"two\n")
    assert haul("cat", container.az("a"), container.az("b")).stdout == b"one\ntwo\n"


def test_cp_stdin_goes_on_over_a_bad_link(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul]
) -> None:
    """What fails is sent again from memory: a stream cannot be read twice."""
    endpoint = start_emulator(faults="busy=5%,cut=5%,flip=2%,seed=7")
    haul, container = haul_at(endpoint), endpoint.container()
    data = random.Random(8).randbytes(9_000_001)
    said = haul("cp", "-", container.az("stream"), "--block-size", "256KiB", "--json", stdin=data)
    assert container.contents() == {"stream": data}
    assert said.summary["retries"] > 0
    (record,) = said.of("object")
    assert (record["outcome"], record["method"], record["size_bytes"]) == ("copied", "blocks", len(data))
    assert haul("cp", container.az("stream"), "-", "--block-size", "256KiB").stdout == data


def test_cp_stdin_holds_no_more_than_it_may(emulator: Endpoint, haul: Haul) -> None:
    """Read ahead of the first block that has not arrived: at most half of `--max-memory`, and one block."""
    container = emulator.container()
    data = random.Random(9).randbytes(12_000_000)
    options = ("--max-memory", "2MiB", "--block-size", "512KiB", "--record", "run.parquet")
    haul("cp", "-", container.az("stream"), *options, stdin=data)
    assert container.contents() == {"stream": data}
    with duckdb.connect() as database:
        rows = database.execute(
            f"select offset_bytes, ready_ns, ended_ns from '{haul.folder / 'run.parquet'}'"
            " where api = 'PutBlock' and fate = 'ok' order by offset_bytes"
        ).fetchall()
    assert len(rows) > 20
    for offset, ready, _ in rows:
        missing = min(at for at, _, ended in rows if ended >= ready)
        assert offset - missing <= (1 << 20) + (512 << 10), (offset, missing)


def test_cp_to_a_reader_that_stops_early_is_no_failure(haul: Haul, container: Container) -> None:
    container.client.upload_blob("large", bytes(20_000_000))
    line = [str(HAUL), "cp", container.az("large"), "-"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=haul.env) as process:
        assert process.stdout is not None
        assert process.stdout.read(10) == bytes(10)
        process.stdout.close()
        assert process.wait(timeout=30) == 0


def test_plan_refuses_a_stream(haul: Haul, container: Container, sentence: Sentence) -> None:
    said = haul("plan", "-", container.az("stream"), code=2)
    sentence(said.stderr)
