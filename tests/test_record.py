"""`haul cp --record FILE.parquet`: a row for every attempt, readable by everyone's tools."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb

import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Endpoint

PHASES = (
    "queued_ns",
    "slot_ns",
    "ready_ns",
    "connected_ns",
    "sent_ns",
    "first_byte_ns",
    "last_byte_ns",
    "committed_ns",
)


def test_record_holds_every_attempt_with_its_phases_in_order(
    emulator: Endpoint, haul: Haul, tree: Path, tmp_path: Path
) -> None:
    container = emulator.container()
    events = haul("cp", tree, container.az(), "--record", "run.parquet", "--json").of("attempt")
    with duckdb.connect() as database:
        database.execute(f"create view run as from '{tmp_path / 'run.parquet'}'")
        columns = {column for (column, *_) in database.execute("describe run").fetchall()}
        assert {*PHASES, "api", "fate", "attempt", "size_bytes", "object"} <= columns
        uploads = "from run where api in ('PutBlob', 'PutBlock')"
        found = database.execute(f"select count(*), sum(size_bytes) {uploads}").fetchone()
        rows = database.execute(f"select {', '.join(PHASES)} {uploads}").fetchall()
    sent = [event for event in events if event["api"] in ("PutBlob", "PutBlock")]
    assert found == (len(sent), sum(event["size_bytes"] for event in sent))
    for row in rows:
        reached = [at for at in row if at is not None]
        assert len(reached) >= 6
        assert reached == sorted(reached)


def test_record_holds_no_secret(emulator: Endpoint, haul: Haul, tree: Path, tmp_path: Path) -> None:
    container, sas = emulator.container(), emulator.sas()
    haul("cp", tree, container.url("", sas), "--record", "run.parquet")
    with duckdb.connect() as database:
        text = str(database.execute(f"from '{tmp_path / 'run.parquet'}'").fetchall())
    assert sas.split("sig=")[1] not in text
    assert "sig=" not in text


def recorded(haul: Haul, tmp_path: Path, *args: str | Path) -> list[dict[str, Any]]:
    """Copy, and return the rows of the record that a connection carried, in the order in which they ended."""
    haul("cp", *args, "--record", "run.parquet")
    with duckdb.connect() as database:
        rows = database.execute(
            f"from '{tmp_path / 'run.parquet'}' where connection > 0 order by connection, ended_ns"
        )
        names = [column[0] for column in rows.description or []]
        return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]


def test_record_tells_the_way_to_the_service(
    emulator: Endpoint, haul: Haul, tree: Path, tmp_path: Path
) -> None:
    container = emulator.container()
    address = emulator.url.split("/")[2]
    rows = recorded(haul, tmp_path, tree, container.az())
    assert {row["remote"] for row in rows} == {address}
    # An address is not looked up, and plain http agrees on nothing.
    assert {(row["dns_ns"], row["tls_ns"]) for row in rows} == {(None, None)}
    named = container.url("named/", emulator.sas()).replace("127.0.0.1", "localhost")
    rows = recorded(haul, tmp_path, tree, named)
    assert {row["remote"] for row in rows} == {address}
    # No request waits for a connection that was opened ahead, nor for one that has served before.
    waited = [row for row in rows if row["dns_ns"] is not None]
    assert any(not row["connection_reused"] for row in rows)
    assert not any(row["connection_reused"] for row in waited)
    ahead = [row for row in rows if not row["connection_reused"] and row["dns_ns"] is None]
    assert len(ahead) <= 8, "so many are opened for a folder"
    assert all(0 < row["dns_ns"] < row["connected_ns"] - row["slot_ns"] for row in waited)


def test_record_tells_what_the_kernel_counts(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    """A server that reads at 8 Mbit/s closes its window; one that reads at once does not."""
    limited = {}
    for link in ("none", "conn=8mbit"):
        endpoint = start_emulator(link=link)
        (tmp_path / "file").write_bytes(bytes(1_000_000))
        one: list[str | Path] = [
            tmp_path / "file",
            endpoint.container().az("file"),
            "--concurrency",
            "1",
            "--method",
            "whole",
        ]
        haul = haul_at(endpoint)
        rows = recorded(haul, tmp_path, *one)
        last = rows[-1]
        assert 0 < last["tcp_rtt_ns"] < 1_000_000_000
        assert 0 <= last["tcp_rwnd_limited_ns"] <= last["tcp_busy_ns"] <= last["ended_ns"]
        for before, after in pairwise(rows):
            if before["connection"] == after["connection"]:
                assert before["tcp_busy_ns"] <= after["tcp_busy_ns"]
                assert before["tcp_retransmits"] <= after["tcp_retransmits"]
        limited[link] = last["tcp_rwnd_limited_ns"] / 1e9
    assert limited["none"] < 0.2
    assert limited["conn=8mbit"] > 0.4


def test_record_tells_the_wait_that_the_service_asked_for(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    """The emulator asks for a second with half of its refusals."""
    endpoint = start_emulator(faults="busy=40%,seed=3")
    tree = trees.make(tmp_path / "tree", files=30, size=100, awkward=False)
    rows = recorded(haul_at(endpoint), tmp_path, tree, endpoint.container().az())
    asked = {(row["status"], row["retry_after_ns"]) for row in rows if row["api"] == "PutBlob"}
    assert asked == {(201, None), (503, None), (503, 1_000_000_000)}


def test_record_holds_what_was_asked_to_list(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    """Requests of listing are retried by the same rules, and have rows, without a number of an object."""
    endpoint = start_emulator(faults="busy=30%,seed=9")
    haul = haul_at(endpoint)
    container = endpoint.container()
    trees.make(tmp_path / "tree", files=20, size=100, awkward=False)
    haul("cp", tmp_path / "tree", container.az("tree/"))
    # With one chance in three each time, that none of the lists is refused happens once in a million runs.
    for number in range(40):
        went = haul("cp", container.az("tree"), f"back{number}", "--json", "--record", "run.parquet")
        attempts = went.of("attempt")
        assert went.summary["requests"] == len(attempts)
        assert went.summary["retries"] == sum(attempt["backoff_ns"] is not None for attempt in attempts)
        listed = [attempt for attempt in attempts if attempt["object_id"] is None]
        assert {attempt["api"] for attempt in listed} == {"GetBlobProperties", "ListBlobs"}
        answered = [attempt for attempt in listed if attempt["fate"] == "ok"]
        assert all(a["slot_ns"] < a["sent_ns"] < a["first_byte_ns"] < a["ended_ns"] for a in answered)
        with duckdb.connect() as database:
            rows = database.execute(
                f"select count(*) from '{tmp_path / 'run.parquet'}' where object_id is null"
            ).fetchone()
        assert rows == (len(listed),)
        if any(attempt["fate"] == "busy" for attempt in listed):
            return
    raise AssertionError("no list was refused")


def test_record_holds_what_a_stream_sent(emulator: Endpoint, haul: Haul, tmp_path: Path) -> None:
    container = emulator.container()
    content = bytes(range(256)) * (40 << 10)
    haul("cp", "-", container.az("stream"), "--record", "up.parquet", stdin=content)
    haul("cp", container.az("stream"), "-", "--record", "down.parquet")
    with duckdb.connect() as database:
        for record, api in (("up", "PutBlock"), ("down", "GetBlob")):
            pieces = database.execute(
                f"select offset_bytes, size_bytes from '{tmp_path / record}.parquet'"
                f" where api = '{api}' and object_id = 0 order by offset_bytes"
            ).fetchall()
            assert len(pieces) > 1
            assert [offset for offset, _ in pieces] == [
                sum(size for _, size in pieces[:number]) for number in range(len(pieces))
            ]
            assert sum(size for _, size in pieces) == len(content)


def test_a_job_that_only_asks_leaves_the_record_of_the_one_that_sent(
    emulator: Endpoint, haul: Haul, tree: Path, tmp_path: Path
) -> None:
    container = emulator.container()
    haul("cp", tree, container.az(), "--record", "run.parquet")
    sent = (tmp_path / "run.parquet").read_bytes()
    again = haul("cp", tree, container.az(), "--record", "run.parquet", "--json")
    assert {attempt["api"] for attempt in again.of("attempt")} == {"ListBlobs"}
    assert (tmp_path / "run.parquet").read_bytes() == sent
