"""Records of jobs whose limit is known, made by a few lines instead of by minutes of copying."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from haulage.lab.why.explaining import Explanation, explain

MIB = 1 << 20
MS = 10**6
#: A mixture of sizes, so that requests of one rate differ in time.
BLOCKS = [MIB, MIB // 2, MIB, MIB // 4] * 60
#: Time of a request for its bytes, the number in flight, and the moment it begins.
Time = Callable[[int, int, int], float]


def ramp(number: int) -> int:
    """Four in flight, then sixteen, as a mover does that looks for the best number."""
    return 4 if number < 40 else 16


def per_connection(bits_per_second: float) -> Time:
    return lambda size, _, __: 8e9 * size / bits_per_second


def in_all(bits_per_second: float) -> Time:
    return lambda size, beside, __: 8e9 * size * beside / bits_per_second


def by_answer(answer_ns: float) -> Time:
    return lambda _, __, ___: answer_ns


def then(first: Time, at_ns: int, second: Time) -> Time:
    return lambda size, beside, now: (first if now < at_ns else second)(size, beside, now)


def job(
    time: Time, sizes: list[int], lanes: Callable[[int], int], answer_ns: int = 20 * MS, api: str = "PutBlock"
) -> list[dict[str, Any]]:
    """Send requests of these sizes one after another, as many at once as ``lanes`` of their number says."""
    rows = [_row("Begin", 0, 0, 0, answer_ns, answer_ns)]
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    now, highest = answer_ns, 0
    for number, size in enumerate(sizes):
        while len(busy) >= lanes(number):
            now, lane = heapq.heappop(busy)
            heapq.heappush(free, lane)
        if not free:
            heapq.heappush(free, highest)
            highest += 1
        lane = heapq.heappop(free)
        # A few percent of noise, the same each time.
        noise = 1 + 0.02 * ((number * 7919) % 11 - 5) / 5
        took = round(time(size, len(busy) + 1, now) * noise) + answer_ns
        rows.append(_row(api, size, lane, now, now + took, answer_ns))
        heapq.heappush(busy, (now + took, lane))
    last = max(row["ended_ns"] for row in rows)
    return [*rows, _row("PutBlockList", 0, 0, last, last + answer_ns, answer_ns)]


def _row(api: str, size: int, lane: int, began: int, ended: int, answer_ns: int) -> dict[str, Any]:
    first = began + answer_ns if api == "GetBlob" else ended - 1000
    return {
        "object_id": 1,
        "object": "data/large.nc",
        "api": api,
        "offset_bytes": 0,
        "size_bytes": size,
        "attempt": 1,
        "lane": lane,
        "connection": lane + 1,
        "connection_reused": True,
        "fate": "ok",
        "status": 201,
        "cause": None,
        "request_id": None,
        "queued_ns": began,
        "slot_ns": began,
        "ready_ns": began,
        "connected_ns": began,
        "sent_ns": began + 1000,
        "first_byte_ns": first,
        "last_byte_ns": ended - 500,
        "committed_ns": ended - 500,
        "ended_ns": ended,
        "backoff_ns": None,
    }


def waiting_for_the_disk(rows: list[dict[str, Any]], share: float) -> list[dict[str, Any]]:
    """Let each request with payload spend this share of its time on reading (up) or writing (down)."""
    made = []
    for row in rows:
        began, ended = row["slot_ns"], row["ended_ns"]
        here = round(share * (ended - began))
        if row["api"] == "PutBlock":
            row = row | {
                "ready_ns": began + here,
                "connected_ns": began + here,
                "sent_ns": began + here + 1000,
            }
        elif row["api"] == "GetBlob":
            first = min(row["first_byte_ns"], ended - here - 1000)
            row = row | {"first_byte_ns": first, "last_byte_ns": ended - here, "committed_ns": ended - 500}
        made.append(row)
    return made


def fed(rows: list[dict[str, Any]], at_once: int, wait_ns: int) -> list[dict[str, Any]]:
    """Let a pipe deliver the bytes of so many requests at once, and then nothing for a while."""
    stamps = [name for name in rows[0] if name.endswith("_ns") and name != "backoff_ns"]
    # The first row begins the object.
    return [
        row | {name: row[name] + max(number - 1, 0) // at_once * wait_ns for name in stamps}
        for number, row in enumerate(rows)
    ]


def opening(rows: list[dict[str, Any]], names: float, tls: float) -> list[dict[str, Any]]:
    """Let each request with payload have a connection of its own that takes these shares of its time."""
    made = []
    for number, row in enumerate(rows):
        if row["size_bytes"]:
            took = row["ended_ns"] - row["slot_ns"]
            began = row["slot_ns"] + round((names + tls) * took)
            row = row | {"connection": 1000 + number, "connection_reused": False, "connected_ns": began}
            row |= {"sent_ns": began + 1000, "dns_ns": round(names * took), "tls_ns": round(tls * took)}
        made.append(row)
    return made


def counted(
    rows: list[dict[str, Any]], full: float = 0.0, short: float = 0.0, lost_per_mb: float = 0.0
) -> list[dict[str, Any]]:
    """Add what the kernel counts of each connection since it was made, with these shares of its busy time."""
    busy: dict[int, int] = {}
    sent: dict[int, int] = {}
    made = []
    for row in sorted(rows, key=lambda one: one["ended_ns"]):
        one = row["connection"]
        busy[one] = busy.get(one, 0) + row["ended_ns"] - row["connected_ns"]
        sent[one] = sent.get(one, 0) + row["size_bytes"]
        counters = {
            "tcp_rtt_ns": 20 * MS,
            "tcp_busy_ns": busy[one],
            "tcp_rwnd_limited_ns": round(full * busy[one]),
            "tcp_sndbuf_limited_ns": round(short * busy[one]),
            "tcp_retransmits": round(lost_per_mb * sent[one] / 1e6),
        }
        made.append(row | {"remote": "192.0.2.1:443"} | counters)
    return made


def write(rows: list[dict[str, Any]], path: Path) -> Path:
    """Write rows as the engine would, as Parquet."""
    lines = path.with_suffix(".rows")
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with duckdb.connect() as database:
        database.execute(f"copy (from read_json('{lines}', format='newline_delimited')) to '{path}'")
    return path


def as_events(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield rows as lines of ``haul cp --json``."""
    yield json.dumps({"event": "job_started", "job": "x", "operation": "copy"})
    for row in rows:
        yield json.dumps({"event": "attempt", **row})
    yield json.dumps({"event": "progress", "elapsed_ns": 1})
    wall = max(row["ended_ns"] for row in rows)
    yield json.dumps({"event": "summary", "elapsed_ns": wall, "exit_code": 0, "failures": [{"kind": "x"}]})


def explained(rows: list[dict[str, Any]], folder: Path) -> Explanation:
    return explain(write(rows, folder / "run.parquet"))
