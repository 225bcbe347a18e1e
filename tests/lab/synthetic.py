"""Makes the directory of a run from numbers alone: the schema of a real one, no transfer, any size.

For tests that need a million attempts or a name with `<script>` in it. What the numbers say is made up
but not absurd: a link of 60 ms, 20 Mbit/s a connection and 400 Mbit/s in all.

    python tests/lab/synthetic.py FOLDER [--attempts N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

KIB, MIB = 2**10, 2**20
RTT_NS = 60_000_000
CONNECTION, TOTAL = 20e6, 400e6
BEGAN_UNIX_NS = 1_271_000_000_000_000_000
SIZES = [32 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB]
SCRIPT = "<script>document.title='owned'</script>"


@dataclass(frozen=True)
class Treatment:
    name: str
    method: str
    concurrency: int
    block_size_bytes: int | None


TREATMENTS = [
    Treatment("baseline", "baseline", 1, None),
    Treatment("baseline-again", "baseline", 1, None),
    *(Treatment(f"blocks {size // KIB}KiB x16", "blocks", 16, size) for size in (256 * KIB, MIB, 4 * MIB)),
    *(Treatment(f"whole-files x{n}", "whole-files", n, None) for n in (2, 4, 8, 16, 32)),
    Treatment("adaptive", "adaptive", 16, MIB),
]
API = {"blocks": "PutBlock", "adaptive": "PutBlock"}


def write(
    folder: Path,
    *,
    attempts: int = 20_000,
    replicates: int = 6,
    seed: int = 1,
    treatments: Sequence[Treatment] = TREATMENTS,
    sizes: Sequence[int] = SIZES,
    slower: float = 1.0,
) -> Path:
    """Write a run of about so many attempts and return its directory.

    Args:
        folder: Where to.
        attempts: How many; each cell gets the number of files that makes for it.
        replicates: Of each treatment and size.
        seed: Of order and noise.
        treatments: Which.
        sizes: Of files.
        slower: Factor on the time that sending takes.
    """
    chance = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    order = [
        (replicate, treatment, size)
        for replicate in range(replicates)
        for treatment, size in _shuffled(chance, [(t, s) for t in treatments for s in sizes])
    ]
    # As many files in every cell as it takes; large blocks of small files count once a file.
    single = sum(_requests(treatment, size) for _, treatment, size in order)
    files = max(1, round(attempts / single))
    cells: list[dict[str, Any]] = []
    frames: list[pd.DataFrame] = []
    now = BEGAN_UNIX_NS
    for number, (replicate, treatment, size) in enumerate(order):
        idle = int(chance.integers(40_000_000, 60_000_000))
        frame = _attempts(chance, number, treatment, size, files, slower)
        wall = int(frame["ended_ns"].max()) + 2_000_000
        row = _cell(number, replicate, treatment, size, files, now + idle, wall, idle)
        cells.append(row | {"requests": len(frame), "retries": int((frame["fate"] != "ok").sum())})
        frames.append(frame)
        now += idle + wall
    _save(folder, pd.DataFrame(cells), pd.concat(frames, ignore_index=True), now, replicates, seed)
    return folder


def _shuffled(chance: np.random.Generator, items: list[Any]) -> list[Any]:
    return [items[index] for index in chance.permutation(len(items))]


def _requests(treatment: Treatment, size: int) -> int:
    if treatment.block_size_bytes is None or size <= treatment.block_size_bytes:
        return 1
    return -(-size // treatment.block_size_bytes) + 1


def _attempts(
    chance: np.random.Generator, cell: int, treatment: Treatment, size: int, files: int, slower: float
) -> pd.DataFrame:
    per_file = _requests(treatment, size)
    n = per_file * files
    at = np.arange(n)
    block = size if per_file == 1 else treatment.block_size_bytes or size
    bytes_ = np.full(n, block, dtype=np.int64)
    api = np.full(n, "PutBlob" if per_file == 1 else "PutBlock", dtype=object)
    if per_file > 1:
        last = at % per_file == per_file - 1
        bytes_[last], api[last] = 0, "PutBlockList"
    lanes = min(treatment.concurrency, max(1, n))
    lane = at % lanes
    rate = min(CONNECTION, TOTAL / lanes) / 8e9
    noise = chance.lognormal(0, 0.12, n)
    failed = chance.random(n) < 0.01
    step = {
        "slot_ns": chance.integers(1_000, 60_000, n),
        "ready_ns": 20_000 + bytes_ // 4,
        "connected_ns": np.where(at < lanes, RTT_NS + 2_000_000, 3_000),
        "sent_ns": (bytes_ / rate * noise * slower).astype(np.int64) + 10_000,
        "first_byte_ns": (RTT_NS * chance.lognormal(0, 0.05, n)).astype(np.int64),
        "last_byte_ns": chance.integers(5_000, 80_000, n),
        "committed_ns": np.full(n, 2_000),
        "ended_ns": chance.integers(500, 3_000, n),
    }
    busy = sum(step.values())
    backoff = np.where(failed, 100_000_000, 0)
    frame = pd.DataFrame({"cell": cell, "lane": lane, "busy": busy, "backoff": backoff})
    ends = frame.assign(all=frame["busy"] + frame["backoff"]).groupby("lane")["all"].cumsum().to_numpy()
    moment = ends - backoff - busy
    frame = pd.DataFrame({"cell": np.full(n, cell, dtype=np.int32)})
    file = at // per_file
    frame["object_id"] = file
    odd = SCRIPT if cell == 0 else "run"
    frame["object"] = pd.Series([f"data/{odd}/{cell:04}-{index:06}.nc" for index in file], dtype="str")
    frame["api"] = api.astype(str)
    frame["offset_bytes"] = (at % per_file) * block
    frame["size_bytes"] = bytes_
    frame["attempt"] = 1
    frame["lane"] = lane
    frame["connection"] = lane + 1
    frame["connection_reused"] = at >= lanes
    frame["fate"] = np.where(failed, "busy", "ok").astype(str)
    frame["status"] = np.where(failed, 503, 201).astype(np.int32)
    frame["cause"] = pd.Series(["ServerBusy" if one else None for one in failed], dtype="object")
    frame["request_id"] = pd.Series([None] * n, dtype="object")
    frame["backoff_ns"] = np.where(failed, 100_000_000.0, np.nan)
    frame["queued_ns"] = np.maximum(moment - 1000, 0)
    for name, took in step.items():
        moment = moment + took
        frame[name] = moment
    return frame


def _cell(
    number: int, replicate: int, treatment: Treatment, size: int, files: int, began: int, wall: int, idle: int
) -> dict[str, Any]:
    return {
        "cell": number,
        "replicate": replicate,
        "treatment": treatment.name,
        "method": treatment.method,
        "direction": "up",
        "size_bytes": size,
        "files": files,
        "concurrency": treatment.concurrency,
        "block_size_bytes": treatment.block_size_bytes,
        "factors": "{}",
        "warmup": False,
        "seed": number,
        "intended_unix_ns": began,
        "began_unix_ns": began,
        "ended_unix_ns": began + wall,
        "wall_ns": wall,
        "idle_before_ns": idle,
        "bytes": size * files,
        "wire_bytes": round(size * files * 1.01),
        "lanes": treatment.concurrency,
        "chosen": None,
        "outcome": "ok",
        "cause": None,
        "recorded": True,
        "cpu_ns": wall // 20,
        "phase_network_ns": None,
        "phase_reassembly_ns": None,
        "monotonic_offset_ns": began,
    }


def _save(
    folder: Path, cells: pd.DataFrame, attempts: pd.DataFrame, ended: int, replicates: int, seed: int
) -> None:
    host_at = np.arange(BEGAN_UNIX_NS, ended, max(100_000_000, (ended - BEGAN_UNIX_NS) // 20_000))
    files: dict[str, Any] = {}
    with duckdb.connect() as database:
        for name, frame in (("cells", cells), ("attempts", attempts)):
            database.register(name, frame)
        database.register("sampled", pd.DataFrame({"unix_ns": host_at}))
        whole = "ubigint"
        queries = {
            "cells": f"select * replace (cast(size_bytes as {whole}) as size_bytes,"
            f" chosen::varchar as chosen, cast(block_size_bytes as {whole}) as block_size_bytes,"
            " cause::varchar as cause,"
            f" phase_network_ns::{whole} as phase_network_ns,"
            f" phase_reassembly_ns::{whole} as phase_reassembly_ns) from cells",
            "attempts": "select * replace (cause::varchar as cause, request_id::varchar as request_id,"
            f" cast(backoff_ns as {whole}) as backoff_ns) from attempts order by cell, queued_ns",
            "transfers": "select cell, object_id::integer as transfer, any_value(object) as object,"
            f" sum(size_bytes)::{whole} as size_bytes, min(queued_ns) as began_ns,"
            " max(ended_ns) as ended_ns, max(ended_ns) - min(queued_ns) as duration_ns, 'ok' as outcome,"
            " 'blocks' as method, count(*)::integer as attempts"
            " from attempts group by cell, object_id order by cell, transfer",
            "host": "select unix_ns, 0 as cell, 0.1 as cpu_user_share, 0.05 as cpu_system_share,"
            " 0.85 as cpu_idle_share, 0.0 as cpu_steal_share, 0.2 as process_cpu_share,"
            " 8000000000 as memory_available_bytes, 0 as nic_rx_bytes, 0 as nic_tx_bytes,"
            " 0 as disk_read_bytes, 0 as disk_write_bytes from sampled order by unix_ns",
        }
        for name, query in queries.items():
            path = folder / f"{name}.parquet"
            database.execute(f"copy ({query}) to '{path}' (format parquet, compression zstd)")
            found = database.execute(f"select count(*) from '{path}'").fetchone()
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            files[path.name] = {"sha256": digest, "rows": found[0] if found else 0}
    plan = 'name = "block-upload"\n'
    (folder / "plan.toml").write_text(plan)
    manifest = {
        "lab": "run 1",
        "run": f"made-up-{seed}",
        "plan": "block-upload",
        "plan_sha256": hashlib.sha256(plan.encode()).hexdigest(),
        "state": "complete",
        "seed": seed,
        "created_unix_ns": BEGAN_UNIX_NS,
        "ended_unix_ns": ended,
        "command": ["haul", "lab", "run", "block-upload"],
        "target": "emulated:wan",
        "link": "rtt=60ms,conn=20mbit,total=400mbit",
        "faults": "busy=1%",
        "endpoint": "http://127.0.0.1/devstoreaccount1",
        "versions": {"haulage": "0.0", "duckdb": duckdb.__version__},
        "commit": None,
        "host": {"cpus": 2, "cpu_model": "made up", "memory_bytes": 2**34, "congestion_control": "cubic"},
        "factors": {"treatment": sorted(set(cells["treatment"]))},
        "replicates": replicates,
        "order": "randomised, interleaved",
        "cells_planned": len(cells),
        "cells_done": len(cells),
        "stopped_because": None,
        "ceiling": {"up_bits_per_second": TOTAL, "down_bits_per_second": TOTAL, "method": "made up"},
        "files": files,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--attempts", type=int, default=20_000)
    given = parser.parse_args()
    write(given.folder, attempts=given.attempts)
