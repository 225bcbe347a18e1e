"""Uploads by the plain client: one put, or a write stream that buffers blocks and commits them (E5)."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import quote

from haulage.errors import HaulageError
from haulage.lab.arms import Item, Moved, Watch, Work
from haulage.lab.arms.plain import Lanes, Recorder, Request, block_id, pieces


def move(work: Work, watch: Watch) -> Moved:
    """Send each file by itself, ``concurrency`` of them at once: writers that share nothing."""
    offset, recorder = time.time_ns(), Recorder()
    lanes = Lanes(recorder, work.arm.concurrency or 1)
    transfers: list[dict[str, object]] = []
    failures: list[HaulageError] = []

    def one(numbered: tuple[int, Item]) -> None:
        number, item = numbered
        began, outcome = recorder.now(), "ok"
        try:
            _put(work, number, item, lanes)
        except HaulageError as error:
            failures.append(error)
            outcome = error.code
        ended = recorder.now()
        transfers.append(
            {
                "object": item.name,
                "size_bytes": item.size_bytes,
                "began_ns": began,
                "ended_ns": ended,
                "duration_ns": ended - began,
                "outcome": outcome,
                "method": "blocks" if work.arm.method == "blocks" else "whole",
                "attempts": sum(row["object_id"] == number for row in list(recorder.rows)),
            }
        )
        watch(sum(int(str(row["size_bytes"])) for row in transfers), 0.0)

    try:
        lanes.each(one, list(enumerate(work.items)))
        wall = recorder.now()
    finally:
        lanes.close()
    recorder.write(work.record)
    return Moved(
        wall_ns=wall,
        bytes=sum(
            item.size_bytes
            for item in work.items
            if any(row["object"] == item.name and row["outcome"] == "ok" for row in transfers)
        ),
        transfers=transfers,
        monotonic_offset_ns=offset,
        outcome=failures[0].code if failures else "ok",
        cause=failures[0].cause if failures else None,
        wire_bytes=recorder.wire_bytes,
        requests=len(recorder.rows),
        retries=0,
        lanes=1 + max(row["lane"] for row in recorder.rows),
        recorded=True,
    )


def _put(work: Work, number: int, item: Item, lanes: Lanes) -> None:
    url = work.endpoint.http_url(item.name)
    if work.arm.method != "blocks":
        body = Path(item.local).read_bytes()
        kind = (("x-ms-blob-type", "BlockBlob"),)
        lanes.send(Request("PutBlob", "PUT", url, number, item.name, 0, len(body), body, kind))
        return
    # As a write stream does: a block when its buffer is full, the list when it is closed.
    size = work.arm.block_size_bytes or item.size_bytes
    ids = []
    with Path(item.local).open("rb") as file:
        for place, (offset, length) in enumerate(pieces(item.size_bytes, size)):
            ids.append(block_id(place))
            to = f"{url}&comp=block&blockid={quote(ids[-1], safe='')}"
            lanes.send(Request("PutBlock", "PUT", to, number, item.name, offset, length, file.read(length)))
    listed = "".join(f"<Latest>{name}</Latest>" for name in ids)
    body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{listed}</BlockList>'.encode()
    lanes.send(Request("PutBlockList", "PUT", f"{url}&comp=blocklist", number, item.name, 0, 0, body))
