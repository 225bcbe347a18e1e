"""Writes the directory of a run from rows: what is not given has a plain default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from haulage.lab.store import ATTEMPT_COLUMNS, CELL_COLUMNS, HOST_COLUMNS, TRANSFER_COLUMNS, RunStore

SECOND = 1_000_000_000
MIB = 2**20


def cell(number: int, **values: Any) -> dict[str, Any]:
    """A cell of one file of 1 MB that went up in a second."""
    began = 1_271_000_000 * SECOND + number * 2 * SECOND
    wall = values.get("wall_ns", SECOND)
    plain = {
        "cell": number,
        "replicate": 0,
        "treatment": "blocks",
        "method": "blocks",
        "direction": "up",
        "size_bytes": 1_000_000,
        "files": 1,
        "factors": "{}",
        "warmup": False,
        "seed": 1,
        "intended_unix_ns": began,
        "began_unix_ns": began,
        "ended_unix_ns": began + wall,
        "wall_ns": wall,
        "idle_before_ns": 0,
        "bytes": 1_000_000,
        "outcome": "ok",
        "recorded": True,
        "cpu_ns": 0,
        "monotonic_offset_ns": began,
    }
    return dict.fromkeys(CELL_COLUMNS) | plain | values


def attempt(**values: Any) -> dict[str, Any]:
    """An attempt; times in milliseconds where the name ends in ``_ms``."""
    times = {
        f"{name.removesuffix('_ms')}_ns": int(at * 1e6) for name, at in values.items() if name.endswith("_ms")
    }
    rest = {name: value for name, value in values.items() if not name.endswith("_ms")}
    plain = {
        "object_id": 0,
        "object": "a",
        "api": "PutBlock",
        "offset_bytes": 0,
        "size_bytes": 100_000,
        "attempt": 1,
        "lane": 0,
        "connection": 1,
        "connection_reused": True,
        "fate": "ok",
        "status": 201,
    }
    return dict.fromkeys(ATTEMPT_COLUMNS) | plain | rest | times


def write(
    folder: Path,
    cells: Sequence[Mapping[str, Any]],
    attempts: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    transfers: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    host: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    plan: str = "made",
    **manifest: Any,
) -> Path:
    """Write the run; attempts, transfers and samples by the number of their cell."""
    store = RunStore.create(folder, "", {"plan": plan, "state": "complete", "ceiling": None, **manifest})
    for row in cells:
        number = row["cell"]
        store.keep(row, (transfers or {}).get(number, []), (host or {}).get(number, []))
        if rows := (attempts or {}).get(number):
            _save(store.record_path(number), rows)
    store.merge()
    return folder


def _save(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    frame = pd.DataFrame(rows, columns=list(ATTEMPT_COLUMNS), dtype=object)
    words = ", ".join(f'cast("{name}" as {kind}) as "{name}"' for name, kind in ATTEMPT_COLUMNS.items())
    with duckdb.connect() as database:
        database.register("made", frame)
        database.execute(f"copy (select {words} from made) to '{path}' (format parquet)")


def transfer(number: int, **values: Any) -> dict[str, Any]:
    """A file of 1 MB that took a second, the nth of its cell."""
    began, took = values.get("began_ns", number * SECOND), values.get("duration_ns", SECOND)
    plain = {
        "cell": 0,
        "transfer": number,
        "object": f"{number}",
        "size_bytes": 1_000_000,
        "began_ns": began,
        "ended_ns": began + took,
        "duration_ns": took,
        "outcome": "ok",
        "method": "whole",
        "attempts": 1,
    }
    return dict.fromkeys(TRANSFER_COLUMNS) | plain | values


def sample(number: int, **values: Any) -> dict[str, Any]:
    """A sample of the machine in the middle of a cell."""
    return dict.fromkeys(HOST_COLUMNS) | {
        "unix_ns": 1_271_000_000 * SECOND + number * 2 * SECOND + SECOND // 2,
        "cell": number,
        **values,
    }
