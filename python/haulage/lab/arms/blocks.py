"""Uploads in blocks as of 2010 (E1): every file is cut, also where one block holds it, and sent in parallel.

Each PutBlock carries the MD5 of its bytes; PutBlockList commits. The time covers cutting, hashing,
sending and committing. With a window, a request that has no answer by its end has failed, and with it
the file: nothing is sent again (E6).
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from urllib.parse import quote

from haulage.errors import HaulageError
from haulage.lab.arms import Item, Moved, Watch, Work
from haulage.lab.arms.plain import Lanes, Recorder, Request, block_id, pieces, summed


def move(work: Work, watch: Watch) -> Moved:
    """Send file after file, the blocks of each over all lanes."""
    offset, recorder = time.time_ns(), Recorder()
    lanes = Lanes(recorder, work.arm.concurrency or 1, work.arm.window_ns)
    transfers: list[dict[str, object]] = []
    failures: list[HaulageError] = []
    done = 0
    try:
        for number, item in enumerate(work.items):
            began, outcome = recorder.now(), "ok"
            try:
                _send(work, number, item, lanes)
                done += item.size_bytes
            except HaulageError as error:
                failures.append(error)
                outcome = error.code
            ended = recorder.now()
            transfers.append(recorder.transfer(number, item, began, ended, outcome, "blocks"))
            watch(done, done * 8e9 / max(1, ended))
        wall = recorder.now()
    finally:
        lanes.close()
    return summed(work, recorder, transfers, failures, wall, offset)


def _send(work: Work, number: int, item: Item, lanes: Lanes) -> None:
    url = work.endpoint.http_url(work.blob(item))
    size = work.arm.block_size_bytes or item.size_bytes
    todo = list(enumerate(pieces(item.size_bytes, size)))
    file = os.open(Path(item.local), os.O_RDONLY)

    def one(piece: tuple[int, tuple[int, int]]) -> None:
        place, (offset, length) = piece
        to = f"{url}&comp=block&blockid={quote(block_id(place), safe='')}"
        body = os.pread(file, length, offset)
        lanes.send(Request("PutBlock", "PUT", to, number, item.name, offset, length, body))

    try:
        lanes.each(one, todo)
        lanes.each(lanes.send, [commit(url, number, item.name, [block_id(place) for place, _ in todo])])
    finally:
        lanes.settle()
        os.close(file)


def commit(url: str, number: int, name: str, ids: list[str]) -> Request:
    """Return the request that makes a blob of its blocks."""
    listed = "".join(f"<Latest>{one}</Latest>" for one in ids)
    body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{listed}</BlockList>'.encode()
    return Request("PutBlockList", "PUT", f"{url}&comp=blocklist", number, name, 0, 0, body)
