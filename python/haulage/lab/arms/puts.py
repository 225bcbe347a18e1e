"""Uploads by the plain client: one put, or a write stream that buffers blocks and commits them (E5)."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from haulage.errors import HaulageError
from haulage.lab.arms import Item, Moved, Watch, Work
from haulage.lab.arms.blocks import commit
from haulage.lab.arms.plain import Lanes, Recorder, Request, block_id, pieces, summed


def move(work: Work, watch: Watch) -> Moved:
    """Send each file by itself, ``concurrency`` of them at once: writers that share nothing."""
    # What is put as bytes is held already; a file and a stream are read while the clock runs.
    held = _held(work)
    recorder = Recorder()
    lanes = Lanes(recorder, work.arm.concurrency or 1, work.arm.window_ns)
    # Writers that are at work have their connections; one write each would time the connecting.
    lanes.open(work.endpoint.http_url("up"))
    offset, recorder.began_ns = time.time_ns(), time.monotonic_ns()
    transfers: list[dict[str, object]] = []
    failures: list[HaulageError] = []

    def one(numbered: tuple[int, Item]) -> None:
        number, item = numbered
        began, outcome = recorder.now(), "ok"
        try:
            _put(work, number, item, lanes, held)
        except HaulageError as error:
            failures.append(error)
            outcome = error.code
        ended = recorder.now()
        transfers.append(
            recorder.transfer(
                number, item, began, ended, outcome, "blocks" if work.arm.method == "blocks" else "whole"
            )
        )
        watch(sum(int(str(row["size_bytes"])) for row in transfers), 0.0)

    try:
        lanes.each(one, list(enumerate(work.items)))
        wall = recorder.now()
    finally:
        lanes.close()
    return summed(work, recorder, transfers, failures, wall, offset)


def _held(work: Work) -> dict[str, bytes]:
    if work.arm.method == "blocks" or work.arm.body != "bytes":
        return {}
    return {item.local: Path(item.local).read_bytes() for item in work.items}


def _put(work: Work, number: int, item: Item, lanes: Lanes, held: dict[str, bytes]) -> None:
    url = work.endpoint.http_url(work.blob(item))
    if work.arm.method != "blocks":
        lanes.send(_whole(work, url, number, item, held))
        return
    # As a write stream does: a block when its buffer is full, the list when it is closed.
    size = work.arm.block_size_bytes or item.size_bytes
    ids = []
    with Path(item.local).open("rb") as file:
        for place, (offset, length) in enumerate(pieces(item.size_bytes, size)):
            ids.append(block_id(place))
            to = f"{url}&comp=block&blockid={quote(ids[-1], safe='')}"
            lanes.send(Request("PutBlock", "PUT", to, number, item.name, offset, length, file.read(length)))
    lanes.send(commit(url, number, item.name, ids))


def _whole(work: Work, url: str, number: int, item: Item, held: dict[str, bytes]) -> Request:
    kind = (("x-ms-blob-type", "BlockBlob"),)
    put = Request("PutBlob", "PUT", url, number, item.name, 0, item.size_bytes, headers=kind)
    if work.arm.body == "bytes":
        return replace(put, body=held[item.local])
    if work.arm.body == "file":
        return replace(put, body=Path(item.local).read_bytes())
    # A stream is sent as it is read: its MD5 is known when it has been sent, too late for the header.
    return replace(put, stream=lambda: Path(item.local).open("rb"))
