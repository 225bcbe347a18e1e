"""`haul cp --record FILE.parquet`: a row for every attempt, readable by everyone's tools."""

from __future__ import annotations

from pathlib import Path

import duckdb

from command import Haul
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
